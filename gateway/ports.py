"""What the gateway's front needs from the rest: implemented by `gateway.router`, and in memory by
the tests."""

from __future__ import annotations

from typing import Any, Protocol

from shared.protocol import Caller


class LinkPort(Protocol):
    """The gateway's connection to one active document, as far as waiting readers need it."""

    async def wait_beyond(
        self, change_seq: int, timeout: float, ignore_principal: str | None = None
    ) -> bool:
        """Wait until the document has a change numbered above `change_seq`.

        Args:
            timeout: Seconds.
            ignore_principal: Changes made by nobody else do not count.

        Returns:
            Whether there is one; False when `timeout` passed first.
        """
        ...


class RouterPort(Protocol):
    """The road to documents and the Directory. Every method raises `DocactorError` alone."""

    async def call(self, ref: str, verb: str, caller: Caller, request: Any) -> Any:
        """Run `verb` on the document `ref` (id or slug) and return its result Struct."""
        ...

    async def link(self, ref: str) -> LinkPort:
        """This gateway's link to the document, opened when there is none."""
        ...

    async def directory(self, method: str, *args: Any) -> Any:
        """Call the Directory."""
        ...
