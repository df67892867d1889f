from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.feed.block_changes import Draft
from shared.feed.change_rows import Step, change_rows, longest_run


def rows(*steps: Step, changed: str = "") -> list[tuple[str, str]]:
    looked = {step.before: "old" for step in steps if step.before is not None}
    looks = {step.after: "old" for step in steps if step.after is not None}
    looks |= dict.fromkeys(changed, "new")
    return [(draft.block_id, draft.kind) for draft in change_rows(steps, looked, looks)]


def test_coming_going_and_changing() -> None:
    steps = [Step("a", None, 0), Step("b", "b", 1), Step("c", "c", 1), Step(None, "d", 2)]
    assert rows(*steps, changed="b") == [("a", "removed"), ("b", "changed"), ("d", "added")]


def test_a_block_put_in_elsewhere_has_moved_and_no_other() -> None:
    assert rows(Step("a", None, 0), Step(None, "a", 3)) == [("a", "moved")]


def test_a_block_moved_past_one_that_was_typed_in_has_moved() -> None:
    steps = [Step("a", None, 0), Step("b", "b", 0), Step(None, "a", 0)]
    assert rows(*steps, changed="b") == [("b", "changed"), ("a", "moved")]


def test_a_slide_of_all_ids_is_one_move() -> None:
    names = "abcdefgh"
    slid = names[1:] + names[0]
    assert rows(*[Step(*pair, 0) for pair in zip(names, slid, strict=True)]) == [("a", "moved")]


def test_ids_that_slide_behind_a_removed_block_have_not_moved() -> None:
    steps = [Step("a", "b", 0), Step("b", "c", 0), Step("c", None, 0)]
    assert rows(*steps) == [("a", "removed")]


def test_a_block_that_moved_and_changed_is_told_once() -> None:
    assert rows(Step("a", None, 0), Step(None, "a", 3), changed="a") == [("a", "moved")]


@given(st.permutations(range(7)))
def test_a_longest_run_ascends_and_none_is_longer(numbers: list[int]) -> None:
    run = [numbers[at] for at in sorted(longest_run(numbers))]
    assert run == sorted(run)
    longest = [0] * len(numbers)
    for at, number in enumerate(numbers):
        longest[at] = 1 + max((longest[n] for n in range(at) if numbers[n] < number), default=0)
    assert len(run) == max(longest)


@st.composite
def touched(draw: st.DrawFn) -> list[Step]:
    """Elements touched among untouched ones, with any ids on them afterwards."""
    places = draw(st.lists(st.sampled_from(["stay", "new", "gone", "rest"]), max_size=12))
    before = {at: f"b{at}" for at, kind in enumerate(places) if kind in ("stay", "gone")}
    pool = draw(st.permutations([*before.values(), *(f"n{at}" for at in range(12))]))
    steps, rest = [], 0
    for at, kind in enumerate(places):
        if kind == "rest":
            rest += 1
            continue
        after = pool.pop() if kind != "gone" else None
        steps.append(Step(before.get(at), after, rest))
    return steps


@given(touched())
def test_blocks_no_row_names_keep_their_order(steps: list[Step]) -> None:
    looked = {step.before: "" for step in steps if step.before}
    looks = {step.after: "" for step in steps if step.after}
    named = {draft.block_id for draft in change_rows(steps, looked, looks)}
    rest = 0
    was: list[str] = []
    now: list[str] = []
    for step in steps:
        while rest < step.untouched:
            rest += 1
            was.append(f"rest{rest}")
            now.append(f"rest{rest}")
        was += [step.before] if step.before else []
        now += [step.after] if step.after else []
    assert [one for one in was if one not in named] == [one for one in now if one not in named]


def test_an_id_is_listed_once() -> None:
    drafts = change_rows(
        [Step("a", "b", 0), Step("b", "a", 0)], {"a": "1", "b": "1"}, {"a": "2", "b": "2"}
    )
    assert sorted(draft.block_id for draft in drafts) == ["a", "b"]
    assert Draft("a", "moved") in drafts or Draft("b", "moved") in drafts
