"""What changed in one document since somebody last looked. Nothing is written, nothing is noted."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

import msgspec

from actors.document.history import History
from actors.document.keeper import SERVER, Clock, Keeper
from shared.access import ANONYMOUS, person_of
from shared.document.live_document import LiveDocument
from shared.errors import BaseExpired, DocumentCorrupt, InvalidArgument, VersionNotFound
from shared.history.changes import changes
from shared.history.people import Editor
from shared.history.states import PastBlock, PastState
from shared.history.versions import parse_version
from shared.history.window import Window, change_window
from shared.limits import RETENTION_DAYS
from shared.protocol import Caller
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.tree import Block

log = logging.getLogger(__name__)

_PERSON: Final = "person:"
_AGENT: Final = "agent:"
_NOTHING: Final = PastState(0, 0, None, ())


class WhatChanged:
    """Of one document, whatever becomes of its keeper's store."""

    def __init__(self, keeper: Keeper, clock: Clock, history: History) -> None:
        self._keeper = keeper
        self._clock = clock
        self._history = history

    async def found(self, caller: Caller, request: GetChangesRequest) -> FoundChanges:
        """What is between the start of the caller's window and now.

        Raises:
            InvalidArgument: More than one start was given, or none and the caller never left.
            VersionNotFound, InvalidCursor: There is no such start.
            BaseExpired: What the document said then is no longer kept.
            DocumentCorrupt, StorageUnavailable
        """
        await self._keeper.when_ready()
        await self._keeper.committer.settled()  # what the store is asked for has all of it
        now = self._clock()
        window, exact = await self._window(caller, request, now)
        before = exact or await self._state_at(window.since)
        done = await self._keeper.ask_store(lambda store: store.window(before.at))
        live = await self._keeper.when_rendered()
        head, head_at = blocks_of(live), _head_at(live)
        # Now, not behind the comparing: should the batch fail meanwhile, nobody would notice.
        await self._keeper.committer.settled()
        told = await asyncio.to_thread(
            partial(changes, before.blocks, head, by_block=request.detail == "blocks")
        )
        counts = msgspec.structs.replace(told.counts, versions=done.versions)
        return FoundChanges(
            since=window.since,
            from_last_left=window.from_last_left,
            compared_at=before.at if before.seq else None,
            head_at=head_at,
            changes=msgspec.structs.replace(told, counts=counts),
            editors=tuple(
                self._editor(live, principal)
                for principal in done.principals
                if principal != SERVER.principal
            ),
        )

    async def _window(
        self, caller: Caller, request: GetChangesRequest, now: int
    ) -> tuple[Window, PastState | None]:
        """The window, and its state when it begins at one that was named."""
        named = (request.since, request.since_version, request.since_cursor)
        if sum(one is not None for one in named) > 1:
            raise InvalidArgument("since: give one of since, since_version and since_cursor.")
        state = await self._named(request)
        if state is not None:
            window = change_window(state.at, None, now, RETENTION_DAYS)
            return window, state if window.since == state.at else None
        person = person_of(caller)
        last_left = None if person is None else self._keeper.readers.last_left(person)
        return change_window(request.since, last_left, now, RETENTION_DAYS), None

    async def _named(self, request: GetChangesRequest) -> PastState | None:
        """The state that a version or a cursor is of; None: neither was given."""
        if request.since_version is not None:
            ref = parse_version(request.since_version)
            version = await self._keeper.ask_store(lambda store: store.version(ref))
            if version is None:
                raise VersionNotFound(f"since_version: no version {request.since_version[:64]!r}.")
            return _kept(await self._history.state_after(version.seq))
        if request.since_cursor is not None:
            live = await self._keeper.when_ready()
            cursor = live.cursors.decode(request.since_cursor, live.log.head)
            return _kept(await self._history.state_at_cursor(cursor.seq))
        return None

    async def _state_at(self, at: int) -> PastState:
        if not self._keeper.live.update_seq:
            return _NOTHING
        try:
            return _kept(await self._history.state_at(at))
        except DocumentCorrupt:
            log.exception("the state of %d cannot be read", at)
            raise

    def _editor(self, live: LiveDocument, principal: str) -> Editor:
        name = live.names.get(principal, "")
        person = self._keeper.person_behind(principal)
        if person is None and principal.startswith(_AGENT):
            # From before the file knew whose agents they are: the id says it.
            person = _PERSON + principal.removeprefix(_AGENT).partition(":")[0]
        if person is None or person == principal:
            if principal == ANONYMOUS:
                return Editor(principal)
            return Editor(principal, principal, name)
        return Editor(principal, person, live.names.get(person) or _of_id(person), name)


def blocks_of(live: LiveDocument) -> tuple[PastBlock, ...]:
    """The document as it is now, as its past states are."""
    index, present = live.index, live.present()
    with live.doc.transaction():  # one for all: each block would open its own
        return tuple(
            PastBlock(
                block_id,
                Block(index.node(block_id), index.hints(block_id), shown.text),
                shown.text,
            )
            for block_id, shown in zip(index.ids, present, strict=True)
        )


def _head_at(live: LiveDocument) -> int | None:
    """When text or structure last changed; None: nothing was ever written."""
    last = next(live.log.rows_since(0), None)
    if last is not None:
        return last.at
    return live.at if live.update_seq else None  # as it was made: seeding makes no rows


def _kept(state: PastState | None) -> PastState:
    if state is None:
        raise BaseExpired(
            "No saved version covers that time. Try a later since.",
            next_step="Call again with a later since.",
        )
    return state


def _of_id(person: str) -> str:
    """What a person who never edited here is called; an issuer's ids are no names."""
    name = person.removeprefix(_PERSON)
    return "" if "#" in name or name == person else name
