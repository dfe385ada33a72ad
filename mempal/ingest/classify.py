"""Which files hold nothing worth storing, and why.

Two questions: one by name, before a file is opened, and one by content. Each answer is a short
fixed phrase with its detail in brackets, the same for the same file everywhere. What is not
recognised is kept: a false "generated" loses somebody's words, a missed one only costs space.
"""

import re
from collections.abc import Iterator
from itertools import islice

from mempal.ingest.decode import UndecodableError, decode, is_binary

TOO_LARGE = "too large"
_EMPTY = "empty"
_BLANK = "blank"
_MINIFIED = "minified"
_SOURCE_MAP = "source map"
_LOCK = "generated file (package lock)"
_PROTOBUF = "generated file (protocol buffers)"
_BUILD = "generated file (named so by its generator)"
_MARKED = "generated file (marked as generated)"

_LOCK_NAMES = frozenset(
    """
    package-lock.json .package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-lock.yml
    bun.lock bun.lockb deno.lock uv.lock poetry.lock pdm.lock pipfile.lock pixi.lock pylock.toml
    conda-lock.yml conda-lock.yaml cargo.lock go.sum go.work.sum gopkg.lock glide.lock gemfile.lock
    gems.locked podfile.lock cartfile.resolved package.resolved pubspec.lock composer.lock
    symfony.lock mix.lock rebar.lock flake.lock stack.yaml.lock cabal.project.freeze
    packages.lock.json project.assets.json paket.lock gradle.lockfile buildscript-gradle.lockfile
    chart.lock .terraform.lock.hcl module.bazel.lock renv.lock shard.lock berksfile.lock
    lake-manifest.json conan.lock
    """.split()  # noqa: SIM905 - a table of words is easier to read and to extend
)
_CODE = r"(?:go|py|pyi|js|mjs|cjs|ts|tsx|rs|java|kt|cs|c|cc|cpp|h|hpp|swift|dart|rb|php|scala|m)"
# What tools write beside the source, by the name in lower case.
_NAMES = (
    (re.compile(r"pylock\.[^/]+\.toml|.+\.gemfile\.lock"), _LOCK),
    (re.compile(r".+\.min\.(?:js|mjs|cjs|css)"), _MINIFIED),
    (re.compile(r".+\.(?:js|mjs|cjs|jsx|ts|mts|cts|tsx|css|scss|less|wasm)\.map"), _SOURCE_MAP),
    (re.compile(r".+_pb2(?:_grpc)?\.pyi?|.+_pb\.(?:js|rb|d\.ts)"), _PROTOBUF),
    (re.compile(r".+\.pb(?:\.gw|\.validate)?\.(?:go|cc|h|swift)"), _PROTOBUF),
    (re.compile(r".+\.pb(?:enum|json|server|grpc)?\.dart"), _PROTOBUF),
    (
        re.compile(r".+\.(?:g|freezed|gr|mocks)\.dart|.+\.g(?:\.i)?\.cs|.+\.designer\.(?:cs|vb)"),
        _BUILD,
    ),
    (re.compile(rf"zz_generated.*\.go|.+[._-]generated\.{_CODE}|.+\.gen\.{_CODE}"), _BUILD),
    (re.compile(r"\._.+"), "binary (AppleDouble metadata)"),
    (re.compile(r"\.ds_store"), "binary (Finder metadata)"),
    (re.compile(r".+\.so(?:\.\d+)+"), "binary (compiled code)"),
)
_SUFFIXES = {
    suffix: f"binary ({kind})"
    for kind, suffixes in {
        "image": """png jpg jpeg gif bmp ico icns webp tif tiff avif heic heif jxl psd xcf cr2 nef
            tga dds exr""",
        "archive": """zip gz tgz bz2 tbz2 xz txz zst lz lz4 lzma 7z rar tar jar war ear aar apk ipa
            whl egg gem nupkg vsix crx xpi deb rpm dmg iso cab msi crate""",
        "font": "ttf otf ttc woff woff2 eot",
        "audio": "mp3 wav flac ogg oga opus m4a aac wma aif aiff mid midi",
        "video": "mp4 m4v mov avi mkv webm wmv flv mpg mpeg ogv 3gp",
        "document": "pdf doc docx xls xlsx xlsm ppt pptx odt ods odp epub mobi djvu vsd vsdx",
        "compiled code": "o a so dylib dll exe class pyc pyo pyd wasm elc beam rlib rmeta",
        "database": "db db3 sqlite sqlite3 mdb accdb db-wal db-shm sqlite-wal sqlite-shm",
        "data": """npy npz pkl pickle joblib h5 hdf5 parquet arrow feather onnx pt pth ckpt
            safetensors tflite gguf rds rdata""",
        "key store": "jks keystore p12 pfx der",
        "editor swap file": "swp swo",
    }.items()
    for suffix in suffixes.split()
}

# How binary formats begin. A signature that is itself text counts only before a NUL, a long one
# before any byte that is not ASCII.
_MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF87a", "GIF image"),
    (0, b"GIF89a", "GIF image"),
    (0, b"BM", "BMP image"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"\0\0\1\0", "icon"),
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (4, b"ftyp", "MPEG-4 media"),
    (0, b"OggS", "Ogg media"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (0, b"\x1aE\xdf\xa3", "Matroska video"),
    (0, b"%PDF-1", "PDF document"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office document"),
    (0, b"PK\3\4", "ZIP archive"),
    (0, b"PK\5\6", "ZIP archive"),
    (0, b"\x1f\x8b", "gzip archive"),
    (4, b"1AY&SY", "bzip2 archive"),
    (0, b"\xfd7zXZ\0", "xz archive"),
    (0, b"(\xb5/\xfd", "Zstandard archive"),
    (0, b"7z\xbc\xaf'\x1c", "7z archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (257, b"ustar", "tar archive"),
    (0, b"!<arch>\n", "object archive"),
    (0, b"\x7fELF", "ELF program"),
    (0, b"MZ", "Windows program"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (0, b"\xce\xfa\xed\xfe", "Mach-O program"),
    (0, b"\0asm", "WebAssembly program"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5 data"),
    (0, b"PAR1", "Parquet data"),
    (0, b"wOFF", "font"),
    (0, b"wOF2", "font"),
    (0, b"OTTO", "font"),
    (0, b"\0\1\0\0\0", "font"),
    (0, b"\xde\x12\x04\x95", "compiled translations"),
    (0, b"PACK", "git pack"),
    (0, b"b0VIM", "editor swap file"),
)
_HEAD = 1024
_LONG_SIGNATURE = 5
# The smallest byte that a byte order mark begins with.
_LEAST_MARK = 0xEF
_KILO = 1024

_PROSE = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org", ".tex")
_MINIFIABLE = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".css", ".scss", ".less")
_LONG_LINE = 400
_LEAST_MINIFIED = 1000
_SAMPLE = 65_536

# The marker of a generator stands in a comment near the top.
_TOP_LINES = 20
_TOP = 8192
_LEADER = re.compile(
    r"""\s*(?://[/!]?|\#+!?|/\*+|\*+(?!/)|--+|;+|%+|<!--+|\{-|\(\*|'''|\"\"\"|@?rem\b|')
    \s*(?P<note>.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_BLOCKS = {"/*": "*/", "<!--": "-->", "{-": "-}", "(*": "*)", '"""': '"""', "'''": "'''"}
_GENERATED = re.compile(
    r"""@generated\b(?=\s*(?:$|\*/|-->|[.!;:(]|<<|(?:by|from|with|using|signedsource)\b))
    | <auto-?generated\b
    | this\ (?:file|code|class|module|header)\ (?:is|was|has\ been)\ (?:
        automatically\ @generated\b
        | (?:(?:auto|automatically|machine)[- ]?generated)
          (?=\s*(?:$|[.,;:!-]|(?:by|from|with|using|via)\b))
      )""",
    re.IGNORECASE | re.VERBOSE,
)
_SAYS_GENERATED = re.compile(
    r"""\W*(?:this\ (?:file|code|class|module|header)\ (?:is|was|has\ been)\ (?:an?\ )?)?
    (?:code\ |file\ )?(?:(?:auto|automatically|machine)[- ]?)?generated\b""",
    re.IGNORECASE | re.VERBOSE,
)
_HANDS_OFF = re.compile(
    r"""(?:\b(?:do\ not|don't|never)\ (?:manually\ |directly\ )?(?:edit|modify|change)
      (?:[\s,]+(?:this|the|it|file|code|source|by|hand|manually|directly|below|above|or|edit|modify))*
      | \b(?:changes|edits|modifications)\b.*\b(?:lost|overwritten))
    \s*(?:[.!;,].*|\W*|unless\b.*|as\b.*)$""",
    re.IGNORECASE | re.VERBOSE,
)
_NEAR = 3


def skip_by_name(path: str) -> str | None:
    """Say why a file need not even be opened; ``None`` when it must be.

    Args:
        path: Its path, ``/`` between parts; only the last part matters, in any case of letters.
    """
    name = path.rpartition("/")[2].lower()
    if name in _LOCK_NAMES:
        return _LOCK
    for pattern, reason in _NAMES:
        if pattern.fullmatch(name):
            return reason
    stem, _, suffix = name.rpartition(".")
    return _SUFFIXES.get(suffix) if stem else None


def skip_by_content(path: str, data: bytes) -> str | None:
    """Say why a file's content is not stored; ``None`` when it is text that may be.

    Whether text in a legacy encoding can be read is left to :func:`mempal.ingest.decode.decode`.

    Args:
        path: Its path, whose suffix tells code from prose.
        data: All its bytes.
    """
    if not data:
        return _EMPTY
    kind = _find_format(data)
    if kind is not None:
        return f"binary ({kind})"
    if b"\0" in data or data[0] >= _LEAST_MARK:  # wide characters or a byte order mark
        try:
            text = decode(data).text
        except UndecodableError as error:
            return error.reason
    elif is_binary(data):
        return "binary"
    else:
        text = data.decode("utf-8", "surrogateescape")
    return _skip_by_text(path.lower(), text)


def describe_size(size: int, limit: int) -> str:
    """Say that a file is too large; both sizes in bytes, shown with one decimal place."""
    shown, allowed = _show_size(size), _show_size(limit)
    if shown == allowed:
        shown, allowed = f"{size:,} bytes", f"{limit:,} bytes"
    return f"{TOO_LARGE} ({shown}, limit {allowed})"


def _show_size(size: int) -> str:
    if size < _KILO:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= _KILO
        if amount < _KILO:
            return f"{amount:.1f} {unit}"
    return f"{amount / _KILO:.1f} TB"


def _find_format(data: bytes) -> str | None:
    head = data[:_HEAD]
    for offset, signature, kind in _MAGIC:
        if head.startswith(signature, offset) and (
            not signature.decode("latin-1").isprintable()
            or b"\0" in head
            or (len(signature) >= _LONG_SIGNATURE and not head.isascii())
        ):
            return kind
    return None


def _skip_by_text(path: str, text: str) -> str | None:
    if not text or text.isspace():
        return _BLANK
    if path.endswith(".map") and _is_source_map(text):
        return _SOURCE_MAP
    if not path.endswith(_PROSE) and _is_marked(text):
        return _MARKED
    if path.endswith(_MINIFIABLE) and _is_minified(text):
        return _MINIFIED
    return None


def _is_source_map(text: str) -> bool:
    return text.lstrip().startswith("{") and '"mappings"' in text and '"version"' in text


def _is_marked(text: str) -> bool:
    notes = list(_read_comments(text))
    for index, note in enumerate(notes):
        if _GENERATED.match(note):
            return True
        near = notes[max(0, index - _NEAR) : index + _NEAR + 1]
        if _SAYS_GENERATED.match(note) and any(map(_HANDS_OFF.search, near)):
            return True
    return False


def _read_comments(text: str) -> Iterator[str]:
    """Yield what the comment lines among the first lines say, without the marks around it."""
    end = ""
    for line in islice(text[:_TOP].splitlines(), _TOP_LINES):
        match = _LEADER.match(line)
        note = match["note"] if match else line.strip()
        if match or end:
            yield note.removesuffix(end or "*/").rstrip()
        if match and not end:
            opening = line.lstrip()
            end = next((close for mark, close in _BLOCKS.items() if opening.startswith(mark)), "")
        if end and end in note:
            end = ""


def _is_minified(text: str) -> bool:
    """Return whether most of the text lies in long lines that are dense with punctuation."""
    long_lines = [line for line in text.splitlines() if len(line) >= _LONG_LINE]
    if len(text) < _LEAST_MINIFIED or sum(map(len, long_lines)) < 0.8 * len(text):
        return False
    sample = "".join(long_lines)[:_SAMPLE]
    blanks = sample.count(" ") + sample.count("\t")
    marks = sum(map(sample.count, "{}()[];:,=."))
    return blanks < 0.12 * len(sample) and marks > 0.08 * len(sample)
