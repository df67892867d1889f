"""Agents that have joined, as editors see them through the hub."""

from __future__ import annotations

import json

import pytest

from actors.document.agent_seats import client_of, colour_of
from shared.limits import AGENT_RENEW_S
from shared.protocol import Caller
from shared.wire.frames import EVERYBODY, Kind, Open, pack
from shared.wire.reading import Reading
from shared.wire.y_protocol import AwarenessEntry, decode_awareness, encode_awareness
from tests.unit.wire.fakes import ANNA
from tests.unit.wire.stage import Editor, Stage

SCRIBE = Caller("scribe", "Scribe", agent=True)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def entries(stage: Stage, number: int = EVERYBODY) -> list[AwarenessEntry]:
    told = [body for kind, to, body in stage.peer.told() if (kind, to) == (Kind.AWARENESS, number)]
    return [entry for body in told for entry in decode_awareness(body, 100)]


def test_who_joins_is_shown_and_who_leaves_is_gone(stage: Stage) -> None:
    stage.peer.told()
    stage.document.roster.join(SCRIBE, "reading")
    (shown,) = entries(stage)
    assert shown.state is not None
    assert json.loads(shown.state) == {
        "user": {
            "name": "Scribe",
            "color": colour_of("scribe"),
            "agent": True,
            "status": "reading",
        }
    }
    stage.document.roster.join(SCRIBE, "writing")
    (again,) = entries(stage)
    assert (again.client, again.clock > shown.clock) == (shown.client, True)
    stage.document.roster.leave("scribe")
    (gone,) = entries(stage)
    assert (gone.client, gone.state) == (shown.client, None)


def test_a_newcomer_sees_the_agents_and_their_carets_are_none(stage: Stage) -> None:
    stage.document.roster.join(SCRIBE, "")
    stage.peer.told()
    Editor(stage.hub, stage.peer, 3).open()
    (shown,) = entries(stage, 3)
    assert shown.state is not None
    assert stage.hub.presence() == []


def test_who_comes_back_after_an_agent_left_is_told_that_it_is_gone(stage: Stage) -> None:
    """From an actor that was killed: its editors still show the agent, and were not here."""
    stage.document.roster.join(SCRIBE, "")
    (shown,) = entries(stage)
    stage.document.roster.leave("scribe")
    stage.peer.told()
    again, newcomer = Editor(stage.hub, stage.peer, 5), Editor(stage.hub, stage.peer, 6)
    again.frame(Kind.OPEN, pack(Open(ANNA, reading=Reading(None, None))))
    newcomer.open()
    told = stage.peer.told()
    gone = [body for kind, to, body in told if (kind, to) == (Kind.AWARENESS, 5)]
    (entry,) = (one for body in gone for one in decode_awareness(body, 100))
    assert (entry.client, entry.clock >= shown.clock, entry.state) == (shown.client, True, None)
    assert not [to for kind, to, _ in told if (kind, to) == (Kind.AWARENESS, 6)]


@pytest.mark.parametrize("statuses", [1, 2, 3])
def test_after_a_crash_within_a_second_editors_believe_that_an_agent_is_gone(statuses: int) -> None:
    """The next actor was not told how far the clock of the one before it had gone."""
    first, second = Stage(), Stage()
    first.document.now = 1_800_000_000_000
    for status in range(statuses):
        first.document.roster.join(SCRIBE, str(status))
    known = entries(first)[-1].clock
    second.document.now = first.document.now + 500
    second.document.roster.join(SCRIBE, str(statuses - 1))
    second.document.roster.leave("scribe")
    gone = entries(second)[-1]
    assert (gone.state, gone.clock >= known) == (None, True)


def test_what_an_agent_says_again_is_not_told_again(stage: Stage) -> None:
    stage.document.roster.join(SCRIBE, "reading")
    stage.peer.told()
    stage.document.roster.join(SCRIBE, "reading")
    stage.document.roster.join(Caller("other", "Other", agent=True), "")
    (shown,) = entries(stage)
    assert shown.client != client_of("abcdefghijkl", "scribe")


def test_nobody_else_can_play_an_agent(stage: Stage) -> None:
    stage.document.roster.join(SCRIBE, "")
    (shown,) = entries(stage)
    forged = AwarenessEntry(shown.client, shown.clock + 1, b'{"user":{"name":"Mallory"}}')
    stage.anna.frame(Kind.AWARENESS, encode_awareness([forged]))
    assert entries(stage) == []


def test_an_agent_is_shown_under_one_client_id_at_every_actor() -> None:
    assert client_of("doc", "scribe") == client_of("doc", "scribe")
    assert client_of("doc", "scribe") != client_of("other", "scribe")
    assert 0 < client_of("doc", "scribe") < 2**32


def test_an_agent_is_renewed_before_editors_give_it_up() -> None:
    assert AGENT_RENEW_S < 15
