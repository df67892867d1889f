"""Editors that do what editors do, at random: they know ids, strip them, or slide them.

Each has a document of its own and hands out updates; it may not have seen the others' yet.
"""

from __future__ import annotations

from random import Random

from pycrdt import Doc, UndoManager, XmlElement, XmlFragment, XmlText

_WORDS = (
    "harbour lantern clerk ledger river news town street window kettle stone paper engine orchard "
    "winter bridge copper marble signal violin meadow cellar ribbon anchor barrel candle"
)
VOCABULARY = _WORDS.split()


class Editor:
    """Acts on `fragment`. `knows_ids` False: every act strips the attribute from all blocks."""

    def __init__(self, rng: Random, client_id: int, *, knows_ids: bool) -> None:
        self.rng = rng
        self.knows_ids = knows_ids
        self.doc: Doc[XmlFragment] = Doc(client_id=client_id)
        self.fragment = self.doc.get("default", type=XmlFragment)
        self.undo = UndoManager(scopes=[self.fragment], capture_timeout_millis=0)

    def receive(self, update: bytes) -> None:
        with self.doc.transaction(origin="server"):  # not to be undone here
            self.doc.apply_update(update)

    def act(self) -> bytes:
        """One to three things in one transaction, as an update."""
        state = self.doc.get_state()
        if self.rng.random() < 0.12 and self.undo.can_undo():
            self.undo.undo()
            return self.doc.get_update(state)
        with self.doc.transaction():
            for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
                self._one()
            if not self.knows_ids:
                for block in self.fragment.children:
                    if isinstance(block, XmlElement) and "id" in block.attributes:
                        del block.attributes["id"]
        return self.doc.get_update(state)

    def _one(self) -> None:
        many = len(self.fragment.children)
        if not many:
            self._put(0, self._words(), "paragraph", None)
            return
        acts = [self.type, self.type, self.type, self.split, self.merge, self.remove, self.add]
        acts += [self.move, self.slide, self.duplicate, self.retag, self.retype, self.swap_ids]
        if many > 25:
            acts += [self.remove] * 6
        self.rng.choice(acts)(self.rng.randrange(many))

    # --- acts ------------------------------------------------------------------------------------

    def type(self, at: int) -> None:
        text = self._text(at)
        written = str(text)
        place = self.rng.randrange(len(written) + 1)
        new = self.rng.choice(("x", " word", "é", ""))
        text.insert(len(written[:place].encode()), new)

    def split(self, at: int) -> None:
        text, tag, block_id = self._text(at), self._tag(at), self._id(at)
        written = str(text)
        cut = self.rng.choice((0, len(written), self.rng.randrange(len(written) + 1)))
        if cut < len(written):
            del text[len(written[:cut].encode()) :]
        self._put(at + 1, written[cut:], tag, self.rng.choice((None, block_id)))

    def merge(self, at: int) -> None:
        if at + 1 < len(self.fragment.children):
            text, tail = self._text(at), str(self._text(at + 1))
            text.insert(len(text), tail)
            del self.fragment.children[at + 1]

    def remove(self, at: int) -> None:
        until = min(len(self.fragment.children), at + self.rng.choice((1, 1, 2, 4)))
        del self.fragment.children[at:until]

    def add(self, at: int) -> None:
        words = self.rng.choice((self._words(), self._words(), "", "x"))
        self._put(at, words, self.rng.choice(("paragraph", "heading")), None)

    def move(self, at: int) -> None:
        """A real one: removed here, put in there."""
        block = (str(self._text(at)), self._tag(at), self._id(at))
        del self.fragment.children[at]
        self._put(self.rng.randrange(len(self.fragment.children) + 1), *block)

    def slide(self, at: int) -> None:
        """A move as some bindings make it: texts and ids slide, elements stay."""
        to = min(len(self.fragment.children) - 1, at + self.rng.choice((1, 2, 5)))
        held = [(str(self._text(n)), self._id(n)) for n in range(at, to + 1)]
        for n, (text, block_id) in enumerate([*held[1:], held[0]]):
            self._rewrite(at + n, text, block_id)

    def duplicate(self, at: int) -> None:
        block = (str(self._text(at)), self._tag(at), self._id(at))
        self._put(self.rng.randrange(len(self.fragment.children) + 1), *block)

    def retag(self, at: int) -> None:
        """Another type: a new element with the same text."""
        text, block_id = str(self._text(at)), self._id(at)
        tag = "paragraph" if self._tag(at) == "heading" else "heading"
        del self.fragment.children[at]
        self._put(at, text, tag, block_id)

    def retype(self, at: int) -> None:
        self._rewrite(at, self._words(), self._id(at))

    def swap_ids(self, at: int) -> None:
        other = self.rng.randrange(len(self.fragment.children))
        one, two = self._id(at), self._id(other)
        self._set_id(at, self.rng.choice((two, None, "7b2d0c46-uuid")))
        self._set_id(other, one)

    # --- the fragment ----------------------------------------------------------------------------

    def _block(self, at: int) -> XmlElement:
        block = self.fragment.children[at]
        assert isinstance(block, XmlElement)
        return block

    def _text(self, at: int) -> XmlText:
        block = self._block(at)
        if not len(block.children):
            return block.children.append(XmlText(""))
        text = block.children[0]
        assert isinstance(text, XmlText)
        return text

    def _tag(self, at: int) -> str:
        return self._block(at).tag or ""

    def _id(self, at: int) -> str | None:
        return self._block(at).attributes.get("id")

    def _set_id(self, at: int, block_id: str | None) -> None:
        attributes = self._block(at).attributes
        if block_id is not None:
            attributes["id"] = block_id
        elif "id" in attributes:
            del attributes["id"]

    def _put(self, at: int, text: str, tag: str, block_id: str | None) -> None:
        block = self.fragment.children.insert(at, XmlElement(tag, {}, [XmlText(text)]))
        if block_id is not None:
            block.attributes["id"] = block_id

    def _rewrite(self, at: int, words: str, block_id: str | None) -> None:
        text = self._text(at)
        text.clear()
        text.insert(0, words)
        self._set_id(at, block_id)

    def _words(self) -> str:
        return " ".join(self.rng.choices(VOCABULARY, k=self.rng.choice((1, 4, 12))))
