-- The catalog as version 1 of its schema made it: what its migrations start from.

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
  owner      TEXT NOT NULL          -- the person it belongs to
) STRICT;

-- A slug is reserved from the moment its document is being created until that is deleted.
CREATE UNIQUE INDEX documents_by_slug ON documents (slug) WHERE state <> 'deleted';
CREATE INDEX documents_by_update ON documents (updated_at, doc_id) WHERE state = 'ready';

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
  revoked    INTEGER                -- NULL: valid
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
