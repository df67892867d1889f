"""Who edited in a window."""

from __future__ import annotations

import pytest

from shared.history.people import Editor, people_line

SAID = "people who edited in this window: "
ME = Editor("person:me", "person:me", "Mia")
PLANNER = Editor("agent:me:Planner", "person:me", "Mia", "Planner")
SCRIBE = Editor("agent:me:Scribe", "person:me", "Mia", "Scribe")
ANN = Editor("person:ann", "person:ann", "Ann")
ANNS = Editor("agent:ann:Bot", "person:ann", "Ann", "Bot")
NOBODY = Editor("anonymous")


@pytest.mark.parametrize(
    "editors, said",
    [
        ([], ""),
        ([ME], "you"),
        ([ANN, ME], "you; Ann"),
        ([PLANNER], "you, by Planner"),
        ([PLANNER, ME, SCRIBE], "you, by Planner and Scribe"),
        ([ANNS], "Ann"),
        ([ANNS, ANN], "Ann"),
        ([ANN, NOBODY], "Ann; and 1 other"),
        ([NOBODY, Editor("x")], "2 others"),
        ([ME, NOBODY, Editor("x", "person:x")], "you; and 2 others"),
        ([Editor("y", "person:y", "Fake\nline")], "Fake line"),
    ],
)
def test_the_line(editors: list[Editor], said: str) -> None:
    assert people_line(editors, "person:me") == (SAID + said if said else "")


def test_to_somebody_unknown_nobody_is_you() -> None:
    assert people_line([ME, PLANNER], None) == f"{SAID}Mia"
