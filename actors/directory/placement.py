"""Where a document's actor goes, and how many a node takes. Values in, values out."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.ports import NodeInfo
from shared.limits import SLOT_MEMORY_BYTES, SLOTS_PER_CORE, SLOTS_PER_GIB


class NodeLoad(msgspec.Struct, frozen=True):
    """A node's share of the documents: `active` counts activations under way too."""

    node_id: str
    active: int
    blank: int
    max_active: int


def max_active(node: NodeInfo, override: int | None = None) -> int:
    """Active documents a node takes, by its memory and cores; at least one.

    Args:
        node: With what it has.
        override: The operator's word instead, as far as memory goes: past it Ray starts no actor.
    """
    if override is not None:
        return min(override, slots_in_memory(node))
    by_memory = SLOTS_PER_GIB * node.memory // 2**30
    return max(1, min(by_memory, int(SLOTS_PER_CORE * node.cores)))


def slots_in_memory(node: NodeInfo) -> int:
    """Slots that Ray, which counts SLOT_MEMORY_BYTES for each, starts on a node; at least one."""
    return max(1, node.memory // SLOT_MEMORY_BYTES)


def starts_at_once(node: NodeInfo) -> int:
    """Slots started at the same time: two cores make about two a second, more only wait longer."""
    return max(1, int(node.cores) // 2)


def by_preference(loads: Iterable[NodeLoad]) -> list[NodeLoad]:
    """Nodes with room, the best first: least loaded for its size, a blank at hand breaks ties."""
    with_room = [load for load in loads if load.active < load.max_active]
    return sorted(with_room, key=lambda n: (n.active / n.max_active, -n.blank, n.node_id))
