"""What each principal was shown of a document, so that nobody deletes what they never saw.

An answer of `read_document` starts a *view*: ids and digests of the blocks whose whole text was in
it. `read_changes` and the principal's own writes carry it on, as long as it is certain whose it is:
several conversations may share one principal and must not be taken for each other. Digests are
kept in the document's file; the texts themselves, for merges, only in memory (`shared.views.told`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from shared.errors import BaseExpired
from shared.feed.cursor import Cursor
from shared.limits import MAX_UNSURE, MAX_VIEW_ENTRIES, MAX_VIEWS, VIEW_TTL_MS
from shared.patch.types import Seen, digest_of
from shared.views.conversation import NOWHERE, Shown, Told, View, joined, known_in, seen_in
from shared.views.told import OlderTexts, ToldTexts


class _Principal(msgspec.Struct, array_like=True):
    """What is kept of one principal.

    Attributes:
        unsure: Cursors somebody holds of whom it is not known what they were shown; as a base they
            say no more than none.
    """

    views: list[View] = []
    older: OlderTexts = msgspec.field(default_factory=OlderTexts)
    unsure: list[Cursor] = []

    def doubt(self, cursor: Cursor) -> None:
        if cursor not in self.unsure:
            self.unsure.append(cursor)
            del self.unsure[:-MAX_UNSURE]


class Views:
    """The views of one document. `now` is in milliseconds; `order` are the ids now, in order.

    Attributes:
        urgent: A view holds what cannot be told from its cursor, and is not saved yet: after a
            crash its reader would be judged by the document of that moment.
    """

    def __init__(self) -> None:
        self.urgent = False
        self._principals: dict[str, _Principal] = {}
        self._texts = ToldTexts()
        self._unsaved: set[str] = set()
        self._stamps: Counter[str] = Counter()

    @classmethod
    def load(cls, saved: Mapping[str, bytes]) -> Views:
        """What `save` gave, gathered by principal."""
        views = cls()
        for principal, data in saved.items():
            if data:
                views._principals[principal] = msgspec.msgpack.decode(data, type=_Principal)
        return views

    def save(self) -> dict[str, bytes]:
        """What changed since the last call, by principal. `b""`: nothing is left of it."""
        self.urgent = False
        unsaved, self._unsaved = self._unsaved, set()
        return {
            principal: msgspec.msgpack.encode(self._principals[principal])
            if principal in self._principals
            else b""
            for principal in unsaved
        }

    # --- what was shown --------------------------------------------------------------------------

    def on_read(
        self, principal: str, cursor: Cursor, shown: Iterable[tuple[str, str]], now: int
    ) -> None:
        """`read_document` answered with these blocks (ids and texts, in order) and this cursor.

        Outlines and hits of `find` show nothing. `cursor.part` says that the answer was not the
        whole document.
        """
        view = View(cursor, cursor, now, {}, {})
        for block_id, text in shown:
            view.show(block_id, text)
            self._texts.remember(block_id, text)
        self._add(principal, view, now)

    def on_changes(
        self,
        principal: str,
        since: Cursor,
        cursor: Cursor,
        *,
        shown: Sequence[Shown],
        removed: Collection[str],
        order: Sequence[str],
        now: int,
    ) -> None:
        """`read_changes` answered a reader at `since`, who is at `cursor` now.

        When several views stand at `since` and differ, it is not known whose turn it was: what all
        of them showed goes on as a view of its own, and they stay.
        """
        fitting = self._fitting(principal, since, now)
        if since == cursor and not shown and not removed:
            self._keep_alive(principal, fitting, now)
            return
        unsure = self._is_unsure(principal, since)
        if not fitting or unsure:
            if unsure or self._could_mislead(principal, cursor, now):
                self._doubt(principal, cursor)
            return
        view = fitting[0]
        if not all(other.is_as(view) for other in fitting[1:]):
            view = self._common_view(principal, fitting, now)
        view.cursor = view.oldest = cursor
        self._carry(principal, view, Told(shown, removed, order), now)

    def on_write(
        self,
        principal: str,
        base: Cursor | None,
        cursor: Cursor | None,
        *,
        shown: Sequence[Shown],
        removed: Collection[str],
        order: Sequence[str],
        now: int,
    ) -> None:
        """A write was committed: `shown` are the blocks it wrote, as they are stored.

        It carries a view on only when it is certain whose it is. `base` and `cursor` are those of
        the call and of its answer; when others' changes lie between, they are the same place. A
        call that wrote nothing (a dry run) leaves everything as it was.
        """
        if base is not None and cursor == base and not shown and not removed:
            self._keep_alive(principal, self._fitting(principal, base, now), now)
            return
        older = self._principal(principal).older
        for block in shown:
            if block.knew is None:
                older.add(block.block_id, digest_of(block.text), now)
            self._texts.remember(block.block_id, block.text)
        self._changed(principal)
        unsure = self._is_unsure(principal, base)
        views = self._live(principal, now)
        if base is not None and not unsure:
            views = self._fitting(principal, base, now)
        if cursor is None:
            return
        certain = len(views) == 1 and views[0].cursor != NOWHERE and not unsure
        if certain or (views and base is not None and not unsure):
            view = views[0] if certain else self._common_view(principal, views, now)
            self.urgent |= cursor in (base, view.cursor)
            view.cursor = view.oldest = cursor
            self._carry(principal, view, Told(shown, removed, order), now)
        elif self._could_mislead(principal, cursor, now):
            self._doubt(principal, cursor)

    def remember(self, blocks: Iterable[tuple[str, str]]) -> None:
        """Texts that merges may need, shown to whomever."""
        for block_id, text in blocks:
            self._texts.remember(block_id, text)

    # --- what follows from it ---------------------------------------------------------------------

    def choose(self, principal: str, base: Cursor | None, now: int) -> Seen | None:
        """What the author of a write has seen.

        None when `base` is the cursor of a whole answer whose view is gone: then it is the document
        of that moment (`Seen.of_state`), if it can still be rebuilt.

        Raises:
            BaseExpired: `base` is the cursor of a partial answer whose view is gone.
        """
        live = self._live(principal, now)
        unsure = self._is_unsure(principal, base)
        named = base is not None and not unsure
        views = self._fitting(principal, base, now) if base is not None and named else live
        if base is not None and not views:
            if base.cut or base.part or unsure:
                raise BaseExpired(
                    "base: what was shown with this cursor is no longer known, and it was not the "
                    "whole document."
                )
            return None
        older = self._principals[principal].older.digests() if views else {}
        return seen_in(views, known_in(live), older, named, self._texts.find)

    def known(self, principal: str, now: int) -> Mapping[str, tuple[str, ...]]:
        """Block ids and digests any live view of the principal shows."""
        return known_in(self._live(principal, now))

    def text_of(self, block_id: str, digest: str) -> str | None:
        """A text told lately, by its digest or the beginning of it."""
        return self._texts.find(block_id, digest)

    def oldest_cursor(self, principal: str, now: int) -> Cursor | None:
        """The oldest cursor to which a live view of the principal has been carried."""
        cursors = [view.oldest for view in self._live(principal, now)]
        return min(cursors, key=lambda cursor: cursor.seq, default=None)

    def stamp(self, principal: str) -> int:
        """A number that is another one whenever what the principal was shown has changed."""
        return self._stamps[principal]

    # --- inside ----------------------------------------------------------------------------------

    def _changed(self, principal: str) -> None:
        self._unsaved.add(principal)
        self._stamps[principal] += 1

    def _principal(self, principal: str) -> _Principal:
        return self._principals.setdefault(principal, _Principal())

    def _live(self, principal: str, now: int) -> list[View]:
        """The views not too old, the one used last first."""
        entry = self._principals.get(principal)
        if entry is None:
            return []
        entry.views = [view for view in entry.views if now - view.used_at < VIEW_TTL_MS]
        entry.views.sort(key=lambda view: -view.used_at)
        entry.older.expire(now)
        if not entry.views and not entry.older:
            del self._principals[principal]
            self._changed(principal)
        return entry.views

    def _fitting(self, principal: str, cursor: Cursor, now: int) -> list[View]:
        return [view for view in self._live(principal, now) if view.cursor == cursor]

    def _keep_alive(self, principal: str, views: Sequence[View], now: int) -> None:
        """Somebody waits at the place of these views. Noted seldom: it has to be saved."""
        for view in views:
            if now - view.used_at > VIEW_TTL_MS // 24:
                view.used_at = now
                self._changed(principal)

    def _could_mislead(self, principal: str, cursor: Cursor, now: int) -> bool:
        """Whether a cursor handed out without a view might pass for that of another's view."""
        return cursor.part or cursor.cut or bool(self._live(principal, now))

    def _is_unsure(self, principal: str, cursor: Cursor | None) -> bool:
        entry = self._principals.get(principal)
        return entry is not None and cursor in entry.unsure

    def _doubt(self, principal: str, cursor: Cursor) -> None:
        self._principal(principal).doubt(cursor)
        self._changed(principal)

    def _common_view(self, principal: str, views: Sequence[View], now: int) -> View:
        """A view of its own for whoever holds one of these: what all of them showed."""
        view = joined(views)
        self._add(principal, view, now)
        return view

    def _add(self, principal: str, view: View, now: int) -> None:
        """A ninth view joins the two used least: what only one of them showed is forgotten."""
        views = [view, *self._live(principal, now)]
        self._principal(principal).views = views
        if len(views) > MAX_VIEWS:
            lost = views[-2:]
            views[-2:] = [joined(lost)]
            for gone in (view for view in lost if view.cursor != NOWHERE):
                cursor = gone.cursor
                # Whole answers with one cursor are one state, but for what their readers wrote.
                there = [view for view in views if view.cursor == cursor]
                others = not all(view.is_as(gone) for view in there)
                if others or (not there and (cursor.part or cursor.cut)):
                    self._doubt(principal, cursor)
        self._changed(principal)
        self._bound()

    def _carry(self, principal: str, view: View, told: Told, now: int) -> None:
        older = self._principal(principal).older
        for block_id, digest in view.carry(told):
            older.add(block_id, digest, now)
        for block in told.shown:
            self._texts.remember(block.block_id, block.text)
        view.used_at = now
        self._changed(principal)

    def _bound(self) -> None:
        """Past the limit the principal heard of least lately loses all views, not just some: whose
        conversation is forgotten must not be judged by another's.
        """

        def size(entry: _Principal) -> int:
            return sum(len(view.blocks) for view in entry.views)

        total = sum(size(entry) for entry in self._principals.values())
        by_use = sorted(
            self._principals,
            key=lambda name: max((v.used_at for v in self._principals[name].views), default=0),
        )
        for name in by_use[:-1]:
            if total <= MAX_VIEW_ENTRIES:
                return
            total -= size(self._principals.pop(name))
            self._changed(name)


def cursor_after_write(
    base: Cursor | None, oldest: Cursor | None, before: int, after: int
) -> tuple[Cursor | None, bool]:
    """The cursor a write answers with, and whether its caller is behind.

    It is the head only when nothing but this write happened since the place its caller follows
    from: no write makes a reader skip a change.

    Args:
        base: The cursor the caller named.
        oldest: `Views.oldest_cursor`, for callers who named none.
        before: The change sequence before this write.
        after: The same after it.
    """
    place = base if base is not None else oldest
    if place is None:
        return None, False
    if place.seq == before:
        return Cursor(after, cut=place.cut, part=place.part), False
    return place, True
