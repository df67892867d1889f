"""The life table as a drawing and as tables, for the reference page.

    python -m actors.life_drawing docs/reference/life-of-an-actor.md

rewrites what stands between the page's marks; the rest of the page is written by hand.
"""

from __future__ import annotations

from typing import Final

from actors.drawn_page import redraw_files
from actors.life import EVENTS, LIFE, SERVING, STATES

BEGIN: Final = "<!-- drawn from actors/life.py: make docs -->"


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
    """Everything between the page's marks."""
    return f"```mermaid\n{mermaid()}\n```\n\n{tables()}"


if __name__ == "__main__":
    redraw_files(BEGIN, drawn())
