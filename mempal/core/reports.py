"""What the verbs answer with: plain values that the command line and the MCP server render."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mempal.core.model import Changes, Citation, Drawer, RoomCount, Skip, StoreStatus


@dataclass(frozen=True, slots=True)
class MineOptions:
    """How a tree is to be mined.

    Attributes:
        wing: Wing to file under; ``None`` means the tree's own default.
        room: Room for every file; ``None`` means each file's own.
        ignore_files: Further files with ignore rules, anchored at the tree's root.
        use_gitignore: Whether git's ignore rules count.
        use_mempalignore: Whether ``.mempalignore`` counts.
        limit_file_size: Largest file that is read, in bytes.
        dry_run: Whether to report without writing anything.
    """

    wing: str | None = None
    room: str | None = None
    ignore_files: tuple[str, ...] = ()
    use_gitignore: bool = True
    use_mempalignore: bool = True
    limit_file_size: int = 2_097_152
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class FileCounts:
    """The balance of a run.

    ``seen = mined + unchanged + skipped``; ``excluded`` counts what rules kept out unseen.
    """

    mined: int = 0
    unchanged: int = 0
    skipped: int = 0
    excluded: int = 0

    @property
    def seen(self) -> int:
        """Number of files the walk offered."""
        return self.mined + self.unchanged + self.skipped


@dataclass(frozen=True, slots=True)
class MineReport:
    """What a run of ``mine`` did.

    Attributes:
        roots: Absolute paths of the trees that were read; sources are relative to one of them.
        skipped: Files that were seen but hold nothing to store, each with its reason.
        excluded: Files and folders (once for all below) that a rule kept out, each with the rule.
        warnings: What the user should know although nothing was lost.
        mined: Paths that were stored or, in a dry run, would be.
        seconds: Wall-clock time.
    """

    wing: str
    roots: tuple[str, ...]
    dry_run: bool
    files: FileCounts
    drawers: Changes
    skipped: tuple[Skip, ...] = ()
    excluded: tuple[Skip, ...] = ()
    warnings: tuple[str, ...] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)
    mined: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class AuditRoot:
    """The balance of one mined tree, proved again from disk and store.

    ``seen = stored + skipped + changed + new``; ``gone`` counts sources whose file is no longer
    there.
    """

    wing: str
    root: str
    stored: int
    skipped: int
    excluded: int
    changed: int
    new: int
    gone: int
    problems: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Number of files the walk offers now."""
        return self.stored + self.skipped + self.changed + self.new

    @property
    def complete(self) -> bool:
        """Whether every file is stored as it is now or skipped, and nothing is wrong."""
        return not (self.changed or self.new or self.gone or self.problems)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The balance of every mined tree."""

    roots: tuple[AuditRoot, ...]
    hint: str = ""

    @property
    def complete(self) -> bool:
        """Whether every tree's balance is complete."""
        return all(root.complete for root in self.roots)


@dataclass(frozen=True, slots=True)
class WakeUpItem:
    """One drawer of a wake-up text."""

    drawer_id: str
    source_file: str


@dataclass(frozen=True, slots=True)
class WakeUp:
    """What an agent should know when it starts: ready-made text and what it is made of."""

    wing: str | None
    text: str
    estimated_tokens: int
    items: tuple[WakeUpItem, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """One drawer with the state of its citation."""

    drawer: Drawer
    citation: Citation


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """State of the vector index in use.

    Attributes:
        backend: Name of the index that answers now.
        count: Drawers it holds; ``None`` when that cannot be told without loading it.
        pending: Drawers that changed since it was written.
    """

    backend: str
    count: int | None
    pending: int


@dataclass(frozen=True, slots=True)
class Status:
    """State of a palace; ``store`` is ``None`` when there is no palace yet."""

    home: str
    version: str
    store: StoreStatus | None
    index: IndexStatus | None
    embedder: str
    warnings: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a health check.

    Attributes:
        name: What was checked.
        level: ``ok``, ``warning`` or ``problem``.
        detail: What was found.
        repair: The command that mends it; empty when there is nothing to mend.
    """

    name: str
    level: str
    detail: str
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All results of a health check."""

    home: str
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether no finding is a problem."""
        return all(finding.level != "problem" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What ``reindex`` did."""

    backend: str
    embedder: str
    drawers: int
    reembedded: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RoomList:
    """Rooms with their sizes, and a hint when there are none to list."""

    rooms: tuple[RoomCount, ...]
    hint: str = ""
