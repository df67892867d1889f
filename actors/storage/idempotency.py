"""Writes that carry an idempotency key happen once, per principal, document and verb.

A second call while the first is in flight waits for it; a committed answer is stored with the
write itself and outlives restarts for a day; refusals are not kept, so a mended call may be
repeated under its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b

import msgspec

from actors.storage.stored import DocumentStore
from shared.errors import IdempotencyMismatch
from shared.limits import MAX_IDEMPOTENT_ANSWER
from shared.protocol import Caller, WriteRequest, WriteResult
from shared.stored import StoredAnswer

_DECODER = msgspec.msgpack.Decoder(WriteResult)


class Slot(msgspec.Struct, frozen=True):
    """One key of one principal for one verb, with the digest of the call's arguments."""

    principal: str
    verb: str
    key: str
    arguments: bytes

    def answer(self, result: WriteResult, at: int) -> StoredAnswer:
        """The result as stored; one that is too large is kept as counts and cursor."""
        encoded = msgspec.msgpack.encode(result)
        if len(encoded) > MAX_IDEMPOTENT_ANSWER:
            short = msgspec.structs.replace(result, blocks=(), removed=(), kept=(), conflicts=())
            encoded = msgspec.msgpack.encode(short)
        return StoredAnswer(self.principal, self.verb, self.key, self.arguments, encoded, at)


class Once:
    """The calls in flight of one document."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, str], tuple[bytes, asyncio.Future[WriteResult]]] = {}

    def slot(self, verb: str, caller: Caller, request: WriteRequest) -> Slot | None:
        """None when the call carries no key."""
        key = request.options.idempotency_key
        if key is None:
            return None
        arguments = blake2b(msgspec.msgpack.encode(request), digest_size=16).digest()
        return Slot(caller.principal, verb, key, arguments)

    async def run(
        self, slot: Slot, store: DocumentStore, write: Callable[[], Awaitable[WriteResult]]
    ) -> WriteResult:
        """The stored answer, or that of the call in flight, or that of `write`.

        Raises IdempotencyMismatch when the key was used with other arguments.
        """
        name = (slot.principal, slot.verb, slot.key)
        if name in self._running:
            arguments, first = self._running[name]
            _check(slot, arguments)
            try:
                return await asyncio.shield(first)
            except asyncio.CancelledError:
                if not first.cancelled():
                    raise  # this caller has gone
            return await self.run(slot, store, write)  # the other one has: the write may be there
        future: asyncio.Future[WriteResult] = asyncio.get_running_loop().create_future()
        self._running[name] = (slot.arguments, future)
        try:
            result = await self._stored(slot, store) or await write()
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

    async def _stored(self, slot: Slot, store: DocumentStore) -> WriteResult | None:
        stored = await store.answer(slot.principal, slot.verb, slot.key)
        if stored is None:
            return None
        _check(slot, stored.arguments)
        return _DECODER.decode(stored.answer)


def _check(slot: Slot, arguments: bytes) -> None:
    if slot.arguments != arguments:
        raise IdempotencyMismatch(
            "idempotency_key: it was used before with other arguments.", key=slot.key
        )
