"""Calls at a document actor past the router."""

from __future__ import annotations

from typing import Any

from shared.calls import Verb, decode_answer, encode_call
from shared.protocol import Caller, RouteKey


async def ask(actor: Any, verb: Verb, key: RouteKey, caller: Caller, request: Any) -> Any:
    """What the actor answers, as a value."""
    answer = await actor.serve.remote(verb, encode_call(key, caller, request))
    return decode_answer(verb, answer)
