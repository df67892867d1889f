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
  checksum   BLOB NOT NULL,                      -- BLAKE2b-64 over seq, data and splice
  merged     INTEGER NOT NULL DEFAULT 1          -- transactions it holds, this the last of them;
                                                 -- their numbers end at seq
) STRICT;

-- Who made what a merged update holds: ranges of Yjs clocks, kept exact through any merging.
CREATE TABLE authors (
  seq        INTEGER NOT NULL REFERENCES updates (seq) ON DELETE CASCADE,
  principal  TEXT NOT NULL,
  via        TEXT NOT NULL,                      -- as in updates
  kind       TEXT NOT NULL CHECK (kind IN ('inserted', 'deleted', 'other')),
  client     INTEGER NOT NULL,                   -- Yjs client whose items these are; 0: none
  clock_from INTEGER NOT NULL,
  clock_to   INTEGER NOT NULL,                   -- exclusive
  at         INTEGER NOT NULL                    -- ms, of the last transaction of the range
) STRICT;
CREATE INDEX authors_by_update ON authors (seq);

-- Versions: states that are listed, and that nothing merges away. The state is that after `seq`.
CREATE TABLE versions (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,  -- told as v<number>; never given twice
  seq        INTEGER NOT NULL,                   -- the last update it holds
  at         INTEGER NOT NULL,                   -- ms, of that update
  change_seq INTEGER NOT NULL,                   -- head of block_changes then
  kind       TEXT NOT NULL,                      -- shared.stored.VersionKind
  name       TEXT,                               -- given by hand, once per document; NULL: none
  principal  TEXT NOT NULL,                      -- who named it, or whose write it precedes or is
  source     INTEGER                             -- the version it restored
) STRICT;
CREATE INDEX versions_by_name ON versions (name) WHERE name IS NOT NULL;

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

-- The people who have opened the document in an editor: when they were last reading it.
CREATE TABLE readers (
  person     TEXT PRIMARY KEY,
  last_left  INTEGER,                            -- ms, before their last session ended; NULL: never
  seen_until INTEGER                             -- ms, since then; NULL: not yet for long enough
) STRICT;

-- The person behind each agent that has changed the document.
CREATE TABLE people (
  principal TEXT PRIMARY KEY,
  person    TEXT NOT NULL
) STRICT;

-- Conversations beside the text: about a heading's section, or a quoted sentence in it.
CREATE TABLE threads (
  thread_id  TEXT PRIMARY KEY,
  change_seq INTEGER NOT NULL,                   -- its last change, in the numbers of block_changes
  section_id TEXT,                               -- block id of the heading; NULL: there is none
  principal  TEXT NOT NULL,                      -- who began it
  at         INTEGER NOT NULL,                   -- ms
  quote      TEXT,                               -- as it was given; NULL: about the whole section
  place      BLOB,                               -- where the quote stands; NULL: orphaned, or none
  resolved   INTEGER NOT NULL CHECK (resolved IN (0, 1)),
  changed_by TEXT NOT NULL                       -- whose doing its last change was
) STRICT;

CREATE TABLE messages (
  message_id TEXT PRIMARY KEY,
  thread_id  TEXT NOT NULL REFERENCES threads (thread_id),
  change_seq INTEGER NOT NULL,                   -- as in threads
  seq        INTEGER NOT NULL UNIQUE,            -- in the order they were posted
  principal  TEXT NOT NULL,
  at         INTEGER NOT NULL,                   -- ms
  text       TEXT NOT NULL,                      -- '' once it is deleted
  person     TEXT,                               -- the person behind an agent
  agent      INTEGER NOT NULL CHECK (agent IN (0, 1)),      -- posted through a connected app
  edited_at  INTEGER,                            -- ms; NULL: never
  deleted    INTEGER NOT NULL CHECK (deleted IN (0, 1))
) STRICT;

-- Edits that were proposed. They are no part of the Yjs document.
CREATE TABLE suggestions (
  suggestion_id TEXT PRIMARY KEY,
  group_id   TEXT NOT NULL,                      -- those that were made together
  change_seq INTEGER NOT NULL,                   -- as in threads
  principal  TEXT NOT NULL,
  at         INTEGER NOT NULL,                   -- ms
  status     TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'rejected')),
  data       BLOB NOT NULL                       -- shared.suggestions, encoded
) STRICT;

-- What happened, for those who follow events. The oldest are dropped; meta.events_floor says which.
CREATE TABLE events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,  -- what event cursors are made of
  at         INTEGER NOT NULL,                   -- ms
  type       TEXT NOT NULL,
  principal  TEXT NOT NULL,                      -- who did it
  addressee  TEXT,                               -- whom it is meant for; NULL: everybody
  data       BLOB NOT NULL                       -- what else is told, msgpack
) STRICT;

-- What is known of each principal for events that wait, and for those told once.
CREATE TABLE digests (
  principal  TEXT PRIMARY KEY,
  until      INTEGER NOT NULL,                   -- ms; no second document.changed of theirs before
  data       BLOB NOT NULL,                      -- what they touched since, encoded; '': nothing
  mentioned  INTEGER NOT NULL CHECK (mentioned IN (0, 1))  -- the text did, and they were told
) STRICT;

-- Agents that have joined.
CREATE TABLE roster (
  principal  TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  joined_at  INTEGER NOT NULL,                   -- ms
  present_until INTEGER NOT NULL                 -- ms; editors show it until then
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
  owner      TEXT NOT NULL,         -- the person it was made for; who owns it now is in members
  expires_at INTEGER,               -- when it is deleted by itself; NULL: never
  deleted_at INTEGER,               -- set while state is deleted: row and file go 30 days later
  -- What everybody with the link may do; NULL: nothing, it is private.
  link_role  TEXT CHECK (link_role IN ('viewer', 'suggester', 'editor'))
) STRICT;

-- A slug is reserved from the moment its document is being created until that is deleted.
CREATE UNIQUE INDEX documents_by_slug ON documents (slug) WHERE state <> 'deleted';
CREATE INDEX documents_by_update ON documents (updated_at, doc_id) WHERE state = 'ready';
CREATE INDEX documents_by_deletion ON documents (deleted_at, doc_id) WHERE state = 'deleted';
CREATE INDEX documents_by_expiry ON documents (expires_at)
WHERE state = 'ready' AND expires_at IS NOT NULL;

-- Roles on single documents, granted by name. A document always has an owner.
CREATE TABLE members (
  doc_id    TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  principal TEXT NOT NULL,          -- a person, whose agents have the role too, or one agent
  role      TEXT NOT NULL CHECK (role IN ('viewer', 'commenter', 'suggester', 'editor', 'owner')),
  at        INTEGER NOT NULL,       -- when it was granted
  granted_by TEXT NOT NULL,         -- the principal who did; 'server': it made the document
  PRIMARY KEY (doc_id, principal)
) STRICT;
CREATE INDEX members_by_principal ON members (principal, doc_id);

-- When people last left each document: a copy of what its file knows, for questions about many.
CREATE TABLE readers (
  doc_id    TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  person    TEXT NOT NULL,
  last_left INTEGER NOT NULL,       -- as last reported; only ever rises
  PRIMARY KEY (person, doc_id)
) STRICT;
CREATE INDEX readers_by_document ON readers (doc_id);

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
  at         INTEGER NOT NULL,      -- when the row last changed
  sleeping_at TEXT                  -- gateway that has, or last had, its sessions while it has no
                                    -- actor: told of the next activation before anybody else
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
  what  TEXT NOT NULL,              -- token.create, token.revoke, document.delete, member.set, ...
  about TEXT NOT NULL               -- id of the token or document; of a grant: to whom, which role
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
