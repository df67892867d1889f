"""What the gateway's front needs from the rest.

`gateway.router` implements it, and so do the tests, in memory.
"""

from __future__ import annotations

from typing import Any, Protocol

from shared.calls import Verb
from shared.protocol import Caller


class LinkPort(Protocol):
    """The gateway's connection to one active document, as far as waiting readers need it."""

    @property
    def change_seq(self) -> int:
        """The highest change number this gateway has been told of."""
        ...

    async def wait_beyond(
        self, change_seq: int, seconds: float, ignore_principal: str | None = None, /
    ) -> bool:
        """Wait until the document has a change numbered above `change_seq`, at most `seconds`.

        Changes made by nobody but `ignore_principal` do not count.

        Returns:
            Whether there is one; False when the time passed first.
        """
        ...


class RouterPort(Protocol):
    """The road to documents and the Directory. Every method raises `DocactorError` alone."""

    async def call(self, ref: str, verb: Verb, caller: Caller, request: Any) -> Any:
        """Run `verb` on the document `ref` (id or slug) and return its result Struct."""
        ...

    async def link(self, ref: str) -> LinkPort:
        """This gateway's link to the document, opened when there is none."""
        ...

    async def directory(self, method: str, *args: Any) -> Any:
        """Call the Directory."""
        ...
