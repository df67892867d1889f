"""The slots of a Ray cluster: the Directory's port, and the only place here that calls actors."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, Final

import anyio
import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError
from ray.util import list_named_actors
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors.document_actor import SLOT_OPTIONS, RemoteDocumentActor
from actors.folder_lock import LockProof
from actors.ports import Beat, Holder, NodeInfo, SlotLostError, SlotSilentError
from actors.processes import kill_for_certain
from actors.ray_calls import Handles, answer_within
from shared.errors import WireError, from_wire
from shared.limits import (
    ACTIVATE_DEADLINE_S,
    DRAIN_S,
    REPORT_S,
    SLOT_START_S,
    TAKEOVER_S,
    WHOAMI_S,
)
from shared.protocol import Activated, Activation, RouteKey, Whoami

SLOT_PREFIX: Final = "doc-slot-"


class RaySlots:
    """Slots as detached named actors of one namespace: they outlive a Directory that dies."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._node_id: str = ray.get_runtime_context().get_node_id()
        self._handles = Handles(namespace)

    async def nodes(self) -> tuple[NodeInfo, ...]:
        nodes = await anyio.to_thread.run_sync(ray.nodes)
        return tuple(
            NodeInfo(
                node["NodeID"],
                node["Resources"].get("CPU", 1.0),
                int(node["Resources"].get("memory", 2**30)),
            )
            for node in nodes
            if node["Alive"]
        )

    async def start(self, node_id: str) -> Holder:
        actor = f"{SLOT_PREFIX}{uuid.uuid4().hex}"
        where = NodeAffinitySchedulingStrategy(node_id, soft=False)
        named = {"name": actor, "namespace": self._namespace, "scheduling_strategy": where}
        self._handles.keep(actor, start_actor(RemoteDocumentActor, SLOT_OPTIONS | named))
        try:
            who = await self._call(actor, "whoami", SLOT_START_S)
        except (SlotLostError, SlotSilentError):
            await self._ray_kill(actor)
            raise
        return Holder(actor, who.node_id, who.pid, who.started)

    async def names(self) -> tuple[str, ...]:
        listed = await anyio.to_thread.run_sync(lambda: list_named_actors(all_namespaces=True))
        return tuple(
            entry["name"]
            for entry in listed
            if entry["namespace"] == self._namespace and entry["name"].startswith(SLOT_PREFIX)
        )

    async def whoami(self, actor: str) -> Whoami:
        answer: Whoami = await self._call(actor, "whoami", WHOAMI_S)
        return answer

    async def beat(self, actor: str) -> Beat:
        answer: Beat = await self._call(actor, "beat", REPORT_S)
        return answer

    async def activate(self, actor: str, activation: Activation) -> Activated:
        seconds = TAKEOVER_S + ACTIVATE_DEADLINE_S
        answer: Activated = await self._call(actor, "activate", seconds, activation)
        return answer

    async def passivate(self, actor: str, key: RouteKey, idle_s: float | None) -> bool:
        closed: bool = await self._call(actor, "passivate", DRAIN_S, key, idle_s)
        return closed

    async def hibernate(self, actor: str, key: RouteKey, gateway: str, still_s: float) -> bool:
        asleep: bool = await self._call(actor, "hibernate", DRAIN_S, key, gateway, still_s)
        return asleep

    async def shares_folder(self, actor: str, lock: LockProof) -> bool:
        shares: bool = await self._call(actor, "shares_folder", ACTIVATE_DEADLINE_S, lock)
        return shares

    async def kill(self, holder: Holder, helper: str | None) -> None:
        if holder.node_id == self._node_id:
            await kill_for_certain(holder.pid, holder.started)
        elif helper is not None:
            # When the helper fails, what follows kills it too: in 5 s if it is stopped.
            with suppress(SlotLostError, SlotSilentError):
                await self._call(helper, "kill_process", TAKEOVER_S, holder.pid, holder.started)
        await self._ray_kill(holder.actor)

    async def _ray_kill(self, actor: str) -> None:
        """Ray's own kill: lets Ray forget it, and reaches processes we cannot."""
        try:
            handle = await self._handle(actor)
        except (SlotLostError, SlotSilentError):
            return
        self._handles.forget(actor)
        # Ray may have lost the actor's node meanwhile, and then has nothing to kill.
        with suppress(RayError):
            await anyio.to_thread.run_sync(lambda: ray.kill(handle, no_restart=True))

    async def _call(self, actor: str, method: str, seconds: float, *args: object) -> Any:
        handle = await self._handle(actor)
        try:
            ref = getattr(handle, method).remote(*args)
            answer = await answer_within(ref, seconds)
        except TimeoutError as error:
            raise SlotSilentError(f"{actor} did not answer {method} within {seconds} s") from error
        except ActorUnavailableError as error:
            raise SlotSilentError(f"{actor} cannot be reached") from error
        except RayActorError as error:
            self._handles.forget(actor)
            raise SlotLostError(f"{actor} is dead") from error
        except RayError as error:
            raise SlotLostError(f"{actor} failed in {method}: {error}") from error
        if isinstance(answer, WireError):
            raise from_wire(answer)
        return answer

    async def _handle(self, actor: str) -> Any:
        try:
            return await self._handles.of(actor)
        except ValueError as error:
            raise SlotLostError(f"{actor} is not there") from error
        except RayError as error:
            raise SlotSilentError(f"{actor} cannot be looked up: {error}") from error


def start_actor(kind: Any, options: dict[str, Any], *args: object) -> Any:
    """A handle to a new actor of a `ray.remote` class; Ray makes it in the background."""
    return kind.options(**options).remote(*args)
