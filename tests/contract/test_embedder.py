"""What every embedder promises (the docstring of the port), on the real ones and the double."""

from collections.abc import Callable, Iterator

import pytest

from mempal.adapters.embedders.http import HttpEmbedder
from mempal.adapters.embedders.static import StaticEmbedder
from mempal.core.ports import Embedder
from mempal.core.vector import dimensions, similarity
from mempal.testing import HashEmbedder
from tests.unit.embedders.endpoint import run_endpoint

TEXTS = [
    "def refresh_token(session): return session.renew()",
    "The garden needs water in summer, roses most of all.",
    "Renew the token of a session",
    "決定採用 SQLite",
    "naïve café — “quoted”",
    "x",
]
ODD_TEXTS = [
    "",
    " \n\t",
    "\0",
    "🎉🎉",
    "\ud800",
    "a\udc80b",
    "e\u0301" * 40,
    "z" * 5000,
    "w " * 9000,
]

Factory = Callable[[], Embedder]


@pytest.fixture(
    scope="module",
    params=["static", "static by numpy", "hash", "ollama", "ollama one by one", "openai"],
)
def factory(request: pytest.FixtureRequest) -> Iterator[Factory]:
    local: dict[str, Factory] = {
        "static": lambda: StaticEmbedder(plain_rows=10**9),
        "static by numpy": lambda: StaticEmbedder(plain_rows=0),
        "hash": HashEmbedder,
    }
    if request.param in local:
        yield local[request.param]
        return
    shape = request.param.split()[0]
    path = "/api/embeddings" if "one by one" in request.param else ""
    with run_endpoint() as endpoint:
        yield lambda: HttpEmbedder(shape=shape, endpoint=endpoint.url + path)


@pytest.fixture
def embedder(factory: Factory) -> Embedder:
    return factory()


def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert embedder.embed_documents([]) == []


@pytest.mark.parametrize("texts", [TEXTS, ODD_TEXTS], ids=["usual", "odd"])
def test_every_vector_has_the_dimensions(embedder: Embedder, texts: list[str]) -> None:
    vectors = embedder.embed_documents(texts)
    assert [dimensions(vector) for vector in vectors] == [embedder.dimensions] * len(texts)


@pytest.mark.parametrize("texts", [TEXTS, ODD_TEXTS], ids=["usual", "odd"])
def test_every_vector_has_unit_length_or_is_zero(embedder: Embedder, texts: list[str]) -> None:
    for text, vector in zip(texts, embedder.embed_documents(texts), strict=True):
        if any(vector):
            assert similarity(vector, vector) == pytest.approx(1, abs=0.02), text
        else:
            assert text in ODD_TEXTS


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_text_is_similar_to_nothing(embedder: Embedder, blank: str) -> None:
    assert embedder.embed_query(blank) == bytes(4 + embedder.dimensions)
    assert not any(embedder.embed_documents(["x", blank])[1])


@pytest.mark.parametrize("texts", [TEXTS, ODD_TEXTS], ids=["usual", "odd"])
def test_a_text_has_one_vector(factory: Factory, texts: list[str]) -> None:
    embedder = factory()
    together = embedder.embed_documents(texts)
    assert embedder.embed_documents(texts) == together
    assert factory().embed_documents(texts[::-1]) == together[::-1]
    another = factory()
    assert [another.embed_query(text) for text in texts] == together


def test_order_is_kept_in_a_long_list(embedder: Embedder) -> None:
    texts = [f"{word} number {number}" for number in range(60) for word in ("stone", "river")]
    vectors = embedder.embed_documents(texts)
    for position in (0, 1, 63, 64, 65, 119):
        assert vectors[position] == embedder.embed_query(texts[position])


def test_texts_that_share_words_are_more_similar(embedder: Embedder) -> None:
    query = embedder.embed_query("renew a session token")
    code, garden, prose, *_ = embedder.embed_documents(TEXTS)
    assert similarity(query, prose) > similarity(query, garden)
    assert similarity(query, code) > similarity(query, garden)


def test_the_same_settings_give_the_same_identity(factory: Factory) -> None:
    first, second = factory(), factory()
    second.embed_query("x")
    assert first.identity == second.identity
    assert first.identity.isprintable()


def test_identities_tell_the_embedders_apart() -> None:
    def at_server(shape: str, model: str, dimensions: int) -> str:
        return HttpEmbedder(shape=shape, model=model, dimensions=dimensions).identity

    identities = [
        StaticEmbedder().identity,
        HashEmbedder().identity,
        HashEmbedder(dimensions=32).identity,
        HashEmbedder(model="B").identity,
        at_server("ollama", "one", 8),
        at_server("ollama", "two", 8),
        at_server("ollama", "one", 9),
        at_server("openai", "one", 8),
    ]
    assert len(set(identities)) == len(identities)
