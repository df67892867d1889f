"""The checks of one document's file: every stored byte, and what all of it together says."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from actors.storage.checkpointing import fits
from actors.storage.file_content import FileContent, read_content
from actors.storage.migrations import DOCUMENT, NewerSchemaError, NoSchemaError
from actors.upkeep.walk import Walk
from shared.checkup import Checkup, Problem
from shared.errors import DocumentCorrupt
from shared.feed.block_changes import Row
from shared.index.block_index import SavedIndex
from shared.limits import MAX_PROBLEMS
from shared.yjs.foreign import foreign_children

META: Final[dict[str, type]] = {
    "doc_id": str,
    "epoch": int,
    "secret": bytes,
    "update_seq": int,
    "head": int,
    "floor": int,
    "at": int,
    "depth": int,
}


def examine(copy: sqlite3.Connection, doc_id: str) -> Checkup:
    """Checks a private copy of a file; closes it. Never raises for what is in it."""
    try:
        return _examine(copy, doc_id)
    except NewerSchemaError as error:
        text = f"The file has schema {error.args[0]}; this version knows {DOCUMENT.version}."
        return Checkup(doc_id, (Problem("newer_schema", text),))
    except NoSchemaError:
        return Checkup(doc_id, (Problem("unreadable", "The file is empty."),))
    except sqlite3.DatabaseError as error:
        return Checkup(doc_id, (Problem("unreadable", f"The file cannot be read: {error}."),))
    finally:
        copy.close()


def _examine(copy: sqlite3.Connection, doc_id: str) -> Checkup:
    broken = integrity(copy)
    DOCUMENT.migrate(copy)
    return examine_content(read_content(copy), doc_id, broken)


def examine_content(content: FileContent, doc_id: str, broken: Sequence[Problem] = ()) -> Checkup:
    """Checks what was read of a file; `broken` is what is known to be wrong with it already."""
    walk = Walk(content)
    problems = [
        *broken,
        *(Problem("unreadable", f"Table {t} cannot be read whole.") for t in content.unreadable),
        *meta_problems(content, doc_id),
        *walk.breaks,
        *(walk.bad[seq] for seq in sorted(walk.bad)),
        *_behind(walk, content),
    ]
    if walk.whole:
        problems += state_problems(content, walk)
    blocks = len(walk.replay.fragment.children)
    return Checkup(
        doc_id, shortened(problems), len(content.updates), len(content.checkpoints), blocks
    )


def integrity(db: sqlite3.Connection) -> list[Problem]:
    """What SQLite says of the file's pages. Raises sqlite3.DatabaseError."""
    found = [str(row[0]) for row in db.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})")]
    found += [
        f"a row of {row[0]} refers to nothing" for row in db.execute("PRAGMA foreign_key_check")
    ]
    return [Problem("integrity", f"SQLite: {text}.") for text in found if text != "ok"]


def meta_problems(content: FileContent, doc_id: str) -> list[Problem]:
    """Entries of `meta` that are missing or of another type, and another document's file."""
    wrong = [key for key, kind in META.items() if not isinstance(content.meta.get(key), kind)]
    problems = [Problem("meta", f"The entry {key!r} of meta is missing.") for key in wrong]
    named = content.meta.get("doc_id")
    if "doc_id" not in wrong and named != doc_id:
        problems.append(Problem("meta", f"The file is that of document {named}."))
    return problems


def state_problems(content: FileContent, walk: Walk) -> list[Problem]:
    """What is wrong with the newest state, its index and its change feed."""
    fragment = walk.replay.fragment
    with fragment.doc.transaction():
        foreign = foreign_children(fragment)
    if foreign:
        text = f"The root holds {len(foreign)} runs of content that is no block."
        return [Problem("foreign_children", text)]
    try:
        index = stored_index(walk)
    except DocumentCorrupt as error:
        return [Problem("index_misfit", f"{error.message}.")]
    if not fits(fragment, index.entries):
        return [Problem("index_misfit", "The block index does not fit the document.")]
    present = [entry.id for entry in index.entries]
    return [Problem("change_rows", text) for text in row_problems(content, present)]


def stored_index(walk: Walk) -> SavedIndex:
    """The index as a load reads it. Raises DocumentCorrupt."""
    newest = walk.newest
    after = newest.seq if newest else 0
    splices = [update.splice for update in walk.kept if update.seq > after]
    return SavedIndex.load(newest.block_index if newest else b"", splices)


def row_problems(content: FileContent, present: Sequence[str]) -> list[str]:
    """What in the change feed cannot have happened, given the blocks that are there."""
    head: Any = content.meta.get("head")
    floor: Any = content.meta.get("floor")
    found = []
    numbers = [row.seq for row in content.rows]
    known = isinstance(head, int) and isinstance(floor, int) and bool(numbers)
    if known and not floor < min(numbers) <= max(numbers) <= head:
        found.append(f"Change rows are numbered outside {floor + 1} to {head}.")
    if content.updates and max(content.updates[-1].change_seq, content.annotations.highest) != head:
        found.append("The last update and the change feed end at different numbers.")
    histories: dict[str, list[Row]] = {}
    for row in content.rows:
        histories.setdefault(row.block_id, []).append(row)
    there = set(present)
    for block_id, rows in histories.items():
        if not _plausible(rows, there=block_id in there):
            found.append(f"The change rows of block {block_id} cannot have happened.")
    return found


def _plausible(rows: Sequence[Row], *, there: bool) -> bool:
    """A block comes, changes and goes in turn, and at the end is where the document has it."""
    now: bool | None = None  # not known: older rows may have been dropped
    for row in rows:
        if (row.kind == "added" and now is True) or (row.kind != "added" and now is False):
            return False
        now = row.kind != "removed"
    return now is there


def _behind(walk: Walk, content: FileContent) -> list[Problem]:
    """Damaged updates that the walk did not come to."""
    told = {problem.text for problem in walk.breaks}
    texts = [f"Update {seq} is damaged." for seq in sorted(content.damaged_updates)]
    return [Problem("update_damaged", text) for text in texts if text not in told]


def shortened(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """No more than a person reads; the last one says how many more there are."""
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    more = len(problems) - MAX_PROBLEMS
    last = problems[MAX_PROBLEMS]
    return (*problems[:MAX_PROBLEMS], Problem(last.code, f"And {more} more problems."))
