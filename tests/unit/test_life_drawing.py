"""The page about an actor's life shows the table, and the table is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Final, get_args

import pytest

from actors.drawn_page import redraw
from actors.life import EVENTS, LIFE, SERVING, STATES, Event, State
from actors.life_drawing import BEGIN, drawn, mermaid

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "life-of-an-actor.md"


def test_page_is_what_the_table_gives() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert redraw(page, BEGIN, drawn()) == page, "run: make docs"


def test_every_state_and_event_is_explained_and_in_the_table() -> None:
    assert set(LIFE) == set(STATES) == set(get_args(State))
    assert set(EVENTS) == set(get_args(Event))
    assert {event for row in LIFE.values() for event in row} == set(EVENTS)


def test_drawing_has_an_arrow_for_each_entry() -> None:
    arrows = [line.split(": ") for line in mermaid().splitlines() if ": " in line]
    drawn = {(*arrow.strip().split(" --> "), event) for arrow, event in arrows}
    assert drawn == {(state, then, e) for state, row in LIFE.items() for e, then in row.items()}


@pytest.mark.parametrize("state", [state for state in LIFE if LIFE[state]])
def test_whatever_lives_can_be_fenced_and_can_fail(state: State) -> None:
    assert LIFE[state]["fence"] == "fenced"
    assert LIFE[state]["failed"] == "dead"


def test_what_serves_can_be_drained() -> None:
    assert {LIFE[state]["drain"] for state in SERVING} == {"draining"}
