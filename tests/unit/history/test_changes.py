"""What changed between two states, by section and by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from shared.history import changes as module
from shared.history.changes import ChangeCounts, Changes, SectionChange, changes
from shared.history.states import PastBlock
from shared.limits import MAX_CHANGED_BLOCKS, MAX_CHANGED_SECTIONS, MAX_EXCERPT_CHARS
from shared.tree import Node
from tests.unit.history.pages import Written, of_nodes, page

Find = Callable[[Sequence[PastBlock], Sequence[PastBlock]], Changes]
A: tuple[Written, ...] = (("a", "# Alpha"), ("a1", "First words here."))
B: tuple[Written, ...] = (("b", "## Beta"), ("b1", "Second words."))
C: tuple[Written, ...] = (("c", "## Gamma"), ("c1", "Third."))


def only(found: Changes) -> SectionChange:
    (change,) = found.sections
    return change


def statuses(found: Changes) -> list[tuple[str, str | None]]:
    return [(change.status, change.section_id) for change in found.sections]


def test_nothing_changed() -> None:
    assert changes(page(*A, *B), page(*A, *B), by_block=True) == Changes(ChangeCounts())


def the_rows_are_right(find: Find) -> None:
    """What must hold of the projection: what is unchanged or has no name is not listed."""
    before = page(("p", "An opening."), *A, *B)
    after = page(("p", "Another opening."), *A, ("b", "## Beta"), ("b1", "Second thoughts."))
    found = find(before, after)
    assert statuses(found) == [("changed", "b")]
    assert found.counts == ChangeCounts(changed=2, words_added=2, words_removed=2)


def test_what_is_unchanged_or_nameless_is_not_listed_and_the_counts_know_it() -> None:
    the_rows_are_right(changes)


def test_without_the_filter_that_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_changed", lambda _old, _new, _paired: True)
    with pytest.raises(AssertionError):
        the_rows_are_right(changes)


def test_a_heading_without_words_has_no_name() -> None:
    nameless = of_nodes([("x", Node("heading", {"level": 2})), ("x1", Node("paragraph"))])
    found = changes(page(*A), (*page(*A), *nameless, *page(*B)))
    assert statuses(found) == [("added", "b")]
    assert found.counts.added == 2


def test_added_removed_changed_and_moved() -> None:
    before = page(*A, *B, *C)
    after = page(*C, ("a", "# Alpha"), ("a1", "First new words here, and more."), ("d", "## Delta"))
    found = changes(before, after)
    assert statuses(found) == [("changed", "a"), ("removed", "b"), ("added", "d")]
    assert found.counts == ChangeCounts(1, 1, 1, 0, words_added=5, words_removed=4)


def test_four_words_more_and_a_section_that_came() -> None:
    longer = ("a1", "First words here. And four more words.")
    change = only(changes(page(*A), page(A[0], longer)))
    assert (change.status, change.words_added, change.words_removed) == ("changed", 4, 0)
    assert change.excerpt == "And four more words."
    came = only(changes(page(*A), page(*A, ("n", "## New one"), ("n1", "with three words"))))
    assert (came.words_added, came.words_removed) == (5, 0)
    assert (came.excerpt, came.removed_excerpt) == ("with three words", "")


def test_a_section_that_went_says_what_it_was() -> None:
    change = only(changes(page(*A, *B), page(*A)))
    assert change == SectionChange("removed", "b", "Beta", 0, 3, "", "Second words.")


def test_one_word_for_another_is_that_word() -> None:
    change = only(changes(page(A[0], ("a1", "Hello alpha")), page(A[0], ("a1", "Hello beta"))))
    assert (change.excerpt, change.removed_excerpt) == ("beta", "alpha")
    assert (change.words_added, change.words_removed) == (1, 1)


@pytest.mark.parametrize(
    "before, after",
    [
        ("plain words", "plain **words**"),
        ("[link](http://a.example)", "[link](http://b.example)"),
        ("- one\n- two", "- one\n\n- two"),
        ("![pear](a.png)", "![pear](b.png)"),
        ("```py\nx\n```", "```js\nx\n```"),
        ("two words", "two\u00a0words"),
        ("a star \u2b50", "a star \u2b50\ufe0f"),
    ],
)
def test_what_only_looks_different_has_no_measure(before: str, after: str) -> None:
    change = only(changes(page(A[0], ("a1", before)), page(A[0], ("a1", after))))
    assert change == SectionChange("changed", "a", "Alpha")


def test_another_level_of_the_heading_has_no_measure() -> None:
    found = changes(page(*A), page(("a", "### Alpha"), A[1]))
    assert only(found) == SectionChange("changed", "a", "Alpha")
    assert found.counts == ChangeCounts(changed=1)


def test_a_paragraph_made_a_list_is_measured_though_no_word_came() -> None:
    change = only(changes(page(A[0], ("a1", "words")), page(A[0], ("a1", "- words"))))
    assert (change.words_added, change.words_removed, change.excerpt) == (0, 0, "")


def test_an_image_is_a_word_in_the_excerpt_and_in_no_count() -> None:
    change = only(changes(page(*A), page(*A, ("a2", "![pear](pear.png)"))))
    assert (change.words_added, change.excerpt) == (0, "image")
    came = only(changes(page(*A), page(*A, ("i", "## Picture"), ("i1", "![pear](pear.png)"))))
    assert (came.words_added, came.excerpt) == (1, "image")


def test_the_widest_passage_is_shown_on_one_line_and_cut() -> None:
    text = "First words here. " + "word " * 60 + "and\\\nthe end"
    change = only(changes(page(*A), page(A[0], ("a1", text))))
    assert len(change.excerpt) <= MAX_EXCERPT_CHARS
    assert change.excerpt.startswith("word word")
    assert "\n" not in change.excerpt
    two = "New at the front. First words here. And this is the widest passage of them."
    change = only(changes(page(*A), page(A[0], ("a1", two))))
    assert change.excerpt == "And this is the widest passage of them."


def test_of_two_that_changed_places_the_first_is_told_as_moved() -> None:
    assert statuses(changes(page(*A, *B), page(*B, *A))) == [("moved", "a")]


def test_a_section_put_in_between_moves_nothing() -> None:
    found = changes(page(*A, *B, *C), page(("n", "# New"), *A, ("m", "# Mid"), *B, *C))
    assert statuses(found) == [("added", "n"), ("added", "m")]


def test_moved_and_written_into_is_changed() -> None:
    found = changes(page(*A, *B), page(("b", "## Beta"), ("b1", "Rewritten."), *A))
    assert statuses(found) == [("changed", "b")]


def test_sections_end_at_the_next_heading_of_any_level() -> None:
    after = page(*A, ("b", "## Beta"), ("b1", "Second words indeed."))
    assert statuses(changes(page(*A, *B), after)) == [("changed", "b")]


def test_other_ids_on_the_same_text_are_no_change() -> None:
    renamed = tuple((f"x{block_id}", text) for block_id, text in (*A, *B))
    assert changes(page(*A, *B), page(*renamed), by_block=True) == Changes(ChangeCounts())


def test_a_new_id_on_new_text_is_one_that_went_and_one_that_came() -> None:
    found = changes(page(*A, *B), page(*A, ("x", "## Beta"), ("x1", "Something else.")))
    assert statuses(found) == [("removed", "b"), ("added", "x")]


def test_before_the_first_commit_everything_is_new() -> None:
    assert statuses(changes((), page(*A, *B))) == [("added", "a"), ("added", "b")]


def test_empty_paragraphs_at_the_end_are_an_editors_own() -> None:
    empty = of_nodes([("e", Node("paragraph")), ("e2", Node("paragraph"))])
    assert changes(page(*A), (*page(*A), *empty), by_block=True) == Changes(ChangeCounts())


def test_sixty_sections_are_fifty_and_ten_left_out() -> None:
    many = [(f"s{n}", f"# Section {n}") for n in range(60)]
    found = changes((), page(*many))
    assert [one.section_id for one in found.sections] == [f"s{n}" for n in range(50)]
    assert MAX_CHANGED_SECTIONS == 50
    assert (found.left_out, found.counts.added) == (10, 60)


def test_titles_are_on_one_line_and_bounded() -> None:
    title = "Fake<br>line " + "x" * 300
    change = only(changes((), page(("t", f"# {title}"))))
    assert change.title.startswith("Fake line")
    assert len(change.title) == 200


def test_blocks_say_where_they_are_and_what_they_read_like() -> None:
    after = page(("p", "Opening."), *B, A[0], ("a1", "First words **here**."))
    found = changes(page(*A, *B, *C), after, by_block=True)
    told = [
        (b.status, b.block_id, b.section_id, b.words_added, b.words_removed) for b in found.blocks
    ]
    assert told == [
        ("added", "p", None, 1, 0),
        ("removed", "c", "c", 0, 1),
        ("removed", "c1", "c", 0, 1),
        ("moved", "a", "a", None, None),
        ("changed", "a1", "a", None, None),
    ]
    texts = {block.block_id: block.text for block in found.blocks}
    assert (texts["a1"], texts["c1"]) == ("First words **here**.", "Third.")


def test_blocks_too_are_bounded() -> None:
    many = [(f"s{n}", f"Paragraph {n}") for n in range(MAX_CHANGED_BLOCKS + 7)]
    found = changes((), page(*many), by_block=True)
    assert (len(found.blocks), found.blocks_left_out) == (MAX_CHANGED_BLOCKS, 7)
    assert found.sections == ()
