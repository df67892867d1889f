"""Joining block texts: what stands between them depends on the texts alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.markdown.join import anchored, join, joined_chars
from shared.markdown.parse import parse

TEXTS = [
    *["words", "more 📊 words", "&nbsp;", "# Title", "- a", "-", "- [ ] a", "1. a", "2) b", "---"],
    *["---\na: b\n---", "[a]: b", "[a]", " [a]: b", "-words", "1.5", "```=yaml\nx\n```", "12"],
]


@pytest.mark.parametrize(
    "texts, document",
    [
        ([], ""),
        (["&nbsp;"], ""),
        (["a", "&nbsp;", "&nbsp;"], "a\n"),
        (["a", "&nbsp;", "b"], "a\n\n&nbsp;\n\nb\n"),
        (["- a", "- b"], "- a\n\n<!-- -->\n\n- b\n"),
        (["- [ ] a", "- [x] b"], "- [ ] a\n\n<!-- -->\n\n- [x] b\n"),
        (["1. a", "1. b"], "1. a\n\n<!-- -->\n\n1. b\n"),
        (["1. a", "1) b"], "1. a\n\n1) b\n"),
        (["- a", "1. b"], "- a\n\n1. b\n"),
        (["- [ ] a", "- b", "- [ ]"], "- [ ] a\n- b\n- [ ]\n"),
        (["-", "- a"], "-\n\n<!-- -->\n\n- a\n"),
        (["- a", "---", "- b"], "- a\n\n---\n\n- b\n"),
        (["---\na: b\n---", "c"], "---\na: b\n---\n\nc\n"),
        (["c", "---\na: b\n---"], "c\n\n```=yaml\na: b\n```\n"),
        (["c", "---\n---"], "c\n\n```=yaml\n```\n"),
        (["---", "a", "---"], "---\n\na\n\n---\n"),
        (["[a]: b", "[c]"], "[a]: b\n\n[c]\n"),
        (["[a]: b", "[A]"], "```=markdown\n[a]: b\n```\n\n[A]\n"),
        (["[a]: b", "\\[a]"], "[a]: b\n\n\\[a]\n"),
        (["[a]: b", "`[a]`"], "[a]: b\n\n`[a]`\n"),
        (["[a]: b", "[a]: c"], "[a]: b\n\n[a]: c\n"),
    ],
)
def test_what_stands_between_blocks(texts: list[str], document: str) -> None:
    assert join(texts) == document
    shown = [text for text in texts if text != "&nbsp;" or document != "a\n"]
    assert len(parse(document).blocks) == (len(shown) if document else 0)


def test_a_rule_at_the_start_is_no_front_matter_whatever_follows() -> None:
    document = join(["---", "a", "---"])
    assert [block.node.type for block in parse(document).blocks] == [
        "horizontalRule",
        "paragraph",
        "horizontalRule",
    ]


@given(st.lists(st.sampled_from(TEXTS), max_size=8))
def test_the_length_is_known_without_writing_the_document(texts: list[str]) -> None:
    assert joined_chars(texts) == len(join(texts))


def test_anchors_stand_above_their_blocks() -> None:
    pairs = [("aaaaaaaa-111111", "- [ ] a"), ("bbbbbbbb-222222", "- b"), ("cccccccc-333333", "- c")]
    text = anchored(pairs)
    assert text == (
        "[aaaaaaaa-111111]\n- [ ] a\n[bbbbbbbb-222222]\n- b\n\n<!-- -->\n\n[cccccccc-333333]\n- c\n"
    )
    assert [(block.anchor, block.source) for block in parse(text).blocks] == pairs


def test_a_join_of_a_generator_is_the_join_of_a_list() -> None:
    assert join(text for text in ("a", "b")) == join(["a", "b"])
