"""Any interleaving of edits, runs, removals and undoing: what is stored is what the files say.

A tree lives: files are written, appended to, renamed, swapped, copied, deleted, ignored, touched,
given other line ends; transcripts grow, are torn and cut. In between it is mined, synced, moved,
drawers are deleted, restored and forgotten, runs undone. After each run a palace that has seen
nothing yet is mined from the same files, and both must agree but for what is named here:

* what a person deleted stays deleted, and what was forgotten does not come back;
* files that are gone, or that rules leave out, keep their drawers until ``sync --apply``;
* a conversation whose file is gone stays.
"""

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.model import Drawer, SourceClass
from mempal.core.reports import MineOptions
from mempal.ingest.mine import list_trees
from mempal.palace.removal import Selection
from tests.cases.support import LONG_AGO_NS
from tests.palaces import WING, Life, home_of, tell
from tests.transcripts import claude_row, say, to_lines

TEXTS = ("a.md", "b.md", "B.md", "c.txt", "sub/a.md", "sub/d.md", "skip/e.md")
TALKS = ("s.jsonl", "t.jsonl", "sub/s.jsonl")
SLOTS = st.integers(0, 20)


def write_block(word: str) -> str:
    # Two blocks do not fit one drawer; no line is long enough to be forgotten by itself.
    return f"# {word}\n\n" + "".join(f"{word} {line}\n" for line in range(45)) + "\n"


BLOCKS = {word: write_block(word) for word in ("alpha", "beta", "gamma")}
WORDS = st.lists(st.sampled_from(sorted(BLOCKS)), min_size=0, max_size=3)
RULES = st.sampled_from(["", "skip/\n", "*.txt\n", "sub/\n", "sub/*\n!sub/d.md\n", "*.jsonl\n"])
SAID = st.sampled_from(["go on", "yes", "why kiwi", "a\nb", BLOCKS["alpha"] + BLOCKS["beta"]])


class Lives(RuleBasedStateMachine):
    """One tree, the palace that follows it, and what a person has taken away."""

    kind = "memory"
    # Whether equal texts of one conversation must be told apart by who said them, and when. Storing
    # pairs texts by their words alone, so that of two the wrong one may stay current or deleted:
    # where that may happen only what is said and cited is checked, not the voice.
    tells_twins = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.life = Life(Path(self.folder.name).resolve(), self.kind)
        self.clock = LONG_AGO_NS
        self.moves = 0
        self.records = 0
        self.forgotten: set[str] = set()
        self.last_key = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    # --- files -----------------------------------------------------------------------------------

    def put(self, name: str, data: bytes) -> None:
        """Write a file at an instant of its own, long before any run."""
        path = self.life.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        self.stamp(path)

    def stamp(self, path: Path) -> None:
        self.clock += 1_000_000_007
        os.utime(path, ns=(self.clock, self.clock))

    def files(self, *among: str) -> list[Path]:
        return [path for name in among if (path := self.life.root / name).exists()]

    def pick(self, slot: int, *among: str) -> Path | None:
        found = self.files(*among)
        return found[slot % len(found)] if found else None

    @rule(name=st.sampled_from(TEXTS), words=WORDS, crlf=st.booleans())
    def write(self, name, words, crlf) -> None:
        text = "".join(BLOCKS[word] for word in words)
        self.put(name, text.replace("\n", "\r\n" if crlf else "\n").encode())

    @rule(slot=SLOTS, word=st.sampled_from(sorted(BLOCKS)))
    def append(self, slot, word) -> None:
        if path := self.pick(slot, *TEXTS):
            self.put(str(path.relative_to(self.life.root)), path.read_bytes() + word.encode())

    @rule(slot=SLOTS)
    def unlink(self, slot) -> None:
        if path := self.pick(slot, *TEXTS, *TALKS):
            path.unlink()

    @rule(slot=SLOTS, name=st.sampled_from(TEXTS))
    def rename(self, slot, name) -> None:
        if path := self.pick(slot, *TEXTS):
            self.move(path, name)

    @rule(slot=SLOTS, name=st.sampled_from(TALKS))
    def rename_talk(self, slot, name) -> None:
        if path := self.pick(slot, *TALKS):
            self.move(path, name)

    def move(self, path: Path, name: str) -> None:
        target = self.life.root / name
        target.parent.mkdir(exist_ok=True)
        path.replace(target)

    @rule(one=SLOTS, other=SLOTS, talks=st.booleans())
    def swap(self, one, other, talks) -> None:
        among = TALKS if talks else TEXTS
        first, second = self.pick(one, *among), self.pick(other, *among)
        if first and second and first != second:
            first.rename(aside := self.life.folder / "aside")
            second.rename(first)
            aside.rename(second)

    @rule(slot=SLOTS, name=st.sampled_from(TEXTS))
    def copy(self, slot, name) -> None:
        if path := self.pick(slot, *TEXTS):
            self.put(name, path.read_bytes())

    @rule(slot=SLOTS)
    def touch(self, slot) -> None:
        if path := self.pick(slot, *TEXTS, *TALKS):
            self.stamp(path)

    @rule(rules=RULES)
    def ignore(self, rules) -> None:
        self.put(".gitignore", rules.encode())

    # --- transcripts: each session is in one file, wherever that lies ----------------------------

    @rule(name=st.sampled_from(TALKS), texts=st.lists(SAID, min_size=1, max_size=3))
    def begin_talk(self, name, texts) -> None:
        self.records += 1
        key = f"{self.records:08d}-0000-4000-8000-000000000001"
        self.put(name, b"".join(self.draw_row(text, key) for text in texts))

    def draw_row(self, text: str, key: str) -> bytes:
        self.records += 1
        number = self.records
        role, content = ("user", text) if number % 3 else ("assistant", say(text))
        return to_lines([claude_row(number, role, content, sessionId=key)]).encode()

    @rule(slot=SLOTS, text=SAID, torn=st.integers(0, 40))
    def talk_on(self, slot, text, torn) -> None:
        path = self.pick(slot, *TALKS)
        data = path.read_bytes() if path else b""
        if path and (at := data.find(b'"sessionId": "')) >= 0:
            key = data[at + 14 : at + 50].decode()
            row = self.draw_row(text, key)
            self.put(
                str(path.relative_to(self.life.root)), data + (row[:-torn] if torn > 20 else row)
            )

    @rule(slot=SLOTS, keep=st.integers(0, 3))
    def cut_talk(self, slot, keep) -> None:
        if path := self.pick(slot, *TALKS):
            lines = path.read_bytes().splitlines(keepends=True)
            self.put(str(path.relative_to(self.life.root)), b"".join(lines[:keep]))

    # --- runs ------------------------------------------------------------------------------------

    @rule()
    def mine(self) -> None:
        self.predict()
        self.check_tree()
        again = self.life.mine()
        changes = again.drawers
        assert (changes.added, changes.superseded, changes.restored) == (0, 0, 0)
        assert (again.mined, again.run) == ((), None)

    def predict(self) -> None:
        """Mine, after a dry run that must have changed nothing and said the same."""
        before, homes = self.life.dump(), self.list_talks()
        said = self.life.mine(dry_run=True)
        assert self.life.dump() == before
        done = self.life.mine()
        assert (said.skipped, said.excluded) == (done.skipped, done.excluded)
        assert said.drawers.added == done.drawers.added
        if any(drawer.deleted_at is not None for drawer in self.life.every()):
            return  # a file all of whose drawers were deleted is filed anew when it is renamed
        assert (said.files, said.mined) == (done.files, done.mined)
        now = self.list_talks()
        if all(now[session] == home for session, home in homes.items()):
            assert (said.drawers, said.gone) == (done.drawers, done.gone)

    def list_talks(self) -> dict[str, set[str]]:
        """Return the files in which each session is cited.

        A dry run changes nothing, so it cannot tell that what one file has lost is in another.
        """
        homes: dict[str, set[str]] = defaultdict(set)
        if self.life.palace.access.exists():
            for drawer in self.life.current():
                if drawer.session is not None:
                    homes[drawer.session].add(drawer.source_file)
        return homes

    @rule()
    def mine_only(self) -> None:
        self.life.mine()
        self.check_tree()

    @rule(name=st.sampled_from(["sub", "sub/a.md", "a.md"]))
    def mine_a_part(self, name) -> None:
        if (self.life.root / name).exists():
            self.life.mine(name)
            self.check_sources()

    @rule()
    def move_tree(self) -> None:
        """A tree is known again where most of it is what it was."""
        self.mine()
        current = sorted(str(tell(drawer)[1:]) for drawer in self.life.current())
        # A file that rules leave out is not read again, and is known by its size alone.
        known = [path for path, seen in self.list_sources().items() if seen]
        if 2 * len(known) < len(self.list_sources()):
            return
        self.moves += 1
        target = self.life.folder / f"tree-{self.moves}"
        self.life.root.rename(target)
        self.life.settle(target)
        report = self.life.mine()
        assert (report.drawers.added, report.drawers.superseded) == (0, 0)
        assert sorted(str(tell(drawer)[1:]) for drawer in self.life.current()) == current
        self.check_tree()

    def list_sources(self) -> dict[str, bool]:
        """Return which files are known, and whether each is there, as long as it was."""
        store = self.life.open()
        try:
            sources = store.sources(WING, str(self.life.root))
            return {
                path: (found := self.life.root / path).exists()
                and found.stat().st_size == source.size
                for path, source in sources.items()
                if source.state != "gone"
            }
        finally:
            store.close()

    @rule(apply=st.booleans())
    def sync(self, apply) -> None:
        before = self.life.dump()
        try:
            report = self.life.palace.mining.sync(WING, apply=apply, skip_missing=False)
        except NotFoundError:
            assert self.life.dump() == before
            return
        if not apply:
            assert self.life.dump() == before
            return
        listed = {file.source_file for file in (*report.gone, *report.ignored)}
        for drawer in self.life.current():
            assert drawer.session is not None or drawer.source_file not in listed
        self.check_sources()

    @precondition(lambda self: self.life.palace.access.exists())
    @rule(slot=SLOTS)
    def delete(self, slot) -> None:
        if found := self.life.current():
            chosen = found[slot % len(found)]
            self.life.palace.removal.delete([chosen.id])
            assert chosen.id not in {drawer.id for drawer in self.life.current()}

    @precondition(lambda self: self.life.palace.access.exists())
    @rule(slot=SLOTS)
    def restore(self, slot) -> None:
        if found := [drawer for drawer in self.life.every() if drawer.deleted_at is not None]:
            self.life.palace.removal.restore([found[slot % len(found)].id])

    @precondition(lambda self: self.life.palace.access.exists())
    @rule(slot=SLOTS)
    def forget(self, slot) -> None:
        if found := self.life.every():
            content = found[slot % len(found)].content
            chosen = {drawer.id for drawer in found if drawer.content == content}
            self.life.palace.removal.forget(Selection(ids=tuple(chosen)), apply=True)
            self.forgotten.add(content)
            assert not chosen & {drawer.id for drawer in self.life.every()}

    @precondition(lambda self: self.life.palace.access.exists())
    @rule()
    def undo(self) -> None:
        runs = [run for run in self.life.palace.runs.list() if run.state == "done"]
        if not runs:
            return
        before = self.life.dump()
        try:
            self.life.palace.runs.undo(runs[0].id)
        except UsageError:
            assert runs[0].verb == "forget" or self.forgotten
            assert self.life.dump() == before
        self.check_sources()

    # --- what must hold --------------------------------------------------------------------------

    def check_tree(self) -> None:
        """Hold the palace to the files."""
        self.check_sources()
        every = self.life.every()
        fresh = group(self.life.mine_afresh())
        stored = group([d for d in every if d.superseded_at is d.deleted_at is None])
        deleted = group([d for d in every if d.deleted_at is not None])
        said = Counter((home_of(d), d.content) for d in every if d.session is not None)
        twins = set() if self.tells_twins else {text for text in said if said[text] > 1}
        left = stored.keys() - fresh.keys()
        offered = self.list_offered() if left else set()
        # Where a move was undone, and the tree has changed so much by now that nobody knows it
        # again, what is stored under its former root stays until `sync`.
        here = {home for home in left if home[0] == str(self.life.root) and home[1] in offered}
        for home in fresh.keys() | here:
            expected = [d for d in fresh.get(home, []) if d.content not in self.forgotten]
            alike = {text for source, text in twins if source == home}
            self.check_source(expected, stored.get(home, []), deleted.get(home, []), alike)

    def list_offered(self) -> set[str]:
        """Return the files that rules let be mined."""
        (tree,) = list_trees([self.life.root], self.life.repositories, MineOptions())
        return {entry.path for entry in tree.files}

    def check_source(
        self, expected: list[Drawer], stored: list[Drawer], deleted: list[Drawer], alike: set[str]
    ) -> None:
        wanted, found = (
            [tell(mute(drawer) if drawer.content in alike else drawer) for drawer in drawers]
            for drawers in (expected, stored)
        )
        rest = iter(wanted)
        assert all(told in rest for told in found), (wanted, found)
        lacking = Counter(d.content for d in expected) - Counter(d.content for d in stored)
        assert lacking <= Counter(d.content for d in deleted), lacking

    def check_sources(self) -> None:
        """No drawer stands twice, none is added where an earlier one may come back."""
        if not self.life.palace.access.exists():
            return
        every = self.life.every()
        assert len({drawer.id for drawer in every}) == len(every)
        places = Counter((*home_of(d), d.chunk_index) for d in self.life.current())
        assert max(places.values(), default=1) == 1, places
        assert not self.forgotten & {drawer.content for drawer in every}
        lapsed = {
            (*home_of(d), d.room, d.content)
            for d in every
            if d.superseded_at is not None and d.deleted_at is None
        }
        new = [d for d in every if d.key > self.last_key]
        assert not lapsed & {
            (*home_of(d), d.room, d.content) for d in new if d.superseded_at is None
        }
        self.last_key = max((d.key for d in every), default=0)


def group(drawers: list[Drawer]) -> dict[tuple[str, ...], list[Drawer]]:
    """Return drawers by their sources, in order."""
    groups: dict[tuple[str, ...], list[Drawer]] = {}
    for drawer in sorted(drawers, key=lambda drawer: drawer.chunk_index):
        groups.setdefault(home_of(drawer), []).append(drawer)
    return groups


def mute(drawer: Drawer) -> Drawer:
    """Return a drawer of which nobody knows who said it, or when."""
    return replace(drawer, speaker=None, source_class=SourceClass.FILE, said_at=None)


class LivesOnDisk(Lives):
    """The same in a database."""

    kind = "sqlite"


@pytest.mark.parametrize(("machine", "examples"), [(Lives, 100), (LivesOnDisk, 25)])
def test_whatever_happens_to_a_tree_the_palace_says_what_its_files_say(machine, examples):
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=25)
    )


# --- histories that were found, and shrunk, by runs of the machine --------------------------------


def leave_out_a_moved_tree(lives: Lives) -> None:
    """Most files of a tree are there still, but rules leave them out when it moves."""
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()
    lives.rename_talk(name="t.jsonl", slot=0)
    lives.mine()
    lives.move_tree()
    lives.forget(slot=0)
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()
    lives.restore(slot=14)
    lives.ignore(rules="*.jsonl\n")
    lives.swap(one=1, other=5, talks=True)
    lives.move_tree()


def rename_and_undo(lives: Lives) -> None:
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()
    lives.rename_talk(name="t.jsonl", slot=0)
    lives.mine()
    lives.undo()


def reuse_the_name_of_a_forgotten_talk(lives: Lives) -> None:
    """The file that lost a session is read before the one that holds it by now."""
    rename_and_undo(lives)
    lives.forget(slot=0)
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()


def reuse_the_name_of_a_deleted_talk(lives: Lives) -> None:
    rename_and_undo(lives)
    lives.delete(slot=0)
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()


def rename_a_talk_that_grew(lives: Lives) -> None:
    """Two say the same, one of it is deleted, and the file is read anew under another name."""
    lives.begin_talk(name="t.jsonl", texts=["go on", "go on"])
    lives.mine()
    lives.delete(slot=0)
    lives.rename_talk(name="s.jsonl", slot=0)
    lives.talk_on(slot=0, text="go on", torn=0)
    lives.mine()


def undo_a_move_and_change_the_tree(lives: Lives) -> None:
    """Nothing of it is what it was, so it is another tree than the one that is gone."""
    lives.ignore(rules="skip/\n")
    lives.move_tree()
    lives.undo()
    lives.ignore(rules="")
    lives.mine()


def begin_another_talk_where_nothing_was_settled(lives: Lives) -> None:
    lives.ignore(rules="")
    lives.begin_talk(name="s.jsonl", texts=["go on", "go on", "go on"])
    lives.begin_talk(name="s.jsonl", texts=["go on"])
    lives.mine()
    lives.begin_talk(name="s.jsonl", texts=["go on", "go on"])
    lives.mine()


@pytest.mark.parametrize("machine", [Lives, LivesOnDisk])
@pytest.mark.parametrize(
    "history",
    [
        undo_a_move_and_change_the_tree,
        begin_another_talk_where_nothing_was_settled,
        leave_out_a_moved_tree,
        reuse_the_name_of_a_forgotten_talk,
        reuse_the_name_of_a_deleted_talk,
        pytest.param(
            rename_a_talk_that_grew,
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="equal texts are paired whoever said them: the deleted one changes places",
            ),
        ),
    ],
)
def test_a_history_that_once_went_wrong(
    machine: type[Lives], history: Callable[[Lives], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "tells_twins", True)
    lives = machine()
    try:
        history(lives)
    finally:
        lives.teardown()
