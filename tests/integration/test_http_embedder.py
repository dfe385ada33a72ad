"""The HTTP embedder against a server on loopback: what is sent, and all that can go wrong."""

import socket
from collections.abc import Callable, Iterator

import pytest

from mempal.adapters.embedders import http
from mempal.adapters.embedders.http import HttpEmbedder
from mempal.adapters.embedders.shapes import choose_shape, complete_endpoint
from mempal.core.errors import EmbedderError
from mempal.core.vector import pack
from tests.unit.embedders.endpoint import (
    Endpoint,
    Reply,
    Request,
    answer_well,
    embed,
    run_endpoint,
)

SECRET = "sk-very-secret"  # noqa: S105 - nobody's key


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with run_endpoint() as running:
        yield running


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def connect(endpoint: Endpoint, waits: list[float]) -> Callable[..., HttpEmbedder]:
    """Return a function that makes an embedder which asks the server and never really waits."""

    def make(shape: str = "ollama", path: str = "", **options: object) -> HttpEmbedder:
        return HttpEmbedder(
            shape=shape, endpoint=endpoint.url + path, sleep=waits.append, **options
        )

    return make


Connect = Callable[..., HttpEmbedder]


def answers(*replies: Reply) -> Callable[[Request], Reply]:
    """Return a way to answer: each reply once, then as a server should."""
    left = list(replies)
    return lambda request: left.pop(0) if left else answer_well(request)


def always(reply: Reply) -> Callable[[Request], Reply]:
    return lambda _: reply


# What is sent


@pytest.mark.parametrize(
    ("shape", "path", "sent_to", "documents"),
    [
        ("ollama", "", "/api/embed", [{"model": "m", "input": ["one", "two"]}]),
        ("ollama", "/", "/api/embed", [{"model": "m", "input": ["one", "two"]}]),
        (
            "ollama",
            "/api/embeddings",
            "/api/embeddings",
            [{"model": "m", "prompt": "one"}, {"model": "m", "prompt": "two"}],
        ),
        ("openai", "", "/v1/embeddings", [{"model": "m", "input": ["one", "two"]}]),
        ("openai", "/v1/", "/v1/embeddings", [{"model": "m", "input": ["one", "two"]}]),
        ("openai", "/my/embeddings", "/my/embeddings", [{"model": "m", "input": ["one", "two"]}]),
    ],
)
def test_requests_have_the_shape(
    endpoint: Endpoint,
    connect: Connect,
    shape: str,
    path: str,
    sent_to: str,
    documents: list[dict[str, object]],
) -> None:
    vectors = connect(shape, path, model="m").embed_documents(["one", "two"])
    assert vectors == [pack(embed("one")), pack(embed("two"))]
    assert [request.path for request in endpoint.requests] == [sent_to] * len(documents)
    assert [request.document for request in endpoint.requests] == documents


@pytest.mark.parametrize(
    ("shape", "model", "address"),
    [
        ("ollama", "nomic-embed-text", "http://localhost:11434/api/embed"),
        ("openai", "text-embedding-3-small", "https://api.openai.com/v1/embeddings"),
    ],
)
def test_defaults(shape: str, model: str, address: str) -> None:
    assert HttpEmbedder(shape=shape, dimensions=4).identity == f"{shape}:{model}:4"
    assert complete_endpoint(shape, "").geturl() == address


def test_nothing_to_embed_asks_nothing(endpoint: Endpoint, connect: Connect) -> None:
    embedder = connect(dimensions=3)
    assert embedder.embed_documents([]) == []
    assert embedder.embed_documents(["", " \n"]) == [bytes(7), bytes(7)]
    assert embedder.identity == "ollama:nomic-embed-text:3"
    assert endpoint.requests == []


def test_unknown_dimensions_are_asked_once(endpoint: Endpoint, connect: Connect) -> None:
    embedder = connect()
    assert embedder.dimensions == 16
    assert embedder.identity == "ollama:nomic-embed-text:16"
    assert len(endpoint.requests) == 1


def test_an_answer_tells_the_dimensions(endpoint: Endpoint, connect: Connect) -> None:
    embedder = connect()
    embedder.embed_query("one")
    assert embedder.dimensions == 16
    assert len(endpoint.requests) == 1


def test_texts_are_sent_in_batches(
    endpoint: Endpoint, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_CHARACTERS_PER_REQUEST", 1000)
    texts = [*(f"w{number}" for number in range(70)), "x" * 700, "y" * 700, "z" * 5000]
    assert connect().embed_documents(texts) == [pack(embed(text)) for text in texts]
    sizes = [len(request.document["input"]) for request in endpoint.requests]
    assert sizes == [64, 7, 1, 1]


def test_the_index_decides_the_order(endpoint: Endpoint, connect: Connect) -> None:
    items = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    endpoint.answer = always(Reply({"data": items}))
    assert connect("openai").embed_documents(["a", "b"]) == [pack([1, 0]), pack([0, 1])]


def test_without_an_index_the_order_is_that_of_the_texts(
    endpoint: Endpoint, connect: Connect
) -> None:
    endpoint.answer = always(Reply({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}))
    assert connect("openai").embed_documents(["a", "b"]) == [pack([1, 0]), pack([0, 1])]


def test_the_key_is_sent_as_a_bearer_token(endpoint: Endpoint, connect: Connect) -> None:
    connect("openai", api_key=f"{SECRET}\n").embed_query("one")
    connect("openai").embed_query("one")
    keys = [request.headers.get("Authorization") for request in endpoint.requests]
    assert keys == [f"Bearer {SECRET}", None]


def test_the_environment_sends_text_nowhere_else(
    endpoint: Endpoint, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    connect().embed_query("one")
    assert len(endpoint.requests) == 1


def test_redirects_are_not_followed(endpoint: Endpoint, connect: Connect) -> None:
    elsewhere = Reply({}, 307, {"Location": endpoint.url + "/elsewhere"})
    endpoint.answer = always(elsewhere)
    with pytest.raises(EmbedderError, match="307") as caught:
        connect().embed_query("one")
    assert "final address" in caught.value.hint
    assert len(endpoint.requests) == 1


# What goes wrong


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply({"embeddings": [[]]}), "an empty vector"),
        (Reply({"embeddings": []}), "0 vectors for 1 texts"),
        (Reply({"embeddings": [[1], [2]]}), "2 vectors for 1 texts"),
        (Reply({"embeddings": [1]}), "not a list"),
        (Reply({"embeddings": [["a"]]}), "something else than numbers"),
        (Reply({"embeddings": [[None]]}), "something else than numbers"),
        (Reply({"embeddings": [[10**400]]}), "something else than numbers"),
        (Reply(b'{"embeddings": [[NaN, 1]]}'), "NaN"),
        (Reply(b'{"embeddings": [[-Infinity, 1]]}'), "NaN or infinity"),
        (Reply({"embedding": [1]}), "no list `embeddings`"),
        (Reply([]), "not an object"),
        (Reply(b"<html>"), "not JSON"),
        (Reply(b"\xff\xfe\xfd"), "not JSON"),
        (Reply(b""), "not JSON"),
    ],
)
def test_a_wrong_answer_is_named(
    endpoint: Endpoint, connect: Connect, reply: Reply, said: str
) -> None:
    endpoint.answer = always(reply)
    with pytest.raises(EmbedderError, match=said) as caught:
        connect().embed_query("one")
    assert f"{endpoint.url}/api/embed" in caught.value.message
    assert "ollama shape" in caught.value.hint


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([{"index": 0}], "without `embedding`"),
        (["x"], "without `embedding`"),
        ([{"index": 5, "embedding": [1]}], "do not number"),
        ([{"index": 0, "embedding": [1]}] * 2, "do not number"),
    ],
)
def test_a_wrong_openai_answer_is_named(
    endpoint: Endpoint, connect: Connect, items: list[object], said: str
) -> None:
    endpoint.answer = always(Reply({"data": items}))
    with pytest.raises(EmbedderError, match=said):
        connect("openai").embed_query("one")


def test_an_empty_single_vector_is_an_error(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.answer = always(Reply({"embedding": []}))
    with pytest.raises(EmbedderError, match="an empty vector"):
        connect("ollama", "/api/embeddings").embed_query("one")


def test_a_wrong_length_names_both(connect: Connect) -> None:
    with pytest.raises(EmbedderError, match="16 dimensions, expected 768") as caught:
        connect(dimensions=768).embed_query("one")
    assert "embed.dim" in caught.value.hint


def test_a_model_that_changes_under_way_is_refused(endpoint: Endpoint, connect: Connect) -> None:
    embedder = connect()
    embedder.embed_query("one")
    endpoint.answer = always(Reply({"embeddings": [[1.0, 0.0]]}))
    with pytest.raises(EmbedderError, match="2 dimensions, expected 16") as caught:
        embedder.embed_query("two")
    assert "embed.dim" not in caught.value.hint


@pytest.mark.parametrize(
    ("shape", "reply", "said", "hint"),
    [
        ("ollama", Reply({"error": 'model "m" not found'}, 404), 'model "m" not', "ollama pull m"),
        ("openai", Reply({"error": {"message": "no such model"}}, 404), "no such", "embed.model"),
        ("openai", Reply({"error": {"message": "bad key"}}, 401), "bad key", "embed.api_key_env"),
        ("openai", Reply(b"a\x1b[2J\nb" + b"c" * 999, 400), r": a \[2J bccc*…$", "embed.model"),
        ("openai", Reply(b"", 400), "answered 400$", "embed.model"),
    ],
)
def test_a_refusal_is_quoted_with_advice(
    endpoint: Endpoint, connect: Connect, shape: str, reply: Reply, said: str, hint: str
) -> None:
    endpoint.answer = always(reply)
    with pytest.raises(EmbedderError, match=said) as caught:
        connect(shape, model="m").embed_query("one")
    assert hint in caught.value.hint
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("failures", "waited"),
    [
        ([Reply({}, 500)], [0.2]),
        ([Reply({}, 503), Reply({}, 429)], [0.2, 1.0]),
        ([Reply()], [0.2]),
        ([Reply({}, 429, {"Retry-After": "3"}), Reply({}, 429, {"Retry-After": "9999"})], [3, 5]),
        ([Reply({}, 429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})], [0.2]),
    ],
    ids=["once", "twice", "broken connection", "asked to wait", "asked for a date"],
)
def test_a_passing_failure_is_tried_again(
    endpoint: Endpoint,
    connect: Connect,
    waits: list[float],
    failures: list[Reply],
    waited: list[float],
) -> None:
    endpoint.answer = answers(*failures)
    assert connect().embed_query("one") == pack(embed("one"))
    assert waits == waited


@pytest.mark.parametrize("reply", [Reply({"error": "boom"}, 500), Reply()], ids=["500", "broken"])
def test_a_lasting_failure_ends_after_three_attempts(
    endpoint: Endpoint, connect: Connect, waits: list[float], reply: Reply
) -> None:
    endpoint.answer = always(reply)
    with pytest.raises(EmbedderError) as caught:
        connect().embed_query("one")
    assert caught.value.code == "embedder"
    assert caught.value.hint
    assert len(endpoint.requests) == 3
    assert len(waits) == 2


def test_nobody_listening(waits: list[float]) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        port = holder.getsockname()[1]
        embedder = HttpEmbedder(
            shape="ollama", endpoint=f"http://127.0.0.1:{port}", sleep=waits.append
        )
        with pytest.raises(
            EmbedderError, match=f"no answer from http://127.0.0.1:{port}"
        ) as caught:
            embedder.embed_query("one")
    assert "ollama serve" in caught.value.hint
    assert waits == []


def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_ANSWER_TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EmbedderError, match="timed out"):
            HttpEmbedder(shape="ollama", endpoint=address).embed_query("one")


@pytest.mark.parametrize(
    "address",
    [
        "localhost:11434",
        "ftp://127.0.0.1/x",
        "http://",
        "http:///api/embed",
        "http://127.0.0.1:port/",
        "http://[::1",
        "http://127.0.0.1:99999999/",
        f"user:{SECRET}@host",
        f"http://user:{SECRET}",
    ],
)
def test_an_address_that_is_none(address: str) -> None:
    embedder = HttpEmbedder(shape="openai", endpoint=address)
    with pytest.raises(EmbedderError, match="not an http or https address") as caught:
        embedder.embed_query("one")
    assert caught.value.hint
    assert SECRET not in caught.value.message


def test_an_unknown_shape_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="ollama or openai"):
        HttpEmbedder(shape="soap")


@pytest.mark.parametrize("key", ["sk-ä", "sk\nHost: evil", "\x00"])
def test_a_key_that_is_none_is_refused_unseen(connect: Connect, key: str) -> None:
    with pytest.raises(EmbedderError, match="characters that no key has") as caught:
        connect("openai", api_key=key).embed_query("one")
    assert key not in caught.value.message


def test_secrets_stay_out_of_messages(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.answer = lambda request: Reply({"error": f"no: {request.headers}"}, 403)
    embedder = connect("openai", api_key=SECRET)
    with pytest.raises(EmbedderError, match=r"\*\*\*") as caught:
        embedder.embed_query("one")
    shown = f"{caught.value} {caught.value.hint} {embedder!r} {embedder.__dict__.keys()}"
    assert SECRET not in shown

    host = endpoint.url.removeprefix("http://")
    embedder = HttpEmbedder(
        shape="openai", endpoint=f"http://me:{SECRET}@{host}/x?key={SECRET}", dimensions=1
    )
    endpoint.answer = always(Reply(b"", 400))
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_query("one")
    assert SECRET not in str(caught.value) + caught.value.hint
    assert f"{host}/x answered 400" in str(caught.value)
    assert SECRET not in embedder.identity


def test_the_path_decides_between_ollamas_two_ways() -> None:
    assert choose_shape("ollama", "/api/embeddings").texts_per_request == 1
    assert choose_shape("ollama", "/proxy/api/embed").texts_per_request > 1
    assert choose_shape("openai", "/api/embeddings").texts_per_request > 1
