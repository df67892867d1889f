"""The mirror holds for threads: read once, follow, and have exactly those the document has."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from actors.storage.stored import CommitUnknownError, NotCommittedError
from shared.discussion.quotes import needle_of
from shared.errors import DocactorError, InvalidArgument, StorageUnavailable
from shared.ids import BlockRef
from shared.protocol import Caller, ReadChangesRequest, ReadDocumentRequest, ReadDocumentResult
from shared.protocol_chat import (
    DeleteMessageRequest,
    EditMessageRequest,
    PostChatMessageRequest,
    ReplyRequest,
    ResolveThreadRequest,
    ThreadInfo,
    ToldMessage,
)
from shared.protocol_history import RestoreRequest, SaveVersionRequest
from tests.amount import amount
from tests.unit.document_machine import DocumentMachine
from tests.unit.mirror_writer import Writer
from tests.unit.test_mirror import (
    ANN,
    BOB,
    FOLLOWER,
    LOOKER,
    PLENTY,
    RESTORER,
    SLOW,
    START,
    randoms,
    verbs,
)

OPEN = ReadDocumentRequest(format="markdown", max_chars=1_000_000)
ALL = ReadDocumentRequest(format="markdown", max_chars=1_000_000, threads="all")
SCRIBE = Caller("a-scribe", "Scribe", agent=True, allowance=PLENTY)
WHO = st.sampled_from([ANN, BOB, SLOW])


class ThreadMirror:
    """What a reader has of the threads, from what it was told."""

    def __init__(self, read: ReadDocumentResult) -> None:
        self.cursor = read.cursor
        self.threads: dict[str, ThreadInfo] = {}
        self.messages: dict[str, dict[str, ToldMessage]] = {}
        self.told(read.threads or ())

    def told(self, threads: tuple[ThreadInfo, ...]) -> None:
        for one in threads:
            self.threads[one.thread_id] = one
            mine = self.messages.setdefault(one.thread_id, {})
            mine |= {message.message_id: message for message in one.messages}

    def state(self) -> Any:
        return {
            one.thread_id: (
                (one.section_id, one.resolved, one.quote, one.block_id),
                sorted(self.messages[one.thread_id].values(), key=lambda message: message.seq),
            )
            for one in self.threads.values()
        }


class ThreadMachine(DocumentMachine):
    """Two editors, an agent that writes, three who talk, and two readers, one of which pages."""

    @initialize()
    def begin(self) -> None:
        self.begin_with(START, ANN, BOB)
        self.writer = Writer(self.document, SCRIBE, LOOKER)
        self.run(self.writer.read())
        self.saved = 0
        self.mirror = ThreadMirror(self.run(self.document.read_document(FOLLOWER, ALL)))
        self.slow = ThreadMirror(self.run(self.document.read_document(SLOW, ALL)))

    pace_ms = 50

    # --- the text ---

    @rule(rng=randoms, who=st.integers(0, 1), acts=st.integers(1, 3))
    def edit(self, rng: random.Random, who: int, acts: int) -> None:
        async def change() -> None:
            for _ in range(acts):
                self.editors[who].act(rng)
            self.editors[who].hand_over()
            await self.document._keeper.committer.settled()

        self.run(change())

    @rule(who=st.integers(0, 1))
    def pull(self, who: int) -> None:
        self.editors[who].pull()

    @rule(rng=randoms, verb=verbs)
    def write(self, rng: random.Random, verb: str) -> None:
        self.run(getattr(self.writer, verb)(rng))

    @rule()
    def follow_as_writer(self) -> None:
        self.run(self.writer.follow())

    @rule(number=st.integers(0, 3))
    def save_or_go_back(self, number: int) -> None:
        """Threads are no part of a version: what was said since is there after a restore, too."""
        if number >= self.saved:
            self.saved += 1
            request = SaveVersionRequest(f"name {self.saved - 1}")
            self.run(self.document.save_version(RESTORER, request))
            return
        said = self.said()
        self.run(self.document.restore(RESTORER, RestoreRequest(f"name {number}")))
        assert self.said() == said

    def said(self) -> dict[str, tuple[bool, tuple[ToldMessage, ...]]]:
        read = self.run(self.document.read_document(LOOKER, ALL))
        return {one.thread_id: (one.resolved, one.messages) for one in read.threads or ()}

    # --- what is said ---

    @rule(rng=randoms, who=WHO, about=st.booleans())
    def post(self, rng: random.Random, who: Any, about: bool) -> None:
        live = self.document._keeper.live
        headings = live.headings()
        heading = rng.choice(headings) if headings else None
        quote = None
        if about:
            block = rng.choice(live.index.ids)
            lines = live.textblocks.flat(block).text.split("\n")
            line = rng.choice(lines)
            start = rng.randrange(len(line) + 1)
            quote = line[start : start + rng.randint(1, 12)]
            before = [one for one in headings if one.position < (live.index.position(block) or 0)]
            heading = before[-1] if before else heading
        section = None if heading is None else BlockRef(heading.block_id)
        request = PostChatMessageRequest(f"said {rng.random()}", section, quote)
        try:
            self.run(self.document.post_chat_message(who, request))
        except InvalidArgument as error:
            assert error.message.startswith("quote: ")

    @rule(rng=randoms, who=WHO, act=st.sampled_from(["reply", "edit", "delete", "resolve"]))
    def talk(self, rng: random.Random, who: Any, act: str) -> None:
        live = self.document._keeper.live
        threads = list(live.discussion.threads)
        if not threads:
            return
        thread = rng.choice(threads)
        message = rng.choice(live.discussion.messages(thread)).message_id
        text = f"more {rng.random()}"
        calls: dict[str, tuple[Any, Any]] = {
            "reply": (self.document.reply, ReplyRequest(thread, text)),
            "edit": (self.document.edit_message, EditMessageRequest(message, text)),
            "delete": (self.document.delete_message, DeleteMessageRequest(message)),
            "resolve": (
                self.document.resolve_thread,
                ResolveThreadRequest(thread, rng.random() < 0.6),
            ),
        }
        verb, request = calls[act]
        try:
            self.run(verb(who, request))
        except DocactorError as error:
            assert error.code in ("not_author", "thread_not_found"), error

    # --- readers ---

    @rule()
    def follow(self) -> None:
        self.next_answer(self.mirror, 1_000_000)
        self.same(self.mirror)

    @rule(max_chars=st.sampled_from([1, 60, 300]))
    def page(self, max_chars: int) -> None:
        if not self.next_answer(self.slow, max_chars):
            self.same(self.slow)

    @rule()
    def the_open_ones(self) -> None:
        """What is shown by default is what is not resolved of all."""
        read, every = (self.run(self.document.read_document(LOOKER, one)) for one in (OPEN, ALL))
        assert (read.threads or ()) == tuple(one for one in every.threads or () if not one.resolved)

    @rule(who=WHO)
    def leave_out_own(self, who: Any) -> None:
        """Whom it is left out for hears of every thread that others did something in."""
        both = [
            self.run(
                self.document.read_changes(
                    who,
                    ReadChangesRequest(
                        self.mirror.cursor, 1_000_000, exclude_self=exclude, look=True
                    ),
                )
            )
            for exclude in (False, True)
        ]
        all_told, others = (
            {
                (one.thread_id, message.message_id)
                for one in answer.threads or ()
                for message in one.messages
                if message.by != who.name
            }
            for answer in both
        )
        assert others == all_told
        for one in both[1].threads or ():
            assert all(message.by != who.name for message in one.messages)

    def next_answer(self, mirror: ThreadMirror, max_chars: int) -> bool:
        request = ReadChangesRequest(cursor=mirror.cursor, max_chars=max_chars)
        answer = self.run(self.document.read_changes(FOLLOWER, request))
        assert not answer.truncated
        assert answer.cursor != mirror.cursor or not answer.more
        mirror.cursor = answer.cursor
        mirror.told(answer.threads or ())
        return bool(answer.more)

    def same(self, mirror: ThreadMirror) -> None:
        read = self.run(self.document.read_document(LOOKER, ALL))
        assert mirror.state() == ThreadMirror(read).state()

    # --- the server ---

    @rule()
    def restart(self) -> None:
        before = self.run(self.document.read_document(LOOKER, ALL)).threads
        self.reopen()
        assert self.run(self.document.read_document(LOOKER, ALL)).threads == before

    def open_again(self) -> None:
        super().open_again()
        self.writer.document = self.document

    @rule(rng=randoms, edits=st.booleans(), stored=st.booleans())
    def commit_fails(self, rng: random.Random, edits: bool, stored: bool) -> None:
        """Nothing that was not told is there afterwards; what was told is."""

        async def go_wrong() -> None:
            if stored:
                self.store.fail_after = CommitUnknownError("fsync")
            else:
                self.store.fail = NotCommittedError("disk full")
            try:
                if edits:
                    self.editors[0].act(rng)
                    self.editors[0].hand_over()
                    await self.document._keeper.committer.settled()
                else:
                    headings = self.document._keeper.live.headings()
                    section = BlockRef(headings[0].block_id) if headings else None
                    await self.document.post_chat_message(
                        ANN, PostChatMessageRequest("lost?", section)
                    )
            except StorageUnavailable:
                assert not stored
            await self.document._keeper.when_ready()
            while self.document.degraded:  # noqa: ASYNC110  the probe of the double takes a turn
                await asyncio.sleep(0)
            self.store.fail = self.store.fail_after = None
            self.editors[0].answer()
            await self.document._keeper.committer.settled()
            await self.writer.read()  # what it was shown went with the memory that failed

        self.run(go_wrong())

    @invariant()
    def every_quote_stands_where_it_is_said_to(self) -> None:
        if not self.begun:
            return
        live = self.document._keeper.live
        for one in live.discussion.threads.values():
            if one.quote is not None and one.place is not None:
                flat = live.textblocks.flat(one.place.block_id)
                start = flat.start_of(one.place)
                assert start is not None
                stands = flat.text[start : start + one.place.end - one.place.start]
                assert stands == needle_of(one.quote)

    def teardown(self) -> None:
        if self.begun:
            while self.next_answer(self.slow, 1_000):
                pass
            self.follow()
            self.same(self.slow)
        self.end()


ThreadMirrorTest = ThreadMachine.TestCase
ThreadMirrorTest.settings = settings(
    max_examples=amount(15, 100), stateful_step_count=amount(30, 100), deadline=None
)
