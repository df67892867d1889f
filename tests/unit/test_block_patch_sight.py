"""Patches by example: who may change what, and what is refused."""

from __future__ import annotations

import pytest

from shared.errors import (
    BaseRequired,
    Busy,
    EmptyPatch,
    LargeDelete,
    StaleAnchor,
    StaleBlock,
)
from shared.ids import BlockRef
from shared.patch.types import Plan, Seen, digest_of
from tests.unit.patch_world import (
    ABC,
    Doc,
    after,
    anchor_of,
    block_id,
    doc,
    ids,
    ops,
    patch,
    patched,
    present,
    ref,
    saw,
    sent,
    texts,
)

# --- what was seen ------------------------------


def test_without_any_view_a_pure_insertion_goes_through() -> None:
    assert ops(patch(ABC, "new", *texts(ABC))) == ["insert new"]


@pytest.mark.parametrize(
    "new",
    [
        ("the first block", "a second two", "and the third"),
        ("the first block", "and the third"),
        ("and the third", "the first block", "a second one"),
    ],
)
def test_without_any_view_nothing_else_does(new: tuple[str, ...]) -> None:
    with pytest.raises(BaseRequired) as refusal:
        patch(ABC, *new)
    assert refusal.value.data["unseen"]
    assert "read_document" in refusal.value.as_dict()["next_step"]


def test_one_anchor_and_the_whole_text_double_nothing() -> None:
    now = doc(*(f"paragraph {n} of the ten" for n in range(10)))
    new = texts(now)
    new[4] += ", edited"
    plan = patch(now, *new, anchors=(ref(now, "b4x"),))
    assert ops(plan) == ["replace b4x paragraph 4 of the ten, edited"]


def test_an_anchor_of_a_block_left_alone_may_be_stale() -> None:
    now = [(block_id("a"), "edited meanwhile"), *ABC[1:]]
    plan = patch(
        now,
        "the first block",
        "a second two",
        "and the third",
        seen=saw(ABC),
        anchors=(ref(ABC, "a"), ref(ABC, "b")),
    )
    assert ops(plan) == ["replace b a second two"]


def test_a_stale_anchor_of_a_block_to_be_touched_refuses_everything() -> None:
    now = [ABC[0], (block_id("b"), "edited meanwhile"), ABC[2]]
    with pytest.raises(StaleBlock) as refusal:
        patch(
            now,
            "the first",
            "a second two",
            "and the third",
            anchors=(ref(ABC, "b"), ref(ABC, "a")),
        )
    assert refusal.value.data["conflicts"][0]["theirs"] == "edited meanwhile"


def test_anchors_never_narrow_what_was_seen() -> None:
    plan = patch(ABC, "the first block", "a second two", seen=saw(ABC), anchors=(ref(ABC, "b"),))
    assert ops(plan) == ["delete c", "replace b a second two"]


def test_after_a_cut_read_the_unread_rest_stays() -> None:
    now = doc(*(f"paragraph {n} of the ten" for n in range(10)))
    seen = Seen(saw(now[:5]).blocks, based=True, views=1)
    new = [text + " edited" if n == 2 else text for n, text in enumerate(texts(now)[:5])]
    plan = patch(now, *new, seen=seen)
    assert ops(plan) == ["replace b2x paragraph 2 of the ten edited"]
    assert plan.kept == tuple(ids(now)[5:])


def test_after_a_cut_read_an_insertion_stands_where_it_was_written() -> None:
    now = doc(*(f"paragraph {n} of the ten" for n in range(6)))
    seen = Seen(saw(now[:3]).blocks, based=True, views=1)
    plan = patch(now, *texts(now)[:3], "mine", seen=seen)
    assert texts(after(now, plan))[3] == "mine"
    newcomer = (ids(now)[3],)
    plan = patch(now, *texts(now)[:3], "mine", seen=seen, added=newcomer)
    assert texts(after(now, plan))[4] == "mine"


def test_after_a_cut_read_a_rule_sent_is_not_a_rule_in_the_rest() -> None:
    now = doc("alpha text", "bravo text", "one more block", "and another", "---", "the end of it")
    seen = Seen(saw(now[:2]).blocks, based=True, views=1)
    plan = patch(now, "alpha text", "bravo text", "---", seen=seen)
    assert texts(after(now, plan))[:4] == ["alpha text", "bravo text", "---", "one more block"]


def test_the_edit_of_a_block_shown_to_another_conversation_is_not_doubled() -> None:
    now = [*ABC, *doc(n="a block that only the other conversation saw")]
    seen = Seen(
        saw(ABC).blocks,
        {block_id("n"): (digest_of(now[3][1]),)},
        whole=True,
        views=2,
    )
    plan = patch(now, *texts(ABC), "a block that only the other conversation has seen", seen=seen)
    assert plan.ops == ()
    assert [conflict.reason for conflict in plan.conflicts] == ["not_seen"]


# --- older texts ------------------------------


def stale(named: str = "b") -> tuple[Doc, Seen]:
    """A reader told twice of block b, and no cursor to say which text it means."""
    now = [ABC[0], (block_id("b"), "a newer second one"), ABC[2]]
    older = {block_id(named): frozenset({digest_of("a second one")})}
    shown = saw(now)
    return now, Seen(shown.blocks, shown.known, whole=True, views=1, older=older)


def test_an_older_text_without_base_is_not_put_back() -> None:
    now, seen = stale()
    plan = patch(now, *texts(ABC), seen=seen)
    assert plan.ops == ()
    (conflict,) = plan.conflicts
    assert conflict.reason == "older_text"
    assert conflict.theirs == "a newer second one"
    assert anchor_of(now, block_id("b")) in str(conflict.insist)


def test_an_older_text_with_the_blocks_anchor_is_put_back() -> None:
    now, seen = stale()
    line = f"[{anchor_of(now, block_id('b'))}] a second one"
    assert ops(patch(now, texts(ABC)[0], line, texts(ABC)[2], seen=seen)) == [
        "replace b a second one"
    ]


def test_an_older_text_with_a_base_is_put_back() -> None:
    now, _ = stale()
    assert ops(patch(now, *texts(ABC), seen=saw(now))) == ["replace b a second one"]


def test_a_text_left_alone_on_an_older_view_is_no_conflict() -> None:
    now = [ABC[0], (block_id("b"), "a newer second one"), ABC[2]]
    seen = saw(ABC)
    unbased = Seen(seen.blocks, seen.known, whole=True, views=1)
    assert patch(now, *texts(ABC), seen=unbased) == Plan()


def test_a_deleted_block_in_a_stale_copy_does_not_come_back() -> None:
    now = [ABC[0], ABC[2]]
    older = {block_id("b"): frozenset({digest_of("a second one")})}
    seen = Seen(saw(now).blocks, whole=True, views=1, older=older)
    plan = patch(now, *texts(ABC), seen=seen)
    assert plan.ops == ()
    assert [(c.reason, c.theirs) for c in plan.conflicts] == [("older_text", None)]


def test_a_base_of_several_views_brings_no_block_back_that_one_of_them_saw_go() -> None:
    now = [ABC[0], ABC[2]]
    shown = {i: (digest_of(text),) for i, text in ABC}
    seen = Seen(saw(now).blocks, shown, whole=True, based=True, views=2)
    plan = patch(now, *texts(ABC), seen=seen)
    assert plan.ops == ()
    assert [(c.reason, c.theirs) for c in plan.conflicts] == [("older_text", None)]


def test_a_block_that_is_gone_does_not_come_back_in_place_of_another() -> None:
    now = [ABC[0], ABC[2]]
    shown = {i: (digest_of(text),) for i, text in ABC}
    seen = Seen(saw(now).blocks, shown, whole=True, based=True, views=2)
    plan = patch(now, texts(ABC)[0], "a second one", seen=seen)
    assert "a second one" not in texts(after(now, plan))
    assert "older_text" in [conflict.reason for conflict in plan.conflicts]


def test_of_two_equal_blocks_the_one_nobody_showed_stays_beside_the_one_that_moves() -> None:
    twin = "a block that somebody put back"
    now = doc(n=twin, a="the first block", b=twin)
    moved = doc(b=twin, a="the first block")
    shown = Seen(
        saw(now[1:]).blocks, {block_id("n"): (digest_of(twin),)}, whole=True, based=True, views=1
    )
    result, plan = patched(now, sent(*texts(moved)), shown)
    assert plan.kept == (block_id("n"),)
    assert sorted(ids(result)) == sorted(ids(now))


# --- anchored lines ------------------------------


def lines(document: Doc, **edits: str) -> list[str]:
    """The document as `read_document` gives it, with some texts edited."""
    return [f"[{p.anchor}] {edits.get(p.block_id.rstrip('0'), p.text)}" for p in present(document)]


def test_an_anchored_text_as_it_was_read_does_nothing() -> None:
    assert patch(ABC, *lines(ABC)) == Plan()


def test_anchored_lines_say_which_block_is_which() -> None:
    now = doc(a="apples and pears", b="apples and plums")
    new = lines(now, a="apples and plums", b="something new")
    assert ops(patch(now, *new)) == ["replace a apples and plums", "replace b something new"]


def test_anchored_lines_in_another_order_move_blocks() -> None:
    new = lines(ABC, c="and the third, edited")
    plan = patch(ABC, new[2], new[0], new[1])
    assert ops(plan) == ["replace c and the third, edited", "move c"]
    assert ids(after(ABC, plan)) == [block_id("c"), block_id("a"), block_id("b")]


def test_an_anchored_line_left_alone_leaves_what_others_wrote() -> None:
    now = [ABC[0], (block_id("b"), "edited meanwhile"), ABC[2]]
    assert patch(now, *lines(ABC)) == Plan()


def test_an_anchored_line_edited_by_both_is_a_conflict() -> None:
    now = [ABC[0], (block_id("b"), "edited meanwhile"), ABC[2]]
    plan = patch(now, *lines(ABC, b="mine"))
    assert plan.ops == ()
    assert [conflict.theirs for conflict in plan.conflicts] == ["edited meanwhile"]


def test_only_blocks_with_a_line_or_seen_are_deleted() -> None:
    plan = patch(ABC, *lines(ABC)[:2])
    assert plan.ops == ()
    assert plan.kept == (block_id("c"),)


def test_of_two_blocks_with_one_anchor_the_unchanged_one_has_the_id() -> None:
    line = lines(ABC)[0]
    copy = line.replace("the first", "a copy of the first")
    plan = patch(ABC, copy, *lines(ABC))
    assert ops(plan) == ["insert a copy of the first block"]


def test_a_line_elsewhere_moves_its_block_from_the_untouched_beginning() -> None:
    now = doc(a="the same text", b="a second one", c="and the third")
    line = f"[{anchor_of(now, block_id('a'))}] the same text"
    result = after(now, patch(now, "the same text", "a second one", line, seen=saw(now)))
    assert texts(result) == ["the same text", "a second one", "the same text"]
    assert ids(result)[2] == block_id("a")


def test_a_line_names_a_block_that_is_gone_whoever_was_shown_it() -> None:
    line = f"[{anchor_of(ABC, block_id('b'))}] a second one"
    assert patch([ABC[0], ABC[2]], texts(ABC)[0], line, texts(ABC)[2]) == Plan()
    plan = patch(ABC, *texts(ABC), "[zzzzzzzz-123456] another text")
    assert plan.ops == ()
    assert [conflict.reason for conflict in plan.conflicts] == ["deleted"]


def test_a_deleted_block_with_its_line_stays_deleted() -> None:
    now = [ABC[0], ABC[2]]
    assert patch(now, *lines(ABC), seen=saw(ABC)) == Plan()


# --- sections ------------------------------

BOOK = doc(
    h="# One", a="alpha text", i="## One point one", b="bravo text", j="# Two", c="charlie text"
)


def test_a_section_is_its_subtree_and_nothing_else_is_touched() -> None:
    plan = patch(
        BOOK, "# One", "alpha text", "bravo, mine", seen=saw(BOOK), section=BlockRef(block_id("h"))
    )
    assert ops(plan) == ["delete i", "replace b bravo, mine"]
    assert not plan.kept


def test_an_insertion_at_the_end_of_a_section_stays_in_it() -> None:
    plan = patch(BOOK, *texts(BOOK)[:4], "mine", seen=saw(BOOK), section=BlockRef(block_id("h")))
    assert texts(after(BOOK, plan))[4:6] == ["mine", "# Two"]


def test_a_section_sent_without_its_heading_keeps_it() -> None:
    plan = patch(BOOK, "mine", seen=saw(BOOK), section=BlockRef(block_id("j")))
    assert ops(plan) == ["replace c mine"]
    plan = patch(BOOK, "mine", "charlie text", seen=saw(BOOK), section=BlockRef(block_id("j")))
    assert texts(after(BOOK, plan))[4:] == ["# Two", "mine", "charlie text"]


def test_a_block_moved_out_of_the_section_since_is_not_put_back_twice() -> None:
    now = [BOOK[0], BOOK[2], BOOK[3], BOOK[4], BOOK[5], BOOK[1]]
    plan = patch(now, *texts(BOOK)[:4], seen=saw(BOOK), section=BlockRef(block_id("h")))
    assert plan == Plan()


def test_a_block_moved_into_the_section_since_is_not_deleted() -> None:
    now = [*BOOK[:4], BOOK[5], BOOK[4]]
    plan = patch(now, *texts(BOOK)[:4], seen=saw(BOOK), section=BlockRef(block_id("h")))
    assert plan.ops == ()
    assert plan.kept == (block_id("c"),)


def test_the_next_section_is_safe_when_its_heading_is_gone() -> None:
    now = [*BOOK[:4], BOOK[5]]
    plan = patch(now, *texts(BOOK)[:4], seen=saw(BOOK), section=BlockRef(block_id("h")))
    assert plan.ops == ()


def test_what_was_no_heading_yet_when_it_was_read_has_its_present_section() -> None:
    start = doc(h="One", j="# Two", c="charlie text")
    now = doc(h="# One", j="# Two", c="charlie text")
    plan = patch(now, "# One", "> quoted", seen=saw(start), section=BlockRef(block_id("h")))
    assert ops(plan) == ["insert > quoted"]
    assert texts(after(now, plan)) == ["# One", "> quoted", "# Two", "charlie text"]


def test_a_named_block_comes_into_the_section() -> None:
    line = f"[{anchor_of(BOOK, block_id('c'))}] charlie text"
    plan = patch(BOOK, *texts(BOOK)[:4], line, seen=saw(BOOK), section=BlockRef(block_id("h")))
    assert ops(plan) == ["move c"]
    assert texts(after(BOOK, plan))[4] == "charlie text"


def test_a_section_may_come_with_its_heading_further_down() -> None:
    now = [BOOK[0], *BOOK[2:]]
    gone, heading = (f"[{anchor_of(BOOK, block_id(n))}] {dict(BOOK)[block_id(n)]}" for n in "ah")
    new = (gone, heading, *texts(BOOK)[2:4])
    assert patch(now, *new, seen=saw(BOOK), section=BlockRef(block_id("h"))) == Plan()


def test_the_block_before_a_section_may_be_named_into_it() -> None:
    before, heading = (f"[{anchor_of(BOOK, block_id(n))}] {dict(BOOK)[block_id(n)]}" for n in "bj")
    plan = patch(BOOK, before, heading, "charlie", seen=saw(BOOK), section=BlockRef(block_id("j")))
    assert texts(after(BOOK, plan)) == [*texts(BOOK)[:5], "charlie"]
    new = (heading, before, "charlie text")
    plan = patch(BOOK, *new, seen=saw(BOOK), section=BlockRef(block_id("j")))
    assert texts(after(BOOK, plan))[3:] == ["# Two", "bravo text", "charlie text"]


def test_a_block_moved_out_of_the_section_since_is_not_deleted_there() -> None:
    now = [BOOK[0], BOOK[2], BOOK[3], BOOK[4], BOOK[5], BOOK[1]]
    new = [text for text in texts(BOOK)[:4] if text != "alpha text"]
    assert patch(now, *new, seen=saw(BOOK), section=BlockRef(block_id("h"))) == Plan()


def test_a_section_must_be_a_heading_that_is_there() -> None:
    with pytest.raises(StaleAnchor) as refusal:
        patch(BOOK, "x", seen=saw(BOOK), section=BlockRef("zzzzzzzz"))
    assert refusal.value.data["outline"][0]["section_id"] == block_id("h")
    with pytest.raises(StaleAnchor):
        patch(BOOK, "x", seen=saw(BOOK), section=BlockRef(block_id("a")))
    with pytest.raises(StaleBlock) as stale_heading:
        patch(BOOK, "x", seen=saw(BOOK), section=BlockRef(block_id("h"), "000000"))
    assert stale_heading.value.data["text"] == "# One"


def test_an_empty_section_is_refused() -> None:
    with pytest.raises(EmptyPatch):
        patch(BOOK, seen=saw(BOOK), section=BlockRef(block_id("h")), large=True)


# --- guards ------------------------------


def test_a_large_deletion_is_refused_with_what_would_go() -> None:
    now = doc(*(f"paragraph number {n}" for n in range(10)))
    with pytest.raises(LargeDelete) as refusal:
        patch(now, *texts(now)[:4], seen=saw(now))
    assert refusal.value.data["deleted_blocks"] == 6
    assert refusal.value.data["deletes"][0]["anchor"] == anchor_of(now, ids(now)[4])
    assert len(patch(now, *texts(now)[:4], seen=saw(now), large=True).ops) == 6
    assert len(patch(now, *texts(now)[:5], seen=saw(now)).ops) == 5


@pytest.mark.parametrize(
    "elision",
    [
        "…",
        "...",
        "[...]",
        "[rest unchanged]",
        "[... rest of the document unchanged ...]",
        "(remaining sections unchanged)",
        "*… existing content omitted …*",
        "<!-- unchanged -->",
        "\\[rest of document here\\]",
    ],
)
def test_an_elision_is_not_taken_for_text(elision: str) -> None:
    with pytest.raises(LargeDelete) as refusal:
        patch(ABC, "the first, edited", elision, seen=saw(ABC))
    assert refusal.value.data["elisions"]


@pytest.mark.parametrize(
    "text",
    [
        "The rest of the team stays unchanged.",
        "And so on...",
        "[a link](https://example.org) to the document",
        "# Unchanged",
    ],
)
def test_a_sentence_is_no_elision(text: str) -> None:
    assert patch(ABC, *texts(ABC), text, seen=saw(ABC)).inserted == 1


def test_an_ellipsis_that_is_in_the_document_is_text() -> None:
    now = [*ABC, *doc(x="…")]
    assert patch(now, "the first, edited", *texts(now)[1:], seen=saw(now)).replaced == 1


def test_a_block_somebody_is_typing_in_lets_the_other_move() -> None:
    now = doc(a="the first block", b="a second one")
    for pinned, moved in (("a", "b"), ("b", "a")):
        plan = patch(now, *texts(now)[::-1], seen=saw(now), pinned=(block_id(pinned),))
        assert ops(plan) == [f"move {moved}"]


def test_when_somebody_types_in_everything_that_could_move_the_answer_is_busy() -> None:
    now = doc(a="the first block", b="a second one")
    with pytest.raises(Busy) as refusal:
        patch(now, *texts(now)[::-1], seen=saw(now), pinned=tuple(ids(now)))
    assert refusal.value.data["retry_after_s"] > 0


def test_two_thousand_blocks_are_patched_without_comparing_all_with_all() -> None:
    now = doc(*(f"paragraph number {n}" for n in range(2_000)))
    new = [f"{text}, edited" if n % 2 else text for n, text in enumerate(texts(now))]
    result, plan = patched(now, sent(*new), saw(now))
    assert texts(result) == new
    assert plan.replaced == 1_000
