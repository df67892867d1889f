"""Whether an update brings anything a document does not have, without applying it.

A client that may only read still answers a step 1, and while it is in sync that answer is not
empty: it lists everything ever deleted. Such an answer is no edit.
"""

from __future__ import annotations

from pycrdt import get_update

from shared.wire.lib0 import Decoder, MalformedMessage
from shared.wire.y_protocol import EMPTY_UPDATE

Ranges = dict[int, list[tuple[int, int]]]


def adds_nothing(update: bytes, state_vector: bytes, current: bytes) -> bool:
    """Whether a document would be the same after `update`.

    Args:
        update: What a client sent.
        state_vector: The document's.
        current: The document's difference to `state_vector`: nothing but all it has deleted.

    Raises:
        ValueError: `update` is not an update.
    """
    if update == EMPTY_UPDATE:
        return True
    left = Decoder(get_update(update, state_vector))
    if left.var_uint() != 0:  # clients with structs that are new
        return False
    held = Decoder(current)
    if held.var_uint() != 0:
        return False
    return _covers(_deleted(held), _deleted(left))


def _deleted(decoder: Decoder) -> Ranges:
    """The delete set, which ends an update: per client its ranges, sorted, as [start, end)."""
    found: Ranges = {}
    for _ in range(decoder.var_uint()):
        client = decoder.var_uint()
        ranges = found.setdefault(client, [])
        for _ in range(decoder.var_uint()):
            start = decoder.var_uint()
            ranges.append((start, start + decoder.var_uint()))
    if not decoder.done:
        raise MalformedMessage("bytes after the delete set")
    return {client: _joined(ranges) for client, ranges in found.items()}


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined


def _covers(held: Ranges, wanted: Ranges) -> bool:
    for client, ranges in wanted.items():
        have = iter(held.get(client, ()))
        current = next(have, None)
        for start, end in ranges:
            while current is not None and current[1] < end:
                current = next(have, None)
            if current is None or current[0] > start:
                return False
    return True
