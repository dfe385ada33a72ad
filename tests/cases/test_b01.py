"""Files in many encodings: each is read right or skipped with a reason, none is garbled.

Readers that assume the locale or plain UTF-8 crash on files saved by other editors, garble them, or
drop them without a word (MemPalace/mempalace#776, khoj-ai/khoj#175, toland/qlmarkdown#15).
"""

import shutil
from pathlib import Path

import pytest

from mempal.core.model import Scope
from mempal.ingest.classify import skip_by_content, skip_by_name
from mempal.ingest.decode import decode, fold
from tests.cases.support import check_text, drawers_of, holders, mine, open_at
from tests.repositories import write_files

FILES = Path(__file__).parent / "data" / "B01"
# One in each file that holds text.
WORDS = (
    *("zqjay", "zqheron", "zqibis", "zqosprey", "zqkite", "zqlark", "zqmyna", "zqnene"),
    "zqpipit",
)


@pytest.mark.parametrize(
    ("name", "encoding", "text"),
    [
        ("utf8-bom.md", "utf-8", "# zqjay heading\nÜbergabe am Montag\n"),
        (
            "utf16le-bom.md",
            "utf-16-le",
            "# Pump notes zqheron\nThe valve opens at 4 bar — Größe M. 発注済み\n",
        ),
        ("utf16be-bom.txt", "utf-16-be", "Boiler log zqibis: naïve retry removed\n"),
        ("utf16le-nobom.txt", "utf-16-le", "zqosprey plain words in wide chars\n"),
        ("latin1.txt", "cp1252", "zqkite: Stückliste für Gehäuse, café größer\n"),
        ("cp1252.txt", "cp1252", "zqlark “quoted” price 40 € done\n"),
        ("gb18030.txt", "gb18030", "zqmyna 发布流程在周五冻结，回滚由值班人负责\n"),
        ("sjis.txt", "cp932", "zqnene 設定ファイルは毎朝読み直す\n"),
    ],
)
def test_text_is_read_as_it_was_written(name: str, encoding: str, text: str) -> None:
    data = (FILES / name).read_bytes()
    assert skip_by_name(name) is None
    assert skip_by_content(name, data) is None
    decoded = decode(data)
    assert (fold(decoded.text), decoded.encoding) == (text, encoding)
    assert (decoded.replaced, decoded.exact) == (0, True)


def test_one_stray_byte_does_not_lose_the_file() -> None:
    data = (FILES / "one-bad-byte.py").read_bytes()
    assert skip_by_content("one-bad-byte.py", data) is None
    decoded = decode(data)
    assert "zqpipit" in decoded.text
    assert decoded.replaced == 1
    assert decoded.text.encode("utf-8", "surrogateescape") == data


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("png-renamed.txt", "binary (PNG image)"),
        ("empty.md", "empty"),
        ("bom-only.md", "blank"),
        ("whitespace.md", "blank"),
    ],
)
def test_what_holds_no_text_is_skipped_with_the_reason(name: str, reason: str) -> None:
    assert skip_by_content(name, (FILES / name).read_bytes()) == reason


def test_a_tree_of_them_is_mined_and_found(mempal, isolation, tmp_path):
    tree = shutil.copytree(FILES, tmp_path / "tree")
    report = mempal("mine", tree, "--wing", "w", "--json").json
    assert report["files"]["seen"] == 13
    assert {skip["path"]: skip["reason"] for skip in report["skipped"]} == {
        "bom-only.md": "blank",
        "empty.md": "empty",
        "png-renamed.txt": "binary (PNG image)",
        "whitespace.md": "blank",
    }
    assert any("one-bad-byte.py: 1 byte" in warning for warning in report["warnings"])
    palace = open_at(isolation.palace)
    for word in WORDS:
        (drawer,) = holders(palace, word)
        assert "\ufeff" not in drawer.content
    for word in ("Übergabe", "Größe", "naïve", "Gehäuse", "発注", "回滚", "設定"):
        hit = palace.search(word, Scope()).hits[0]
        assert word in hit.drawer.content
    for path, drawers in drawers_of(palace, "w", tree).items():
        if drawers:
            check_text(drawers, (tree / path).read_bytes())
    assert mempal("mine", tree, "--wing", "w", "--json").json["drawers"]["added"] == 0


RUSSIAN = "Насос работает при четырёх барах. Клапан открывается в полдень.\n" * 6
KOREAN = "펌프는 네 기압에서 작동하고 밸브는 정오에 열린다.\n" * 6
GREEK = "Η αντλία λειτουργεί στα τέσσερα μπαρ και η βαλβίδα ανοίγει.\n" * 6
POLISH = "Zażółć gęślą jaźń, pompa działa przy czterech barach.\n" * 6
JAPANESE = "ポンプは四気圧で動き、弁は正午に開く。設定は毎朝読み直す。\n" * 6


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "iso8859-5"),
        (RUSSIAN, "utf-32"),
        (KOREAN, "euc-kr"),
        (KOREAN, "utf-16-be"),
        (GREEK, "cp1253"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859-2"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso2022-jp"),
        (JAPANESE, "utf-16"),
        (JAPANESE.replace("\n", "\r\n"), "utf-8-sig"),
        (POLISH.replace("\n", "\r"), "utf-8"),
        ("a \ufffd that the author wrote\n", "utf-8"),
        ("déjà vu\n", "latin-1"),
        ("“quoted” – 40 €\n", "cp1252"),
        ("x = 'ünï'\n" * 40, "mac-roman"),
        ("Größe ┌──┐\n" * 10, "cp437"),
        ("résumé\0hidden\n", "utf-8"),
    ],
)
def test_other_encodings_are_read_right_or_named(isolation, tmp_path, text, codec):
    """Nothing is ever stored that the author did not write."""
    tree = write_files(tmp_path / "tree", {"note.txt": text.encode(codec)})
    palace = open_at(isolation.palace)
    report = mine(palace, tree, wing="w")
    (drawers,) = drawers_of(palace, "w", tree).values()
    if drawers:
        wanted = text.replace("\r\n", "\n").replace("\r", "\n")
        assert "".join(drawer.content for drawer in drawers) == wanted
    else:
        (skip,) = report.skipped
        assert (skip.path, bool(skip.reason)) == ("note.txt", True)
