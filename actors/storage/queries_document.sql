-- Statements of actors/storage/store.py on one document's file.

-- name: get_meta
SELECT key, value FROM meta

-- name: set_meta
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: newest_checkpoint
SELECT seq, at, data, block_index, checksum FROM checkpoints ORDER BY seq DESC LIMIT 1

-- name: updates_after
SELECT seq, at, principal, via, data, splice, change_seq, merged, checksum
FROM updates WHERE seq > ? ORDER BY seq

-- name: update_at_change
SELECT seq, change_seq FROM updates WHERE change_seq <= ? ORDER BY seq DESC LIMIT 1

-- name: checkpoint_before
SELECT seq, at, data, block_index, checksum FROM checkpoints WHERE seq <= ?
ORDER BY seq DESC LIMIT 1

-- name: checkpoint_at_time
SELECT max(seq) FROM checkpoints WHERE at <= ?

-- name: update_range
SELECT min(seq), max(seq) FROM updates

-- name: update_from
SELECT seq, at FROM updates WHERE seq >= ? ORDER BY seq LIMIT 1

-- name: updates_between
SELECT seq, at, principal, via, data, splice, change_seq, merged, checksum
FROM updates WHERE seq > ? AND seq <= ? ORDER BY seq

-- name: first_update
SELECT min(seq - merged + 1) FROM updates WHERE seq = (SELECT min(seq) FROM updates)

-- name: update_after
SELECT seq, change_seq, merged FROM updates WHERE seq > ? ORDER BY seq LIMIT 1

-- name: newest_version
SELECT number, seq, at, change_seq, kind, principal, name, source FROM versions
ORDER BY number DESC LIMIT 1

-- name: versions_before
SELECT number, seq, at, change_seq, kind, principal, name, source FROM versions
WHERE number < ? ORDER BY number DESC LIMIT ?

-- name: version_by_number
SELECT number, seq, at, change_seq, kind, principal, name, source FROM versions WHERE number = ?

-- name: version_by_name
SELECT number, seq, at, change_seq, kind, principal, name, source FROM versions WHERE name = ?

-- name: add_author
INSERT INTO authors (seq, principal, via, kind, client, clock_from, clock_to, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_version
INSERT INTO versions (number, seq, at, change_seq, kind, principal, name, source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (number) DO UPDATE SET name = excluded.name, principal = excluded.principal

-- name: change_rows
SELECT seq, block_id, kind, principal, at FROM block_changes ORDER BY seq

-- name: principals
SELECT principal, name FROM principals

-- name: views
SELECT principal, data FROM views

-- name: answer
SELECT arguments, answer, at FROM answers WHERE principal = ? AND verb = ? AND key = ?

-- name: add_update
INSERT INTO updates (seq, at, principal, via, data, splice, change_seq, checksum, merged)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

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

-- name: readers
SELECT person, last_left, seen_until FROM readers

-- name: set_reader
INSERT INTO readers (person, last_left, seen_until) VALUES (?, ?, ?)
ON CONFLICT (person) DO UPDATE
SET last_left = excluded.last_left, seen_until = excluded.seen_until

-- name: people
SELECT principal, person FROM people

-- name: set_person
INSERT INTO people (principal, person) VALUES (?, ?)
ON CONFLICT (principal) DO UPDATE SET person = excluded.person

-- name: who_changed_since
SELECT principal FROM (
  SELECT principal, at FROM updates WHERE at > :since AND via <> 'repair'
  UNION ALL
  SELECT principal, at FROM authors WHERE at > :since AND via <> 'repair'
) GROUP BY principal ORDER BY min(at), principal

-- name: versions_since
SELECT count(*) FROM versions WHERE at > ?

-- name: updates_to_merge
SELECT seq, at, principal, via, data, splice, change_seq, merged, checksum FROM updates
WHERE seq > ? AND at < ? AND seq <= (SELECT max(seq) FROM checkpoints) ORDER BY seq LIMIT ?

-- name: seqs_to_keep
SELECT seq FROM versions WHERE seq > ?1 UNION SELECT seq FROM checkpoints WHERE seq > ?1

-- name: drop_merged
DELETE FROM updates WHERE seq BETWEEN ? AND ?

-- name: all_versions
SELECT number, seq, at, change_seq, kind, principal, name, source FROM versions ORDER BY number

-- name: drop_version
DELETE FROM versions WHERE number = ?

-- name: threads
SELECT thread_id, change_seq, section_id, principal, at, quote, place, resolved, changed_by
FROM threads ORDER BY rowid

-- name: set_thread
INSERT INTO threads (thread_id, change_seq, section_id, principal, at, quote, place, resolved,
  changed_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread_id) DO UPDATE SET change_seq = excluded.change_seq,
  section_id = excluded.section_id, place = excluded.place, resolved = excluded.resolved,
  changed_by = excluded.changed_by

-- name: messages
SELECT message_id, thread_id, change_seq, seq, principal, at, text, person, agent, edited_at,
  deleted
FROM messages ORDER BY seq

-- name: set_message
INSERT INTO messages (message_id, thread_id, change_seq, seq, principal, at, text, person, agent,
  edited_at, deleted)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (message_id) DO UPDATE SET change_seq = excluded.change_seq, text = excluded.text,
  edited_at = excluded.edited_at, deleted = excluded.deleted

-- name: suggestions
SELECT suggestion_id, group_id, change_seq, principal, at, status, data
FROM suggestions ORDER BY rowid

-- name: set_suggestion
INSERT INTO suggestions (suggestion_id, group_id, change_seq, principal, at, status, data)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (suggestion_id) DO UPDATE SET change_seq = excluded.change_seq,
  status = excluded.status, data = excluded.data

-- name: events
SELECT seq, at, type, principal, addressee, data FROM events ORDER BY seq

-- name: add_event
INSERT INTO events (seq, at, type, principal, addressee, data) VALUES (?, ?, ?, ?, ?, ?)

-- name: drop_events
DELETE FROM events WHERE seq <= ?

-- name: digests
SELECT principal, until, data, mentioned FROM digests ORDER BY rowid

-- name: set_digest
INSERT INTO digests (principal, until, data, mentioned) VALUES (?, ?, ?, ?)
ON CONFLICT (principal) DO UPDATE SET until = excluded.until, data = excluded.data,
  mentioned = excluded.mentioned

-- name: roster
SELECT principal, name, status, joined_at, present_until FROM roster ORDER BY rowid

-- name: set_agent
INSERT INTO roster (principal, name, status, joined_at, present_until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (principal) DO UPDATE SET name = excluded.name, status = excluded.status,
  joined_at = excluded.joined_at, present_until = excluded.present_until

-- name: drop_agent
DELETE FROM roster WHERE principal = ?
