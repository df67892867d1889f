"""What must hold of changes between any two states."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from shared.history.changes import ChangeCounts, Changes, changed_sections, changes
from shared.history.pairing import Item, pair
from shared.history.sections import flat_sections, shown
from shared.history.states import PastBlock
from shared.history.words import count_words
from shared.tree import Node
from tests.unit.history.pages import of_nodes, page
from tests.unit.markdown.trees import paragraphs

WORDS = st.sampled_from(["one", "two", "three", "four", "five"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
HEADINGS = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 3), SENTENCES)
BLOCKS = st.tuples(
    st.sampled_from([f"b{n}" for n in range(8)]),
    st.one_of(SENTENCES, HEADINGS, SENTENCES.map(lambda text: f"- {text}"), st.just("---")),
)
PAGES = st.lists(BLOCKS, max_size=8, unique_by=lambda block: block[0]).map(
    lambda blocks: page(*blocks)
)
ITEMS = st.lists(
    st.builds(Item, st.sampled_from([f"i{n}" for n in range(7)]), st.integers(0, 3)),
    max_size=7,
    unique_by=lambda item: item.id,
)


def words_of(blocks: Sequence[PastBlock]) -> int:
    return count_words(block.block.node for block in blocks)


@given(PAGES, PAGES)
def test_words_balance(before: tuple[PastBlock, ...], after: tuple[PastBlock, ...]) -> None:
    counts = changes(before, after).counts
    assert counts.words_added - counts.words_removed == words_of(after) - words_of(before)


@given(PAGES)
def test_a_state_is_not_changed_from_itself(state: tuple[PastBlock, ...]) -> None:
    assert changes(state, state, by_block=True) == Changes(ChangeCounts())


@given(PAGES)
def test_ids_alone_are_no_change(state: tuple[PastBlock, ...]) -> None:
    renamed = tuple(PastBlock(f"x{one.block_id}", one.block, one.text) for one in state)
    assert not changes(state, renamed).counts.any


@given(PAGES, PAGES)
def test_every_section_is_told_of_once_or_is_what_and_where_it_was(
    before: tuple[PastBlock, ...], after: tuple[PastBlock, ...]
) -> None:
    old, new = flat_sections(shown(before)), flat_sections(shown(after))
    found = list(changed_sections(old, new))
    gone = [one.section_id for one in found if one.status == "removed"]
    here = [one.section_id for one in found if one.status != "removed"]
    assert len(set(gone)) == len(gone)
    assert [one.section_id for one in new if one.section_id in here] == here
    touched = {*gone, *here}
    stays = [one for one in new if one.section_id not in touched]
    reads = [[block.text for block in one.blocks] for one in stays]
    was = [[block.text for block in one.blocks] for one in old]
    rest = iter(was)
    assert all(text in rest for text in reads if text), "what is not told of kept its order"


@given(PAGES, st.integers(0, 8), HEADINGS)
def test_a_section_put_in_moves_no_other(
    state: tuple[PastBlock, ...], at: int, heading: str
) -> None:
    starts = [n for n, block in enumerate(state) if block.text.startswith("#")] or [len(state)]
    place = starts[at % len(starts)]
    after = (*state[:place], *page(("new", heading)), *state[place:])
    counts = changes(state, after).counts
    assert (counts.moved, counts.removed, counts.changed) == (0, 0, 0)


@given(ITEMS, ITEMS)
def test_pairing_names_each_item_once_and_moves_only_what_reads_alike(
    before: list[Item], after: list[Item]
) -> None:
    found = pair(before, after)
    assert sorted(p.before for p in found if p.before is not None) == list(range(len(before)))
    assert [p.after for p in found if p.after is not None] == list(range(len(after)))
    stayed = []
    for paired in found:
        if paired.before is None or paired.after is None:
            assert not paired.moved
        elif paired.moved:
            assert before[paired.before].content == after[paired.after].content
        elif before[paired.before].content == after[paired.after].content:
            stayed.append(paired.before)
    assert stayed == sorted(stayed)


@given(st.lists(paragraphs(), max_size=4), st.lists(paragraphs(), max_size=4))
def test_any_text_is_measured(before: list[Node], after: list[Node]) -> None:
    old = of_nodes((f"o{n}", node) for n, node in enumerate(before))
    new = of_nodes((f"o{n}", node) for n, node in enumerate(after))
    found = changes(old, new, by_block=True)
    assert found.counts.words_added - found.counts.words_removed == words_of(new) - words_of(old)
