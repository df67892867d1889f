from __future__ import annotations

from itertools import count
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.feed.block_changes import ChangeLog
from shared.index.block_index import BlockIndex, SavedIndex, Settled
from shared.markdown.schema import fingerprint
from shared.tree import NO_HINTS, Node, Text
from shared.yjs import blocks
from tests.unit.feed_mirror import Mirror
from tests.unit.random_editors import VOCABULARY, Editor

SEEDS = st.integers(0, 2**32 - 1)
PRINCIPALS = ("ann", "bob", "agent")


class World:
    """A server, its editors, its log and its readers."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.doc: Doc[XmlFragment] = Doc(client_id=1)
        self.fragment = self.doc.get("default", type=XmlFragment)
        self.numbers = count()
        self.now = 0
        with self.doc.transaction():
            for at in range(self.rng.randrange(12)):
                words = " ".join(self.rng.choices(VOCABULARY, k=6))
                blocks.insert(self.fragment, at, Node("paragraph", {}, (Text(words),)), self.mint())
        self.index, settled = BlockIndex.attach(self.fragment, None, self.mint, 0)
        assert settled.rows == ()
        self.log = ChangeLog()
        self.checkpoint = self.index.save()
        self.splices: list[bytes] = []
        self.editors = [
            Editor(self.rng, 10 + n, knows_ids=knows) for n, knows in enumerate((True, False))
        ]
        for editor in self.editors:
            editor.receive(self.doc.get_update())
        self.steady = self.new_mirror()
        self.lazy = self.new_mirror()

    def mint(self) -> str:
        return f"{next(self.numbers):08}"

    def text(self, block_id: str) -> str:
        return self.index.fingerprint(block_id)

    def new_mirror(self) -> Mirror:
        return Mirror(self.index.ids, self.text, self.log.head)

    def step(self) -> None:
        self.now += self.rng.choice((10, 500, 200_000))
        act = self.rng.random()
        if act < 0.75:
            self.edit(self.rng.choice(self.editors))
        elif act < 0.87:
            self.write()
        elif act < 0.92:
            self.repair()
        elif act < 0.96:
            self.restart()
        else:
            self.index.warm(self.rng.randrange(10))

    def edit(self, editor: Editor) -> None:
        if self.rng.random() < 0.6:
            editor.receive(self.doc.get_update(editor.doc.get_state()))
        updates = [editor.act() for _ in range(self.rng.choice((1, 1, 3)))]
        for update in updates:
            self.doc.apply_update(update)
            if self.rng.random() < 0.9:
                self.settle()
        self.settle()

    def settle(self) -> None:
        self.settled(self.index.settle(self.now))

    def write(self) -> None:
        """A transaction of the server's own: blocks put in, taken out and edited in place."""
        ids = list(self.index.ids)
        words = " ".join(self.rng.choices(VOCABULARY, k=5))
        node = Node("paragraph", {}, (Text(words),))
        with self.doc.transaction():
            if ids and self.rng.random() < 0.5:
                at = self.rng.randrange(len(ids))
                moved = blocks.read(self.index.element(ids[at]))
                blocks.remove(self.fragment, at)
                to = self.rng.randrange(len(self.fragment.children) + 1)
                blocks.insert(self.fragment, to, moved, ids[at])
            blocks.insert(
                self.fragment,
                self.rng.randrange(len(self.fragment.children) + 1),
                node,
                self.mint(),
            )
        before = set(ids)
        settled = self.index.settle_own(self.now)
        assert before <= set(self.index.ids)
        self.settled(settled)

    def repair(self) -> None:
        with self.doc.transaction():
            for block_id in self.index.ids:
                if self.rng.random() < 0.7:
                    self.index.element(block_id).attributes["id"] = block_id
        before = self.index.ids
        settled = self.index.settle_own(self.now)
        assert settled.rows == ()
        assert self.index.ids == before
        self.settled(settled)

    def restart(self) -> None:
        before = self.index.ids
        self.index.detach()
        state = self.doc.get_update()
        self.doc = Doc(client_id=self.rng.randrange(100, 10**6))
        self.fragment = self.doc.get("default", type=XmlFragment)
        self.doc.apply_update(state)
        saved = SavedIndex.load(self.checkpoint, self.splices)
        self.index, settled = BlockIndex.attach(self.fragment, saved, self.mint, self.now)
        assert settled == Settled()
        assert self.index.ids == before

    def settled(self, settled: Settled) -> None:
        self.splices.append(settled.splice)
        principal = self.rng.choice(PRINCIPALS)
        self.log.append(settled.rows, principal, self.now, len(self.index))
        self.check()

    def check(self) -> None:
        assert not self.index.foreign()
        ids = self.index.ids
        children = [
            child for child in self.fragment.children if isinstance(child, XmlElement | XmlText)
        ]
        assert len(set(ids)) == len(ids) == len(children)
        with self.doc.transaction():
            for at, (block_id, child) in enumerate(zip(ids, children, strict=True)):
                node = blocks.read(child, block_id)
                assert self.index.node(block_id) == node
                assert self.index.fingerprint(block_id) == fingerprint(node, NO_HINTS)
                assert self.index.position(block_id) == at
        page = self.steady.follow(self.log, ids, self.text)
        assert not page.more
        self.same(self.steady)
        if self.rng.random() < 0.3:
            page = self.lazy.follow(self.log, ids, self.text, self.rng.choice((1, 40, 10_000)))
            if not page.more:
                self.same(self.lazy)
        saved = SavedIndex.load(self.checkpoint, self.splices)
        saved.lately.forget(self.now)
        live = SavedIndex.load(self.index.save(), [])
        live.lately.forget(self.now)
        assert saved.dump() == live.dump()

    def same(self, mirror: Mirror) -> None:
        assert mirror.order == list(self.index.ids)
        assert mirror.texts == {block_id: self.text(block_id) for block_id in self.index.ids}


@given(SEEDS)
def test_whatever_editors_do_ids_stay_unique_and_every_mirror_holds(seed: int) -> None:
    world = World(seed)
    for _ in range(25):
        world.step()
    while world.lazy.follow(world.log, world.index.ids, world.text, 40).more:
        pass
    world.same(world.lazy)
    world.index.detach()
