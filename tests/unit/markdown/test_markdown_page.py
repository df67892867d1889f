"""The reference lists every known difference, as the tests know them.

    python -m tests.unit.markdown.test_markdown_page

writes the list anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.commonmark import EXAMPLES
from tests.unit.markdown import test_commonmark, test_gfm
from tests.unit.markdown.gfm import CASES
from tests.unit.markdown.test_commonmark import after

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "reference" / "markdown.md"
_LIST: Final = re.compile(r"(?<=<!-- differences -->\n).*(?=<!-- /differences -->)", re.DOTALL)


def differences() -> str:
    """The table: example, Markdown in, Markdown out, why."""
    rows = [
        (f"CommonMark {number}", EXAMPLES[number - 1]["markdown"], why)
        for number, why in sorted(test_commonmark.EXCEPTIONS.items())
    ]
    rows += [(name, CASES[name], why) for name, why in test_gfm.EXCEPTIONS.items()]
    lines = ["| example | written | comes out as | because |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {_shown(text)} | {_shown(after(text))} | {why} |" for name, text, why in rows
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def _shown(text: str) -> str:
    """Markdown in a cell: code, its line ends shown."""
    line = text.rstrip("\n").replace("\t", "→").replace("\n", "⏎").replace("|", "\\|")
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{ticks} {line} {ticks}" if "`" in line else f"{ticks}{line}{ticks}"


def test_the_page_lists_every_difference_and_why() -> None:
    found = _LIST.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == differences()


# What the page says of a construct, as it says it.
SAID: Final = {
    '<strong>"a"</strong>b': '<strong>"a"</strong>b',
    "* star": "- star",
    "Title\n=====": "# Title",
    "a  \nb": "a\\\nb",
    "see [docs][d]\n\n[d]: /u": "see [docs](/u)",
    "<kbd>k</kbd>": "<kbd>k</kbd>",
    "\\<kbd>": "\\<kbd>",
    "- \\[ ] text": "- \\[ ] text",
    "+a 1.5 a_b 2 * 3 <5": "+a 1.5 a_b 2 * 3 <5",
}


@pytest.mark.parametrize("text", SAID)
def test_what_the_page_says_is_so(text: str) -> None:
    assert after(text) == SAID[text] + "\n"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_LIST.sub(lambda _: differences(), page), encoding="utf-8")
