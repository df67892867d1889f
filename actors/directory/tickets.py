"""Tickets: what a browser's script opens sockets with, where a token must not be seen.

A ticket names a document and the token of whoever asked for it, and is signed with a key that never
leaves the catalog. Nothing else of it is kept: it is void as soon as that token is, and what may be
done with it is looked up each time it is shown. Callers of other issuers are named in the ticket
themselves, for no longer than their own proof counts.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec

from actors.directory.token_register import TokenRegister
from actors.ports import Catalog
from shared.directory_protocol import Ticket
from shared.limits import TICKET_S
from shared.protocol import Caller
from shared.tokens import TICKET_PREFIX

_KEY: Final = "ticket_key"
_KEY_BYTES: Final = 32
_MAC_BYTES: Final = 32


class _Said(msgspec.Struct, frozen=True, array_like=True):
    """What is signed. `caller`: of somebody without a token of ours."""

    doc_id: str
    expires_at: int
    token: str
    caller: Caller | None


class Tickets:
    """Made and read by the Directory alone.

    Args:
        now_ms: Milliseconds since 1970.
    """

    def __init__(
        self, catalog: Catalog, tokens: TokenRegister, *, now_ms: Callable[[], int]
    ) -> None:
        self._catalog = catalog
        self._tokens = tokens
        self._now_ms = now_ms
        self._key = b""

    async def create(self, caller: Caller, doc_id: str) -> Ticket:
        """A ticket of the caller for a document that it may read."""
        until = self._now_ms() + int(TICKET_S * 1000)
        if caller.expires is not None:
            until = min(until, caller.expires)
        said = _Said(doc_id, until, caller.token, None if caller.token else caller)
        body = msgspec.msgpack.encode(said)
        signed = base64.urlsafe_b64encode(await self._mac(body) + body).decode().rstrip("=")
        return Ticket(TICKET_PREFIX + signed, doc_id, until)

    async def redeem(self, ticket: str) -> Caller | None:
        """Who comes with this ticket, for its document alone; None: it does not count."""
        signed = ticket.removeprefix(TICKET_PREFIX)
        try:
            data = base64.urlsafe_b64decode(signed + "=" * (-len(signed) % 4))
        except (binascii.Error, ValueError):
            return None
        mac, body = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if not hmac.compare_digest(mac, await self._mac(body)):
            return None
        said = msgspec.msgpack.decode(body, type=_Said)
        if said.expires_at <= self._now_ms():
            return None
        caller = said.caller
        if said.token:
            caller = await self._tokens.caller(said.token)
        if caller is None or (caller.documents and said.doc_id not in caller.documents):
            return None
        ends = said.expires_at if caller.expires is None else min(said.expires_at, caller.expires)
        only = frozenset({said.doc_id})
        return msgspec.structs.replace(caller, documents=only, expires=ends)

    async def _mac(self, body: bytes) -> bytes:
        if not self._key:
            self._key = await self._catalog.secret(_KEY, secrets.token_bytes(_KEY_BYTES))
        return blake2b(body, key=self._key, digest_size=_MAC_BYTES).digest()
