"""The request and answer shapes of embedding endpoints.

========  ========================  ===========================  =================================
shape     endpoint ends in          request                      answer
========  ========================  ===========================  =================================
ollama    ``/api/embed``            ``{model, input: [text]}``   ``{embeddings: [[number]]}``
ollama    ``/api/embeddings``       ``{model, prompt: text}``    ``{embedding: [number]}``
openai    ``/v1/embeddings``        ``{model, input: [text]}``   ``{data: [{index, embedding}]}``
========  ========================  ===========================  =================================

Reading an answer raises ``ValueError`` that says what is wrong with it.
"""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

DEFAULT_ENDPOINTS = {
    "ollama": "http://localhost:11434/api/embed",
    "openai": "https://api.openai.com/v1/embeddings",
}
DEFAULT_MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}
_DEFAULT_PATHS = {"ollama": "/api/embed", "openai": "/v1/embeddings"}
_ONE_TEXT_PATH = "/api/embeddings"
_TEXTS_PER_REQUEST = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """How one kind of endpoint is spoken to.

    Attributes:
        texts_per_request: Most texts that one request may hold.
        build: Makes the request document from a model's name and texts.
        read: Returns the vectors of an answer document, as they came, in order of the texts.
    """

    texts_per_request: int
    build: Callable[[str, Sequence[str]], dict[str, object]]
    read: Callable[[dict[str, Any]], list[Any]]


def complete_endpoint(shape: str, endpoint: str) -> SplitResult:
    """Return where to send requests; a server's bare address gets the path of the shape.

    Raises:
        ValueError: It is not an address of a web server.
    """
    parts = urlsplit(endpoint.strip() or DEFAULT_ENDPOINTS[shape])
    _ = parts.port  # raises when it is no number
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("not an http or https address")
    if parts.path in {"", "/"}:
        return parts._replace(path=_DEFAULT_PATHS[shape])
    if shape == "openai" and parts.path.rstrip("/").endswith("/v1"):
        return parts._replace(path=parts.path.rstrip("/") + "/embeddings")
    return parts


def choose_shape(shape: str, path: str) -> Shape:
    """Return how to speak to an endpoint, which its path decides where a server knows two ways."""
    if shape == "openai":
        return Shape(_TEXTS_PER_REQUEST, _build_batch, _read_openai)
    if path.rstrip("/").endswith(_ONE_TEXT_PATH):
        return Shape(1, _build_single, _read_single)
    return Shape(_TEXTS_PER_REQUEST, _build_batch, _read_batch)


def read_vector(values: object) -> "array[float]":
    """Return a vector of an answer as numbers.

    Raises:
        ValueError: It is empty, or holds something that is not a finite number.
    """
    if not isinstance(values, list):
        raise ValueError("a vector that is not a list")  # noqa: TRY004 - what was read is wrong
    if not values:
        raise ValueError("an empty vector")
    try:
        numbers = array("d", values)
    except (TypeError, OverflowError) as error:
        raise ValueError("a vector that holds something else than numbers") from error
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a vector that holds NaN or infinity")
    return numbers


def _build_batch(model: str, texts: Sequence[str]) -> dict[str, object]:
    return {"model": model, "input": list(texts)}


def _build_single(model: str, texts: Sequence[str]) -> dict[str, object]:
    return {"model": model, "prompt": texts[0]}


def _read_batch(answer: dict[str, Any]) -> list[Any]:
    return _take_list(answer, "embeddings")


def _read_single(answer: dict[str, Any]) -> list[Any]:
    return [_take_list(answer, "embedding")]


def _read_openai(answer: dict[str, Any]) -> list[Any]:
    items = _take_list(answer, "data")
    if not all(isinstance(item, dict) and "embedding" in item for item in items):
        raise ValueError("`data` items without `embedding`")
    # Some servers leave `index` out; then the order is that of the texts.
    places = [item.get("index", position) for position, item in enumerate(items)]
    vectors = {place: item["embedding"] for place, item in zip(places, items, strict=True)}
    if set(vectors) != set(range(len(items))):
        raise ValueError(f"`index` values {places} that do not number the {len(items)} texts")
    return [vectors[place] for place in range(len(items))]


def _take_list(answer: dict[str, Any], key: str) -> list[Any]:
    found = answer.get(key)
    if isinstance(found, list):
        return found
    raise ValueError(f"no list `{key}`")
