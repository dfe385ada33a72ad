"""Decoding loses nothing: the bytes can be made again from the text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.ingest.classify import skip_by_content, skip_by_name
from mempal.ingest.decode import UndecodableError, decode, fold, measure_bytes

SAMPLES = {
    "utf-8": "Größe, 漢字 and 🎉 in one line\n",
    "utf-16-le": "wide größer words\n",
    "utf-16-be": "wide größer words\n",
    "cp1252": "Stückliste für Gehäuse, größer – “schöner”\n",
    "cp1251": "Очередь повторов очищается дежурным утром\n",
    "gb18030": "发布流程在周五冻结，回滚由值班人负责\n",
    "cp932": "設定ファイルは毎朝読み直す、当番が見る\n",
    "cp949": "배포는 금요일에 멈추고 되돌리기는 당번이 맡습니다\n",
}
# Mostly text, so that more than the refusal of binary data is tried.
TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")),
    st.tuples(st.text(max_size=80), st.binary(max_size=3), st.text(max_size=80)).map(
        lambda parts: (
            parts[0].encode("utf-8", "replace") + parts[1] + parts[2].encode("utf-8", "replace")
        )
    ),
    st.tuples(st.sampled_from([*SAMPLES]), st.integers(1, 4)).map(
        lambda picked: (SAMPLES[picked[0]] * picked[1]).encode(picked[0])
    ),
)


@given(TEXTS)
def test_the_bytes_can_be_made_again(data: bytes) -> None:
    try:
        decoded = decode(data)
    except UndecodableError:
        return
    made = decoded.text.encode(decoded.encoding, "surrogateescape")
    if decoded.exact:
        assert made == data[decoded.bom_bytes :]
    strays = sum("\udc80" <= character <= "\udcff" for character in decoded.text)
    assert strays == decoded.replaced


@given(TEXTS, st.lists(st.integers(0, 400), max_size=6))
def test_slices_measure_exactly(data: bytes, cuts: list[int]) -> None:
    try:
        decoded = decode(data)
    except UndecodableError:
        return
    if not decoded.exact:
        return
    size = decoded.bom_bytes
    borders = sorted({0, len(decoded.text), *(cut for cut in cuts if cut < len(decoded.text))})
    for start, end in pairwise(borders):
        piece = decoded.text[start:end]
        width = measure_bytes(piece, decoded.encoding)
        again = data[size : size + width].decode(decoded.encoding, "surrogateescape")
        assert again == piece
        size += width
    assert size == len(data)


@pytest.mark.parametrize("encoding", SAMPLES)
@given(st.data())
def test_every_slice_of_a_sample_is_measured(encoding: str, data: st.DataObject) -> None:
    decoded = decode(SAMPLES[encoding].encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.exact) == (SAMPLES[encoding], encoding, True)
    start = data.draw(st.integers(0, len(decoded.text)))
    end = data.draw(st.integers(start, len(decoded.text)))
    piece = decoded.text[start:end]
    assert measure_bytes(piece, encoding) == len(piece.encode(encoding))


@given(st.text(alphabet="ab\r\n\udc80\udcffé\x85\u2028"), st.booleans())
def test_folding_is_idempotent_and_keeps_everything_else(text: str, classic: bool) -> None:
    folded = fold(text, classic=classic)
    assert "\r\n" not in folded or "\r\r\n" in text
    assert not any("\udc80" <= character <= "\udcff" for character in folded)
    kept = [character for character in text if character in "ab\né\x85\u2028"]
    if not classic:
        assert [character for character in folded if character in "ab\né\x85\u2028"] == kept


@given(st.text(), TEXTS)
def test_classification_is_total_and_the_same_each_time(path: str, data: bytes) -> None:
    assert skip_by_name(path) == skip_by_name(path)
    reason = skip_by_content(path, data)
    assert reason == skip_by_content(path, data)
    assert reason is None or reason.strip()
