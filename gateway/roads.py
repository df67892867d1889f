"""How calls reach actors: what every road promises, and how one fails."""

from __future__ import annotations

from typing import Any, Protocol

from shared.calls import Verb
from shared.protocol import Caller, RouteKey


class LostCallError(Exception):
    """The actor died, or does not answer: what it did is not known."""


class UnreachableError(Exception):
    """There is no such actor now, or it has left without taking this call: nothing was done."""


class Road(Protocol):
    """To every document and the Directory."""

    node_id: str

    async def document(
        self, actor: str, verb: Verb, key: RouteKey, caller: Caller, request: Any
    ) -> Any:
        """Its answer; a domain error is a value. Raises LostCallError, UnreachableError."""

    async def directory(self, method: str, *args: Any) -> Any:
        """Likewise."""
