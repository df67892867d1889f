"""Whether an update brings anything new, compared with applying it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Doc, Snapshot, Text

from shared.wire.y_protocol import EMPTY_UPDATE
from shared.yjs.read_only import adds_nothing

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "y_wire_vectors.json").read_text())


def answer(doc: Doc[Any], update: bytes) -> bool:
    vector = doc.get_state()
    return adds_nothing(update, vector, doc.get_update(vector))


def test_a_javascript_client_in_sync_brings_nothing() -> None:
    doc: Doc[Any] = Doc()
    doc.apply_update(bytes.fromhex(VECTORS["in_sync_step2"]["document"]))
    update = bytes.fromhex(VECTORS["in_sync_step2"]["update"])
    assert update != EMPTY_UPDATE
    assert answer(doc, update)


def test_a_client_that_knows_less_brings_nothing() -> None:
    doc: Doc[Any] = Doc()
    text = doc.get("text", type=Text)
    text += "abc"
    old = doc.get_update()
    text += "def"
    del text[1:3]
    assert answer(doc, old)
    assert answer(doc, doc.get_update())


def test_a_deletion_alone_is_something_new() -> None:
    doc: Doc[Any] = Doc()
    doc.get("text", type=Text).__iadd__("abcdef")
    other: Doc[Any] = Doc()
    other.apply_update(doc.get_update())
    before = other.get_state()
    del other.get("text", type=Text)[2:4]
    assert not answer(doc, other.get_update(before))


def test_what_is_no_update_raises() -> None:
    with pytest.raises(ValueError, match="Cannot diff"):
        answer(Doc(), b"\xff\xff")


EDITS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 4)), min_size=1, max_size=15
)


def edit(text: Text, edits: list[tuple[bool, int, int]]) -> None:
    for insert, at, size in edits:
        length = len(text)
        if insert or not length:
            text.insert(min(at, length), "x" * size)
        else:
            start = min(at, length - 1)
            del text[start : min(start + size, length)]


@given(EDITS, EDITS, st.booleans())
def test_it_says_what_applying_would_show(
    mine: list[tuple[bool, int, int]], theirs: list[tuple[bool, int, int]], synced: bool
) -> None:
    doc: Doc[Any] = Doc()
    edit(doc.get("text", type=Text), mine)
    other: Doc[Any] = Doc()
    other.apply_update(doc.get_update())
    edit(other.get("text", type=Text), theirs)
    if synced:
        doc.apply_update(other.get_update())
    update = other.get_update()
    said = answer(doc, update)
    before = Snapshot.from_doc(doc).encode()
    doc.apply_update(update)
    assert said == (Snapshot.from_doc(doc).encode() == before)
