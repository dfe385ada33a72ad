"""What each exception that ends a command means to its user."""

from mempal.core.errors import MempalError, UsageError

EXIT_BUG = 70
EXIT_INTERRUPTED = 130
_LONGEST_DETAIL = 200


class InternalError(MempalError):
    """Something of ours broke; no request should do that."""

    exit_code = EXIT_BUG
    code = "bug"


class InterruptionError(MempalError):
    """The user stopped the command."""

    exit_code = EXIT_INTERRUPTED
    code = "interrupted"
    retryable = True


class SystemRefusalError(MempalError):
    """The operating system refused what a command needed, and no adapter knew better."""

    code = "system"


def explain(error: BaseException) -> MempalError:
    """Return an exception as an error of our own, with message, hint and exit code."""
    if isinstance(error, MempalError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return InterruptionError(
            "interrupted; what was stored so far is kept",
            hint="run the same command again to go on",
        )
    # Typer's usage errors have no public base class in every release; all can format themselves.
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        return _explain_usage(error)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return SystemRefusalError(
            f"{place}{error.strerror}", hint="set MEMPAL_DEBUG=1 to see what was attempted"
        )
    detail = f"{type(error).__name__}: {error}".partition("\n")[0][:_LONGEST_DETAIL]
    return InternalError(
        f"this is a bug in mempal: {detail}",
        hint="please report it with what MEMPAL_DEBUG=1 prints",
    )


def _explain_usage(error: BaseException) -> UsageError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "mempal"
    message = " ".join(str(error.format_message()).split())  # type: ignore[attr-defined]
    return UsageError(message, hint=f"see {command} --help")
