"""Moving a block or a section: where it goes, what goes with it, what is refused."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import (
    BaseRequired,
    Busy,
    InvalidArgument,
    StaleAnchor,
    StaleBlock,
)
from shared.ids import BlockRef, text_hash
from shared.patch.move import plan_move
from shared.patch.types import NOTHING_SEEN, Plan, Seen, apply_to_list
from shared.protocol import OnConflict, Place, WriteOptions
from tests.unit.patch_world import Doc, after, block_id, doc, ids, ops, present, saw

NOW = doc(
    t="# Title", a="## A", b="text of a", c="## B", d="### B1", e="text of b1", f="## C", g="end"
)


def at(name: str) -> BlockRef:
    return BlockRef(block_id(name), text_hash(dict(NOW)[block_id(name)]))


def bare(name: str) -> BlockRef:
    return BlockRef(block_id(name))


def move(
    block: BlockRef,
    after_: Place,
    *,
    now: Doc = NOW,
    section: bool = False,
    seen: Seen = NOTHING_SEEN,
    on_conflict: OnConflict | None = None,
    pinned: str = "",
) -> Plan:
    return plan_move(
        present(now),
        block,
        after_,
        seen,
        section=section,
        options=WriteOptions(on_conflict=on_conflict),
        pinned={block_id(name) for name in pinned},
    )


def order(plan: Plan, now: Doc = NOW) -> str:
    return "".join(i.rstrip("0") for i in ids(after(now, plan)))


@pytest.mark.parametrize(
    "block, place, result",
    [
        ("b", "g", "tacdefgb"),
        ("g", "t", "tgabcdef"),
        ("c", "start", "ctabdefg"),
        ("t", "end", "abcdefgt"),
        ("b", "a", "tabcdefg"),
        ("b", "b", "tabcdefg"),
    ],
)
def test_a_block_goes_right_behind_another(block: str, place: str, result: str) -> None:
    to: Place = "start" if place == "start" else "end" if place == "end" else at(place)
    plan = move(at(block), to)
    assert order(plan) == result
    assert (plan.moved, plan.charged) == (int(result != "tabcdefg"), 0)


@pytest.mark.parametrize(
    "block, place, result",
    [
        ("c", "start", "cdetabfg"),
        ("a", "end", "tcdefgab"),
        ("a", "e", "tcdeabfg"),
        ("c", "b", "tabcdefg"),
        ("f", "t", "tfgabcde"),
    ],
)
def test_a_section_goes_with_everything_under_it(block: str, place: str, result: str) -> None:
    to: Place = "start" if place == "start" else "end" if place == "end" else at(place)
    assert order(move(at(block), to, section=True)) == result


def test_a_heading_moved_as_a_block_goes_alone() -> None:
    assert order(move(at("c"), at("g"))) == "tabdefgc"


@pytest.mark.parametrize(
    "block, place, result",
    [
        ("f", "a", "tabfgcde"),
        ("a", "c", "tcdeabfg"),
        ("a", "f", "tcdefgab"),
        ("d", "c", "tabcdefg"),
    ],
)
def test_a_section_never_takes_over_the_text_of_another_heading(
    block: str, place: str, result: str
) -> None:
    assert order(move(at(block), at(place), section=True)) == result


def test_a_section_does_not_go_into_itself() -> None:
    for inside in ("c", "d"):
        with pytest.raises(InvalidArgument, match=r"^after: "):
            move(at("c"), at(inside), section=True)
    assert move(at("c"), at("e"), section=True) == Plan()


def test_empty_paragraphs_at_the_end_stay_there() -> None:
    now = [*NOW, *doc(x="&nbsp;")]
    assert order(move(at("a"), "end", now=now, section=True), now) == "tcdefgabx"
    assert order(move(at("f"), "start", now=now, section=True), now) == "fgtabcdex"
    assert move(at("f"), "end", now=now, section=True) == Plan()


def test_the_start_is_behind_front_matter() -> None:
    now = [*doc(m="---\ntitle: T\n---"), *NOW]
    assert order(move(at("g"), "start", now=now), now) == "mgtabcdef"


def test_what_is_not_known_by_its_author_is_not_moved() -> None:
    with pytest.raises(BaseRequired) as refused:
        move(bare("b"), "end")
    assert refused.value.data["unseen"][0]["text"] == "text of a"
    assert ops(move(bare("b"), "end", seen=saw(NOW))) == ["move b"]
    assert ops(move(at("b"), "end")) == ["move b"]


def test_a_section_may_be_moved_by_what_an_outline_says_of_it() -> None:
    assert order(move(bare("c"), "start", section=True)) == "cdetabfg"
    older = saw([(i, "## Older" if i == block_id("c") else text) for i, text in NOW])
    with pytest.raises(StaleBlock):
        move(bare("c"), "start", section=True, seen=older, on_conflict="reject")


def test_a_changed_block_goes_as_it_is_unless_that_is_refused() -> None:
    stale = BlockRef(block_id("b"), "000000")
    with pytest.raises(StaleBlock) as refused:
        move(stale, "end")
    assert refused.value.data["text"] == "text of a"
    assert ops(move(stale, "end", on_conflict="merge")) == ["move b"]
    older = saw([(i, "older" if i == block_id("b") else text) for i, text in NOW])
    assert ops(move(bare("b"), "end", seen=older)) == ["move b"]
    with pytest.raises(StaleBlock):
        move(bare("b"), "end", seen=older, on_conflict="reject")
    with pytest.raises(StaleBlock):
        move(at("b"), BlockRef(block_id("g"), "000000"))


def test_unknown_blocks_come_with_an_outline() -> None:
    for block, place in ((bare("z"), "end"), (at("b"), bare("z"))):
        with pytest.raises(StaleAnchor) as refused:
            move(block, place)  # type: ignore[arg-type]
        assert refused.value.data["outline"][0]["title"] == "Title"
    with pytest.raises(StaleAnchor, match="no top-level heading"):
        move(at("b"), "end", section=True)


def test_where_somebody_types_nothing_moves() -> None:
    with pytest.raises(Busy) as refused:
        move(at("b"), at("g"), pinned="b")
    assert refused.value.retryable
    with pytest.raises(Busy):
        move(at("c"), "start", section=True, pinned="db")
    assert order(move(at("b"), at("g"), pinned="g")) == "tacdefgb"


@pytest.mark.parametrize("block, place, result", [("e", "f", "tabcdfeg"), ("e", "c", "tabcedfg")])
def test_of_two_that_change_places_the_one_nobody_types_in_moves(
    block: str, place: Literal["f", "c"], result: str
) -> None:
    plan = move(at(block), at(place), pinned=block)
    assert order(plan) == result
    assert ops(plan) != [f"move {block}"]
    with pytest.raises(Busy):
        move(at(block), at(place), pinned="def")


@given(st.data())
def test_a_move_changes_the_order_and_nothing_else(data: st.DataObject) -> None:
    texts = data.draw(
        st.lists(
            st.sampled_from(["# H", "## H", "### H", "text", "&nbsp;"]), min_size=1, max_size=9
        )
    )
    now = doc(*texts)
    name = st.sampled_from(ids(now))
    block, place = (
        BlockRef(data.draw(name)),
        data.draw(st.one_of(st.sampled_from(["start", "end"]), name)),
    )
    to: Place = place if place in ("start", "end") else BlockRef(place)  # type: ignore[assignment]
    heading = dict(now)[block.block_id].startswith("#")
    pinned = data.draw(st.sets(name))
    try:
        plan = plan_move(
            present(now),
            block,
            to,
            saw(now),
            section=heading and data.draw(st.booleans()),
            pinned=pinned,
        )
    except (Busy, InvalidArgument):
        return
    result = apply_to_list(now, plan, str)
    assert sorted(result) == sorted(now)
    assert not pinned.intersection(op.block_id for op in plan.ops if op.block_id)
    if to not in ("start", "end") and plan.ops:
        assert ids(result).index(block.block_id) > ids(result).index(place)
