"""Patches by example: what becomes of one edit, alone and against another."""

from __future__ import annotations

import pytest

from shared.errors import (
    EmptyPatch,
    StaleBlock,
)
from shared.patch.patch import is_large, plan_patch
from shared.patch.types import NOTHING_SEEN, Plan, Seen, SeenBlock, digest_of
from tests.unit.patch_world import (
    ABC,
    MERGER,
    after,
    anchor_of,
    block_id,
    doc,
    ids,
    ops,
    patch,
    present,
    saw,
    sent,
    texts,
)

LONG = "One two three four five six seven eight nine ten eleven twelve."

# --- one author ------------------------------


def test_a_text_that_is_there_already_changes_nothing_and_costs_nothing() -> None:
    assert patch(ABC, *texts(ABC), seen=saw(ABC)) == Plan()


def test_only_the_changed_block_is_replaced_and_only_it_is_charged() -> None:
    plan = patch(ABC, "the first block", "a second two", "and the third", seen=saw(ABC))
    assert ops(plan) == ["replace b a second two"]
    assert plan.charged == len("a second two")
    assert ids(after(ABC, plan)) == ids(ABC)


def test_a_block_is_inserted_without_touching_its_neighbours() -> None:
    plan = patch(ABC, "the first block", "new", *texts(ABC)[1:], seen=saw(ABC))
    assert ops(plan) == ["insert new"]
    assert plan.charged == 3


def test_deleting_costs_nothing() -> None:
    plan = patch(ABC, "the first block", "and the third", seen=saw(ABC))
    assert ops(plan) == ["delete b"]
    assert plan.charged == 0


def test_the_charge_is_for_the_text_as_sent() -> None:
    new = sent(*texts(ABC), "a  sloppy   source")
    plan = plan_patch(present(ABC), new, saw(ABC), merger=MERGER)
    assert plan.charged == len("a  sloppy   source")


def test_a_run_of_rewritten_blocks_keeps_its_ids() -> None:
    assert ops(patch(ABC, "uvw", "xyz", "qrs", seen=saw(ABC))) == [
        "replace a uvw",
        "replace b xyz",
        "replace c qrs",
    ]


def test_a_block_inserted_before_an_edited_one_does_not_take_its_id() -> None:
    now = doc(a="Intro", b="Body")
    plan = patch(now, "Preface", "Intro edited", "Body", seen=saw(now))
    assert ops(plan) == ["replace a Intro edited", "insert Preface"]


def test_a_run_that_shrinks_keeps_the_ids_of_what_is_alike() -> None:
    now = doc(a="apples and pears and plums", b="chairs and tables and beds", c="the end")
    plan = patch(now, "chairs and tables and lamps", "the end", seen=saw(now))
    assert ops(plan) == ["delete a", "replace b chairs and tables and lamps"]


def test_a_block_elsewhere_has_moved_and_costs_nothing() -> None:
    plan = patch(ABC, "and the third", "the first block", "a second one", seen=saw(ABC))
    assert ops(plan) == ["move c"]
    assert plan.charged == 0


def test_a_section_moved_moves_its_few_blocks_and_not_the_many() -> None:
    now = doc("# One", "alpha text", "# Two", "bravo text", "charlie text", "delta text")
    both = texts(now)
    plan = patch(now, *both[2:], *both[:2], seen=saw(now))
    assert ops(plan) == ["move b0x", "move b1x"]
    assert texts(after(now, plan)) == [*both[2:], *both[:2]]


def test_two_equal_rules_are_no_move() -> None:
    now = doc("---", "alpha text", "---", "bravo text")
    plan = patch(now, "alpha text", "---", "bravo text", "---", seen=saw(now))
    assert texts(after(now, plan)) == ["alpha text", "---", "bravo text", "---"]


def test_a_document_is_filled() -> None:
    blank = doc(a="&nbsp;")
    plan = patch(blank, "hello", "world", seen=saw(blank))
    assert texts(after(blank, plan)) == ["hello", "world", "&nbsp;"]
    assert texts(after([], patch([], "hello"))) == ["hello"]


@pytest.mark.parametrize("new", [(), ("&nbsp;",), ("&nbsp;", "&nbsp;")])
def test_a_document_is_not_emptied_by_a_patch(new: tuple[str, ...]) -> None:
    with pytest.raises(EmptyPatch) as refusal:
        patch(ABC, *new, seen=saw(ABC), large=True)
    assert "replace" in refusal.value.as_dict()["next_step"]


def test_a_blank_document_stays_as_it_is() -> None:
    assert patch(doc(a="&nbsp;", b="&nbsp;"), seen=NOTHING_SEEN) == Plan()


# --- empty paragraphs at the end ------------------------------


def test_empty_paragraphs_at_the_end_are_left_alone() -> None:
    now = [*ABC, *doc(x="&nbsp;", y="&nbsp;")]
    plan = patch(now, *texts(ABC), "appended", seen=saw(now))
    assert ops(plan) == ["insert appended"]
    assert texts(after(now, plan)) == [*texts(ABC), "appended", "&nbsp;", "&nbsp;"]


def test_the_empty_paragraph_an_editor_adds_at_the_end_is_not_unseen_text() -> None:
    plan = patch([*ABC, *doc(x="&nbsp;")], *texts(ABC), seen=saw(ABC))
    assert plan == Plan()


def test_an_empty_paragraph_between_two_blocks_was_seen_and_can_go() -> None:
    now = doc(a="alpha text", x="&nbsp;", b="bravo text")
    assert ops(patch(now, "alpha text", "bravo text", seen=saw(now))) == ["delete x"]


# --- somebody else's additions and deletions ------------------------------


def test_a_block_added_since_stays() -> None:
    now = [ABC[0], *doc(n="added by somebody"), *ABC[1:]]
    plan = patch(now, *texts(ABC), seen=saw(ABC))
    assert plan.ops == ()
    assert plan.kept == (block_id("n"),)


def test_a_block_added_since_is_not_taken_for_the_one_rewritten() -> None:
    now = [ABC[0], *doc(n="added by somebody"), *ABC[1:]]
    plan = patch(now, "the first block", "quite another", "and the third", seen=saw(ABC))
    assert ops(plan) == ["replace b quite another"]
    assert plan.kept == (block_id("n"),)


def test_at_one_place_what_is_there_already_comes_first() -> None:
    now = [ABC[0], *doc(n="added by somebody"), *ABC[1:]]
    plan = patch(now, "the first block", "mine", *texts(ABC)[1:], seen=saw(ABC))
    assert texts(after(now, plan))[:3] == ["the first block", "added by somebody", "mine"]


def test_an_equal_block_added_by_both_is_there_once() -> None:
    now = [ABC[0], *doc(n="added by both of us"), *ABC[1:]]
    plan = patch(now, "the first block", "added by both of us", *texts(ABC)[1:], seen=saw(ABC))
    assert plan == Plan()


@pytest.mark.parametrize("came", [(), ("somebody's own words",)])
def test_a_rule_put_behind_a_block_that_moved_is_there_once_when_the_call_is_sent_again(
    came: tuple[str, ...],
) -> None:
    lines = [*(f"line {n} of many" for n in range(4)), "the last becomes the first"]
    start, wanted = doc(*lines), sent(lines[-1], "---", "---", *lines[:-1])
    once = after(start, plan_patch(present(start), wanted, saw(start), merger=MERGER))
    once[1:1] = [(block_id(f"c{n}x"), text) for n, text in enumerate(came)]
    again = plan_patch(present(once), wanted, saw(start), merger=MERGER)
    assert (again.ops, again.conflicts) == ((), ())


def test_a_rule_put_before_another_is_there_once_when_the_call_is_sent_again() -> None:
    same = ["&nbsp;", "some words here", "more words there"]
    start = doc("&nbsp;", "---", *same, "alpha bravo charlie")
    wanted = ["---", "---", *same, "---", "quite another end"]
    once = after(start, patch(start, *wanted, seen=saw(start)))
    assert texts(once) == wanted
    assert patch(once, *wanted, seen=saw(start)) == Plan()
    theirs = [(block_id("theirs"), "somebody's own words"), *once]
    assert patch(theirs, *wanted, seen=saw(start)) == Plan(kept=(block_id("theirs"),))


def test_a_rule_behind_a_block_that_moves_now_is_not_the_one_sent_with_it() -> None:
    lines = [*(f"line {n} of many" for n in range(4)), "the last becomes the first"]
    start = doc(*lines)
    theirs = [*start, (block_id("theirs"), "---"), (block_id("more"), "and more words")]
    plan = plan_patch(
        present(theirs), sent(lines[-1], "---", *lines[:-1]), saw(start), merger=MERGER
    )
    told = texts(after(theirs, plan))
    assert told == [lines[-1], "---", *lines[:-1], "---", "and more words"]


def test_a_rule_added_by_somebody_elsewhere_is_not_the_one_sent() -> None:
    now = [*ABC, *doc(n="---")]
    plan = patch(now, "the first block", "---", *texts(ABC)[1:], seen=saw(ABC))
    assert texts(after(now, plan)) == ["the first block", "---", *texts(ABC)[1:], "---"]


def test_a_block_deleted_since_stays_deleted_when_left_alone() -> None:
    now = [ABC[0], ABC[2]]
    assert patch(now, *texts(ABC), seen=saw(ABC)) == Plan()


def test_a_block_deleted_since_and_rewritten_is_a_conflict() -> None:
    now = [ABC[0], ABC[2]]
    plan = patch(now, "the first block", "a second two", "and the third", seen=saw(ABC))
    assert plan.ops == ()
    (conflict,) = plan.conflicts
    assert (conflict.yours, conflict.theirs, conflict.reason) == ("a second two", None, "deleted")
    assert conflict.anchor == anchor_of(ABC, block_id("b"))
    assert "insert" in str(conflict.insist)


def test_deleted_by_both_is_no_conflict() -> None:
    assert patch([ABC[0], ABC[2]], texts(ABC)[0], texts(ABC)[2], seen=saw(ABC)) == Plan()


def test_an_insertion_whose_neighbours_are_gone_goes_behind_the_nearest_left() -> None:
    plan = patch([ABC[0]], *texts(ABC)[:2], "mine", "and the third", seen=saw(ABC))
    assert texts(after([ABC[0]], plan)) == ["the first block", "mine"]
    plan = patch([ABC[2]], "the first block", "mine", *texts(ABC)[1:], seen=saw(ABC))
    assert texts(after([ABC[2]], plan)) == ["mine", "and the third"]


def test_a_move_moves_what_the_block_says_now() -> None:
    now = [ABC[0], ABC[1], (block_id("c"), "and the third, edited")]
    plan = patch(now, "and the third", "the first block", "a second one", seen=saw(ABC))
    assert ops(plan) == ["move c"]
    assert texts(after(now, plan))[0] == "and the third, edited"


# --- two edits of one block ------------------------------

THEIRS = doc(a="the first block", b=LONG.replace("two", "2"))
BASE = doc(a="the first block", b=LONG)


def test_edits_that_lie_apart_are_merged() -> None:
    plan = patch(THEIRS, "the first block", LONG.replace("eleven", "11"), seen=saw(BASE))
    both = LONG.replace("two", "2").replace("eleven", "11")
    assert ops(plan) == [f"replace b {both}"]
    assert plan.charged == len(LONG) - 4
    assert not plan.conflicts


def test_edits_that_touch_are_a_conflict_and_nothing_is_overwritten() -> None:
    plan = patch(THEIRS, "the first block", LONG.replace("two", "II"), seen=saw(BASE))
    assert plan.ops == ()
    (conflict,) = plan.conflicts
    assert conflict.theirs == LONG.replace("two", "2")
    assert conflict.yours == LONG.replace("two", "II")
    assert conflict.reason == "changed"
    assert anchor_of(THEIRS, block_id("b")) in str(conflict.insist)


def test_a_conflict_does_not_stop_the_rest() -> None:
    plan = patch(THEIRS, "the first", LONG.replace("two", "II"), seen=saw(BASE))
    assert ops(plan) == ["replace a the first"]
    assert len(plan.conflicts) == 1
    assert plan.charged == len("the first")


def test_a_merge_that_is_no_block_is_a_conflict() -> None:
    base = doc(b=f"{LONG} x")
    theirs = doc(b=f"{LONG} x".replace("two", "two\n\n2"))
    plan = patch(theirs, LONG.replace("eleven", "11") + " x", seen=saw(base))
    assert plan.ops == ()
    assert len(plan.conflicts) == 1


def test_without_the_old_text_two_edits_are_a_conflict() -> None:
    seen = Seen((SeenBlock(block_id("b"), digest_of(LONG)),), whole=True, based=True, views=1)
    plan = patch([THEIRS[1]], LONG.replace("eleven", "11"), seen=seen)
    assert [conflict.reason for conflict in plan.conflicts] == ["changed"]


def test_the_same_edit_twice_is_none() -> None:
    assert patch(THEIRS, *texts(THEIRS), seen=saw(BASE)) == Plan()


def test_a_deletion_of_what_somebody_edited_is_a_conflict() -> None:
    plan = patch(THEIRS, "the first block", seen=saw(BASE))
    assert plan.ops == ()
    (conflict,) = plan.conflicts
    assert conflict.yours is None
    assert conflict.theirs == LONG.replace("two", "2")


def test_who_wants_all_or_nothing_gets_every_conflict_and_no_merge() -> None:
    with pytest.raises(StaleBlock) as refusal:
        patch(
            THEIRS,
            "the first",
            LONG.replace("eleven", "11"),
            seen=saw(BASE),
            on_conflict="reject",
        )
    (conflict,) = refusal.value.data["conflicts"]
    assert conflict["theirs"] == LONG.replace("two", "2")
    assert conflict["anchor"] == anchor_of(THEIRS, block_id("b"))


def test_only_a_rewriting_of_thousands_of_blocks_is_large() -> None:
    now = present(doc(*(f"paragraph number {n}" for n in range(5_000))))
    moved = [sent(block.text)[0] for block in reversed(now)]
    assert not is_large(now, moved)
    assert not is_large(now, moved[:2_000])
    assert is_large(now, sent("one"))
    assert is_large(now[:10], [sent(f"new paragraph {n}")[0] for n in range(4_500)])


def test_an_empty_paragraph_that_came_to_stand_at_the_end_is_left_alone() -> None:
    was = doc(a="alpha text", x="&nbsp;", b="bravo text")
    assert patch(was[:2], "alpha text", "bravo text", seen=saw(was)) == Plan()


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_of_equal_blocks_the_one_still_there_stays(gone: int) -> None:
    was = doc("the same text", "the same text", "the same text")
    now = [pair for n, pair in enumerate(was) if n != gone]
    assert patch(now, "the same text", "the same text", seen=saw(was)) == Plan()


def test_equal_blocks_that_are_gone_do_not_come_back_elsewhere() -> None:
    """As when its author was behind, and put what it wrote at another place of its copy."""
    twice = "a line that stands there twice"
    then = [*ABC, *doc(m=twice, n=twice)]
    plan = patch(ABC, twice, twice, *texts(ABC), seen=saw(then))
    assert plan == Plan()
    left = [*ABC, then[4]]
    plan = patch(left, twice, twice, *texts(ABC), seen=saw(then))
    assert texts(after(left, plan)) == [twice, *texts(ABC)]
    plan = patch(ABC, twice, twice, twice, *texts(ABC), seen=saw(then))
    assert texts(after(ABC, plan)) == [twice, *texts(ABC)]


def test_a_block_given_the_text_of_its_neighbour_is_not_taken_for_it() -> None:
    was = doc(a="alpha is the first", b="bravo is the second")
    now = [(was[0][0], "bravo is the second"), was[1]]
    assert patch(now, *texts(was), seen=saw(was)) == Plan()


def test_a_new_block_where_one_is_gone_is_no_edit_of_it_unless_alike() -> None:
    was = doc(a="alpha text", g="chairs and tables and beds", b="bravo text")
    now = [was[0], was[2]]
    plan = patch(now, "alpha text", "apples and pears and plums", "bravo text", seen=saw(was))
    assert ops(plan) == ["insert apples and pears and plums"]
    assert not plan.conflicts
