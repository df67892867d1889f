"""Calls through Ray: the only gateway module that calls actors."""

from __future__ import annotations

import logging
import secrets
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError

from actors.ray_calls import Handles, answer_within
from gateway.roads import LostCallError, UnreachableError
from shared.calls import Verb, decode_answer, encode_call
from shared.directory_protocol import DIRECTORY_NAME
from shared.errors import InternalError
from shared.limits import CALL_DEADLINE_S
from shared.protocol import Caller, RouteKey

log = logging.getLogger(__name__)


class RayRoad:
    """Calls through Ray, in the namespace this process joined."""

    def __init__(self) -> None:
        context = ray.get_runtime_context()
        self.node_id: str = context.get_node_id()
        self._handles = Handles(context.namespace)

    async def document(
        self, actor: str, verb: Verb, key: RouteKey, caller: Caller, request: Any
    ) -> Any:
        sent = encode_call(key, caller, request)
        return decode_answer(verb, await self._call(actor, "serve", verb, sent))

    async def directory(self, method: str, *args: Any) -> Any:
        return await self._call(DIRECTORY_NAME, "call", method, *args)

    async def _call(self, actor: str, method: str, *args: Any) -> Any:
        handle = await self._handle(actor)
        try:
            ref = getattr(handle, method).remote(*args)
            return await answer_within(ref, CALL_DEADLINE_S)
        except RayTaskError as error:
            # A border: what is said to a caller is an id, what happened is in the log.
            error_id = secrets.token_hex(4)
            log.exception("%s.%s failed, error %s", actor, method, error_id)
            raise InternalError("Something went wrong here.", error_id=error_id) from error
        except (RayActorError, ActorUnavailableError, TimeoutError) as error:
            if actor != DIRECTORY_NAME:  # a Directory that is restarted keeps its handle
                self._handles.forget(actor)
            raise LostCallError(f"{actor}.{method}") from error
        except RayError as error:
            raise LostCallError(f"{actor}.{method}: {error}") from error

    async def _handle(self, actor: str) -> Any:
        try:
            return await self._handles.of(actor)
        except (ValueError, RayError) as error:  # it was certainly not called
            raise UnreachableError(f"{actor}: {error}") from error
