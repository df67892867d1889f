"""A document in memory: Yjs state, block index, change feed and views, moved as one.

Everything here is synchronous and takes the time as an argument. A transaction yields `Effects`,
the values that must be on disk before anybody is told of it; whoever holds the document gathers
them into a batch. Reading is in `shared.document.reading`, the verbs that write in
`shared.document.writing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, Literal

import msgspec
from pycrdt import Doc, TransactionEvent, XmlElement, XmlFragment, get_update

from shared.budget import Budgets
from shared.discussion.threads import Discussion
from shared.document.textblocks import TextblocksNow
from shared.feed.block_changes import ChangeLog, Draft
from shared.feed.cursor import CursorCodec
from shared.index.block_index import BlockIndex, SavedIndex, Settled
from shared.limits import (
    CHECKPOINT_MAX_UPDATES,
    CHECKPOINT_MIN_BYTES,
    MAX_BLOCKS,
    MAX_DEPTH,
    MAX_DOCUMENT_BYTES,
    SCRATCH_BYTES,
)
from shared.markdown.fidelity import unshown
from shared.markdown.render import render
from shared.patch.types import Present
from shared.sections import Heading, heading_of
from shared.stored import Checkpoint, Effects, Loaded, StoredUpdate, Via
from shared.suggestions.register import Suggestions
from shared.tree import Block, Hints, Node
from shared.views.views import Views
from shared.yjs import blocks as yjs_blocks
from shared.yjs.foreign import foreign_children, remove_foreign
from shared.yjs.surrogates import CutsItselfError, Pairs, repairs, replay
from shared.yjs.update import (
    Id,
    MalformedUpdateError,
    decode_state_vector,
    ends,
    growth,
    has_gap,
    leaves_over,
)

ROOT: Final = "default"
EMPTY_UPDATE: Final = b"\x00\x00"
_SMALL_UPDATE: Final = 4096  # bytes; larger ones are cheaper to ask yrs about than to walk
Mint = Callable[[], str]


class Author(msgspec.Struct, frozen=True):
    """Who makes a transaction, under which name, by which way."""

    principal: str
    name: str
    via: Via


REPAIR: Final = Author("server", "docactor", "repair")


class Applied(msgspec.Struct, frozen=True):
    """What became of an update that came from outside.

    `gap`: it starts past what is known of its sender, nothing was applied. `refused`: it is no
    update, or one the document may not hold; nothing was applied. `leftover`: it was applied as
    far as it goes, and waits for another client's blocks: not saved, not to be acknowledged.
    """

    verdict: Literal["applied", "unchanged", "gap", "refused", "leftover"]
    effects: tuple[Effects, ...] = ()
    reason: str = ""


class DocumentBrokenError(Exception):
    """The document in memory may be half changed or ahead of its log: drop it and load again."""


class _Rendered(msgspec.Struct, frozen=True):
    """A block's Markdown, good for its fingerprint; what it leaves out, good for that very node.

    Attributes:
        heading: Level and title, of a heading.
    """

    fingerprint: str
    present: Present
    node: Node
    fidelity: tuple[str, ...]
    heading: tuple[int, str] | None


class LiveDocument:
    """See the module. Belongs to one thread; no method may be called from inside a transaction."""

    def __init__(self, loaded: Loaded, doc: Doc[XmlFragment], mint: Mint) -> None:
        self.doc = doc
        self._mint = mint
        self.fragment = doc.get(ROOT, type=XmlFragment)
        self.log = ChangeLog(loaded.rows, loaded.change_head, loaded.change_floor)
        self.cursors = CursorCodec(loaded.secret)
        self.views = Views.load(loaded.views)
        self.budgets = Budgets.load(loaded.budgets)
        self.suggestions = Suggestions(loaded.annotations.suggestions.values())
        self.discussion = Discussion(loaded.annotations, self.log.take, mint)
        self.names = dict(loaded.principals)
        self.given_title = loaded.title
        self.update_seq = loaded.update_seq
        self.at = loaded.at
        self.depth = loaded.depth
        self.clocks = decode_state_vector(doc.get_state())
        self.index: BlockIndex
        self._texts: dict[str, _Rendered] = {}
        self._rendered_once = False  # all blocks; those that came later may not be
        self._stale: set[str] = set()  # blocks that may say something else since they were rendered
        # Of the update they were made at: nothing else changes what a block says.
        self._present: tuple[int, Sequence[Present]] = (-1, ())
        self._headings: tuple[int, Sequence[Heading]] = (-1, ())
        checkpoint = [loaded.checkpoint.data] if loaded.checkpoint else []
        self._pairs = Pairs([*checkpoint, *(update.data for update in loaded.updates)])
        self._captured = b""
        self._subscription = doc.observe(self._capture)
        self._log_bytes = sum(len(update.data) for update in loaded.updates)
        self._log_updates = len(loaded.updates)
        self._checkpoint_bytes = len(loaded.checkpoint.data) if loaded.checkpoint else 0

    @classmethod
    def load(cls, loaded: Loaded, now: int, mint: Mint) -> tuple[LiveDocument, tuple[Effects, ...]]:
        """The document as its log says, and what had to be mended in its index.

        Raises ValueError when an update does not apply.
        """
        doc: Doc[XmlFragment] = Doc()
        if loaded.checkpoint is not None:
            doc.apply_update(loaded.checkpoint.data)
        replay(doc, loaded.updates)
        live = cls(loaded, doc, mint)
        saved = SavedIndex.load(
            loaded.checkpoint.block_index if loaded.checkpoint else b"",
            [update.splice for update in loaded.updates],
        )
        live.index, settled = BlockIndex.attach(live.fragment, saved, mint, now)
        live.discussion.attach(TextblocksNow(doc, live.index))
        mended = (live._record(REPAIR, now, settled), live._repair(now))
        return live, tuple(one for one in mended if one is not None)

    @classmethod
    def seed(
        cls, loaded: Loaded, content: tuple[Block, ...], author: Author, now: int, mint: Mint
    ) -> tuple[LiveDocument, tuple[Effects, ...]]:
        """A new document holding `content`. Seeding writes no change rows."""
        live = cls(loaded, Doc(), mint)
        live.index, _ = BlockIndex.attach(live.fragment, None, mint, now)

        named = [(live.fresh_id(), block) for block in content]

        def build(fragment: XmlFragment) -> dict[str, Hints]:
            yjs_blocks.insert_all(fragment, 0, [(block.node, one) for one, block in named])
            return {one: block.hints for one, block in named}

        settled = live._transact(now, build)
        return live, (live._store(author, now, settled, ()),) if content else ()

    def fresh_id(self) -> str:
        """A block id that no block of the document has."""
        while (block_id := self._mint()) in self.index:
            pass
        return block_id

    # --- reading ---------------------------------------------------------------------------------

    def text(self, block_id: str) -> str:
        """The block's Markdown, from the cache when its fingerprint is the same."""
        return self._rendered(block_id).present.text

    def fidelity(self, block_id: str) -> tuple[str, ...]:
        """What the block's Markdown does not say exactly: it may change while the text does not."""
        rendered = self._rendered(block_id)
        node = self.index.node(block_id)
        if rendered.node is not node:
            rendered = msgspec.structs.replace(rendered, node=node, fidelity=unshown(node))
            self._texts[block_id] = rendered
        return rendered.fidelity

    def anchor(self, block_id: str) -> str:
        """`<id>-<hash>` of the block as it is now."""
        return self._rendered(block_id).present.anchor

    def present(self) -> Sequence[Present]:
        """Every block with its Markdown, in order: what writes are planned against."""
        at, present = self._present
        if at != self.update_seq:
            texts = self._texts
            with self.doc.transaction():  # one for all: each block would open its own
                self._refresh()
                present = tuple(
                    [(texts.get(one) or self._rendered(one)).present for one in self.index.ids]
                )
            self._present = (self.update_seq, present)
        return present

    def render_some(self, count: int) -> bool:
        """Renders up to `count` blocks that never were; False: once all of them had been."""
        if self._rendered_once:
            return False
        missing = list(islice((one for one in self.index.ids if one not in self._texts), count))
        self._rendered_once = not missing
        with self.doc.transaction():
            for block_id in missing:
                self._rendered(block_id)
        return bool(missing)

    def _refresh(self) -> None:
        """Renders what changed, of what was rendered before."""
        for block_id in self._stale & self._texts.keys():
            self._rendered(block_id)
        self._stale.clear()

    def headings(self) -> Sequence[Heading]:
        """Top-level headings in document order."""
        at, headings = self._headings
        if at != self.update_seq:
            with self.doc.transaction():
                headings = tuple(self._find_headings())
            self._headings = (self.update_seq, headings)
        return headings

    def _find_headings(self) -> Iterator[Heading]:
        self._refresh()
        for position, block_id in enumerate(self.index.ids):
            rendered = self._texts.get(block_id)
            heading = rendered.heading if rendered else heading_of(self.index.node(block_id))
            if heading is not None:
                yield Heading(position, block_id, *heading)

    def _rendered(self, block_id: str) -> _Rendered:
        fingerprint = self.index.fingerprint(block_id)
        cached = self._texts.get(block_id)
        if cached is None or cached.fingerprint != fingerprint:
            node = self.index.node(block_id)
            rendered = render(node, self.index.hints(block_id), block_id)
            present = Present.of(block_id, rendered.text)
            cached = _Rendered(fingerprint, present, node, rendered.fidelity, heading_of(node))
            self._texts[block_id] = cached
        return cached

    @property
    def textblocks(self) -> TextblocksNow:
        """What quotes are looked for in."""
        return TextblocksNow(self.doc, self.index)

    # --- what comes from editors -----------------------------------------------------------------

    def state_vector(self) -> bytes:
        return self.doc.get_state()

    def diff(self, state_vector: bytes) -> bytes:
        """What a peer with this state vector lacks. Raises ValueError when it is none."""
        return self.doc.get_update(state_vector)

    def apply(self, update: bytes, author: Author, now: int) -> Applied:
        """An editor's update.

        Raises:
            DocumentBrokenError: It left the document half changed, or ahead of its log.
        """
        try:
            if has_gap(update, self.clocks):
                return Applied("gap")
            if too_much := self._beyond_limits(update):
                return Applied("refused", reason=too_much)
            cut = self._pairs.cut_by(update, self.doc.get_update)
        except MalformedUpdateError as error:
            return Applied("refused", reason=str(error))
        except CutsItselfError:
            return Applied("gap")  # asked again, its sender tells what it has
        self.index.warm(len(self.index))  # words as they are before: 8 µs a block, once
        kept_whole = self._keep_whole(cut, author, now) if cut else ()
        try:
            self._captured = b""
            with _breaking():
                self.doc.apply_update(update)
        except ValueError as error:
            return Applied("refused", kept_whole, str(error))
        waits = self._captured != update and self._waits_for_more(update)
        if waits and self._captured == EMPTY_UPDATE:
            raise DocumentBrokenError("an update showed blocks that its log entry does not hold")
        told = (self._record(author, now, self.index.settle(now)), self._repair(now))
        effects = (*kept_whole, *(one for one in told if one is not None))
        if waits:
            return Applied("leftover", effects)
        return Applied("applied" if effects else "unchanged", effects)

    def _keep_whole(self, cut: Mapping[Id, str], author: Author, now: int) -> tuple[Effects, ...]:
        """What is done before an update that cuts characters; see `shared.yjs.surrogates`."""
        mender = Author(author.principal, author.name, "repair")
        while (client := int(self._mint(), 36)) in self.clocks:
            pass
        told = []
        for update in repairs(cut, client):
            self._captured = b""
            with _breaking(own=True):
                self.doc.apply_update(update)
            told.append(self._record(mender, now, self.index.settle(now)))
        return tuple(one for one in told if one is not None)

    def _waits_for_more(self, update: bytes) -> bool:
        """Whether something of an update just applied is not in the document yet."""
        return leaves_over(get_update(update, self.doc.get_state()), self.clocks)

    def _repair(self, now: int) -> Effects | None:
        """Takes out children of the root that are no blocks, keeping their text.

        A client that opened the root as another type left them; iterating would stop there.
        """
        if not self.index.foreign():
            return None
        name = self.fresh_id()

        def take_out(fragment: XmlFragment) -> dict[str, Hints]:
            remove_foreign(fragment, foreign_children(fragment, ROOT), ROOT, name)
            return {}

        return self.write(REPAIR, now, take_out)

    def _beyond_limits(self, update: bytes) -> str:
        """Why the document may not hold this update, else "".

        Judged by bounds; only when they do not settle it, on a copy: an update that was applied
        cannot be taken back.
        """
        if len(update) <= SCRATCH_BYTES and self.size < MAX_DOCUMENT_BYTES:
            return ""
        elements, nesting = growth(update)
        if (
            self.size + len(update) <= MAX_DOCUMENT_BYTES
            and len(self.index) + elements <= MAX_BLOCKS
            and self.depth + nesting <= MAX_DEPTH
        ):
            return ""
        copy: Doc[XmlFragment] = Doc()
        copy.apply_update(self.doc.get_update())
        copy.apply_update(update)
        return _too_much(copy)

    # --- what the server writes ------------------------------------------------------------------

    def write(
        self, author: Author, now: int, change: Callable[[XmlFragment], Mapping[str, Hints]]
    ) -> Effects | None:
        """Runs `change` in one transaction; it returns the style hints of blocks that have some.

        New elements carry their id in the attribute `id`. None: nothing changed.

        Raises:
            DocumentBrokenError: `change` failed half way.
        """
        return self._record(author, now, self._transact(now, change))

    def _transact(self, now: int, change: Callable[[XmlFragment], Mapping[str, Hints]]) -> Settled:
        self._captured = b""
        with _breaking(own=True), self.doc.transaction():
            hints = change(self.fragment)
        return self.index.settle_own(now, hints)

    # --- storing ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Stops observing. The document is not to be used afterwards."""
        self.index.detach()
        self._subscription.drop()

    @property
    def size(self) -> int:
        """A bound of the encoded size, in bytes: the last checkpoint and the log since."""
        return self._checkpoint_bytes + self._log_bytes

    def encoded_size(self) -> int:
        """The encoded size, in bytes: what `size` bounds, for the price of encoding it."""
        return len(self.doc.get_update())

    def checkpoint_due(self) -> bool:
        enough = max(CHECKPOINT_MIN_BYTES, self._checkpoint_bytes // 4)
        return self._log_bytes > enough or self._log_updates > CHECKPOINT_MAX_UPDATES

    def checkpoint(self) -> Checkpoint | None:
        """The state and the index of this instant; None when nothing came since the last one."""
        if not self._log_updates:
            return None
        data = self.doc.get_update()
        self._log_bytes = self._log_updates = 0
        self._checkpoint_bytes = len(data)
        return Checkpoint(self.update_seq, self.at, data, self.index.save())

    def _record(self, author: Author, now: int, settled: Settled) -> Effects | None:
        for draft in settled.rows:
            if draft.kind == "removed":
                self._texts.pop(draft.block_id, None)
            else:
                self._stale.add(draft.block_id)
        if not self._captured and not settled.splice:
            return None
        return self._store(author, now, settled, settled.rows)

    def _store(
        self, author: Author, now: int, settled: Settled, drafts: tuple[Draft, ...]
    ) -> Effects:
        self.update_seq += 1
        self.at = max(now, self.at)  # a clock that jumps back does not take time back
        known = self.names.get(author.principal) == author.name
        self.names[author.principal] = author.name
        floor, depth = self.log.floor, self.depth
        for block_id in settled.touched:
            if block_id in self.index:
                self.depth = max(self.depth, depth_of(self.index.node(block_id)))
        self.discussion.touch(settled.touched)
        appended = self.log.append(drafts, author.principal, self.at, len(self.index))
        data = self._captured or EMPTY_UPDATE
        self._pairs.took(data)
        self.clocks |= ends(data) if len(data) < _SMALL_UPDATE else self._all_clocks()
        self._log_bytes += len(data)
        self._log_updates += 1
        return Effects(
            update=StoredUpdate(
                seq=self.update_seq,
                at=self.at,
                principal=author.principal,
                via=author.via,
                data=data,
                splice=settled.splice,
                change_seq=self.log.head,
            ),
            name=None if known else author.name,
            rows=appended.rows,
            superseded=appended.superseded,
            floor=appended.floor if appended.floor > floor else None,
            depth=self.depth if self.depth > depth else None,
        )

    def _all_clocks(self) -> dict[int, int]:
        return decode_state_vector(self.doc.get_state())

    def _capture(self, event: TransactionEvent) -> None:
        self._captured = event.update


def depth_of(node: Node) -> int:
    """How deep elements are nested in a block, itself included."""
    inside = [depth_of(child) for child in node.content if isinstance(child, Node)]
    return 1 + max(inside, default=0)


def _too_much(doc: Doc[XmlFragment]) -> str:
    fragment = doc.get(ROOT, type=XmlFragment)
    if len(fragment.children) > MAX_BLOCKS:
        return f"a document may have {MAX_BLOCKS} blocks"
    if len(doc.get_update()) > MAX_DOCUMENT_BYTES:
        return f"a document may have {MAX_DOCUMENT_BYTES} bytes"
    deepest = max((_element_depth(child) for child in fragment.children), default=0)
    return f"blocks may be nested {MAX_DEPTH} deep" if deepest > MAX_DEPTH else ""


def _element_depth(element: object) -> int:
    """Without recursion: the element may be nested deeper than Python's stack."""
    level, deepest = [element], 0
    while level:
        deepest += 1
        level = [child for one in level if isinstance(one, XmlElement) for child in one.children]
    return deepest


@contextmanager
def _breaking(*, own: bool = False) -> Iterator[None]:
    """A transaction does not roll back: whatever it raises leaves the document half changed.

    But a `ValueError` of applying a foreign update: yrs raises it before anything changed.
    """
    try:
        yield
    except BaseException as error:  # pyo3's panics are no Exceptions
        refused = isinstance(error, ValueError) and not own
        if refused or isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise DocumentBrokenError(f"{type(error).__name__}: {error}") from error
