"""Another model under an existing palace is refused before it writes, and words still answer.

A wrong dimension gave a bare library error, and the same dimension from another model mixed
silently and ruined the ranking (chroma-core/chroma#1905, #771, MemPalace/mempalace#1561, #1483,
PromtEngineer/localGPT#411).
"""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mempal.palace import Palace
from tests.cases.support import fingerprint, open_at
from tests.drawers import dump
from tests.repositories import write_files

CASE = Path(__file__).parent / "data" / "B25"
WORDS = ["zqxi0", "zqxi1", "zqxi2", "zqxi3"]
STORED = "hash:A:64:v1"
OTHERS = [("b-dim", "hash:B:96:v1"), ("b-same-dim", "hash:B:64:v1")]
REPAIR = "mempal reindex --reembed"
# A model that is configured as it should be, but does not answer: nothing listens on port 9.
ABSENT = '[embed]\nbackend = "ollama"\nmodel = "no/such-model"\nendpoint = "http://127.0.0.1:9"\n'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE / "repo", tmp_path / "repo"))


@pytest.fixture
def configure(isolation: Any) -> Any:
    def call(name: str) -> None:
        isolation.palace.mkdir(exist_ok=True)
        shutil.copyfile(CASE / f"config-{name}.toml", isolation.palace / "config.toml")

    return call


@pytest.fixture(autouse=True)
def _mined(run: Any, repo: Path, configure: Any) -> None:
    configure("a")
    assert run("mine", repo, "--wing", "w").code == 0


def files_of(home: Path) -> dict[str, str | None]:
    """Return every file of a palace with its hash, but for what readers leave behind."""
    passing = ("-shm", "-wal")
    return {name: digest for name, digest in fingerprint(home).items() if name[-4:] not in passing}


def look(palace: Palace) -> tuple[Any, ...]:
    """Return all that a palace holds."""
    with closing(palace.access.outfit.open_store(False)) as store:
        return (*dump(store), store.runs(100))


def search(run: Any, word: str, *arguments: str) -> Any:
    done = run("search", word, "--wing", "w", "--json", *arguments)
    assert done.code == 0
    return done.json


@pytest.mark.parametrize(("name", "identity"), OTHERS)
def test_what_writes_is_refused_before_it_does(run, isolation, repo, configure, name, identity):
    configure(name)
    before = look(open_at(isolation.palace))
    files = files_of(isolation.palace)
    # Whatever order files are read in: touched, changed, gone, moved and new ones.
    (repo / "n0.md").touch()
    (repo / "n1.md").write_text("zqnew1 something else\n")
    (repo / "n2.md").unlink()
    (repo / "n3.md").rename(repo / "m3.md")
    write_files(repo, {"a.md": "zqnew2 first\n", "z.md": "zqnew3 last\n"})
    for command in (
        ("mine", repo, "--wing", "w"),
        ("mine", repo, "--wing", "v"),
        ("mine", repo / "a.md", "--wing", "w"),
        ("add", "zqnew4 by hand", "--wing", "w"),
    ):
        refused = run(*command, "--json")
        assert refused.code == 1
        error = refused.json["error"]
        assert error["code"] == "embedder_mismatch"
        assert not error["retryable"]
        for part in (STORED, identity):
            assert part in error["message"]
        assert REPAIR in error["hint"]
        assert f"error: {error['message']}\nhint: {error['hint']}\n" in refused.stderr
        assert files_of(isolation.palace) == files
        assert look(open_at(isolation.palace)) == before
    configure("a")
    assert run("mine", repo, "--wing", "w", "--json").json["drawers"]["added"] == 3


@pytest.mark.parametrize(("name", "identity"), OTHERS)
def test_words_answer_and_say_so(run, isolation, configure, name, identity):
    configure(name)
    before = look(open_at(isolation.palace))
    for number, word in enumerate(WORDS):
        found = search(run, word)
        assert found["results"][0]["source_file"] == f"n{number}.md"
        assert all(hit["matched_by"] == ["keyword"] for hit in found["results"])
        (reason,) = found["degraded"]
        for part in ("by words only", STORED, identity, REPAIR):
            assert part in reason
    assert search(run, WORDS[0], "--mode", "keyword")["degraded"] == []
    by_meaning = search(run, WORDS[0], "--mode", "vector")
    assert by_meaning["results"] == []
    assert REPAIR in by_meaning["degraded"][0]
    plain = run("search", WORDS[0], "--wing", "w")
    assert "warning: answered by words only" in plain.stderr
    assert WORDS[0] in plain.stdout
    assert look(open_at(isolation.palace)) == before


@pytest.mark.parametrize(("name", "identity"), OTHERS)
def test_doctor_names_both_and_the_command(run, configure, name, identity):
    assert run("doctor").code == 0
    configure(name)
    done = run("doctor", "--json")
    (found,) = [one for one in done.json["findings"] if one["level"] == "problem"]
    assert (done.code, found["name"], found["repair"]) == (1, "embedder", REPAIR)
    assert STORED in found["detail"]
    assert identity in found["detail"]
    status = run("status", "--json").json
    assert status["stored_embedder"] == STORED


@pytest.mark.parametrize("name", [name for name, _ in OTHERS])
@pytest.mark.parametrize("backend", ["exact", pytest.param("chroma", marks=pytest.mark.chroma)])
def test_all_are_found_after_embedding_again(run, isolation, repo, configure, name, backend):
    open_at(isolation.palace, index__backend=backend)
    run("reindex")
    configure(name)
    open_at(isolation.palace, index__backend=backend)
    run("reindex")  # the index alone does not change the model
    assert search(run, WORDS[0])["degraded"]
    report = run("reindex", "--reembed", "--json").json
    assert (report["drawers"], report["reembedded"]) == (4, 4)
    for number, word in enumerate(WORDS):
        query = (repo / f"n{number}.md").read_text().splitlines()[1]
        for mode in ("hybrid", "vector", "keyword"):
            found = search(run, query, "--mode", mode)
            assert found["degraded"] == []
            assert found["results"][0]["source_file"] == f"n{number}.md"
            if mode == "hybrid":
                assert found["results"][0]["matched_by"] == ["keyword", "vector"]
        assert search(run, word)["results"][0]["source_file"] == f"n{number}.md"
    assert run("doctor").code == 0
    write_files(repo, {"n4.md": "zqxi4 something new\n"})
    assert run("mine", repo, "--wing", "w", "--json").json["drawers"]["added"] == 1
    configure("a")
    assert "by words only" in search(run, WORDS[0])["degraded"][0]


def test_a_backend_that_is_none_is_refused_with_its_place(run, isolation, repo, configure):
    before = look(open_at(isolation.palace))
    configure("missing-model")
    for command in (("mine", repo), ("search", WORDS[0]), ("reindex", "--reembed"), ("status",)):
        refused = run(*command)
        assert (refused.code, refused.stdout) == (1, "")
        (message, _) = refused.stderr.splitlines()
        assert f"{isolation.palace / 'config.toml'}:2: embed.backend " in message
        assert "'onnx'" in message
    configure("a")
    assert look(open_at(isolation.palace)) == before


def test_a_model_that_does_not_answer_leaves_words(run, isolation, repo):
    before = look(open_at(isolation.palace))
    (isolation.palace / "config.toml").write_text(ABSENT)
    found = search(run, WORDS[2])
    assert found["results"][0]["source_file"] == "n2.md"
    assert "answered by words only" in found["degraded"][0]
    write_files(repo, {"n4.md": "zqxi4 something new\n"})
    for command in (("mine", repo, "--wing", "w"), ("add", "x"), ("reindex", "--reembed")):
        refused = run(*command)
        assert refused.code in {1, 4}
        assert "127.0.0.1:9" in refused.stderr
    assert look(open_at(isolation.palace)) == before
