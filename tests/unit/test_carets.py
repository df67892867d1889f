"""Blocks in which somebody's caret stands are not moved from under it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.document.live_document import ROOT
from shared.errors import Busy
from shared.yjs.carets import Caret, Id, carets_in, positions
from shared.yjs.update import texts
from tests.unit.documents import ANN, SCRIBE, Bench, anchors

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\n- deep words\n\nLast words.\n"


def state_of(caret: dict[str, Any]) -> bytes:
    """As y-prosemirror tells others."""
    return json.dumps(
        {"user": {"name": "Ann"}, "cursor": {"anchor": caret, "head": caret}}
    ).encode()


def caret_in(bench: Bench, words: str, offset: int = 1) -> bytes:
    found = texts(bench.document.diff(b"\0"))
    (client, clock, text) = next(one for one in found if words in one[2])
    item = {"client": client, "clock": clock + text.index(words) + offset}
    return state_of({"type": None, "tname": None, "item": item, "assoc": 0})


def present(bench: Bench, *states: tuple[str, bytes]) -> None:
    bench.document.on_presence(lambda: states)


def places(bench: Bench, *states: bytes) -> frozenset[int]:
    return positions(bench.document.diff(b"\0"), ROOT, carets_in(states))


async def test_a_caret_is_found_in_its_block_however_deep() -> None:
    bench = await Bench.of(TEXT)
    for words, place in (("Plan", 0), ("First", 1), ("deep", 2), ("Last", 3)):
        assert places(bench, caret_in(bench, words)) == {place}
    assert places(bench, *(caret_in(bench, words) for words in ("Plan", "Last"))) == {0, 3}


async def test_a_caret_between_the_halves_of_an_emoji_is_in_its_block_too() -> None:
    bench = await Bench.of("One.\n\n📊😀📊 two.\n\nThree.\n")
    for offset in range(6):
        at = caret_in(bench, "📊😀📊", offset)
        assert places(bench, at, caret_in(bench, "Three")) == {1, 2}


async def test_carets_of_what_is_not_there_are_nowhere_and_hide_no_other() -> None:
    bench = await Bench.of(TEXT)
    gone = caret_in(bench, "First")
    await bench.erase(1)
    unknown = state_of({"item": {"client": 5, "clock": 7}, "type": {"client": 5, "clock": 1}})
    assert places(bench, gone, unknown, caret_in(bench, "Last")) == {2}


@pytest.mark.parametrize(
    "state",
    [
        b"{}",
        b"[]",
        b"null",
        b"nonsense",
        b'{"cursor": null}',
        b'{"cursor": {"anchor": 5, "head": {"item": "x"}}}',
        b'{"cursor": {"anchor": {"item": {"client": "1", "clock": 2}}}}',
        b'{"cursor": {"anchor": {"item": {"client": -1, "clock": 2}}}}',
        b'{"cursor": {"anchor": {"item": {"client": 1, "clock": 18446744073709551616}}}}',
    ],
)
def test_states_without_a_caret_have_none(state: bytes) -> None:
    assert carets_in([state]) == frozenset()


def test_carets_of_other_bindings_are_found_too() -> None:
    at = {"item": {"client": 1, "clock": 2}}
    for state in ({"anchorPos": at, "focusPos": at}, {"selection": {"start": at}}):
        assert carets_in([json.dumps(state).encode()]) == {Caret(Id(1, 2))}


async def test_a_block_with_a_live_caret_does_not_move_and_the_other_does() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    present(bench, (ANN.principal, caret_in(bench, "First")))
    result = await bench.move(old[1], old[2])  # they change places
    assert [block.anchor for block in result.blocks] == [old[2]]
    with pytest.raises(Busy):
        await bench.move(old[1], "start")


async def test_a_caret_in_everything_that_could_move_makes_it_busy() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    both = [(ANN.principal, caret_in(bench, words)) for words in ("First", "deep")]
    present(bench, *both)
    with pytest.raises(Busy):
        await bench.move(old[1], old[2])
    present(bench)
    assert (await bench.move(old[1], old[2])).moved == 1


async def test_ones_own_caret_holds_nothing() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    present(bench, (SCRIBE.principal, caret_in(bench, "First")))
    result = await bench.move(old[1], old[2])
    assert [block.anchor for block in result.blocks] == [old[1]]


async def test_a_patch_moves_the_block_without_a_caret() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    present(bench, (ANN.principal, caret_in(bench, "Last")))
    swapped = "# Plan\n\nLast words.\n\nFirst words.\n\n- deep words\n"
    result = await bench.patch(swapped, base=read.cursor)
    assert await bench.markdown() == swapped
    assert {block.anchor for block in result.blocks} == set(anchors(read)[1:3])


async def test_what_moves_nothing_asks_for_no_caret(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await Bench.of(TEXT)
    present(bench, (ANN.principal, caret_in(bench, "First")))
    monkeypatch.setattr("actors.document.planning.positions", None)
    read = await bench.read()
    await bench.patch(TEXT.replace("First", "1st"), base=read.cursor)
    await bench.insert("More.")
    assert "1st words." in await bench.markdown()
