"""When a Hocuspocus client may believe that all is saved, and that it may in the end."""

from __future__ import annotations

from collections import deque

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shared.wire.frames import Ack
from shared.wire.sync_debt import SyncDebt


def begun() -> SyncDebt:
    """A client that sent its step 1 and was asked."""
    debt = SyncDebt()
    debt.began()
    debt.asked()
    return debt


def test_the_first_answer_settles_the_one_a_client_begins_with() -> None:
    debt = begun()
    assert debt.unsaved == 1
    debt.step2(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (1, 0)


def test_each_update_is_settled_by_its_own_answer() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.update(sent=True)
    debt.update(sent=True)
    assert [debt.answered(Ack.SAVED) for _ in range(3)] == [1, 1, 1]
    assert debt.unsaved == 0


def test_what_was_lost_on_the_way_is_settled_by_the_step_2_that_brings_it() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.update(sent=True)
    debt.update(sent=True)
    assert [debt.answered(ack) for ack in (Ack.SAVED, Ack.ASKED_AGAIN)] == [1, 0]
    debt.asked()
    debt.step2(sent=True)
    debt.update(sent=True)
    assert [debt.answered(ack) for ack in (Ack.ASKED_AGAIN, Ack.SAVED, Ack.SAVED)] == [0, 2, 1]
    assert debt.unsaved == 0


def test_what_was_refused_stays_unsaved() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.update(sent=True)
    assert [debt.answered(ack) for ack in (Ack.SAVED, Ack.REFUSED)] == [1, 0]
    assert debt.unsaved == 1


def test_when_a_client_begins_anew_answers_to_what_was_before_settle_nothing() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.update(sent=True)
    debt.began()
    debt.asked()
    assert [debt.answered(Ack.SAVED), debt.answered(Ack.SAVED)] == [0, 0]
    debt.step2(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (1, 0)


def test_an_answer_to_what_was_asked_before_the_document_moved_settles_nothing() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.answered(Ack.SAVED)
    debt.update(sent=True)
    debt.asked()  # it holds the update, in memory
    debt.moved()  # which died with it
    debt.asked()
    debt.step2(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (0, 1)
    debt.step2(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (1, 0)


def test_while_the_document_is_nowhere_edits_are_counted_and_wait_for_the_next_question() -> None:
    debt = begun()
    debt.step2(sent=True)
    debt.answered(Ack.SAVED)
    debt.update(sent=False)
    debt.moved()
    debt.asked()
    debt.step2(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (1, 0)


def test_answers_nobody_waits_for_settle_nothing() -> None:
    debt = SyncDebt()
    assert debt.answered(Ack.SAVED) == 0
    debt.step2(sent=True)
    assert debt.answered(Ack.SAVED) == 0
    debt.update(sent=True)
    assert (debt.answered(Ack.SAVED), debt.unsaved) == (1, 0)


class Provider(RuleBasedStateMachine):
    """A provider, its socket, a document that loses batches and moves; letters stand for edits.

    Whenever the provider counts 0, every letter it has typed is on disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self.debt = SyncDebt()
        self.typed = 0
        self.unsynced = 1
        self.disk: set[int] = set()
        self.memory: set[int] = set()  # applied, not yet on disk
        self.to_server: deque[tuple[str, frozenset[int]]] = deque()
        self.questions: deque[tuple[int, frozenset[int]]] = deque()  # life, what the vector held
        self.acks: deque[tuple[int, Ack | None]] = deque()  # of batches open now: life, fate
        self.life = 0
        self.asked_stale = 0  # questions of a document that was loaded again since
        self.to_server.append(("begin", frozenset()))

    def ask(self) -> None:
        self.debt.asked()
        self.questions.append((self.life, frozenset(self.disk | self.memory)))

    @rule()
    def type(self) -> None:
        self.typed += 1
        self.unsynced += 1
        self.to_server.append(("update", frozenset({self.typed})))

    @precondition(lambda self: self.unsynced == 0)
    @rule()
    def force_sync(self) -> None:
        """Sooner, a "saved" that is on its way counts for what the client begins with anew.

        No server can tell: the client sets its counter back before anybody hears of it.
        """
        self.unsynced = 1
        self.to_server.append(("begin", frozenset()))

    @precondition(lambda self: self.questions)
    @rule()
    def answer(self) -> None:
        _, held = self.questions.popleft()
        everything = frozenset(range(1, self.typed + 1))
        self.to_server.append(("step2", everything - held))

    @precondition(lambda self: self.to_server)
    @rule()
    def arrive(self) -> None:
        kind, letters = self.to_server.popleft()
        if kind == "begin":
            self.debt.began()
            self.ask()
        elif kind == "step2":
            self.debt.step2(sent=True)
            self.memory |= letters - self.disk
            self.acks.append((self.life, None))
        else:
            self.debt.update(sent=True)
            gap = letters and min(letters) > 1 and min(letters) - 1 not in self.disk | self.memory
            if not gap:
                self.memory |= letters - self.disk
            self.acks.append((self.life, Ack.ASKED_AGAIN if gap else None))
            if gap:
                self.ask()

    def tell(self, saved: Ack) -> None:
        while self.acks:
            _, fate = self.acks.popleft()
            self.unsynced = max(0, self.unsynced - self.debt.answered(fate or saved))

    @rule()
    def commit(self) -> None:
        self.disk |= self.memory
        self.memory.clear()
        self.tell(Ack.SAVED)

    @rule()
    def move(self) -> None:
        """kill -9 of the actor."""
        self.memory.clear()
        self.acks.clear()
        self.life += 1
        self.debt.moved()
        self.ask()

    @invariant()
    def saved_means_on_disk(self) -> None:
        if self.unsynced == 0:
            assert self.disk >= set(range(1, self.typed + 1))

    def teardown(self) -> None:
        """Left alone, all of it is saved, and told to be."""
        while self.to_server or self.questions or self.acks or self.memory:
            if self.questions:
                self.answer()
            elif self.to_server:
                self.arrive()
            else:
                self.commit()
        assert self.unsynced == 0
        assert self.disk == set(range(1, self.typed + 1))


Provider.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestProvider = Provider.TestCase
