"""Tokens of an issuer that the operator trusts: OAuth 2.1 access tokens as signed JWTs.

Whose token it is says `sub` together with `iss`, never the client it was given to; it counts for
our audience alone and until it expires. Keys are the issuer's, found by its own description.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import httpx
import msgspec
from fastmcp.server.auth.providers.jwt import JWTVerifier

from shared.access import scopes_of
from shared.errors import Overloaded
from shared.limits import ISSUER_S, MAX_JWT_CHARS, MAX_NAME_CHARS, MAX_PRINCIPAL_CHARS
from shared.protocol import Caller, Scope
from shared.slugs import single_line

log = logging.getLogger("docactor.oidc")

DISCOVERY: Final = "/.well-known/openid-configuration"


class _Described(msgspec.Struct):
    """What is needed of an issuer's description."""

    issuer: str
    jwks_uri: str


class Issuer:
    """One issuer's tokens as callers.

    Args:
        issuer: Its address, exactly as its tokens say it.
        audience: What its tokens must be for.
        scope: The most that its tokens may do here, and what they may when they name no scope of
            ours.
    """

    def __init__(self, issuer: str, audience: str, scope: str) -> None:
        self.issuer = issuer
        self._audience = audience
        self._most = scopes_of(scope)
        self._verifier: JWTVerifier | None = None

    async def caller(self, token: str) -> Caller | None:
        """Whose token this is; None: it is not one of this issuer's, or does not count.

        Raises:
            Overloaded: The issuer's keys cannot be had.
        """
        if len(token) > MAX_JWT_CHARS or token.count(".") != 2:
            return None
        if self._verifier is None:
            self._verifier = await self._described()
        access = await self._verifier.verify_token(token)
        if access is None or access.expires_at is None:
            return None
        claims: dict[str, Any] = access.claims
        principal = f"person:{self.issuer}#{claims.get('sub')}"
        if not claims.get("sub") or len(principal) > MAX_PRINCIPAL_CHARS:
            return None
        name = claims.get("name") or claims.get("preferred_username") or claims["sub"]
        return Caller(
            *(principal, single_line(str(name), MAX_NAME_CHARS), principal, False),
            scopes=self._scopes(access.scopes),
            expires=int(access.expires_at) * 1000,
        )

    def _scopes(self, named: list[str]) -> frozenset[Scope]:
        ours = " ".join(name for name in named if name in _SCOPES)
        return scopes_of(ours) & self._most if ours else self._most

    async def _described(self) -> JWTVerifier:
        url = self.issuer.rstrip("/") + DISCOVERY
        try:
            async with httpx.AsyncClient(timeout=ISSUER_S) as client:
                answer = (await client.get(url)).raise_for_status()
            told = msgspec.json.decode(answer.content, type=_Described)
        except (httpx.HTTPError, msgspec.DecodeError) as error:
            log.warning("the issuer of tokens does not describe itself: %s", type(error).__name__)
            raise Overloaded("The issuer of tokens does not answer.", retry_after_s=5) from error
        if told.issuer != self.issuer:
            log.error("the issuer of tokens calls itself by another name")
            raise Overloaded("The issuer of tokens does not answer.", retry_after_s=5)
        return JWTVerifier(jwks_uri=told.jwks_uri, issuer=self.issuer, audience=self._audience)


_SCOPES: Final = ("read", "comment", "suggest", "write", "admin")
