"""How much one principal may do to one document: writes, characters and reads over time.

Every budget is a sliding window, counted in slots of a sixtieth of it: memory is bounded by the
slots, whatever the budget, and what was spent counts at least as long as the window is and at most
a slot longer. Time is an argument, in milliseconds.

What was spent is kept with the document, or it would be had back by waiting until the document is
put away: a write's in the transaction of the write, a read's with the next batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, Literal

import msgspec

from shared.errors import RateLimited
from shared.limits import (
    CHARS_PER_HOUR,
    MAX_SPENDERS,
    NAMED_FACTOR,
    READS_PER_MINUTE,
    WRITES_PER_MINUTE,
)
from shared.stored import StoredBudget

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
_SLOTS: Final = 60

Kind = Literal["writes_per_minute", "chars_per_hour", "reads_per_minute"]
_LENGTHS: Final[dict[Kind, int]] = {
    "writes_per_minute": MINUTE_MS,
    "chars_per_hour": HOUR_MS,
    "reads_per_minute": MINUTE_MS,
}
_UNITS: Final[dict[Kind, str]] = {
    "writes_per_minute": "writes a minute",
    "chars_per_hour": "characters an hour",
    "reads_per_minute": "calls of this tool a minute",
}


class Allowance(msgspec.Struct, frozen=True):
    """What a caller may do to each document. None: what named agents and people may by default."""

    writes_per_minute: int | None = None
    chars_per_hour: int | None = None
    reads_per_minute: int | None = None

    def over(self, default: Allowance) -> Allowance:
        """This, and the default where it says nothing."""
        return Allowance(
            *(
                mine if mine is not None else theirs
                for mine, theirs in zip(
                    msgspec.structs.astuple(self), msgspec.structs.astuple(default), strict=True
                )
            )
        )

    def at_most(self, other: Allowance) -> Allowance:
        """Of each budget the smaller one."""
        return Allowance(*(min(self.limit(kind), other.limit(kind)) for kind in _LENGTHS))

    def limit(self, kind: Kind) -> int:
        given: int | None = getattr(self, kind)
        return _NAMED[kind] if given is None else given


_NAMED: Final[dict[Kind, int]] = {
    "writes_per_minute": WRITES_PER_MINUTE * NAMED_FACTOR,
    "chars_per_hour": CHARS_PER_HOUR * NAMED_FACTOR,
    "reads_per_minute": READS_PER_MINUTE * NAMED_FACTOR,
}


VISITORS: Final = Allowance(WRITES_PER_MINUTE, CHARS_PER_HOUR, READS_PER_MINUTE)
"""Of whoever has a link and nothing else."""


class _Saved(msgspec.Struct, frozen=True, array_like=True):
    """A window as stored: what was spent, by number of the slot."""

    kind: Kind
    tool: str
    spent: tuple[tuple[int, int], ...]


_DECODER: Final = msgspec.msgpack.Decoder(tuple[_Saved, ...])


class Window:
    """What was spent within the last `length` milliseconds; `spent` by slot, in order."""

    def __init__(self, length: int, spent: Iterable[tuple[int, int]] = ()) -> None:
        self._length = length
        self._slot = length // _SLOTS
        self._spent = deque(spent)  # number of the slot, amount
        self._sum = sum(amount for _, amount in self._spent)

    def used(self, now: int) -> int:
        while self._spent and self._leaves(self._spent[0][0]) <= now:
            self._sum -= self._spent.popleft()[1]
        return self._sum

    def spend(self, amount: int, now: int) -> None:
        slot = now // self._slot
        if self._spent and self._spent[-1][0] >= slot:  # a clock that went back spends no less
            slot, before = self._spent.pop()
            self._spent.append((slot, before + amount))
        else:
            self._spent.append((slot, amount))
        self._sum += amount

    def free_at(self, amount: int, limit: int, now: int) -> int:
        """When `amount` more fits; never, should it exceed the limit: then when all is free."""
        left = self.used(now) + amount - limit
        at = now
        for slot, spent in self._spent:
            if left <= 0:
                break
            left -= spent
            at = self._leaves(slot)
        return at

    def spent(self) -> tuple[tuple[int, int], ...]:
        """What a window like this one is made of again."""
        return tuple(self._spent)

    def _leaves(self, slot: int) -> int:
        return (slot + 1) * self._slot + self._length


class Budgets:
    """The budgets of everybody who comes to one document."""

    def __init__(self) -> None:
        self._windows: dict[str, dict[tuple[Kind, str], Window]] = {}
        self._unsaved: set[str] = set()

    @classmethod
    def load(cls, saved: Mapping[str, bytes]) -> Budgets:
        """As `save` has said of each principal. What cannot be read counts as nothing spent."""
        budgets = cls()
        for principal, data in saved.items():
            with suppress(msgspec.DecodeError):
                budgets._windows[principal] = {
                    (one.kind, one.tool): Window(_LENGTHS[one.kind], one.spent)
                    for one in _DECODER.decode(data)
                }
        return budgets

    def save(self, principal: str, now: int) -> StoredBudget:
        """What one principal has spent, to be stored with what it spent it on."""
        self._unsaved.discard(principal)
        windows = self._windows.get(principal, {})
        saved = [
            _Saved(kind, tool, window.spent())
            for (kind, tool), window in windows.items()
            if window.used(now)
        ]
        return StoredBudget(principal, msgspec.msgpack.encode(saved), now)

    def unsaved(self, now: int) -> tuple[StoredBudget, ...]:
        """What everybody has spent who spent since it was last saved."""
        return tuple(self.save(principal, now) for principal in tuple(self._unsaved))

    def spend_read(self, principal: str, tool: str, allowance: Allowance, now: int) -> None:
        """One call of a tool that reads. Raises RateLimited."""
        self._check("reads_per_minute", principal, allowance, 1, now, tool)
        self._window("reads_per_minute", principal, tool, now).spend(1, now)
        self._unsaved.add(principal)

    def check_write(self, principal: str, allowance: Allowance, chars: int, now: int) -> None:
        """Whether a write that adds so many characters may be applied. Raises RateLimited."""
        self._check("writes_per_minute", principal, allowance, 1, now)
        if chars:
            self._check("chars_per_hour", principal, allowance, chars, now)

    def spend_write(self, principal: str, chars: int, now: int) -> None:
        """A write was applied."""
        self._window("writes_per_minute", principal, "", now).spend(1, now)
        if chars:
            self._window("chars_per_hour", principal, "", now).spend(chars, now)
        self._unsaved.add(principal)

    def left(self, principal: str, allowance: Allowance, now: int) -> tuple[int, int]:
        """Writes and characters that may still be written now."""
        return (
            self._left("writes_per_minute", principal, allowance, now),
            self._left("chars_per_hour", principal, allowance, now),
        )

    def _check(
        self,
        kind: Kind,
        principal: str,
        allowance: Allowance,
        amount: int,
        now: int,
        tool: str = "",
    ) -> None:
        limit, left = allowance.limit(kind), self._left(kind, principal, allowance, now, tool)
        if amount <= left:
            return
        free_at = self._window(kind, principal, tool, now).free_at(amount, limit, now)
        data = {
            "budget": kind,
            "limit": limit,
            "remaining": left,
            "retry_after_s": -(-(free_at - now) // 1000),
        }
        said = f"budget: {limit} {_UNITS[kind]}, {left} left; nothing was applied."
        if amount > limit:
            raise RateLimited(
                f"{said} This alone takes {amount}.",
                **data,
                retryable=False,
                next_step="Send less at once, or use a token with a larger budget.",
            )
        raise RateLimited(said, **data)

    def _left(
        self, kind: Kind, principal: str, allowance: Allowance, now: int, tool: str = ""
    ) -> int:
        window = self._windows.get(principal, {}).get((kind, tool))
        used = window.used(now) if window else 0
        return max(0, allowance.limit(kind) - used)

    def _window(self, kind: Kind, principal: str, tool: str, now: int) -> Window:
        if principal not in self._windows and len(self._windows) >= MAX_SPENDERS:
            self._make_room(now)
        windows = self._windows.setdefault(principal, {})
        return windows.setdefault((kind, tool), Window(_LENGTHS[kind]))

    def _make_room(self, now: int) -> None:
        """Forgets whoever has nothing spent; when that is nobody, who came first."""
        for principal, windows in tuple(self._windows.items()):
            if not any(window.used(now) for window in windows.values()):
                del self._windows[principal]
        if len(self._windows) >= MAX_SPENDERS:
            del self._windows[next(iter(self._windows))]
        self._unsaved &= self._windows.keys()
