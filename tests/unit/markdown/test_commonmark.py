"""The 652 examples of CommonMark 0.31.2: HTML before equals HTML after a trip through trees."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from markdown_it import MarkdownIt

from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon, check
from tests.commonmark import EXAMPLES

SHARE: Final = 0.98

# Examples whose HTML changes, each with the reason. No text is lost in any of them.
EXCEPTIONS: Final = {
    149: "a table of the subset read back becomes a table of the document",
    160: "a table of the subset read back becomes a table of the document",
    173: "HTML that would swallow what follows is fenced",
    301: "two lists that only their bullets kept apart are kept apart by a comment",
    309: "a comment that ended a list is not needed before code",
    317: "a link definition inside a list is fenced, lest it bind text elsewhere",
    545: "a link definition that the literal text beside it would bind to is fenced",
    563: "a link definition that the literal text beside it would bind to is fenced",
    592: "a link definition that the literal text beside it would bind to is fenced",
}


def _reader() -> MarkdownIt:
    md: Any = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    md.validateLink = lambda _url: True
    md.normalizeLink = md.normalizeLinkText = lambda url: url
    assert isinstance(md, MarkdownIt)
    return md


READER: Final = _reader()
_EXACT: Final = re.compile(r"(<pre[ >].*?</pre>|<code>.*?</code>)", re.DOTALL)
_AROUND_BLOCKS: Final = re.compile(
    r"\s*(<(?:br|/?(?:p|ul|ol|li|blockquote|pre|h[1-6]|hr|table|thead|tbody|tr|td|th))\b[^>]*>)\s*"
)


def html(text: str) -> str:
    """HTML with white space outside `pre` and `code` collapsed, and one spelling of equal marks.

    A mark is there or not: emphasis inside the same emphasis is one, in any editor. GFM's `<del>`
    is markdown-it's `<s>`.
    """
    parts = _EXACT.split(READER.render(text))
    spaced = [part if odd % 2 else re.sub(r"\s+", " ", part) for odd, part in enumerate(parts)]
    joined = _AROUND_BLOCKS.sub(r"\1", "".join(spaced)).replace("<br />", "<br>")
    return _once(re.sub(r"<(/?)del>", r"<\1s>", joined)).strip()


def _once(text: str) -> str:
    """`text` without the tags of emphasis that stands inside the same emphasis."""
    depth = {"em": 0, "strong": 0, "s": 0}

    def keep(match: re.Match[str]) -> str:
        closing, tag = match.groups()
        depth[tag] -= bool(closing)
        shown = not depth[tag]
        depth[tag] += not closing
        return match[0] if shown else ""

    return re.sub(r"<(/?)(em|strong|s)>", keep, text)


def after(text: str) -> str:
    return join([render(block.node, block.hints).text for block in parse(text).blocks])


def words(text: str) -> list[str]:
    """What a reader reads: HTML without its tags."""
    return re.findall(r"\w+", re.sub(r"<[^>]*>", " ", text))


def test_all_examples_are_there() -> None:
    assert len(EXAMPLES) == 652


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["example"]))
def test_html_is_the_same_after_a_trip_through_trees(example: dict[str, Any]) -> None:
    text = example["markdown"]
    same = html(after(text)) == html(text)
    assert same == (example["example"] not in EXCEPTIONS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["example"]))
def test_a_second_trip_changes_nothing(example: dict[str, Any]) -> None:
    once = after(example["markdown"])
    assert after(once) == once
    first, second = parse(example["markdown"]).blocks, parse(once).blocks
    assert [canon(block.node) for block in second] == [canon(block.node) for block in first]
    assert all(check(block.node) is None for block in first)


@pytest.mark.parametrize("number", sorted(EXCEPTIONS))
def test_exceptions_lose_no_text(number: int) -> None:
    text = EXAMPLES[number - 1]["markdown"]
    before, then = words(READER.render(text)), words(READER.render(after(text)))
    missing = list(before)
    for word in then:
        if word in missing:
            missing.remove(word)
    assert missing == []


def test_enough_examples_are_the_same() -> None:
    assert len(EXCEPTIONS) <= len(EXAMPLES) * (1 - SHARE)
