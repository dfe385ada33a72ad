"""The Chroma index on a server; what it promises otherwise is in the contract of indexes."""

import http.server
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mempal.adapters.chroma import ChromaIndex
from mempal.adapters.chroma.client import open_collection
from mempal.core.errors import ConfigError, DamagedError
from mempal.core.model import Scope
from tests.indexes import DIMENSIONS, IDENTITY, entry, fill, vector
from tests.servers import ChromaServer, run_chroma

pytestmark = pytest.mark.chroma

EAST = vector(1)
Open = Callable[..., ChromaIndex]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with run_chroma(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens an index, which is closed in the end."""
    opened = []

    def open_index(url: str | None, folder: str = "chroma", identity: str = IDENTITY):
        opened.append(ChromaIndex(tmp_path / folder, identity, DIMENSIONS, url=url))
        return opened[-1]

    yield open_index
    for index in opened:
        index.close()


def keys(index: ChromaIndex) -> list[int]:
    return [near.key for near in index.nearest(EAST, 99, Scope(history=True))]


def read_collection_name(index: ChromaIndex) -> str:
    return index._read().collection


def test_two_palaces_on_one_server_do_not_mix(server: ChromaServer, open_index: Open):
    first, second = (open_index(server.url, name) for name in ("one", "two"))

    fill(first, entry(1, EAST))
    fill(second, entry(2, EAST))

    assert keys(first) == [1]
    assert keys(second) == [2]


def test_a_copied_palace_does_not_pass_off_its_writes(
    server: ChromaServer, open_index: Open, tmp_path: Path
):
    original = open_index(server.url)
    fill(original, entry(1, EAST))
    shutil.copytree(tmp_path / "chroma", tmp_path / "copy")
    copy = open_index(server.url, "copy")
    copy.position()
    fill(copy, entry(2, EAST), position=2)

    with pytest.raises(DamagedError, match="a copy or a backup") as caught:
        keys(open_index(server.url))

    assert "mempal reindex" in caught.value.hint
    original.reset()
    fill(original, entry(1, EAST))
    assert keys(original) == [1]
    assert keys(copy) == [1, 2]


def test_a_rebuild_removes_the_former_collection(server: ChromaServer, open_index: Open):
    index = open_index(server.url)
    fill(index, entry(1, EAST))
    former = [read_collection_name(index)]
    index.reset()
    fill(index, entry(2, EAST))
    former.append(read_collection_name(index))
    other = open_index(server.url, identity="test:B")
    fill(other, entry(3, EAST))

    for name in former:
        with pytest.raises(DamagedError, match="does not exist"):
            open_collection(server.url, name, create=False)
    assert keys(other) == [3]


def test_a_lost_collection_is_named_and_can_be_built_anew(server: ChromaServer, open_index: Open):
    index = open_index(server.url)
    fill(index, entry(1, EAST))
    open_collection(server.url, read_collection_name(index), create=False).drop()
    fresh = open_index(server.url)

    for attempt in (keys, lambda index: fill(index, entry(2, EAST), position=2)):
        with pytest.raises(DamagedError, match="does not exist") as caught:
            attempt(fresh)
        assert "mempal reindex" in caught.value.hint
    (problem,) = fresh.problems()
    assert server.url in problem

    fresh.reset()
    fill(fresh, entry(1, EAST))
    assert keys(fresh) == [1]


def test_an_index_is_on_the_server_or_in_the_folder(server: ChromaServer, open_index: Open):
    fill(open_index(server.url), entry(1, EAST), position=3)

    embedded = open_index(None)

    assert embedded.position() == 0
    assert keys(embedded) == []
    fill(embedded, entry(2, EAST))
    assert keys(embedded) == [2]
    assert open_index(server.url).position() == 0


def test_a_server_may_be_restarted(tmp_path: Path, open_index: Open):
    with run_chroma(tmp_path / "data") as server:
        reader, writer = open_index(server.url), open_index(server.url)
        fill(writer, entry(1, EAST))
        assert keys(reader) == [1]

        server.stop()
        for attempt in (keys, lambda index: fill(index, entry(2, EAST), position=2)):
            with pytest.raises(DamagedError, match="does not answer") as caught:
                attempt(reader)
            assert "index.chroma_url" in caught.value.hint
        assert reader.position() == 1
        (problem,) = open_index(server.url).problems()
        assert "does not answer" in problem

        server.start()
        assert keys(reader) == [1]
        assert writer.position() == 1
        fill(writer, entry(2, EAST), position=2)
        assert keys(reader) == [1, 2]
        assert reader.problems() == []


def test_a_server_that_never_answers_is_not_waited_for(
    open_index: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mempal.adapters.chroma.client._SERVER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = open_index(f"http://127.0.0.1:{silent.getsockname()[1]}")

        with pytest.raises(DamagedError, match="does not answer"):
            fill(index, entry(1, EAST))


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers everything, and is no Chroma."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    do_POST = do_GET  # noqa: N815 - the name the standard library calls

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_is_no_chroma_is_an_error(open_index: Open):
    with http.server.HTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        thread = threading.Thread(target=stranger.serve_forever)
        thread.start()
        try:
            index = open_index(f"http://127.0.0.1:{stranger.server_port}")
            with pytest.raises(DamagedError, match=r"127\.0\.0\.1"):
                fill(index, entry(1, EAST))
        finally:
            stranger.shutdown()
            thread.join()


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "chroma"])
def test_what_is_no_url_is_refused(tmp_path: Path, url: str):
    with pytest.raises(ConfigError, match=r"index\.chroma_url"):
        ChromaIndex(tmp_path, IDENTITY, DIMENSIONS, url=url)


def test_a_slash_at_the_end_of_the_url_is_the_same_place(server: ChromaServer, open_index: Open):
    fill(open_index(server.url), entry(1, EAST), position=2)

    assert open_index(server.url + "/").position() == 2


def test_nothing_but_the_record_is_kept_in_the_folder(
    server: ChromaServer, open_index: Open, tmp_path: Path
):
    fill(open_index(server.url), entry(1, EAST))

    assert [path.name for path in (tmp_path / "chroma").iterdir()] == ["record.json"]
    record = json.loads((tmp_path / "chroma" / "record.json").read_text())
    assert record["url"] == server.url
