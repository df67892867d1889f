"""From a request to a plan that fits the document as it is, without holding up its editors.

What was sent is made canonical first, in a thread when it is long. The plan follows on the loop,
but for very large patches and for quotes in large documents: those are planned in a thread, for
the document of that instant, and again when it has changed meanwhile; after some tries on the
loop all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from actors.document.keeper import Clock, Keeper
from shared.document import writing
from shared.document.live_document import ROOT, LiveDocument
from shared.document.past import blocks_at
from shared.limits import MAX_PLANS, RENDER_INLINE_CHARS
from shared.patch.types import Move, NewBlock, Plan
from shared.protocol import Caller
from shared.protocol_suggestions import AnyWrite
from shared.stored import StoredVersion
from shared.wire.y_protocol import EMPTY_STATE_VECTOR
from shared.yjs.carets import Caret, carets_in, positions

T = TypeVar("T")


class Prepared(msgspec.Struct, frozen=True):
    """A draft of the document as it is, and its plan: made by calling `plan`, or made already.

    `plan` raises what the verb's planner raises. `restores`: the version that is put back.
    """

    live: LiveDocument
    draft: writing.Draft
    plan: Callable[[], Plan]
    restores: StoredVersion | None = None


class Planner:
    """Prepares the writes of one document.

    Attributes:
        presence: Who is present now: principals and their awareness states.
    """

    def __init__(self, keeper: Keeper, clock: Clock) -> None:
        self._keeper = keeper
        self._clock = clock
        self.presence: Callable[[], Iterable[tuple[str, bytes]]] = tuple

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Runs `work` beside the loop."""
        return await asyncio.to_thread(work)

    async def prepare(self, caller: Caller, request: AnyWrite) -> Prepared:
        """When this returns, the document is the draft's: carry it out before you await anything.

        Raises as `writing.draft`, and why the document cannot be written.
        """
        new = await self._rendered(caller, request)
        past: writing.Past = None
        held: frozenset[str] | None = None  # not known: it matters to moves alone
        ahead: Prepared | None = None
        tries = 0
        while True:
            await self._keeper.when_rendered()
            live = self._keeper.writable
            try:
                draft = writing.draft(
                    live, caller, request, new, self._clock(), past, held or frozenset()
                )
            except writing.NeedsPastError as needs:
                past = await self._past(needs.args[0])
                continue
            fits = ahead is not None and ahead.live is live and ahead.draft.moment == draft.moment
            if ahead is None or not fits:
                if draft.large and tries < MAX_PLANS:
                    tries += 1
                    ahead = Prepared(live, draft, await self._planned(draft))
                    continue
                ahead = Prepared(live, draft, draft.plan)
            if held is not None or not (carets := self._carets(caller)):
                return ahead
            plan = ahead.plan()
            if not any(isinstance(op, Move) for op in plan.ops):
                return Prepared(live, draft, partial(_made, plan))
            held, ahead = await self._held(live, carets), None

    def _carets(self, caller: Caller) -> frozenset[Caret]:
        """Those of others."""
        return carets_in(state for who, state in self.presence() if who != caller.principal)

    async def _held(self, live: LiveDocument, carets: frozenset[Caret]) -> frozenset[str]:
        """The blocks in which these carets stand."""
        ids, state = live.index.ids, live.diff(EMPTY_STATE_VECTOR)
        places = await asyncio.to_thread(positions, state, ROOT, carets)
        return frozenset(ids[place] for place in places if place < len(ids))

    async def _rendered(self, caller: Caller, request: AnyWrite) -> Sequence[NewBlock]:
        live = await self._keeper.when_ready()
        render = writing.rendering(live, caller, request, self._clock())
        if render.chars > RENDER_INLINE_CHARS:
            return await self.in_thread(render.make)
        return render.make()

    async def _planned(self, draft: writing.Draft) -> Callable[[], Plan]:
        """The outcome of planning in a thread, refusals included."""
        planning = asyncio.ensure_future(self.in_thread(draft.plan))
        await asyncio.wait([planning])
        planning.exception()  # it is raised when the plan is asked for, should it still fit
        return planning.result

    async def _past(self, change_seq: int) -> writing.Past:
        """The blocks when the change feed's head was there; (): no longer kept."""
        state = await self._keeper.ask_store(lambda store: store.state_at(change_seq))
        if state is None:
            return ()
        return await asyncio.to_thread(blocks_at, state.checkpoint, state.updates) or ()


def _made(plan: Plan) -> Plan:
    return plan
