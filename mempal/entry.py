"""The ``mempal`` command's first step, on the standard library alone.

Hosts run ``mempal hook`` and ``mempal cowork-drain`` before a user's prompt goes out, and take exit
code 2 as "block the prompt". Those commands therefore never reach the command line's parser and
exit 0 whatever happens. ``--version`` is answered here too, since scripts ask for it often.
Everything else goes to :mod:`mempal.cli.app`.
"""

import sys


def main() -> None:
    """Run the command given in ``sys.argv`` and leave the process with its exit code."""
    arguments = sys.argv[1:]
    command = _find_command(arguments)
    if command == "cowork-drain" and not {"-h", "--help"} & set(arguments):
        sys.exit(_drain(arguments))
    if command == "hook":
        sys.exit(_answer_hook())
    if arguments in (["--version"], ["-V"]):
        sys.exit(_answer_version())
    from mempal.cli import app

    sys.exit(app.main(arguments))


def _find_command(arguments: list[str]) -> str:
    """Return the first argument that is neither ``--home`` nor its value.

    Empty when there is none.
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == "--home":
            next(rest, None)
        elif not argument.startswith("--home="):
            return argument
    return ""


def _drain(arguments: list[str]) -> int:
    try:
        from mempal.cowork import hook

        at = arguments.index("cowork-drain")
        return hook.main([*arguments[:at], *arguments[at + 1 :]])
    except BaseException:  # noqa: BLE001 - any other exit code would block the user's prompt
        return 0


def _answer_hook() -> int:
    try:
        if sys.stderr is not None:
            sys.stderr.write("mempal: this version answers no hook events\n")
            sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - any other exit code would block the user's prompt
        return 0
    return 0


def _answer_version() -> int:
    from mempal import __version__
    from mempal.cli import streams
    from mempal.core.errors import MempalError

    try:
        streams.write_output(f"mempal {__version__}\n")
    except MempalError as error:
        streams.write_message(f"error: {error.message}\n")
        return error.exit_code
    return 0
