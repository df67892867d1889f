"""A cluster in memory: slots that hold documents, die, fall silent and guard their files."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import msgspec

from actors.directory.catalog_memory import MemoryCatalog
from actors.directory.directory import Directory
from actors.folder_lock import LockProof
from actors.ports import Beat, Holder, NodeInfo, SlotLostError, SlotSilentError
from shared.directory_protocol import DirectorySettings
from shared.errors import DocactorError, Moved, StorageUnavailable
from shared.protocol import (
    Activated,
    Activation,
    AnchorOnly,
    CommitTotals,
    Report,
    RouteKey,
    Whoami,
)

LOCK = LockProof("/data/directory.lock", "nonce")


class FakeSlot:
    """One slot's process."""

    def __init__(self, holder: Holder) -> None:
        self.holder = holder
        self.key: RouteKey | None = None
        self.alive = True
        self.silent = False
        self.clinging = False  # it never gives its document back
        self.busy = False
        self.idle_s = 0.0
        self.sole_gateway = ""
        self.still_s = 0.0
        self.beats = 0  # heard so far
        self.title = ""
        self.updated_at = 0
        self.left: dict[str, int] = {}
        self.sessions = 0
        self.commits = CommitTotals()


class FakeSlots:
    """The port, with switches for what goes wrong.

    Attributes:
        files: doc_id -> epoch of the file; a file exists once it was seeded.
        locked_by: doc_id -> the slot whose process has it open.
        refuse, refuse_close: Raised, once, by the next activation, or passivation.
        then: Called when an activation is refused.
        may_start: Slots start while it is set.
    """

    def __init__(self, cores: float = 2, nodes: tuple[str, ...] = ("n1",)) -> None:
        self.slots: dict[str, FakeSlot] = {}
        self.files: dict[str, int] = {}
        self.locked_by: dict[str, str] = {}
        self.refuse: DocactorError | None = None
        self.then: Callable[[], object] | None = None
        self.refuse_close: DocactorError | None = None
        self.activations: list[Activation] = []
        self.killed: list[str] = []
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.may_activate = asyncio.Event()
        self.may_activate.set()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.starting = 0
        self.most_starting = 0
        self.foreign_nodes: set[str] = set()
        self.node_infos = [NodeInfo(node, cores, 8 * 2**30) for node in nodes]
        self._numbers = itertools.count(1)

    # --- what tests do ---------------------------------------------------------------------------

    def holding(self, doc_id: str) -> FakeSlot:
        """The slot that has the document open."""
        return self.slots[self.locked_by[doc_id]]

    def die(self, slot: FakeSlot) -> None:
        slot.alive = False
        self.locked_by = {d: a for d, a in self.locked_by.items() if a != slot.holder.actor}

    # --- the port --------------------------------------------------------------------------------

    async def nodes(self) -> tuple[NodeInfo, ...]:
        return tuple(self.node_infos)

    async def start(self, node_id: str) -> Holder:
        self.starting += 1
        self.most_starting = max(self.starting, self.most_starting)
        try:
            await asyncio.sleep(0)
            await self.may_start.wait()
        finally:
            self.starting -= 1
        if all(node.node_id != node_id for node in self.node_infos):
            raise SlotLostError(f"node {node_id} left")
        number = next(self._numbers)
        holder = Holder(f"doc-slot-{number}", node_id, 1000 + number, number)
        self.slots[holder.actor] = FakeSlot(holder)
        return holder

    async def names(self) -> tuple[str, ...]:
        return tuple(actor for actor, slot in self.slots.items() if slot.alive)

    async def whoami(self, actor: str) -> Whoami:
        slot = self._living(actor)
        state = "blank" if slot.key is None else "active"
        holder = slot.holder
        return Whoami(
            state, slot.key, holder.node_id, holder.pid, holder.started, "unix:/x", "tcp:h:1"
        )

    async def beat(self, actor: str) -> Beat:
        slot = self._living(actor)
        slot.beats += 1
        report = None
        if slot.key is not None:
            told = (slot.title, slot.updated_at, 1, slot.sessions, slot.commits, slot.left)
            report = Report(slot.key, *told)
        who = await self.whoami(actor)
        return Beat(who, report, slot.busy, slot.idle_s, slot.sole_gateway, slot.still_s)

    async def activate(self, actor: str, activation: Activation) -> Activated:
        slot = self._living(actor)
        self.activations.append(activation)
        await self.may_activate.wait()
        self._living(actor)
        if self.refuse is not None:
            error, self.refuse = self.refuse, None
            if self.then is not None:
                self.then()
            raise error
        key = activation.key
        if key.doc_id in self.locked_by:
            raise StorageUnavailable("The document's file is locked.")
        if (activation.seed is None) != (key.doc_id in self.files):
            raise StorageUnavailable("The document's file is missing, or has history.")
        if self.files.get(key.doc_id, 0) > key.epoch:
            raise Moved("A higher epoch.", epoch=self.files[key.doc_id])
        self.files[key.doc_id] = key.epoch
        self.locked_by[key.doc_id] = actor
        slot.key, slot.busy, slot.idle_s = key, False, 0.0
        slot.sole_gateway, slot.still_s = "", 0.0
        slot.commits = CommitTotals()
        blocks = tuple(AnchorOnly(f"anchor-{n}") for n, _ in enumerate(activation.seed or ()))
        return Activated("unix:/x", "tcp:h:1", 7, blocks)

    async def passivate(self, actor: str, key: RouteKey, idle_s: float | None) -> bool:
        slot = self._living(actor)
        if self.refuse_close is not None:
            error, self.refuse_close = self.refuse_close, None
            raise error
        await self.may_close.wait()
        if slot.key != key or slot.clinging:
            return slot.key is None
        if idle_s is not None and (slot.busy or slot.idle_s < idle_s):
            return False
        await asyncio.sleep(0)
        del self.locked_by[key.doc_id]
        slot.key = None
        return True

    async def hibernate(self, actor: str, key: RouteKey, gateway: str, still_s: float) -> bool:
        slot = self._living(actor)
        if slot.sole_gateway != gateway or slot.still_s < still_s:
            return False
        return await self.passivate(actor, key, None)

    async def shares_folder(self, actor: str, lock: LockProof) -> bool:
        return self._living(actor).holder.node_id not in self.foreign_nodes

    async def kill(self, holder: Holder, helper: str | None) -> None:
        del helper
        self.killed.append(holder.actor)
        if slot := self.slots.get(holder.actor):
            self.die(slot)

    def _living(self, actor: str) -> FakeSlot:
        slot = self.slots.get(actor)
        if slot is None or not slot.alive:
            raise SlotLostError(actor)
        if slot.silent:
            raise SlotSilentError(actor)
        return slot


class FakeFiles:
    """The data folder: which epochs were announced, which files were removed."""

    def __init__(self, slots: FakeSlots) -> None:
        self.epochs: dict[str, int] = {}
        self.stuck: set[str] = set()  # documents whose files cannot be removed
        self.failing: StorageUnavailable | None = None  # raised when an epoch is to be written
        self._slots = slots

    def path(self, doc_id: str) -> str:
        return f"/data/{doc_id}.sqlite3"

    async def write_epoch(self, doc_id: str, epoch: int) -> None:
        if self.failing is not None:
            raise self.failing
        self.epochs[doc_id] = epoch

    async def remove(self, doc_id: str) -> None:
        assert doc_id not in self._slots.locked_by, "removed under somebody who has it open"
        if doc_id in self.stuck:
            raise StorageUnavailable("The folder is read-only.")
        self._slots.files.pop(doc_id, None)

    async def ids(self) -> frozenset[str]:
        return frozenset(self._slots.files)


class World:
    """A catalog, slots and files that outlive the Directories run on them."""

    def __init__(self, slots: FakeSlots | None = None) -> None:
        self.slots = slots or FakeSlots()
        self.catalog = MemoryCatalog()
        self.files = FakeFiles(self.slots)
        self.now = 1_700_000_000_000

    @asynccontextmanager
    async def directory(self, **settings: object) -> AsyncIterator[Directory]:
        wanted = {"warm_slots": 1, "beat_s": 0.01, "activate_deadline_s": 5.0} | settings
        running = Directory.running(
            self.catalog,
            self.slots,
            self.files,
            msgspec.convert({"data": "/data", **wanted}, DirectorySettings),
            lock=LOCK,
            now_ms=self._tick,
        )
        async with running as directory:
            yield directory

    def _tick(self) -> int:
        self.now += 1
        return self.now


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what a test asserts. The test's own timeout is the limit."""
    while not condition():  # noqa: ASYNC110  what is waited for sets no event
        await anyio.sleep(0.001)
