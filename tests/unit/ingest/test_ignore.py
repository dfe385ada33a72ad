"""Rules are read and matched as git does; the property test compares with git itself."""

import os

import pytest

from mempal.ingest.ignore import RuleSet, parse_rules, read_rules


def decide(rules: str | bytes, path: str, *, is_folder: bool = False) -> bool:
    data = rules if isinstance(rules, bytes) else rules.encode()
    known = RuleSet().joined("", parse_rules(data, ".gitignore"))
    return known.find_exclusion(path, is_folder=is_folder) is not None


@pytest.mark.parametrize(
    ("rules", "path", "excluded"),
    [
        ("*.log", "a/b.log", True),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),  # the last one wins
        ("/x", "x", True),
        ("/x", "a/x", False),
        ("a/x", "a/x", True),
        ("a/x", "b/a/x", False),
        ("*", "a\nb", True),
        ("foo", "foo\n", False),
        ("trail   ", "trail", True),
        ("kept\\ ", "kept ", True),
        ("kept\\ ", "kept", False),
        ("two\\  ", "two ", True),
        ("tab\t", "tab", False),
        ("slash\\\\ ", "slash\\", True),
        ("\\#a", "#a", True),
        ("#a", "#a", False),
        ("\\!a", "!a", True),
        ("a**b", "axxb", True),
        ("a**b", "a/b", False),
        ("a**/b", "ax/y/b", True),  # what stands before the first wildcard is taken off first
        ("**/a", "a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("a/***/b", "a/x/y/b", True),
        ("*/b", "a/b", True),
        ("*/b", "a/c/b", False),
        ("a?c", "a/c", False),
        ("[Tt]humbs", "thumbs", True),
        ("[^b]x", "bx", False),
        ("[!b]x", "ax", True),
        ("[]-]x", "]x", True),
        ("[a-]x", "-x", True),
        ("[a\\]b]x", "]x", True),
        ("[[:digit:]]x", "7x", True),
        ("[[:space:]]x", " x", True),
        ("[[:space:]]x", "\vx", False),
        ("[[:nonsense:]]x", "nx", False),
        ("[[:digit]x", "dx", True),
        ("[z-a]x", "bx", False),
        ("a[/]b", "a/b", False),
        ("a[^x]b", "a/b", False),
        ("open[", "open[", False),
        ("open[a-", "opena", False),
        ("end\\", "end\\", False),
        ("?", "é", False),  # bytes, not characters
        ("??", "é", True),
        ("/", "a", False),
        ("//", "a", False),
        ("!", "a", False),
        ("a//", "a", False),
        ("a\0b", "a", True),
    ],
)
def test_a_rule_excludes_what_git_excludes(rules, path, excluded):
    assert decide(rules, path) is excluded


def test_a_rule_with_a_slash_at_its_end_is_about_folders():
    assert decide("build/", "build", is_folder=True)
    assert not decide("build/", "build")


def test_line_ends_and_marks_of_other_systems_are_no_part_of_a_rule():
    assert decide(b"\xef\xbb\xbf*.bak\r\n!wanted.bak\r\n", "old.bak")
    assert not decide(b"\xef\xbb\xbf*.bak\r\n!wanted.bak\r\n", "wanted.bak")
    assert decide(b"\xff\xfe*", os.fsdecode(b"\xff\xfename"))


def test_deeper_files_are_stronger_and_relative_to_their_folder():
    known = (
        RuleSet()
        .joined("", parse_rules(b"*.log\n/top\n", ".gitignore"))
        .joined("over", parse_rules(b"!special.log\n/top\n", "over/.gitignore"))
    )
    assert known.find_exclusion("over/special.log", is_folder=False) is None
    assert known.find_exclusion("special.log", is_folder=False) is not None
    assert known.find_exclusion("over/top", is_folder=False) is not None
    assert known.find_exclusion("over/in/top", is_folder=False) is None
    assert known.find_exclusion("overt/special.log", is_folder=False) is not None


def test_a_reason_names_file_line_and_rule():
    known = RuleSet().joined("", parse_rules(b"# files\n\n*.log \r\n", "sub/.gitignore"))
    rule = known.find_exclusion("a.log", is_folder=False)
    assert rule.reason == "ignored by sub/.gitignore:3 *.log"


def test_a_closed_set_excludes_everything_for_one_reason():
    rule = parse_rules(b"build/", ".gitignore")[0]
    known = RuleSet().joined("", parse_rules(b"!*", ".gitignore")).closed_by(rule)
    assert known.find_exclusion("build/x", is_folder=False) is rule


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("*a" * 60 + "b", "a" * 250),
        ("**/a/" * 12 + "b", "a/" * 1000 + "c"),
        ("**/" + "/".join(["*a*a*a"] * 8) + "/x*b", "/".join(["a" * 100] * 40)),
    ],
)
def test_a_rule_made_to_backtrack_is_answered(rule, path):
    # With plain quantifiers each of these runs for longer than anyone waits.
    assert not decide(rule, path)


def test_only_small_regular_files_are_read(tmp_path):
    (tmp_path / "rules").write_bytes(b"*.log\n")
    (tmp_path / "link").symlink_to("rules")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    assert [rule.text for rule in read_rules(tmp_path / "rules", "rules")] == ["*.log"]
    for name in ("link", "pipe", "large", "missing", "."):
        with pytest.raises(OSError):
            read_rules(tmp_path / name, name)
