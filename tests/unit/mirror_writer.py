"""An agent that holds a copy of a document and writes by it, however old the copy is.

It is held to what it knows: whatever it sends, words of others that it was not shown stay, and
what others deleted stays deleted.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from actors.document.document import Document
from shared.errors import Refused
from shared.feed.mirror import Mirror
from shared.ids import BlockRef, anchor, parse_ref
from shared.markdown.join import anchored, join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.patch.types import heading_level
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    OnConflict,
    PatchRequest,
    Place,
    ReadChangesRequest,
    ReadDocumentRequest,
    ReplaceRequest,
    ReplaceTextRequest,
    TextEdit,
    WriteOptions,
    WriteRequest,
    WriteResult,
)

NEW: Final = [
    "Fresh words here.",
    "## New heading",
    "- a\n- b",
    "> quoted",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
]
WHOLE: Final = ReadDocumentRequest(format="blocks", max_chars=1_000_000)
DISTINCT: Final = 12  # characters: a shorter text says little about which block it is
Texts = dict[str, str]  # of blocks by id, in document order


class Writer:
    """Knows the document as its answers told it; `follow` brings it up to date.

    Attributes:
        certain: The server knows what it was shown: nobody shares its name.
        adrift: It wrote behind a block that others added: where that is, the next answer tells.
    """

    def __init__(
        self, document: Document, caller: Caller, looker: Caller, *, certain: bool = True
    ) -> None:
        self.document = document
        self.caller = caller
        self.looker = looker
        self.refused: Counter[str] = Counter()
        self.written = 0
        self.certain = certain
        self.adrift = False
        self.mirror: Mirror

    async def read(self) -> None:
        self.mirror = Mirror(await self.document.read_document(self.caller, WHOLE))
        self.adrift = False

    async def look(self) -> Texts:
        """The document as it is, shown to somebody else."""
        read = await self.document.read_document(self.looker, WHOLE)
        return Mirror(read).texts

    async def follow(self) -> None:
        request = ReadChangesRequest(cursor=self.mirror.cursor, max_chars=1_000_000)
        self.mirror.apply(await self.document.read_changes(self.caller, request))
        self.adrift = False
        assert await self.document_is(self.mirror)

    async def document_is(self, mirror: Mirror) -> bool:
        now = await self.look()
        return list(now) == mirror.order and now == mirror.texts

    # --- what it writes ---------------------------------------------------------------------------

    async def patch(self, rng: random.Random) -> None:
        """The copy with some edits, or a section of it, sent in one of the ways there are."""
        if self.adrift and len(set(self.mirror.texts.values())) < len(self.mirror.texts):
            await (
                self.follow()
            )  # of two equal blocks, one at a place it guessed, nobody knows which
        mine = {block_id: self.mirror.texts[block_id] for block_id in self.mirror.order}
        section = some_section(mine, rng) if rng.random() < 0.3 and not self.adrift else None
        scope = mine if section is None else subtree(mine, section)
        pairs: list[tuple[str, str]] = list(scope.items())
        edit_pairs(pairs, rng)
        copies = Counter[str]()  # what it says itself to be new
        if rng.random() < 0.3:  # a line above each block that says which it is
            copies.update(text for known, text in pairs if not known)
            lined = [(anchor(known, mine[known]) if known else "", text) for known, text in pairs]
            blocks = parse(anchored(lined)).blocks
        else:
            blocks = parse(join(text for _, text in pairs)).blocks
        named = [known for known, text in pairs if known and mine[known] != text]
        refs = tuple(BlockRef(known, hash_of(mine[known])) for known in named)
        request = PatchRequest(
            blocks,
            refs if rng.random() < 0.2 else (),
            BlockRef(section) if section else None,
            msgspec.structs.replace(self.options(rng), allow_large_delete=True),
        )
        before = await self.look()
        result, now = await self.write(self.document.patch, request, before, rng)
        if result is None:
            return
        check_others(mine, before, now)
        check_gone(scope, before, now, [text for _, text in pairs], copies)
        sent = {known: text for known, text in pairs if known}
        check_left_alone(mine, before, now, sent, Counter(text for _, text in pairs))
        if section is not None:
            outside = before.keys() - subtree(before, section).keys() - scope.keys()
            assert all(now[known] == before[known] for known in outside)
        elif mine == before and list(mine) == list(before) and self.certain:
            assert (result.conflicts, result.kept) == ((), ())
            expected = [render(block.node, block.hints).text for block in blocks]
            assert stripped(now.values()) == stripped(expected)

    async def insert(self, rng: random.Random) -> None:
        places: list[Place] = ["start", "end"]
        if self.mirror.order:
            known = rng.choice(self.mirror.order)
            places = [*places, BlockRef(known), self.ref(known)]
        request = InsertRequest(
            parse(rng.choice(NEW)).blocks, rng.choice(places), self.options(rng)
        )
        before = await self.look()
        result, now = await self.write(self.document.insert, request, before, rng)
        if result is not None:
            assert result.inserted == 1
            assert {known: now.get(known) for known in before} == before

    async def replace(self, rng: random.Random) -> None:
        """A range is written anew, or deleted."""
        if not self.mirror.order:
            return
        start = rng.randrange(len(self.mirror.order))
        end = min(len(self.mirror.order) - 1, start + rng.choice([0, 0, 1, 3]))
        first, last = self.mirror.order[start], self.mirror.order[end]
        text = rng.choice([*NEW, self.mirror.texts[first] + " more", ""])
        mine = dict(self.mirror.texts)
        request = ReplaceRequest(
            self.ref(first),
            None if first == last else self.ref(last),
            parse(text).blocks,
            self.options(rng),
        )
        before = await self.look()
        result, now = await self.write(self.document.replace, request, before, rng)
        if result is not None:
            order = list(before)
            named = set(order[order.index(first) : order.index(last) + 1]) if order else set()
            check_others(mine, before, now, within=named)

    async def delete(self, rng: random.Random) -> None:
        if not self.mirror.order:
            return
        chosen = {rng.choice(self.mirror.order) for _ in range(rng.randrange(1, 3))}
        mine = dict(self.mirror.texts)
        refs = tuple(self.ref(known) if rng.random() < 0.7 else BlockRef(known) for known in chosen)
        before = await self.look()
        result, now = await self.write(
            self.document.delete, DeleteRequest(refs, self.options(rng)), before, rng
        )
        if result is not None:
            check_others(mine, before, now, within=chosen)

    async def move(self, rng: random.Random) -> None:
        if not self.mirror.order:
            return
        chosen, place = rng.choice(self.mirror.order), rng.choice(self.mirror.order)
        section = rng.random() < 0.7 and heading_level(self.mirror.texts[chosen]) > 0
        places: list[Place] = [self.ref(place), BlockRef(place), "start", "end"]
        request = MoveRequest(self.ref(chosen), rng.choice(places), section, self.options(rng))
        before = await self.look()
        result, now = await self.write(self.document.move, request, before, rng)
        if result is not None:
            assert now == before  # the order apart
            assert result.charged == 0

    async def replace_text(self, rng: random.Random) -> None:
        """Of a text, which may span words, lines and marks: once or not at all."""
        known = rng.choice(self.mirror.order or [""])
        if not known:
            return
        text = self.mirror.texts[known]
        start = rng.randrange(len(text))
        edit = TextEdit(
            text[start : start + rng.randrange(1, 30)],
            rng.choice(["x", "", "a *b*"]),
            self.ref(known) if rng.random() < 0.4 else None,
        )
        before = await self.look()
        request = ReplaceTextRequest((edit,), None, self.options(rng))
        await self.write(self.document.replace_text, request, before, rng)

    def options(self, rng: random.Random) -> WriteOptions:
        choices: list[OnConflict | None] = [None, None, "merge", "reject"]
        key = f"key-{rng.randrange(10**9)}" if rng.random() < 0.2 else None
        return WriteOptions(
            base=self.mirror.cursor, on_conflict=rng.choice(choices), idempotency_key=key
        )

    def ref(self, known: str) -> BlockRef:
        """The block as the copy has it."""
        found = parse_ref(anchor(known, self.mirror.texts[known]))
        assert found is not None
        return found

    # --- what comes of it -------------------------------------------------------------------------

    async def write(
        self,
        verb: Callable[[Caller, Any], Awaitable[WriteResult]],
        request: WriteRequest,
        before: Texts,
        rng: random.Random,
    ) -> tuple[WriteResult | None, Texts]:
        """The answer, None when it was refused, and the document then."""
        foreseen = await self.rehearse(verb, request, before) if rng.random() < 0.3 else None
        state = self.document.state_vector()
        try:
            result = await verb(self.caller, request)
        except Refused as error:
            self.refused[error.code] += 1
            assert foreseen is None
            assert self.document.state_vector() == state
            assert await self.look() == before
            return None, before
        assert result.ok
        if foreseen is not None:
            assert counts(foreseen) == counts(result)
        self.written += 1
        now = await self.look()
        assert set(result.removed) == before.keys() - now.keys()
        assert result.inserted == len(now.keys() - before.keys())
        if request.options.idempotency_key is not None:
            again = await verb(self.caller, request)
            assert counts(again) == counts(result)
            assert again.blocks == result.blocks
            assert await self.look() == now
        await self.take_in(result, now)
        return result, now

    async def rehearse(
        self,
        verb: Callable[[Caller, Any], Awaitable[WriteResult]],
        request: WriteRequest,
        before: Texts,
    ) -> WriteResult | None:
        """What a dry run says; it changes nothing."""
        state, head = self.document.state_vector(), self.document.change_seq
        options = msgspec.structs.replace(request.options, dry_run=True, idempotency_key=None)
        try:
            told = await verb(self.caller, msgspec.structs.replace(request, options=options))
        except Refused:
            told = None
        assert (self.document.state_vector(), self.document.change_seq) == (state, head)
        assert await self.look() == before
        return told

    async def take_in(self, result: WriteResult, now: Texts) -> None:
        """The answer into the copy: what was written, where, and where to go on reading."""
        if result.cursor is None:
            await self.read()
            return
        listed = [block.anchor.partition("-")[0] for block in result.blocks]
        for known in {*result.removed, *listed} & self.mirror.texts.keys():
            self.mirror.order.remove(known)
            del self.mirror.texts[known]
        for known, block in zip(listed, result.blocks, strict=True):
            assert block.anchor == anchor(known, now[known])
            assert block.text is UNSET or block.text == now[known]
            order = self.mirror.order
            self.adrift |= not (block.after is None or block.after in order)
            order.insert(order.index(block.after) + 1 if block.after in order else 0, known)
            self.mirror.texts[known] = now[known]
        self.mirror.cursor = result.cursor
        if not result.behind:
            assert await self.document_is(self.mirror)
        elif not self.certain:  # that it has its own blocks already may be known to nobody else
            await self.follow()


# --- what must hold ------------------------------------------------------------------------------


def check_others(mine: Texts, before: Texts, now: Texts, within: Iterable[str] = ()) -> None:
    """Nothing that its author did not know is lost.

    `within`: the blocks it named, all others stay as they were; empty: it may touch all it knew.
    """
    named = set(within)
    for known, text in before.items():
        if known not in mine or (named and known not in named):
            assert now.get(known) == text, (known, text, now.get(known))
        elif text != mine[known]:
            assert known in now, (known, text)
            written = Counter(words(text)) - Counter(words(mine[known]))
            assert written <= Counter(words(now[known])), (mine[known], text, now[known])


def check_gone(
    mine: Texts, before: Texts, now: Texts, sent: Sequence[str], copies: Counter[str]
) -> None:
    """What others deleted does not come back."""
    gone = mine.keys() - before.keys()
    assert not gone & now.keys()
    had, was, asked, has = (
        Counter(t) for t in (mine.values(), before.values(), sent, now.values())
    )
    for text in (mine[known] for known in gone):
        if len(text) >= DISTINCT and asked[text] <= had[text]:  # it wrote no copy of its own
            assert has[text] <= was[text] + copies[text], text


def check_left_alone(
    mine: Texts, before: Texts, now: Texts, sent: Mapping[str, str], asked: Counter[str]
) -> None:
    """A block its author left alone is as others made it; equal texts could be either."""
    had = Counter(mine.values())
    for known, text in sent.items():
        alone = text == mine[known] and had[text] == asked[text] == 1
        if alone and known in before and len(text) >= DISTINCT:
            assert now.get(known) == before[known], (text, before[known], now.get(known))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def counts(result: WriteResult) -> tuple[object, ...]:
    conflicts = [(one.anchor, one.reason) for one in result.conflicts]
    return (
        *(result.replaced, result.inserted, result.deleted, result.moved, result.charged),
        *(result.kept, conflicts, result.removed),
    )


def hash_of(text: str) -> str:
    return anchor("00000000", text).partition("-")[2]


def some_section(texts: Texts, rng: random.Random) -> str | None:
    headings = [known for known, text in texts.items() if heading_level(text) > 0]
    return rng.choice(headings) if headings else None


def subtree(texts: Texts, section: str) -> Texts:
    """A heading and everything under it; nothing when it is no heading any more."""
    found: Texts = {}
    top = heading_level(texts.get(section, ""))
    for known, text in texts.items():
        level = heading_level(text)
        if known == section:
            found[known] = text
        elif found and level and level <= top:
            return found
        elif found:
            found[known] = text
    return found if top else {}


def edit_pairs(pairs: list[tuple[str, str]], rng: random.Random) -> None:
    """What an agent does to blocks it knows: ids with texts; new ones have no id."""
    for _ in range(rng.randrange(0, 4)):
        at = rng.randrange(len(pairs) + 1)
        act = rng.randrange(6)
        if act == 0 or at == len(pairs):
            pairs.insert(at, ("", rng.choice(NEW)))
        elif act == 1 and len(pairs) > 2:
            del pairs[at]
        elif act == 2 and len(pairs) > 1:
            pairs.insert(rng.randrange(len(pairs)), pairs.pop(at))
        elif act == 3 and len(pairs) > 3:  # "[... the rest]" that is not even said
            del pairs[at:]
        elif pairs[at][1][:1].isalpha():
            known, text = pairs[at]
            cut = rng.choice([len(text), text.find(" ") % (len(text) + 1)])
            pairs[at] = (known, text[:cut] + " added" + text[cut:])


def stripped(texts: Iterable[str]) -> list[str]:
    told = list(texts)
    while told and told[-1] in ("", "&nbsp;"):
        told.pop()
    return told
