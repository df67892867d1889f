"""What 1 MB of Markdown costs: parsing it to blocks and rendering them, in CPU time.

Beside it the same text through markdown-it-py alone, as its authors set it up, which only makes
tokens. The two are measured in turn, so the machine's load is in both.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

from markdown_it import MarkdownIt
from pycrdt import Doc, XmlFragment

from bench.results import Row, alone, compared
from shared.limits import MAX_MARKDOWN_CHARS
from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.tree import Block, Node
from shared.yjs.build import insert_all

WORK: Final = "markdown"
PARSE_BAR: Final = 2.5  # parsing, against markdown-it-py's tokens
RENDER_BAR: Final = 1.5  # rendering, against parsing
_SEED: Final = 1
_PARAGRAPH_WORDS: Final = (10, 60)

WORDS: Final = (
    *("river", "stone", "of", "the", "a", "in", "cloud", "quiet", "snake_case", "3.14", "(see"),
    *("below)", "and", "north", "to", "that", "2*3", "Tübingen", "日本語", "end.", "so,", "it's"),
)
MARKED: Final = ("**{}**", "*{}*", "`{}`", "[{}](https://example.org/a_b)", "~~{}~~", "<u>{}</u>")


def text(chars: int = MAX_MARKDOWN_CHARS) -> str:
    """A long document as people write it: about 5,000 blocks in 1,000,000 characters."""
    rng = random.Random(_SEED)
    parts: list[str] = []
    length = 0
    while True:
        part = rng.choices(_KINDS, (10, 60, 12, 6, 6, 6))[0](rng)
        length += len(part) + 2
        if length > chars:
            return "\n\n".join(parts) + "\n"
        parts.append(part)


def _words(rng: random.Random, low: int, high: int) -> str:
    words = rng.choices(WORDS, k=rng.randint(low, high))
    for at in range(0, len(words), 9):
        words[at] = rng.choice(MARKED).format(words[at])
    return " ".join(words)


def _heading(rng: random.Random) -> str:
    return f"{'#' * rng.randint(1, 4)} {_words(rng, 2, 6)}"


def _paragraph(rng: random.Random) -> str:
    return _words(rng, *_PARAGRAPH_WORDS)


def _list(rng: random.Random) -> str:
    marker = rng.choice(("- ", "1. ", "- [ ] "))
    return "\n".join(marker + _words(rng, 3, 12) for _ in range(rng.randint(2, 6)))


def _code(rng: random.Random) -> str:
    lines = [f"    x{number} = call(y[{number}])" for number in range(rng.randint(2, 10))]
    return "\n".join(("```py", *lines, "```"))


def _table(rng: random.Random) -> str:
    rows = [f"| {_words(rng, 1, 3)} | {_words(rng, 1, 3)} |" for _ in range(rng.randint(2, 6))]
    return "\n".join((rows[0], "| --- | --: |", *rows[1:]))


def _quote(rng: random.Random) -> str:
    return f"> {_words(rng, 5, 30)}"


_KINDS: Final = (_heading, _paragraph, _list, _code, _table, _quote)


def plain_parser() -> MarkdownIt:
    """What the text costs whoever only wants tokens."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def rows(repeats: int) -> list[Row]:
    """Medians over `repeats` rounds, each step once a round."""
    source = text()
    plain = plain_parser()
    blocks = parse(source).blocks
    steps: dict[str, Callable[[], object]] = {
        "tokens": lambda: plain.parse(source),
        "parse": lambda: parse(source),
        "render": lambda: rendered(blocks),
        "insert": lambda: inserted([(block.node, "abcd1234") for block in blocks]),
    }
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            spent[name].append(cpu_ms(step))
    took = {name: statistics.median(figures) for name, figures in spent.items()}
    return [
        compared(WORK, "parse_ms_beside_tokens", took["parse"], took["tokens"], PARSE_BAR),
        compared(WORK, "render_ms_beside_parse", took["render"], took["parse"], RENDER_BAR),
        alone(WORK, "insert_ms", took["insert"]),
        alone(WORK, "characters", len(source)),
        alone(WORK, "blocks", len(blocks)),
    ]


def rendered(blocks: Sequence[Block]) -> str:
    """The Markdown of a document of these blocks."""
    return join(render(block.node, block.hints).text for block in blocks)


def inserted(blocks: Sequence[tuple[Node, str | None]]) -> Doc[XmlFragment]:
    """A new Yjs document of these blocks."""
    doc: Doc[XmlFragment] = Doc()
    root = doc.get("default", type=XmlFragment)
    with doc.transaction():
        insert_all(root, 0, blocks)
    return doc


def cpu_ms(step: Callable[[], object]) -> float:
    """CPU time of this process, milliseconds."""
    gc.collect()
    begun = time.process_time()
    step()
    return (time.process_time() - begun) * 1_000
