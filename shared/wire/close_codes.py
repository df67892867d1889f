"""Why a websocket of an editor is closed.

y-websocket 3.1 takes 4400 to 4499 as final and reconnects on everything else; older versions
reconnect always. So what a retry can mend lies outside of that range.
"""

from typing import Final

NOT_ACCEPTABLE: Final = 1003
MALFORMED: Final = 1007
TOO_BIG: Final = 1009
GOING_AWAY: Final = 1012
UNAUTHENTICATED: Final = 4401
FORBIDDEN: Final = 4403
NOT_FOUND: Final = 4404
FAILED: Final = 4500
TRY_AGAIN: Final = 4503

MEANINGS: Final = {
    NOT_ACCEPTABLE: "a text frame; the protocol is binary",
    MALFORMED: "bytes that no correct client sends",
    TOO_BIG: "a message over the limit",
    GOING_AWAY: "the server restarts: come back",
    UNAUTHENTICATED: "no valid token, or one that was revoked meanwhile",
    FORBIDDEN: "the token or role does not allow this",
    NOT_FOUND: "no such document, or not for this token",
    FAILED: "a fault of the server",
    TRY_AGAIN: "too slow, out of step, or no room: come back",
}
BY_ERROR: Final = {
    "unauthenticated": UNAUTHENTICATED,
    "capability_denied": FORBIDDEN,
    "doc_not_found": NOT_FOUND,
    "document_corrupt": FAILED,
    "internal_error": FAILED,
    "outcome_unknown": TRY_AGAIN,
    "storage_unavailable": TRY_AGAIN,
    "overloaded": TRY_AGAIN,
    "rate_limited": TRY_AGAIN,
    "shutting_down": GOING_AWAY,
}


def of_error(code: str) -> int:
    """What a socket that ends with an error of this code is closed with.

    A socket that ends with an error no socket is known to meet is to come back.
    """
    return BY_ERROR.get(code, TRY_AGAIN)


def is_final(code: int) -> bool:
    """Whether a retry cannot mend it."""
    return 4400 <= code < 4500
