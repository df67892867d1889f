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

from gateway.live_tokens import LiveTokens
from gateway.ports import RouterPort
from shared.budget import Allowance
from shared.errors import DocactorError, Unauthenticated
from shared.limits import (
    EXPIRY_WATCH_S,
    MAX_CACHED_TOKENS,
    MAX_TOKEN_CHARS,
    NOTICE_RETRY_S,
    NOTICE_WAIT_S,
    TOKEN_CACHE_S,
    TOKEN_UNSURE_S,
)
from shared.protocol import Caller, Scope
from shared.tokens import hash_token

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
        now: Seconds, monotonic.
    """

    def __init__(
        self,
        router: RouterPort,
        *,
        no_auth: bool,
        allowance: Allowance = DEFAULT_ALLOWANCE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._router = router
        self._no_auth = no_auth
        self._allowance = allowance
        self._now = now
        self._known: dict[bytes, tuple[Caller | None, float]] = {}
        self._keep_s = TOKEN_UNSURE_S
        self._forgotten = 0  # times everything was forgotten
        self.live = LiveTokens()

    @property
    def no_auth(self) -> bool:
        return self._no_auth

    async def of_token(self, token: str) -> Caller | None:
        """The caller a token stands for; None for an unknown, expired or revoked one.

        Raises:
            DocactorError: the Directory could not be asked.
        """
        if not token or len(token) > MAX_TOKEN_CHARS or not token.isascii():
            return None
        key = hash_token(token)
        known = self._known.get(key)
        if known is not None and known[1] > self._now():
            return _while_valid(known[0])
        while True:
            forgotten = self._forgotten
            caller: Caller | None = await self._router.directory("authenticate", key)
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

    async def of_socket(self, token: str | None) -> Caller:
        """The caller of a websocket by its token; None is a client that sent none.

        Raises:
            Unauthenticated: no token, or not a valid one.
        """
        if token is None and self._no_auth:
            return LOCAL_PERSON
        caller = None if token is None else await self.of_token(token)
        if caller is None:
            raise Unauthenticated("token: unknown, expired, revoked or missing.")
        return caller

    async def follow(self) -> None:
        """Hear of revoked tokens, for ever. Ends by being cancelled."""
        seen = -1
        while True:
            try:
                newest: int = await self._router.directory("wait_for_notice", seen, NOTICE_WAIT_S)
                if newest != seen:
                    self._forget(TOKEN_CACHE_S)
                    await self._end_invalid()
                    seen = newest
            except DocactorError as error:
                log.warning("no notices of revoked tokens: %s", error.message)
                self._forget(TOKEN_UNSURE_S)
                await anyio.sleep(NOTICE_RETRY_S)

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
