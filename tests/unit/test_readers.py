"""When each person last left a document."""

from __future__ import annotations

import msgspec
import pytest

from actors.document.readers import Readers
from shared.access import ANONYMOUS
from shared.protocol import Caller
from shared.stored import StoredReader
from shared.wire.reading import Reading

T = 1_700_000_000_000
ANN = Caller("person:ann", "Ann")
VIEWER = msgspec.structs.replace(ANN, role="viewer")
AGENT = Caller("agent:ann:Bot", "Bot", person="person:ann", agent=True)
NOBODY = Caller(ANONYMOUS, "anonymous")


class Scene:
    """Readers under a clock that the test moves; what is to be stored at once is counted."""

    def __init__(self, rows: dict[str, StoredReader] | None = None) -> None:
        self.now = T
        self.stamps = 0
        self.readers = Readers(lambda: self.now, self._stamped)
        self.readers.load(rows or {})

    def _stamped(self) -> None:
        self.stamps += 1

    def at(self, seconds: float) -> Readers:
        self.now = T + int(seconds * 1000)
        return self.readers

    @property
    def left(self) -> float | None:
        """Seconds after the beginning."""
        at = self.readers.last_left("person:ann")
        return None if at is None else (at - T) / 1000


def test_nine_seconds_and_nine_tenths_are_not_read() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(9.9).heard(1)
    scene.at(9.9).ended(1)
    assert (scene.left, scene.stamps) == (None, 0)


def test_ten_seconds_are_and_the_instant_of_reading_counts() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(10).heard(1)
    assert scene.left is None
    scene.at(500).ended(1)
    assert [scene.left, scene.stamps] == [10, 1]


def test_a_hidden_tab_does_not_count() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(1).heard(1, visible=False)
    scene.at(60).heard(1)
    scene.at(90).ended(1)
    assert scene.left is None


def test_who_may_only_read_counts() -> None:
    scene = Scene()
    scene.at(0).opened(1, VIEWER, None)
    scene.at(11).heard(1)
    scene.at(12).ended(1)
    assert scene.left == 11


@pytest.mark.parametrize("caller", [AGENT, NOBODY])
def test_agents_and_strangers_do_not(caller: Caller) -> None:
    scene = Scene()
    scene.at(0).opened(1, caller, None)
    scene.at(11).heard(1)
    scene.at(12).ended(1)
    assert scene.readers.all_left() == {}
    assert scene.readers.take() == ()


def test_it_is_stamped_when_the_last_session_ends() -> None:
    # The design's word; the study of docs.plus has each tab stamp when it closes.
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(0).opened(2, ANN, None)
    scene.at(20).heard(1)
    scene.at(21).ended(1)
    assert (scene.left, scene.stamps) == (None, 0)
    scene.at(22).ended(2)
    assert [scene.left, scene.stamps] == [20, 1]


def test_it_never_goes_back() -> None:
    scene = Scene({"person:ann": StoredReader("person:ann", T + 90_000)})
    scene.at(0).opened(1, ANN, None)
    scene.at(20).heard(1)
    scene.at(21).ended(1)
    assert (scene.left, scene.stamps) == (90, 0)


def test_an_instant_to_come_is_now() -> None:
    scene = Scene()
    scene.at(5).read("person:ann", T + 99_000)
    scene.at(5).left("person:ann")
    assert scene.left == 5


def test_what_the_gateway_knows_when_a_session_ends_counts() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(14).ended(1, T + 13_000)
    assert (scene.left, scene.stamps) == (13, 1)


def test_while_somebody_is_back_they_left_when_they_did_before() -> None:
    scene = Scene({"person:ann": StoredReader("person:ann", T - 5_000)})
    scene.at(0).opened(1, ANN, None)
    scene.at(20).heard(1)
    assert scene.left == -5


def test_after_a_kill_whoever_is_not_there_has_left() -> None:
    scene = Scene({"person:ann": StoredReader("person:ann", None, T - 3_000)})
    assert scene.left == -3
    scene.at(0).opened(1, ANN, None)  # another visit
    assert scene.left == -3
    assert scene.readers.take() == (StoredReader("person:ann", T - 3_000),)


def test_after_a_kill_a_session_that_goes_on_has_not_left() -> None:
    scene = Scene({"person:ann": StoredReader("person:ann", T - 60_000, T - 3_000)})
    scene.at(0).opened(1, ANN, Reading(T - 30_000, T - 2_000))
    assert scene.left == -60
    scene.at(15).heard(1)
    scene.at(16).ended(1)
    assert scene.left == 15


def test_an_actor_that_goes_leaves_the_sessions_to_their_gateway() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    scene.at(12).heard(1)
    scene.readers.part()
    scene.at(13).ended(1)
    assert scene.stamps == 0
    assert scene.readers.take() == (StoredReader("person:ann", None, T + 12_000),)


def test_a_first_opening_is_noted_and_reading_on_is_stored_at_most_each_ten_seconds() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    assert scene.at(0).due(scene.now) == (StoredReader("person:ann"),)
    scene.at(12).heard(1)
    assert scene.at(12).due(scene.now) == (StoredReader("person:ann", None, T + 12_000),)
    scene.at(14).heard(1)
    assert scene.at(14).due(scene.now) == ()
    assert scene.at(22).due(scene.now) == (StoredReader("person:ann", None, T + 14_000),)
    assert scene.at(99).due(scene.now) == ()


def test_what_was_not_stored_is_stored_again_and_outlives_a_reload() -> None:
    scene = Scene()
    scene.at(0).opened(1, ANN, None)
    rows = scene.readers.take()
    scene.readers.again(rows)
    assert scene.readers.take() == rows
    scene.at(12).heard(1)
    scene.at(13).ended(1)
    scene.readers.load({"person:ann": StoredReader("person:ann")})
    assert scene.left == 12
    assert scene.readers.take() == (StoredReader("person:ann", T + 12_000),)
