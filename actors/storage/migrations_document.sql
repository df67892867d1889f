-- Steps from each version of a document's file to the next; see actors/storage/migrations.py.

-- name: from_1
-- Version 2 knows how deep blocks have been nested, as a bound for what an update may reach. Of a
-- file without it nothing is known, so it starts where nothing is refused without a closer look.
INSERT INTO meta (key, value) VALUES ('depth', 100) ON CONFLICT (key) DO NOTHING;

-- name: from_2
-- Version 3 keeps what was spent of budgets; before, a document put away forgot it.
CREATE TABLE budgets (
  principal TEXT PRIMARY KEY,
  data      BLOB NOT NULL,
  at        INTEGER NOT NULL
) STRICT;
