"""The static embedder: its arithmetic, its data files, what it loads and when."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.adapters.embedders import static
from mempal.adapters.embedders.static import StaticEmbedder, pack_rows
from mempal.core.errors import EmbedderError
from mempal.core.vector import pack, similarity, unpack

ROWS = np.array([[3, -4, 0], [0, 1, 127], [-128, 0, 0], [-3, 4, 0]], np.int8)
TOKENS = ["north", "south", "##ern", "anti"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny table: four tokens of three dimensions."""
    np.save(tmp_path / "table.npy", ROWS)
    vocabulary = "".join(f"{token}\n" for token in TOKENS).encode()
    (tmp_path / "words.txt").write_bytes(vocabulary)
    manifest = {
        "name": "tiny",
        "rows": 4,
        "dimensions": 3,
        "table": "table.npy",
        "table_sha256": sha256((tmp_path / "table.npy").read_bytes()).hexdigest(),
        "vocabulary": "words.txt",
        "vocabulary_sha256": sha256(vocabulary).hexdigest(),
    }
    (tmp_path / static.MANIFEST_NAME).write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("plain_rows", [0, 10**6])
def test_a_vector_is_the_normalised_sum_of_rows(folder: Path, plain_rows: int) -> None:
    embedder = StaticEmbedder(folder, plain_rows=plain_rows)
    assert embedder.dimensions == 3
    north, both, cancelled = embedder.embed_documents(["North", "north, southern!", "anti north"])
    assert list(unpack(north)) == pytest.approx([0.6, -0.8, 0], abs=0.005)
    expected = np.array([3 + 0 - 128, -4 + 1 + 0, 0 + 127 + 0])
    expected = expected / np.linalg.norm(expected)
    assert list(unpack(both)) == pytest.approx(expected, abs=0.005)
    assert cancelled == bytes(7)


def test_a_long_text_is_summed_in_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_BLOCK_ROWS", 3)
    embedder = StaticEmbedder(folder, plain_rows=0)
    assert embedder.embed_query("north " * 3 + "south " * 5) == pack([9, -12 + 5, 5 * 127])


@given(
    st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5), min_size=1, max_size=8)
)
def test_rows_are_packed_as_one_vector_is(rows: list[list[int]]) -> None:
    assert pack_rows(np.array(rows, np.int64)) == [pack(row) for row in rows]


@given(st.lists(st.text(), max_size=6))
def test_numpy_and_plain_python_agree_to_the_bit(texts: list[str]) -> None:
    assert BY_NUMPY.embed_documents(texts) == PLAIN.embed_documents(texts)


BY_NUMPY = StaticEmbedder(plain_rows=0)
PLAIN = StaticEmbedder(plain_rows=10**12)


def test_related_words_are_similar() -> None:
    query, kin, stranger = PLAIN.embed_documents(["login password", "authentication", "asparagus"])
    assert similarity(query, kin) > 0.2 > similarity(query, stranger)


def test_emoji_alone_say_nothing() -> None:
    assert not any(PLAIN.embed_query("🎉🎉"))
    assert PLAIN.embed_query("party 🎉🎉") == PLAIN.embed_query("party")


def test_the_packaged_files_are_what_the_manifest_says() -> None:
    embedder = StaticEmbedder()
    embedder.verify()
    manifest = json.loads(
        (Path(static.__file__).with_name("data") / static.MANIFEST_NAME).read_text()
    )
    table = np.load(Path(static.__file__).with_name("data") / manifest["table"], mmap_mode="r")
    assert table.shape == (manifest["rows"], embedder.dimensions) == (30522, 256)
    assert table.dtype == np.int8
    assert embedder.identity == f"static:minilm-256:v1:{manifest['table_sha256'][:8]}"


def test_the_notice_names_model_licence_and_change() -> None:
    data = Path(static.__file__).with_name("data")
    notice = (data / "NOTICE").read_text(encoding="utf-8")
    for part in ("all-MiniLM-L6-v2", "Apache License", "LICENSE-APACHE", "What was changed"):
        assert part in notice
    for file in data.iterdir():
        assert file.name in {"NOTICE", "LICENSE-APACHE"} or file.name in notice
    assert "END OF TERMS AND CONDITIONS" in (data / "LICENSE-APACHE").read_text(encoding="utf-8")


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-1]) and None


def spoil(name: str) -> Callable[[Path], None]:
    return lambda folder: (
        (folder / name).write_bytes(b"?" + (folder / name).read_bytes()[1:]) and None
    )


@pytest.mark.parametrize(
    "damage",
    [
        remove("table.npy"),
        remove("words.txt"),
        remove(static.MANIFEST_NAME),
        write("table.npy", b""),
        write("table.npy", b"\x93NUMPY"),
        write("table.npy", b"version https://git-lfs.github.com/spec/v1\n" * 9),
        cut("table.npy"),
        spoil("table.npy"),
        write("words.txt", b"north\nsouth\n"),
        write("words.txt", b"\xff\n\n\n\n"),
        write(static.MANIFEST_NAME, b"{}"),
        write(static.MANIFEST_NAME, b"[]"),
        write(static.MANIFEST_NAME, b"\xff"),
        write(static.MANIFEST_NAME, b"{"),
    ],
)
@pytest.mark.parametrize("plain_rows", [0, 10**6])
def test_damaged_files_are_named(
    folder: Path, damage: Callable[[Path], None], plain_rows: int
) -> None:
    damage(folder)
    embedder = StaticEmbedder(folder, plain_rows=plain_rows)
    with pytest.raises(EmbedderError, match=re.escape(str(folder))) as caught:
        embedder.embed_query("north")
    assert "reinstall" in caught.value.hint


@pytest.mark.parametrize("name", ["table.npy", "words.txt"])
def test_verify_finds_a_changed_byte(folder: Path, name: str) -> None:
    StaticEmbedder(folder).verify()
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(EmbedderError, match=name):
        StaticEmbedder(folder).verify()


def run(code: str) -> set[str]:
    """Run a program; return which third-party packages it loaded."""
    report = "; import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split()) & {"numpy", "tokenizers", "httpx"}


def test_a_query_loads_no_third_party_package() -> None:
    module = "from mempal.adapters.embedders.static import StaticEmbedder as S"
    assert run(f"{module}; S().embed_query('where is the token renewed')") == set()
    assert run(f"{module}; S().embed_documents(['word ' * 20000])") == {"numpy"}
