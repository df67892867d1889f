"""Who edited in a window, as one line. Nobody is tied to a section."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shared.limits import MAX_NAME_CHARS
from shared.slugs import single_line


class Editor(msgspec.Struct, frozen=True):
    """A principal who edited.

    Attributes:
        person: The person behind it, itself for a person; None: nobody knows who.
        name: The person's, for others to see; empty: there is none.
        agent: The agent's name when it is one.
    """

    principal: str
    person: str | None = None
    name: str = ""
    agent: str = ""


def people_line(editors: Iterable[Editor], caller: str | None) -> str:
    """The line for the whole window; empty when nobody edited.

    What an agent did counts as its person's. Only the caller is told which agents: their own.

    Args:
        editors: In the order of their first edits.
        caller: The person asking; None: nobody knows who.
    """
    mine, by = False, dict[str, None]()
    names, unnamed = dict[str, None](), set[str]()
    for editor in editors:
        name = single_line(editor.name, MAX_NAME_CHARS)
        if caller is not None and editor.person == caller:
            mine = True
            agent = single_line(editor.agent, MAX_NAME_CHARS)
            by.update({agent: None} if agent else {})
        elif name:
            names[name] = None
        else:
            unnamed.add(editor.person or editor.principal)
    told = [f"you, by {' and '.join(by)}" if by else "you"] if mine else []
    told += names
    if unnamed:
        rest = f"{len(unnamed)} other{'s' if len(unnamed) > 1 else ''}"
        told.append(f"and {rest}" if told else rest)
    return f"people who edited in this window: {'; '.join(told)}" if told else ""
