"""Waits for the state of the Directory that a figure is about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import httpx

from bench.servers import Server

DEADLINE_S: Final = 300.0
LOOK_S: Final = 0.05


def status(server: Server) -> dict[str, Any]:
    """What `docactor status` shows."""
    url = server.mcp.removesuffix("/mcp") + "/api/status"
    answer = httpx.get(url, headers={"Authorization": f"Bearer {server.token}"}, timeout=30)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def wait(server: Server, what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Until `holds` of the status. Raises TimeoutError."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds(seen := status(server)):
        if time.monotonic() > deadline:
            msg = f"not within {DEADLINE_S:g} s: {what}; {seen}"
            raise TimeoutError(msg)
        time.sleep(LOOK_S)


def wait_warm(server: Server) -> None:
    """A blank slot is free, and none is being started."""
    wait(
        server,
        "a free slot and no refill",
        lambda seen: all(node["blank"] and not node["starting"] for node in seen["nodes"]),
    )


def wait_passive(server: Server) -> None:
    """No document has an actor."""
    wait(server, "no active document", lambda seen: not seen["documents"])


def wait_settled(server: Server, warm_slots: int) -> None:
    """No document has an actor, and no more slots are there than are kept warm."""
    wait(
        server,
        f"no active document and {warm_slots} slots",
        lambda seen: (
            not seen["documents"]
            and all(node["blank"] == warm_slots and not node["starting"] for node in seen["nodes"])
        ),
    )


def wait_active(server: Server, documents: int, warm_slots: int) -> None:
    """So many documents have an actor, and as many slots wait as are kept warm."""
    wait(
        server,
        f"{documents} active documents and {warm_slots} slots",
        lambda seen: (
            seen["documents"] == documents
            and all(node["blank"] == warm_slots and not node["starting"] for node in seen["nodes"])
        ),
    )
