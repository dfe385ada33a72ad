"""Reading the files of one tree under one set of rules."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mempal.core.clock import now
from mempal.core.files import open_regular, read_regular
from mempal.core.ids import hash_content, hash_parts
from mempal.core.model import Chunk, Repository, Source, SourceState
from mempal.core.reports import MineMode, MineOptions
from mempal.ingest.classify import TOO_LARGE, describe_size, skip_by_name
from mempal.ingest.conversation import (
    CONVERSATIONS_ROOM,
    Talk,
    detect_format,
    is_compressed,
    read_talk,
)
from mempal.ingest.read import READER_VERSION, read_chunks
from mempal.ingest.rooms import RoomRules
from mempal.ingest.tail import Tail, load_tail
from mempal.ingest.transcripts.detect import Format
from mempal.ingest.walk import FileEntry, Tree

# A file changed so shortly before it was read may have changed again within the same clock tick.
_TICK_NS = 20_000_000
# Some file systems keep whole seconds only, one even every second one.
_SECOND_NS = 1_000_000_000
_COARSE_TICK_NS = 2 * _SECOND_NS
# Modification time recorded for a file that could not be read, so that the next run tries again.
RETRY = -1
NO_TRANSCRIPT = "not a transcript"
_CHATS = {MineMode.AUTO: "seek", MineMode.CONVOS: "expect", MineMode.FILES: ""}


@dataclass(frozen=True, slots=True)
class Found:
    """What one file holds now.

    Attributes:
        source: The file's own source; its state says whether it is skipped, and why.
        chunks: The text of a file that is no transcript; ``None`` when it is what it was.
        talk: What was said in a transcript.
        warnings: What was not exact or not read, in words for the user.
        redactions: How many secrets of each kind were taken out.
    """

    source: Source
    chunks: tuple[Chunk, ...] | None = ()
    talk: Talk | None = None
    warnings: tuple[str, ...] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class TreeReader:
    """Reads the files of one tree into one wing."""

    tree: Tree
    wing: str
    options: MineOptions
    room_rules: RoomRules
    rules: str = ""

    def __post_init__(self) -> None:
        """Name the rules, so that a file read under other ones is read again."""
        rooms = hash_content(repr((self.options.room, self.room_rules)))[:12]
        self.rules = f"{READER_VERSION}:{self.options.mode}:{rooms}"

    def is_current(self, entry: FileEntry, known: Source) -> bool:
        """Return whether size and time say that a file is as it was when it was last read."""
        if known.state not in {SourceState.STORED, SourceState.SKIPPED}:
            return False
        tick = _TICK_NS if known.mtime_ns % _SECOND_NS else _COARSE_TICK_NS
        settled = known.mtime_ns < known.mined_at * 1_000_000 - tick
        same = (entry.size, entry.mtime_ns) == (known.size, known.mtime_ns)
        return same and settled and known.rules == self.rules and self._judges_size(entry, known)

    def _judges_size(self, entry: FileEntry, known: Source) -> bool:
        """Return whether the limit of this run says of a file what that of the last one said."""
        if known.tail is not None:
            return True
        if known.state is SourceState.SKIPPED and not (known.reason or "").startswith(TOO_LARGE):
            return True
        is_large = entry.size > self.options.limit_file_size
        return is_large == (known.state is SourceState.SKIPPED)

    def is_same_text(self, source: Source, known: Source) -> bool:
        """Return whether a file that was read again holds what it held, under the same rules."""
        return (
            known.state is SourceState.STORED
            and source.content_sha256 == known.content_sha256
            and source.rules == known.rules
        )

    def read(self, entry: FileEntry, known: Source | None, *, may_resume: bool) -> Found:
        """Read one file.

        Args:
            entry: The file as the walk found it.
            known: What is stored of it.
            may_resume: Whether a transcript that has grown may be read from its tail on.
        """
        source = Source(
            wing=self.wing,
            root=str(self.tree.root),
            path=entry.path,
            room=known.room if known else "general",
            size=entry.size,
            mtime_ns=entry.mtime_ns,
            commit=_commit_of(self.tree.repository, entry),
            rules=self.rules,
            mined_at=now(),
        )
        try:
            form = self._detect(entry)
            if form is not None and form is not Format.METADATA:
                tail = load_tail(known.tail) if known and may_resume else None
                return self._read_transcript(source, entry, form, known, tail)
            if form is Format.METADATA:
                return _skipped(source, "metadata of an export")
            return self._read_file(source, entry, known)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            return _skipped(replace(source, mtime_ns=RETRY), f"unreadable ({reason})")

    def _detect(self, entry: FileEntry) -> Format | None:
        if self.options.mode is MineMode.FILES:
            return None
        if skip_by_name(entry.path) is not None and not is_compressed(entry.path):
            return None
        return detect_format(entry.absolute, entry.path)

    # --- files ---------------------------------------------------------------------------------

    def _read_file(self, source: Source, entry: FileEntry, known: Source | None) -> Found:
        limit = self.options.limit_file_size
        skip = skip_by_name(entry.path)
        if skip is None and entry.size > limit:
            skip = describe_size(entry.size, limit)
        if skip is not None:
            return _skipped(source, skip)
        data = read_regular(entry.absolute, limit)
        source = replace(
            source,
            content_sha256=hashlib.sha256(data).hexdigest(),
            blob=_hash_blob(self.tree.repository, data),
        )
        if known is not None and self.is_same_text(source, known):
            return Found(replace(source, encoding=known.encoding), None)
        reading = read_chunks(entry.path, data, chats=_CHATS[self.options.mode])
        if reading.skip is not None:
            return _skipped(source, reading.skip)
        if self.options.mode is MineMode.CONVOS and not reading.spoken:
            return _skipped(source, NO_TRANSCRIPT)
        head = "".join(chunk.content for chunk in reading.chunks[:3])
        room = self.options.room or (
            CONVERSATIONS_ROOM if reading.spoken else self.room_rules.room_of(entry.path, head)
        )
        warnings = (reading.warning,) if reading.warning else ()
        stored = replace(source, room=room, encoding=reading.encoding)
        return Found(stored, reading.chunks, None, warnings, reading.redactions)

    # --- transcripts ---------------------------------------------------------------------------

    def _read_transcript(
        self,
        source: Source,
        entry: FileEntry,
        form: Format,
        known: Source | None,
        tail: Tail | None,
    ) -> Found:
        room = self.options.room or CONVERSATIONS_ROOM
        source = replace(source, room=room)
        grown = known is not None and entry.size > known.size and known.rules == self.rules
        digest = ""
        if tail is None or not grown:
            tail = None
            with open_regular(entry.absolute) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            source = replace(source, content_sha256=digest)
            if known is not None and self.is_same_text(source, known):
                return Found(replace(source, tail=known.tail), None)
        talk = read_talk(entry.absolute, entry.path, form, tail)
        if not digest:
            # A name for the state of a file that only its end was read of.
            digest = hash_parts(known.content_sha256 if known else "", repr(talk.tail))
        source = replace(
            source, content_sha256=digest, tail=talk.tail.dump() if talk.tail else None
        )
        warnings = tuple(f"{entry.path}: {problem}" for problem in talk.problems)
        if not talk.conversations and not talk.resumed:
            found = _skipped(source, f"no message in it ({talk.format} transcript)")
            return replace(found, warnings=warnings)
        return Found(source, (), talk, warnings, talk.redactions)


def _skipped(source: Source, reason: str) -> Found:
    return Found(replace(source, state=SourceState.SKIPPED, reason=reason))


def _commit_of(repository: Repository | None, entry: FileEntry) -> str | None:
    return repository.commit if repository is not None and entry.tracked else None


def _hash_blob(repository: Repository | None, data: bytes) -> str | None:
    """Name a file's bytes as git does, which finds them again wherever a commit moves them."""
    if repository is None:
        return None
    digest = hashlib.new(repository.object_format, b"blob %d\x00" % len(data))
    digest.update(data)
    return digest.hexdigest()
