"""Where people's carets stand: the blocks that had better not be taken from under them.

Editors tell each other of their carets as positions relative to an item of the Yjs document, by
its id. The binding has no way from an id to a block, so the question is asked of a copy: a
character is put where the caret is, and the copy tells in which block that was. A caret on a whole
block has no keystrokes under way, and does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Final

import msgspec
from pycrdt import Doc, XmlFragment

from shared.limits import MAX_CARETS, MAX_CLIENT_ID
from shared.wire.lib0 import var_uint

_AUTHORS: Final = 2**32  # of the copy's edits, which nobody ever sees: one for each
_BEHIND: Final = b"\x84"  # a text with the item to its left
_INSIDE: Final = b"\x04\x00"  # a text in the type with this id


class Id(msgspec.Struct, frozen=True):
    """Of an item of a Yjs document."""

    client: Annotated[int, msgspec.Meta(ge=0, le=MAX_CLIENT_ID)]
    clock: Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class Caret(msgspec.Struct, frozen=True):
    """A relative position of Yjs: beside an item, or in a type that has none."""

    item: Id | None = None
    type: Id | None = None


def carets_in(states: Iterable[bytes]) -> frozenset[Caret]:
    """The carets in awareness states (JSON): whatever looks like a relative position.

    y-prosemirror, and with it Tiptap and BlockNote, has two in `cursor`, other bindings elsewhere.
    """
    found: set[Caret] = set()
    for state in states:
        try:
            told = msgspec.json.decode(state)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(told, dict):
            inner = (value for value in told.values() if isinstance(value, dict))
            found.update(map(_caret, [*told.values(), *(v for one in inner for v in one.values())]))
    found.discard(Caret())
    return frozenset(sorted(found, key=repr)[:MAX_CARETS])


def _caret(value: Any) -> Caret:
    try:
        return msgspec.convert(value, Caret)
    except msgspec.ValidationError:
        return Caret()


def positions(state: bytes, root: str, carets: Collection[Caret]) -> frozenset[int]:
    """The blocks, by their place in the fragment `root`, in which carets stand.

    Makes a document of its own of `state`, so it may run in any thread.
    """
    doc: Doc[XmlFragment] = Doc()
    fragment = doc.get(root, type=XmlFragment)
    doc.apply_update(state)
    found: set[int] = set()

    def noted(events: Any) -> None:
        for event in events:
            found.update(event.path[:1])

    subscription = fragment.observe_deep(noted)
    edits = [
        kind + var_uint(at.client) + var_uint(at.clock) + b"\x01x"
        for caret in carets
        for kind, at in ((_BEHIND, caret.item), (_INSIDE, caret.type))
        if at is not None
    ]
    for number, edit in enumerate(edits):
        doc.apply_update(b"\x01\x01" + var_uint(_AUTHORS + number) + b"\0" + edit + b"\0")
    fragment.unobserve(subscription)
    return frozenset(found)
