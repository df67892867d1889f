"""How the cost of Markdown grows with the text, drawn: straight lines for any text.

    python -m bench.growth [chars]

draws it anew, up to that many characters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bench.markdown import cpu_ms, inserted, plain_parser, rendered, text
from bench.results import FOLDER
from shared.limits import MAX_MARKDOWN_CHARS
from shared.markdown.parse import parse

STEPS: Final = 5  # sizes: the largest, halved so many times less one
_LINE: Final = "The quick brown fox jumps over the lazy dog by the river and the stone. "

# What a parser or a differ may find hard: what comes first, what is repeated, and what closes it.
SHAPES: Final[Mapping[str, tuple[str, str, str]]] = {
    "one paragraph": ("", _LINE, ""),
    "one list": ("", f"- {_LINE}\n", ""),
    "one list of words": ("", "- fox\n", ""),
    "one table": ("| a | b |\n| --- | --- |\n", f"| {_LINE} | x |\n", ""),
    "one table of words": ("| a | b |\n| --- | --- |\n", "| fox | dog |\n", ""),
    "one code block": ("```\n", f"{_LINE}\n", ""),
    "emphasis": ("", "**quick** *brown* `fox` ", ""),
    "nested emphasis": ("", "*quick **brown ", "fox** dog* "),
    "links": ("", "[quick](/brown) ", ""),
    "lone signs": ("", "*a _b ", ""),
    "hard breaks": ("", "brown fox\\\n", ""),
    "paragraphs": ("", f"{_LINE}\n\n", ""),
}
Curve = list[tuple[int, float]]  # characters, CPU milliseconds


def sizes(most: int = MAX_MARKDOWN_CHARS) -> list[int]:
    """The lengths measured, ascending."""
    return [most >> step for step in reversed(range(STEPS))]


def mixed(lengths: Sequence[int]) -> dict[str, Curve]:
    """Each step of a text as people write it."""
    plain = plain_parser()
    curves: dict[str, Curve] = {}
    for length in lengths:
        source = text(length)
        blocks = parse(source).blocks
        nodes = [(block.node, None) for block in blocks]
        steps: dict[str, Callable[[], object]] = {
            "markdown-it-py's tokens": partial(plain.parse, source),
            "parse": partial(parse, source),
            "render": partial(rendered, blocks),
            "insert into Yjs": partial(inserted, nodes),
        }
        for name, step in steps.items():
            curves.setdefault(name, []).append((len(source), cpu_ms(step)))
    return curves


def hard(lengths: Sequence[int]) -> dict[str, Curve]:
    """All steps together, of texts made of one thing."""
    return {name: [_whole(shape, length) for length in lengths] for name, shape in SHAPES.items()}


def _whole(shape: tuple[str, str, str], length: int) -> tuple[int, float]:
    head, part, end = shape
    times = (length - len(head)) // len(part + end)
    source = head + part * times + end * times

    def there_and_back() -> None:
        blocks = parse(source).blocks
        inserted([(block.node, None) for block in blocks])
        rendered(blocks)

    return len(source), cpu_ms(there_and_back)


def draw(panels: Mapping[str, Mapping[str, Curve]], path: Path) -> Path:
    """The curves as a picture, a panel beside the other."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, (title, curves) in zip(axes, panels.items(), strict=True):
        for name, curve in curves.items():
            axis.plot(*zip(*curve, strict=True), marker="o", markersize=3, label=name)
        axis.set(title=title, xlabel="characters", ylabel="CPU ms", xlim=0, ylim=0)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1_000:,.0f} k"))
        axis.grid(visible=True, alpha=0.3)
        axis.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    return path


def run(name: str, most: int = MAX_MARKDOWN_CHARS) -> Path:
    """Measures and draws `<name>.png` in the folder of results."""
    lengths = sizes(most)
    panels = {"A text as people write it": mixed(lengths), "Texts made of one thing": hard(lengths)}
    return draw(panels, FOLDER / f"{name}.png")


if __name__ == "__main__":
    print(run("markdown-growth", int(sys.argv[1]) if sys.argv[1:] else MAX_MARKDOWN_CHARS))
