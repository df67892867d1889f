"""What goes on under a token, and ends with it: sockets, and calls that wait."""

from __future__ import annotations

from collections.abc import Callable, Collection

from shared.protocol import Caller

End = Callable[[], None]


class LiveTokens:
    """Who is to be told when a token is revoked or expires. Everything runs on one loop."""

    def __init__(self) -> None:
        self._ends: dict[str, set[End]] = {}
        self._expires: dict[str, int] = {}
        self._over: frozenset[str] = frozenset()

    def is_over(self, caller: Caller) -> bool:
        """Whether the caller's token was ended lately: it may have let this call in before."""
        return caller.token in self._over

    @property
    def ids(self) -> frozenset[str]:
        """Tokens under which something goes on."""
        return frozenset(self._ends)

    def add(self, caller: Caller, end: End) -> Callable[[], None]:
        """`end` is called when the caller's token ends; what is returned takes that back.

        Callers without a token, the local ones, never end.
        """
        token = caller.token
        if not token:
            return _nothing
        self._ends.setdefault(token, set()).add(end)
        if caller.expires is not None:
            self._expires[token] = caller.expires

        def remove() -> None:
            ends = self._ends.get(token, set())
            ends.discard(end)
            if not ends:
                self._ends.pop(token, None)
                self._expires.pop(token, None)

        return remove

    def end(self, tokens: Collection[str]) -> None:
        """Ends all that goes on under these tokens, and what is about to."""
        self._over = frozenset(tokens)
        for token in tokens:
            for end in tuple(self._ends.get(token, ())):
                end()

    def end_expired(self, now_ms: int) -> None:
        """Ends all that goes on under tokens whose time has come."""
        for token in [token for token, at in self._expires.items() if at <= now_ms]:
            for end in tuple(self._ends[token]):
                end()


def _nothing() -> None:
    """There was nothing to take back."""
