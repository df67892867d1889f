"""Insert, replace and delete: the writes that name their blocks."""

from __future__ import annotations

from typing import Literal

import pytest

from shared.errors import (
    BaseRequired,
    InvalidArgument,
    StaleAnchor,
    StaleBlock,
)
from shared.ids import BlockRef, text_hash
from shared.patch.types import NOTHING_SEEN, Plan, Seen, digest_of
from shared.patch.verbs import plan_delete, plan_insert, plan_replace
from shared.protocol import OnConflict, WriteOptions
from tests.unit.patch_world import (
    MERGER,
    Doc,
    after,
    anchor_of,
    block_id,
    doc,
    ids,
    ops,
    present,
    saw,
    sent,
    texts,
)

NOW = doc(a="the first block", b="a second one", c="and the third", d="finally the fourth")
LONG = "One two three four five six seven eight nine ten eleven twelve."


def ref(name: str, document: Doc = NOW) -> BlockRef:
    """A block by its anchor."""
    return BlockRef(block_id(name), text_hash(dict(document)[block_id(name)]))


def bare(name: str) -> BlockRef:
    """A block by its id."""
    return BlockRef(block_id(name))


def replace(
    now: Doc,
    start: BlockRef,
    end: BlockRef | None,
    *new: str,
    seen: Seen = NOTHING_SEEN,
    on_conflict: OnConflict | None = None,
    added: tuple[str, ...] = (),
) -> Plan:
    return plan_replace(
        present(now),
        start,
        end,
        sent(*new),
        seen,
        merger=MERGER,
        options=WriteOptions(on_conflict=on_conflict),
        added=added,
    )


def delete(
    now: Doc, *refs: BlockRef, seen: Seen = NOTHING_SEEN, on_conflict: OnConflict | None = None
) -> Plan:
    options = WriteOptions(on_conflict=on_conflict)
    return plan_delete(present(now), refs, seen, options=options)


# --- insert ------------------------------


def insert(now: Doc, after_: BlockRef | Literal["start", "end"], *new: str) -> Doc:
    return after(now, plan_insert(present(now), sent(*new), after_))


def test_blocks_are_inserted_in_their_order_right_behind_the_one_named() -> None:
    assert texts(insert(NOW, bare("b"), "x", "y"))[1:5] == [
        "a second one",
        "x",
        "y",
        "and the third",
    ]
    assert insert(NOW, ref("b"), "x") == insert(NOW, bare("b"), "x")


def test_an_insertion_is_charged_as_sent() -> None:
    assert plan_insert(present(NOW), sent("12345", "678"), "end").charged == 8


def test_the_end_is_before_the_empty_paragraphs_nobody_is_shown() -> None:
    now = [*NOW, *doc(x="&nbsp;")]
    assert texts(insert(now, "end", "x"))[-2:] == ["x", "&nbsp;"]
    assert texts(insert([], "end", "x")) == ["x"]
    assert texts(insert(doc(x="&nbsp;"), "end", "x")) == ["x", "&nbsp;"]


def test_the_start_is_behind_front_matter() -> None:
    assert texts(insert(NOW, "start", "x"))[0] == "x"
    assert texts(insert([*doc(f="---\ntitle: T\n---"), *NOW], "start", "x"))[1] == "x"
    assert texts(insert([*doc(f="---"), *NOW], "start", "x"))[0] == "x"


def test_nothing_inserted_is_nothing_done() -> None:
    assert plan_insert(present(NOW), (), "end") == Plan()


def test_an_insertion_behind_a_changed_neighbour_says_what_it_is_now() -> None:
    with pytest.raises(StaleBlock) as refusal:
        insert(NOW, BlockRef(block_id("b"), "000000"), "x")
    assert refusal.value.data == {"anchor": anchor_of(NOW, block_id("b")), "text": "a second one"}


def test_an_insertion_behind_no_block_comes_with_an_outline() -> None:
    with pytest.raises(StaleAnchor) as refusal:
        insert([*doc(h="# Title"), *NOW], bare("z"), "x")
    assert refusal.value.data["outline"][0]["title"] == "Title"
    with pytest.raises(StaleAnchor) as refusal:
        insert(NOW, bare("z"), "x")
    assert refusal.value.data["outline"][0]["anchor"] == anchor_of(NOW, block_id("a"))


# --- replace ------------------------------


def test_one_block_named_by_anchor_is_replaced_and_keeps_its_id() -> None:
    plan = replace(NOW, ref("b"), None, "a second two")
    assert ops(plan) == ["replace b a second two"]
    assert plan.charged == len("a second two")


def test_a_replaced_range_keeps_the_ids_of_what_is_alike() -> None:
    plan = replace(NOW, ref("b"), ref("d"), "x", "and the third!", seen=saw(NOW))
    assert ops(plan) == ["delete d", "replace b x", "replace c and the third!"]


def test_a_range_replaced_by_itself_is_nothing() -> None:
    assert replace(NOW, ref("a"), ref("d"), *texts(NOW), seen=saw(NOW)) == Plan()


def test_a_range_replaced_by_nothing_goes() -> None:
    plan = replace(NOW, ref("b"), ref("c"), seen=saw(NOW))
    assert ops(plan) == ["delete b", "delete c"]
    assert plan.charged == 0


def test_many_blocks_named_are_no_large_deletion() -> None:
    now = doc(*(f"paragraph number {n}" for n in range(30)))
    first, last = (BlockRef(i, text_hash(dict(now)[i])) for i in (ids(now)[0], ids(now)[-1]))
    assert replace(now, first, last, "…", seen=saw(now)).deleted == 29


def test_the_last_block_of_a_document_becomes_an_empty_paragraph() -> None:
    plan = replace(NOW, ref("a"), ref("d"), seen=saw(NOW))
    assert after(NOW, plan) == [(block_id("d"), "&nbsp;")]
    now = [*NOW, *doc(x="&nbsp;")]
    assert after(now, replace(now, ref("a"), ref("d"), seen=saw(now))) == now[4:]


def test_a_block_somebody_put_into_the_range_stays() -> None:
    now = [NOW[0], *doc(n="added by somebody"), *NOW[1:]]
    plan = replace(now, ref("a"), ref("b"), "x", seen=saw(NOW))
    assert plan.kept == (block_id("n"),)
    assert "added by somebody" in texts(after(now, plan))
    part = Seen(saw(NOW[:2]).blocks, based=True, views=1)
    newcomer = (block_id("n"),)
    assert replace(now, ref("a"), ref("b"), "x", seen=part, added=newcomer).kept == newcomer


def test_a_range_of_which_nobody_says_it_was_seen_is_refused() -> None:
    with pytest.raises(BaseRequired) as refusal:
        replace(NOW, ref("a"), ref("d"), "x")
    assert [block["text"] for block in refusal.value.data["unseen"]] == texts(NOW)[1:3]


def test_a_bare_id_counts_as_seen_when_any_view_shows_it() -> None:
    with pytest.raises(BaseRequired):
        replace(NOW, bare("a"), None, "x")
    with pytest.raises(BaseRequired):
        replace(NOW, bare("a"), None, "x", seen=Seen(whole=True, views=1))
    seen = Seen((), {block_id("a"): (digest_of("the first block"),)}, views=2)
    assert ops(replace(NOW, bare("a"), None, "x", seen=seen)) == ["replace a x"]


def test_a_bare_id_shown_at_another_text_is_a_conflict() -> None:
    seen = Seen((), {block_id("a"): (digest_of("an older first"),)}, views=1)
    plan = replace(NOW, bare("a"), None, "x", seen=seen)
    assert plan.ops == ()
    assert [conflict.theirs for conflict in plan.conflicts] == ["the first block"]


def test_a_stale_anchor_refuses_or_merges_as_asked() -> None:
    base = doc(a=LONG)
    now = doc(a=LONG.replace("two", "2"))
    mine = LONG.replace("eleven", "11")
    with pytest.raises(StaleBlock) as refusal:
        replace(now, ref("a", base), None, mine, seen=saw(base))
    assert refusal.value.data["text"] == now[0][1]
    plan = replace(now, ref("a", base), None, mine, seen=saw(base), on_conflict="merge")
    assert texts(after(now, plan)) == [mine.replace("two", "2")]


def test_an_edited_middle_refuses_everything_with_the_new_text() -> None:
    now = [NOW[0], (block_id("b"), "edited meanwhile"), *NOW[2:]]
    with pytest.raises(StaleBlock) as refusal:
        replace(now, ref("a"), ref("c"), "x", "y", "z", seen=saw(NOW))
    assert refusal.value.data["conflicts"][0]["theirs"] == "edited meanwhile"


def test_a_range_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="to:"):
        replace(NOW, ref("c"), ref("a"), "x", seen=saw(NOW))


def test_a_second_replace_with_the_old_anchor_is_stale() -> None:
    result = after(NOW, replace(NOW, ref("b"), None, "a second two"))
    with pytest.raises(StaleBlock):
        replace(result, ref("b"), None, "a second three")


# --- delete ------------------------------


def test_named_blocks_go_and_nothing_else() -> None:
    assert ops(delete(NOW, ref("c"), ref("a"))) == ["delete a", "delete c"]
    assert ops(delete(NOW, ref("c"), ref("c"))) == ["delete c"]


def test_deleting_everything_leaves_one_empty_paragraph() -> None:
    plan = delete(NOW, *(ref(name) for name in "abcd"))
    assert after(NOW, plan) == [(block_id("d"), "&nbsp;")]


def test_one_changed_block_refuses_the_whole_deletion() -> None:
    with pytest.raises(StaleBlock) as refusal:
        delete(NOW, ref("a"), BlockRef(block_id("b"), "000000"))
    assert refusal.value.data["changed"] == [
        {"anchor": anchor_of(NOW, block_id("b")), "text": "a second one"}
    ]


def test_changed_blocks_are_left_and_reported_when_asked() -> None:
    plan = delete(NOW, ref("a"), BlockRef(block_id("b"), "000000"), on_conflict="merge")
    assert ops(plan) == ["delete a"]
    assert [(c.yours, c.theirs) for c in plan.conflicts] == [(None, "a second one")]


def test_a_bare_id_must_have_been_seen_to_be_deleted() -> None:
    with pytest.raises(BaseRequired):
        delete(NOW, bare("a"))
    with pytest.raises(BaseRequired):
        delete(NOW, ref("b"), bare("a"), seen=Seen(whole=True, views=1))
    assert ops(delete(NOW, bare("a"), seen=saw(NOW))) == ["delete a"]


def test_a_bare_id_edited_since_it_was_seen_is_a_conflict() -> None:
    now = [(block_id("a"), "edited meanwhile"), *NOW[1:]]
    plan = delete(now, bare("a"), seen=saw(NOW))
    assert plan.ops == ()
    assert [conflict.theirs for conflict in plan.conflicts] == ["edited meanwhile"]


def test_deleting_no_block_comes_with_an_outline() -> None:
    with pytest.raises(StaleAnchor) as refusal:
        delete(NOW, ref("a"), bare("z"), seen=saw(NOW))
    assert refusal.value.data["outline"]
