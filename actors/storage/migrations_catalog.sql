-- Steps from each version of the catalog to the next; see actors/storage/migrations.py.

-- name: from_1
-- Version 2 deletes documents on time and for good after a while, and remembers drained nodes. What
-- was deleted before is kept as long as what is deleted now.
ALTER TABLE documents ADD COLUMN expires_at INTEGER;
ALTER TABLE documents ADD COLUMN deleted_at INTEGER;
UPDATE documents SET deleted_at = updated_at WHERE state = 'deleted';
CREATE INDEX documents_by_deletion ON documents (deleted_at, doc_id) WHERE state = 'deleted';
CREATE INDEX documents_by_expiry ON documents (expires_at)
WHERE state = 'ready' AND expires_at IS NOT NULL;
CREATE TABLE drained_nodes (
  node TEXT PRIMARY KEY,
  at   INTEGER NOT NULL
) STRICT;

-- name: from_2
-- Version 3 knows budgets of single tokens.
ALTER TABLE tokens ADD COLUMN writes_per_minute INTEGER;
ALTER TABLE tokens ADD COLUMN chars_per_hour INTEGER;
ALTER TABLE tokens ADD COLUMN reads_per_minute INTEGER;

-- name: from_3
-- Version 4 limits tokens to documents, and keeps an audit log.
ALTER TABLE tokens ADD COLUMN documents TEXT;
CREATE TABLE audit (
  seq   INTEGER PRIMARY KEY AUTOINCREMENT,
  at    INTEGER NOT NULL,
  who   TEXT NOT NULL,
  what  TEXT NOT NULL,
  about TEXT NOT NULL
) STRICT;

-- name: from_4
-- Version 5 knows roles on single documents. Whoever a document belonged to owns it; none is public.
ALTER TABLE documents ADD COLUMN link_role TEXT
CHECK (link_role IN ('viewer', 'suggester', 'editor'));
CREATE TABLE members (
  doc_id    TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  principal TEXT NOT NULL,
  role      TEXT NOT NULL CHECK (role IN ('viewer', 'commenter', 'suggester', 'editor', 'owner')),
  at        INTEGER NOT NULL,
  granted_by TEXT NOT NULL,
  PRIMARY KEY (doc_id, principal)
) STRICT;
CREATE INDEX members_by_principal ON members (principal, doc_id);
INSERT INTO members (doc_id, principal, role, at, granted_by)
SELECT doc_id, iif(instr(owner, ':') > 0, owner, 'person:' || owner), 'owner', created_at, 'server'
FROM documents;

-- name: from_5
-- Version 6 knows documents whose sessions are left to a gateway while they sleep.
ALTER TABLE assignments ADD COLUMN sleeping_at TEXT;

-- name: from_6
-- Version 7 has a copy of when people last left each document.
CREATE TABLE readers (
  doc_id    TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE,
  person    TEXT NOT NULL,
  last_left INTEGER NOT NULL,
  PRIMARY KEY (person, doc_id)
) STRICT;
CREATE INDEX readers_by_document ON readers (doc_id);
