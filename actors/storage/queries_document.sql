-- Statements of actors/storage/store.py on one document's file.

-- name: get_meta
SELECT key, value FROM meta

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: newest_checkpoint
SELECT seq, at, data, block_index, checksum FROM checkpoints ORDER BY seq DESC LIMIT 1

-- name: updates_after
SELECT seq, at, principal, via, data, splice, change_seq, checksum
FROM updates WHERE seq > ? ORDER BY seq

-- name: update_at_change
SELECT max(seq) FROM updates WHERE change_seq <= ?

-- name: checkpoint_before
SELECT seq, at, data, block_index, checksum FROM checkpoints WHERE seq <= ?
ORDER BY seq DESC LIMIT 1

-- name: updates_between
SELECT seq, at, principal, via, data, splice, change_seq, checksum
FROM updates WHERE seq > ? AND seq <= ? ORDER BY seq

-- name: first_update
SELECT min(seq) FROM updates

-- name: change_rows
SELECT seq, block_id, kind, principal, at FROM block_changes ORDER BY seq

-- name: principals
SELECT principal, name FROM principals

-- name: views
SELECT principal, data FROM views

-- name: answer
SELECT arguments, answer, at FROM answers WHERE principal = ? AND verb = ? AND key = ?

-- name: add_update
INSERT INTO updates (seq, at, principal, via, data, splice, change_seq, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_change
INSERT INTO block_changes (seq, block_id, kind, principal, at) VALUES (?, ?, ?, ?, ?)

-- name: drop_change
DELETE FROM block_changes WHERE seq = ?

-- name: trim_changes
DELETE FROM block_changes WHERE seq <= ?

-- name: set_principal
INSERT INTO principals (principal, name) VALUES (?, ?)
ON CONFLICT (principal) DO UPDATE SET name = excluded.name

-- name: set_view
INSERT INTO views (principal, data) VALUES (?, ?)
ON CONFLICT (principal) DO UPDATE SET data = excluded.data

-- name: add_answer
INSERT INTO answers (principal, verb, key, arguments, answer, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (principal, verb, key) DO UPDATE
SET arguments = excluded.arguments, answer = excluded.answer, at = excluded.at

-- name: drop_answers
DELETE FROM answers WHERE at < ?

-- name: budgets
SELECT principal, data FROM budgets

-- name: set_budget
INSERT INTO budgets (principal, data, at) VALUES (?, ?, ?)
ON CONFLICT (principal) DO UPDATE SET data = excluded.data, at = excluded.at

-- name: drop_budgets
DELETE FROM budgets WHERE at < ?

-- name: add_checkpoint
INSERT INTO checkpoints (seq, at, data, block_index, checksum) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (seq) DO UPDATE
SET at = excluded.at, data = excluded.data, block_index = excluded.block_index,
    checksum = excluded.checksum

-- name: checkpoints
SELECT seq, at FROM checkpoints ORDER BY seq

-- name: drop_checkpoint
DELETE FROM checkpoints WHERE seq = ?

-- name: drop_updates
DELETE FROM updates WHERE seq <= ?
