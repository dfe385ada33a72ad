"""Exports are read element by element; what is broken costs itself and is named."""

import io

import pytest

from mempal.ingest.transcripts import documents
from mempal.ingest.transcripts.documents import Problem, decode_head, load, read_items


def read(data):
    return list(read_items(io.BytesIO(data)))


@pytest.fixture(params=[1, 7, 1_048_576], autouse=True)
def block(request, monkeypatch):
    """Every document is read with its elements lying across borders of blocks, and within one."""
    monkeypatch.setattr(documents, "_BLOCK", request.param)
    return request.param


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'[{"a": 1}, [2, {"b": []}], "x", 1.5, -7, true, null]', None),
        (b"[]", []),
        (b" \n[ ] \n", []),
        (b'{"a": [1, 2]}', [{"a": [1, 2]}]),
        (b'"x"', ["x"]),
        (b'\xef\xbb\xbf[{"a": 1}]', [{"a": 1}]),
        ('[{"ä": "ö🎉"}]'.encode("utf-16"), [{"ä": "ö🎉"}]),
        ('\ufeff["ö"]'.encode("utf-16-be"), ["ö"]),
        (b'["x\\ud83d\\ude00y", "\\ud83d", "\\\\", "\\"]"]', ["x😀y", "\ud83d", "\\", '"]']),
        (b'[{"t": "\xff"}, "a\nb"]', [{"t": "�"}, "a\nb"]),
        (b'["[{", "}]", {"]": "["}]', ["[{", "}]", {"]": "["}]),
        (b"[1 2, 3]", None),
    ],
    ids=[
        *("mixed", "empty", "blank", "object", "string", "bom", "utf-16", "utf-16-be"),
        *("escapes", "bad bytes", "brackets in strings", "no comma"),
    ],
)
def test_documents(data, expected):
    if expected is None and data.startswith(b"[{"):
        expected = [{"a": 1}, [2, {"b": []}], "x", 1.5, -7, True, None]
    if expected is None:
        assert [type(item) for item in read(data)] == [Problem, int]
        return
    assert read(data) == expected


def test_numbers_that_python_refuses_cost_nothing():
    first, second = read(b'[{"a": NaN, "b": ' + b"9" * 5000 + b"}, -Infinity]")

    assert first["a"] != first["a"]
    assert (first["b"], second) == (float("inf"), float("-inf"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'[{"a":1},{"t":tru},{"a":2}]', [{"a": 1}, 2, {"a": 2}]),
        (b"[" + b'{"a":x},' * 3 + b'{"a":2}]', [1, 2, 3, {"a": 2}]),
        (b'[{"a":1},{"a":2},{"a', [{"a": 1}, {"a": 2}, 3, 0]),
        (b'[{"a":1},"ab', [{"a": 1}, 2, 0]),
        (b'[{"a":1},"ab\\', [{"a": 1}, 2, 0]),
        (b'[{"a":1},', [{"a": 1}, 0]),
        (b"[", [0]),
        (b'[{"a":1}]]', [{"a": 1}, 0]),
        (b'{"a":1}\n{"a":2}', [{"a": 1}, 0]),
        (b'{"a":1', [0]),
        (b"", [0]),
        (b" \n", [0]),
        (b"no json", [0]),
        (b"[tru, 1, fal]", [1, 1, 3]),
        (b"[" + b"[" * 50_000 + b"]" * 50_000 + b",1]", [1, 1]),
        (b"[" * 50_000, [1, 0]),
        (b'{"a":' * 50_000, [0]),
    ],
)
def test_what_is_broken_is_named_and_the_rest_is_read(data, expected, monkeypatch):
    if len(data) > 10_000:  # a byte at a time takes long
        monkeypatch.setattr(documents, "_BLOCK", max(documents._BLOCK, 1000))
    items = [item.item if isinstance(item, Problem) else item for item in read(data)]

    assert items == expected


def test_a_problem_says_where_it_is():
    problems = [str(item) for item in read(b'[{"t":tru},{') if isinstance(item, Problem)]

    assert problems[0].startswith("item 1: is broken JSON")
    assert problems[1:] == ["item 2: is cut off", "the list is cut off"]


def test_an_element_that_is_too_large_is_left_out(monkeypatch):
    monkeypatch.setattr(documents, "_ELEMENT_LIMIT", 20)
    monkeypatch.setattr(documents, "_BLOCK", 7)
    large = b'{"a": "' + b'x\\"]' * 20 + b'"}'

    items = read(b'[{"a": 1}, ' + large + b', {"a": 2}, ' + large)

    assert [str(item) for item in items] == [
        "{'a': 1}",
        "item 2: is too large",
        "{'a': 2}",
        "item 4: is cut off",
        "the list is cut off",
    ]


def test_a_single_value_that_is_too_large_is_left_out(monkeypatch):
    monkeypatch.setattr(documents, "_DOCUMENT_LIMIT", 1000)

    assert read(b'{"a": 1}') == [{"a": 1}]
    assert read(b'{"a": "' + b"x" * 991 + b'"}') == [{"a": "x" * 991}]
    (problem,) = read(b'{"a": "' + b"x" * 992 + b'"}')
    assert isinstance(problem, Problem)
    assert len(read(b" " * 2000 + b"[1, 2]")) == 2


def test_no_more_than_a_window_is_in_memory(monkeypatch):
    monkeypatch.setattr(documents, "_BLOCK", 64)
    longest = 0
    grow = documents._Source.grow

    def measure(source):
        nonlocal longest
        more = grow(source)
        longest = max(longest, len(source.text))
        return more

    monkeypatch.setattr(documents._Source, "grow", measure)
    count = sum(1 for _ in read_items(io.BytesIO(b"[" + b'{"a": "0123456789"},' * 1000 + b"1]")))

    assert count == 1001
    assert longest < 200


def test_one_value_is_loaded():
    assert load(' {"a": "x\ny"} \n') == {"a": "x\ny"}
    with pytest.raises(ValueError, match="follows"):
        load("1 2")


def test_a_head_is_decoded_up_to_the_last_whole_character():
    assert decode_head("aö".encode()[:-1]) == "a"
    assert decode_head("aö".encode("utf-16")) == "aö"
