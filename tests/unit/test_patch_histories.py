"""Several conversations of one principal and a person who types, in one document.

Each conversation is held to what it was itself shown, whatever the server makes of the one name
they share: a text that goes or is overwritten was seen, word for word, by the conversation that
sent the patch.
"""

from __future__ import annotations

import random
from collections import Counter

from shared.errors import BaseExpired, BaseRequired, EmptyPatch, LargeDelete, StaleBlock
from shared.feed.block_changes import ChangeLog, Draft, Kind
from shared.feed.cursor import Cursor
from shared.ids import BlockRef, text_hash
from shared.patch.patch import plan_patch
from shared.patch.types import Delete, NewBlock, Plan, Replace, Seen
from shared.protocol import WriteOptions
from shared.tree import Block
from shared.views.conversation import Shown
from shared.views.views import Views, cursor_after_write
from tests.unit.patch_world import (
    MERGER,
    WORDS,
    Doc,
    after,
    block,
    ids,
    present,
    texts,
)

ANN = "ann"


def is_short(text: str) -> bool:
    return len(text) < 20


class Conversation:
    """What one conversation holds of the document, and everything it was ever shown."""

    def __init__(self) -> None:
        self.cursor: Cursor | None = None
        self.mirror: Doc = []
        self.shown: set[tuple[str, str]] = set()

    def read(self, cursor: Cursor, blocks: Doc) -> None:
        self.cursor, self.mirror = cursor, list(blocks)
        self.shown |= set(blocks)

    def told(self, cursor: Cursor | None, shown: list[Shown], removed: list[str]) -> None:
        self.cursor = cursor
        gone = {*removed, *(s.block_id for s in shown)}
        self.mirror = [pair for pair in self.mirror if pair[0] not in gone]
        for s in shown:
            order = ids(self.mirror)
            at = order.index(s.after) + 1 if s.after in order else len(order) * bool(s.after)
            self.mirror.insert(at, (s.block_id, s.text))
            self.shown.add((s.block_id, s.text))


class World:
    """A document with its feed and views, a person, and three conversations named Ann."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.minted = 0
        self.now = 0
        self.doc: Doc = [(self.mint(), self.sentence()) for _ in range(rng.randint(0, 8))]
        self.log = ChangeLog()
        self.views = Views()
        self.file: dict[str, bytes] = {}
        self.moments: dict[int, Doc] = {0: list(self.doc)}
        self.conversations = [Conversation() for _ in range(3)]
        self.patched = 0

    def mint(self) -> str:
        self.minted += 1
        return f"b{self.minted:07d}"

    def sentence(self) -> str:
        if self.rng.random() < 0.2:
            return self.rng.choice(["---", "&nbsp;", "an old refrain", "## Heading"])
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(5, 14)))

    def become(self, doc: Doc, who: str) -> None:
        before, then = dict(self.doc), dict(doc)
        kinds: list[tuple[str, Kind]] = [(i, "removed") for i in before if i not in then]
        kinds += [(i, "added") for i in then if i not in before]
        stay = [i for i in ids(self.doc) if i in then]
        kinds += [
            (i, "moved")
            for i, j in zip(stay, [k for k in then if k in before], strict=True)
            if i != j
        ]
        kinds += [(i, "changed") for i in stay if before[i] != then[i]]
        self.doc = doc
        self.log.append([Draft(*kind) for kind in kinds], who, self.now, len(doc))
        self.moments[self.log.head] = list(doc)

    # --- edits ---------------------------------------------------------------------------------

    def edited(self, doc: Doc) -> Doc:
        doc = list(doc)
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randint(0, len(doc))
            kind = self.rng.choice(["insert", "delete", "rewrite", "word", "word", "move"])
            if kind == "insert" or at == len(doc):
                doc.insert(at, (self.mint(), self.sentence()))
            elif kind == "delete":
                del doc[at]
            elif kind == "move":
                doc.insert(self.rng.randint(0, len(doc) - 1), doc.pop(at))
            else:
                words = doc[at][1].split(" ")
                words[self.rng.randrange(len(words))] = f"w{self.minted}{self.rng.randint(0, 99)}"
                doc[at] = (doc[at][0], self.sentence() if kind == "rewrite" else " ".join(words))
        return doc

    # --- what conversations do -----------------------------------

    def read(self, conversation: Conversation) -> None:
        until = self.rng.choice([len(self.doc), self.rng.randint(0, len(self.doc))])
        cursor = Cursor(self.log.head, part=until < len(self.doc))
        self.views.on_read(ANN, cursor, self.doc[:until], self.now)
        conversation.read(cursor, self.doc[:until])

    def follow(self, conversation: Conversation) -> None:
        since = conversation.cursor
        if since is None:
            return
        room = self.rng.choice([30, 100, 10_000])
        page = self.log.page(since, ids(self.doc), lambda i: len(dict(self.doc)[i]), room, None)
        cursor = Cursor(page.seq, cut=page.cut, part=since.part)
        now = dict(self.doc)
        shown = [Shown(e.block_id, now[e.block_id], e.after) for e in page.entries]
        removed = list(page.removed)
        self.views.on_changes(
            ANN, since, cursor, shown=shown, removed=removed, order=ids(self.doc), now=self.now
        )
        conversation.told(cursor, shown, removed)

    def seen(self, base: Cursor | None) -> Seen:
        seen = self.views.choose(ANN, base, self.now)
        if seen is None:
            assert base is not None
            seen = Seen.of_state(self.moments[base.seq], self.views.known(ANN, self.now))
        return seen

    def compose(self, conversation: Conversation) -> list[NewBlock]:
        """What the conversation sends: its mirror, edited; some blocks with their anchors."""
        lines = self.rng.random() < 0.4
        known = dict(conversation.mirror)
        new = []
        for i, text in self.edited(conversation.mirror):
            anchor = f"{i}-{text_hash(known[i])}" if lines and i in known else None
            new.append(NewBlock.of(Block(block(text).node, source=text, anchor=anchor), text))
        return new

    def patch(self, conversation: Conversation) -> None:
        if conversation.cursor is None:
            return  # one that never read anything cannot be told from one that did
        base = conversation.cursor if self.rng.random() < 0.5 else None
        refs = [
            BlockRef(i, text_hash(text))
            for i, text in conversation.mirror
            if self.rng.random() < 0.2
        ]
        reject = self.rng.random() < 0.2
        options = WriteOptions(on_conflict=None if reject else "merge", allow_large_delete=True)
        new = self.compose(conversation)
        try:
            plan = plan_patch(
                present(self.doc),
                new,
                self.seen(base),
                merger=MERGER,
                anchors=refs if self.rng.random() < 0.3 else (),
                options=options,
            )
        except (BaseRequired, BaseExpired, EmptyPatch, StaleBlock, LargeDelete):
            return
        self.check(conversation, plan, new)
        self.carry_out(conversation, plan, base)

    def check(self, conversation: Conversation, plan: Plan, new: list[NewBlock]) -> None:
        now = dict(self.doc)
        before, sent = Counter(texts(self.doc)), Counter(block.text for block in new)
        merged = {op.new.text for op in plan.ops if isinstance(op, Replace) and op.merged}
        for text, count in Counter(texts(after(self.doc, plan))).items():
            assert count <= max(before[text], sent[text]) or is_short(text) or text in merged
        for op in plan.ops:
            if isinstance(op, Delete) or (isinstance(op, Replace) and not op.merged):
                assert (op.block_id, now[op.block_id]) in conversation.shown

    def carry_out(self, conversation: Conversation, plan: Plan, base: Cursor | None) -> None:
        self.patched += bool(plan.ops)
        before = self.log.head
        oldest = self.views.oldest_cursor(ANN, self.now)
        fresh: dict[int, str] = {}
        doc = after(self.doc, plan)
        made = {i: fresh.setdefault(n, self.mint()) for n, (i, _) in enumerate(doc) if i[0] == "n"}
        doc = [(made.get(i, i), text) for i, text in doc]
        written = [(i, text) for i, text in doc if dict(self.doc).get(i) != text]
        removed = [i for i in ids(self.doc) if i not in dict(doc)]
        self.become(doc, ANN)
        cursor, _ = cursor_after_write(base, oldest, before, self.log.head)
        order = ids(doc)
        shown = [
            Shown(i, text, order[order.index(i) - 1] if order.index(i) else None)
            for i, text in written
        ]
        self.views.on_write(
            ANN, base, cursor, shown=shown, removed=removed, order=order, now=self.now
        )
        follows = cursor if base is not None else conversation.cursor
        conversation.told(follows, shown, removed)

    def step(self) -> None:
        self.now += 1_000
        conversation = self.rng.choice(self.conversations)
        act = self.rng.choice(["type", "read", "follow", "follow", "patch", "patch", "restart"])
        if act == "type":
            self.become(self.edited(self.doc), "bob")
        elif act == "read":
            self.read(conversation)
        elif act == "follow":
            self.follow(conversation)
        elif act == "patch":
            self.patch(conversation)
        elif self.rng.random() < 0.2:
            self.file |= self.views.save()
            self.views = Views.load(self.file)


def test_nobody_overwrites_what_they_never_saw(rng: random.Random) -> None:
    patched = 0
    for _ in range(60):
        world = World(rng)
        for _ in range(40):
            world.step()
        patched += world.patched
    assert patched > 100  # the histories are about something
