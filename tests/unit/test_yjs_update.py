"""Gaps and leftovers are found by reading an update, as Yjs encodes it, without applying it."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import (
    Array,
    Doc,
    Map,
    Text,
    XmlElement,
    XmlFragment,
    XmlText,
    get_update,
    merge_updates,
)

from shared.yjs.update import (
    MalformedUpdateError,
    decode_state_vector,
    ends,
    growth,
    has_gap,
    leaves_over,
)


def typed_history(rng: random.Random, steps: int = 40) -> list[bytes]:
    """The updates of one client that uses every kind of content a document can hold."""
    doc: Doc[Any] = Doc()
    sent: list[bytes] = []
    subscription = doc.observe(lambda event: sent.append(event.update))
    root = doc.get("default", type=XmlFragment)
    other = doc.get("other", type=Map)
    for step in range(steps):
        act = rng.randrange(6)
        blocks = len(root.children)
        if act < 2 or not blocks:
            attributes: Any = {"id": "é📊", "level": 2, "wide": [1, 2.5, None, True, {"a": "b"}]}
            child = XmlText("A📊B e\u0301")
            root.children.insert(rng.randrange(blocks + 1), XmlElement("p", attributes, [child]))
        elif act == 2:
            block = root.children[rng.randrange(blocks)]
            assert isinstance(block, XmlElement)
            text = block.children[0]
            assert isinstance(text, XmlText)
            text.insert(0, "日本語" * rng.randrange(1, 4), {"bold": {}})
        elif act == 3:
            del root.children[rng.randrange(blocks)]
        elif act == 4:
            other[f"k{step}"] = rng.choice([1, -(2**40), 0.1, b"bin", "s", [1, {"x": []}], None])
        else:
            other[f"t{step}"] = rng.choice([Text("x"), Array([1, b"2"]), Map({"a": 1}), Doc()])
    subscription.drop()
    return sent


@given(st.randoms(use_true_random=False))
def test_an_update_in_order_has_no_gap_and_ends_where_the_document_is(rng: random.Random) -> None:
    server: Doc[XmlFragment] = Doc()
    clocks: dict[int, int] = {}
    for update in typed_history(rng):
        assert not has_gap(update, clocks)
        server.apply_update(update)
        assert not leaves_over(get_update(update, server.get_state()), clocks | ends(update))
        clocks |= ends(update)
        assert clocks == decode_state_vector(server.get_state())


@given(st.randoms(use_true_random=False))
def test_a_missing_update_of_the_sender_is_a_gap(rng: random.Random) -> None:
    sent = [update for update in typed_history(rng) if ends(update)]
    missing = rng.randrange(len(sent) - 1)
    clocks: dict[int, int] = {}
    for update in sent[:missing]:
        clocks |= ends(update)
    assert has_gap(sent[missing + 1], clocks)
    with_hole = merge_updates(*sent[:missing], *sent[missing + 1 :])
    assert has_gap(with_hole, clocks)
    assert not has_gap(merge_updates(*sent), clocks)


@given(st.randoms(use_true_random=False))
def test_several_clients_are_judged_each_by_its_own_clock(rng: random.Random) -> None:
    one, two = typed_history(rng, 10), typed_history(rng, 10)
    both = merge_updates(*one, *two)
    assert not has_gap(both, {})
    assert has_gap(merge_updates(*one, *two[1:]), {}) == bool(ends(two[0]))


def test_what_waits_for_another_client_is_left_over() -> None:
    ann: Doc[XmlFragment] = Doc()
    bob: Doc[XmlFragment] = Doc()
    first = ann.get("default", type=XmlFragment)
    first.children.append(XmlText("base"))
    bob.apply_update(ann.get_update())
    before = bob.get_state()
    text = bob.get("default", type=XmlFragment).children[0]
    assert isinstance(text, XmlText)
    text.insert(4, "!")
    update = bob.get_update(before)
    server: Doc[XmlFragment] = Doc()
    assert not has_gap(update, {})
    server.apply_update(update)
    assert leaves_over(get_update(update, server.get_state()), {})


def test_deleting_what_nobody_has_yet_is_left_over() -> None:
    ann: Doc[XmlFragment] = Doc()
    root = ann.get("default", type=XmlFragment)
    root.children.append(XmlText("base"))
    before = ann.get_state()
    del root.children[0]
    update = ann.get_update(before)
    server: Doc[XmlFragment] = Doc()
    server.apply_update(update)
    assert leaves_over(get_update(update, server.get_state()), {})
    assert not leaves_over(
        get_update(update, ann.get_state()), decode_state_vector(ann.get_state())
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedUpdateError):
        assert has_gap(data, {}) in (True, False)
    with contextlib.suppress(MalformedUpdateError):
        assert leaves_over(data, {}) in (True, False)


def test_a_truncated_update_is_refused_or_still_no_gap() -> None:
    whole = typed_history(random.Random(1))[0]
    for size in range(len(whole)):
        try:
            has_gap(whole[:size], {})
        except MalformedUpdateError:
            continue
    with pytest.raises(MalformedUpdateError):
        has_gap(b"\x02\x01" + b"\xff" * 11, {})


def nested(depth: int) -> XmlElement:
    inner = XmlElement("p", {}, [XmlText("x")])
    for _ in range(depth - 2):
        inner = XmlElement("q", {}, [inner])
    return inner


@given(st.integers(2, 30), st.integers(1, 5))
def test_growth_counts_elements_and_their_nesting(depth: int, times: int) -> None:
    doc: Doc[XmlFragment] = Doc()
    root = doc.get("default", type=XmlFragment)
    with doc.transaction():
        for _ in range(times):
            root.children.append(nested(depth))
    assert growth(doc.get_update()) == (depth * times, depth)


def test_nesting_across_clients_is_seen_whichever_is_listed_first() -> None:
    ann: Doc[XmlFragment] = Doc(client_id=1)
    bob: Doc[XmlFragment] = Doc(client_id=2)
    ann.get("default", type=XmlFragment).children.append(XmlElement("q", {}, []))
    place: Any = ann.get("default", type=XmlFragment).children[0]
    for turn in range(10):
        mine, other = (bob, ann) if turn % 2 == 0 else (ann, bob)
        mine.apply_update(other.get_update(mine.get_state()))
        place = mine.get("default", type=XmlFragment).children[0]
        while len(place.children):
            place = place.children[0]
        place.children.append(XmlElement("q", {}, []))
    bob.apply_update(ann.get_update(bob.get_state()))
    assert growth(bob.get_update()) == (11, 11)


@given(st.binary(max_size=200))
def test_growth_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedUpdateError):
        assert growth(data) >= (0, 0)
