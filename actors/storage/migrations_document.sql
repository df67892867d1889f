-- Steps from each version of a document's file to the next; see actors/storage/migrations.py.

-- name: from_1
-- Version 2 knows how deep blocks have been nested, as a bound for what an update may reach. Of a
-- file without it nothing is known, so it starts where nothing is refused without a closer look.
INSERT INTO meta (key, value) VALUES ('depth', 100) ON CONFLICT (key) DO NOTHING;

-- name: from_2
-- Version 3 keeps what was spent of budgets; before, a document put away forgot it.
CREATE TABLE budgets (
  principal TEXT PRIMARY KEY,
  data      BLOB NOT NULL,
  at        INTEGER NOT NULL
) STRICT;

-- name: from_3
-- Version 4 keeps versions, and merges old updates without losing who made them.
ALTER TABLE updates ADD COLUMN merged INTEGER NOT NULL DEFAULT 1;
CREATE TABLE authors (
  seq        INTEGER NOT NULL REFERENCES updates (seq) ON DELETE CASCADE,
  principal  TEXT NOT NULL,
  via        TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('inserted', 'deleted', 'other')),
  client     INTEGER NOT NULL,
  clock_from INTEGER NOT NULL,
  clock_to   INTEGER NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX authors_by_update ON authors (seq);
CREATE TABLE versions (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  seq        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  change_seq INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  name       TEXT,
  principal  TEXT NOT NULL,
  source     INTEGER
) STRICT;
CREATE INDEX versions_by_name ON versions (name) WHERE name IS NOT NULL;

-- name: from_4
-- Version 5 knows when people last left, and whose agents have been at work.
CREATE TABLE readers (
  person     TEXT PRIMARY KEY,
  last_left  INTEGER,
  seen_until INTEGER
) STRICT;
CREATE TABLE people (
  principal TEXT PRIMARY KEY,
  person    TEXT NOT NULL
) STRICT;

-- name: from_5
-- Version 6 has conversations, suggestions, events and agents that have joined.
CREATE TABLE threads (
  thread_id  TEXT PRIMARY KEY,
  change_seq INTEGER NOT NULL,
  section_id TEXT,
  principal  TEXT NOT NULL,
  at         INTEGER NOT NULL,
  quote      TEXT,
  place      BLOB,
  resolved   INTEGER NOT NULL CHECK (resolved IN (0, 1)),
  changed_by TEXT NOT NULL
) STRICT;
CREATE TABLE messages (
  message_id TEXT PRIMARY KEY,
  thread_id  TEXT NOT NULL REFERENCES threads (thread_id),
  change_seq INTEGER NOT NULL,
  seq        INTEGER NOT NULL UNIQUE,
  principal  TEXT NOT NULL,
  at         INTEGER NOT NULL,
  text       TEXT NOT NULL,
  person     TEXT,
  agent      INTEGER NOT NULL CHECK (agent IN (0, 1)),
  edited_at  INTEGER,
  deleted    INTEGER NOT NULL CHECK (deleted IN (0, 1))
) STRICT;
CREATE TABLE suggestions (
  suggestion_id TEXT PRIMARY KEY,
  group_id   TEXT NOT NULL,
  change_seq INTEGER NOT NULL,
  principal  TEXT NOT NULL,
  at         INTEGER NOT NULL,
  status     TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'rejected')),
  data       BLOB NOT NULL
) STRICT;
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  type       TEXT NOT NULL,
  principal  TEXT NOT NULL,
  addressee  TEXT,
  data       BLOB NOT NULL
) STRICT;
CREATE TABLE digests (
  principal  TEXT PRIMARY KEY,
  until      INTEGER NOT NULL,
  data       BLOB NOT NULL,
  mentioned  INTEGER NOT NULL CHECK (mentioned IN (0, 1))
) STRICT;
CREATE TABLE roster (
  principal  TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  joined_at  INTEGER NOT NULL,
  present_until INTEGER NOT NULL
) STRICT;
