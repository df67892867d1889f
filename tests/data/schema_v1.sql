-- A document's file as version 1 of the schema made it: what migrations start from.

-- One file per document: <data>/documents/<first two>/<doc_id>.sqlite3, held by the one actor that
-- has the document. WAL, synchronous=FULL, locking_mode=EXCLUSIVE. Times are integer milliseconds
-- since 1970 and only label; `seq` orders. PRAGMA user_version is the schema's version.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,           -- doc_id, secret, head, floor, at, update_seq (see actors/storage/store.py)
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

-- What each principal was shown (ids and hashes), so that a write touches nothing unseen.
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
