"""Files in many encodings: each is read right or skipped with a reason, none is garbled.

Readers that assume the locale or plain UTF-8 crash on files saved by other editors, garble them, or
drop them without a word (MemPalace/mempalace#776, khoj-ai/khoj#175, toland/qlmarkdown#15).
"""

from pathlib import Path

import pytest

from mempal.ingest.classify import skip_by_content, skip_by_name
from mempal.ingest.decode import decode, fold

FILES = Path(__file__).parent / "data" / "B01"


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
