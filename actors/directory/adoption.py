"""What a Directory that comes back does with the slots a former one left."""

from __future__ import annotations

import anyio

from actors.directory.held import Held
from actors.directory.nodes import Nodes
from actors.life import SERVING
from actors.ports import Catalog, Holder, SlotLostError, Slots, SlotSilentError
from shared.protocol import Route, Whoami


async def adopt_slots(slots: Slots, nodes: Nodes, catalog: Catalog) -> tuple[Held, ...]:
    """Takes up blanks and documents of the catalog's epochs, and kills every other slot."""
    found: list[Held] = []

    async def adopt(actor: str) -> None:
        try:
            who = await slots.whoami(actor)
        except (SlotLostError, SlotSilentError):
            await slots.kill(Holder(actor, "", 0, 0), None)
            return
        holder = Holder(actor, who.node_id, who.pid, who.started)
        if who.key is None and who.state == "blank":
            if nodes.adopt(holder, blank=True):
                return
        elif held := await _active(holder, who, nodes, catalog):
            found.append(held)
            return
        await slots.kill(holder, None)

    async with anyio.create_task_group() as group:
        for actor in await slots.names():
            group.start_soon(adopt, actor)
    return tuple(found)


async def _active(holder: Holder, who: Whoami, nodes: Nodes, catalog: Catalog) -> Held | None:
    """None: its document is not its own any more, deleted, or its node is not ours."""
    if who.key is None or who.state not in SERVING:
        return None
    key = who.key
    assignment = await catalog.assignment(key.doc_id)
    ready = await catalog.document(key.doc_id)
    if ready is None or assignment is None or assignment.epoch != key.epoch:
        return None
    if not nodes.adopt(holder, blank=False):
        return None
    route = Route(key, holder.actor, holder.node_id, who.link, who.link_tcp)
    return Held(route, holder, anyio.current_time(), state=who.state)
