"""``mempal cowork-drain``: what hosts run before each prompt. It ends with 0, whatever happens.

Messages are claimed, written and flushed to standard output, then let go of, then noted in the log.
Until they are flushed nothing is lost by a crash, a closed pipe or a full disk: they stay pending.
"""

import getopt
import os
import select
import time
from contextlib import suppress
from typing import Any

from mempal.core.errors import InboxError, MempalError, UsageError
from mempal.core.home import locate_home
from mempal.cowork import names

_OVERALL_SECONDS = 4.5
_OPTIONS = ("home=", "target=", "cwd=", "cwd-source=", "format=", "hook-runtime=")


def main(arguments: list[str]) -> int:
    """Run ``cowork-drain`` with its options; return 0."""
    try:
        _hold_streams()
        _drain(_parse(arguments), time.monotonic() + _OVERALL_SECONDS)
    except (MempalError, OSError) as error:
        _tell(str(error) or type(error).__name__)
    except BaseException as error:  # noqa: BLE001 - any other exit code would block a prompt
        _tell(f"unexpected {type(error).__name__}")
    return 0


def _hold_streams() -> None:
    """Refuse to run without standard output, and let no file of ours take a stream's place."""
    try:
        os.fstat(1)
    except OSError as error:
        raise InboxError("standard output is closed; messages stay pending") from error
    for descriptor in (0, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _tell(reason: str) -> None:
    shown = "".join(c if c.isprintable() else "?" for c in reason)
    with suppress(OSError):
        os.write(2, f"mempal cowork-drain: {shown}\n".encode("utf-8", "replace"))


def _parse(arguments: list[str]) -> dict[str, str]:
    try:
        pairs, rest = getopt.getopt(arguments, "", _OPTIONS)
    except getopt.GetoptError as error:
        raise UsageError(error.msg) from error
    if rest:
        raise UsageError(f"unexpected argument {rest[0]!r}")
    options = {name.removeprefix("--"): value for name, value in pairs}
    if "cwd" in options and "cwd-source" in options:
        raise UsageError("--cwd and --cwd-source exclude each other")
    if options.get("cwd-source", "stdin-json") != "stdin-json":
        raise UsageError("--cwd-source takes stdin-json only")
    if "target" in options:
        options["target"] = names.parse_tool(options["target"])
    elif "cwd-source" not in options:
        raise UsageError("no target: expected claude|codex with --target")
    if "format" in options:
        from mempal.cowork import envelope  # noqa: PLC0415

        if options["format"] not in envelope.FORMATS:
            raise UsageError(f"unsupported --format: expected {'|'.join(envelope.FORMATS)}")
    return options


def _drain(options: dict[str, str], deadline: float) -> None:
    payload: dict[str, Any] = {}
    event = "UserPromptSubmit"
    if "cwd-source" in options:
        from mempal.cowork import payload as host  # noqa: PLC0415

        payload = host.read_payload(deadline)
        cwd = host.read_cwd(payload)
        event = host.read_event(payload)
        target = options.get("target") or host.recognise_host(payload)
        form = options.get("format") or f"{target}-hook-json"
    else:
        cwd = options["cwd"] if "cwd" in options else os.getcwd()  # noqa: PTH109
        target, form = options["target"], options.get("format", "plain")
    if event:
        _deliver(locate_home(options.get("home")), cwd, target, (form, event), options)


def _deliver(
    home: str, cwd: str, target: str, shape: tuple[str, str], options: dict[str, str]
) -> None:
    from mempal.cowork.places import Place  # noqa: PLC0415

    if not os.path.isdir(f"{home}/cowork-inbox/{target}"):  # noqa: PTH112
        from mempal.cowork.identity import encode_project_identity  # noqa: PLC0415

        encode_project_identity(cwd)
        return
    place = Place(home, cwd)
    if not any(
        os.path.lexists(place.inbox(target, name)) or place.list_claims(target, name)
        for name in place.names
    ):
        return
    from mempal.cowork import claim, envelope  # noqa: PLC0415
    from mempal.cowork.lock import hold_lock  # noqa: PLC0415

    with hold_lock(place.lock):
        taken = claim.take(place, target, envelope.show, lambda shown: envelope.fits(target, shown))
    if taken.unreadable:
        _tell(f"{taken.unreadable} unreadable lines were set aside, see *.unreadable in {home}")
    if not taken.messages:
        return
    shown = [text for _, text in taken.messages]
    data = envelope.wrap(target, shown, taken.waiting, *shape)
    taken.mark_shown()
    _write(data)
    taken.finish()
    _note(place, taken.messages, target, shape[0], options.get("hook-runtime"))


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            if not select.select([], [1], [], _OVERALL_SECONDS)[1]:
                raise


def _note(
    place: Any,  # noqa: ANN401 - a Place, which an empty inbox does not load
    messages: list[Any],
    target: str,
    form: str,
    runtime: str | None,
) -> None:
    from mempal.cowork.lock import hold_lock  # noqa: PLC0415
    from mempal.cowork.receipts import try_append  # noqa: PLC0415
    from mempal.cowork.wire import stamp_now  # noqa: PLC0415

    moment = stamp_now()
    events = [
        {
            "event": "drained",
            "message_id": message.message_id,
            "from": message.sender,
            "to": target,
            "at": moment,
            "injected_as": form,
            "hook_runtime": runtime,
            "project": place.project,
        }
        for message, _ in messages
    ]
    with hold_lock(place.lock):
        if warning := try_append(place.receipts, events):
            _tell(warning)
