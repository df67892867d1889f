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
from gateway.rest.orders import EventsQuery, JoinBody
from gateway.rest.routes import (
    answered,
    argument,
    check_parameters,
    decoded,
    json_response,
    queried,
    visitor,
)
from shared.access import require
from shared.calls import EventVerb
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
    RosterResult,
)

STREAM = "text/event-stream"


class EventsRest:
    """The handlers. `routes` goes into the application."""

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        self._context = context
        self._authenticator = authenticator
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
        caller = await visitor(self._authenticator, request)
        query = queried(request, EventsQuery)
        streams = STREAM in request.headers.get("accept", "")
        last = request.headers.get("last-event-id") if streams else None
        cursor = argument("cursor", last or query.cursor, arguments.event_cursor)
        named = tuple(filter(None, (query.types or "").split(",")))
        types = tuple(argument("types", one.strip(), arguments.event_type) for one in named)
        asked = ReadEventsRequest(cursor, types, each=streams)
        ref = _document(request)
        wait = EventsWait(self._context.router, self._context.held, ref, caller, asked)
        if streams:
            return await self._stream(caller, wait, asked)
        answer = json_response(await wait.answer(query.wait))
        answer.headers["Cache-Control"] = "no-store"
        return answer

    async def join(self, request: Request) -> Response:
        """The tool `join`."""
        caller = await self._caller(request)
        check_parameters(request, ())
        body = decoded(await request.body() or b"{}", JoinBody)
        order = JoinRequest(arguments.clean("status", body.status))
        answer = await self._answer(request, "join", caller, order)
        await self._context.seats.take(_document(request), caller)
        return answer

    async def leave(self, request: Request) -> Response:
        """The tool `leave`."""
        caller = await self._caller(request)
        check_parameters(request, ())
        answer = await self._answer(request, "leave", caller, LeaveRequest())
        await self._context.seats.leave(_document(request), caller)
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

        headers = {"Cache-Control": "no-store"}
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

    async def _answer(
        self, request: Request, verb: EventVerb, caller: Caller, order: msgspec.Struct
    ) -> Response:
        result: RosterResult = await self._context.router.call(
            _document(request), verb, caller, order
        )
        answer = json_response(result)
        answer.headers["Cache-Control"] = "no-store"
        return answer

    async def _caller(self, request: Request) -> Caller:
        caller = await self._authenticator.of_header(request.headers.get("authorization"))
        require(caller, "read")
        return caller


def _document(request: Request) -> str:
    ref: str = argument("doc", request.path_params["doc"], arguments.document)
    return ref


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
