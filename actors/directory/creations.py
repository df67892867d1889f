"""How many documents somebody may make: no document's own budget counts what does not exist yet."""

from __future__ import annotations

from shared.access import is_operator
from shared.budget import HOUR_MS, Window
from shared.errors import RateLimited
from shared.limits import CREATIONS_PER_HOUR, MAX_SPENDERS
from shared.protocol import Caller


class Creations:
    """What each principal has made in the last hour; a Directory that is restarted forgets it."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}

    def spend(self, caller: Caller, now: int) -> None:
        """One document more of the caller's. Operators make as many as they like.

        `now`: milliseconds since 1970.

        Raises:
            RateLimited: Nothing was created.
        """
        if is_operator(caller):
            return
        window = self._windows.get(caller.principal) or self._window(caller.principal, now)
        if window.used(now) >= CREATIONS_PER_HOUR:
            free_at = window.free_at(1, CREATIONS_PER_HOUR, now)
            raise RateLimited(
                f"budget: {CREATIONS_PER_HOUR} new documents an hour; nothing was created.",
                budget="creations_per_hour",
                limit=CREATIONS_PER_HOUR,
                remaining=0,
                retry_after_s=-(-(free_at - now) // 1000),
            )
        window.spend(1, now)

    def _window(self, principal: str, now: int) -> Window:
        if len(self._windows) >= MAX_SPENDERS:
            self._windows = {who: one for who, one in self._windows.items() if one.used(now)}
        return self._windows.setdefault(principal, Window(HOUR_MS))
