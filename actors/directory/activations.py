"""Which slot holds which document, and how that changes.

Every document has at most one opening and one closing at a time; whoever asks meanwhile waits for
its outcome. The catalog's assignment is written before anything is done under it, so that a
Directory that dies in between finds on its return whom to kill.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import anyio
import msgspec

from actors.background import Background
from actors.directory.adoption import adopt_slots
from actors.directory.held import Held, Seed
from actors.directory.nodes import Nodes
from actors.directory.tallies import Tallies
from actors.life import SERVING
from actors.ports import (
    Assignment,
    Beat,
    Catalog,
    Holder,
    SlotLostError,
    Slots,
    SlotSilentError,
)
from actors.storage.document_files import Files
from shared.directory_protocol import DirectorySettings
from shared.errors import (
    DocactorError,
    DocumentNotFound,
    InternalError,
    Moved,
    Overloaded,
    ShuttingDown,
    StorageUnavailable,
)
from shared.limits import CLOSINGS_AT_ONCE, ROOM_QUESTIONS
from shared.protocol import Activated, Activation, Report, Route, RouteKey

log = logging.getLogger(__name__)


class Activations:
    """Routes of active documents; opens, closes, takes over and adopts.

    Args:
        now_ms: Milliseconds since 1970.
        new_secret: A fresh activation secret.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        slots: Slots,
        nodes: Nodes,
        files: Files,
        background: Background,
        settings: DirectorySettings,
        now_ms: Callable[[], int],
        new_secret: Callable[[], str],
    ) -> None:
        self._catalog = catalog
        self._slots = slots
        self._nodes = nodes
        self._files = files
        self._background = background
        self._settings = settings
        self._now_ms = now_ms
        self._new_secret = new_secret
        self._held: dict[str, Held] = {}
        self._opening: dict[str, asyncio.Future[Route]] = {}
        self._closing: dict[str, asyncio.Event] = {}
        self._reuses: dict[str, int] = {}  # actor name -> documents it has held
        self._draining = False
        self.tallies = Tallies(_now)

    @property
    def active(self) -> tuple[str, ...]:
        return tuple(self._held)

    @property
    def held(self) -> tuple[Held, ...]:
        """The active documents with their slots."""
        return tuple(self._held.values())

    @property
    def waiting(self) -> int:
        return len(self._opening)

    async def locate(self, doc_id: str, dead: RouteKey | None = None) -> Route:
        """Where the document is; opens it when it is nowhere. Concurrent callers share the opening.

        Args:
            doc_id: A ready document.
            dead: The route the caller found broken. Its slot is asked, and replaced when it does
                not answer for exactly this.

        Raises:
            Overloaded: No slot came free in time.
            StorageUnavailable, DocumentCorrupt: The document's file could not be opened.
        """
        while closing := self._closing.get(doc_id):
            await closing.wait()
        held = self._held.get(doc_id)
        if held is not None and held.route.key != dead:
            held.used = _now()
            return held.route
        future = self._opening.get(doc_id)
        if future is None:
            if self._draining:
                raise ShuttingDown("The server is shutting down.")
            future = asyncio.get_running_loop().create_future()
            self._opening[doc_id] = future
            work = partial(self._settle, doc_id, future, partial(self._reopen, doc_id))
            self._background.spawn(work, f"open {doc_id}")
        return await asyncio.shield(future)

    async def create(self, doc_id: str, seed: Seed) -> Activated:
        """Opens a document that has no file yet. Nobody else can ask for it before it is ready."""
        if self._draining:
            raise ShuttingDown("The server is shutting down.")
        return await self._activate(doc_id, seed)

    async def passivate(self, doc_id: str, idle_s: float | None) -> bool:
        """Closes an active document; False: it is busy (idle for less than `idle_s`)."""
        held = self._held.get(doc_id)
        if held is None or doc_id in self._closing:
            return False
        closing = self._closing[doc_id] = asyncio.Event()
        try:
            with anyio.CancelScope(shield=True):
                closed = await self._close(doc_id, held, idle_s)
        finally:
            del self._closing[doc_id]
            closing.set()
        return closed

    async def put_away(self, doc_id: str) -> None:
        """Closes a document whatever is going on with it; no slot of ours has it on return."""
        while True:
            if closing := self._closing.get(doc_id):
                await closing.wait()
            elif opening := self._opening.get(doc_id):
                await asyncio.wait([opening])
            elif held := self._held.get(doc_id):
                if not await self.passivate(doc_id, None) and self._held.get(doc_id) is held:
                    del self._held[doc_id]  # it cannot close; the kill frees the file
                    await self._discard(held.holder)
            else:
                return

    async def leave(self, node_id: str, seconds: float) -> None:
        """Closes every document on a node; they open elsewhere when they are asked for.

        Returns after `seconds` at the latest; the rest goes on in the background.
        """
        done = anyio.Event()

        async def leave() -> None:
            try:
                await self._leave(node_id)
            finally:
                done.set()

        self._background.spawn(leave, f"drain node {node_id}")
        with anyio.move_on_after(seconds):
            await done.wait()

    async def drain(self) -> None:
        """Closes every document and opens none any more."""
        self._draining = True
        await self._catalog.set_number("active_at_stop", len(self._held))
        for future in tuple(self._opening.values()):
            await asyncio.wait([future])
        async with anyio.create_task_group() as group:
            for doc_id in self.active:
                group.start_soon(self.passivate, doc_id, None)

    async def adopt(self) -> None:
        """Takes up the slots that a former Directory left, kills those it cannot use."""
        for held in await adopt_slots(self._slots, self._nodes, self._catalog):
            self._held[held.route.key.doc_id] = held

    async def expected(self) -> int:
        """Documents that had an actor at the last stop and have none now."""
        held = {assignment.doc_id for assignment in await self._catalog.held()}
        at_stop = await self._catalog.number("active_at_stop")
        return max(at_stop, len(held)) - len(self._held)

    async def sweep(self) -> None:
        """One round of heartbeats: notes reports, closes idle documents, replaces lost slots."""
        for node_id in await self._nodes.look():
            for held in [h for h in self._held.values() if h.holder.node_id == node_id]:
                del self._held[held.route.key.doc_id]
        async with anyio.create_task_group() as group:
            group.start_soon(self._beat_blanks)
            for doc_id in self.active:
                group.start_soon(self._beat_active, doc_id)
        for blank in self._nodes.superfluous():
            await self._discard(blank)
        for blank in self._nodes.let_go():
            await self._nodes.kill(blank)
            self._reuses.pop(blank.actor, None)
        self._nodes.refill()

    # --- opening ----------------------------------------------------------------------------------

    async def _settle(
        self, doc_id: str, future: asyncio.Future[Route], work: Callable[[], object]
    ) -> None:
        """Runs an opening and gives its outcome to everybody who waits for it."""
        error: DocactorError = ShuttingDown("The server is shutting down.")
        route: Route | None = None
        try:
            route = await work()  # type: ignore[misc]
        except DocactorError as refused:
            error = refused
        except Exception:
            # The border of a task: who waits must hear of it, whatever it was.
            log.exception("opening %s failed", doc_id)
            error = InternalError("The document could not be opened.")
        finally:
            del self._opening[doc_id]
            if route is not None:
                future.set_result(route)
            elif not future.cancelled():
                future.set_exception(error)
                future.exception()  # seen: there may be nobody left who waits

    async def _reopen(self, doc_id: str) -> Route:
        held = self._held.get(doc_id)
        if held is not None:
            if await self._still_serves(held):
                return held.route
            self._lost(held)
        if await self._catalog.document(doc_id) is None:
            raise DocumentNotFound.for_document(doc_id)  # deleted since the caller looked
        await self._activate(doc_id, None)
        return self._held[doc_id].route

    async def _still_serves(self, held: Held) -> bool:
        try:
            who = await self._slots.whoami(held.holder.actor)
        except (SlotLostError, SlotSilentError):
            return False
        return who.key == held.route.key and who.state in SERVING

    async def _activate(self, doc_id: str, seed: Seed | None) -> Activated:
        try:
            return await self._open(doc_id, seed)
        except DocactorError:
            self.tallies.failures += 1
            raise

    async def _open(self, doc_id: str, seed: Seed | None) -> Activated:
        before = await self._catalog.assignment(doc_id)
        for _ in range(2):
            holder = await self._take()
            try:
                return await self._hand_over(doc_id, seed, holder, before)
            except (SlotLostError, SlotSilentError) as error:
                log.warning("slot %s was lost while opening %s: %s", holder.actor, doc_id, error)
                self.tallies.lost += 1
                await self._discard(holder)
            if seed is not None:
                break  # a second seeding needs a file that is certainly new
            before = await self._catalog.assignment(doc_id)
            await self._beat_blanks()  # what killed it may have killed others
        raise StorageUnavailable("The document could not be opened: its slot was lost.")

    async def _take(self) -> Holder:
        try:
            with anyio.fail_after(self._settings.activate_deadline_s):
                while not self._nodes.has_room() and await self._make_room():
                    pass
                return await self._nodes.take()
        except TimeoutError:
            raise Overloaded("No actor came free in time.", retry_after_s=5) from None

    async def _make_room(self) -> bool:
        """Closes the least recently used document that nobody is at; False: there is none.

        Heartbeats are seconds old, so some of those that were busy then are asked again.
        """
        where_it_helps = (h for h in self._held.values() if not self._on_drained(h))
        by_age = sorted(where_it_helps, key=lambda h: (h.busy, h.used))
        questions = ROOM_QUESTIONS
        for held in by_age:
            if held.busy and (questions := questions - 1) < 0:
                break
            if await self.passivate(held.route.key.doc_id, 0.0):
                self.tallies.evictions += 1
                return True
        return False

    def _on_drained(self, held: Held) -> bool:
        return self._nodes.is_draining(held.holder.node_id)

    async def _hand_over(
        self, doc_id: str, seed: Seed | None, holder: Holder, before: Assignment | None
    ) -> Activated:
        try:
            key = await self._claim(doc_id, holder, 0)
        except DocactorError:
            self._nodes.give_back(holder)
            raise
        predecessor = before.holder if before is not None else None
        try:
            if predecessor is not None:
                # The file says who may write before the kill: a zombie reads it at its next batch.
                await self._files.write_epoch(doc_id, key.epoch)
                await self._nodes.kill(predecessor)
                self.tallies.takeovers += 1
            try:
                activated = await self._order(holder, key, seed)
            except Moved as error:
                # The file knows a higher epoch than a catalog restored from a backup.
                key = await self._claim(doc_id, holder, int(error.data.get("epoch", 0)) + 1)
                activated = await self._order(holder, key, seed)
        except DocactorError:
            await self._refused(key, holder, predecessor)
            raise
        route = Route(key, holder.actor, holder.node_id, activated.link, activated.link_tcp)
        self._held[doc_id] = Held(route, holder, _now())
        self.tallies.activations += 1
        self._reuses[holder.actor] = self._reuses.get(holder.actor, 0) + 1
        return activated

    async def _claim(self, doc_id: str, holder: Holder, least: int) -> RouteKey:
        epoch = await self._catalog.raise_epoch(doc_id, holder, least, self._now_ms())
        return RouteKey(doc_id, epoch, self._new_secret())

    async def _order(self, holder: Holder, key: RouteKey, seed: Seed | None) -> Activated:
        activation = Activation(key, self._files.path(key.doc_id))
        if seed is not None:
            activation = msgspec.structs.replace(
                activation, seed=seed.blocks, caller=seed.caller, title=seed.title
            )
        return await self._slots.activate(holder.actor, activation)

    async def _refused(self, key: RouteKey, holder: Holder, predecessor: Holder | None) -> None:
        """The slot is blank again and has no file open."""
        try:
            if predecessor is None:
                await self._catalog.hand_back(key.doc_id, key.epoch, self._now_ms())
            else:
                # It may have outlived its kill and hold the file: the next opening kills it again.
                await self._catalog.raise_epoch(key.doc_id, predecessor, 0, self._now_ms())
        except StorageUnavailable:
            await self._discard(holder)  # as in `_close`
            raise
        self._nodes.give_back(holder)

    # --- closing ----------------------------------------------------------------------------------

    async def _close(self, doc_id: str, held: Held, idle_s: float | None) -> bool:
        key = held.route.key
        try:
            await self._report(held, (await self._slots.beat(held.holder.actor)).report)
            closed = await self._slots.passivate(held.holder.actor, key, idle_s)
        except (SlotLostError, SlotSilentError) as error:
            # Not handed back: the next opening kills for certain what this leaves behind.
            log.warning("slot %s was lost while closing %s: %s", held.holder.actor, doc_id, error)
            self.tallies.lost += 1
            del self._held[doc_id]
            await self._discard(held.holder)
            return True
        if not closed:
            held.busy, held.used = True, _now()
            return False
        del self._held[doc_id]
        try:
            await self._catalog.hand_back(doc_id, key.epoch, self._now_ms())
        except StorageUnavailable:
            # The catalog still says that this slot has the document. Whoever opens it next kills
            # the slot, which must not hold another document by then.
            await self._discard(held.holder)
            raise
        used_up = self._reuses.get(held.holder.actor, 0) >= self._settings.slot_reuses
        self.tallies.recycled += used_up
        if used_up or self._on_drained(held):
            await self._discard(held.holder)
        else:
            self._nodes.give_back(held.holder)
        return True

    async def _leave(self, node_id: str) -> None:
        places = anyio.CapacityLimiter(CLOSINGS_AT_ONCE)

        async def close(doc_id: str) -> None:
            async with places:
                try:
                    await self.passivate(doc_id, None)
                except DocactorError as error:  # heartbeats come back to it
                    log.warning("document %s is not closed yet: %s", doc_id, error.message)

        async with anyio.create_task_group() as group:
            for doc_id, held in self._held.items():
                if held.holder.node_id == node_id:
                    group.start_soon(close, doc_id)
        for blank in self._nodes.superfluous():
            await self._discard(blank)

    async def _discard(self, holder: Holder) -> None:
        await self._nodes.kill(holder)
        self._reuses.pop(holder.actor, None)
        self._nodes.gone(holder)

    def _lost(self, held: Held) -> None:
        """Its assignment stays: the next opening kills what may be left of it.

        A heartbeat and an opening may both find it gone; the second one does nothing.
        """
        if self._held.get(held.route.key.doc_id) is not held:
            return
        del self._held[held.route.key.doc_id]
        self._reuses.pop(held.holder.actor, None)
        self._nodes.gone(held.holder)
        self.tallies.lost += 1

    # --- heartbeats and adoption ------------------------------------------------------------------

    async def _beat_blanks(self) -> None:
        async with anyio.create_task_group() as group:
            for blank in self._nodes.blanks():
                group.start_soon(self._beat_blank, blank)

    async def _beat_blank(self, blank: Holder) -> None:
        try:
            await self._slots.beat(blank.actor)
        except (SlotLostError, SlotSilentError):
            if blank in self._nodes.blanks():
                await self._discard(blank)

    async def _beat_active(self, doc_id: str) -> None:
        held = self._held.get(doc_id)
        if held is None or doc_id in self._opening:
            return
        try:
            beat = await self._slots.beat(held.holder.actor)
        except SlotLostError:
            if self._held.get(doc_id) is held:
                self._lost(held)
            return
        except SlotSilentError:
            return  # slow or stopped; a gateway that needs it will say so
        if self._held.get(doc_id) is held and beat.whoami.key == held.route.key:
            try:
                await self._note(held, beat)
            except DocactorError as error:
                # The others' heartbeats go on: slots that hear none leave.
                log.warning("document %s: %s", doc_id, error.message)

    async def _note(self, held: Held, beat: Beat) -> None:
        held.busy, held.used = beat.busy, _now() - beat.idle_s
        held.state = beat.whoami.state
        await self._report(held, beat.report)
        if self._on_drained(held):
            await self.passivate(held.route.key.doc_id, None)
        elif not beat.busy and beat.idle_s >= self._settings.idle_s:
            await self.passivate(held.route.key.doc_id, self._settings.idle_s)

    async def _report(self, held: Held, report: Report | None) -> None:
        """Title and last change go to the catalog when they are others than before."""
        if report is None or report.key != held.route.key:
            return
        before, held.reported = held.reported, report
        self.tallies.heard(before, report)
        told = (report.title, report.updated_at)
        if told != held.noted:
            await self._catalog.report(report.key.doc_id, *told)
            held.noted = told


def _now() -> float:
    return anyio.current_time()
