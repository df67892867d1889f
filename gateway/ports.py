"""What the gateway's front needs from the rest.

`gateway.router` implements it, and so do the tests, in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import msgspec

from shared.calls import Verb
from shared.protocol import Caller


class Admission(msgspec.Struct, frozen=True):
    """A document that there is for a caller, and the caller with its roles there."""

    doc_id: str
    caller: Caller


class LinkPort(Protocol):
    """The gateway's connection to one active document, as far as waiting readers need it."""

    @property
    def change_seq(self) -> int:
        """The highest change number this gateway has been told of."""
        ...

    async def wait_beyond(
        self,
        change_seq: int,
        seconds: float,
        ignore_principal: str | None = None,
        /,
        *,
        of_events: bool = False,
    ) -> bool:
        """Wait until the document has a change numbered above `change_seq`, at most `seconds`.

        Changes made by nobody but `ignore_principal` do not count. `of_events`: the same of events
        and their numbers, and everybody's count.

        Returns:
            Whether there is one; False when the time passed first.
        """
        ...


class RouterPort(Protocol):
    """The road to documents and the Directory. Every method raises `DocactorError` alone."""

    async def call(self, ref: str, verb: Verb, caller: Caller, request: Any) -> Any:
        """Run `verb` on the document `ref` (id or slug) and return its result Struct."""
        ...

    async def call_admitted(self, admission: Admission, verb: Verb, request: Any) -> Any:
        """The same for a caller who was admitted before, with the roles it had then."""
        ...

    async def admit(self, ref: str, caller: Caller) -> Admission:
        """What the caller may do with the document `ref`; see `gateway.admissions`."""
        ...

    async def admit_again(self, asked: Sequence[tuple[str, Caller]]) -> list[Caller | None]:
        """The same as of now, for what goes on already; None: nothing any more."""
        ...

    def forget_roles(self, documents: Collection[str] | None, keep_s: float) -> None:
        """Roles on these documents changed, or with None on any."""
        ...

    async def sleeps(self, doc_id: str) -> int:
        """The epoch under which a document that is open here fell asleep, if it still sleeps; the
        Directory is asked. 0: it does not.
        """
        ...

    async def link(self, ref: str) -> LinkPort:
        """This gateway's link to the document, opened when there is none."""
        ...

    async def directory(self, method: str, *args: Any) -> Any:
        """Call the Directory."""
        ...
