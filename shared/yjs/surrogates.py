"""Edits that cut a character in half, and how their document stays one.

Yjs counts text in UTF-16 units, so an edit can point between the two halves of an emoji: older
editors compare texts unit by unit. Yjs then makes U+FFFD of both halves; yrs moves the edit behind
the character and goes wrong about all that follows, so that no two copies agree any more. Where
nothing is left of the text but its length, both cut alike. So a character that an update would cut
is deleted first, in a transaction of its own; unless the update deletes one of its halves, the
character is put back where it was, whole: everybody ends with the same text, and no half is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pycrdt import Doc, XmlFragment

from shared.stored import StoredUpdate
from shared.wire.lib0 import var_uint
from shared.yjs.update import Id, deletions, links, texts

_ASTRAL: Final = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")  # UTF-8 of two UTF-16 units
_TEXT_BESIDE: Final = b"\xc4"  # a text with the item to its left and the item to its right


class CutsItselfError(Exception):
    """An update cuts a character that it brings itself. No editor makes it: somebody merged those
    of one, whose copy has it otherwise.
    """


class Pairs:
    """Where in a document the characters of two units are: the ids of their first halves.

    Known when they are first needed: until then it is known at most that there are none.
    """

    def __init__(self, stored: Iterable[bytes]) -> None:
        """`stored`: updates that make up the document."""
        self._known: dict[int, dict[int, str]] | None = None
        if not any(_ASTRAL.search(update) for update in stored):
            self._known = {}

    def took(self, update: bytes) -> None:
        """The document emitted this update."""
        if self._known is None:
            return
        if _ASTRAL.search(update):
            for client, clock, text in texts(update):
                self._add(client, clock, text)
        if self._known:
            for client, start, end in deletions(update):
                self._forget(client, start, end)

    def cut_by(self, update: bytes, state: Callable[[], bytes]) -> dict[Id, str]:
        """Characters that an update from outside would cut, by their first half's id; `""` instead
        of one whose half it deletes.

        Args:
            update: Not applied yet, and without gaps.
            state: The document's.

        Raises:
            MalformedUpdateError: It is none.
            CutsItselfError: It cuts what it brings.
        """
        if _ASTRAL.search(update):
            _check_whole(update)
        if self._known == {}:
            return {}
        within, gone = links(update), _edges(update)
        if self._known is None:
            self._known = {}
            for client, clock, text in texts(state()):
                self._add(client, clock, text)
        cut = {one: text for one in within if (text := self._at(one))}
        return cut | {one: "" for one in gone if self._at(one)}

    def _at(self, first_half: Id) -> str:
        client, clock = first_half
        return (self._known or {}).get(client, {}).get(clock, "")

    def _add(self, client: int, clock: int, text: str) -> None:
        assert self._known is not None
        for character in text:
            if character > "\uffff":
                self._known.setdefault(client, {})[clock] = character
                clock += 1
            clock += 1

    def _forget(self, client: int, start: int, end: int) -> None:
        assert self._known is not None
        known = self._known.get(client, {})
        inside = range(start, end)
        for clock in [*inside] if len(inside) < len(known) else [c for c in known if c in inside]:
            known.pop(clock, None)
        if not known:
            self._known.pop(client, None)


def _edges(update: bytes) -> set[Id]:
    """The units right before each place where a deletion begins or ends."""
    ranges = deletions(update)
    return {(client, clock - 1) for client, *ends in ranges for clock in ends}


def _check_whole(update: bytes) -> None:
    brought = Pairs(())
    brought.took(update)
    if any(brought._at(one) for one in links(update) | _edges(update)):  # noqa: SLF001 our own
        raise CutsItselfError


def repairs(cut: Mapping[Id, str], author: int) -> tuple[bytes, ...]:
    """Updates that are to be applied one by one before the update that would cut."""
    kept = {one: text for one, text in cut.items() if text}
    return (without(cut), put_back(kept.items(), author)) if kept else (without(cut),)


def replay(doc: Doc[XmlFragment], log: Iterable[StoredUpdate]) -> None:
    """Applies updates in order. A repair ends its transaction: the text it deletes is gone only
    then, and what comes behind it would cut it.
    """
    rest, more = iter(log), True
    while more:
        more = False
        with doc.transaction():
            for update in rest:
                doc.apply_update(update.data)
                if update.via == "repair":
                    more = True
                    break


def without(first_halves: Iterable[Id]) -> bytes:
    """An update that deletes these characters."""
    by_client: dict[int, list[int]] = {}
    for client, clock in first_halves:
        by_client.setdefault(client, []).append(clock)
    parts = [b"\0", var_uint(len(by_client))]
    for client, clocks in by_client.items():
        parts += [var_uint(client), var_uint(len(clocks))]
        parts += [var_uint(clock) + var_uint(2) for clock in sorted(clocks)]
    return b"".join(parts)


def put_back(cut: Iterable[tuple[Id, str]], author: int) -> bytes:
    """An update in which the client `author`, new to the document, puts characters between the
    halves of those that were deleted.
    """
    made = []
    for (client, clock), character in cut:
        text = character.encode()
        left, right = var_uint(client) + var_uint(clock), var_uint(client) + var_uint(clock + 1)
        made.append(_TEXT_BESIDE + left + right + var_uint(len(text)) + text)
    head = var_uint(1) + var_uint(len(made)) + var_uint(author) + var_uint(0)
    return b"".join([head, *made, b"\0"])
