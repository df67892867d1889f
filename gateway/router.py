"""The roads to documents and to the Directory: the only gateway module that calls Ray actors.

A gateway remembers where documents are and asks the Directory when that was wrong. What was
certainly not applied, or may be repeated, is repeated once behind the caller's back; of anything
else the caller is told that the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import anyio
import anyio.lowlevel
import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from actors.ray_calls import answer_within
from gateway.counts import GatewayCounts
from gateway.editors.link import DocumentLink
from gateway.places import Place, Places
from shared.calls import Verb, decode_answer, encode_call
from shared.directory_protocol import DIRECTORY_NAME
from shared.errors import (
    DocactorError,
    DocumentCorrupt,
    DocumentNotFound,
    InternalError,
    Moved,
    OutcomeUnknown,
    Overloaded,
    ShuttingDown,
    WireError,
    from_wire,
)
from shared.limits import (
    CALL_DEADLINE_S,
    CALL_SUSPECT_S,
    DIRECTORY_RETRY_S,
    LAST_WORD_S,
    REATTACH_S,
)
from shared.protocol import Caller, Route, RouteKey, WriteOptions
from shared.wire import close_codes

log = logging.getLogger(__name__)

MOVES: Final = 6  # times a call follows a document that moves; passivation and failover take two
RETRY_S: Final = 0.1  # between two questions to a Directory that is coming back
MAX_RETRY_S: Final = 2.0
# Asked twice, these do no more than once (create_document is always given a key).
REPEATABLE: Final = frozenset(
    {
        "audit",
        "authenticate",
        "back_up_catalog",
        "check_catalog",
        "create_document",
        "describe",
        "document_ids",
        "drain",
        "drain_node",
        "list_documents",
        "list_tokens",
        "invalid_tokens",
        "locate",
        "metrics",
        "report_gateway",
        "resolve",
        "status",
        "undrain_node",
        "wait_for_notice",
    }
)
# These say that a document will not be opened again here, and how its editors are told.
FINAL: Final = (ShuttingDown, DocumentNotFound, DocumentCorrupt)  # no retry re-attaches a link


class LostCallError(Exception):
    """The actor died, or does not answer: what it did is not known."""


class UnreachableError(Exception):
    """There is no such actor now; nothing was sent."""


class Road(Protocol):
    """How calls reach actors."""

    node_id: str

    async def document(
        self, actor: str, verb: Verb, key: RouteKey, caller: Caller, request: Any
    ) -> Any:
        """Its answer; a domain error is a value. Raises LostCallError, UnreachableError."""

    async def directory(self, method: str, *args: Any) -> Any:
        """Likewise."""


class RayRoad:
    """Calls through Ray, in the namespace this process joined."""

    def __init__(self) -> None:
        context = ray.get_runtime_context()
        self.node_id: str = context.get_node_id()
        self._namespace: str = context.namespace
        self._handles: dict[str, Any] = {}

    async def document(
        self, actor: str, verb: Verb, key: RouteKey, caller: Caller, request: Any
    ) -> Any:
        sent = encode_call(key, caller, request)
        return decode_answer(verb, await self._call(actor, "serve", verb, sent))

    async def directory(self, method: str, *args: Any) -> Any:
        return await self._call(DIRECTORY_NAME, "call", method, *args)

    async def _call(self, actor: str, method: str, *args: Any) -> Any:
        handle = await self._handle(actor)
        try:
            ref = getattr(handle, method).remote(*args)
            return await answer_within(ref, CALL_DEADLINE_S)
        except RayTaskError as error:
            raise InternalError("Something went wrong here.") from error
        except (RayActorError, ActorUnavailableError, TimeoutError) as error:
            if actor != DIRECTORY_NAME:  # a Directory that is restarted keeps its handle
                self._handles.pop(actor, None)
            raise LostCallError(f"{actor}.{method}") from error
        except RayError as error:
            raise LostCallError(f"{actor}.{method}: {error}") from error

    async def _handle(self, actor: str) -> Any:
        if actor not in self._handles:
            try:
                self._handles[actor] = await anyio.to_thread.run_sync(
                    lambda: ray.get_actor(actor, namespace=self._namespace)
                )
            except ValueError as error:
                raise UnreachableError(actor) from error
        return self._handles[actor]


class Router:
    """One per gateway process, on its loop. Every method raises DocactorError alone.

    Args:
        gateway_id: Names this process to document actors.
        road: How calls travel; None: through the Ray this process has joined.
        counts: Where links that found their document again are counted.
    """

    def __init__(
        self, gateway_id: str, road: Road | None = None, counts: GatewayCounts | None = None
    ) -> None:
        self._gateway_id = gateway_id
        self._road: Road = road if road is not None else RayRoad()
        self._counts = counts or GatewayCounts(gateway_id)
        self._places = Places()
        self._links: dict[str, DocumentLink] = {}
        self._connecting: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    # --- documents -------------------------------------------------------------------------------

    async def call(self, ref: str, verb: Verb, caller: Caller, request: Any) -> Any:
        """Runs `verb` on a document and returns its result.

        Args:
            ref: Id or slug.
            verb: A method of the document actor.
            caller: Who asks.
            request: The verb's request.

        Raises:
            OutcomeUnknown: The actor died under a write that may not be repeated (again).
            Overloaded: It died twice under a read.
            DocactorError: What the document or the Directory answered.
        """
        may_repeat, moved_from = _may_repeat(request), None
        for attempt in range(MOVES):
            place = await self._place(ref)
            try:
                answer = await self._ask(place, verb, caller, request)
            except UnreachableError:
                self._places.broken(place)
                await _pause(attempt)
                continue
            except LostCallError as error:
                self._places.broken(place)
                if not may_repeat:
                    raise _lost(request) from error
                may_repeat = False
                continue
            if not isinstance(answer, WireError):
                self._want_link(place)
                return answer
            if answer.code == DocumentNotFound.code:
                raise DocumentNotFound.for_document(ref)  # named as it was asked for, not by its id
            if answer.code != Moved.code:
                raise from_wire(answer)
            # Told so twice of one route: the Directory has to look for itself.
            if moved_from == place.key:
                self._places.broken(place)
                await _pause(attempt)
            else:
                self._places.forget(place)
            moved_from = place.key
        raise Overloaded("The document keeps moving.", retry_after_s=1)

    async def link(self, ref: str) -> DocumentLink:
        """This gateway's link to a document, opened when there is none."""
        for attempt in range(MOVES):
            place = await self._place(ref)
            try:
                return await self._linked(place)
            except Moved:
                self._places.broken(place)
                await _pause(attempt)
        raise Overloaded("The document keeps moving.", retry_after_s=1)

    # --- the Directory ---------------------------------------------------------------------------

    async def directory(self, method: str, *args: Any) -> Any:
        """Calls the Directory, waiting for it while it is being restarted.

        Raises:
            Overloaded: It does not come back in time.
            OutcomeUnknown: It died under a call that may not be repeated.
            DocactorError: What it answered.
        """
        if method == "create_document":
            args = _with_key(args)
        deadline, pause = anyio.current_time() + DIRECTORY_RETRY_S, RETRY_S
        while True:
            try:
                answer = await self._road.directory(method, *args)
            except UnreachableError as error:
                cause: Exception = error
            except LostCallError as error:
                if method not in REPEATABLE:
                    raise OutcomeUnknown("The Directory died under this call.") from error
                cause = error
            else:
                if isinstance(answer, WireError):
                    raise from_wire(answer)
                return answer
            if anyio.current_time() > deadline:
                raise Overloaded("The Directory does not answer.", retry_after_s=5) from cause
            await anyio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_S)

    async def close(self) -> None:
        """Ends all links and what goes on in the background."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in self._links.values():
            link.close()
        self._links.clear()
        await (
            anyio.lowlevel.checkpoint()
        )  # a transport that was closed ends in the loop's next turn

    # --- inside: calls ---------------------------------------------------------------------------

    async def _place(self, ref: str) -> Place:
        place = self._places.get(ref)
        if place is None:
            route: Route = await self.directory("locate", ref, self._places.dead(ref))
            place = self._places.add(ref, route)
        return place

    async def _ask(self, place: Place, verb: Verb, caller: Caller, request: Any) -> Any:
        """The actor's answer, or LostCallError as soon as it will not come."""
        asked = self._spawn_call(
            self._road.document(place.route.actor, verb, place.key, caller, request)
        )
        lost = asyncio.ensure_future(place.lost.wait())
        try:
            while not asked.done():
                await asyncio.wait(
                    {asked, lost}, timeout=CALL_SUSPECT_S, return_when=asyncio.FIRST_COMPLETED
                )
                if asked.done():
                    break
                if not lost.done() and await self._still_there(place):
                    continue
                await asyncio.wait({asked}, timeout=LAST_WORD_S)
                if not asked.done():
                    raise LostCallError(verb)
        finally:
            lost.cancel()
            if not asked.done():
                asked.cancel()
        return asked.result()

    async def _still_there(self, place: Place) -> bool:
        """Whether the Directory, which looks at the slot itself, still names this route."""
        try:
            route: Route = await self.directory("locate", place.key.doc_id, place.key)
        except DocactorError:
            return True  # it cannot say; the call has a deadline of its own
        return route.key == place.key

    @staticmethod
    def _spawn_call(call: Awaitable[Any]) -> asyncio.Future[Any]:
        future = asyncio.ensure_future(call)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        return future

    # --- inside: links ---------------------------------------------------------------------------

    def _want_link(self, place: Place) -> None:
        """A link tells within milliseconds that an actor died, so every place in use has one."""
        if not self._closed and not place.link_wanted:
            place.link_wanted = True
            self._spawn(lambda: self._try_link(place), f"link {place.key.doc_id}")

    async def _try_link(self, place: Place) -> None:
        try:
            await self._linked(place)
        except DocactorError as error:
            log.info("no link to %s: %s", place.key.doc_id, error.message)
            self._places.broken(place)

    async def _linked(self, place: Place) -> DocumentLink:
        doc_id = place.key.doc_id
        lock = self._connecting.setdefault(doc_id, asyncio.Lock())
        try:
            async with lock:
                link = self._links.get(doc_id)
                if link is None:
                    link = DocumentLink(self._gateway_id, self._road.node_id, self._lost)
                    try:
                        await link.attach(place.route)
                    except BaseException:
                        link.close()  # who gave up may have done so when it was connected already
                        raise
                    self._links[doc_id] = link
                return link
        finally:
            if not lock.locked():
                self._connecting.pop(doc_id, None)

    def _lost(self, link: DocumentLink, key: RouteKey) -> None:
        place = self._places.get(key.doc_id)
        if place is not None and place.key == key:
            self._places.broken(place)
        if self._links.get(key.doc_id) is not link:
            return
        if link.in_use and not self._closed:
            self._spawn(lambda: self._reattach(link, key), f"re-attach {key.doc_id}")
        else:
            del self._links[key.doc_id]

    async def _reattach(self, link: DocumentLink, key: RouteKey) -> None:
        """Brings a link and its sessions to the document's next activation."""
        deadline, pause = anyio.current_time() + REATTACH_S, RETRY_S
        code, reason = close_codes.TRY_AGAIN, "the document cannot be opened"
        while link.in_use and anyio.current_time() < deadline:
            try:
                route: Route = await self.directory("locate", key.doc_id, key)
                await link.attach(route)
            except FINAL as error:
                code, reason = close_codes.of_error(error.code), error.message
                break
            except DocactorError as error:
                log.warning("cannot re-attach to %s: %s", key.doc_id, error.message)
            else:
                self._counts.reconnects += 1
                self._places.add(key.doc_id, route).link_wanted = True
                return
            await anyio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_S)
        if self._links.get(key.doc_id) is link:
            del self._links[key.doc_id]
        link.close(code, reason)

    def _spawn(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        task = asyncio.ensure_future(self._guarded(work, name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _guarded(work: Callable[[], Awaitable[None]], name: str) -> None:
        try:
            await work()
        except Exception:
            # The border of a task.
            log.exception("background task failed: %s", name)


async def _pause(attempt: int) -> None:
    """None before the first repetition, then ever longer, three seconds in all.

    What the Directory takes for a false alarm now it may know better about in a second: an actor
    whose node was killed goes on answering for that long.
    """
    if attempt > 0:
        await anyio.sleep(RETRY_S * 2**attempt)


def _may_repeat(request: Any) -> bool:
    return not _writes(request) or request.options.idempotency_key is not None


def _writes(request: Any) -> bool:
    options = getattr(request, "options", None)
    return isinstance(options, WriteOptions) and not options.dry_run


def _lost(request: Any) -> DocactorError:
    """What is told of a call whose actor died and that is not repeated any more."""
    if _writes(request):
        return OutcomeUnknown("The document's actor died under this call.")
    return Overloaded("The document's actor died under this call, twice.", retry_after_s=1)


def _with_key(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """create_document's arguments with an idempotency key, so that it may be repeated."""
    caller, title, slug, blocks, key, *rest = list(args) + [None, None, (), None][len(args) - 1 :]
    return (caller, title, slug, blocks, key or secrets.token_hex(16), *rest)
