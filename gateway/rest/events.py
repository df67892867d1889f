"""REST for events: JSON that may wait, or a stream of server-sent events; and joining.

A stream's ids are cursors: `Last-Event-ID` goes on right behind the last event that arrived. It
ends when its token ends or its bearer may not read the document any more, within a second, as
sockets do; it holds no more of the document than a waiting call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import UNSET
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.auth import Authenticator
from gateway.mcp import arguments
from gateway.mcp.context import ToolContext
from gateway.mcp.errors import unexpected
from gateway.mcp.event_waiting import EventsWait
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.orders import EventsQuery, JoinBody
from gateway.rest.requests import argument, check_parameters, decoded, queried
from gateway.rest.responses import UNKEPT, answered, unkept
from shared.concurrency import Concurrency
from shared.errors import DocactorError
from shared.events.cursor import top_of
from shared.limits import MAX_WAIT_S, STREAM_ALIVE_S, STREAMS_OF_ONE
from shared.protocol import Caller
from shared.protocol_events import (
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
)

STREAM = "text/event-stream"


class EventsRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        super().__init__(context, authenticator)
        self._streams = Concurrency(STREAMS_OF_ONE, "event streams at this gateway")

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        return [
            Route(f"{one}/events", answered(self.events), methods=["GET"]),
            Route(f"{one}/join", answered(self.join), methods=["POST"]),
            Route(f"{one}/leave", answered(self.leave), methods=["POST"]),
        ]

    async def events(self, request: Request) -> Response:
        """The tool `read_events`, or a stream for whoever accepts one."""
        caller = await self._visitor(request)
        query = queried(request, EventsQuery)
        streams = STREAM in request.headers.get("accept", "")
        last = request.headers.get("last-event-id") if streams else None
        cursor = argument("cursor", last or query.cursor, arguments.event_cursor)
        named = tuple(filter(None, (query.types or "").split(",")))
        types = tuple(argument("types", one.strip(), arguments.event_type) for one in named)
        asked = ReadEventsRequest(cursor, types, each=streams)
        ref = document_of(request)
        wait = EventsWait(self._context.router, self._context.held, ref, caller, asked)
        if streams:
            return await self._stream(caller, wait, asked)
        return unkept(await wait.answer(query.wait))

    async def join(self, request: Request) -> Response:
        """The tool `join`."""
        caller = await self._caller(request, "read")
        check_parameters(request, ())
        body = decoded(await request.body() or b"{}", JoinBody)
        order = JoinRequest(arguments.clean("status", body.status))
        answer = await self._answer(request, "join", caller, order)
        await self._context.seats.take(document_of(request), caller)
        return answer

    async def leave(self, request: Request) -> Response:
        """The tool `leave`."""
        caller = await self._caller(request, "read")
        check_parameters(request, ())
        answer = await self._answer(request, "leave", caller, LeaveRequest())
        await self._context.seats.leave(document_of(request), caller)
        return answer

    async def _stream(
        self, caller: Caller, wait: EventsWait, asked: ReadEventsRequest
    ) -> EventSourceResponse:
        """What is refused is refused before the stream begins."""
        with self._streams.one_more(caller.principal):
            first = await wait.read(asked)

        async def told() -> AsyncIterator[ServerSentEvent]:
            try:
                with self._streams.one_more(caller.principal):
                    async for one in self._follow(wait, asked, first):
                        yield one
            except DocactorError as error:
                yield _last(error)
            except Exception as error:  # noqa: BLE001  the border: told an id, logged in full
                yield _last(unexpected(error, "events"))

        headers = UNKEPT
        return EventSourceResponse(told(), ping=STREAM_ALIVE_S, sep="\n", headers=headers)

    async def _follow(
        self, wait: EventsWait, asked: ReadEventsRequest, found: ReadEventsResult
    ) -> AsyncIterator[ServerSentEvent]:
        while not self._context.held.released:
            for message in _messages(found):
                yield message
            again = msgspec.structs.replace(asked, cursor=found.cursor, look=True)
            if not (found.more or found.truncated):
                await wait.wait(top_of(found.cursor), MAX_WAIT_S)
            found = await wait.read(again)


def _messages(found: ReadEventsResult) -> list[ServerSentEvent]:
    """Each event with its cursor as id; else the cursor alone, which the browser keeps."""
    told = [
        ServerSentEvent(_json(event), event=event.type, id=str(event.cursor))
        for event in found.events
    ]
    if found.reason == "too_old":
        return [ServerSentEvent(_json(found), event="truncated", id=found.cursor)]
    if not told and found.reason is not UNSET:
        return [ServerSentEvent(id=found.cursor)]
    return told


def _last(error: DocactorError) -> ServerSentEvent:
    """Why a stream ends."""
    said: dict[str, Any] = {"code": error.code, "message": error.message}
    return ServerSentEvent(_json(said), event="error")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
