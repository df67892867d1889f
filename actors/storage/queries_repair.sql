-- Statements of actors/storage/file_content.py and actors/upkeep/repair.py on a private copy of a document's file.
-- Tables are read from both ends, because what lies behind a damaged page is reached from the back.

-- name: meta_forwards
SELECT key, value
FROM meta ORDER BY rowid

-- name: meta_backwards
SELECT key, value
FROM meta ORDER BY rowid DESC

-- name: updates_forwards
SELECT seq, at, principal, via, data, splice, change_seq, merged, checksum
FROM updates ORDER BY seq

-- name: updates_backwards
SELECT seq, at, principal, via, data, splice, change_seq, merged, checksum
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

-- name: versions_forwards
SELECT number, seq, at, change_seq, kind, principal, name, source
FROM versions ORDER BY rowid

-- name: versions_backwards
SELECT number, seq, at, change_seq, kind, principal, name, source
FROM versions ORDER BY rowid DESC

-- name: authors_forwards
SELECT seq, principal, via, kind, client, clock_from, clock_to, at
FROM authors ORDER BY rowid

-- name: authors_backwards
SELECT seq, principal, via, kind, client, clock_from, clock_to, at
FROM authors ORDER BY rowid DESC

-- name: readers_forwards
SELECT person, last_left, seen_until
FROM readers ORDER BY rowid

-- name: readers_backwards
SELECT person, last_left, seen_until
FROM readers ORDER BY rowid DESC

-- name: people_forwards
SELECT principal, person
FROM people ORDER BY rowid

-- name: people_backwards
SELECT principal, person
FROM people ORDER BY rowid DESC

-- name: threads_forwards
SELECT thread_id, change_seq, section_id, principal, at, quote, place, resolved, changed_by
FROM threads ORDER BY rowid

-- name: threads_backwards
SELECT thread_id, change_seq, section_id, principal, at, quote, place, resolved, changed_by
FROM threads ORDER BY rowid DESC

-- name: messages_forwards
SELECT message_id, thread_id, change_seq, seq, principal, at, text, person, agent, edited_at,
  deleted
FROM messages ORDER BY rowid

-- name: messages_backwards
SELECT message_id, thread_id, change_seq, seq, principal, at, text, person, agent, edited_at,
  deleted
FROM messages ORDER BY rowid DESC

-- name: suggestions_forwards
SELECT suggestion_id, group_id, change_seq, principal, at, status, data
FROM suggestions ORDER BY rowid

-- name: suggestions_backwards
SELECT suggestion_id, group_id, change_seq, principal, at, status, data
FROM suggestions ORDER BY rowid DESC

-- name: events_forwards
SELECT seq, at, type, principal, addressee, data
FROM events ORDER BY rowid

-- name: events_backwards
SELECT seq, at, type, principal, addressee, data
FROM events ORDER BY rowid DESC

-- name: digests_forwards
SELECT principal, until, data, mentioned
FROM digests ORDER BY rowid

-- name: digests_backwards
SELECT principal, until, data, mentioned
FROM digests ORDER BY rowid DESC

-- name: roster_forwards
SELECT principal, name, status, joined_at, present_until
FROM roster ORDER BY rowid

-- name: roster_backwards
SELECT principal, name, status, joined_at, present_until
FROM roster ORDER BY rowid DESC
