"""Rooms: the rule with a list, the rule without one, and what a bad list does."""

import os
from pathlib import Path

import pytest

from mempal.ingest.rooms import Room, RoomRules, load_rooms

LISTED = """\
wing: Shop Floor
rooms:
  - name: billing
    description: invoices and payments
    keywords: [invoice, "credit note", 決定]
  - name: Auth
    keywords:
      - login
      - C++
  - docs
"""


def load(folder: Path, text: str | bytes, name: str = "mempal.yaml") -> RoomRules:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    rules, warnings = load_rooms(folder)
    assert warnings == ()
    return rules


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("notes.md", "general"),
        ("src/main.py", "general"),
        ("src/billing/tax.py", "billing"),
        ("SRC/Lib/billing/tax.py", "billing"),
        ("packages/app/web/index.ts", "web"),
        ("docs/src/a.md", "docs"),
        ("Docs/a.md", "Docs"),
        ("./docs/a.md", "docs"),
        (" odd name /a.md", "odd name"),
        ("con\ntrol/a.md", "general"),
        ("bad\udcffbyte/a.md", "general"),
        ("x" * 300 + "/a.md", "general"),
        ("", "general"),
    ],
)
def test_without_a_list_the_first_telling_folder_is_the_room(path: str, room: str) -> None:
    assert RoomRules().room_of(path, "invoice") == room


@pytest.mark.parametrize(
    ("path", "text", "room"),
    [
        ("src/billing/tax.py", "login login", "billing"),
        ("auth/a.py", "", "Auth"),
        ("AUTH/billing/a.py", "", "Auth"),
        ("billing/auth/a.py", "", "billing"),
        ("authors/a.py", "", "general"),
        ("src/auth.py", "", "general"),
        ("docs/a.md", "", "docs"),
        ("a.md", "An INVOICE and a Credit Note", "billing"),
        ("a.md", "invoices are not the word", "general"),
        ("a.md", "user_login and login-page, one invoice", "Auth"),
        ("invoice_login.md", "", "billing"),
        ("login.md", "invoice", "billing"),
        ("a.md", "written in C++ and so on", "Auth"),
        ("a.md", "今日の決定採用", "billing"),
        ("a.md", "x" * 5000 + " invoice", "general"),
        ("web/a.md", "", "general"),
    ],
)
def test_with_a_list_folder_then_keywords_decide(
    tmp_path: Path, path: str, text: str, room: str
) -> None:
    assert load(tmp_path, LISTED).room_of(path, text) == room


def test_the_list_is_read_as_written(tmp_path: Path) -> None:
    rules = load(tmp_path, LISTED)
    assert rules == RoomRules(
        rooms=(
            Room("billing", ("invoice", "credit note", "決定")),
            Room("Auth", ("login", "C++")),
            Room("docs"),
        ),
        wing="Shop Floor",
    )
    # The representation names the rules that files were read under.
    assert repr(rules) == repr(load(tmp_path, LISTED))
    assert repr(rules) != repr(load(tmp_path, LISTED.replace("login", "logon")))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["mempal.yaml", "mempalace.yaml"])
def test_both_names_and_a_byte_order_mark_are_accepted(
    tmp_path: Path, name: str, mark: bytes
) -> None:
    assert load(tmp_path, mark + b"rooms: [one, two]\r\n", name).rooms == (Room("one"), Room("two"))


def test_the_own_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "mempalace.yaml").write_text("rooms: [theirs]\n")
    assert load(tmp_path, "rooms: [ours]\n").rooms == (Room("ours"),)


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "rooms:\n", "rooms: []\n", "wing:\n", "other: 1\n"]
)
def test_a_file_without_a_list_is_like_none(tmp_path: Path, text: str) -> None:
    rules = load(tmp_path, text)
    assert rules == RoomRules()
    assert rules.room_of("web/a.md", "") == "web"


def test_no_file_no_warning(tmp_path: Path) -> None:
    assert load_rooms(tmp_path) == (RoomRules(), ())
    assert load_rooms(tmp_path / "missing") == (RoomRules(), ())
    (tmp_path / "file").write_text("x")
    assert load_rooms(tmp_path / "file") == (RoomRules(), ())


def test_scalars_are_what_they_look_like(tmp_path: Path) -> None:
    rules = load(tmp_path, "wing: 2024\nrooms: [on, 010, {name: null, keywords: [1.0, yes]}]\n")
    assert rules.wing == "2024"
    assert rules.rooms == (Room("on"), Room("010"), Room("null", ("1.0", "yes")))


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("rooms: [one\n", "line 2: "),
        ("a: b: c\n", "line 1: "),
        ("\tx: 1\n", "line 1: "),
        ("- one\n- two\n", "not a mapping"),
        ("just words\n", "not a mapping"),
        ("a: &x [1]\nb: *x\n", "anchors and aliases"),
        ("a: &x 1\n", "anchors and aliases"),
        ("a: " + "[" * 30 + "]" * 30 + "\n", "nested too deep"),
        ("a: " + "{b: " * 9999 + "}" * 9999 + "\n", "nested too deep"),
        ("rooms: x\n", "rooms is not a list"),
        ("a: \x00\n", "binary"),
        (b"rooms: [\x81\x8d\xff, a\x8f\x90b]\n", "unknown or mixed encoding"),
        ("wing: a bell \x07 in a name that is long enough\n", "not valid YAML"),
        ("rooms: [one]\n" + "#" * 70_000, "64 kB"),
    ],
)
def test_a_broken_file_is_told_and_not_used(
    tmp_path: Path, text: str | bytes, warning: str
) -> None:
    (tmp_path / "mempal.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    rules, warnings = load_rooms(tmp_path)
    assert rules == RoomRules()
    assert len(warnings) == 1
    assert warnings[0].startswith("mempal.yaml: ")
    assert warning in warnings[0]


def test_one_bad_entry_does_not_lose_the_others(tmp_path: Path) -> None:
    (tmp_path / "mempal.yaml").write_text(
        'rooms:\n- ""\n- [nested]\n- {keywords: [a]}\n- name: " good "\n  keywords: {a: b}\n'
        '- "con\\ttrol"\n- {name: fine, keywords: [ok, "", [x]]}\n- GOOD\n'
        f"- {'x' * 201}\nwing: [a]\n"
    )
    rules, warnings = load_rooms(tmp_path)
    assert rules == RoomRules(rooms=(Room("good"), Room("fine", ("ok",))))
    assert [warning.split(": ")[1] for warning in warnings] == [
        "room 1",
        "room 2",
        "room 3",
        "room 4",
        "room 5",
        "room 6",
        "room 6",
        "room 8",
        "wing",
    ]


def test_numbers_are_bounded(tmp_path: Path) -> None:
    many = ", ".join(f"r{i}" for i in range(600))
    words = ", ".join(f"w{i}" for i in range(300))
    (tmp_path / "mempal.yaml").write_text(
        f"rooms: [{{name: first, keywords: [{words}]}}, {many}]\n"
    )
    rules, warnings = load_rooms(tmp_path)
    assert len(rules.rooms) == 500
    assert len(rules.rooms[0].keywords) == 200
    assert len(warnings) == 2


def test_tags_run_nothing(tmp_path: Path) -> None:
    target = tmp_path / "pwned"
    (tmp_path / "mempal.yaml").write_text(
        f'rooms: [!!python/object/apply:os.system ["touch {target}"], ok]\n'
    )
    rules, _ = load_rooms(tmp_path)
    assert rules.rooms[-1:] == (Room("ok"),)
    assert not target.exists()


def test_links_pipes_and_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("rooms: [secret]\n")
    for number, make in enumerate(
        (
            lambda path: path.symlink_to(tmp_path / "secret.yaml"),
            lambda path: path.symlink_to("/dev/zero"),
            os.mkfifo,
            Path.mkdir,
        )
    ):
        root = tmp_path / str(number)
        root.mkdir()
        make(root / "mempal.yaml")
        rules, warnings = load_rooms(root)
        assert rules == RoomRules()
        assert len(warnings) == 1
        assert "secret" not in warnings[0]


def test_keywords_of_all_rooms_together_are_limited(tmp_path: Path) -> None:
    rooms = [
        f"  - {{name: r{n}, keywords: [{', '.join(f'k{n}x{k}' for k in range(150))}]}}"
        for n in range(5)
    ]
    (tmp_path / "mempal.yaml").write_text("rooms:\n" + "\n".join(rooms))
    rules, warnings = load_rooms(tmp_path)
    assert sum(len(room.keywords) for room in rules.rooms) == 500
    assert len(rules.rooms) == 5
    assert "500 keywords of all rooms" in warnings[0]
