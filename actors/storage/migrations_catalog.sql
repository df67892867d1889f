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
