"""Errors of tools as results an agent can act on.

An error is a result with `isError`: its text is complete by itself and starts with the field at
fault; `structuredContent.error` is the same as data. The tool border of the house rules is here: an
exception nobody expected is logged under an id, and the agent is told the id and nothing else.
"""

from __future__ import annotations

import difflib
import functools
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, ParamSpec

import mcp_types
import msgspec
from fastmcp.exceptions import FastMCPError, NotFoundError, ToolError, ValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from pydantic import ValidationError as PydanticError
from pydantic_core import ErrorDetails

from gateway.mcp.arguments import Unfit, shown
from gateway.mcp.framing import frame, new_nonce
from shared.errors import DocactorError, InternalError, InvalidArgument

P = ParamSpec("P")

log = logging.getLogger("docactor.tools")

_SAID: Final = ("code", "message", "retryable", "next_step")
_PLAIN: Final = (int, float, bool)


class Told(ToolError):
    """A domain error on its way through FastMCP, which would log any other with a traceback."""

    def __init__(self, error: DocactorError) -> None:
        super().__init__(error.message, log_level=logging.DEBUG)
        self.error = error


def guarded(tool: Callable[P, Awaitable[ToolResult]]) -> Callable[P, Awaitable[ToolResult]]:
    """`tool` with its exceptions as `Told`."""

    @functools.wraps(tool)
    async def run(*args: P.args, **kwargs: P.kwargs) -> ToolResult:
        try:
            return await tool(*args, **kwargs)
        except DocactorError as error:
            raise Told(error) from error
        except Exception as error:
            raise Told(unexpected(error, tool.__name__)) from error

    return run


def unexpected(error: BaseException, where: str) -> InternalError:
    """What a caller is told of an exception nobody expected; the log has the rest."""
    error_id = secrets.token_hex(4)
    log.error("unexpected error %s in %s", error_id, where, exc_info=error)
    return InternalError(
        f"Something went wrong in the server (error id {error_id}).", error_id=error_id
    )


def error_result(error: DocactorError) -> ToolResult:
    """The error as a result: text for a reader of text, data for a reader of data."""
    told = error.as_dict()
    lines = [f"{told['message']} {told['next_step']}".strip()]
    details = {key: value for key, value in told.items() if key not in _SAID}
    plain = {key: value for key, value in details.items() if isinstance(value, _PLAIN)}
    quoted = {key: value for key, value in details.items() if key not in plain and value}
    lines += [f"{key}: {value}" for key, value in plain.items()]
    if quoted:  # may quote the document, so it is framed as the document is
        lines.append(frame(msgspec.json.encode(quoted).decode(), new_nonce()))
    return ToolResult(
        content=[mcp_types.TextContent(type="text", text="\n".join(lines))],
        structured_content={"error": told},
        is_error=True,
    )


class ErrorsAsResults(Middleware):
    """Turns what FastMCP would answer in its own words into our results.

    Args:
        arguments_of: Tool name to the names of its arguments.
    """

    def __init__(self, arguments_of: dict[str, tuple[str, ...]]) -> None:
        self._arguments_of = arguments_of

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        name = context.message.name
        try:
            return await call_next(context)
        except Told as error:
            return error_result(error.error)
        except ValidationError as error:
            if not isinstance(error.__cause__, PydanticError):
                return error_result(unexpected(error, name))
            return error_result(argument_error(error.__cause__, self._arguments_of.get(name, ())))
        except NotFoundError:
            return error_result(unknown_tool(name, self._arguments_of))
        except FastMCPError as error:
            return error_result(unexpected(error, name))


def unknown_tool(name: str, tools: Iterable[str]) -> InvalidArgument:
    names = sorted(tools)
    return InvalidArgument(f"name: no tool {shown(name)}. Tools: {', '.join(names)}.", tools=names)


def argument_error(error: PydanticError, known: tuple[str, ...]) -> DocactorError:
    """Everything wrong with the arguments, the first one first, its code the error's."""
    found = [_fault(details, known) for details in error.errors(include_url=False)]
    # What is not known explains what is missing, and is what the caller has to rename.
    found.sort(key=lambda fault: not fault.unknown)
    message = " ".join(f"{fault.field}: {fault.text}" for fault in found[:5])
    return found[0].kind(message, field=found[0].field)


class _Fault(msgspec.Struct):
    field: str
    text: str
    kind: type[DocactorError] = InvalidArgument
    unknown: bool = False


def _fault(details: ErrorDetails, known: tuple[str, ...]) -> _Fault:
    field = str(details["loc"][0]) if details["loc"] else "arguments"
    cause: Any = details.get("ctx", {}).get("error")
    if isinstance(cause, Unfit):
        return _Fault(field, cause.text, cause.kind)
    if details["type"].startswith("missing"):
        return _Fault(field, "is required.")
    if details["type"] == "unexpected_keyword_argument":
        close = difflib.get_close_matches(field, known, 1)
        hint = f" Did you mean {close[0]}?" if close else f" Arguments: {', '.join(known)}."
        return _Fault(field[:64], f"no such argument.{hint}", unknown=True)
    return _Fault(field, f"{details['msg']}.")
