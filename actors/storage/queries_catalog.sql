-- Statements of actors/directory/catalog.py on the Directory's catalog.

-- name: get_meta
SELECT value FROM meta WHERE key = ?

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: add_document
INSERT INTO documents (doc_id, slug, title, state, created_at, updated_at, owner, expires_at)
VALUES (?, ?, ?, 'creating', ?, ?, ?, ?)

-- name: document_ready
UPDATE documents SET state = 'ready' WHERE doc_id = ?

-- name: remove_creating
DELETE FROM documents WHERE doc_id = ? AND state = 'creating'

-- name: creating
SELECT doc_id FROM documents WHERE state = 'creating'

-- name: states
SELECT doc_id, state FROM documents ORDER BY doc_id

-- name: delete_document
UPDATE documents SET state = 'deleted', deleted_at = ? WHERE doc_id = ? AND state = 'ready'

-- name: deleted_by_id
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role
FROM documents
WHERE doc_id = ? AND state = 'deleted'

-- name: deleted_by_slug
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role
FROM documents
WHERE slug = ? AND state = 'deleted'
ORDER BY deleted_at DESC, doc_id DESC LIMIT 1

-- name: deleted_page
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role
FROM documents
WHERE state = 'deleted'
  AND (:all OR doc_id IN (
    SELECT doc_id FROM members WHERE principal IN (:principal, :person) AND role = 'owner'
  ))
  AND (instr(casefold(title), :query) > 0 OR instr(slug, :query) > 0)
  AND (deleted_at, doc_id) < (:before_at, :before_id)
ORDER BY deleted_at DESC, doc_id DESC LIMIT :limit

-- name: undelete
UPDATE documents SET state = 'ready', slug = :slug, expires_at = :expires_at, deleted_at = NULL
WHERE doc_id = :doc_id AND state = 'deleted'

-- name: expired
SELECT doc_id FROM documents
WHERE state = 'ready' AND expires_at IS NOT NULL AND expires_at <= ?
ORDER BY expires_at LIMIT ?

-- name: purgeable
SELECT deleted_at, doc_id FROM documents
WHERE state = 'deleted' AND deleted_at <= :until AND (deleted_at, doc_id) > (:after_at, :after_id)
ORDER BY deleted_at, doc_id LIMIT :limit

-- name: purge
DELETE FROM documents WHERE doc_id = ? AND state = 'deleted'

-- name: counts
SELECT state, count(*) FROM documents GROUP BY state

-- name: drained
SELECT node FROM drained_nodes

-- name: drain
INSERT INTO drained_nodes (node, at) VALUES (?, ?) ON CONFLICT (node) DO NOTHING

-- name: undrain
DELETE FROM drained_nodes WHERE node = ?

-- name: slug_taken
SELECT 1 FROM documents WHERE slug = ? AND state <> 'deleted'

-- name: by_id
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role
FROM documents
WHERE doc_id = ? AND state = 'ready'

-- name: by_slug
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role
FROM documents
WHERE slug = ? AND state = 'ready'

-- name: page
SELECT doc_id, slug, title, state, created_at, updated_at, owner, expires_at, deleted_at,
  link_role, (
    SELECT group_concat(role, ' ') FROM members
    WHERE members.doc_id = documents.doc_id AND principal IN (:principal, :person)
  )
FROM documents
WHERE state = 'ready'
  AND (:all OR doc_id IN (SELECT doc_id FROM members WHERE principal IN (:principal, :person)))
  AND (instr(casefold(title), :query) > 0 OR instr(slug, :query) > 0)
  AND (updated_at, doc_id) < (:before_at, :before_id)
ORDER BY updated_at DESC, doc_id DESC LIMIT :limit

-- name: report
UPDATE documents SET title = iif(:title = '', title, :title), updated_at = max(updated_at, :at)
WHERE doc_id = :doc_id AND state = 'ready'

-- name: note_left
INSERT INTO readers (doc_id, person, last_left)
SELECT doc_id, :person, :at FROM documents WHERE doc_id = :doc_id
ON CONFLICT (person, doc_id) DO UPDATE SET last_left = max(last_left, excluded.last_left)

-- name: last_left
SELECT doc_id, last_left FROM readers WHERE person = ?

-- name: raise_epoch
INSERT INTO assignments (doc_id, epoch, actor, node, pid, started, at)
VALUES (:doc_id, max(1, :least), :actor, :node, :pid, :started, :at)
ON CONFLICT (doc_id) DO UPDATE
SET epoch = max(epoch + 1, :least), actor = :actor, node = :node, pid = :pid, started = :started,
    at = :at
RETURNING epoch

-- name: assignment
SELECT doc_id, epoch, actor, node, pid, started, sleeping_at FROM assignments WHERE doc_id = ?

-- name: held
SELECT doc_id, epoch, actor, node, pid, started, sleeping_at FROM assignments
WHERE actor IS NOT NULL

-- name: fall_asleep
UPDATE assignments SET sleeping_at = :gateway WHERE doc_id = :doc_id AND epoch = :epoch

-- name: hand_back
UPDATE assignments
SET actor = NULL, node = NULL, pid = NULL, started = NULL, sleeping_at = :sleeping_at, at = :at
WHERE doc_id = :doc_id AND epoch = :epoch

-- name: hand_back_all
UPDATE assignments
SET actor = NULL, node = NULL, pid = NULL, started = NULL, sleeping_at = NULL

-- name: add_token
INSERT INTO tokens (
  id, hash, name, person, principal, agent, scopes, created, expires,
  writes_per_minute, chars_per_hour, reads_per_minute, documents
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: token_by_hash
SELECT id, name, person, principal, agent, scopes, created, expires, last_used, revoked,
  documents, writes_per_minute, chars_per_hour, reads_per_minute
FROM tokens
WHERE hash = ?

-- name: token_by_id
SELECT id, name, person, principal, agent, scopes, created, expires, last_used, revoked,
  documents, writes_per_minute, chars_per_hour, reads_per_minute
FROM tokens
WHERE id = ?

-- name: tokens
SELECT id, name, person, principal, agent, scopes, created, expires, last_used, revoked,
  documents, writes_per_minute, chars_per_hour, reads_per_minute
FROM tokens
ORDER BY created, id

-- name: revoke_token
UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL

-- name: token_used
UPDATE tokens SET last_used = ? WHERE id = ?

-- name: note
INSERT INTO audit (at, who, what, about) VALUES (?, ?, ?, ?)

-- name: notes
SELECT at, who, what, about FROM audit ORDER BY seq DESC LIMIT ?

-- name: creation
SELECT arguments, doc_id, answer FROM creations WHERE principal = ? AND key = ?

-- name: add_creation
INSERT INTO creations (principal, key, arguments, doc_id, at) VALUES (?, ?, ?, ?, ?)

-- name: creation_done
UPDATE creations SET answer = ? WHERE doc_id = ?

-- name: drop_creations
DELETE FROM creations WHERE at < ? AND answer IS NOT NULL

-- name: set_member
INSERT INTO members (doc_id, principal, role, at, granted_by)
VALUES (:doc_id, :principal, :role, :at, :by)
ON CONFLICT (doc_id, principal) DO UPDATE SET role = :role, at = :at, granted_by = :by

-- name: remove_member
DELETE FROM members WHERE doc_id = :doc_id AND principal = :principal

-- name: roles
SELECT role FROM members WHERE doc_id = ? AND principal IN (?, ?)

-- name: owned
SELECT 1 FROM members WHERE doc_id = :doc_id AND role = 'owner' LIMIT 1

-- name: members
SELECT principal, role, at, granted_by FROM members WHERE doc_id = ? ORDER BY at, principal

-- name: set_link_role
UPDATE documents SET link_role = ? WHERE doc_id = ? AND state = 'ready'
