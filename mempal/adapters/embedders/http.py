"""An embedder that asks an HTTP endpoint: Ollama's, or one that speaks OpenAI's shape.

Text goes to the endpoint that was configured and nowhere else: redirects are not followed, proxies
and credentials that the environment or ``.netrc`` name are not used. The key is sent as a bearer
token and appears in no message, and neither do a user name, password or query of the endpoint.
"""

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult

from mempal.adapters.embedders.shapes import (
    DEFAULT_MODELS,
    Shape,
    choose_shape,
    complete_endpoint,
    read_vector,
)
from mempal.core.errors import EmbedderError
from mempal.core.vector import pack

if TYPE_CHECKING:
    from array import array

    import httpx

# Seconds. A server may load the model before its first answer.
_CONNECT_TIMEOUT = 5.0
_ANSWER_TIMEOUT = 120.0
# Waits before the second and the third attempt; a server may ask for longer, up to the limit.
_DELAYS = (0.2, 1.0)
_LONGEST_DELAY = 5.0
_WORTH_RETRYING = frozenset({408, 429, 500, 502, 503, 504})
_CHARACTERS_PER_REQUEST = 100_000
_QUOTED_CHARACTERS = 200
_PROBE = "word"


class _BrokenConnectionError(EmbedderError):
    """The connection broke in a way that another attempt may mend."""


class HttpEmbedder:
    """Embeds text by asking a server; a port ``Embedder``.

    Connects when first needed. A text without anything to embed is not sent: its vector is zero.

    Args:
        shape: ``"ollama"`` or ``"openai"``.
        endpoint: URL; a server's bare address gets the usual path, empty is the usual server.
        model: Name of the model; empty is a usual one.
        api_key: Sent as a bearer token when not empty.
        dimensions: Components every vector must have; 0 asks the server by embedding one word.
        sleep: Waits a number of seconds between attempts.
    """

    def __init__(
        self,
        *,
        shape: str,
        endpoint: str = "",
        model: str = "",
        api_key: str = "",
        dimensions: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if shape not in DEFAULT_MODELS:
            raise ValueError(f"an endpoint speaks {' or '.join(DEFAULT_MODELS)}, not {shape}")
        self._shape_name = shape
        self._endpoint = endpoint
        self._model = model or DEFAULT_MODELS[shape]
        self._api_key = api_key.strip()
        self._configured = dimensions
        self._dimensions = dimensions
        self._sleep = sleep

    @property
    def identity(self) -> str:
        """Shape, model and dimensions; not the server, which may move.

        Raises:
            EmbedderError: The server had to be asked for the dimensions and did not answer.
        """
        return f"{self._shape_name}:{self._model}:{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Number of components of every vector; embeds one word when nothing was embedded yet.

        Raises:
            EmbedderError: The server did not answer as it should.
        """
        if not self._dimensions:
            self._ask([_PROBE])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts for storing, in order.

        Raises:
            EmbedderError: The server did not answer as it should.
        """
        # JSON cannot carry a lone surrogate.
        sendable = [text.encode(errors="replace").decode() for text in texts]
        vectors: list[array[float]] = []
        for batch in self._split([text for text in sendable if text.strip()]):
            vectors.extend(self._ask(batch))
        known = iter(vectors)
        return [
            pack(next(known)) if text.strip() else pack([0.0] * self.dimensions)
            for text in sendable
        ]

    def embed_query(self, text: str) -> bytes:
        """Embed a question, exactly as a document.

        Raises:
            EmbedderError: As above.
        """
        return self.embed_documents([text])[0]

    @cached_property
    def _address(self) -> SplitResult:
        try:
            return complete_endpoint(self._shape_name, self._endpoint)
        except ValueError:
            # Neither the setting nor the cause is quoted: what is no address may hold a password.
            raise EmbedderError(
                "embed.endpoint is not an http or https address",
                hint="set embed.endpoint to a URL, or to '' for the usual one",
            ) from None

    @cached_property
    def _shown(self) -> str:
        host = self._address.netloc.rpartition("@")[2]
        return f"{self._address.scheme}://{host}{self._address.path}"

    @cached_property
    def _shape(self) -> Shape:
        return choose_shape(self._shape_name, self._address.path)

    @cached_property
    def _client(self) -> "httpx.Client":
        import ssl

        import httpx

        if not (self._api_key.isascii() and self._api_key.isprintable()):
            raise EmbedderError(
                "the key of the embedding endpoint holds characters that no key has",
                hint="check the environment variable that embed.api_key_env names",
            )
        # Reading the certificates of the world's authorities takes longer than a local answer. A
        # plain connection never needs them; should it be encrypted after all, nobody is trusted.
        plain = self._address.scheme == "http"
        client = httpx.Client(
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
            timeout=httpx.Timeout(_ANSWER_TIMEOUT, connect=_CONNECT_TIMEOUT),
            follow_redirects=False,
            trust_env=False,
        )
        weakref.finalize(self, client.close)
        return client

    def _split(self, texts: list[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in texts:
            full = len(batch) == self._shape.texts_per_request
            if batch and (full or size + len(text) > _CHARACTERS_PER_REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += len(text)
        if batch:
            yield batch

    def _ask(self, batch: list[str]) -> "list[array[float]]":
        response = self._send(self._shape.build(self._model, batch))
        if not response.is_success:
            raise self._refusal(response)
        try:
            vectors = [read_vector(values) for values in self._shape.read(_read_object(response))]
            if len(vectors) != len(batch):
                raise ValueError(f"{len(vectors)} vectors for {len(batch)} texts")  # noqa: TRY301
        except ValueError as error:
            raise EmbedderError(
                f"{self._shown} answered with {error}",
                hint=f"check that embed.endpoint speaks the {self._shape_name} shape and that"
                f" {self._model} is an embedding model",
            ) from error
        for vector in vectors:
            self._check_length(len(vector))
        return vectors

    def _check_length(self, length: int) -> None:
        self._dimensions = self._dimensions or length
        if length == self._dimensions:
            return
        raise EmbedderError(
            f"{self._model} gave a vector of {length} dimensions, expected {self._dimensions}",
            hint="set embed.dim to the model's dimensions, or to 0, and run"
            " `mempal reindex --reembed`"
            if self._configured
            else "the model changed while it was asked; run the command again",
        )

    def _send(self, document: dict[str, object]) -> "httpx.Response":
        """Send a request, up to three times while that may help."""
        for delay in _DELAYS:
            wait = delay
            try:
                response = self._post(document)
            except _BrokenConnectionError:
                pass
            else:
                if response.status_code not in _WORTH_RETRYING:
                    return response
                wait = max(delay, _read_delay(response))
            self._sleep(wait)
        return self._post(document)

    def _post(self, document: dict[str, object]) -> "httpx.Response":
        import httpx

        try:
            return self._client.post(self._address.geturl(), json=document)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            # A kept connection that the server has closed meanwhile breaks; the next one may not.
            # Nobody listening is not cured by asking again at once.
            broken = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
            again = broken and not isinstance(error, httpx.ConnectError)
            said = self._quote(str(error) or type(error).__name__)
            start = " (is `ollama serve` running?)" if self._shape_name == "ollama" else ""
            raise (_BrokenConnectionError if again else EmbedderError)(
                f"no answer from {self._shown}: {said}",
                hint=f"check that the server runs{start} and that embed.endpoint is right",
            ) from error

    def _refusal(self, response: "httpx.Response") -> EmbedderError:
        said = self._quote(_read_complaint(response))
        return EmbedderError(
            f"{self._shown} answered {response.status_code}" + (f": {said}" if said else ""),
            hint=self._advise(response.status_code),
        )

    def _advise(self, status: int) -> str:
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return "set embed.api_key_env to the environment variable that holds the key"
        if status == HTTPStatus.NOT_FOUND and self._shape_name == "ollama":
            return f"run `ollama pull {self._model}`, or check embed.model and embed.endpoint"
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return "redirects are not followed: set embed.endpoint to the final address"
        if status in _WORTH_RETRYING:
            return "the server is overloaded or failing; try again later"
        return "check embed.model and embed.endpoint"

    def _quote(self, text: str) -> str:
        """Return foreign text as one short line without the key."""
        if self._api_key:
            text = text.replace(self._api_key, "***")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= _QUOTED_CHARACTERS else line[:_QUOTED_CHARACTERS] + "…"


def _read_object(response: "httpx.Response") -> dict[str, Any]:
    try:
        document = response.json()
    except ValueError as error:
        raise ValueError("something that is not JSON") from error
    if not isinstance(document, dict):
        raise ValueError("JSON that is not an object")  # noqa: TRY004 - one error for callers
    return document


def _read_complaint(response: "httpx.Response") -> str:
    """Return what a server says went wrong.

    Ollama sends ``{error: text}``, OpenAI ``{error: {message}}``, others any text.
    """
    try:
        error = _read_object(response).get("error", "")
    except ValueError:
        return response.text
    return str(error.get("message", "") if isinstance(error, dict) else error)


def _read_delay(response: "httpx.Response | None") -> float:
    """Return the seconds a server asks to wait (``Retry-After``), within what we would wait."""
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return min(float(asked), _LONGEST_DELAY) if asked.isdecimal() else 0.0
