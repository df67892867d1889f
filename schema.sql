-- The SQL of both databases, in sections marked `==== name ====`; actors/storage/sql.py reads them.
-- Changing a table here means a numbered migration in actors/ for files that exist.

-- ==== document ====
-- One file per document: <data>/documents/<first two>/<doc_id>.sqlite3, held by the one actor that
-- has the document. WAL, synchronous=FULL, locking_mode=EXCLUSIVE. Times are integer milliseconds
-- since 1970 and only label; `seq` orders. PRAGMA user_version is the schema's version.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,           -- doc_id, epoch, secret, title?, update_seq, head, floor, at, depth, …
  value ANY NOT NULL
) STRICT;

-- The log: what every transaction changed, in the order it was applied.
CREATE TABLE updates (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,  -- told to gateways; never given twice
  at         INTEGER NOT NULL,                   -- ms; never before the row above
  principal  TEXT NOT NULL,                      -- who made the change
  via        TEXT NOT NULL,                      -- editor | agent | seed | repair
  data       BLOB NOT NULL,                      -- the Yjs update, as the document emitted it
  splice     BLOB NOT NULL,                      -- what it did to the block index; empty: nothing
  change_seq INTEGER NOT NULL,                   -- head of block_changes after it
  checksum   BLOB NOT NULL                       -- BLAKE2b-64 over seq, data and splice
) STRICT;

-- Whole states, so that loading reads only the log after the newest one.
CREATE TABLE checkpoints (
  seq        INTEGER PRIMARY KEY,   -- the last update it holds
  at         INTEGER NOT NULL,      -- ms
  data       BLOB NOT NULL,         -- the whole state as one Yjs update
  block_index BLOB NOT NULL,        -- the whole block index
  checksum   BLOB NOT NULL          -- BLAKE2b-64 over seq, data and block_index
) STRICT;

-- The change feed. Append-only to readers; the writer deletes rows that a later one supersedes.
CREATE TABLE block_changes (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,   -- what cursors are made of; never given twice
  block_id  TEXT NOT NULL,
  kind      TEXT NOT NULL CHECK (kind IN ('added', 'removed', 'moved', 'changed')),
  principal TEXT NOT NULL,
  at        INTEGER NOT NULL                     -- ms
) STRICT;

-- The names that `by` shows; rows keep principals, names may change.
CREATE TABLE principals (
  principal TEXT PRIMARY KEY,
  name      TEXT NOT NULL
) STRICT;

-- What each principal was shown (ids and digests), so that a write touches nothing unseen.
CREATE TABLE views (
  principal TEXT PRIMARY KEY,
  data      BLOB NOT NULL                        -- shared.views.views, encoded
) STRICT;

-- Answers of writes that carried an idempotency key, stored with the write itself.
CREATE TABLE answers (
  principal TEXT NOT NULL,
  verb      TEXT NOT NULL,
  key       TEXT NOT NULL,
  arguments BLOB NOT NULL,                       -- digest of the call's other arguments
  answer    BLOB NOT NULL,                       -- the result, msgpack
  at        INTEGER NOT NULL,                    -- ms; dropped after a day
  PRIMARY KEY (principal, verb, key)
) STRICT;

-- What each principal has spent of its budgets; a write's, stored with the write itself.
CREATE TABLE budgets (
  principal TEXT PRIMARY KEY,
  data      BLOB NOT NULL,                       -- shared.budget, encoded
  at        INTEGER NOT NULL                     -- ms; dropped when all of it is free again
) STRICT;

-- ==== catalog ====
-- One file per data folder: <data>/catalog.sqlite3, held by the Directory. WAL, synchronous=FULL,
-- locking_mode=EXCLUSIVE. Times are integer milliseconds since 1970. PRAGMA user_version is the
-- schema's version.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,           -- active_at_stop: documents that had an actor at the last drain
  value ANY NOT NULL
) STRICT;

CREATE TABLE documents (
  doc_id     TEXT PRIMARY KEY,      -- 12 characters base36
  slug       TEXT NOT NULL,         -- 1 to 64 of [a-z0-9-], never of the form of an id
  title      TEXT NOT NULL,         -- as last reported by the document; single line
  state      TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'deleted')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,      -- last change of the content, as last reported
  owner      TEXT NOT NULL,         -- the person it belongs to
  expires_at INTEGER,               -- when it is deleted by itself; NULL: never
  deleted_at INTEGER                -- set while state is deleted: row and file go 30 days later
) STRICT;

-- A slug is reserved from the moment its document is being created until that is deleted.
CREATE UNIQUE INDEX documents_by_slug ON documents (slug) WHERE state <> 'deleted';
CREATE INDEX documents_by_update ON documents (updated_at, doc_id) WHERE state = 'ready';
CREATE INDEX documents_by_deletion ON documents (deleted_at, doc_id) WHERE state = 'deleted';
CREATE INDEX documents_by_expiry ON documents (expires_at)
WHERE state = 'ready' AND expires_at IS NOT NULL;

-- Nodes that get no documents any more, until they leave or are taken back.
CREATE TABLE drained_nodes (
  node TEXT PRIMARY KEY,            -- Ray's id
  at   INTEGER NOT NULL
) STRICT;

-- Who holds, or last held, each document. The row stays when the document is passive: it keeps the
-- epoch, which only ever rises.
CREATE TABLE assignments (
  doc_id     TEXT PRIMARY KEY REFERENCES documents (doc_id) ON DELETE CASCADE,
  epoch      INTEGER NOT NULL,      -- raised, on disk, before each activation
  actor      TEXT,                  -- name of the actor; NULL: passive, handed back cleanly
  node       TEXT,                  -- Ray's id of its node
  pid        INTEGER,               -- its process on that node
  started    INTEGER,               -- when that process started, clock ticks since boot: tells a
                                    -- process from a later one with the same pid
  at         INTEGER NOT NULL       -- when the row last changed
) STRICT;

CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,      -- 8 characters base36; what list and revoke name
  hash       BLOB NOT NULL UNIQUE,  -- BLAKE2b-256 of the token; the token itself is never stored
  name       TEXT NOT NULL,         -- shown as the author of what is done with it
  person     TEXT NOT NULL,         -- the person it belongs to
  principal  TEXT NOT NULL,         -- the id its changes are kept under
  agent      INTEGER NOT NULL CHECK (agent IN (0, 1)),
  scopes     TEXT NOT NULL,         -- of read comment suggest write admin, separated by spaces
  created    INTEGER NOT NULL,
  expires    INTEGER,               -- NULL: never
  last_used  INTEGER,               -- to the minute; NULL: never
  revoked    INTEGER,               -- NULL: valid
  writes_per_minute INTEGER,        -- budgets of its own, per document; NULL: as the settings say
  chars_per_hour    INTEGER,
  reads_per_minute  INTEGER,
  documents  TEXT                   -- ids of those it is limited to, separated by spaces; NULL: all
) STRICT;

-- Who gave, took and deleted what. Rows are only ever added.
CREATE TABLE audit (
  seq   INTEGER PRIMARY KEY AUTOINCREMENT,
  at    INTEGER NOT NULL,
  who   TEXT NOT NULL,              -- principal; 'server': time made it due
  what  TEXT NOT NULL,              -- token.create, token.revoke, document.delete, ...
  about TEXT NOT NULL               -- id of the token or document
) STRICT;

-- Answers of create_document calls that carried an idempotency key.
CREATE TABLE creations (
  principal TEXT NOT NULL,
  key       TEXT NOT NULL,
  arguments BLOB NOT NULL,          -- digest of the call's other arguments
  doc_id    TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  answer    BLOB,                   -- msgpack of the answer; NULL while the document is being created
  at        INTEGER NOT NULL,       -- dropped after a day
  PRIMARY KEY (principal, key)
) STRICT;
