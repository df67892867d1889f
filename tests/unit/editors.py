"""Editors for tests: Yjs clients of a document, typing as people do."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from pycrdt import Doc, UndoManager, XmlElement, XmlFragment, XmlText

from actors.document.document import Document
from shared.protocol import Caller

WORDS = [
    "river",
    "stone",
    "日本",
    "📊",
    "cloud",
    "éclair",
    "quiet",
    "*",
    "_",
    "#",
    "table",
    "[x]",
    "north",
    "`code`",
    "&amp;",
    "sea",
]


class Editor:
    """One client with its own copy. What it types leaves at once; `pull` brings what others did.

    Args:
        keeps_ids: Whether its schema knows the attribute `id`; else an Enter strips it everywhere.
    """

    def __init__(self, document: Document, caller: Caller, *, keeps_ids: bool) -> None:
        self.document = document
        self.caller = caller
        self.keeps_ids = keeps_ids
        self.doc: Doc[XmlFragment] = Doc()
        self.root = self.doc.get("default", type=XmlFragment)
        self.pull()
        self.undo = UndoManager(scopes=[self.root], capture_timeout_millis=0)
        self._outgoing: list[bytes] = []
        self._subscription = self.doc.observe(lambda event: self._outgoing.append(event.update))

    def pull(self) -> None:
        """What the document has and this copy lacks, as a step 2 brings it."""
        missing = self.document.diff(self.doc.get_state())
        outgoing = getattr(self, "_outgoing", [])
        before = len(outgoing)
        self.doc.apply_update(missing)
        del outgoing[before:]

    def push(self) -> None:
        """What was typed since the last push, update by update."""
        for update in self._outgoing:
            applied = self.document.apply(update, self.caller)
            assert applied.verdict in ("applied", "unchanged"), applied
        self._outgoing.clear()

    def hand_over(self) -> None:
        """The same over a wire: when the server lacks what an update builds on, it asks for all."""
        waits = False
        for update in self._outgoing:
            verdict = self.document.apply(update, self.caller).verdict
            assert verdict != "refused"
            waits = waits or verdict in ("gap", "leftover")
        self._outgoing.clear()
        if waits:
            self.answer()

    def answer(self) -> None:
        """All that the server lacks, as a client says when it connects; that may still wait."""
        applied = self.document.apply(
            self.doc.get_update(self.document.state_vector()), self.caller
        )
        assert applied.verdict in ("applied", "unchanged", "leftover"), applied

    def take(self, other: Editor) -> None:
        """What another client has, straight from it: the server may not have it yet."""
        before = len(self._outgoing)
        self.doc.apply_update(other.doc.get_update(self.doc.get_state()))
        del self._outgoing[before:]

    def act(self, rng: random.Random) -> str:
        """One act of a person, at random; returns what it was."""
        blocks = len(self.root.children)
        acts = ["insert"] if not blocks else list(_ACTS)
        name = rng.choice(acts)
        if name in ("undo", "redo"):
            _ACTS[name](self, rng)  # the undo manager opens a transaction of its own
            return name
        more = rng.choices([act for act in acts if act not in ("undo", "redo")], k=2)
        names = [name, *more[: rng.choice([0, 0, 0, 1, 2])]]
        with self.doc.transaction():
            for one in names:
                if len(self.root.children):
                    _ACTS[one](self, rng)
                else:
                    self.insert(rng)
        return ", ".join(names)

    def take_back(self) -> None:
        self.undo.undo()

    def do_again(self) -> None:
        self.undo.redo()

    # --- what people do ---

    def insert(self, rng: random.Random) -> None:
        at = rng.randrange(len(self.root.children) + 1)
        self.root.children.insert(at, new_block(rng))

    def type(self, rng: random.Random) -> None:
        text = self._some_text(rng)
        if text is not None:
            plain = _plain(text)
            at = len(plain[: rng.randrange(len(plain) + 1)].encode())
            text.insert(at, rng.choice(WORDS) + rng.choice(["", " "]))

    def erase(self, rng: random.Random) -> None:
        text = self._some_text(rng)
        if text is not None and str(text):
            plain = _plain(text)
            start = rng.randrange(len(plain) + 1)
            end = min(len(plain), start + rng.randrange(1, 6))
            first = len(plain[:start].encode())
            if end > start:
                del text[first : first + len(plain[start:end].encode())]

    def delete(self, rng: random.Random) -> None:
        if len(self.root.children) > 1:
            del self.root.children[rng.randrange(len(self.root.children))]

    def split(self, rng: random.Random) -> None:
        """Enter in a paragraph: the second half goes to a new element that copies the id."""
        at = rng.randrange(len(self.root.children))
        block = self.root.children[at]
        text = _only_text(block)
        if text is None or not isinstance(block, XmlElement):
            return
        plain = _plain(text)
        cut = rng.randrange(len(plain) + 1)
        first = len(plain[:cut].encode())
        rest = plain[cut:]
        if rest:
            del text[first : first + len(rest.encode())]
        attributes = _attributes(block) if self.keeps_ids else {}
        self.root.children.insert(at + 1, XmlElement(block.tag, attributes, [XmlText(rest)]))
        if not self.keeps_ids:
            self._strip()

    def join(self, rng: random.Random) -> None:
        """Backspace at a start: the text goes to the block before."""
        if len(self.root.children) < 2:
            return
        at = rng.randrange(1, len(self.root.children))
        first, second = _only_text(self.root.children[at - 1]), _only_text(self.root.children[at])
        if first is None or second is None:
            return
        first.insert(len(_plain(first).encode()), _plain(second))
        del self.root.children[at]

    def move(self, rng: random.Random) -> None:
        """Cut and paste: a new element with the same words, and the id where it is known."""
        blocks = len(self.root.children)
        if blocks < 2:
            return
        at = rng.randrange(blocks)
        block = self.root.children[at]
        text = _only_text(block)
        if text is None or not isinstance(block, XmlElement):
            return
        attributes = _attributes(block)
        if not self.keeps_ids:
            attributes.pop("id", None)
        copy = XmlElement(block.tag, attributes, [XmlText(_plain(text))])
        del self.root.children[at]
        self.root.children.insert(rng.randrange(blocks), copy)

    def slide(self, rng: random.Random) -> None:
        """Delete a block the way y-prosemirror may: later words move up, the last element goes."""
        blocks = [_only_text(block) for block in self.root.children]
        if len(blocks) < 3 or None in blocks:
            return
        at = rng.randrange(len(blocks) - 1)
        words = [_plain(text) for text in blocks if text is not None]
        for place in range(at, len(blocks) - 1):
            text = blocks[place]
            assert text is not None
            if words[place]:
                del text[0 : len(words[place].encode())]
            text.insert(0, words[place + 1])
        del self.root.children[len(blocks) - 1]

    def retype(self, rng: random.Random) -> None:
        """Paragraph to heading and back: another element in the same place."""
        at = rng.randrange(len(self.root.children))
        block = self.root.children[at]
        text = _only_text(block)
        if text is None or not isinstance(block, XmlElement):
            return
        words = _plain(text)
        attributes: Any = {} if block.tag == "heading" else {"level": 2}
        tag = "paragraph" if block.tag == "heading" else "heading"
        del self.root.children[at]
        self.root.children.insert(at, XmlElement(tag, attributes, [XmlText(words)]))

    def copy(self, rng: random.Random) -> None:
        """Some blocks are pasted again elsewhere, with the ids they carry."""
        blocks = list(self.root.children)
        at = rng.randrange(len(blocks))
        copies = [_copy(block, self.keeps_ids) for block in blocks[at : at + rng.randrange(1, 4)]]
        place = rng.randrange(len(blocks) + 1)
        for copy in reversed(copies):
            self.root.children.insert(place, copy)

    def write_all_anew(self, rng: random.Random) -> None:
        """The whole content is set again: other elements, most of the words."""
        copies = [_copy(block, self.keeps_ids) for block in self.root.children]
        rng.shuffle(copies) if rng.random() < 0.2 else None
        del self.root.children[0 : len(copies)]
        for copy in copies:
            if rng.random() < 0.9:
                self.root.children.append(copy)
        self.root.children.append(new_block(rng))

    def mint(self, rng: random.Random) -> None:
        """An editor that gives every block an id of its own, or a block that of another."""
        blocks = [block for block in self.root.children if isinstance(block, XmlElement)]
        for block in blocks:
            if "id" not in _attributes(block):
                block.attributes["id"] = f"{rng.randrange(10**12):012}-uuid"
        one, two = rng.choice(blocks or [None]), rng.choice(blocks or [None])
        if one is not None and two is not None and rng.random() < 0.3:
            one.attributes["id"], two.attributes["id"] = (
                _attributes(two)["id"],
                _attributes(one)["id"],
            )

    def type_inside(self, rng: random.Random) -> None:
        """Somewhere in a list, a quote or a table."""
        text = _some_leaf(self.root.children[rng.randrange(len(self.root.children))], rng)
        if text is not None:
            text.insert(len(_plain(text).encode()), rng.choice(WORDS))

    def bold(self, rng: random.Random) -> None:
        text = self._some_text(rng)
        if text is not None and _plain(text):
            plain = _plain(text)
            start = rng.randrange(len(plain))
            text.format(len(plain[:start].encode()), len(plain.encode()), {"bold": {}})

    def _strip(self) -> None:
        for block in self.root.children:
            if isinstance(block, XmlElement) and "id" in _attributes(block):
                del block.attributes["id"]

    def _some_text(self, rng: random.Random) -> XmlText | None:
        return _only_text(self.root.children[rng.randrange(len(self.root.children))])


_ACTS: dict[str, Callable[[Editor, random.Random], None]] = {
    "insert": Editor.insert,
    "type": Editor.type,
    "erase": Editor.erase,
    "delete": Editor.delete,
    "split": Editor.split,
    "join": Editor.join,
    "move": Editor.move,
    "slide": Editor.slide,
    "retype": Editor.retype,
    "bold": Editor.bold,
    "copy": Editor.copy,
    "write all anew": Editor.write_all_anew,
    "mint": Editor.mint,
    "type inside": Editor.type_inside,
    "undo": lambda editor, _rng: editor.take_back(),
    "redo": lambda editor, _rng: editor.do_again(),
}


def new_block(rng: random.Random) -> XmlElement:
    """A paragraph, heading, code block, rule or list as an editor makes it."""
    words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(6)))
    kind = rng.randrange(8)
    if kind == 0:
        level: Any = {"level": float(rng.randrange(1, 4))}
        return XmlElement("heading", level, [XmlText(words)])
    if kind == 1:
        return XmlElement("codeBlock", {"language": "py"}, [XmlText(words)])
    if kind == 2:
        return XmlElement("horizontalRule", {})
    if kind == 3:
        items = [
            XmlElement("listItem", {}, [XmlElement("paragraph", {}, [XmlText(words)])])
            for _ in range(rng.randrange(1, 3))
        ]
        return XmlElement("bulletList", {}, items)
    return XmlElement("paragraph", {}, [XmlText(words)])


def _only_text(block: object) -> XmlText | None:
    """The text of a paragraph, heading or code block that has one."""
    if not isinstance(block, XmlElement) or block.tag == "horizontalRule":
        return None
    children = list(block.children)
    if len(children) == 1 and isinstance(children[0], XmlText):
        return children[0]
    return None


def _some_leaf(block: object, rng: random.Random) -> XmlText | None:
    """A text somewhere in a block."""
    while isinstance(block, XmlElement):
        children = list(block.children)
        if not children:
            return None
        block = rng.choice(children)
    return block if isinstance(block, XmlText) else None


def _copy(block: object, with_id: bool) -> XmlElement | XmlText:
    """A block to be put in again: its words, no marks."""
    if isinstance(block, XmlText):
        return XmlText(_plain(block))
    assert isinstance(block, XmlElement)
    attributes = _attributes(block)
    if not with_id:
        attributes.pop("id", None)
    return XmlElement(block.tag, attributes, [_copy(child, with_id) for child in block.children])


def _attributes(block: XmlElement) -> dict[str, Any]:
    view: Any = block.attributes  # its own annotations do not let it be iterated
    return dict(view)


def _plain(text: XmlText) -> str:
    return "".join(part for part, _ in text.diff() if isinstance(part, str))
