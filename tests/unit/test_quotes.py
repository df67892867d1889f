"""What may be quoted, where a quote stands, and that a jump finds every quote that was taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.discussion.flat import Flat, flatten, textblocks
from shared.discussion.quotes import find, place_quote
from shared.errors import InvalidArgument
from shared.markdown.parse import parse
from shared.stored_annotations import TextRange
from shared.tree import Node, Text
from tests.amount import amount

MANDATED: Final = (
    "quote: copy plain text from one paragraph under this heading, with no Markdown, that appears"
    " once in the document."
)
TEXT: Final = """# Plan

Ship the **first** [version](https://x.y) on Friday.

- twice said
- an item

| a | b |
|---|---|
| twice said | a cell |

one\\
two ![alt](p.png) three aaa

## Sub

Below the sub section.

```
code line
next line
```

# Other title

Under the other one. Under the Plan.
"""
VECTORS: Final = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "quotes.json").read_text(encoding="utf-8")
)


def world(markdown: str) -> dict[str, Flat]:
    return {str(n): flatten(block.node) for n, block in enumerate(parse(markdown).blocks)}


def check(quote: str, markdown: str = TEXT, inside: range = range(1, 5)) -> TextRange:
    flats = world(markdown)
    place = place_quote(quote, tuple(flats), flats.__getitem__, inside)
    flat = flats[place.block_id]
    start = flat.start_of(place)
    assert start is not None
    assert flat.text[start : start + place.end - place.start] == quote.strip()
    return place


@pytest.mark.parametrize(
    "quote",
    [
        "Ship",
        "the first version on",
        "an item",
        "a cell",
        " an item ",
        "two",
        "three",
    ],
)
def test_plain_text_of_one_textblock_is_taken(quote: str) -> None:
    check(quote)


@pytest.mark.parametrize(
    "quote",
    [
        *("", "   ", "\u00a0", "nowhere", "Ship THE"),
        *("twice said", "aa", "i"),  # more than once: in blocks, overlapping, in one block
        *("Below the sub", "code line", "Under the other one", "Plan", "Sub"),  # elsewhere
        *("item twice", "one two", "onetwo", "two three", "two  three"),
        *(f"Ship{end}the" for end in "\r\n\v\f\u0085\u2028\u2029"),
        *(f"Ship{end}" for end in "\r\n\v\f\u0085\u2028\u2029"),
    ],
)
def test_everything_else_is_refused_in_the_same_words(quote: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check(quote)
    assert refused.value.message == MANDATED
    assert refused.value.data["field"] == "quote"


def test_a_quote_has_five_hundred_characters_at_most() -> None:
    long = "📊" * 499 + "."
    check(long, f"# T\n\n{long}", range(1, 2))
    with pytest.raises(InvalidArgument) as refused:
        check(long + "x", f"# T\n\n{long}x", range(1, 2))
    assert refused.value.message == f"{MANDATED[:-1]}, at most 500 characters."


@pytest.mark.parametrize(
    "quote, plain",
    [
        ("the **first** [version](https://x.y) on", "the first version on"),
        ("- an item", "an item"),
        ("Ship\nthe", "Ship the"),
        ("`an item`", "an item"),
        ("**nowhere**", None),
        ("*twice said*", None),
        ("## Below the sub section.", None),
    ],
)
def test_markdown_is_answered_with_how_it_reads(quote: str, plain: str | None) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check(quote)
    assert refused.value.message == MANDATED
    assert refused.value.data.get("suggestion") == plain
    if plain is not None:
        check(plain)


def test_a_heading_or_code_of_the_same_words_counts() -> None:
    for other in ("# the words", "    the words", "```\nthe words\n```", "> the words"):
        with pytest.raises(InvalidArgument):
            check("the words", f"# T\n\nthe words\n\n# X\n\n{other}", range(1, 2))
    check("the words", "# T\n\nthe words\n\n# X\n\nother words", range(1, 2))


def test_the_place_is_textblock_and_code_points() -> None:
    place = check("item", "# T\n\n- a\n- 📊📊 item", range(1, 2))
    assert place == TextRange("1", (1, 0), 3, 7)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: str(one["name"]))
def test_the_vectors_an_editor_answers_too(vector: Any) -> None:
    nodes = [_paragraph(content) for content in vector["blocks"]]
    texts = [line for one in nodes for line in _texts(one)]
    found = find(vector["quote"], texts)
    assert (None if found is None else list(found)) == vector["found"]


def _paragraph(content: list[Any]) -> Node:
    parts = [piece for run in content for piece in (run if isinstance(run, list) else [run])]
    inside = (Node("hardBreak") if part is None else Text(part) for part in parts)
    return Node("paragraph", {}, tuple(inside))


def _texts(node: Node) -> list[str]:
    return [text for _, text in textblocks(node)]


words = st.text(st.sampled_from("ab \u00a0📊\n\x1c"), max_size=6)
runs = st.lists(st.one_of(words.filter(bool), st.none()), max_size=4)


@settings(max_examples=amount(200, 5000), deadline=None)
@given(blocks=st.lists(runs, min_size=1, max_size=4), quote=words)
def test_a_jump_finds_every_quote_that_was_taken(
    blocks: list[list[str | None]], quote: str
) -> None:
    nodes = [_paragraph([content]) for content in blocks]
    flats = {str(n): flatten(one) for n, one in enumerate(nodes)}
    try:
        place = place_quote(quote, tuple(flats), flats.__getitem__, range(len(nodes)))
    except InvalidArgument:
        return
    texts = [line for one in nodes for line in _texts(one)]
    found = find(quote, texts)
    assert found is not None
    number, start, end = found
    before = sum(len(_texts(one)) for one in nodes[: int(place.block_id)])
    assert (number - before, start, end) == (0, place.start, place.end)
