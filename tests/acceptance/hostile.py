"""Values that no correct caller sends, as JSON text, and requests that carry them."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Final
from zlib import crc32

import httpx

from shared.errors import BY_CODE
from tests.amount import amount

NESTED: Final = "@nested@"  # as deep as is read
DEEP: Final = "@deep@"  # stands for a nesting that Python's encoder would not write
CONTROLS: Final = "".join(
    map(chr, (*range(1, 32), 127, 0x85, 0xAD, 0x200B, 0x2028, 0x2029, 0xFEFF))
)
BIDI: Final = "a\u202eb\u2066c\u2069\u200f\U000e0041"
HALF: Final = "half \ud800 of a pair"

VALUES: Final[dict[str, Any]] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -1,
    "float": 1.5,
    "whole float": 7.0,
    "exponent": 1e308,
    "2^53": 2**53,
    "2^63": 2**63,
    "400 digits": 10**399,
    "400 digits as text": "9" * 400,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "empty": "",
    "blank": " \t\r\n",
    "word": "abc",
    "long": "x" * 300_000,
    "long lines": "x\n\n" * 100_000,
    "NUL": "\x00",
    "NUL inside": "a\x00b",
    "half": HALF,
    "other half": "\udfff",
    "swapped halves": "\udc00\ud800",
    "controls": CONTROLS,
    "direction": BIDI,
    "astral": "\U0001f4a3" * 2_000,
    "combining": "e" + "\u0301" * 5_000,
    "noncharacter": "\ufffe\uffff\U0010ffff",
    "path": "../../etc/passwd",
    "percent": "%00%2e%2e%2f",
    "url": "http://[::1/d/x",
    "sql": "'; DROP TABLE documents; --",
    "format": "{0.__class__} %s %n",
    "list": [],
    "list of list": [[]],
    "list of null": [None],
    "list of numbers": [1, 2.5, True],
    "list of half": [HALF],
    "list of objects": [{"anchor": {"anchor": []}}, {"old_text": 1, "new_text": None}],
    "long list": ["k3x9d2ab"] * 30_000,
    "object": {},
    "odd object": {"o": 1, HALF: HALF, "\x00": None},
    "edit of halves": [{"old_text": HALF, "new_text": HALF, "anchor": HALF}],
    "edit of NUL": [{"old_text": "One", "new_text": "\x00"}],
    "edit of junk": [{"old_text": "One", "new_text": "x", HALF: 1}],
    "JSON text": '[{"a": ',
    "JSON half": '["\\ud800"]',
    "JSON deep": "[" * 20_000,
    "JSON nested": "[" * 400 + "]" * 400,
    "JSON nested more": "[" * 900 + "]" * 900,
    "nested": NESTED,
    "deep": DEEP,
}


def values_for(place: str) -> dict[str, Any]:
    """The values to try at one place: every sixth, others at other places; in a long run all."""
    step = amount(6, 1)
    first = crc32(place.encode()) % step
    return dict(islice(VALUES.items(), first, None, step))


def as_json(value: Any) -> bytes:
    """JSON, with NaN and the like as Python writes them, and deep nesting."""
    text = json.dumps(value)
    for stands, depth in ((DEEP, 3_000), (NESTED, 190)):
        text = text.replace(f'"{stands}"', "[" * depth + "]" * depth)
    return text.encode()


class Caller:
    """Somebody with a token who sends whatever they like."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=60)

    def close(self) -> None:
        self._http.close()

    def tool(self, name: Any, arguments: Any) -> dict[str, Any]:
        """Calls a tool. The answer must be a result, or an error of JSON-RPC with its 4xx."""
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.post("/mcp", as_json(message))
        told: dict[str, Any] = answer.json()
        if "error" in told:
            assert told["error"]["code"] in (-32700, -32600, -32602), told
            return {"isError": True, "refused": told["error"]}
        result: dict[str, Any] = told["result"]
        if result.get("isError"):
            error = result["structuredContent"]["error"]
            assert error["code"] in BY_CODE, error
            assert error["code"] not in ("internal_error", "outcome_unknown"), error
            assert error["next_step"], error
            assert error["message"], result
        return result

    def post(self, path: str, body: bytes, kind: str = "application/json") -> httpx.Response:
        accept = "application/json, text/event-stream"
        headers = {"Content-Type": kind, "Accept": accept}
        return checked(self._http.post(path, content=body, headers=headers))

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return checked(self._http.request(method, path, **arguments))


def checked(answer: httpx.Response) -> httpx.Response:
    """An answer that is no fault of the server and shows nothing of its inside."""
    assert answer.status_code < 500, (answer.request.url, answer.status_code, answer.text[:500])
    for inside in ("Traceback", 'File "', "site-packages"):
        assert inside not in answer.text[:100_000], answer.text[:500]
    return answer
