"""The default embedder: a table of word piece vectors that ships inside the package.

Works offline from the first minute and costs a few microseconds a word: no network runs, a text's
vector is the normalised sum of one row per word piece. The rows were made from all-MiniLM-L6-v2;
``data/NOTICE`` and ``tools/distill.py`` say how. They already carry each token's weight, so neither
counts nor the special tokens ``[CLS]`` and ``[SEP]`` play a part.

Rows are whole numbers and are added up as whole numbers, so a text has the same vector to the bit,
alone or in a batch, on every machine.
"""

import json
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mempal.adapters.embedders.wordpiece import WordPiece
from mempal.core.errors import EmbedderError
from mempal.core.vector import pack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rules by which a text becomes token ids and rows become a vector; part of the identity.
RULES_VERSION = 1
MANIFEST_NAME = "minilm-256.json"
# Importing numpy costs the CPU time of adding up this many rows in plain Python. Rows are added so
# until that many were (a query, a note, a small change), by numpy from then on.
_PLAIN_ROWS = 16_384
# Rows gathered at once: bounds memory for a text of any length to 8 MB.
_BLOCK_ROWS = 32_768
_LARGEST_CODE = 127  # of mempal.core.vector
_NUMPY_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER_START = 10
_REINSTALL = "the installation is damaged: reinstall mempal (pip install --force-reinstall mempal)"


class StaticEmbedder:
    """Embeds text with the packaged table; a port ``Embedder``.

    Nothing is read before it is needed; the table is mapped, so a query reads only its rows.

    Args:
        folder: Where manifest, table and vocabulary lie; the package's own by default.
        plain_rows: How many rows are added up without numpy before it is imported.
    """

    def __init__(self, folder: Path | None = None, *, plain_rows: int = _PLAIN_ROWS) -> None:
        self._folder = folder or Path(__file__).with_name("data")
        self._plain_rows = plain_rows

    @property
    def identity(self) -> str:
        """Name of table, version of the rules, first digits of the table's hash.

        Raises:
            EmbedderError: The manifest cannot be read.
        """
        manifest = self._manifest
        return f"static:{manifest.name}:v{RULES_VERSION}:{manifest.table_sha256[:8]}"

    @property
    def dimensions(self) -> int:
        """Number of components of every vector.

        Raises:
            EmbedderError: The manifest cannot be read.
        """
        return self._manifest.dimensions

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts for storing, in order.

        Raises:
            EmbedderError: A data file is missing or not what it should be.
        """
        pieces = [self._tokenizer.find_ids(text) for text in texts]
        self._plain_rows -= sum(map(len, pieces))
        if self._plain_rows >= 0:
            return [pack(self._sum_plainly(ids)) for ids in pieces]
        return self._sum_and_pack(pieces)

    def embed_query(self, text: str) -> bytes:
        """Embed a question, exactly as a document.

        Raises:
            EmbedderError: As above.
        """
        return self.embed_documents([text])[0]

    def verify(self) -> None:
        """Compare the data files with the hashes in the manifest.

        Raises:
            EmbedderError: A file is missing or was changed.
        """
        from hashlib import sha256

        manifest = self._manifest
        for name, expected in (
            (manifest.table, manifest.table_sha256),
            (manifest.vocabulary, manifest.vocabulary_sha256),
        ):
            if sha256(self._read(name)).hexdigest() != expected:
                raise EmbedderError(f"{self._folder / name} was changed", hint=_REINSTALL)

    @cached_property
    def _manifest(self) -> "_Manifest":
        try:
            return _Manifest.parse(json.loads(self._read(MANIFEST_NAME)))
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(
                f"{self._folder / MANIFEST_NAME} is not a manifest of an embedding table",
                hint=_REINSTALL,
            ) from error

    @cached_property
    def _tokenizer(self) -> WordPiece:
        name = self._manifest.vocabulary
        try:
            tokens = self._read(name).decode().split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise EmbedderError(
                f"{self._folder / name} is not UTF-8 text", hint=_REINSTALL
            ) from error
        if len(tokens) != self._manifest.rows:
            raise EmbedderError(
                f"{self._folder / name} holds {len(tokens)} tokens, not {self._manifest.rows}",
                hint=_REINSTALL,
            )
        return WordPiece(tokens)

    @cached_property
    def _rows(self) -> memoryview:
        """All rows one after the other, signed bytes, mapped from the file."""
        path = self._folder / self._manifest.table
        try:
            with path.open("rb") as file:
                mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise EmbedderError(f"{path} cannot be read ({error})", hint=_REINSTALL) from error
        size = self._manifest.rows * self._manifest.dimensions
        if len(mapped) < _HEADER_START or mapped[: len(_NUMPY_MAGIC)] != _NUMPY_MAGIC:
            raise EmbedderError(f"{path} is not a numpy array file", hint=_REINSTALL)
        (header,) = struct.unpack_from("<H", mapped, len(_NUMPY_MAGIC))
        rows = mapped[_HEADER_START + header :]
        if len(rows) != size:
            raise EmbedderError(
                f"{path} holds {len(rows)} bytes of rows, not {size}", hint=_REINSTALL
            )
        return rows.cast("b")

    @cached_property
    def _table(self) -> "NDArray[np.int8]":
        import numpy as np

        return np.frombuffer(self._rows, np.int8).reshape(-1, self._manifest.dimensions)

    def _read(self, name: str) -> bytes:
        path = self._folder / name
        try:
            return path.read_bytes()
        except OSError as error:
            raise EmbedderError(
                f"{path} cannot be read ({error.strerror})", hint=_REINSTALL
            ) from error

    def _sum_plainly(self, ids: list[int]) -> list[int]:
        width = self._manifest.dimensions
        if not ids:
            return [0] * width
        starts = [number * width for number in ids]
        rows = self._rows
        return list(map(sum, zip(*(rows[start : start + width] for start in starts), strict=True)))

    def _sum_and_pack(self, pieces: list[list[int]]) -> list[bytes]:
        import numpy as np

        table = self._table
        sums = np.zeros((len(pieces), table.shape[1]), np.int64)
        for text, ids in enumerate(pieces):
            for start in range(0, len(ids), _BLOCK_ROWS):
                block = np.array(ids[start : start + _BLOCK_ROWS], np.intp)
                sums[text] += table.take(block, axis=0).sum(axis=0, dtype=np.int32)
        return pack_rows(sums)


@dataclass(frozen=True, slots=True)
class _Manifest:
    name: str
    rows: int
    dimensions: int
    table: str
    table_sha256: str
    vocabulary: str
    vocabulary_sha256: str

    @classmethod
    def parse(cls, document: dict[str, Any]) -> "_Manifest":
        return cls(
            name=str(document["name"]),
            rows=int(document["rows"]),
            dimensions=int(document["dimensions"]),
            table=str(document["table"]),
            table_sha256=str(document["table_sha256"]),
            vocabulary=str(document["vocabulary"]),
            vocabulary_sha256=str(document["vocabulary_sha256"]),
        )


def pack_rows(rows: "NDArray[np.int64]") -> list[bytes]:
    """Pack each row of whole numbers as :func:`mempal.core.vector.pack` would, all at once."""
    import numpy as np

    values = rows.astype(np.float64)
    norms = np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    peaks = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    empty = peaks == 0.0
    steps = _LARGEST_CODE / np.where(empty, 1.0, peaks)
    scales = np.where(empty, 0.0, peaks / (_LARGEST_CODE * np.where(empty, 1.0, norms)))
    packed = np.concatenate(
        [
            scales.astype("<f4").view(np.uint8),
            np.rint(values * steps).astype(np.int8).view(np.uint8),
        ],
        axis=1,
    )
    return [row.tobytes() for row in packed]
