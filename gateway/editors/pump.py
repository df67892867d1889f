"""The reading side of an editor's websocket, beside the outbox that writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from starlette.websockets import WebSocket

from gateway.counts import GatewayCounts
from gateway.editors.outbox import Outbox
from shared.wire.pace import Pace

Take = Callable[[bytes | None], Awaitable[bool]]
"""Takes a frame, None for one of text; whether it was more than echoes of what it was sent."""


_PARTING: Final = frozenset({1000, 1001, 1005})  # a client that is lost closes with another


async def pump(
    websocket: WebSocket,
    outbox: Outbox,
    counts: GatewayCounts,
    take: Take,
    parted: Callable[[], None],
) -> None:
    """Hands on what the client sends, and sends what it is told, until either side closes.

    A client's frames are taken one after the other. While one waits, or the client is past its
    pace, nothing more is read and the network holds the rest. `parted` is called when the client
    closes by itself, which one that is lost does not.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, outbox, tasks.cancel_scope)
        await _read(websocket, outbox, counts, take, parted)
        tasks.cancel_scope.cancel()


async def _write(outbox: Outbox, scope: anyio.CancelScope) -> None:
    await outbox.run()
    scope.cancel()


async def _read(
    websocket: WebSocket,
    outbox: Outbox,
    counts: GatewayCounts,
    take: Take,
    parted: Callable[[], None],
) -> None:
    pace = Pace()
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            if message.get("code") in _PARTING:
                parted()
            return
        counts.frames_in += 1
        if outbox.closing:
            continue
        data: bytes | None = message.get("bytes")
        news = await take(data)
        wait_s = pace.spend(anyio.current_time(), len(data or b""), echo=not news)
        if wait_s > 0:
            await anyio.sleep(wait_s)
