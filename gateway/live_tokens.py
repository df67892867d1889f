"""What goes on under a token and a role, and ends with them: sockets, and calls that wait."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from shared.access import with_role
from shared.errors import DocactorError, Unauthenticated
from shared.protocol import Caller

End = Callable[[DocactorError], None]
Recast = Callable[[Caller], None]


@dataclass(eq=False, slots=True)
class Live:
    """One socket's document, or one wait.

    Attributes:
        caller: With the roles it has on the document.
        doc_id: Empty: it is about no document.
    """

    caller: Caller
    doc_id: str
    end: End
    recast: Recast

    @property
    def asked(self) -> tuple[str, Caller]:
        """What the roles are asked with."""
        return self.doc_id, with_role(self.caller, None, None)


class LiveTokens:
    """Who is to be told when a token ends or a role changes. Everything runs on one loop."""

    def __init__(self) -> None:
        self._live: dict[Live, None] = {}
        self._over: frozenset[str] = frozenset()

    def is_over(self, caller: Caller) -> bool:
        """Whether the caller's token was ended lately: it may have let this call in before."""
        return caller.token in self._over

    @property
    def ids(self) -> frozenset[str]:
        """Tokens under which something goes on."""
        return frozenset(live.caller.token for live in self._live if live.caller.token)

    def add(
        self, caller: Caller, end: End, doc_id: str = "", recast: Recast | None = None
    ) -> Callable[[], None]:
        """`end` is called when the caller's token ends, or its last role on the document.

        `recast` is called with the caller's new roles when they change. What is returned takes
        both back.
        """
        live = Live(caller, doc_id, end, recast or _nothing)
        self._live[live] = None

        def remove() -> None:
            self._live.pop(live, None)

        return remove

    def end(self, tokens: Collection[str]) -> None:
        """Ends all that goes on under these tokens, and what is about to."""
        self._over = frozenset(tokens)
        self._end(lambda caller: bool(caller.token) and caller.token in tokens)

    def end_expired(self, now_ms: int) -> None:
        """Ends all that goes on under tokens whose time has come."""
        self._end(lambda caller: caller.expires is not None and caller.expires <= now_ms)

    def at(self, documents: Collection[str] | None) -> list[Live]:
        """What goes on at these documents, or with None at any."""
        return [
            live
            for live in self._live
            if live.doc_id and (documents is None or live.doc_id in documents)
        ]

    def still(self, live: Live) -> bool:
        """Whether it has not ended by itself meanwhile."""
        return live in self._live

    def _end(self, over: Callable[[Caller], bool]) -> None:
        for live in tuple(self._live):
            if over(live.caller):
                live.end(Unauthenticated("Authorization: the token ended."))


def _nothing(_caller: Caller) -> None:
    """It is asked for its role again with every step."""
