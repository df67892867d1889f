"""Whether the catalog and the documents' files are of the same documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.checkup import CATALOG, Checkup, Problem
from shared.directory_protocol import DocumentState


def checked_catalog(
    states: Mapping[str, DocumentState],
    files: Iterable[str],
    broken: Iterable[str] = (),
    *,
    running: bool = False,
) -> Checkup:
    """What does not go together.

    Args:
        states: Every row of the catalog, by document.
        files: The documents there is a file of.
        broken: What SQLite says of the catalog's own file.
        running: A server runs, so documents may be on their way: those being created are fine.
    """
    there = frozenset(files)
    problems = [Problem("integrity", f"SQLite: {text}.") for text in broken]
    for doc_id, state in sorted(states.items()):
        if state == "ready" and doc_id not in there:
            problems.append(Problem("file_missing", f"Document {doc_id} has no file."))
        elif state == "creating" and not running:
            text = f"The creation of document {doc_id} did not finish."
            problems.append(Problem("creating_left", text))
    for doc_id in sorted(there - states.keys()):
        text = f"The file of document {doc_id} is not in the catalog."
        problems.append(Problem("row_missing", text))
    return Checkup(CATALOG, tuple(problems))
