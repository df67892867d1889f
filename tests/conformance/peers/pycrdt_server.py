"""pycrdt-websocket as its documentation serves it: uvicorn, one SQLite file of updates.

python pycrdt_server.py PORT DATABASE_FILE
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import anyio
import uvicorn
from pycrdt import Doc
from pycrdt.store import SQLiteYStore, YDocNotFound
from pycrdt.websocket import ASGIServer, WebsocketServer, YRoom, exception_logger


class Store(SQLiteYStore):
    db_path = sys.argv[2]


class Rooms(WebsocketServer):
    """A room for each name, which loads what is stored before it serves."""

    _lock = anyio.Lock()

    async def get_room(self, name: str) -> YRoom:
        async with self._lock:
            if name not in self.rooms:
                store = Store(name)
                document: Doc[Any] = Doc()
                room = YRoom(False, store, exception_logger, ydoc=document)
                self.rooms[name] = room
                await self.start_room(room)
                await store.started.wait()
                with suppress(YDocNotFound):
                    await store.apply_updates(document)
                room.ready = True
            return await super().get_room(name)


async def main() -> None:
    rooms = Rooms(auto_clean_rooms=False, exception_handler=exception_logger)
    config = uvicorn.Config(
        ASGIServer(rooms), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning"
    )
    async with rooms:
        await uvicorn.Server(config).serve()


anyio.run(main)
