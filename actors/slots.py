"""A slot: a process that holds no document, or exactly one, and many in turn.

A plain class; `actors.document_actor` makes it an actor and does nothing else. The states are in
`actors.life`. Everything it is asked for on behalf of a document names the document, the epoch and
the activation's secret, because a slot goes on to other documents while routes to it are cached.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, Protocol
from weakref import WeakValueDictionary

import anyio
import msgspec

from actors.document import collected
from actors.folder_lock import LockProof, shares_folder
from actors.life import LIFE, SERVING, Event, State, after
from actors.ports import Beat
from actors.processes import kill_for_certain
from actors.storage.stored import StaleEpochError
from shared.access import check
from shared.calls import READS, Verb, mode_of
from shared.concurrency import Concurrency
from shared.errors import (
    DocactorError,
    InternalError,
    Moved,
    Overloaded,
    StorageUnavailable,
    WireError,
)
from shared.limits import (
    CALLS_OF_ONE,
    CALLS_WAITING,
    ORPHAN_S,
    PARENT_WATCH_S,
    PLACES_OF_ONE,
    READS_AT_ONCE,
    TAKEOVER_S,
    WRITES_AT_ONCE,
)
from shared.protocol import (
    Activated,
    Activation,
    AnchorOnly,
    Caller,
    CommitTotals,
    Report,
    RouteKey,
    Whoami,
)

log = logging.getLogger(__name__)

LOCKED_POLL_S: Final = 0.05  # how often a file that its former holder still locks is tried again

Kind = Literal["read", "write"]


class DocumentPort(Protocol):
    """What a slot needs of a document beside its verbs."""

    @property
    def failed(self) -> DocactorError | None: ...
    @property
    def degraded(self) -> bool: ...
    @property
    def title(self) -> str: ...
    @property
    def all_left(self) -> dict[str, int]: ...
    @property
    def last_change_at(self) -> int: ...
    @property
    def block_count(self) -> int: ...
    @property
    def commits(self) -> CommitTotals: ...
    def cursor(self) -> int: ...
    def anchors(self) -> tuple[AnchorOnly, ...]: ...
    async def close(self) -> None: ...


class LinkPort(Protocol):
    """What a slot needs of the link's server end."""

    @property
    def session_count(self) -> int: ...
    @property
    def waiting(self) -> bool: ...
    @property
    def sole_gateway(self) -> str: ...
    @property
    def stirred_at(self) -> float: ...
    def sleep(self) -> bool: ...
    async def start(self) -> tuple[str, str]: ...
    async def stop(self) -> None: ...


class Identity(msgspec.Struct, frozen=True):
    """Where a slot lives. `started`: see `actors.processes.start_time`."""

    node_id: str
    node_ip: str
    pid: int
    parent: int
    started: int


class Open(msgspec.Struct, frozen=True):
    """The document a slot holds."""

    key: RouteKey
    document: Any  # DocumentPort and the verbs, by name
    link: LinkPort
    addresses: tuple[str, str]


class Slot:
    """One slot. Call `watch` once, beside everything else, for as long as it lives.

    Args:
        open_document: Opens what an activation says; raises DocactorError or StaleEpochError.
        open_link: The link's server end for an open document, on this node's address.
        leave: Ends the process at once with this exit code.
        takeover_s, orphan_s, watch_s: Seconds; see shared.limits.
    """

    def __init__(
        self,
        identity: Identity,
        open_document: Callable[[Activation], Awaitable[DocumentPort]],
        open_link: Callable[[Any, RouteKey, str], LinkPort],
        leave: Callable[[int], None],
        *,
        parent: Callable[[], int] = os.getppid,
        takeover_s: float = TAKEOVER_S,
        orphan_s: float = ORPHAN_S,
        watch_s: float = PARENT_WATCH_S,
    ) -> None:
        self._identity = identity
        self._open_document = open_document
        self._open_link = open_link
        self._leave = leave
        self._parent = parent
        self._takeover_s = takeover_s
        self._orphan_s = orphan_s
        self._watch_s = watch_s
        self._state: State = "blank"
        self._open: Open | None = None
        self._in_flight = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._busy_at = self._heard_at = self._stirred_at = _now()
        self._of_one = Concurrency(CALLS_OF_ONE, "calls of this document")
        self._turns: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self._limits: dict[Kind, anyio.CapacityLimiter] = {
            "read": anyio.CapacityLimiter(READS_AT_ONCE),
            "write": anyio.CapacityLimiter(WRITES_AT_ONCE),
        }

    # --- what the Directory says ------------------------------------------------------------------

    async def whoami(self) -> Whoami:
        self._heard_at = _now()
        self._follow()
        here, link = self._identity, ("", "")
        key = None
        if self._open is not None:
            key, link = self._open.key, self._open.addresses
        return Whoami(self._state, key, here.node_id, here.pid, here.started, *link)

    async def beat(self) -> Beat:
        """The Directory lives; how are you?"""
        whoami = await self.whoami()
        idle_s = 0.0 if self._is_busy() else _now() - self._busy_at
        return Beat(
            whoami, self._report(), self._is_busy(), idle_s, self._sole_gateway(), self._still_s()
        )

    async def activate(self, activation: Activation) -> Activated | WireError:
        """Takes a document. An error leaves the slot blank, with no file open.

        `moved` with `epoch` in its data: the file was opened under that higher epoch.
        """
        self._heard_at = _now()
        if self._state != "blank":
            return Moved("The slot is not blank.").to_wire()
        self._go("activate")
        try:
            self._open = await self._load(activation)
        except StaleEpochError as error:
            self._go("refused")
            return Moved("The file was opened under a higher epoch.", epoch=error.args[0]).to_wire()
        except DocactorError as error:
            self._go("refused")
            return error.to_wire()
        except BaseException:
            # Half a document may be open: the next one gets a process that is certainly clean.
            log.exception("activation failed: %s", activation.key.doc_id)
            self._end("failed", 1)
            raise
        self._busy_at = self._stirred_at = _now()
        self._go("loaded")
        document, (unix, tcp) = self._open.document, self._open.addresses
        if activation.seed is None:
            return Activated(unix, tcp, 0)
        return Activated(unix, tcp, document.cursor(), document.anchors())

    async def passivate(self, key: RouteKey, idle_s: float | None) -> bool:
        """Gives the document back and is blank again.

        False: it is busy, or has not been idle for `idle_s` seconds (None: at once, busy or not).
        """
        self._heard_at = _now()
        if self._open is None or self._open.key != key or self._state not in SERVING:
            return self._state == "blank"
        if idle_s is not None and (self._is_busy() or _now() - self._busy_at < idle_s):
            return False
        await self._close()
        return True

    async def hibernate(self, key: RouteKey, gateway: str, still_s: float) -> bool:
        """Gives the document back, as `passivate` does, and leaves its sessions to their gateway.

        False: they are not all there, somebody is at work, or was within `still_s` seconds.
        """
        self._heard_at = _now()
        held = self._open
        if held is None or held.key != key or self._state != "active":
            return self._state == "blank"
        if self._sole_gateway() != gateway or self._still_s() < still_s or not held.link.sleep():
            return False
        await self._close()
        return True

    async def shares_folder(self, proof: LockProof) -> bool:
        """Whether this node sees the Directory's lock."""
        return await anyio.to_thread.run_sync(shares_folder, proof)

    async def kill_process(self, pid: int, started: int) -> bool:
        """Kills another process of this node; True when it is gone."""
        return await kill_for_certain(pid, started)

    # --- what gateways say ------------------------------------------------------------------------

    async def call(self, verb: Verb, key: RouteKey, caller: Caller, request: Any) -> Any:
        """One verb of the document; a domain error is a value (`WireError`).

        Reads and writes have places of their own, so that neither can starve the other, and one
        principal has half of them at most: what it asks beyond that waits for its own calls.
        """
        held = self._open
        if held is None or held.key != key or self._state not in SERVING:
            return Moved("The document is not here.").to_wire()
        limit = self._limits["read" if verb in READS else "write"]
        if limit.statistics().tasks_waiting >= CALLS_WAITING:
            return Overloaded("Too many calls wait for this document.", retry_after_s=1).to_wire()
        self._in_flight += 1
        self._quiet.clear()
        try:
            check(caller, key.doc_id, verb, mode_of(request))
            with self._of_one.one_more(caller.principal):
                async with self._turns_of(caller.principal), limit:
                    return await getattr(held.document, verb)(caller, request)
        except DocactorError as error:
            return error.to_wire()
        except Exception:
            # A border: what is said to a caller is an id, what happened is in the log.
            error_id = secrets.token_hex(4)
            log.exception("%s failed, error %s", verb, error_id)
            return InternalError("Something went wrong here.", error_id=error_id).to_wire()
        finally:
            self._busy_at = _now()
            if not getattr(request, "look", False):
                self._stirred_at = self._busy_at
            self._in_flight -= 1
            if self._in_flight == 0:
                self._quiet.set()

    # --- its own watch ----------------------------------------------------------------------------

    async def watch(self) -> None:
        """Fences itself when its node died, leaves when nobody needs it. Returns when it leaves."""
        while self._state not in {"dead", "fenced"}:
            await anyio.sleep(self._watch_s)
            self._follow()
            if self._state in {"dead", "fenced"}:
                return
            if self._is_busy():
                self._busy_at = _now()
            if _now() - self._heard_at > self._orphan_s:
                log.warning("no Directory for %s s: leaving", self._orphan_s)
                if self._state in SERVING:
                    await self._close()
                self._end("failed", 0)

    # --- inside -----------------------------------------------------------------------------------

    async def _load(self, activation: Activation) -> Open:
        document = await self._open_when_free(activation)
        try:
            link = self._open_link(document, activation.key, self._identity.node_ip)
            addresses = await link.start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await document.close()
            raise
        return Open(activation.key, document, link, addresses)

    async def _open_when_free(self, activation: Activation) -> DocumentPort:
        """A file that is locked is waited for: its former holder has been killed and is going."""
        deadline = _now() + self._takeover_s
        while True:
            try:
                return await self._open_document(activation)
            except StorageUnavailable as error:
                code = getattr(error.__cause__, "sqlite_errorcode", None)
                if code != sqlite3.SQLITE_BUSY or _now() > deadline:
                    raise
            await anyio.sleep(LOCKED_POLL_S)

    async def _close(self) -> None:
        held = self._open
        assert held is not None
        self._go("drain")
        try:
            await self._quiet.wait()
            await held.link.stop()
            await held.document.close()
        except BaseException:
            log.exception("closing failed: %s", held.key.doc_id)
            self._end("failed", 1)
            raise
        self._open = None
        del held
        collected.give_back()
        self._go("closed")

    def _report(self) -> Report | None:
        held = self._open
        if held is None or self._state not in SERVING:
            return None
        try:
            document = held.document
            return Report(
                held.key,
                document.title,
                document.last_change_at,
                document.block_count,
                self._sessions(),
                document.commits,
                document.all_left,
            )
        except DocactorError:
            return None  # it is being loaded again after a failed commit

    def _is_busy(self) -> bool:
        waiting = self._open is not None and (self._sessions() > 0 or self._open.link.waiting)
        return self._in_flight > 0 or waiting or self._state in {"activating", "draining"}

    def _sole_gateway(self) -> str:
        """Where the document may be left to while it sleeps; empty: nowhere."""
        if self._open is None or self._in_flight or self._state != "active":
            return ""
        return self._open.link.sole_gateway

    def _still_s(self) -> float:
        """Seconds since anybody edited, came or called; a look of a waiting call is no call."""
        stirred_at = self._open.link.stirred_at if self._open is not None else 0.0
        return _now() - max(self._stirred_at, stirred_at)

    def _turns_of(self, principal: str) -> anyio.CapacityLimiter:
        turns = self._turns.get(principal)
        if turns is None:
            turns = self._turns[principal] = anyio.CapacityLimiter(PLACES_OF_ONE)
        return turns

    def _sessions(self) -> int:
        return self._open.link.session_count if self._open is not None else 0

    def _follow(self) -> None:
        """Notices what became of its node and its document, before anybody is told how it is.

        A document that was fenced or has failed refuses everything; were its slot still called
        active, the Directory would take a complaint about it for a false alarm.
        """
        if self._state in {"dead", "fenced"}:
            return
        document = self._open.document if self._open is not None else None
        if self._parent() != self._identity.parent:
            log.error("the node's raylet is gone: fenced")
            self._end("fence", 3)
        elif document is not None and document.failed is not None:
            log.error("the document failed: %s", document.failed)
            self._end("failed", 1)
        elif document is not None and self._state in SERVING:
            event: Event = "degrade" if document.degraded else "recover"
            if event in LIFE[self._state]:
                self._go(event)

    def _go(self, event: Event) -> None:
        self._state = after(self._state, event)

    def _end(self, event: Event, code: int) -> None:
        self._go(event)
        self._leave(code)


def _now() -> float:
    return anyio.current_time()
