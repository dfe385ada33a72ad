"""Tables of the palace and the steps that bring an older database to them.

Each step runs in one transaction together with its version number, so a failed upgrade leaves the
old version whole.
"""

from mempal.core.words import ANALYZER_VERSION

SCHEMA_VERSION = 2

# Tells our databases from all others; "mpal" in ASCII. Other programs keep a palace.db with a
# schema version of their own, which must not be taken for one of ours.
APPLICATION_ID = 0x6D70616C

# Weight of each column of the word index: a word in a path or in a name being defined says more
# than the same word in running text (measured in the benchmark notes).
WORD_COLUMNS = {"content": 1.0, "path": 3.0, "symbols": 2.0, "parts": 1.0}

_FIRST = f"""
PRAGMA application_id = {APPLICATION_ID};

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- path and root are text, or a blob where a name on disk is not valid Unicode.
CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    wing TEXT NOT NULL,
    root ANY NOT NULL,
    path ANY NOT NULL,
    kind TEXT NOT NULL,
    room TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content_sha256 TEXT NOT NULL,
    encoding TEXT NOT NULL,
    rules TEXT NOT NULL,
    mined_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('stored', 'skipped')),
    reason TEXT,
    reading_id INTEGER REFERENCES readings (id),
    UNIQUE (wing, root, path)
) STRICT;

-- One row for each state of a source that drawers were read from.
CREATE TABLE readings (
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES sources (id),
    content_sha256 TEXT NOT NULL,
    blob TEXT,
    commit_id TEXT,
    read_at INTEGER NOT NULL
) STRICT;

CREATE TABLE drawers (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    source_id INTEGER NOT NULL REFERENCES sources (id),
    reading_id INTEGER NOT NULL REFERENCES readings (id),
    wing TEXT NOT NULL,
    room TEXT NOT NULL,
    content TEXT NOT NULL,
    content_sha256 BLOB NOT NULL,
    symbols TEXT NOT NULL,
    chunk_index INTEGER NOT NULL,
    line_start INTEGER,
    line_end INTEGER,
    byte_start INTEGER,
    byte_end INTEGER,
    speaker TEXT,
    source_class TEXT NOT NULL,
    importance INTEGER NOT NULL DEFAULT 0 CHECK (importance BETWEEN 0 AND 5),
    added_at INTEGER NOT NULL,
    superseded_at INTEGER,
    deleted_at INTEGER,
    revision INTEGER NOT NULL
) STRICT;
CREATE INDEX drawers_by_source ON drawers (source_id, chunk_index);
CREATE INDEX drawers_by_revision ON drawers (revision);
CREATE INDEX drawers_by_room ON drawers (wing, room);
CREATE INDEX drawers_by_content ON drawers (content_sha256);

-- Times between which a drawer's text was not in its source before it came back.
CREATE TABLE lapses (
    key INTEGER NOT NULL REFERENCES drawers (key),
    superseded_at INTEGER NOT NULL,
    restored_at INTEGER NOT NULL,
    PRIMARY KEY (key, superseded_at)
) STRICT, WITHOUT ROWID;

CREATE TABLE vectors (
    key INTEGER PRIMARY KEY REFERENCES drawers (key),
    embedding BLOB NOT NULL
) STRICT;

-- Contentless: the text is in drawers; what was indexed can be derived from it again.
CREATE VIRTUAL TABLE words USING fts5 (
    content, path, symbols, parts,
    content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO meta (key, value) VALUES ('revision', '0'), ('analyzer', '{ANALYZER_VERSION}');
"""

_SOURCE_COLUMNS = (
    "id, wing, root, path, kind, room, size, mtime_ns, content_sha256, encoding, rules, mined_at,"
    " state, reason, reading_id"
)

# Conversations, what has gone, runs that can be undone, and what must not come back.
_SECOND = f"""
-- A source is a file, a note, a conversation or a commit. A conversation has a row of its own,
-- whatever file holds it (held_in), and so is known again in a file of another name.
CREATE TABLE sources_anew (
    id INTEGER PRIMARY KEY,
    wing TEXT NOT NULL,
    root ANY NOT NULL,
    path ANY NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('file', 'manual', 'conversation', 'history')),
    room TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content_sha256 TEXT NOT NULL,
    encoding TEXT NOT NULL,
    rules TEXT NOT NULL,
    mined_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('stored', 'skipped', 'gone', 'forgotten')),
    reason TEXT,
    reading_id INTEGER REFERENCES readings (id),
    session TEXT,
    held_in INTEGER REFERENCES sources (id),
    tail TEXT,
    moved_to ANY,
    UNIQUE (wing, root, path)
) STRICT;
INSERT INTO sources_anew ({_SOURCE_COLUMNS}) SELECT {_SOURCE_COLUMNS} FROM sources;
DROP TABLE sources;
ALTER TABLE sources_anew RENAME TO sources;
CREATE INDEX sources_by_holder ON sources (held_in) WHERE held_in IS NOT NULL;

-- A reading does not name its source: drawers that move to another one take it along.
CREATE TABLE readings_anew (
    id INTEGER PRIMARY KEY,
    content_sha256 TEXT NOT NULL,
    blob TEXT,
    commit_id TEXT,
    read_at INTEGER NOT NULL
) STRICT;
INSERT INTO readings_anew SELECT id, content_sha256, blob, commit_id, read_at FROM readings;
DROP TABLE readings;
ALTER TABLE readings_anew RENAME TO readings;

ALTER TABLE drawers ADD COLUMN said_at INTEGER;
ALTER TABLE drawers ADD COLUMN span_digest TEXT;
-- The run that added the drawer.
ALTER TABLE drawers ADD COLUMN run_id INTEGER REFERENCES runs (id);
CREATE INDEX drawers_by_run ON drawers (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    verb TEXT NOT NULL,
    wing TEXT,
    process INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    undone_at INTEGER,
    detail TEXT NOT NULL DEFAULT '{{}}'
) STRICT;

-- What a row of sources or drawers was before a run first changed it, as JSON without any stored
-- text; NULL for a source that the run made, and for a drawer that it removed ("removals"). Drawers
-- that it made name it themselves.
CREATE TABLE journal (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    relation TEXT NOT NULL,
    row_id INTEGER NOT NULL,
    former TEXT,
    PRIMARY KEY (run_id, relation, row_id)
) STRICT, WITHOUT ROWID;

-- Drawers that are no longer there at all, for indexes that still hold them.
CREATE TABLE removals (
    key INTEGER PRIMARY KEY,
    wing TEXT NOT NULL,
    room TEXT NOT NULL,
    revision INTEGER NOT NULL
) STRICT;
CREATE INDEX removals_by_revision ON removals (revision);

-- Hashes of texts that a person wants gone: of a drawer's whole text (source_id 0), or of single
-- lines of one source, whose borders between drawers may shift.
CREATE TABLE forgotten (
    source_id INTEGER NOT NULL,
    digest BLOB NOT NULL,
    forgotten_at INTEGER NOT NULL,
    PRIMARY KEY (source_id, digest)
) STRICT, WITHOUT ROWID;

-- Which knowledge cards rest on which drawers; nothing removes such a drawer unseen.
CREATE TABLE card_links (
    card_id TEXT NOT NULL,
    key INTEGER NOT NULL REFERENCES drawers (key),
    role TEXT NOT NULL,
    PRIMARY KEY (card_id, key, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX card_links_by_drawer ON card_links (key);

-- What remains of a card's link to a drawer that a person wanted gone.
CREATE TABLE forgotten_links (
    card_id TEXT NOT NULL,
    role TEXT NOT NULL,
    drawer_id TEXT NOT NULL,
    forgotten_at INTEGER NOT NULL,
    PRIMARY KEY (card_id, role, drawer_id)
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('lineage', lower(hex(randomblob(16))));
"""

MIGRATIONS = (_FIRST, _SECOND)
