"""Tool use in a transcript, shortened to one line: what was called, and how its answer begins."""

import json
import re

from mempal.ingest.transcripts.noise import strip_noise, strip_unwanted
from mempal.ingest.transcripts.records import clean_text, read_list, read_object, read_string

# Characters of what is told about a call or a result.
_LENGTH = 200
# More than this of a long text cannot matter for one line.
_LOOK = 20_000
# What tells most about a call, the first that is there.
_TELLING = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "absolute_path",
    "pattern",
    "path",
    "query",
    "queries",
    "url",
    "prompt",
    "description",
    "question",
    "subject",
    "title",
    "skill",
    "name",
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "cmd"})
_SHELL_FLAGS = 3
_OWN_NAME = re.compile(r"(?:mcp__)?(?:plugin_)?mempal(?:\b|_)")
# The command at the beginning of a line of shell or behind an operator or a starter, or its path.
_OWN_COMMAND = re.compile(
    r"(?:^|[;&|(`\n]|\b(?:run|exec|sudo|env|time|uvx|python[\d.]{0,5} -m)\s)\s{0,9}"
    r"(?:\w{1,99}=\S{0,99}\s{1,9}){0,9}"
    r"(?:[^\s;&|(`]{0,200}/)?mempal(?=[\s;&|)`]|$)"
)
_COMMAND_LOOK = 4_000
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_DATA = re.compile(r"data:[\w.+/-]{0,99};base64,[A-Za-z0-9+/=]*")
# What Codex puts before the output of a command.
_HEADER = re.compile(
    r"\A(?:(?:Exit code|Chunk ID|Wall time|Process (?:exited|running)|Original token count"
    r"|Total output lines)\b[^\n]*\n)+(?:Output:\n)?"
)
_EXIT = re.compile(r"(?:Exit code: |exited with code )(-?\d{1,9})")


def describe_call(name: str, arguments: object) -> str:
    """Return one line about a call, such as ``Bash: git status --short``.

    Args:
        name: Name of the tool.
        arguments: An object, the JSON text of one, or free text.

    Returns:
        The line; empty when the arguments tell nothing.
    """
    told = _shorten(strip_unwanted(_find_telling(read_arguments(arguments))[:_LOOK]))
    return f"{name}: {told}" if told else ""


def describe_result(name: str, text: str, *, failed: bool = False) -> str:
    """Return one line about what a tool answered, such as ``Bash -> 3 passed``.

    Args:
        name: Name of the tool; may be empty.
        text: The answer.
        failed: Whether the tool itself calls it an error.

    Returns:
        The line; empty when the answer says nothing.
    """
    header = _HEADER.match(text)
    if header:
        code = _EXIT.search(header[0])
        failed = failed or (code is not None and int(code[1]) != 0)
        text = text[header.end() :]
    told = _shorten(strip_noise(text[:_LOOK]))
    return f"{name or 'tool'} -> {'error: ' if failed else ''}{told}" if told else ""


def is_own(name: str, arguments: object = None) -> bool:
    """Tell whether a call asks mempal, so that its answer is what memory holds already."""
    if _OWN_NAME.match(name.lower()):
        return True
    command = _find_command(read_object(read_arguments(arguments)))
    return "mempal" in command and _OWN_COMMAND.search(command[:_COMMAND_LOOK]) is not None


def read_arguments(arguments: object) -> object:
    """Return arguments as the value they are; JSON text of an object is decoded."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        try:
            return json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def read_output(output: object) -> tuple[str, bool]:
    """Return the text of a tool's answer, and whether the answer itself calls it a failure.

    Args:
        output: Text, JSON text ``{"output": …, "metadata": {"exit_code": …}}``, such an object, or
            a list of texts and blocks; pictures and unknown blocks give nothing.
    """
    value = read_arguments(output)
    if isinstance(value, dict):
        code = read_object(value.get("metadata")).get("exit_code")
        failed = value.get("success") is False or (isinstance(code, int) and code != 0)
        inner = next((value[key] for key in ("output", "content", "error") if key in value), None)
        failed = failed or ("error" in value and inner is value["error"])
        return _join_texts(inner), failed
    return _join_texts(value), False


def _join_texts(value: object) -> str:
    if isinstance(value, str):
        return clean_text(value)
    blocks = (
        block if isinstance(block, str) else read_object(block).get("text")
        for block in read_list(value)
    )
    return "\n".join(filter(None, map(read_string, blocks)))


def _find_telling(arguments: object) -> str:
    if isinstance(arguments, str):
        patched = _PATCHED.findall(arguments)
        return ", ".join(patched) or arguments
    values = read_object(arguments)
    command = _find_command(values)
    if command:
        return command
    for key in _TELLING:
        if told := _tell(values.get(key)):
            return told
    return next(filter(None, map(_tell, values.values())), "")


def _find_command(values: dict[str, object]) -> str:
    """Return the command line in a call's arguments; empty when there is none."""
    value = values.get("command", values.get("cmd"))
    if isinstance(value, str):
        return value
    words = [word for word in read_list(value) if isinstance(word, str)]
    shell = words[0].rsplit("/", 1)[-1] if words else ""
    if len(words) == _SHELL_FLAGS and shell in _SHELLS and words[1].startswith(("-", "/")):
        return words[2]
    return " ".join(words)


def _tell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""


def _shorten(text: str) -> str:
    """Fold a text into one line of limited length."""
    text = clean_text(text[:_LOOK])
    line = " ".join((_DATA.sub("[data]", text) if ";base64," in text else text).split())
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1].rstrip()}\u2026"
