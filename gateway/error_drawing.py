"""The error tree and its three translations as tables, for the reference page.

    python -m gateway.error_drawing docs/reference/errors.md

rewrites what stands between the page's marks; the rest of the page is written by hand.
"""

from __future__ import annotations

import inspect
from typing import Final

from actors.drawn_page import redraw_files
from gateway.rest.problems import STATUS_BY_CODE
from shared.errors import BY_CODE, DocactorError, Moved, Refused, Unauthenticated, Unavailable
from shared.wire import close_codes

BEGIN: Final = "<!-- drawn from shared/errors.py: make docs -->"
_FAMILIES: Final = (
    (Refused, "Refused: the caller can mend it, nothing was applied"),
    (Unavailable, "Unavailable: the server's fault or state"),
)


def told() -> dict[str, type[DocactorError]]:
    """The errors a caller may meet, by code."""
    return {code: kind for code, kind in BY_CODE.items() if kind is not Moved}


def errors(family: type[DocactorError]) -> str:
    """One table: a row for each error of a family."""
    lines = [
        "| code | when | retryable | MCP | HTTP | socket |",
        "|---|---|---|---|---|---|",
    ]
    for code, kind in told().items():
        if issubclass(kind, family):
            when = " ".join((inspect.getdoc(kind) or "").rstrip(".").split())
            again = "yes" if kind.retryable else ""
            status, closed = STATUS_BY_CODE[code], close_codes.BY_ERROR.get(code, "")
            # Who has no token does not get as far as a tool.
            tool = "HTTP 401" if kind is Unauthenticated else "`isError`"
            lines.append(f"| `{code}` | {when} | {again} | {tool} | {status} | {closed} |")
    return "\n".join(lines)


def closings() -> str:
    """A table of the close codes."""
    rows = [f"| {code} | {meaning} |" for code, meaning in close_codes.MEANINGS.items()]
    return "\n".join(("| code | when |", "|---|---|", *rows))


def drawn() -> str:
    """Everything between the page's marks."""
    parts = []
    for family, title in _FAMILIES:
        parts += [f"## {title}", errors(family)]
    return "\n\n".join((*parts, "## Close codes", closings()))


if __name__ == "__main__":
    redraw_files(BEGIN, drawn())
