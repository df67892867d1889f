"""What is counted, and how it travels: from documents and gateways to the Directory and back.

No document, no text, no token and no principal in it: how many and how long, never what or who.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

import msgspec

from shared.directory_protocol import DocumentState, NodeStatus
from shared.protocol import CommitTotals

# Seconds; the last bucket of a count is for what took longer. Half a millisecond is what a commit
# takes on a good disk, a tenth of a second is what people notice.
COMMIT_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5)


def added(one: CommitTotals, other: CommitTotals, sign: int = 1) -> CommitTotals:
    """The sum of two totals; with `sign` -1 what came since `other`."""
    buckets = zip_longest(one.buckets, other.buckets, fillvalue=0)
    return CommitTotals(
        commits=one.commits + sign * other.commits,
        failed=one.failed + sign * other.failed,
        log_bytes=one.log_bytes + sign * other.log_bytes,
        seconds=one.seconds + sign * other.seconds,
        buckets=tuple(mine + sign * its for mine, its in buckets),
        merged=one.merged + sign * other.merged,
    )


class ToolCalls(msgspec.Struct, frozen=True):
    """How often a tool was called and answered with `code`; `ok` when it was no error."""

    tool: str
    code: str
    count: int


class GatewayReport(msgspec.Struct, frozen=True):
    """One gateway process. What does not say otherwise is a total since its start.

    Attributes:
        sockets: Editors connected now.
        frames_in, frames_out: Websocket messages from and to editors.
        reconnects: Links brought to another activation with their sessions.
        waiting: Calls that wait for a change now.
        waits: Times one began to wait.
        asleep: Documents whose sessions are here and that have no actor now.
    """

    gateway_id: str
    sockets: int = 0
    frames_in: int = 0
    frames_out: int = 0
    reconnects: int = 0
    waiting: int = 0
    waits: int = 0
    calls: tuple[ToolCalls, ...] = ()
    asleep: int = 0


class DirectoryMetrics(msgspec.Struct, frozen=True):
    """The whole server as the Directory sees it. Totals since the Directory's start.

    Attributes:
        documents: By state, in the catalog.
        active: Documents that have an actor, by the state of its slot.
        opening: Documents being opened now.
        sessions: Editors of all active documents, as last heard.
        activations: Documents opened; `takeovers` of them from an actor that had to be killed.
        failures: Openings that failed, for want of room or storage.
        lost: Slots found dead or silent.
        evictions: Documents closed to make room.
        hibernations: Documents closed while sessions stayed open.
        wakes: Documents opened again of which that was so.
        recycled: Slots replaced because they had held enough documents.
        commits: Of all documents, whether still active or not.
        gateways: Those heard of lately.
    """

    documents: dict[DocumentState, int]
    active: dict[str, int]
    opening: int
    sessions: int
    activations: int
    takeovers: int
    failures: int
    lost: int
    evictions: int
    hibernations: int
    wakes: int
    recycled: int
    commits: CommitTotals
    nodes: tuple[NodeStatus, ...]
    gateways: tuple[GatewayReport, ...]
