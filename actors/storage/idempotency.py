"""Writes that carry an idempotency key happen once, per principal, document and verb.

A second call while the first is in flight waits for it; a committed answer is stored with the
write itself and outlives restarts for a day; refusals are not kept, so a mended call may be
repeated under its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec

from shared.errors import IdempotencyMismatch
from shared.limits import MAX_IDEMPOTENT_ANSWER
from shared.protocol import Caller, WriteResult
from shared.protocol_chat import PostedMessage
from shared.protocol_history import RestoreRequest, RestoreResult
from shared.protocol_suggestions import AnyWrite
from shared.stored import StoredAnswer

_DECODER = msgspec.msgpack.Decoder(WriteResult)
_OTHERS: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    "restore": msgspec.msgpack.Decoder(RestoreResult),
    "post_chat_message": msgspec.msgpack.Decoder(PostedMessage),
    "reply": msgspec.msgpack.Decoder(PostedMessage),
}
R = TypeVar("R", bound=msgspec.Struct)


class Slot(msgspec.Struct, frozen=True):
    """One key of one principal for one verb, with the digest of the call's arguments."""

    principal: str
    verb: str
    key: str
    arguments: bytes

    def answer(self, result: msgspec.Struct, at: int) -> StoredAnswer:
        """The result as stored; one that is too large is kept as counts and cursor."""
        encoded = msgspec.msgpack.encode(result)
        if len(encoded) > MAX_IDEMPOTENT_ANSWER and isinstance(result, WriteResult):
            short = msgspec.structs.replace(result, blocks=(), removed=(), kept=(), conflicts=())
            encoded = msgspec.msgpack.encode(short)
        return StoredAnswer(self.principal, self.verb, self.key, self.arguments, encoded, at)


def slot_of(verb: str, caller: Caller, request: msgspec.Struct, key: str | None) -> Slot | None:
    """The slot of a call; None: it carries no key."""
    if key is None:
        return None
    arguments = blake2b(msgspec.msgpack.encode(request), digest_size=16).digest()
    return Slot(caller.principal, verb, key, arguments)


LookUp = Callable[[Slot], Awaitable[StoredAnswer | None]]  # what is stored under a slot's key


class Once:
    """The calls in flight of one document."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, str], tuple[bytes, asyncio.Future[Any]]] = {}

    def slot(self, verb: str, caller: Caller, request: AnyWrite | RestoreRequest) -> Slot | None:
        """None when the call carries no key."""
        key = request.options.idempotency_key
        return slot_of(verb, caller, request, key)

    async def run(self, slot: Slot, look_up: LookUp, write: Callable[[], Awaitable[R]]) -> R:
        """The stored answer, or that of the call in flight, or that of `write`.

        Raises IdempotencyMismatch when the key was used with other arguments, and as `look_up` and
        `write`.
        """
        name = (slot.principal, slot.verb, slot.key)
        if name in self._running:
            arguments, first = self._running[name]
            _check(slot, arguments)
            try:
                answer: R = await asyncio.shield(first)
            except asyncio.CancelledError:
                if not first.cancelled():
                    raise  # this caller has gone
            else:
                return answer
            return await self.run(slot, look_up, write)  # the other one has: the write may be there
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._running[name] = (slot.arguments, future)
        try:
            result: R = await self._stored(slot, look_up) or await write()
        except asyncio.CancelledError:
            future.cancel()
            raise
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # retrieved: nobody may be waiting for it
            raise
        else:
            future.set_result(result)
            return result
        finally:
            del self._running[name]

    async def _stored(self, slot: Slot, look_up: LookUp) -> Any:
        stored = await look_up(slot)
        if stored is None:
            return None
        _check(slot, stored.arguments)
        return _OTHERS.get(slot.verb, _DECODER).decode(stored.answer)


def _check(slot: Slot, arguments: bytes) -> None:
    if slot.arguments != arguments:
        raise IdempotencyMismatch(
            "idempotency_key: it was used before with other arguments.", key=slot.key
        )
