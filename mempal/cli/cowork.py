"""``mempal cowork-push``, ``cowork-status`` and ``cowork-receipts``; ``cowork-drain``'s help."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line
from mempal.cli.documents import Document
from mempal.cli.options import (
    CwdOption,
    Format,
    FormatOption,
    HomeOption,
    JsonOption,
    TextArgument,
    choose_folder,
    decode_argument,
    read_text,
)
from mempal.core.errors import UsageError
from mempal.core.home import locate_home

if TYPE_CHECKING:
    from mempal.cowork.push import Pushed
    from mempal.cowork.status import Inbox, Status

ToOption = Annotated[
    str, typer.Option("--to", help="Who is to read it: claude or codex.", callback=decode_argument)
]
FromOption = Annotated[
    str | None, typer.Option("--from", help="Who writes (default: the partner of --to).")
]
AllowSecretOption = Annotated[
    bool, typer.Option("--allow-secret", help="Push although it looks like a secret.")
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=0, help="Only the newest.")]
TargetOption = Annotated[str | None, typer.Option("--target", help="Who reads: claude or codex.")]
SourceOption = Annotated[
    str | None, typer.Option("--cwd-source", help="stdin-json: the host's payload says it.")
]
DrainFormatOption = Annotated[
    str | None, typer.Option("--format", help="plain, codex-hook-json or claude-hook-json.")
]
RuntimeOption = Annotated[
    str | None, typer.Option("--hook-runtime", help="A label that the receipt records.")
]


def cowork_push(
    to: ToOption,
    text: TextArgument = None,
    sender: FromOption = None,
    cwd: CwdOption = None,
    allow_secret: AllowSecretOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Put a message into the partner's inbox; it is shown with the partner's next prompt."""
    from mempal.cowork.names import parse_tool, partner_of
    from mempal.cowork.push import push

    target = parse_tool(to)
    content = read_text(text)
    if not allow_secret:
        _refuse_secret(content)
    pushed = push(
        locate_home(home), choose_folder(cwd), sender or partner_of(target), target, content
    )
    render.answer(
        pushed,
        as_json=as_json,
        document=describe_pushed,
        view=show_pushed,
        warnings=filter(None, [pushed.warning]),
    )


def cowork_status(
    cwd: CwdOption = None, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Show what waits in both inboxes of a project, without taking it."""
    from mempal.cowork.status import read_status

    folder = choose_folder(cwd)
    status = read_status(locate_home(home), folder)
    render.answer(
        status,
        as_json=as_json,
        document=describe_status,
        view=lambda status: show_status(status, folder),
        warnings=_warn_of(status.unreadable),
    )


def cowork_receipts(
    cwd: CwdOption = None,
    limit: LimitOption = None,
    form: FormatOption = Format.PLAIN,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Tell of each message whether it was delivered, newest first."""
    from mempal.cowork.status import read_states

    folder = choose_folder(cwd)
    rows, unreadable = read_states(locate_home(home), folder, limit)
    if as_json or form is Format.JSON:
        render.print_list(rows)
    else:
        render.answer(
            rows,
            as_json=False,
            document=lambda rows: {"receipts": rows},
            view=lambda rows: show_receipts(rows, folder),
        )
    for warning in _warn_of(unreadable):
        render.warn(warning)


def cowork_drain(
    target: TargetOption = None,
    cwd: CwdOption = None,
    cwd_source: SourceOption = None,
    form: DrainFormatOption = None,
    hook_runtime: RuntimeOption = None,
    home: HomeOption = None,
) -> None:
    """Print and remove what waits for a tool; for hooks: it always exits with 0."""
    from mempal.cowork import hook

    given = {
        "home": home,
        "target": target,
        "cwd": cwd,
        "cwd-source": cwd_source,
        "format": form,
        "hook-runtime": hook_runtime,
    }
    hook.main([f"--{name}={value}" for name, value in given.items() if value is not None])


def describe_pushed(pushed: "Pushed") -> Document:
    """Return the document of ``cowork-push``."""
    return {
        "target_tool": pushed.target,
        "inbox_path": pushed.path,
        "pushed_at": pushed.pushed_at,
        "inbox_size_after": pushed.size,
        "message_id": pushed.message_id,
    }


def describe_status(status: "Status") -> Document:
    """Return the document of ``cowork-status``."""
    return {
        "project": status.project,
        "inboxes": {
            inbox.tool: {
                "exists": inbox.exists,
                "messages": inbox.messages,
                "bytes": inbox.size,
                "problem": inbox.problem,
                "preview": [
                    {"from": one.sender, "pushed_at": one.pushed_at, "content": one.content}
                    for one in inbox.previews
                ],
            }
            for inbox in status.inboxes
        },
        "receipts": status.counts,
        "problem": status.problem,
        "unreadable_lines": list(status.unreadable),
    }


def show_pushed(pushed: "Pushed") -> Iterator[Block]:
    """Show what a push came to."""
    yield Line(f"pushed {pushed.message_id} to {pushed.target}")
    yield Line(f"{pushed.path} holds {pushed.size} bytes")


def show_status(status: "Status", folder: str) -> Iterator[Block]:
    """Show both inboxes and the counts of the receipts."""
    yield Line(f"Project: {folder}")
    yield Line("")
    for inbox in status.inboxes:
        yield from _show_inbox(inbox)
    yield Line("")
    if status.problem:
        yield Line(f"receipts: unavailable ({status.problem})")
        return
    for tool, counts in status.counts.items():
        yield Line(f"{tool} receipts: {_count(counts)}")
    yield Line(f"see `mempal cowork-receipts --cwd {folder}`")


def _show_inbox(inbox: "Inbox") -> Iterator[Block]:
    head = f"{inbox.tool} inbox:  {_number(inbox.messages)}"
    yield Line(f"{head}, {inbox.size} B" if inbox.exists else head)
    for message in inbox.previews:
        yield Line(f"  from {message.sender} @ {message.pushed_at}: {message.content}")


def show_receipts(rows: list[dict[str, Any]], folder: str) -> Iterator[Block]:
    """Show one message a line."""
    from mempal.cowork.status import count_states

    if not rows:
        yield Line(f"no delivery receipts for {folder}")
        return
    yield Line(f"{_number(len(rows))} ({_count(count_states(rows))})")
    for row in rows:
        parts = [
            f"{row['status']:<8} {row.get('message_id', '<pre-P116>')}",
            f"{row['from']} -> {row['to']} queued={row['queued_at'] or '-'}",
        ]
        if row["drained_at"]:
            parts.append(f"drained={row['drained_at']}")
        if "injected_as" in row:
            parts.append(f"injected_as={row['injected_as']}")
        if "hook_runtime" in row:
            escaped = row["hook_runtime"].replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'hook_runtime="{escaped}"')
        yield Line(" ".join(parts))


def _refuse_secret(content: str) -> None:
    from mempal.core.secrets import redact

    if counts := redact(content).counts():
        raise UsageError(
            f"the message holds what looks like a secret: {', '.join(counts)}",
            hint="take it out, or push with --allow-secret",
        )


def _warn_of(numbers: "list[int] | tuple[int, ...]") -> list[str]:
    if not numbers:
        return []
    listed = ", ".join(map(str, numbers[:20])) + (", …" if len(numbers) > 20 else "")  # noqa: PLR2004
    noun = "line" if len(numbers) == 1 else "lines"
    return [f"{len(numbers)} unreadable {noun} of the receipts log: {listed}"]


def _number(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"


def _count(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in counts.items())
