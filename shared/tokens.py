"""Access tokens: their form and what is stored of them."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

TOKEN_BYTES: Final = 32  # 256 random bits
TOKEN_PREFIX: Final = "dat_"  # so that a leaked token is recognised as one of ours  # noqa: S105

TICKET_PREFIX: Final = "dtk_"


def hash_token(token: str) -> bytes:
    """BLAKE2b-256 of a token: what the catalog keeps and gateways look up.

    Unsalted on purpose: 256 random bits cannot be guessed, and a lookup needs one value.
    """
    return blake2b(token.encode(), digest_size=32).digest()
