"""Where reading a growing transcript goes on, as it is written down with its file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from mempal.ingest.transcripts.message import Checkpoint

# Bytes just before the checkpoint, and at the beginning of the file, that must be as they were.
_GUARDED = 65_536
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Tail:
    """A checkpoint with what is stored before it.

    Attributes:
        checkpoint: Where the format's reader goes on.
        drawers: For each session, how many drawers hold what lies before it.
        guard: Hash of bytes before it; a file that was written anew has other ones.
        format: Name of the format; what a file is taken for may change as it grows.
    """

    checkpoint: Checkpoint
    drawers: Mapping[str, int]
    guard: str
    format: str

    def dump(self) -> str:
        """Return the tail as JSON."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))

    def fits(self, file: BinaryIO, form: str) -> bool:
        """Return whether a file of a format still begins with what was read.

        Leaves it at its beginning. Where nothing was settled there is nothing to know it by: any
        other file would be taken for one that has grown, and what it lost would stay current.
        """
        if self.checkpoint.offset <= 0:
            return False
        return form == self.format and hash_before(file, self.checkpoint.offset) == self.guard


def load_tail(text: str | None) -> Tail | None:
    """Read what :meth:`Tail.dump` wrote; ``None`` for anything else."""
    try:
        value: Any = json.loads(text or "null")
        checkpoint, drawers = Checkpoint(**value["checkpoint"]), dict(value["drawers"])
        return Tail(checkpoint, drawers, value["guard"], value["format"])
    except (ValueError, TypeError, KeyError):
        return None


def hash_before(file: BinaryIO, offset: int) -> str:
    """Hash the bytes just before an offset and the first ones; leaves the file at its beginning."""
    digest = hashlib.sha256()
    for start, end in ((0, min(_HEAD, offset)), (max(0, offset - _GUARDED), offset)):
        file.seek(start)
        digest.update(file.read(end - start))
    file.seek(0)
    return digest.hexdigest()
