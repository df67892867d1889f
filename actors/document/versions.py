"""The versions of one document: made, listed, read, compared, and put back."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
from msgspec import UNSET

from actors.document.history import History
from actors.document.keeper import Clock, Keeper
from actors.document.planning import Prepared
from shared.document import writing
from shared.document.live_document import LiveDocument
from shared.errors import BaseExpired, InvalidArgument, VersionNotFound
from shared.history.comparing import compare, sections_in
from shared.history.reading import shown
from shared.history.restoring import plan_restore
from shared.history.states import PastState, rebuild
from shared.history.versions import parse_version, ref_of, rewrites_much, version_name
from shared.limits import MAX_PLANS
from shared.patch.refusals import check_mode
from shared.patch.types import Plan
from shared.protocol import Caller, WriteResult
from shared.protocol_history import (
    ComparedState,
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    Point,
    ReadVersionRequest,
    ReadVersionResult,
    RestoreRequest,
    RestoreResult,
    SaveVersionRequest,
    Version,
)
from shared.stored import Checkpoint, StoredState, StoredVersion
from shared.times import instant, iso


class Versions:
    """See the module. One document's, whatever becomes of its keeper's store."""

    def __init__(self, keeper: Keeper, clock: Clock, history: History) -> None:
        self._keeper = keeper
        self._clock = clock
        self._history = history
        self._naming = asyncio.Lock()

    # --- reading ---------------------------------------------------------------------------------

    async def listed(self, request: ListVersionsRequest) -> ListVersionsResult:
        """Raises InvalidArgument for a `before` that is no version's number."""
        live = await self._settled()
        before = None if request.before is None else parse_version(request.before)
        if isinstance(before, str):
            raise InvalidArgument("before: a version such as v12.", field="before")
        wanted = request.limit + 1
        found = await self._keeper.ask_store(lambda store: store.versions(before, wanted))
        page = found[: request.limit]
        more = len(found) > len(page)
        return ListVersionsResult(
            tuple(_told(live, version) for version in page), ref_of(page[-1]) if more else UNSET
        )

    async def read(self, request: ReadVersionRequest) -> ReadVersionResult:
        """Raises VersionNotFound."""
        version = await self._version(request.version)
        state = await self._state_of(version)
        text, total, truncated = shown(state.blocks, request.max_chars)
        return ReadVersionResult(
            ref_of(version),
            iso(state.at),
            text,
            total,
            truncated,
            version.name or UNSET,
            "Ask again with a larger max_chars." if truncated else UNSET,
        )

    async def compared(self, request: CompareRequest) -> CompareResult:
        """Raises VersionNotFound, InvalidCursor, BaseExpired, InvalidArgument, StaleAnchor."""
        since, version = await self._state("from", request.since)
        until, other = await self._state("to", request.until)
        sides = since.blocks, until.blocks
        if request.section_id is not None:
            sections = sections_in(*sides, request.section_id)
            sides = tuple(sections[0]), tuple(sections[1])
        found = await asyncio.to_thread(compare, *sides, request.max_chars)
        return CompareResult(
            since=ComparedState(iso(since.at), ref_of(version) if version else UNSET),
            until=ComparedState(iso(until.at), ref_of(other) if other else UNSET),
            counts=found.counts,
            blocks=found.blocks,
            truncated=found.cut,
            next_step="For the rest ask with section_id, or a larger max_chars."
            if found.cut
            else UNSET,
        )

    # --- making ----------------------------------------------------------------------------------

    async def saved(self, caller: Caller, request: SaveVersionRequest) -> Version:
        """Names a version, or makes one of now; a call sent again changes nothing.

        Raises VersionNotFound, InvalidArgument.
        """
        name = version_name(request.name)
        async with self._naming:  # two calls must not give one name
            old = await self._version(request.version) if request.version is not None else None
            there = await self._keeper.ask_store(lambda store: store.version(name))
            if there is not None:
                live = await self._settled()
                same = there.number == old.number if old else there.seq == live.update_seq
                if not same:
                    raise InvalidArgument(
                        f"name: there is a version {name!r} already.", field="name"
                    )
                return _told(live, there)
            if old is None:
                made = self._make_named(caller, name)
            else:
                made = msgspec.structs.replace(old, name=name, principal=caller.principal)
                self._keeper.add_version(made)
            await self._keeper.committer.settled()
        return _told(self._keeper.live, made)

    def _make_named(self, caller: Caller, name: str) -> StoredVersion:
        live = self._keeper.writable
        live.names[caller.principal] = caller.name
        made = self._keeper.versions.make("named", caller.principal, name)
        self._keeper.add_version(made)
        self._keeper.committer.add_name(caller.principal, caller.name)
        return made

    def before_write(self, prepared: Prepared, plan: Plan) -> None:
        """Keeps what is there before a restore, and before an agent's write to much of it."""
        versions, caller = self._keeper.versions, prepared.draft.caller
        if prepared.restores is not None:
            if not versions.newest_is_now:
                self._keeper.add_version(versions.make("before_restore", caller.principal))
        elif caller.agent and versions.changed and rewrites_much(plan, len(prepared.live.index)):
            self._keeper.add_version(versions.make("before_write", caller.principal))

    def after_write(self, prepared: Prepared, result: WriteResult) -> WriteResult:
        """Of a restore: a version on top, and in its answer how to take it back."""
        versions, restored = self._keeper.versions, prepared.restores
        if restored is None:
            return result
        before = versions.number
        made = versions.make("restored", prepared.draft.caller.principal, source=restored.number)
        self._keeper.add_version(made)
        told = msgspec.structs.asdict(result)
        return RestoreResult(**told, version=ref_of(made), undo=f"v{before}")

    # --- putting back ----------------------------------------------------------------------------

    async def prepare(self, caller: Caller, request: RestoreRequest) -> Prepared:
        """The plan that puts a version back. When this returns, the document is the plan's: carry
        it out before you await anything. Raises VersionNotFound, InvalidCursor, StorageUnavailable.
        """
        check_mode(request.options)
        await self._settled()
        version = await self._version(request.version)
        wanted = (await self._state_of(version, exact=True)).blocks
        tries = 0
        while True:
            await self._keeper.when_ready()
            live = self._keeper.writable
            seq, present = live.update_seq, partial(rebuild, _now(live), exact=True)
            if tries < MAX_PLANS:
                plan = await asyncio.to_thread(lambda: plan_restore(present().blocks, wanted))  # noqa: B023
            else:  # somebody types on and on
                plan = plan_restore(present().blocks, wanted)
            fits = self._keeper.is_live(live) and live.update_seq == seq
            if fits:
                return _prepared(live, caller, request, plan, version)
            tries += 1

    # --- inside ----------------------------------------------------------------------------------

    async def _settled(self) -> LiveDocument:
        """The document, with the version that is due by now on disk."""
        live = await self._keeper.when_ready()
        due = None if self._keeper.degraded else self._keeper.versions.due(self._clock())
        if due is not None:
            self._keeper.add_version(due)
        await self._keeper.committer.settled()
        return live

    async def _version(self, text: str) -> StoredVersion:
        ref = parse_version(text)
        found = await self._keeper.ask_store(lambda store: store.version(ref))
        if found is None:
            raise VersionNotFound(f"version: no version {str(text)[:64]!r} of this document.")
        return found

    async def _state_of(self, version: StoredVersion, *, exact: bool = False) -> PastState:
        state = await self._history.state_after(version.seq, exact=exact)
        if state is None:
            raise VersionNotFound(f"version: what {ref_of(version)} held is no longer kept.")
        return state

    async def _state(
        self, field: str, point: Point | None
    ) -> tuple[PastState, StoredVersion | None]:
        """The state a point names, and the version that is, when it is one."""
        live = await self._settled()
        at: int | None = None
        state: PastState | None
        if isinstance(point, str) and point.strip().isdigit():
            point = int(point)
        if isinstance(point, int):
            cursor = live.cursors.decode(point, live.log.head)
            state = await self._history.state_at_cursor(cursor.seq)
        else:
            at = max(live.at, self._clock()) if point is None else instant(point, field)
            if at is None:
                assert point is not None
                version = await self._version(point)
                return await self._state_of(version), version
            state = await self._history.state_at(at)
        if state is None:
            raise BaseExpired(f"{field}: what the document said then is no longer kept.")
        return state, None


def _now(live: LiveDocument) -> StoredState:
    state = Checkpoint(live.update_seq, live.at, live.doc.get_update(), live.index.save())
    return StoredState(state, ())


def _prepared(
    live: LiveDocument,
    caller: Caller,
    request: RestoreRequest,
    plan: Plan,
    version: StoredVersion,
) -> Prepared:
    base = writing.base_of(live, request.options)
    moment = writing.moment(live, caller)
    draft = writing.Draft(caller, request.options, base, moment, lambda: plan)
    return Prepared(live, draft, draft.plan, version)


def _told(live: LiveDocument, version: StoredVersion) -> Version:
    by_itself = version.kind in ("quiet", "activity") and version.name is None
    name = live.names.get(version.principal, version.principal)
    return Version(
        ref_of(version),
        iso(version.at),
        version.kind,
        version.name or UNSET,
        UNSET if by_itself else name,
        UNSET if version.source is None else f"v{version.source}",
    )
