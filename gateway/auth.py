"""Who calls: Bearer tokens to callers.

The catalog knows tokens by their hash. A gateway asks the Directory once and remembers the answer
for a while; the Directory's notices make it forget, so that a revoked token is refused at once, and
without them it hardly remembers anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, get_args

import anyio
import msgspec
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token

from gateway.admissions import ANYBODY, refusal
from gateway.live_tokens import LiveTokens
from gateway.oidc import Issuer
from gateway.ports import RouterPort
from shared.budget import Allowance
from shared.directory_protocol import News
from shared.errors import DocactorError, Unauthenticated
from shared.limits import (
    EXPIRY_WATCH_S,
    MAX_CACHED_TOKENS,
    MAX_TICKET_CHARS,
    MAX_TOKEN_CHARS,
    NOTICE_RETRY_S,
    NOTICE_WAIT_S,
    TOKEN_CACHE_S,
    TOKEN_UNSURE_S,
)
from shared.protocol import Caller, Scope
from shared.tokens import TICKET_PREFIX, TOKEN_PREFIX, hash_token

log = logging.getLogger("docactor.auth")

ALL_SCOPES: Final = frozenset[Scope](get_args(Scope))
LOCAL_PERSON: Final = Caller("person:local", "local", None, False, ALL_SCOPES)
LOCAL_AGENT: Final = Caller("agent:local", "local agent", "person:local", True, ALL_SCOPES)
DEFAULT_ALLOWANCE: Final = Allowance()


def with_allowance(caller: Caller, default: Allowance) -> Caller:
    """The caller with every budget said: its token's, else the default."""
    return msgspec.structs.replace(caller, allowance=caller.allowance.over(default))


class Authenticator:
    """Tokens to callers, with a memory.

    `follow` and `expire` run beside it for as long as it is used; `live` is told when tokens end.

    Args:
        router: The road to the Directory, which knows the tokens.
        no_auth: Whoever sends no token is the local agent.
        allowance: Budgets of callers whose token says nothing of them.
        issuer: Whose tokens count beside ours.
        now: Seconds, monotonic.
    """

    def __init__(
        self,
        router: RouterPort,
        *,
        no_auth: bool,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        issuer: Issuer | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._router = router
        self._no_auth = no_auth
        self._issuer = issuer
        self._allowance = allowance
        self._now = now
        self._known: dict[bytes, tuple[Caller | None, float]] = {}
        self._keep_s = TOKEN_UNSURE_S
        self._forgotten = 0  # times everything was forgotten
        self.live = LiveTokens()

    @property
    def no_auth(self) -> bool:
        return self._no_auth

    @property
    def issuer(self) -> Issuer | None:
        return self._issuer

    async def of_token(self, token: str) -> Caller | None:
        """The caller a token stands for; None for an unknown, expired or revoked one.

        Raises:
            DocactorError: the Directory could not be asked.
        """
        if not token or not token.isascii():
            return None
        if self._issuer is not None and not token.startswith((TOKEN_PREFIX, TICKET_PREFIX)):
            caller = await self._issuer.caller(token)
            return caller and with_allowance(caller, self._allowance)
        if len(token) > MAX_TOKEN_CHARS:
            return None
        key = hash_token(token)
        return await self._known_or(key, "authenticate", key)

    async def _known_or(self, key: bytes, method: str, shown: bytes | str) -> Caller | None:
        known = self._known.get(key)
        if known is not None and known[1] > self._now():
            return _while_valid(known[0])
        while True:
            forgotten = self._forgotten
            caller: Caller | None = await self._router.directory(method, shown)
            if forgotten == self._forgotten:
                break  # else it may have been revoked after the Directory had answered
        if caller is not None:
            caller = with_allowance(caller, self._allowance)
        self._remember(key, caller)
        return _while_valid(caller)

    async def of_header(self, authorization: str | None) -> Caller:
        """The caller of a request by its Authorization header.

        Raises:
            Unauthenticated: no token, or not a valid one.
        """
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() == "bearer":
            caller = await self.of_token(token.strip())
            if caller is None:
                raise Unauthenticated("Authorization: the token is unknown, expired or revoked.")
            return caller
        if self._no_auth:
            return with_allowance(LOCAL_AGENT, self._allowance)
        raise Unauthenticated("Authorization: a Bearer token is required.")

    async def of_visitor(self, authorization: str | None) -> Caller:
        """As `of_header`, and whoever sends no header may still come by a document's link.

        Raises:
            Unauthenticated: a token that is not valid.
        """
        if authorization is None and not self._no_auth:
            return ANYBODY
        return await self.of_header(authorization)

    async def of_socket(self, token: str | None) -> Caller:
        """The caller of a websocket by its token or ticket; None is a client that sent none.

        Raises:
            Unauthenticated: not a valid one.
        """
        if not token:
            return LOCAL_PERSON if self._no_auth else ANYBODY
        if token.startswith(TICKET_PREFIX):
            caller = await self.of_ticket(token)
        else:
            caller = await self.of_token(token)
        if caller is None:
            raise Unauthenticated("token: unknown, expired or revoked.")
        return caller

    async def of_ticket(self, ticket: str) -> Caller | None:
        """The caller a ticket stands for, for one document; None: it does not count.

        Raises:
            DocactorError: the Directory could not be asked.
        """
        if len(ticket) > MAX_TICKET_CHARS or not ticket.isascii():
            return None
        # Kept apart: what opens sockets is no token for anything else.
        return await self._known_or(b"ticket " + hash_token(ticket), "redeem", ticket)

    async def follow(self) -> None:
        """Hear of revoked tokens and changed roles, for ever. Ends by being cancelled."""
        seen = -1
        while True:
            try:
                news: News = await self._router.directory("wait_for_notice", seen, NOTICE_WAIT_S)
                if news.number != seen:
                    await self._heard(news)
                    seen = news.number
            except DocactorError as error:
                log.warning("no notices of revoked tokens: %s", error.message)
                self._forget(TOKEN_UNSURE_S)
                self._router.forget_roles(None, TOKEN_UNSURE_S)
                await anyio.sleep(NOTICE_RETRY_S)

    async def _heard(self, news: News) -> None:
        if news.tokens:
            self._forget(TOKEN_CACHE_S)
            await self._end_invalid()
        if news.documents is None or news.documents:
            self._router.forget_roles(news.documents, TOKEN_CACHE_S)
            await self._recast(news.documents)

    async def _recast(self, documents: frozenset[str] | None) -> None:
        """Brings what goes on at these documents to the roles there are now."""
        going = self.live.at(documents)
        asked = tuple({live.asked: None for live in going})
        if not asked:
            return
        now = dict(zip(asked, await self._router.admit_again(asked), strict=True))
        for live in going:
            caller = now[live.asked]
            if not self.live.still(live):
                continue
            if caller is None:
                live.end(refusal(live.doc_id, live.caller))
            elif caller != live.caller:
                live.caller = caller
                live.recast(caller)

    async def expire(self) -> None:
        """Ends what goes on under tokens that expire, for ever. Ends by being cancelled."""
        while True:
            await anyio.sleep(EXPIRY_WATCH_S)
            self.live.end_expired(_now_ms())

    async def _end_invalid(self) -> None:
        over: frozenset[str] = await self._router.directory("invalid_tokens", self.live.ids)
        self.live.end(over)

    def _forget(self, keep_s: float) -> None:
        self._forgotten += 1
        self._known.clear()
        self._keep_s = keep_s

    def _remember(self, key: bytes, caller: Caller | None) -> None:
        if len(self._known) >= MAX_CACHED_TOKENS:
            self._known.clear()  # guessing fills it, so what is lost is mostly guesses
        self._known[key] = (caller, self._now() + self._keep_s)


def _while_valid(caller: Caller | None) -> Caller | None:
    """The caller, unless the token's time has come since it was looked up."""
    if caller is not None and caller.expires is not None and caller.expires <= _now_ms():
        return None
    return caller


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class DocactorTokens(TokenVerifier):
    """FastMCP's view of the same tokens: who is not known never reaches a tool."""

    def __init__(self, authenticator: Authenticator) -> None:
        super().__init__()
        self._authenticator = authenticator

    async def verify_token(self, token: str) -> AccessToken | None:
        caller = await self._authenticator.of_token(token)
        if caller is None:
            return None
        return AccessToken(
            token="",  # nothing behind this needs it, and what is not there cannot be logged
            client_id=caller.principal,
            scopes=sorted(caller.scopes),
            claims={"sub": caller.principal, "caller": caller},
        )


def mcp_caller(*, no_auth: bool) -> Caller:
    """The caller of the MCP request being served.

    Raises:
        Unauthenticated: reached without a token; the endpoint answers 401 long before.
    """
    token = get_access_token()
    if token is not None:
        caller = token.claims.get("caller")
        if isinstance(caller, Caller):
            return caller
    if no_auth:
        return LOCAL_AGENT
    raise Unauthenticated("Authorization: a Bearer token is required.")
