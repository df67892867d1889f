"""The router's rules: what is repeated behind the caller's back, what is told, what is followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest

from gateway.admissions import ANYBODY
from gateway.roads import LostCallError, UnreachableError
from gateway.router import Router
from shared.budget import Allowance
from shared.calls import Verb
from shared.directory_protocol import Admitted, Created
from shared.errors import (
    DocactorError,
    DocumentNotFound,
    Moved,
    OutcomeUnknown,
    Overloaded,
    StaleAnchor,
    Unauthenticated,
)
from shared.protocol import (
    Caller,
    InsertRequest,
    LinkRole,
    ReadDocumentRequest,
    Role,
    Route,
    RouteKey,
    WriteOptions,
)

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann")
READ = ReadDocumentRequest()
WRITE = InsertRequest(())
KEYED = InsertRequest((), options=WriteOptions(idempotency_key="k"))
DOC = "a" * 12


class FakeRoad:
    """A Directory that counts epochs, and one actor per epoch that does what the test says.

    Attributes:
        actors: What the actor of each epoch does when called; without one it answers its name.
        located: The `dead` route of each locate.
        role: Of everybody on the document; None: it is private to them.
        on_admit: Run once, while the next question for a role is answered.
        callers: Of each call of a document.
        admitted: Who asked for which role.
    """

    def __init__(self) -> None:
        self.node_id = "n1"
        self.epoch = 1
        self.actors: dict[str, Callable[[], Any]] = {}
        self.role: Role | None = "editor"
        self.link_role: LinkRole | None = None
        self.on_admit: list[Callable[[], None]] = []
        self.callers: list[Caller] = []
        self.admitted: list[tuple[str, Caller]] = []
        self.located: list[RouteKey | None] = []
        self.directory_faults: list[Exception] = []
        self.created: list[tuple[Any, ...]] = []

    async def document(
        self, actor: str, verb: Verb, key: RouteKey, caller: Caller, _request: Any
    ) -> Any:
        self.callers.append(caller)
        assert actor == f"actor-{key.epoch}"
        behave = self.actors.get(actor)
        answer = behave() if behave is not None else f"{verb} by {actor}"
        return await answer if asyncio.iscoroutine(answer) else answer

    async def directory(self, method: str, *args: Any) -> Any:
        if method == "admit":
            return tuple(self._admit(*asked) for asked in args[0])
        await asyncio.sleep(0)
        if self.directory_faults:
            raise self.directory_faults.pop(0)
        if method == "locate":
            return self._locate(*args)
        if method == "create_document":
            self.created.append(args)
            return Created(DOC, "slug", "title", 0, ())
        raise AssertionError(method)

    def _admit(self, ref: str, caller: Caller) -> Admitted | None:
        self.admitted.append((ref, caller))
        while self.on_admit:
            self.on_admit.pop()()
        if ref not in {DOC, "slug"} or not (self.role or self.link_role):
            return None
        return Admitted(DOC, self.role, self.link_role)

    def _locate(self, ref: str, dead: RouteKey | None = None) -> Any:
        self.located.append(dead)
        if ref not in {DOC, "slug"}:
            return DocumentNotFound.for_document(ref).to_wire()
        if dead is not None and dead.epoch == self.epoch:
            self.epoch += 1
        key = RouteKey(DOC, self.epoch, "s")
        # No socket there: links fail, which a call must not notice.
        return Route(key, f"actor-{self.epoch}", "n1", "unix:/nowhere/x", "tcp:127.0.0.1:1")


def fail(error: Exception) -> Callable[[], Any]:
    def raises() -> Any:
        raise error

    return raises


@pytest.fixture
def road() -> FakeRoad:
    return FakeRoad()


@pytest.mark.parametrize("refs", [(DOC, DOC), ("slug", "slug"), ("slug", DOC)])
async def test_route_and_role_are_asked_for_once(road: FakeRoad, refs: tuple[str, ...]) -> None:
    router = Router("g", road)
    for ref in refs:
        assert await router.call(ref, "read_document", ANN, READ) == "read_document by actor-1"
    assert len(road.located) == 1
    assert road.admitted == [(ref, ANN) for ref in dict.fromkeys(refs)]
    await router.close()


async def test_a_call_carries_the_role_there_is_now(road: FakeRoad) -> None:
    router = Router("g", road, visitors=Allowance(1, 2, 3))
    router.forget_roles(None, 1_000.0)
    told: list[Caller] = road.callers
    await router.call(DOC, "insert", ANN, WRITE)
    road.role = "viewer"
    await router.call(DOC, "insert", ANN, WRITE)
    assert [caller.role for caller in told] == ["editor", "editor"]
    router.forget_roles({"other"}, 1_000.0)
    await router.call(DOC, "insert", ANN, WRITE)
    assert told[-1].role == "editor"
    router.forget_roles({DOC}, 1_000.0)
    await router.call(DOC, "insert", ANN, WRITE)
    assert (told[-1].role, told[-1].allowance) == ("viewer", ANN.allowance)
    road.role, road.link_role = None, "editor"
    router.forget_roles({DOC}, 1_000.0)
    await router.call(DOC, "insert", ANN, WRITE)
    assert told[-1] == msgspec.structs.replace(
        ANN, role=None, link_role="editor", allowance=Allowance(1, 2, 3)
    )
    await router.close()


async def test_a_private_document_is_neither_located_nor_named(road: FakeRoad) -> None:
    router = Router("g", road)
    road.role = None
    for ref in ("slug", "nothing", "slug"):
        with pytest.raises(DocumentNotFound, match=f"'{ref}'"):
            await router.call(ref, "read_document", ANN, READ)
        with pytest.raises(Unauthenticated):
            await router.call(ref, "read_document", ANYBODY, READ)
    assert road.located == []
    assert len(road.admitted) == 6  # asked each time: neither takes another way
    await router.close()


async def test_a_role_that_changes_while_the_directory_answers_is_asked_for_again(
    road: FakeRoad,
) -> None:
    router = Router("g", road)
    road.on_admit.append(lambda: router.forget_roles({DOC}, 1_000.0))
    await router.call(DOC, "insert", ANN, WRITE)
    assert len(road.admitted) == 2
    await router.close()


async def test_moved_document_is_followed(road: FakeRoad) -> None:
    def moved() -> Any:
        road.epoch = 2
        return Moved("Not here.").to_wire()

    road.actors["actor-1"] = moved
    router = Router("g", road)
    assert await router.call(DOC, "insert", ANN, WRITE) == "insert by actor-2"
    await router.close()


async def test_directory_looks_itself_when_one_route_is_moved_twice(road: FakeRoad) -> None:
    road.actors["actor-1"] = lambda: Moved("Not here.").to_wire()
    router = Router("g", road)
    assert await router.call(DOC, "insert", ANN, WRITE) == "insert by actor-2"
    assert road.located[-1] == RouteKey(DOC, 1, "s")
    await router.close()


async def test_domain_error_is_raised(road: FakeRoad) -> None:
    road.actors["actor-1"] = lambda: StaleAnchor("after: gone.", after="x").to_wire()
    with pytest.raises(StaleAnchor, match="after: gone") as caught:
        await Router("g", road).call(DOC, "insert", ANN, WRITE)
    assert caught.value.data == {"after": "x"}


@pytest.mark.parametrize("request_", [READ, KEYED])
async def test_what_may_be_repeated_is_repeated_at_the_next_actor(
    road: FakeRoad, request_: Any
) -> None:
    road.actors["actor-1"] = fail(LostCallError())
    router = Router("g", road)
    assert await router.call(DOC, "patch", ANN, request_) == "patch by actor-2"
    assert road.located == [None, RouteKey(DOC, 1, "s")]
    await router.close()


async def test_write_without_a_key_that_was_lost_has_an_unknown_outcome(road: FakeRoad) -> None:
    road.actors["actor-1"] = fail(LostCallError())
    router = Router("g", road)
    with pytest.raises(OutcomeUnknown):
        await router.call(DOC, "insert", ANN, WRITE)
    # The next call does not go to the dead actor.
    assert await router.call(DOC, "insert", ANN, WRITE) == "insert by actor-2"
    await router.close()


@pytest.mark.parametrize("request_,told", [(READ, Overloaded), (KEYED, OutcomeUnknown)])
async def test_repeated_only_once(road: FakeRoad, request_: Any, told: type[DocactorError]) -> None:
    for n in range(1, 9):
        road.actors[f"actor-{n}"] = fail(LostCallError())
    with pytest.raises(told):
        await Router("g", road).call(DOC, "patch", ANN, request_)
    assert road.epoch == 2


async def test_write_that_was_never_sent_is_sent_to_the_next_actor(road: FakeRoad) -> None:
    road.actors["actor-1"] = fail(UnreachableError())
    router = Router("g", road)
    assert await router.call(DOC, "insert", ANN, WRITE) == "insert by actor-2"
    await router.close()


async def test_call_to_a_stopped_actor_ends_when_the_directory_has_replaced_it(
    road: FakeRoad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.router.CALL_SUSPECT_S", 0.01)
    monkeypatch.setattr("gateway.router.LAST_WORD_S", 0.01)
    road.actors["actor-1"] = anyio.sleep_forever
    router = Router("g", road)
    assert await router.call(DOC, "read_document", ANN, READ) == "read_document by actor-2"
    await router.close()


async def test_slow_actor_that_lives_is_waited_for(
    road: FakeRoad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.router.CALL_SUSPECT_S", 0.01)
    may_answer = asyncio.Event()
    looked = 0

    def locate(ref: str, dead: RouteKey | None = None) -> Route:
        nonlocal looked
        looked += 1
        if looked == 4:
            may_answer.set()
        return Route(RouteKey(DOC, 1, "s"), "actor-1", "n1", "unix:/nowhere/x", "tcp:h:1")

    async def slow() -> str:
        await may_answer.wait()
        return "done"

    monkeypatch.setattr(road, "_locate", locate)
    road.actors["actor-1"] = slow
    router = Router("g", road)
    assert await router.call(DOC, "insert", ANN, WRITE) == "done"
    await router.close()


async def test_directory_that_comes_back_is_asked_again(road: FakeRoad) -> None:
    road.directory_faults = [LostCallError(), UnreachableError()]
    assert isinstance(await Router("g", road).directory("locate", DOC), Route)


async def test_directory_that_stays_away_is_overloaded(
    road: FakeRoad, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.router.DIRECTORY_RETRY_S", 0.0)
    road.directory_faults = [LostCallError()] * 3
    with pytest.raises(Overloaded):
        await Router("g", road).directory("locate", DOC)


async def test_token_is_not_made_twice(road: FakeRoad) -> None:
    road.directory_faults = [LostCallError()]
    with pytest.raises(OutcomeUnknown):
        await Router("g", road).directory("create_token", "owner", "bot", frozenset(), True)


async def test_creation_always_carries_a_key_and_so_may_be_repeated(road: FakeRoad) -> None:
    road.directory_faults = [LostCallError()]
    router = Router("g", road)
    await router.directory("create_document", ANN, "Title", None, ())
    await router.directory("create_document", ANN, "Title", None, (), "mine")
    await router.directory("create_document", ANN)
    *given, key = road.created[0]
    assert given == [ANN, "Title", None, ()]
    assert len(key) == 32
    assert road.created[1][-1] == "mine"
    assert road.created[2][:-1] == (ANN, None, None, ())


async def test_unknown_document_is_not_found(road: FakeRoad) -> None:
    with pytest.raises(DocumentNotFound):
        await Router("g", road).call("nowhere", "read_document", ANN, READ)
