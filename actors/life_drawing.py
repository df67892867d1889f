"""The life table as a drawing and as tables, for the reference page.

    python -m actors.life_drawing docs/reference/life-of-an-actor.md

rewrites what stands between the page's marks; the rest of the page is written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from actors.life import EVENTS, LIFE, SERVING, STATES

BEGIN: Final = "<!-- drawn from actors/life.py: make docs -->"
END: Final = "<!-- end of what is drawn -->"


def mermaid() -> str:
    """A state diagram: an arrow for each entry of the table."""
    lines = ["stateDiagram-v2", "    [*] --> blank"]
    for state, row in LIFE.items():
        lines += [f"    {state} --> {then}: {event}" for event, then in row.items()]
    lines += [f"    {state} --> [*]" for state, row in LIFE.items() if not row]
    return "\n".join(lines)


def tables() -> str:
    """What the states and the events mean, and the table itself."""
    lines = ["| state | answers calls | |", "|---|---|---|"]
    for state, meaning in STATES.items():
        lines.append(f"| `{state}` | {'yes' if state in SERVING else ''} | {meaning} |")
    lines += ["", "| event | |", "|---|---|"]
    lines += [f"| `{event}` | {meaning} |" for event, meaning in EVENTS.items()]
    lines += ["", "| in | " + " | ".join(EVENTS) + " |", "|---" * (len(EVENTS) + 1) + "|"]
    for state, row in LIFE.items():
        cells = [row.get(event, "") for event in EVENTS]
        lines.append(f"| `{state}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def drawn() -> str:
    """Everything between the marks, the marks included."""
    return "\n\n".join((BEGIN, f"```mermaid\n{mermaid()}\n```", tables(), END))


def redraw(page: str) -> str:
    """The page with its drawn part as the table gives it now. Raises ValueError without marks."""
    head, tail = page.split(BEGIN, 1)[0], page.split(END, 1)
    if len(tail) != 2 or BEGIN not in page:
        raise ValueError("the page has no place for the drawing")
    return head + drawn() + tail[1]


def main() -> None:
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(redraw(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
