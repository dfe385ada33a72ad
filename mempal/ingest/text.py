"""The text of a file as it is stored, without cutting it."""

from pathlib import Path

from mempal.core.errors import PalaceError
from mempal.core.files import read_regular
from mempal.core.secrets import redact
from mempal.ingest.decode import UndecodableError, decode, fold

IDENTITY_NAME = "identity.txt"
_LONGEST_IDENTITY = 8192


def read_text(data: bytes) -> str | None:
    """Return a file's text as it is stored: line ends folded, secrets redacted.

    ``None`` when it is not text.
    """
    try:
        decoded = decode(data)
    except UndecodableError:
        return None
    return fold(redact(decoded.text).text, classic=decoded.classic)


def read_identity(home: Path) -> str:
    """Return what the owner of a palace wrote about themselves in ``identity.txt``; may be empty.

    Raises:
        PalaceError: The file is there but is not a short text.
    """
    path = home / IDENTITY_NAME
    if not path.exists():
        return ""
    hint = f"make it a text file of at most {_LONGEST_IDENTITY} bytes"
    try:
        text = read_text(read_regular(path.resolve(), _LONGEST_IDENTITY))
    except OSError as error:
        raise PalaceError(
            f"{path} cannot be read ({error.strerror or error})", hint=hint
        ) from error
    if text is None:
        raise PalaceError(f"{path} is not text", hint=hint)
    return text
