"""Which slot holds which document, and how that changes.

Every document has at most one opening and one closing at a time; whoever asks meanwhile waits for
its outcome. The catalog's assignment is written before anything is done under it, so that a
Directory that dies in between finds on its return whom to kill.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import msgspec

from actors.background import Background
from actors.directory.adoption import adopt_slots
from actors.directory.held import Held, Seed
from actors.directory.nodes import Nodes
from actors.directory.openings import Openings
from actors.directory.tallies import Tallies
from actors.directory.wakes import Wakes
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
    Moved,
    Overloaded,
    ShuttingDown,
    StorageUnavailable,
)
from shared.limits import BEAT_PAUSE_S, CLOSINGS_AT_ONCE, HIBERNATE_EARLY_S, ROOM_QUESTIONS
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
        self._opening = Openings(background)
        self._closing: dict[str, asyncio.Event] = {}
        self._reuses: dict[str, int] = {}  # actor name -> documents it has held
        self._draining = False
        self.tallies = Tallies(anyio.current_time)
        self.wakes = Wakes(catalog, anyio.current_time)

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
            held.used = anyio.current_time()
            return held.route
        if self._draining and doc_id not in self._opening:
            raise ShuttingDown("The server is shutting down.")
        return await asyncio.shield(self._opening.of(doc_id, partial(self._reopen, doc_id)))

    async def create(self, doc_id: str, seed: Seed) -> Activated:
        """Opens a document that has no file yet. Nobody else can ask for it before it is ready."""
        if self._draining:
            raise ShuttingDown("The server is shutting down.")
        return await self._activate(doc_id, seed)

    async def passivate(self, doc_id: str, idle_s: float | None) -> bool:
        """Closes an active document; False: it is busy (idle for less than `idle_s`)."""
        return await self._put_down(doc_id, partial(self._end, idle_s=idle_s), None)

    async def hibernate(self, doc_id: str, gateway: str, still_s: float) -> bool:
        """Closes an active document whose sessions stay open at their gateway; False: not now."""
        work = partial(self._fall_asleep, gateway=gateway, still_s=still_s)
        asleep = await self._put_down(doc_id, work, gateway)
        self.tallies.hibernations += asleep
        return asleep

    async def _put_down(
        self, doc_id: str, end: Callable[[Held], Awaitable[bool]], sleeping_at: str | None
    ) -> bool:
        held = self._held.get(doc_id)
        if held is None or doc_id in self._closing:
            return False
        closing = self._closing[doc_id] = asyncio.Event()
        try:
            with anyio.CancelScope(shield=True):
                closed = await self._close(held, end, sleeping_at)
        finally:
            del self._closing[doc_id]
            closing.set()
        return closed

    async def put_away(self, doc_id: str) -> None:
        """Closes a document whatever is going on with it; no slot of ours has it on return."""
        while True:
            if closing := self._closing.get(doc_id):
                await closing.wait()
            elif doc_id in self._opening:
                await self._opening.wait(doc_id)
            elif held := self._held.get(doc_id):
                if not await self.passivate(doc_id, None) and self._held.get(doc_id) is held:
                    del self._held[doc_id]  # it cannot close; the kill frees the file
                    await self._discard(held.holder)
            else:
                break
        before = await self._catalog.assignment(doc_id)
        if before is not None and before.sleeping_at is not None:
            self.wakes.gone(before.sleeping_at, doc_id)

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
        await self._opening.wait_all()
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
        """One round of heartbeats: notes reports, closes idle documents, replaces lost slots.

        One document after another, over at most half a round: an answer takes a millisecond or two
        here and as much in its actor, and asked all at once they held up everybody's keystrokes.
        """
        for node_id in await self._nodes.look():
            for held in [h for h in self._held.values() if h.holder.node_id == node_id]:
                del self._held[held.route.key.doc_id]
        async with anyio.create_task_group() as group:
            group.start_soon(self._nodes.beat_blanks, self._discard)
            active = self.active
            pause_s = min(BEAT_PAUSE_S, self._settings.beat_s / (2 * len(active) + 1))
            for doc_id in active:
                group.start_soon(self._beat_active, doc_id)
                await anyio.sleep(pause_s)
        for blank in self._nodes.superfluous():
            await self._discard(blank)
        for blank in self._nodes.let_go():
            await self._nodes.kill(blank)
            self._reuses.pop(blank.actor, None)
        self._nodes.refill()

    # --- opening ----------------------------------------------------------------------------------

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
            await self._nodes.beat_blanks(self._discard)  # what killed it may have killed others
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
        """Closes a document that nobody is at, or where nobody does a thing; False: there is none.

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
        for held in sorted(by_age, key=lambda h: -h.still_s):
            if await self._doze(held, HIBERNATE_EARLY_S):
                return True
        return False

    async def _doze(self, held: Held, still_s: float) -> bool:
        """Puts a document to sleep in which nobody has done a thing for so long; False: not so."""
        if self._settings.hibernate_s <= 0 or not held.sole_gateway or held.still_s < still_s:
            return False
        return await self.hibernate(held.route.key.doc_id, held.sole_gateway, still_s)

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
            await self._refused(key, holder, before)
            raise
        route = Route(key, holder.actor, holder.node_id, activated.link, activated.link_tcp)
        if before is not None and before.sleeping_at is not None:
            # Before anybody else knows the route: nothing is written that sleepers miss.
            await self.wakes.tell(before.sleeping_at, route)
            self.tallies.wakes += predecessor is None
        self._held[doc_id] = Held(route, holder, anyio.current_time())
        self.tallies.activations += 1
        self._reuses[holder.actor] = self._reuses.get(holder.actor, 0) + 1
        return activated

    async def _claim(self, doc_id: str, holder: Holder, least: int) -> RouteKey:
        epoch = await self._catalog.raise_epoch(doc_id, holder, least, self._now_ms())
        return RouteKey(doc_id, epoch, self._new_secret())

    async def _order(self, holder: Holder, key: RouteKey, seed: Seed | None) -> Activated:
        row, path = await self._catalog.document(key.doc_id), self._files.path(key.doc_id)
        activation = Activation(key, path, expires_at=row.expires_at if row else None)
        if seed is not None:
            activation = msgspec.structs.replace(
                activation, seed=seed.blocks, caller=seed.caller, title=seed.title
            )
        return await self._slots.activate(holder.actor, activation)

    async def _refused(self, key: RouteKey, holder: Holder, before: Assignment | None) -> None:
        """The slot is blank again and has no file open."""
        now = self._now_ms()
        try:
            if before is None or before.holder is None:
                sleeping_at = before.sleeping_at if before is not None else None
                await self._catalog.hand_back(key.doc_id, key.epoch, now, sleeping_at)
            else:
                # It may have outlived its kill and hold the file: the next opening kills it again.
                await self._catalog.raise_epoch(key.doc_id, before.holder, 0, now)
        except StorageUnavailable:
            await self._discard(holder)  # as in `_close`
            raise
        self._nodes.give_back(holder)

    # --- closing ----------------------------------------------------------------------------------

    async def _end(self, held: Held, *, idle_s: float | None) -> bool:
        return await self._slots.passivate(held.holder.actor, held.route.key, idle_s)

    async def _fall_asleep(self, held: Held, *, gateway: str, still_s: float) -> bool:
        """Who has the sessions is on disk before they are left to it: should all of us die in
        between, the next activation tells that gateway all the same.
        """
        key = held.route.key
        await self._catalog.fall_asleep(key.doc_id, key.epoch, gateway)
        return await self._slots.hibernate(held.holder.actor, key, gateway, still_s)

    async def _close(
        self, held: Held, end: Callable[[Held], Awaitable[bool]], sleeping_at: str | None
    ) -> bool:
        key = held.route.key
        doc_id = key.doc_id
        try:
            await self._report(held, (await self._slots.beat(held.holder.actor)).report)
            closed = await end(held)
        except (SlotLostError, SlotSilentError) as error:
            # Not handed back: the next opening kills for certain what this leaves behind.
            log.warning("slot %s was lost while closing %s: %s", held.holder.actor, doc_id, error)
            self.tallies.lost += 1
            del self._held[doc_id]
            await self._discard(held.holder)
            return True
        if not closed:
            held.busy, held.used = True, anyio.current_time()
            return False
        del self._held[doc_id]
        try:
            await self._catalog.hand_back(doc_id, key.epoch, self._now_ms(), sleeping_at)
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
        held.busy, held.used = beat.busy, anyio.current_time() - beat.idle_s
        held.state = beat.whoami.state
        held.sole_gateway, held.still_s = beat.sole_gateway, beat.still_s
        await self._report(held, beat.report)
        if self._on_drained(held):
            await self.passivate(held.route.key.doc_id, None)
        elif not beat.busy and beat.idle_s >= self._settings.idle_s:
            await self.passivate(held.route.key.doc_id, self._settings.idle_s)
        else:
            await self._doze(held, self._settings.hibernate_s)

    async def _report(self, held: Held, report: Report | None) -> None:
        """Title, last change and who left go to the catalog when they are others than before."""
        if report is None or report.key != held.route.key:
            return
        before, held.reported = held.reported, report
        self.tallies.heard(before, report)
        told = (report.title, report.updated_at, report.left)
        if told != held.noted:
            await self._catalog.report(report.key.doc_id, *told)
            held.noted = told
