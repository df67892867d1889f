"""The roads to documents and to the Directory.

A gateway remembers where documents are and asks the Directory when that was wrong. What was
certainly not applied, or may be repeated, is repeated once behind the caller's back; of anything
else the caller is told that the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final

import anyio
import anyio.lowlevel

from gateway.admissions import Admissions, refusal
from gateway.counts import GatewayCounts
from gateway.editors.link import DocumentLink
from gateway.places import Place, Places
from gateway.ports import Admission
from gateway.ray_road import RayRoad
from gateway.roads import LostCallError, Road, UnreachableError
from gateway.sleepers import Sleepers
from shared.budget import VISITORS, Allowance
from shared.calls import LASTING, Verb, decode_answer, encode_call
from shared.errors import (
    DocactorError,
    DocumentCorrupt,
    DocumentNotFound,
    Moved,
    OutcomeUnknown,
    Overloaded,
    ShuttingDown,
    WireError,
    from_wire,
)
from shared.limits import (
    CALL_SUSPECT_S,
    DIRECTORY_RETRY_S,
    LAST_WORD_S,
    LINK_CALL_BYTES,
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
        "admit",
        "audit",
        "authenticate",
        "awake",
        "back_up_catalog",
        "check_catalog",
        "create_document",
        "create_ticket",
        "describe",
        "document_ids",
        "drain",
        "drain_node",
        "list_documents",
        "list_tokens",
        "last_left",
        "invalid_tokens",
        "locate",
        "members",
        "metrics",
        "redeem",
        "report_gateway",
        "resolve",
        "status",
        "undrain_node",
        "wait_for_notice",
        "wait_for_wakes",
        "woken",
    }
)
# These say that a document will not be opened again here, and how its editors are told.
FINAL: Final = (ShuttingDown, DocumentNotFound, DocumentCorrupt)  # no retry re-attaches a link


class Router:
    """One per gateway process, on its loop. Every method raises DocactorError alone.

    Args:
        gateway_id: Names this process to document actors.
        road: How calls travel; None: through the Ray this process has joined.
        counts: Where links that found their document again are counted.
        visitors: Budgets of callers whom nobody gave a role by name.
    """

    def __init__(
        self,
        gateway_id: str,
        road: Road | None = None,
        counts: GatewayCounts | None = None,
        visitors: Allowance = VISITORS,
    ) -> None:
        self._gateway_id = gateway_id
        self._road: Road = road if road is not None else RayRoad()
        self._counts = counts or GatewayCounts(gateway_id)
        self._places = Places()
        self._admissions = Admissions(self.directory, visitors)
        self._links: dict[str, DocumentLink] = {}
        self._connecting: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sleepers = Sleepers(gateway_id, self._links, self.directory, self._bring, self._spawn)
        self._closed = False

    # --- documents -------------------------------------------------------------------------------

    async def admit(self, ref: str, caller: Caller) -> Admission:
        """What the caller may do with a document; see Admissions.of."""
        return await self._admissions.of(ref, caller)

    async def admit_again(self, asked: Sequence[tuple[str, Caller]]) -> list[Caller | None]:
        """The same as of now, for what goes on already."""
        return await self._admissions.now_of(asked)

    def forget_roles(self, documents: Collection[str] | None, keep_s: float) -> None:
        """Roles on these documents changed, or with None on any."""
        self._admissions.forget(documents, keep_s)

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
        admission = await self.admit(ref, caller)
        try:
            return await self.call_admitted(admission, verb, request)
        except DocumentNotFound as error:
            raise refusal(ref, caller) from error  # named as it was asked for, not by its id

    async def call_admitted(self, admission: Admission, verb: Verb, request: Any) -> Any:
        """The same for a caller who was admitted before, with the roles it had then."""
        may_repeat, moved_from = _may_repeat(request), None
        for attempt in range(MOVES):
            place = await self._place(admission.doc_id)
            try:
                answer = await self._ask(place, verb, admission.caller, request)
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
        """This gateway's link to a document, opened when there is none.

        One that sleeps does not wake by that: a session that is opened on it does.
        """
        asleep = self._links.get(self._places.doc_id(ref))
        if asleep is not None and asleep.asleep:
            return asleep
        for attempt in range(MOVES):
            place = await self._place(ref)
            try:
                return await self._linked(place)
            except Moved:
                self._places.broken(place)
                await _pause(attempt)
        raise Overloaded("The document keeps moving.", retry_after_s=1)

    async def sleeps(self, doc_id: str) -> int:
        """The epoch a document fell asleep under at this gateway, if it still does; else 0."""
        return await self._sleepers.epoch(doc_id)

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

    async def follow(self) -> None:
        """Hears which sleeping documents were opened, for ever. Ends by being cancelled."""
        await self._sleepers.follow()

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
        asked = self._spawn_call(self._by_road(place, verb, caller, request))
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

    async def _by_road(self, place: Place, verb: Verb, caller: Caller, request: Any) -> Any:
        """Over the link to this activation where there is one: it costs a fraction of Ray."""
        link = self._links.get(place.key.doc_id)
        if link is not None and link.takes_calls(place.key) and verb not in LASTING:
            call = encode_call(place.key, caller, request)
            if len(call) <= LINK_CALL_BYTES:
                return decode_answer(verb, await link.call(verb, call))
        return await self._road.document(place.route.actor, verb, place.key, caller, request)

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
                    node_id = self._road.node_id
                    link = DocumentLink(self._gateway_id, node_id, self._lost, self._slept)
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
        if link.in_use:  # a session may have come to it after it was given up
            self._links.setdefault(key.doc_id, link)
        if self._links.get(key.doc_id) is not link:
            link.close()
            return
        if link.in_use and not self._closed:
            self._spawn(lambda: self._reattach(link, key), f"re-attach {key.doc_id}")
        else:
            self._forget(key.doc_id)

    def _slept(self, _link: DocumentLink, key: RouteKey) -> None:
        place = self._places.get(key.doc_id)
        if place is not None and place.key == key:
            self._places.forget(place)
        self._counts.sleeping.add(key.doc_id)

    def _forget(self, doc_id: str) -> None:
        del self._links[doc_id]
        self._counts.sleeping.discard(doc_id)

    async def _bring(self, link: DocumentLink, route: Route) -> None:
        """Brings a link to an activation. Raises DocactorError."""
        self._counts.reconnects += await link.attach(route)
        self._counts.sleeping.discard(route.key.doc_id)
        self._places.add(route.key.doc_id, route).link_wanted = True

    async def _reattach(self, link: DocumentLink, key: RouteKey) -> None:
        """Brings a link and its sessions to the document's next activation."""
        deadline, pause = anyio.current_time() + REATTACH_S, RETRY_S
        code, reason = close_codes.TRY_AGAIN, "the document cannot be opened"
        while link.in_use and anyio.current_time() < deadline:
            try:
                route: Route = await self.directory("locate", key.doc_id, key)
                await self._bring(link, route)
            except FINAL as error:
                code, reason = close_codes.of_error(error.code), error.message
                break
            except DocactorError as error:
                log.warning("cannot re-attach to %s: %s", key.doc_id, error.message)
            else:
                return
            await anyio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_S)
        if self._links.get(key.doc_id) is link:
            self._forget(key.doc_id)
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
