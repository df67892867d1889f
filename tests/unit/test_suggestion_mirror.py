"""Suggestions under concurrent edits: nothing is lost, and a reader has exactly the open ones."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from msgspec import UNSET

from actors.storage.stored import NotCommittedError
from shared.budget import Allowance
from shared.errors import Refused, StorageUnavailable
from shared.feed.mirror import Mirror
from shared.ids import parse_ref
from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.patch.types import is_blank
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadDocumentRequest,
    TextEdit,
    WriteOptions,
    WriteRequest,
    WriteResult,
)
from shared.protocol_suggestions import (
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    SuggestRequest,
    Verdict,
)
from shared.suggestions.edits import Edit
from shared.suggestions.info import SuggestionInfo
from tests.amount import amount
from tests.unit.document_machine import DocumentMachine
from tests.unit.editors import Editor
from tests.unit.mirror_writer import Texts, edit_pairs
from tests.unit.test_mirror import START, Seeded

PLENTY: Final = Allowance(10**9, 10**9, 10**9)
WHOLE: Final = ReadDocumentRequest(format="blocks", max_chars=1_000_000, suggestions="all")
ANN, BOB, SCRIBE, FOLLOWER, JUDGE = (
    Caller(
        name,
        name.title(),
        agent=name == "scribe",
        allowance=PLENTY,
        scopes=frozenset({"write", "suggest", "read"}),
        role="editor",
    )
    for name in ("ann", "bob", "scribe", "follower", "judge")
)
SUGGESTING: Final = WriteOptions(mode="suggest")
_WORD: Final = re.compile(r"\w+")
randoms = st.builds(Seeded, st.integers(0, 2**32 - 1))
deciding = st.sampled_from(["accept", "accept", "accept", "reject"])


class SuggestionMachine(DocumentMachine):
    """Two people type, an agent suggests, somebody decides, a reader follows."""

    @initialize()
    def begin(self) -> None:
        self.begin_with(START, ANN, BOB)
        read = self.run(self.document.read_document(FOLLOWER, WHOLE))
        self.mirror = Mirror(read)
        self.followed: dict[str, SuggestionInfo] = {}
        self.known: Mirror | None = None  # what the agent read, however long ago

    def texts(self) -> Texts:
        return Mirror(self.run(self.document.read_document(FOLLOWER, WHOLE))).texts

    def open_ones(self) -> list[SuggestionInfo]:
        asked = ListSuggestionsRequest(limit=200)
        return list(self.run(self.document.list_suggestions(JUDGE, asked)).suggestions)

    # --- people ---

    @rule(rng=randoms, who=st.integers(0, 1), acts=st.integers(1, 3))
    def edit(self, rng: random.Random, who: int, acts: int) -> None:
        editor = self.editors[who]
        for _ in range(acts):
            editor.act(rng)
        self.now += rng.choice([20, 5_000, 30_000])
        self.run(self.handed_over(editor))

    async def handed_over(self, editor: Editor) -> None:
        editor.hand_over()

    # --- the agent ---

    @rule(rng=randoms)
    def suggest_words(self, rng: random.Random) -> None:
        before = self.texts()
        words = [(one, word) for one, text in before.items() for word in _WORD.findall(text)]
        rng.shuffle(words)
        edits = tuple(
            TextEdit(word, f"{word}{rng.choice(['s', ' more', ''])}", parse_ref(one))
            for one, word in words[: rng.randint(1, 2)]
        )
        self.stored(self.document.suggest(SCRIBE, SuggestRequest(edits)), before)

    @rule(rng=randoms)
    def suggest_write(self, rng: random.Random) -> None:
        before = self.texts()
        some = [parse_ref(one) for one in rng.sample(list(before), 2)] if len(before) > 1 else []
        new = parse(rng.choice(["Fresh.", "Two.\n\nBlocks.", "- a\n- b"])).blocks
        request: WriteRequest
        if not some or some[0] is None or some[1] is None:
            request = InsertRequest(new, "start", SUGGESTING)
        else:
            choices: list[WriteRequest] = [
                InsertRequest(new, some[0], SUGGESTING),
                DeleteRequest((some[0],), SUGGESTING),
                MoveRequest(some[0], some[1], options=SUGGESTING),
            ]
            request = rng.choice(choices)
        verb = type(request).__name__.removesuffix("Request").lower()
        self.stored(getattr(self.document, verb)(SCRIBE, request), before)

    @rule()
    def read(self) -> None:
        self.known = Mirror(self.run(self.document.read_document(SCRIBE, WHOLE)))

    @rule(rng=randoms, mode=st.sampled_from(["suggest", "apply"]))
    def suggest_patch(self, rng: random.Random, mode: Any) -> None:
        """The text as the agent knows it, edited; with `apply` what conflicts is suggested."""
        if self.known is None:
            return
        pairs = [(one, self.known.texts[one]) for one in self.known.order]
        edit_pairs(pairs, rng)
        options = WriteOptions(self.known.cursor, mode, "suggest", allow_large_delete=True)
        request = PatchRequest(parse(join(text for _, text in pairs)).blocks, options=options)
        before = self.texts()
        self.stored(self.document.patch(SCRIBE, request), before if mode == "suggest" else None)
        self.known = None

    def stored(self, call: Any, before: Texts | None) -> None:
        """What was answered is there; the document is as it was."""
        try:
            made: WriteResult = self.run(call)
        except Refused:
            made_ids: set[str] = set()
        else:
            made_ids = set() if made.suggestions is UNSET else set(made.suggestions)
        assert made_ids <= {one.id for one in self.open_ones()}
        if before is not None:
            assert list(self.texts().items()) == list(before.items())

    # --- who decides ---

    @rule(rng=randoms, verdict=deciding, fails=st.sampled_from([False, False, False, True]))
    def decide_one(self, rng: random.Random, verdict: Verdict, fails: bool) -> None:
        if found := self.open_ones():
            one = rng.choice(found).id
            self.decide(DecideRequest(verdict, one), {one}, fails=fails)

    @rule(rng=randoms, verdict=deciding)
    def decide_group(self, rng: random.Random, verdict: Verdict) -> None:
        if found := self.open_ones():
            group = rng.choice(found).group
            members = {one.id for one in found if one.group == group}
            self.decide(DecideRequest(verdict, group=group), members, fails=False)

    def decide(self, request: DecideRequest, about: set[str], *, fails: bool) -> None:
        before, updates = self.texts(), len(self.store.updates)
        open_before = {one.id for one in self.open_ones()}
        live = self.document._keeper.live
        edits = [live.suggestions.get(one).edit for one in about]
        if fails:
            self.store.fail = NotCommittedError("disk full")
        try:
            result: DecideResult = self.run(self.document.decide_suggestion(JUDGE, request))
        except (Refused, StorageUnavailable):
            self.store.fail = None
            assert list(self.texts().items()) == list(before.items())
            assert {one.id for one in self.open_ones()} == open_before
            return
        assert not fails
        assert {one.id for one in self.open_ones()} == open_before - about
        assert {one.id for one in result.decided} >= about
        assert len(self.store.updates) - updates <= 1
        after = self.texts()
        if request.verdict == "reject":
            assert list(after.items()) == list(before.items())
        else:
            self.only_what_was_suggested(before, after, edits)

    def only_what_was_suggested(self, before: Texts, after: Texts, edits: list[Edit]) -> None:
        """Blocks that no accepted edit names are as they were; words of others stay."""
        named = {edit.block_id for edit in edits}
        emptied = all(is_blank(text) for text in after.values())
        for one, text in before.items():
            if one not in named:
                assert after[one] == text
        kept = [one for one in before if one in after and one not in named]
        assert kept == [one for one in after if one in before and one not in named]
        for edit in edits:
            now = before.get(edit.block_id or "")
            if now is None or not edit.new or emptied or len(edits) > 1:
                continue
            came = Counter(_WORD.findall(now)) - Counter(_WORD.findall(edit.base))
            there = Counter(_WORD.findall(" ".join(after.values())))
            assert not came - there, (now, edit)

    # --- who reads, and the server ---

    @rule(max_chars=st.sampled_from([40, 1_000_000]))
    def follow(self, max_chars: int) -> None:
        asked = ReadChangesRequest(cursor=self.mirror.cursor, max_chars=max_chars)
        answer = self.run(self.document.read_changes(FOLLOWER, asked))
        self.mirror.apply(answer)
        for one in () if answer.suggestions is UNSET else answer.suggestions:
            self.followed.pop(one.id, None)
            if one.status == "open":
                self.followed[one.id] = one
        if not answer.more:
            there = {one.id for one in self.open_ones()}
            assert self.followed.keys() == there
            assert self.mirror.texts == self.texts()

    @rule()
    def restart(self) -> None:
        before = self.open_ones()
        self.reopen()
        assert self.open_ones() == before

    def teardown(self) -> None:
        if self.begun:
            self.follow(1_000_000)
        self.end()


SuggestionMirrorTest = SuggestionMachine.TestCase
SuggestionMirrorTest.settings = settings(
    max_examples=amount(20, 200), stateful_step_count=amount(30, 100), deadline=None
)
