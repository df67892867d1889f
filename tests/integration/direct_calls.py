"""Calls at a document actor past the router, which says what role a caller has."""

from __future__ import annotations

from typing import Any

from shared.access import with_role
from shared.calls import Verb, decode_answer, encode_call
from shared.protocol import Caller, RouteKey


async def ask(actor: Any, verb: Verb, key: RouteKey, caller: Caller, request: Any) -> Any:
    """What the actor answers an owner, as a value."""
    owner = with_role(caller, "owner", None)
    answer = await actor.serve.remote(verb, encode_call(key, owner, request))
    return decode_answer(verb, answer)
