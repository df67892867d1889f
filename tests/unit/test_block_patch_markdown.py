"""Patches of real Markdown: the parser and the renderer in place of doubles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.markdown.join import anchored, join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.patch.patch import plan_patch
from shared.patch.rebase import Merger
from shared.patch.types import NOTHING_SEEN, NewBlock, Plan, Present, Seen
from shared.tree import Block
from tests.unit.patch_world import Doc, after, block_id, ops, texts

PIECES = [
    "# Title",
    "## Part",
    "A paragraph with **bold**, `code` and a [link](https://example.org).",
    "Another one, with *emphasis* and an ellipsis…",
    "- one\n- two\n  - three",
    "1. first\n2. second",
    "- [ ] to do\n- [x] done",
    "> A quote\n>\n> of two paragraphs",
    "```python\nprint('hello')\n```",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "---",
    "&nbsp;",
    "<div>\nraw\n</div>",
]


def canonical(block: Block) -> str:
    return render(block.node, block.hints).text


def parse_one(text: str) -> Block | None:
    blocks = parse(text).blocks
    return blocks[0] if len(blocks) == 1 else None


MERGER = Merger(parse_one, canonical)


def document(*pieces: str) -> Doc:
    blocks = parse(join(pieces)).blocks
    return [(block_id(f"b{n}x"), canonical(block)) for n, block in enumerate(blocks)]


def patch(now: Doc, markdown: str, seen: Seen) -> Plan:
    present = [Present.of(i, text) for i, text in now]
    new = [NewBlock.of(block, canonical(block)) for block in parse(markdown).blocks]
    return plan_patch(present, new, seen, merger=MERGER)


@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_what_was_read_patched_back_changes_nothing(pieces: list[str]) -> None:
    now = document(*pieces)
    anchors = [(Present.of(i, text).anchor, text) for i, text in now]
    for markdown in (join(texts(now)), anchored(anchors)):
        assert patch(now, markdown, NOTHING_SEEN) == Plan()
        assert patch(now, markdown, Seen.of_state(now)) == Plan()


@pytest.mark.parametrize(
    "base, theirs, ours, merged",
    [
        (
            "- milk and eggs\n- bread from the baker\n- apples and pears",
            "- milk and ten eggs\n- bread from the baker\n- apples and pears",
            "- milk and eggs\n- bread from the baker\n- apples and plums",
            "- milk and ten eggs\n- bread from the baker\n- apples and plums",
        ),
        (
            "| a | b |\n| --- | --- |\n| one | two |\n| three | four |",
            "| a | b |\n| --- | --- |\n| one | 2 |\n| three | four |",
            "| a | b |\n| --- | --- |\n| one | two |\n| three | four |\n| five | six |",
            "| a | b |\n| --- | --- |\n| one | 2 |\n| three | four |\n| five | six |",
        ),
    ],
)
def test_edits_of_two_items_of_one_block_are_merged(
    base: str, theirs: str, ours: str, merged: str
) -> None:
    was, now = document(base), document(theirs)
    result = after(now, patch(now, ours, Seen.of_state(was)))
    assert texts(result) == texts(document(merged))


@pytest.mark.parametrize("between", ["\n\n", "\n>\n"], ids=["two blocks", "one block"])
@pytest.mark.parametrize("second", ["> Words of a quote.", "> Other words, of another quote."])
@pytest.mark.parametrize("mine_first", [True, False])
def test_edits_of_two_neighbouring_quotes_are_both_made(
    between: str, second: str, *, mine_first: bool
) -> None:
    both = ["> Words of a quote.", second]
    longer = [f"{text} And more." for text in both]
    mine, theirs = ([longer[0], both[1]], [both[0], longer[1]])
    if not mine_first:
        mine, theirs = theirs, mine
    was, now = document(between.join(both)), document(between.join(theirs))
    plan = patch(now, between.join(mine), Seen.of_state(was))
    assert plan.conflicts == ()
    assert texts(after(now, plan)) == texts(document(between.join(longer)))


def test_an_edit_that_makes_two_blocks_of_one_does_not_merge() -> None:
    base = "One two three four five six seven eight nine ten."
    now = document(base.replace("two", "2"))
    ours = base.replace("six", "six\n\nand").replace("ten", "10")
    plan = patch(now, ours, Seen.of_state(document(base)))
    assert "2" in " ".join(texts(after(now, plan)))


def test_another_node_type_keeps_the_id() -> None:
    now = document("Some words that become a heading", "more text")
    plan = patch(now, "## Some words that become a heading\n\nmore text", Seen.of_state(now))
    assert ops(plan) == ["replace b0x ## Some words that become a heading"]
