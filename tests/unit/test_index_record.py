from __future__ import annotations

import pytest

from shared.index.record import Entry, Lately, Removed, SavedIndex, SpliceWriter
from shared.index.settlement import Known, Words
from shared.limits import MAX_REMEMBERED, REMEMBER_REMOVED_MS
from shared.tree import Hints


def entry(block_id: str, text: str = "words", attribute: str | None = None) -> Entry:
    look = Words.of(text).digest.hex()
    return Entry(Known(block_id, attribute, look, Words.of(text)), look)


def splice(at: int, *changes: int | tuple[Entry | None, Entry | None]) -> bytes:
    """Numbers are entries kept; pairs are (old, new)."""
    writer = SpliceWriter()
    for change in changes:
        if isinstance(change, int):
            writer.keep(change)
        else:
            writer.replace(*change)
    return writer.done(at)


def ids(saved: SavedIndex) -> list[str]:
    return [one.id for one in saved.entries]


A, B, C, D = (entry(name * 8, name, name * 8) for name in "abcd")


def test_splices_replace_put_in_and_take_out() -> None:
    seed = splice(1, (None, A), (None, B), (None, C))
    changed = entry("b" * 8, "other words")
    saved = SavedIndex.load(b"", [seed, splice(2, 1, (B, changed), (None, D), (C, None))])
    assert ids(saved) == ["a" * 8, "b" * 8, "d" * 8]
    assert saved.entries[1].fingerprint == changed.fingerprint
    assert [one.entry.id for one in saved.lately] == ["c" * 8]


def test_a_checkpoint_and_the_splices_after_it_are_the_same_as_all_splices() -> None:
    splices = [
        splice(1, (None, A), (None, B)),
        splice(2, (A, None)),
        splice(3, 1, (None, C)),
        splice(4, (B, None), 1, (None, A)),
    ]
    whole = SavedIndex.load(b"", splices)
    for cut in range(len(splices) + 1):
        checkpoint = SavedIndex.load(b"", splices[:cut]).dump()
        assert SavedIndex.load(checkpoint, splices[cut:]).dump() == whole.dump()


def test_an_entry_comes_back_with_hints_type_and_another_attribute() -> None:
    known = Known("a" * 8, "0b1c-uuid", "0" * 16, Words.of("x"))
    full = Entry(known, "f" * 16, Hints(loose=True, delimiter=")"), "orderedList")
    back = SavedIndex.load(SavedIndex([full]).dump(), []).entries[0]
    assert (back.id, back.known.attribute, back.known.look) == ("a" * 8, "0b1c-uuid", "0" * 16)
    assert (back.fingerprint, back.hints, back.type) == ("f" * 16, full.hints, "orderedList")
    assert back.known.words == Words(known.words.digest, None)


def test_a_blank_block_need_not_be_read_to_know_its_words() -> None:
    back = SavedIndex.load(SavedIndex([entry("a" * 8, "")]).dump(), []).entries[0]
    assert back.known.words.head == ""


def test_nothing_changed_is_no_splice() -> None:
    assert splice(1, 3) == b""
    assert splice(1, (A, A), 2) == b""


def test_a_lost_attribute_is_one_byte_a_block_beside_other_changes() -> None:
    blocks = [entry(f"{n:08}", str(n), f"{n:08}") for n in range(50)]
    bare = [entry(f"{n:08}", str(n)) for n in range(50)]
    pairs = list(zip(blocks, bare, strict=True))
    new = entry("newblock", "new")
    data = splice(1, *pairs[:20], (None, new), *pairs[20:40], (blocks[40], None), *pairs[41:])
    assert len(data) < 50 + 80
    saved = SavedIndex(blocks)
    saved.apply(data)
    assert [(one.id, one.known.attribute) for one in saved.entries] == [
        (one.id, None) for one in [*bare[:20], new, *bare[20:40], *bare[41:]]
    ]


def test_what_was_removed_long_ago_is_forgotten_while_the_log_is_replayed() -> None:
    splices = [splice(1, (None, A), (None, B)), splice(2, (A, None))]
    later = 2 + REMEMBER_REMOVED_MS
    assert "a" * 8 in SavedIndex.load(b"", [*splices, splice(later, 1, (None, C))]).lately
    assert "a" * 8 not in SavedIndex.load(b"", [*splices, splice(later + 1, 1, (None, C))]).lately


def test_an_id_that_is_back_is_no_longer_remembered() -> None:
    splices = [splice(1, (None, A)), splice(2, (A, None)), splice(3, (None, A))]
    assert list(SavedIndex.load(b"", splices).lately) == []


def test_the_latest_removed_comes_first_and_those_of_one_moment_in_their_order() -> None:
    same = [entry(f"{n:08}", "same") for n in range(4)]
    lately = Lately(Removed(at, one) for at, one in zip((1, 1, 2, 2), same, strict=True))
    found = lately.with_words(same[0].known.words.digest)
    assert [one.id for one in found] == [same[n].id for n in (2, 3, 0, 1)]


def test_no_more_is_remembered_than_a_large_document() -> None:
    lately = Lately(Removed(5, entry(f"{n:08}")) for n in range(MAX_REMEMBERED + 10))
    lately.forget(5)
    assert len(list(lately)) == MAX_REMEMBERED
    assert f"{9:08}" not in lately
    assert lately.get(f"{10:08}") is not None
    assert lately.get(f"{9:08}") is None


@pytest.mark.parametrize("value", ["v", "w"])
def test_removed_blocks_are_found_by_the_attribute_they_carried(value: str) -> None:
    lately = Lately([Removed(1, entry("a" * 8, "x", "v")), Removed(2, entry("b" * 8, "y", "w"))])
    assert [one.attribute for one in lately.with_attribute(value)] == [value]
    lately.discard("a" * 8)
    assert lately.with_attribute("v") == []
