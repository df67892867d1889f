"""A peer: pycrdt-websocket with its SQLite store, both as they come, under uvicorn.

python -m bench.pycrdt_server PORT DATABASE_FILE
"""

from __future__ import annotations

import logging
import sys

import anyio
import uvicorn
from pycrdt.store import SQLiteYStore
from pycrdt.websocket import ASGIServer, WebsocketServer, YRoom
from pycrdt.websocket.websocket_server import exception_logger


class StoringServer(WebsocketServer):
    """Keeps the updates of every room in one database, as its documentation shows it.

    A new room is opened by one client at a time: of two that did it at once, one got no answer and
    connected again after 30 seconds.
    """

    def __init__(self, database: str) -> None:
        super().__init__(exception_handler=exception_logger)
        self._store = type("Store", (SQLiteYStore,), {"db_path": database})
        self._opening = anyio.Lock()

    async def get_room(self, name: str) -> YRoom:
        async with self._opening:
            if name not in self.rooms:
                self.rooms[name] = YRoom(ystore=self._store(path=name), log=self.log)
            room = self.rooms[name]
            await self.start_room(room)
            return room


async def main(port: int, database: str) -> None:
    """Serves until it is stopped."""
    logging.basicConfig(level=logging.WARNING)
    rooms = StoringServer(database)
    config = uvicorn.Config(
        ASGIServer(rooms), host="127.0.0.1", port=port, access_log=False, log_level="warning"
    )
    async with rooms:
        await uvicorn.Server(config).serve()
        raise SystemExit(0)  # rooms that are open wait for no client any more


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), sys.argv[2], backend_options={"use_uvloop": True})
