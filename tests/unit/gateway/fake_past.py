"""What a document in memory says of its past: whatever a test has put there."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from shared.access import person_of
from shared.events.cursor import top_of
from shared.history.window import change_window
from shared.limits import RETENTION_DAYS
from shared.protocol import Caller
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.protocol_events import (
    Event,
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
    RosterEntry,
    RosterResult,
)
from shared.protocol_history import (
    CompareCounts,
    ComparedState,
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    ReadVersionRequest,
    ReadVersionResult,
    SaveVersionRequest,
    Version,
)
from shared.times import iso

NOW = 1_764_500_000_000  # milliseconds since 1970
VERSION = Version("v1", "2025-11-30T10:53:20.000+00:00", "quiet")


class FakePast:
    """The verbs `get_changes`, those of versions, and those of events.

    Attributes:
        found: Answered, as of the window that was asked for.
        last_left: By person.
        asked: By whom, and for what.
        events: What happened; `event_reads`: what was asked of that.
    """

    def __init__(self) -> None:
        self.found = FoundChanges(0, from_last_left=False, compared_at=None, head_at=None)
        self.last_left: dict[str, int] = {}
        self.asked: list[tuple[str, GetChangesRequest]] = []
        self.events: list[Event] = []
        self.gone: list[Caller] = []  # who left
        self.event_reads: list[ReadEventsRequest] = []

    def get_changes(self, caller: Caller, request: GetChangesRequest) -> FoundChanges:
        last_left = self.last_left.get(person_of(caller) or "")
        window = change_window(request.since, last_left, NOW, RETENTION_DAYS)
        self.asked.append((caller.principal, request))
        return msgspec.structs.replace(
            self.found, since=window.since, from_last_left=window.from_last_left
        )

    def read_events(self, _caller: Caller, request: ReadEventsRequest) -> ReadEventsResult:
        cursor = request.cursor or "0-00000000"
        found = tuple(one for one in self.events if one.seq > top_of(cursor))
        last = found[-1].seq if found else top_of(cursor)
        self.event_reads.append(request)
        told = tuple(replace(one, cursor=f"{one.seq}-00000000") for one in found)
        return ReadEventsResult(
            told if request.each else found, f"{last}-00000000", truncated=False, more=False
        )

    def join(self, caller: Caller, request: JoinRequest) -> RosterResult:
        agents = (RosterEntry(caller.name, request.status, iso(NOW), iso(NOW), you=True),)
        return RosterResult(agents, "0-00000000")

    def leave(self, caller: Caller, _request: LeaveRequest) -> RosterResult:
        self.gone.append(caller)
        return RosterResult((), "0-00000000")

    def list_versions(self, _caller: Caller, _request: ListVersionsRequest) -> ListVersionsResult:
        return ListVersionsResult((VERSION,))

    def read_version(self, _caller: Caller, request: ReadVersionRequest) -> ReadVersionResult:
        return ReadVersionResult(request.version, iso(NOW), "one\n", 4, truncated=False)

    def compare(self, _caller: Caller, _request: CompareRequest) -> CompareResult:
        state, nothing = ComparedState(iso(NOW)), CompareCounts(0, 0, 0, 0, 0, 0)
        return CompareResult(since=state, until=state, counts=nothing, blocks=(), truncated=False)

    def save_version(self, _caller: Caller, request: SaveVersionRequest) -> Version:
        return msgspec.structs.replace(VERSION, name=request.name)
