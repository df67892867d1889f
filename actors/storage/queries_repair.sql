-- Statements of actors/storage/file_content.py and actors/upkeep/repair.py on a private copy of a document's file.
-- Tables are read from both ends, because what lies behind a damaged page is reached from the back.

-- name: meta_forwards
SELECT key, value
FROM meta ORDER BY rowid

-- name: meta_backwards
SELECT key, value
FROM meta ORDER BY rowid DESC

-- name: updates_forwards
SELECT seq, at, principal, via, data, splice, change_seq, checksum
FROM updates ORDER BY seq

-- name: updates_backwards
SELECT seq, at, principal, via, data, splice, change_seq, checksum
FROM updates ORDER BY seq DESC

-- name: checkpoints_forwards
SELECT seq, at, data, block_index, checksum
FROM checkpoints ORDER BY seq

-- name: checkpoints_backwards
SELECT seq, at, data, block_index, checksum
FROM checkpoints ORDER BY seq DESC

-- name: block_changes_forwards
SELECT seq, block_id, kind, principal, at
FROM block_changes ORDER BY seq

-- name: block_changes_backwards
SELECT seq, block_id, kind, principal, at
FROM block_changes ORDER BY seq DESC

-- name: principals_forwards
SELECT principal, name
FROM principals ORDER BY rowid

-- name: principals_backwards
SELECT principal, name
FROM principals ORDER BY rowid DESC

-- name: views_forwards
SELECT principal, data
FROM views ORDER BY rowid

-- name: views_backwards
SELECT principal, data
FROM views ORDER BY rowid DESC

-- name: answers_forwards
SELECT principal, verb, key, arguments, answer, at
FROM answers ORDER BY rowid

-- name: answers_backwards
SELECT principal, verb, key, arguments, answer, at
FROM answers ORDER BY rowid DESC

-- name: budgets_forwards
SELECT principal, data, at
FROM budgets ORDER BY rowid

-- name: budgets_backwards
SELECT principal, data, at
FROM budgets ORDER BY rowid DESC
