"""Whether a citation still holds, judged from the files as they are now.

Cheap and bounded: each file is read at most once per answer and only up to a size; git is asked
only about files that are gone, and only a few times. A path is never followed out of its root, and
nothing but a regular file is opened.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from mempal.core.files import is_inside, open_regular, read_regular
from mempal.core.model import Citation, Drawer, Span, Verdict
from mempal.core.ports import Repositories, Store

_LARGEST_FILE = 16 * 1024 * 1024
_MOST_GIT_QUESTIONS = 5


class Citer:
    """Judges the citations of one answer.

    Args:
        store: Where a file that moved may have been mined again.
        repositories: Where git may know a file that moved.
        read_text: Turns a file's bytes into text with folded line ends, or ``None`` for what is no
            text.
    """

    def __init__(
        self,
        store: Store,
        repositories: Repositories,
        read_text: Callable[[bytes], str | None],
    ) -> None:
        self._store = store
        self._repositories = repositories
        self._read_text = read_text
        self._files: dict[Path, bytes | None] = {}
        self._texts: dict[Path, str | None] = {}
        self._unread: set[Path] = set()
        self._questions = 0

    def cite(self, drawer: Drawer) -> Citation:
        """Say where a drawer's text is now."""
        if drawer.session is not None and drawer.root:
            return self._cite_message(drawer)
        if not drawer.root or drawer.span is None:
            return Citation(Verdict.UNKNOWN, drawer.source_file)
        root = Path(drawer.root)
        data = self._read(root, drawer.source_file)
        if data is None and root / drawer.source_file in self._unread:
            return _as_stored(drawer, Verdict.UNKNOWN)
        if data is None:
            return self._cite_missing(drawer)
        if sha256(data).hexdigest() == drawer.source_sha256:
            return _as_stored(drawer, Verdict.SAME)
        return self._cite_changed(drawer, root / drawer.source_file, data)

    def _cite_message(self, drawer: Drawer) -> Citation:
        """Say whether the record that a message was read from is where it was.

        Only its own bytes are read: a session grows while it is cited.
        """
        root, span = Path(drawer.root), drawer.span
        if span is not None and span.digest is not None:
            found = self._read_part(root, drawer.source_file, span)
            if found is None:
                return _as_stored(drawer, Verdict.GONE)
            same = sha256(found).hexdigest() == span.digest
            return _as_stored(drawer, Verdict.SAME if same else Verdict.CHANGED)
        data = self._read(root, drawer.source_file)
        if data is None and root / drawer.source_file not in self._unread:
            return _as_stored(drawer, Verdict.GONE)
        same = data is not None and sha256(data).hexdigest() == drawer.source_sha256
        return _as_stored(drawer, Verdict.SAME if same else Verdict.UNKNOWN)

    def _read_part(self, root: Path, relative: str, span: Span) -> bytes | None:
        start, end = span.byte_start or 0, span.byte_end or 0
        path = root / relative
        try:
            if not is_inside(root, path):
                return None
            with open_regular(path) as file:
                file.seek(start)
                return file.read(min(end - start, _LARGEST_FILE))
        except (OSError, ValueError):
            return None

    def _cite_changed(self, drawer: Drawer, path: Path, data: bytes) -> Citation:
        if path not in self._texts:
            self._texts[path] = self._read_text(data)
        text = self._texts[path]
        place = None if text is None else _find_lines(text, drawer)
        if place is None:
            return _as_stored(drawer, Verdict.CHANGED)
        span = drawer.span
        same = span is not None and place == (span.line_start, span.line_end)
        return Citation(Verdict.SAME if same else Verdict.MOVED, drawer.source_file, *place)

    def _cite_missing(self, drawer: Drawer) -> Citation:
        for path in self._other_places(drawer):
            data = self._read(Path(drawer.root), path)
            if data is not None and sha256(data).hexdigest() == drawer.source_sha256:
                span = drawer.span
                lines = (span.line_start, span.line_end) if span else (None, None)
                return Citation(Verdict.MOVED, path, *lines)
        return _as_stored(drawer, Verdict.GONE)

    def _other_places(self, drawer: Drawer) -> list[str]:
        places = [
            path
            for path in self._store.paths_of_content(drawer.wing, drawer.root, drawer.source_sha256)
            if path != drawer.source_file
        ]
        if drawer.blob is not None and self._questions < _MOST_GIT_QUESTIONS:
            self._questions += 1
            repository = self._repositories.find(Path(drawer.root))
            found = repository and self._repositories.find_blob(repository, drawer.blob)
            if found:
                places.append(found)
        return places

    def _read(self, root: Path, relative: str) -> bytes | None:
        path = root / relative
        if path not in self._files:
            self._files[path] = None
            try:
                if is_inside(root, path):
                    self._files[path] = read_regular(path, _LARGEST_FILE)
            except (OSError, ValueError):
                # A regular file that cannot be read may still hold the text; anything else that
                # took its place does not.
                if path.is_file() and not path.is_symlink():
                    self._unread.add(path)
        return self._files[path]


def _as_stored(drawer: Drawer, verdict: Verdict) -> Citation:
    span = drawer.span
    if span is None:
        return Citation(verdict, drawer.source_file)
    return Citation(verdict, drawer.source_file, span.line_start, span.line_end)


def _find_lines(text: str, drawer: Drawer) -> tuple[int, int] | None:
    """Return the lines that hold the drawer's text; of several, the nearest to where it was."""
    content = drawer.content
    wanted = drawer.span.line_start if drawer.span else 1
    best: tuple[int, int] | None = None
    start, line, counted = text.find(content), 1, 0
    while start >= 0:
        line += text.count("\n", counted, start)
        counted = start
        if best is None or abs(line - wanted) < abs(best[0] - wanted):
            best = line, line + content.rstrip("\n").count("\n")
        start = text.find(content, start + max(1, len(content)))
    return best
