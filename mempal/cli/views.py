"""What each answer shows to people, as blocks that a terminal and a pipe draw in their own way."""

from collections.abc import Iterator, Mapping

from mempal.cli.blocks import Block, Line, Passage, Table, Verbatim
from mempal.cli.documents import find_path, format_location, group_wings
from mempal.core.clock import format_instant
from mempal.core.model import Addition, Citation, Drawer, Hit, SearchResult, Skip, Verdict
from mempal.core.reports import (
    AuditReport,
    AuditRoot,
    Diagnosis,
    MineReport,
    ReindexReport,
    RoomList,
    Shown,
    Status,
    WakeUp,
)

LISTED_SKIPS = 20
_KILO = 1000


def show_mining(report: MineReport) -> Iterator[Block]:
    """Show the balance of ``mine``, what was skipped and why, and in a dry run every path."""
    files, drawers = report.files, report.drawers
    if report.dry_run:
        yield Line("dry run: nothing was stored")
        yield from (Line(f"would mine  {path}") for path in report.mined)
    yield Line(
        f"wing {report.wing}: {files.seen} files = {files.mined} mined"
        f" + {files.unchanged} unchanged + {files.skipped} skipped"
        f" ({files.excluded} excluded by rules) in {report.seconds:.1f} s"
    )
    yield Line(
        f"drawers: {drawers.added} added, {drawers.unchanged} unchanged,"
        f" {drawers.superseded} superseded, {drawers.restored} restored"
    )
    for history in report.history:
        folded = f"; folded: {_count_kinds(history.folded)}" if history.folded else ""
        yield Line(f"history: {history.read} commits read, {history.stored} stored{folded}")
    if report.wings:
        yield Line(f"conversations also went to: {', '.join(report.wings)}")
    if report.redactions:
        yield Line(f"redacted: {_count_kinds(report.redactions)}")
    yield from _show_skips(report.skipped)


def show_search(result: SearchResult) -> Iterator[Block]:
    """Show the hits, best first, each with its citation and its neighbours around it."""
    for hit in result.hits:
        yield from (_show_neighbor(drawer, result) for drawer in hit.before)
        yield _show_hit(hit, result)
        yield from (_show_neighbor(drawer, result) for drawer in hit.after)


def show_wakeup(wakeup: WakeUp) -> Iterator[Block]:
    """Show the text for an agent that starts."""
    if wakeup.text:
        yield Verbatim(wakeup.text)


def show_drawer(shown: Shown) -> Iterator[Block]:
    """Show one drawer in full."""
    drawer = shown.drawer
    facts = [*_state_facts(drawer, shown.citation), str(drawer.source_class)]
    if drawer.commit:
        facts.append(f"commit {drawer.commit[:12]}")
    if drawer.deleted_at is not None:
        facts.append(f"deleted {format_instant(drawer.deleted_at)}")
    yield _show_passage(drawer, shown.citation, tuple(facts))


def show_addition(addition: Addition) -> Iterator[Block]:
    """Show what ``add`` stored, one drawer a line."""
    if addition.created:
        yield from (Line(f"added {drawer_id}") for drawer_id in addition.drawer_ids)
    else:
        kept = addition.duplicate_of or ", ".join(addition.drawer_ids)
        yield Line(f"already stored as {kept}")


def show_status(status: Status) -> Iterator[Block]:
    """Show sizes, versions and rooms of a palace."""
    rows = [("palace", status.home), ("mempal", status.version), ("embedder", _embedder(status))]
    store, index = status.store, status.index
    if store is None:
        yield Table((), tuple(rows))
        return
    rows += [
        ("drawers", f"{store.drawers} ({store.superseded} superseded, {store.deleted} deleted)"),
        ("sources", f"{store.sources} ({store.skipped_sources} skipped)"),
        ("size", f"{format_bytes(store.bytes)} for {format_bytes(store.text_bytes)} of text"),
        ("schema", f"version {store.schema_version}, revision {store.revision}"),
    ]
    if index:
        count = "not loaded" if index.count is None else f"{index.count} drawers"
        rows.append(("index", f"{index.backend}, {count}, {index.pending} pending"))
    yield Table((), tuple(rows))
    if store.rooms:
        yield Line("")
        yield from show_rooms(RoomList(store.rooms))


def show_diagnosis(diagnosis: Diagnosis) -> Iterator[Block]:
    """Show every finding and, below it, the command that mends it."""
    yield Table(
        (),
        tuple((found.level, found.name, found.detail) for found in diagnosis.findings),
    )
    repairs = dict.fromkeys(found.repair for found in diagnosis.findings if found.repair)
    yield from (Line(f"repair with: {repair}") for repair in repairs)


def show_audit(report: AuditReport) -> Iterator[Block]:
    """Show the balance of every mined tree and whether it is complete."""
    for root in report.roots:
        yield from _show_root(root)
    if not report.roots:
        return
    if report.complete:
        yield Line("complete")
        return
    commands = ["`mempal mine` brings it up to date"]
    if any(root.gone for root in report.roots):
        commands.append("`mempal sync` lets go of files that are gone")
    yield Line(f"not complete: {', '.join(commands)}")


def show_reindexing(report: ReindexReport) -> Iterator[Block]:
    """Show what ``reindex`` did."""
    embedded = f", {report.reembedded} embedded again with {report.embedder}"
    yield Line(
        f"{report.drawers} drawers in index {report.backend}"
        f"{embedded if report.reembedded else ''} in {report.seconds:.1f} s"
    )


def show_rooms(listing: RoomList) -> Iterator[Block]:
    """Show each room with its size."""
    rows = tuple(
        (
            room.wing,
            room.room,
            str(room.drawers),
            str(room.sources),
            _format_day(format_instant(room.last_added_at)),
        )
        for room in listing.rooms
    )
    if rows:
        yield Table(("wing", "room", "drawers", "sources", "last added"), rows, numeric=(2, 3))


def show_wings(listing: RoomList) -> Iterator[Block]:
    """Show each wing with its size."""
    rows = tuple(
        (
            wing["wing"],
            str(wing["rooms"]),
            str(wing["drawers"]),
            str(wing["sources"]),
            _format_day(wing["last_added_at"]),
        )
        for wing in group_wings(listing.rooms)
    )
    if rows:
        yield Table(("wing", "rooms", "drawers", "sources", "last added"), rows, (1, 2, 3))


def format_bytes(size: int) -> str:
    """Return a size in the largest decimal unit that leaves a number of at least one."""
    number, units = float(size), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while number >= _KILO and (larger := next(units, None)):
        number, unit = number / _KILO, larger
    return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"


def _show_hit(hit: Hit, result: SearchResult) -> Passage:
    drawer = hit.drawer
    facts = [f"{hit.score:.2f}", *_state_facts(drawer, hit.citation)]
    return _show_passage(drawer, hit.citation, tuple(facts), result)


def _show_neighbor(drawer: Drawer, result: SearchResult) -> Passage:
    # Only the hit's own citation was judged; its neighbour stands where it was stored.
    stored = Citation(Verdict.UNKNOWN, drawer.source_file)
    return _show_passage(drawer, stored, ("context", drawer.id), result)


def _show_passage(
    drawer: Drawer,
    citation: Citation,
    facts: tuple[str, ...],
    result: SearchResult | None = None,
) -> Passage:
    first = citation.line_start or getattr(drawer.span, "line_start", None)
    last = citation.line_end or getattr(drawer.span, "line_end", None)
    path = find_path(drawer, citation) or drawer.source_file or "(given by hand)"
    return Passage(
        location=format_location(path, first, last),
        facts=facts,
        content=drawer.content,
        first_line=first,
        terms=result.terms if result else (),
    )


def _state_facts(drawer: Drawer, citation: Citation) -> Iterator[str]:
    yield f"{drawer.wing}/{drawer.room}"
    yield drawer.id
    if citation.verdict is Verdict.MOVED:
        old = drawer.span
        former = format_location(
            drawer.source_file, old.line_start if old else None, old.line_end if old else None
        )
        yield f"moved from {former}"
    else:
        yield str(citation.verdict)
    if drawer.speaker is not None:
        day = "" if drawer.said_at is None else f" {_format_day(format_instant(drawer.said_at))}"
        yield f"{drawer.speaker}{day}"
    if drawer.superseded_at is not None:
        yield f"superseded {_format_day(format_instant(drawer.superseded_at))}"


def _embedder(status: Status) -> str:
    """Return the embedder that is bound to the palace, and the configured one where they differ."""
    stored = status.store.embedder if status.store else None
    if stored is None:
        return status.embedder
    return stored if stored.startswith(status.embedder) else f"{stored} ({status.embedder} is set)"


def _show_skips(skips: tuple[Skip, ...]) -> Iterator[Block]:
    if not skips:
        return
    yield Line("skipped:")
    yield Table((), tuple((f"  {skip.path}", skip.reason) for skip in skips[:LISTED_SKIPS]))
    if len(skips) > LISTED_SKIPS:
        yield Line(f"  ... and {len(skips) - LISTED_SKIPS} more (--json lists all)")


def _show_root(root: AuditRoot) -> Iterator[Block]:
    yield Line(f"wing {root.wing}: {root.root}")
    yield Line(
        f"  {root.seen} files = {root.stored} stored + {root.skipped} skipped"
        f" + {root.changed} changed + {root.new} new;"
        f" {root.excluded} excluded by rules, {root.gone} gone"
    )
    yield from (Line(f"  problem: {problem}") for problem in root.problems)


def _count_kinds(redactions: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(redactions.items()))


def _format_day(instant: str | None) -> str:
    return instant[:10] if instant else "-"
