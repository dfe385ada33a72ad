"""What an agent should know when it starts.

Identity, then the drawers that matter most, within a budget.
"""

from collections.abc import Iterator

from mempal.core.clock import format_instant
from mempal.core.model import Drawer, SourceClass
from mempal.core.ports import Store
from mempal.core.recall import estimate_tokens, strip_controls, wrap_recalled
from mempal.core.reports import WakeUp, WakeUpItem

_CONSIDERED = 200
# Where a tree says what it is; the first drawer of the first that is there speaks for it.
_OVERVIEWS = ("README.md", "README.rst", "README.txt", "README", "AGENTS.md", "CLAUDE.md")
_MOST_OVERVIEWS = 3
# Whose words an agent may be told without asking.
_TRUSTED = frozenset({SourceClass.PERSON, SourceClass.FILE})
# A drawer whose text would leave less than this of the budget to others is cut at a line end.
_LONGEST_SHARE = 0.4
# The owner's own words leave at least this much of the budget to what is remembered.
_IDENTITY_SHARE = 0.5


def wake_up(store: Store, wing: str | None, identity: str, max_tokens: int) -> WakeUp:
    """Compose the text.

    Args:
        store: Record of truth.
        wing: Only this project; ``None`` for all.
        identity: The owner's own words about who they are; may be empty.
        max_tokens: Estimated tokens the text may cost.
    """
    parts = ["# Memory"]
    if identity.strip():
        told = _cut(strip_controls(identity).strip(), int(max_tokens * _IDENTITY_SHARE))
        parts.append(f"## Identity\n\n{told}")
    budget = max_tokens - estimate_tokens("\n\n".join(parts)) - estimate_tokens(wrap_recalled([]))
    chosen: list[tuple[Drawer, str, str]] = []
    ranked = _rank(store, wing)
    for drawer in ranked:
        label = _label(drawer)
        text = _cut(drawer.content, min(budget, int(max_tokens * _LONGEST_SHARE)))
        cost = estimate_tokens(label) + estimate_tokens(text) + 2
        if not text or cost > budget:
            continue
        budget -= cost
        chosen.append((drawer, label, text))
    if chosen:
        parts.append(wrap_recalled([(label, text) for _, label, text in chosen]))
    text = "\n\n".join(parts)
    items = tuple(WakeUpItem(drawer.id, drawer.source_file) for drawer, _, _ in chosen)
    return WakeUp(wing, text, estimate_tokens(text), items, _explain(ranked, items))


def _explain(ranked: list[Drawer], items: tuple[WakeUpItem, ...]) -> str:
    if items:
        return ""
    if ranked:
        return "nothing fits into so few tokens; allow more with --max-tokens"
    return "nothing is remembered here yet; `mempal mine` stores a repository"


def _rank(store: Store, wing: str | None) -> list[Drawer]:
    """Return what is worth telling: important things, notes, what each tree is, what is new.

    Nobody asked for it, so only what a person said or a file holds is told: an agent's own words
    would otherwise come back to it as facts.
    """
    recent = store.recent(wing, _CONSIDERED, _TRUSTED)
    told = [d for d in recent if d.importance or _is_note(d)]
    overviews = list(_find_overviews(store, wing))
    ranked = {drawer.key: drawer for drawer in (*told, *overviews, *recent)}
    return list(ranked.values())


def _is_note(drawer: Drawer) -> bool:
    return drawer.source_class is SourceClass.PERSON and drawer.session is None


def _find_overviews(store: Store, wing: str | None) -> Iterator[Drawer]:
    for owner, root in store.roots(wing)[:_MOST_OVERVIEWS]:
        for name in _OVERVIEWS:
            drawers = store.drawers_of(owner, root, name)
            told = next((drawer for drawer in drawers if drawer.source_class in _TRUSTED), None)
            if told is not None:
                yield told
                break


def _label(drawer: Drawer) -> str:
    lines = f":{drawer.span.line_start}-{drawer.span.line_end}" if drawer.span else ""
    instant = drawer.added_at if drawer.said_at is None else drawer.said_at
    day = (format_instant(instant) or "")[:10]
    place = f"{drawer.wing}/{drawer.room} {drawer.source_file}{lines}".replace("\n", " ")
    return f"{place} | {drawer.source_class} | {day} | {drawer.id}"


def _cut(text: str, tokens: int) -> str:
    """Return a text that costs at most ``tokens``, cut at a line end or a blank."""
    if tokens <= 0:
        return ""
    if estimate_tokens(text) <= tokens:
        return text
    kept = text.encode("utf-8", "replace")[: tokens * 4 - 4].decode("utf-8", "ignore")
    for border in ("\n", " "):
        cut = kept.rfind(border)
        if cut > len(kept) // 2:
            return kept[:cut] + " …"
    return kept + " …"
