"""From bytes to text: every rule, what is kept, what is refused."""

import codecs

import pytest

from mempal.core.errors import SourceError
from mempal.ingest.decode import (
    Decoded,
    UndecodableError,
    decode,
    fold,
    is_binary,
    measure_bytes,
)

TEXT = "# Übergabe — 発注\r\nnächste Woche\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
class TestMarks:
    def test_a_byte_order_mark_is_believed_and_removed(self, mark: bytes, encoding: str) -> None:
        decoded = decode(mark + TEXT.encode(encoding))
        assert decoded == Decoded(TEXT, encoding, len(mark))
        assert "\ufeff" not in decoded.text

    def test_a_mark_alone_is_no_text(self, mark: bytes, encoding: str) -> None:
        assert decode(mark) == Decoded("", encoding, len(mark))

    def test_a_doubled_mark_is_removed_whole(self, mark: bytes, encoding: str) -> None:
        assert decode(mark * 2 + b"x".decode().encode(encoding)).bom_bytes == 2 * len(mark)

    def test_a_mark_before_what_is_not_in_its_encoding_does_not_help(
        self, mark: bytes, encoding: str
    ) -> None:
        with pytest.raises(UndecodableError):
            decode(mark + bytes(range(256)) * 3 + b"\xd8\x00\xd8")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "plain words in wide chars\n",
        "Stückliste für Gehäuse\r\n",
    ],
)
def test_wide_characters_without_a_mark_are_read(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == Decoded(text, encoding)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\0\0\0\0",
        b"ab\0\n",
        b"text with a NUL \0 in it, and more\n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        bytes(range(256)),
        b"\1\0\2\0\3\0\4\0",
        b"\0\1\2\3",
        b"\0\1\2\1",
        b"\x01\x02\x03\x04\x05abc",
    ],
)
def test_binary_is_refused(data: bytes) -> None:
    with pytest.raises(UndecodableError) as caught:
        decode(data)
    assert caught.value.reason == "binary"
    assert isinstance(caught.value, SourceError)
    assert caught.value.message == "binary"
    assert caught.value.hint


def test_few_control_characters_are_text() -> None:
    text = "\x1b[31mred\x1b[0m\fpage\x08\x07 and then a good deal of text\x1a\n"
    assert decode(text.encode()) == Decoded(text)
    assert not is_binary(b"")


@pytest.mark.parametrize("text", ["", "plain", "naïve Ünïcödé 漢字 🎉\n", "\ud7ff\ue000"])
def test_valid_utf8_is_utf8(text: str) -> None:
    assert decode(text.encode()) == Decoded(text)


def test_seven_bit_japanese_is_read_but_not_measured() -> None:
    text = "設定ファイルは毎朝読み直す\n"
    assert decode(text.encode("iso2022_jp")) == Decoded(text, "iso2022_jp", exact=False)


@pytest.mark.parametrize("data", [b"\x1b$", b"\x1b$B\n", b"cursor \x1b(Jx"])
def test_escape_sequences_of_another_kind_are_kept(data: bytes) -> None:
    assert decode(data).text == data.decode()


class TestDamage:
    def test_one_stray_byte_in_ascii_is_kept_and_counted(self) -> None:
        decoded = decode(b"# stray: \xff end\ndef add(a, b):\n    return a + b\n")
        assert decoded.replaced == 1
        assert decoded.text.startswith("# stray: \udcff end")
        assert fold(decoded.text).startswith("# stray: \ufffd end")

    def test_a_stray_byte_among_much_good_utf8_is_kept(self) -> None:
        decoded = decode("Übergabe größer äöü ÄÖÜ\n".encode() + b"\xfc\n")
        assert (decoded.encoding, decoded.replaced) == ("utf-8", 1)

    def test_many_stray_bytes_in_long_text_are_kept_up_to_one_in_a_thousand(self) -> None:
        line = b"a line of plain text that is good\n"
        assert decode(line * 600 + b" \xff\n" * 20).replaced == 20
        with pytest.raises(UndecodableError):
            decode(line * 300 + b" \xff\n" * 20)

    def test_a_mixture_of_encodings_is_refused(self) -> None:
        mixed = "Größe ändern\n".encode() * 3 + "Größe ändern, schöne Maße\n".encode("latin-1") * 3
        with pytest.raises(UndecodableError) as caught:
            decode(mixed)
        assert "encoding" in caught.value.reason

    @pytest.mark.parametrize(("word", "encoding"), [("квіні", "koi8-u"), ("ตาบูก", "cp874")])
    def test_bytes_that_happen_to_be_valid_sequences_do_not_make_utf8(
        self, word: str, encoding: str
    ) -> None:
        data = f"zqword {word}\n".encode(encoding)
        stray = sum(character >= "\udc80" for character in data.decode("utf-8", "surrogateescape"))
        assert stray < len(word)  # some of it is valid
        try:
            decoded = decode(data)
        except UndecodableError:
            return
        assert decoded.text == f"zqword {word}\n"

    def test_a_mark_does_not_excuse_more_damage(self) -> None:
        assert decode(codecs.BOM_UTF8 + b"one \xff byte\n").replaced == 1
        with pytest.raises(UndecodableError):
            decode(codecs.BOM_UTF8 + b"\xff\xfe\xfd many \xfc\xfb\n")


class TestExactness:
    @pytest.mark.parametrize(
        ("data", "size"),
        [(TEXT.encode(), len(TEXT.encode())), (TEXT.encode("utf-16"), len(TEXT) * 2)],
    )
    def test_slices_measure_what_they_do_in_the_file(self, data: bytes, size: int) -> None:
        decoded = decode(data)
        measured = sum(measure_bytes(character, decoded.encoding) for character in decoded.text)
        assert measured == size
        assert size == len(data) - decoded.bom_bytes


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\rb\nc", "a\rb\nc"),
        ("a\r\r\nb", "a\r\nb"),
        ("a\u2028b\x85c\vd\fe", "a\u2028b\x85c\vd\fe"),
        ("x\udcffy\udc80", "x\ufffdy\ufffd"),
        ("é\r\n\ufeff", "é\n\ufeff"),
    ],
)
def test_fold_changes_line_ends_and_stray_bytes_only(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_a_lone_return_ends_lines_of_classic_files_only() -> None:
    classic = decode(b"one\rtwo\r")
    assert classic.classic
    assert fold(classic.text, classic=classic.classic) == "one\ntwo\n"
    modern = decode(b"one\rtwo\n")
    assert not modern.classic
    assert fold(modern.text, classic=modern.classic) == "one\rtwo\n"
