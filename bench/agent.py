"""A bare MCP client: the fewer costs of its own, the better it measures."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, Final, Self
from urllib.parse import urlsplit

PROTOCOL: Final = "2025-06-18"
ANSWER_DEADLINE_S: Final = 60.0
KEPT_ALIVE_S: Final = 3.0  # uvicorn closes an idle connection after 5


class RefusedError(RuntimeError):
    """A tool's error result, or no result at all.

    Attributes:
        code: The error's code; empty when the answer was no tool result.
        retryable: Whether the same call may succeed later.
    """

    def __init__(self, tool: str, answer: str, error: dict[str, Any]) -> None:
        super().__init__(f"{tool} was refused: {answer[:500]}")
        self.code: str = error.get("code", "")
        self.retryable: bool = error.get("retryable", False)


class Agent:
    """Calls tools over one kept-alive connection, which is opened anew when it broke or idled.

    Attributes:
        answered: Bytes of the last answer.
    """

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=ANSWER_DEADLINE_S)
        self._headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": PROTOCOL,
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._used = 0.0
        self.answered = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call(self, tool: str, **arguments: Any) -> tuple[float, dict[str, Any]]:
        """Milliseconds and structured content of one call.

        Raises:
            RefusedError: the tool answered with an error.
            OSError, http.client.HTTPException: the connection broke; the next call opens another.
        """
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        body = json.dumps(request)
        if time.monotonic() - self._used > KEPT_ALIVE_S:
            self._connection.close()
        started = time.perf_counter()
        try:
            self._connection.request("POST", self._path, body, self._headers)
            answer = self._connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        taken = (time.perf_counter() - started) * 1000
        self._used = time.monotonic()
        self.answered = len(answer)
        result = json.loads(answer).get("result", {})
        content: dict[str, Any] = result.get("structuredContent", {})
        if result.get("isError", not result):
            raise RefusedError(tool, answer.decode(), content.get("error", {}))
        return taken, content
