"""The nodes a Directory uses: one warm pool each, kept in step with the cluster."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio

from actors.background import Background
from actors.directory.placement import (
    NodeLoad,
    by_preference,
    max_active,
    slots_in_memory,
    starts_at_once,
)
from actors.directory.warm_pool import WarmPool
from actors.folder_lock import LockProof
from actors.ports import Holder, NodeInfo, SlotLostError, Slots, SlotSilentError
from shared.directory_protocol import DirectorySettings, NodeStatus
from shared.errors import InvalidArgument, Overloaded

log = logging.getLogger(__name__)


class Nodes:
    """Pools by node id; places a document on the node with the most room."""

    def __init__(
        self, slots: Slots, background: Background, settings: DirectorySettings, lock: LockProof
    ) -> None:
        self._slots = slots
        self._background = background
        self._settings = settings
        self._lock = lock
        self._pools: dict[str, WarmPool] = {}
        self._limits: dict[str, int] = {}
        self._proved: set[str] = set()
        self._draining: set[str] = set()

    async def look(self) -> tuple[str, ...]:
        """Takes up nodes that joined; returns the ids of those that left, without their pools."""
        living = {node.node_id: node for node in await self._slots.nodes()}
        for node in living.values():
            if node.node_id not in self._pools:
                self._add(node)
        left = tuple(node_id for node_id in self._pools if node_id not in living)
        for node_id in left:
            log.warning("node %s left", node_id)
            self._pools.pop(node_id).close()
            self._proved.discard(node_id)
            self._draining.discard(node_id)
        return left

    def pool(self, node_id: str) -> WarmPool | None:
        return self._pools.get(node_id)

    def blanks(self) -> tuple[Holder, ...]:
        return tuple(blank for pool in self._pools.values() for blank in pool.blanks)

    async def beat_blanks(self, lost: Callable[[Holder], Awaitable[None]]) -> None:
        """One heartbeat of each blank; `lost` is called with those that do not answer."""

        async def beat(blank: Holder) -> None:
            try:
                await self._slots.beat(blank.actor)
            except (SlotLostError, SlotSilentError):
                if blank in self.blanks():
                    await lost(blank)

        async with anyio.create_task_group() as group:
            for blank in self.blanks():
                group.start_soon(beat, blank)

    def find(self, node: str) -> str:
        """The id of a node by its id or the beginning of it. Raises InvalidArgument."""
        found = [node_id for node_id in self._pools if node and node_id.startswith(node)]
        if len(found) == 1:
            return found[0]
        what = "several nodes begin with" if found else "no node begins with"
        raise InvalidArgument(f"node: {what} {node[:64]!r}.", nodes=sorted(self._pools))

    def is_draining(self, node_id: str) -> bool:
        return node_id in self._draining

    def others(self, node_id: str) -> tuple[str, ...]:
        """The other nodes that take documents."""
        return tuple(load.node_id for load in self._loads() if load.node_id != node_id)

    def drain(self, node_id: str) -> None:
        """Places no document there any more and starts no slot."""
        self._draining.add(node_id)
        self._pools[node_id].pause()

    def undrain(self, node_id: str) -> None:
        self._draining.discard(node_id)
        self._pools[node_id].resume()

    def superfluous(self) -> tuple[Holder, ...]:
        """Blanks of nodes that are drained."""
        return tuple(blank for n in self._draining for blank in self._pools[n].blanks)

    def let_go(self) -> tuple[Holder, ...]:
        """Blanks that are no longer kept, out of their pools already: kill them."""
        return tuple(blank for pool in self._pools.values() for blank in pool.let_go())

    def has_room(self) -> bool:
        return bool(by_preference(self._loads()))

    async def take(self) -> Holder:
        """A blank slot on the best node.

        Raises:
            Overloaded: Every node is full.
        """
        while True:
            best = by_preference(self._loads())
            if not best:
                raise Overloaded("No node takes another active document now.", retry_after_s=5)
            pool = self._pools[best[0].node_id]
            try:
                holder = await pool.take()
            except SlotLostError:
                continue  # the node left while we waited in its line
            if await self._shares_folder(pool, holder):
                return holder

    async def kill(self, holder: Holder) -> None:
        """Ends a slot's process; one on a node that left ends itself."""
        pool = self._pools.get(holder.node_id)
        helpers = [blank.actor for blank in pool.blanks if blank != holder] if pool else []
        await self._slots.kill(holder, helpers[0] if helpers else None)

    def give_back(self, holder: Holder) -> None:
        if pool := self._pools.get(holder.node_id):
            pool.give_back(holder)

    def gone(self, holder: Holder) -> None:
        if pool := self._pools.get(holder.node_id):
            pool.gone(holder)

    def adopt(self, holder: Holder, *, blank: bool) -> bool:
        """False: its node is not ours."""
        pool = self._pools.get(holder.node_id)
        if pool is None:
            return False
        pool.adopt(holder, blank=blank)
        return True

    def refill(self, extra: int = 0) -> None:
        """Starts what is missing; `extra` blanks more, spread over the nodes, just this once."""
        for pool in self._pools.values():
            pool.warm_up(-(-extra // len(self._pools)))
            pool.refill()

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def status(self) -> tuple[NodeStatus, ...]:
        return tuple(
            NodeStatus(
                *(node_id, len(p.blanks), p.starting, p.taken, self._limits[node_id], p.refused),
                draining=node_id in self._draining,
            )
            for node_id, p in self._pools.items()
        )

    def _add(self, node: NodeInfo) -> None:
        limit = max_active(node, self._settings.max_active)
        self._limits[node.node_id] = limit
        self._pools[node.node_id] = WarmPool(
            node.node_id,
            self._slots,
            self._background,
            target=self._settings.warm_slots,
            starts_at_once=starts_at_once(node),
            room=limit,
            most=slots_in_memory(node),
        )

    def _loads(self) -> list[NodeLoad]:
        return [
            NodeLoad(node_id, p.taken + p.waiting, len(p.blanks), self._limits[node_id])
            for node_id, p in self._pools.items()
            if not p.refused and node_id not in self._draining
        ]

    async def _shares_folder(self, pool: WarmPool, holder: Holder) -> bool:
        """A node proves once that it sees our lock; two writers would ruin a file otherwise."""
        if pool.node_id in self._proved:
            return True
        try:
            shares = await self._slots.shares_folder(holder.actor, self._lock)
        except (SlotLostError, SlotSilentError):
            await self.kill(holder)
            pool.gone(holder)
            return False
        if shares:
            self._proved.add(pool.node_id)
            return True
        pool.refused = "its data folder is not the Directory's, or locks do not hold there"
        log.error("node %s is not used: %s", pool.node_id, pool.refused)
        pool.give_back(holder)
        return False
