"""Pages of the documentation with a part that is drawn from code, between two marks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

END: Final = "<!-- end of what is drawn -->"


def redraw(page: str, begin: str, drawn: str) -> str:
    """The page with `drawn` between the marks `begin` and END. ValueError: it has no such marks."""
    head, found, rest = page.partition(begin)
    _, end, tail = rest.partition(END)
    if not found or not end:
        raise ValueError("the page has no place for the drawing")
    return f"{head}{begin}\n\n{drawn}\n\n{END}{tail}"


def redraw_files(begin: str, drawn: str) -> None:
    """The same to each page named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name)
        text = redraw(page.read_text(encoding="utf-8"), begin, drawn)
        page.write_text(text, encoding="utf-8")
