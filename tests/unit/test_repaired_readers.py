"""A repaired file still knows when people left, and whose agents were at work."""

from __future__ import annotations

from actors.storage.file_content import FileContent, read_content
from actors.upkeep.repair import _built
from shared.stored import StoredReader


def test_readers_and_people_are_carried_over() -> None:
    readers = (StoredReader("person:ann", 5, 9), StoredReader("person:bob"))
    content = FileContent({"doc_id": "x"}, readers=readers, people={"agent:ann:Bot": "person:ann"})
    with _built(content) as db:
        again = read_content(db)
    assert (again.readers, again.people) == (readers, {"agent:ann:Bot": "person:ann"})
    assert again.unreadable == ()
