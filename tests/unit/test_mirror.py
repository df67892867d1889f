"""The mirror holds: read once, follow with read_changes, and have exactly the document."""

from __future__ import annotations

import copy
import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from pycrdt import XmlElement, XmlText

from shared.budget import Allowance
from shared.feed.mirror import Mirror
from shared.protocol import Caller, ReadChangesRequest, ReadDocumentRequest
from shared.protocol_history import RestoreRequest, SaveVersionRequest
from shared.tree import Node
from shared.yjs.blocks import read
from shared.yjs.update import decode_state_vector
from tests.unit.document_machine import DocumentMachine
from tests.unit.editors import Editor
from tests.unit.mirror_writer import WHOLE, Texts, Writer

START = """# Plan

The first paragraph, with *some* words.

- one
- two

```py
print("x")
```

Second thoughts 📊 and more.

## Later

The end.
"""
PLENTY = Allowance(writes_per_minute=10**9, chars_per_hour=10**9, reads_per_minute=10**9)
ANN, BOB, FOLLOWER, SLOW, LOOKER, RESTORER = (
    Caller(name, name.title(), agent=name.startswith("a-"), allowance=PLENTY)
    for name in ("ann", "bob", "a-follower", "a-slow", "looker", "a-restorer")
)


class Seeded(random.Random):
    """Randomness of one step. Its draws are not Hypothesis's: client ids of Yjs differ from run to
    run, and with them what there is to draw from, which Hypothesis takes for a flaky test.
    """

    def __init__(self, seed: int) -> None:
        self.first = seed
        super().__init__(seed)

    def __repr__(self) -> str:
        return f"Seeded({self.first})"


people = st.integers(0, 1)
writers = st.sampled_from(["alone", "alone", "twin", "other twin"])
verbs = st.sampled_from(
    ["patch", "patch", "patch", "insert", "replace", "delete", "move", "replace_text"]
)
randoms = st.builds(Seeded, st.integers(0, 2**32 - 1))


class MirrorMachine(DocumentMachine):
    """Two editors, one of which strips ids; an agent that writes; two readers, one that pages."""

    @initialize()
    def begin(self) -> None:
        self.begin_with(START, ANN, BOB)
        self.writers: dict[str, Writer] = {}
        for who in ("alone", "twin", "other twin"):
            self.begin_again(who)
        self.gone: list[Mirror] = []
        self.saved: dict[str, Texts] = {}
        self.mirror = Mirror(self.run(self.document.read_document(FOLLOWER, WHOLE)))
        self.slow = Mirror(self.run(self.document.read_document(SLOW, WHOLE)))

    # --- people ---

    @rule(rng=randoms, who=people, acts=st.integers(1, 3))
    def edit(self, rng: random.Random, who: int, acts: int) -> None:
        editor = self.editors[who]
        for _ in range(acts):
            editor.act(rng)
        self.now += rng.choice([20, 700, 5_000, 30_000])
        self.run(self.handed_over(editor))

    async def handed_over(self, editor: Editor) -> None:
        editor.hand_over()

    @rule(rng=randoms, who=people)
    def type_offline(self, rng: random.Random, who: int) -> None:
        self.editors[who].act(rng)

    @rule(who=people)
    def pull(self, who: int) -> None:
        self.editors[who].pull()

    @rule(rng=randoms)
    def what_comes_too_early(self, rng: random.Random) -> None:
        """Bob builds on what Ann has not sent yet; it shows when hers comes, and then once."""
        ann, bob = self.editors
        ann.act(rng)
        bob.take(ann)
        bob.act(rng)
        self.run(self.handed_over(bob))

    # --- the agent ---

    @rule(rng=randoms, who=writers, verb=verbs)
    def write(self, rng: random.Random, who: str, verb: str) -> None:
        self.run(getattr(self.writers[who], verb)(rng))

    @rule(who=writers)
    def follow_as_writer(self, who: str) -> None:
        self.run(self.writers[who].follow())

    @rule(who=writers)
    def begin_again(self, who: str) -> None:
        """A new conversation; one that is alone has a name of its own."""
        name = f"a-alone-{self.ids.random()}" if who == "alone" else "a-twin"
        agent = Caller(name, name, agent=True, allowance=PLENTY)
        self.writers[who] = Writer(self.document, agent, LOOKER, certain=who == "alone")
        self.run(self.writers[who].read())

    # --- history ---

    @rule()
    def save(self) -> None:
        name = f"name {len(self.saved)}"
        self.saved[name] = self.run(self.writers["alone"].look())
        self.run(self.document.save_version(RESTORER, SaveVersionRequest(name)))

    @rule(rng=randoms, takes_back=st.booleans())
    def restore(self, rng: random.Random, takes_back: bool) -> None:
        """Everything is as it was then; what editors have not sent yet comes on top later."""
        if not self.saved:
            return
        before, name = self.run(self.writers["alone"].look()), rng.choice(list(self.saved))
        result = self.run(self.document.restore(RESTORER, RestoreRequest(name)))
        now = self.run(self.writers["alone"].look())
        assert list(now.items()) == list(self.saved[name].items())
        if takes_back and isinstance(result.undo, str):
            self.run(self.document.restore(RESTORER, RestoreRequest(result.undo)))
            now = self.run(self.writers["alone"].look())
            assert list(now.items()) == list(before.items())

    # --- readers ---

    @rule()
    def follow(self) -> None:
        request = ReadChangesRequest(cursor=self.mirror.cursor, max_chars=1_000_000)
        answer = self.run(self.document.read_changes(FOLLOWER, request))
        self.mirror.apply(answer)
        assert not answer.more
        self.same(self.mirror)

    @rule(max_chars=st.sampled_from([1, 40, 200]))
    def page(self, max_chars: int) -> None:
        request = ReadChangesRequest(cursor=self.slow.cursor, max_chars=max_chars)
        answer = self.run(self.document.read_changes(SLOW, request))
        self.slow.apply(answer)
        if not answer.more:
            self.same(self.slow)

    @rule()
    def go_away(self) -> None:
        self.gone = [copy.deepcopy(self.mirror), *self.gone[:2]]

    @rule(which=st.integers(0, 2))
    def come_back(self, which: int) -> None:
        """From a cursor of long ago in one answer."""
        if which < len(self.gone):
            mirror = copy.deepcopy(self.gone[which])
            request = ReadChangesRequest(cursor=mirror.cursor, max_chars=1_000_000)
            mirror.apply(self.run(self.document.read_changes(FOLLOWER, request)))
            self.same(mirror)

    @rule(who=writers)
    def leave_out_own(self, who: str) -> None:
        """Whom it is left out for hears of all that somebody else touched, and of nothing else."""
        writer = self.writers[who]
        cursor = writer.mirror.cursor
        both = [
            self.run(
                self.document.read_changes(
                    writer.caller,
                    ReadChangesRequest(cursor, 1_000_000, exclude_self=exclude, look=True),
                )
            )
            for exclude in (False, True)
        ]
        others = [block.anchor for block in both[0].blocks if block.by != (writer.caller.name,)]
        assert [block.anchor for block in both[1].blocks] == others
        assert set(both[1].removed) <= set(both[0].removed)

    def same(self, mirror: Mirror) -> None:
        read = self.run(
            self.document.read_document(
                FOLLOWER, ReadDocumentRequest(format="markdown", max_chars=1_000_000)
            )
        )
        assert mirror.markdown() == read.markdown

    # --- the server ---

    @rule()
    def restart(self) -> None:
        self.reopen()

    def open_again(self) -> None:
        super().open_again()
        for writer in self.writers.values():
            writer.document = self.document

    @rule()
    def crash(self) -> None:
        """Everything acknowledged is on disk: opening what is there must give the same document."""
        before = self.run(self.document.read_document(FOLLOWER, WHOLE))
        left = self.store.reopened()
        self.run(self.document.close())
        self.store = left
        self.open_again()
        after = self.run(self.document.read_document(FOLLOWER, WHOLE))
        assert after == before
        for who in self.writers:  # what was shown is stored now and then: who goes on reads again
            self.begin_again(who)

    @invariant()
    def it_is_known_as_it_is(self) -> None:
        """Every block has an id of its own; what writes are planned against is what is read."""
        if self.begun:
            live = self.document._keeper.live
            planned = [one.text for one in live.present()]
            assert planned == [live.text(block_id) for block_id in live.index.ids]
            assert len(set(live.index.ids)) == len(planned)

    def teardown(self) -> None:
        if self.begun:
            self.run(self.converged())
        self.end()

    async def converged(self) -> None:
        """All say what they have, in any order: then all have the same, and so have the readers."""
        for editor in (*self.editors, *self.editors):
            editor.hand_over()
            editor.answer()
        for editor in self.editors:
            editor.pull()
            vector = decode_state_vector(editor.doc.get_state())
            assert vector == decode_state_vector(self.document.state_vector())
        ann, bob = (trees(editor) for editor in self.editors)
        assert ann == bob
        for writer in self.writers.values():
            await writer.follow()
        answer = await self.document.read_changes(
            FOLLOWER, ReadChangesRequest(cursor=self.mirror.cursor, max_chars=1_000_000)
        )
        self.mirror.apply(answer)
        assert await self.writers["alone"].document_is(self.mirror)


def trees(editor: Editor) -> list[Node]:
    with editor.doc.transaction():
        children = list(editor.root.children)
        return [read(child) for child in children if isinstance(child, XmlElement | XmlText)]


SOAK = settings().stateful_step_count > 50  # the profile of `make soak`: 10,000 steps; else 600
MirrorTest = MirrorMachine.TestCase
MirrorTest.settings = settings(
    max_examples=100 if SOAK else 20, stateful_step_count=100 if SOAK else 30, deadline=None
)
