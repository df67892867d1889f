"""GFM cases: HTML before equals HTML after a trip through trees; a second trip changes nothing."""

from __future__ import annotations

import re
from typing import Final

import pytest

from shared.markdown.parse import parse
from shared.markdown.schema import canon, check
from tests.commonmark import EXAMPLES
from tests.unit.markdown import test_commonmark
from tests.unit.markdown.gfm import CASES
from tests.unit.markdown.test_commonmark import SHARE, after

# Cases whose HTML changes, each with the reason. No text is lost in any of them.
EXCEPTIONS: Final = {
    "table: a long row": "cells beyond the last column join it, where GFM drops them",
}
_TAGS: Final = re.compile(r"(?:<(?:s|em|strong|a [^>]*)>){2,}|(?:</(?:s|em|strong|a)>){2,}")
_TICKED: Final = re.compile(r"(<li>(?:<p>)?)\[X\]")


def html(text: str) -> str:
    """As for CommonMark; marks around the same words have no order, and a box is ticked or not."""
    shown = _TICKED.sub(r"\1[x]", test_commonmark.html(text))
    return _TAGS.sub(lambda tags: "".join(sorted(re.findall("<[^>]*>", tags[0]))), shown)


@pytest.mark.parametrize("name", CASES)
def test_html_is_the_same_after_a_trip_through_trees(name: str) -> None:
    same = html(after(CASES[name])) == html(CASES[name])
    assert same == (name not in EXCEPTIONS)


@pytest.mark.parametrize("name", CASES)
def test_a_second_trip_changes_nothing(name: str) -> None:
    once = after(CASES[name])
    assert after(once) == once
    first, second = parse(CASES[name]).blocks, parse(once).blocks
    assert [canon(block.node) for block in second] == [canon(block.node) for block in first]
    assert all(check(block.node) is None for block in first)


def test_enough_examples_and_cases_are_the_same() -> None:
    exceptions = len(EXCEPTIONS) + len(test_commonmark.EXCEPTIONS)
    assert exceptions <= (len(CASES) + len(EXAMPLES)) * (1 - SHARE)
