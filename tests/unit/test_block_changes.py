from __future__ import annotations

import pytest

from shared.feed.block_changes import ChangeLog, Draft, Kind, Page, Row
from shared.feed.cursor import Cursor
from shared.limits import MIN_CHANGE_ROWS

KINDS: dict[str, Kind] = {"+": "added", "-": "removed", ">": "moved", "~": "changed"}


def log_of(*transactions: str) -> ChangeLog:
    """`"bob: a+ b-"`: bob added a and removed b in one transaction; ann when nobody is named."""
    log = ChangeLog()
    for at, transaction in enumerate(transactions):
        who, _, rows = transaction.rpartition(":")
        drafts = [Draft(row[0], KINDS[row[1]]) for row in rows.split()]
        log.append(drafts, who or "ann", at, blocks=3)
    return log


def told(page: Page) -> list[tuple[str, str, str | None]]:
    return [(entry.block_id, entry.change, entry.after) for entry in page.entries]


def ask(log: ChangeLog, seq: int, order: str, **options: object) -> Page:
    arguments = {"max_chars": 1_000, "exclude": None, "cut": False} | options
    cursor = Cursor(seq, cut=bool(arguments.pop("cut")))
    return log.page(cursor, list(order), lambda _: 10, **arguments)  # type: ignore[arg-type]


def test_nothing_changed_is_an_empty_page_at_the_same_place() -> None:
    log = log_of("a~")
    page = ask(log, 1, "abc")
    assert page == Page((), (), 1, cut=False, more=False)


def test_the_first_cursor_of_an_empty_log_is_not_too_old() -> None:
    page = ask(ChangeLog(), 0, "abc")
    assert page == Page((), (), 0, cut=False, more=False)


def test_repeated_edits_of_a_block_come_as_one_entry() -> None:
    log = log_of(*["b~"] * 10)
    page = ask(log, 0, "abc")
    assert told(page) == [("b", "changed", "a")]
    assert page.seq == 10


def test_entries_stand_in_document_order_not_in_the_order_of_the_edits() -> None:
    log = log_of("c~", "a~")
    assert told(ask(log, 0, "abc")) == [("a", "changed", None), ("c", "changed", "b")]


def test_a_block_added_and_typed_in_since_is_added() -> None:
    log = log_of("b+", "b~", "b>")
    assert told(ask(log, 0, "ab")) == [("b", "added", "a")]
    assert told(ask(log, 1, "ab")) == [("b", "moved", "a")]


def test_a_block_that_was_there_and_is_gone_is_removed() -> None:
    log = log_of("b~", "b-")
    page = ask(log, 0, "ac")
    assert (page.removed, page.entries) == (("b",), ())


def test_a_block_that_came_and_went_is_not_mentioned() -> None:
    log = log_of("b+", "b-")
    page = ask(log, 0, "ac")
    assert (page.removed, page.entries, page.seq) == ((), (), 2)
    assert ask(log, 1, "ac").removed == ("b",)


def test_a_block_that_came_and_went_is_removed_for_whoever_wrote_it_in_between() -> None:
    """The answer to that write told of it, whatever the cursor of its author."""
    log = log_of("bob: b+", "ann: b~", "bob: b-")
    assert ask(log, 0, "ac", reader="ann").removed == ("b",)
    assert ask(log, 0, "ac", reader="eve").removed == ()
    assert ask(log, 2, "ac", reader="ann").removed == ("b",)  # there when she read
    assert ask(log, 3, "ac", reader="ann").removed == ()


def test_a_block_that_went_and_came_back_has_moved() -> None:
    log = log_of("b-", "b+")
    page = ask(log, 0, "abc")
    assert page.removed == ()
    assert told(page) == [("b", "moved", "a")]


def test_a_block_that_went_came_back_and_went_is_removed() -> None:
    log = log_of("b-", "b+", "b-")
    assert ask(log, 0, "ac").removed == ("b",)
    assert ask(log, 1, "ac").removed == ()


def test_a_page_goes_by_last_rows_and_names_no_block_still_to_come() -> None:
    log = log_of("y+", "x+")
    first = ask(log, 0, "xy", max_chars=10)
    assert told(first) == [("y", "added", None)]  # x stands before it and comes later
    assert (first.seq, first.cut, first.more) == (1, True, True)
    second = ask(log, first.seq, "xy", max_chars=10, cut=True)
    assert told(second) == [("x", "added", None)]
    assert (second.seq, second.cut, second.more) == (2, False, False)


def test_one_block_is_given_however_long_it_is() -> None:
    log = log_of("a~", "b~")
    page = ask(log, 0, "ab", max_chars=1)
    assert told(page) == [("a", "changed", None)]
    assert page.more


def test_what_fits_exactly_is_not_cut() -> None:
    log = log_of("a~", "b~")
    page = ask(log, 0, "ab", max_chars=20)
    assert (page.more, page.cut, len(page.entries)) == (False, False, 2)


def test_from_a_cut_cursor_every_block_that_is_gone_is_named() -> None:
    log = log_of("b+", "b-")
    assert ask(log, 0, "ac", cut=True).removed == ("b",)


def test_a_removal_past_the_cut_waits_for_its_page() -> None:
    log = log_of("a~", "b~", "c-")
    first = ask(log, 0, "ab", max_chars=10)
    assert (first.removed, first.more) == ((), True)
    assert ask(log, first.seq, "ab", cut=True).removed == ("c",)


def test_own_blocks_are_left_out_unless_somebody_else_touched_them() -> None:
    log = log_of(
        "ann: a~ b~",
        "bob: b~",
        "ann: c-",
    )
    page = ask(log, 0, "ab", exclude="ann")
    assert [entry.block_id for entry in page.entries] == ["b"]
    assert (page.removed, page.seq) == ((), 4)
    assert ask(log, 2, "ab", exclude="bob").removed == ("c",)


def test_those_who_changed_a_block_are_named_the_latest_last() -> None:
    log = log_of("ann: a~", "bob: a~", "ann: a~")
    assert ask(log, 0, "a").entries[0].principals == ("bob", "ann")
    assert ask(log, 2, "a").entries[0].principals == ("ann",)


def test_a_row_supersedes_the_last_of_its_kind_block_and_principal() -> None:
    log = log_of("ann: a~", "bob: a~")
    appended = log.append([Draft("a", "changed")], "ann", 5, blocks=1)
    assert appended.superseded == (1,)
    assert [row.seq for row in appended.rows] == [3]
    appended = log.append([Draft("a", "moved")], "ann", 6, blocks=1)
    assert appended.superseded == ()
    assert log.append([Draft("a", "changed")], "ann", 7, blocks=1).superseded == (3,)


def test_a_coming_or_going_in_between_keeps_the_row_before_it() -> None:
    log = log_of("a~", "a-", "a+")
    assert log.append([Draft("a", "changed")], "ann", 9, blocks=1).superseded == ()


def test_typing_a_hundred_thousand_times_leaves_one_row_a_principal() -> None:
    log = ChangeLog()
    for at in range(10_000):
        log.append([Draft("a", "changed")], ("ann", "bob")[at % 2], at, blocks=1)
    assert len(log) == 2
    assert log.head == 10_000
    assert log.floor == 0
    assert told(ask(log, 5, "a")) == [("a", "changed", None)]


def test_past_the_cap_whole_transactions_go_and_the_floor_rises_to_the_end_of_one() -> None:
    log = ChangeLog()
    for at in range(60):
        rows = [Draft(f"b{at}-{n}", "added") for n in range(100)]
        assert log.append(rows, "ann", at, blocks=0).floor == log.floor
    assert len(log) == MIN_CHANGE_ROWS
    assert log.floor == 1_000
    assert ask(log, 999, "").too_old
    assert not ask(log, 1_000, "").too_old


def test_the_cap_grows_with_the_document() -> None:
    log = ChangeLog()
    for at in range(60):
        log.append([Draft(f"b{at}-{n}", "added") for n in range(100)], "ann", at, blocks=2_000)
    assert (len(log), log.floor) == (6_000, 0)


def test_one_transaction_larger_than_the_cap_is_kept_for_who_is_one_step_behind() -> None:
    log = log_of("x~")
    log.append([Draft(f"b{n}", "removed") for n in range(MIN_CHANGE_ROWS + 50)], "ann", 7, blocks=0)
    assert log.floor == 1
    assert not ask(log, 1, "").too_old
    assert ask(log, 0, "").too_old


def test_too_old_tells_the_head_and_nothing_else() -> None:
    log = ChangeLog([Row(8, "a", "changed", "ann", 0)], head=9, floor=7)
    assert ask(log, 6, "a") == Page((), (), 9, cut=False, more=False, too_old=True)
    assert told(ask(log, 7, "a")) == [("a", "changed", None)]


def test_numbers_go_on_from_the_stored_head_not_from_the_last_row() -> None:
    log = ChangeLog([Row(3, "a", "changed", "ann", 0)], head=9)
    appended = log.append([Draft("a", "changed")], "ann", 1, blocks=1)
    assert [row.seq for row in appended.rows] == [10]
    assert appended.superseded == (3,)


def test_texts_are_asked_for_only_as_far_as_the_page_goes() -> None:
    log = log_of(*[f"{block}~" for block in "abcdefgh"])
    asked: list[str] = []

    def size(block_id: str) -> int:
        asked.append(block_id)
        return 10

    log.page(Cursor(0), list("abcdefgh"), size, 25, None)
    assert asked == ["a", "b", "c"]


@pytest.mark.parametrize("seq, others", [(0, True), (1, True), (2, False), (3, False)])
def test_whether_others_touched_anything_since(seq: int, others: bool) -> None:
    log = log_of("ann: a~", "bob: b~", "ann: c~")
    assert log.others_since(seq, "ann") is others


def test_rows_of_each_block_since_a_number() -> None:
    log = log_of("ann: a+", "bob: a~ b-")
    since = log.touched_since(1)
    assert {block_id: [row.seq for row in rows] for block_id, rows in since.items()} == {
        "b": [3],
        "a": [2],
    }
