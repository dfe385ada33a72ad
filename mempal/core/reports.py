"""What the verbs answer with: plain values that the command line and the MCP server render."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mempal.core.model import Changes, Citation, Drawer, RoomCount, Skip, StoreStatus


class MineMode(StrEnum):
    """What files are read as."""

    AUTO = "auto"
    FILES = "files"
    CONVOS = "convos"


@dataclass(frozen=True, slots=True)
class MineOptions:
    """How a tree is to be mined.

    Attributes:
        wing: Wing to file under; ``None`` means the tree's own default.
        room: Room for every file; ``None`` means each file's own.
        mode: What files are read as: transcripts where they are some, files only, or transcripts
            only.
        ignore_files: Further files with ignore rules, anchored at the tree's root.
        use_gitignore: Whether git's ignore rules count.
        use_mempalignore: Whether ``.mempalignore`` counts.
        limit_file_size: Largest file that is read, in bytes.
        dry_run: Whether to report without writing anything.
        own_wings: Whether a conversation is filed under the project it was held in.
        git_log: Whether the commits of the repository are stored, too.
        since: Only commits since this revision or date.
    """

    wing: str | None = None
    room: str | None = None
    mode: MineMode = MineMode.AUTO
    ignore_files: tuple[str, ...] = ()
    use_gitignore: bool = True
    use_mempalignore: bool = True
    limit_file_size: int = 2_097_152
    dry_run: bool = False
    own_wings: bool = False
    git_log: bool = False
    since: str | None = None


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
class HistoryReport:
    """What reading the history of a repository came to.

    Attributes:
        root: Top folder of its working tree.
        read: Commits that were read.
        stored: Commits among them that say something.
        folded: How many of each kind were left out.
        redactions: How many secrets of each kind were taken out.
    """

    root: str
    read: int = 0
    stored: int = 0
    folded: Mapping[str, int] = field(default_factory=dict)
    redactions: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MineReport:
    """What a run of ``mine`` did.

    Attributes:
        roots: Absolute paths of the trees that were read; sources are relative to one of them.
        skipped: Files that were seen but hold nothing to store, each with its reason.
        excluded: Files and folders (once for all below) that a rule kept out, each with the rule.
        warnings: What the user should know although nothing was lost.
        mined: Paths that were stored or, in a dry run, would be.
        gone: Number of files that something is stored of and that are not there any more.
        wings: Further wings, of their own projects, that conversations went to.
        history: What reading the history came to, for each repository, when it was asked for.
        run: Number of the run, by which it can be undone; ``None`` when it changed nothing.
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
    gone: int = 0
    wings: tuple[str, ...] = ()
    history: tuple[HistoryReport, ...] = ()
    run: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class GoneFile:
    """A file that something is stored of and that mining would not find now.

    Attributes:
        drawers: How many of its drawers are current.
        moved_to: Path in the same tree where its text is now; ``None`` when it is nowhere.
        reason: The rule that leaves the file out; ``None`` when it is not there any more.
        moves: Whether its drawers go along to where it moved, since nothing is stored there.
    """

    source_file: str
    root: str
    drawers: int
    moved_to: str | None = None
    reason: str | None = None
    moves: bool = False


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What ``sync`` found and did.

    Attributes:
        gone: Files that are not there any more.
        ignored: Files that a rule leaves out now.
        pruned: Drawers that were superseded; 0 in a dry run.
        protected: (drawer id, card id) for each card that keeps a drawer current.
    """

    wing: str
    dry_run: bool
    gone: tuple[GoneFile, ...] = ()
    ignored: tuple[GoneFile, ...] = ()
    pruned: int = 0
    protected: tuple[tuple[str, str], ...] = ()
    run: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """What ``delete``, ``restore`` or ``purge`` did, or would do in a dry run.

    Attributes:
        drawers: The drawers it was about.
        protected: (drawer id, card id) for each card that keeps a drawer.
    """

    drawers: tuple[Drawer, ...]
    dry_run: bool = False
    protected: tuple[tuple[str, str], ...] = ()
    run: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What ``forget`` did, or would do in a dry run.

    Attributes:
        drawers: The drawers it is about, whatever their state.
        sources: Sources that are forgotten as a whole, by root and path.
        cited: (drawer id, card id) for each card that loses its evidence.
    """

    dry_run: bool
    drawers: tuple[Drawer, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    cited: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


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
class SessionBalance:
    """How many sessions in a folder of a coding agent's are stored.

    ``total`` is the number of sessions on disk, ``missing`` of those of which nothing is stored,
    ``grown`` of those that have changed since.

    Attributes:
        host: ``claude-code`` or ``codex``.
        days_left: Whole days until the host deletes the first that is missing or grown; ``None``
            when it deletes none.
        note: What is odd about that; empty for nothing.
    """

    host: str
    folder: str
    total: int
    missing: int
    grown: int
    days_left: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All results of a health check, and the balance of the sessions on this machine."""

    home: str
    findings: tuple[Finding, ...]
    sessions: tuple[SessionBalance, ...] = ()

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
