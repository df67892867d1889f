"""The tools of events, and of agents that join a document."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.mcp import event_results
from gateway.mcp.context import ToolContext
from gateway.mcp.event_waiting import EventsWait
from gateway.mcp.types import AgentStatus, DocumentRef, EventCursor, EventTypes, Wait
from shared.protocol_events import JoinRequest, LeaveRequest, ReadEventsRequest


class EventTools:
    """What happens in a document, beside its text."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def read_events(
        self,
        *,
        doc_id: DocumentRef,
        cursor: EventCursor = None,
        wait_s: Wait = 0.0,
        types: EventTypes = (),
    ) -> ToolResult:
        """What happened since a cursor: edits, threads, mentions, suggestions, versions, agents.

        Without a cursor: a cursor for what happens from now on. wait_s: wait so long for the next
        event. types: names or groups such as thread.*; those left out are not lost, the same cursor
        has them for another filter. Edits of one author come at most each 30 s, the last of them
        included. Your own doing is not told. For texts use read_changes; its cursors are others.

        Example: read_events(doc_id="q3-plan", cursor="152-0f3a9c21", wait_s=50)
        """
        caller = self._context.caller("read")
        request = ReadEventsRequest(cursor, types)
        wait = EventsWait(self._context.router, self._context.held, doc_id, caller, request)
        return event_results.events(await wait.answer(wait_s))

    async def join(self, *, doc_id: DocumentRef, status: AgentStatus = "") -> ToolResult:
        """Show yourself to the people in a document, by your name and what you are doing.

        Call again to say something else. You are gone when you leave, or when you have called
        nothing for five minutes. Answers who else has joined.

        Example: join(doc_id="q3-plan", status="checking the figures")
        """
        caller = self._context.caller("read")
        result = await self._context.router.call(doc_id, "join", caller, JoinRequest(status))
        await self._context.seats.take(doc_id, caller)
        return event_results.roster(result)

    async def leave(self, *, doc_id: DocumentRef) -> ToolResult:
        """Be shown in a document no longer.

        Example: leave(doc_id="q3-plan")
        """
        caller = self._context.caller("read")
        result = await self._context.router.call(doc_id, "leave", caller, LeaveRequest())
        await self._context.seats.leave(doc_id, caller)
        return event_results.roster(result)
