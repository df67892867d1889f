"""Errors as HTTP answers: RFC 9457 problem details."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from shared.errors import DocactorError

MEDIA_TYPE: Final = "application/problem+json"

STATUS_BY_CODE: Final = {
    "doc_not_found": 404,
    "capability_denied": 403,
    "unauthenticated": 401,
    "invalid_argument": 400,
    "invalid_cursor": 400,
    "stale_anchor": 409,
    "stale_block": 409,
    "base_required": 409,
    "base_expired": 409,
    "large_delete": 409,
    "empty_patch": 409,
    "find_not_matched": 409,
    "not_unique": 409,
    "unsupported_markup": 422,
    "too_large": 413,
    "rate_limited": 429,
    "busy": 409,
    "thread_not_found": 404,
    "suggestion_not_found": 404,
    "version_not_found": 404,
    "not_author": 403,
    "idempotency_mismatch": 409,
    "unsupported_mode": 422,
    "outcome_unknown": 500,
    "storage_unavailable": 503,
    "document_corrupt": 500,
    "overloaded": 503,
    "shutting_down": 503,
    "internal_error": 500,
    "moved": 503,
}


def problem(error: DocactorError) -> Response:
    """The answer for an error: its status by its code, everything else as data.

    `type` is a URN: the code is what programs compare, and there is no page to fetch.
    """
    status = STATUS_BY_CODE.get(error.code, 500)
    told = error.as_dict()
    body = {
        "type": f"urn:docactor:error:{error.code}",
        "title": error.code.replace("_", " "),
        "status": status,
        "detail": error.message,
        **{key: value for key, value in told.items() if key != "message"},
    }
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    retry_after = told.get("retry_after_s")
    if isinstance(retry_after, int | float):
        headers["Retry-After"] = str(max(1, round(retry_after)))
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)
