"""Suggestions of a document: made, listed, accepted onto whatever the text is by then."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from actors.storage.stored import CommitUnknownError, NotCommittedError
from shared.budget import Allowance
from shared.errors import (
    CapabilityDenied,
    DocumentCorrupt,
    FindNotMatched,
    InvalidArgument,
    NotUnique,
    RateLimited,
    StaleBlock,
    StorageUnavailable,
    SuggestionNotFound,
    TooLarge,
)
from shared.limits import MAX_OPEN_SUGGESTIONS
from shared.protocol import Caller, WriteResult
from shared.suggestions import register
from tests.unit.documents import ANN, JUDGE, OTHER, SCRIBE, Bench, anchors

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nThe first step is small.\n\nThe second step is large.\n"


def ids(result: WriteResult) -> tuple[str, ...]:
    assert result.suggestions is not UNSET
    return result.suggestions


async def test_a_suggestion_changes_nothing_and_is_listed() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    made = await bench.suggest(("small", "tiny"), ("large", "huge"), note="sizes")
    assert (made.replaced, made.charged, made.behind) == (0, 8, False)
    assert await bench.markdown() == TEXT
    assert anchors(await bench.read()) == anchors(read)
    first, second = await bench.suggestions(ANN)
    assert (first.id, second.id) == ids(made)
    assert first.group == second.group == made.group
    assert (first.kind, first.old, first.new, first.note) == ("text", "small", "tiny", "sizes")
    assert (first.by, first.mine, first.status, first.decided_by) == (
        "Scribe",
        False,
        "open",
        UNSET,
    )
    assert first.anchor == anchors(read)[1]


async def test_accepting_is_a_write_of_who_accepts_and_names_the_author() -> None:
    bench = await Bench.of(TEXT)
    cursor = (await bench.read(ANN)).cursor
    one, other = ids(await bench.suggest(("small", "tiny"), ("large", "huge")))
    bench.now += 1000
    done = await bench.decide("accept", one)
    assert (done.replaced, done.charged) == (1, 0)
    assert [(d.id, d.status, d.by, d.decided_by) for d in done.decided] == [
        (one, "accepted", "Scribe", "Judge")
    ]
    assert done.blocks[0].text == "The first step is tiny."
    assert "tiny" in await bench.markdown()
    (told,) = (await bench.changes(cursor, ANN)).blocks
    assert told.by == ("Judge",)
    (left,) = await bench.suggestions()
    assert left.id == other
    (taken,) = await bench.suggestions(status="accepted")
    assert (taken.by, taken.decided_by) == ("Scribe", "Judge")
    assert taken.decided_at != taken.at


async def test_rejecting_changes_no_text() -> None:
    bench = await Bench.of(TEXT)
    (one,) = ids(await bench.suggest(("small", "tiny")))
    done = await bench.decide("reject", one)
    assert done.decided[0].status == "rejected"
    assert await bench.markdown() == TEXT
    assert await bench.suggestions() == ()


async def test_an_accepted_one_is_brought_onto_the_text_of_now() -> None:
    bench = await Bench.of(TEXT)
    (one,) = ids(await bench.suggest(("first", "earliest")))
    await bench.type(1, " And cheap.")
    await bench.paragraph(1, "Before it")
    await bench.decide("accept", one)
    assert "Before it\n\nThe earliest step is small. And cheap.\n" in await bench.markdown()


async def test_what_cannot_be_brought_onto_it_says_so_and_stays() -> None:
    bench = await Bench.of(TEXT)
    (one,) = ids(await bench.suggest(("small", "tiny")))
    await bench.replace_text(("is small", "was not so minor"), caller=ANN)
    with pytest.raises(StaleBlock) as refused:
        await bench.decide("accept", one)
    (told,) = refused.value.data["suggestions"]
    assert (told["id"], told["reason"]) == (one, "changed")
    assert told["theirs"] == "The first step was not so minor."
    assert told["yours"] == "The first step is tiny."
    assert [s.id for s in await bench.suggestions()] == [one]
    await bench.decide("reject", one)


async def test_a_block_that_is_gone() -> None:
    bench = await Bench.of(TEXT)
    (one,) = ids(await bench.suggest(("small", "tiny")))
    read = await bench.read(ANN)
    (gone,) = ids(await bench.delete(anchors(read)[1], mode="suggest", caller=ANN))
    await bench.erase(1)
    with pytest.raises(StaleBlock) as refused:
        await bench.decide("accept", one)
    assert refused.value.data["suggestions"][0]["reason"] == "deleted"
    done = await bench.decide("accept", gone)  # it is gone already
    assert (done.deleted, done.decided[0].status) == (0, "accepted")


async def test_neighbouring_words_of_two_suggestions_are_both_accepted() -> None:
    bench = await Bench.of(TEXT)
    one, other = ids(await bench.suggest(("first", "1st"), ("step is small", "stage is small")))
    await bench.decide("accept", one)
    await bench.decide("accept", other)
    assert "The 1st stage is small." in await bench.markdown()


async def test_a_group_is_one_transaction_or_nothing() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.suggest(("small", "tiny"), ("large", "huge"))
    await bench.replace_text(("is large", "grew beyond"), caller=ANN)
    updates = len(bench.store.updates)
    with pytest.raises(StaleBlock) as refused:
        await bench.decide("accept", group=str(made.group))
    assert [told["id"] for told in refused.value.data["suggestions"]] == [ids(made)[1]]
    assert "small" in await bench.markdown()
    await bench.decide("reject", ids(made)[1])
    done = await bench.decide("accept", group=str(made.group))
    assert {one.id: one.status for one in done.decided} == {
        ids(made)[0]: "accepted",
        ids(made)[1]: "rejected",
    }
    assert len(bench.store.updates) == updates + 1


async def test_two_of_a_group_in_one_block_go_in_together() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.suggest(("first", "earliest"), ("small", "tiny"))
    updates = len(bench.store.updates)
    done = await bench.decide("accept", group=str(made.group))
    assert done.replaced == 1
    assert "The earliest step is tiny." in await bench.markdown()
    assert len(bench.store.updates) == updates + 1


async def test_a_second_decision() -> None:
    bench = await Bench.of(TEXT)
    one, other = ids(await bench.suggest(("small", "tiny"), ("large", "huge")))
    await bench.decide("accept", one)
    again = await bench.decide("accept", one)
    assert (again.replaced, again.decided[0].status) == (0, "accepted")
    with pytest.raises(SuggestionNotFound) as refused:
        await bench.decide("reject", one)
    assert refused.value.data["status"] == "accepted"
    assert refused.value.data["decided_by"] == "Judge"
    await bench.decide("reject", other)
    with pytest.raises(SuggestionNotFound, match="rejected"):
        await bench.decide("accept", other)
    assert "huge" not in await bench.markdown()


async def test_unknown_ones_and_both_or_none_named() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.suggest(("small", "tiny"))
    with pytest.raises(SuggestionNotFound):
        await bench.decide("accept", "s999")
    with pytest.raises(SuggestionNotFound):
        await bench.decide("accept", group="g999")
    with pytest.raises(InvalidArgument):
        await bench.decide("accept")
    with pytest.raises(InvalidArgument):
        await bench.decide("accept", ids(made)[0], group=str(made.group))


async def test_who_may_decide() -> None:
    mine = Caller(
        "scribe", "Scribe", agent=True, scopes=frozenset({"read", "suggest"}), role="editor"
    )
    theirs = msgspec.structs.replace(mine, principal="third", name="Third")
    bench = await Bench.of(TEXT)
    one, other = ids(await bench.suggest(("small", "tiny"), ("large", "huge"), caller=mine))
    with pytest.raises(CapabilityDenied):
        await bench.decide("accept", one, caller=mine)
    with pytest.raises(CapabilityDenied):
        await bench.decide("reject", one, caller=theirs)
    assert (await bench.decide("reject", one, caller=mine)).decided[0].status == "rejected"
    assert (await bench.decide("accept", other)).replaced == 1


async def test_quotes_are_found_as_replace_text_finds_them() -> None:
    bench = await Bench.of(TEXT)
    with pytest.raises(FindNotMatched):
        await bench.suggest(("sma1l", "tiny"))
    with pytest.raises(NotUnique):
        await bench.suggest(("step", "stage"))
    with pytest.raises(InvalidArgument, match=r"edits\[1\].new_text"):
        await bench.suggest(("small", "tiny"), ("large", "large"))
    with pytest.raises(InvalidArgument, match="overlap"):
        await bench.suggest(("is small", "was"), ("small", "tiny"))
    assert await bench.suggestions() == ()


async def test_a_quote_may_become_blocks_or_nothing() -> None:
    bench = await Bench.of(TEXT)
    paragraphs = ("The first step is small.", "One.\n\nThe first step is tiny.\n\nThree.")
    made = await bench.suggest(paragraphs, ("The second step is large.", ""))
    done = await bench.decide("accept", group=str(made.group))
    assert (done.replaced, done.inserted, done.deleted) == (1, 2, 1)
    assert await bench.markdown() == "# Plan\n\nOne.\n\nThe first step is tiny.\n\nThree.\n"


async def test_they_outlive_a_restart_and_a_commit_that_failed() -> None:
    bench = await Bench.of(TEXT)
    one, other = ids(await bench.suggest(("small", "tiny"), ("large", "huge"), note="why"))
    await bench.decide("reject", other)
    before = await bench.suggestions(status="all")
    await bench.restart()
    assert await bench.suggestions(status="all") == before
    for failure in (NotCommittedError("disk full"), CommitUnknownError("fsync")):
        bench.store.fail = failure
        with pytest.raises(StorageUnavailable):
            await bench.decide("accept", one)
        assert await bench.suggestions(status="all") == before
        assert await bench.markdown() == TEXT
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await bench.suggest(("first", "last"))
    assert await bench.suggestions(status="all") == before
    await bench.decide("accept", one)
    assert "tiny" in await bench.markdown()


async def test_a_row_that_cannot_be_read_is_a_damaged_document() -> None:
    bench = await Bench.of(TEXT)
    (one,) = ids(await bench.suggest(("small", "tiny")))
    rows = bench.store.annotations.suggestions
    rows[one] = msgspec.structs.replace(rows[one], data=b"\xc1")
    with pytest.raises(DocumentCorrupt):
        await bench.restart()


async def test_so_many_may_be_open() -> None:
    unlimited = Caller("mill", "Mill", agent=True, allowance=Allowance(None, None, None))
    words = [f"word{n:03}" for n in range(100)]
    bench = await Bench.of(" ".join(words) + "\n")
    (anchor,) = anchors(await bench.read())
    for _ in range(MAX_OPEN_SUGGESTIONS // 100):
        edits = [(word, f"{word}x") for word in words]
        await bench.suggest(*edits, caller=unlimited, anchor=anchor)
    with pytest.raises(TooLarge, match="open suggestions"):
        await bench.suggest((words[-1], "y"), caller=unlimited)


async def test_it_is_charged_like_its_text_and_once_under_its_key() -> None:
    poor = msgspec.structs.replace(SCRIBE, allowance=Allowance(10, 6))
    bench = await Bench.of(TEXT)
    made = await bench.suggest(("small", "tiny"), caller=poor, idempotency_key="k")
    assert made.remaining is not UNSET
    assert made.remaining.chars == 2
    again = await bench.suggest(("small", "tiny"), caller=poor, idempotency_key="k")
    assert ids(again) == ids(made)
    with pytest.raises(RateLimited):
        await bench.suggest(("large", "huge"), caller=poor)
    assert len(await bench.suggestions()) == 1


async def test_pages_of_them() -> None:
    bench = await Bench.of(TEXT)
    made = [*ids(await bench.suggest(("first", "1"), ("small", "2")))]
    made += ids(await bench.suggest(("second", "3"), ("large", "4")))
    first = await bench.suggestions(limit=3)
    assert [one.id for one in first] == made[:3]
    rest = await bench.suggestions(limit=3, after=made[2])
    assert [one.id for one in rest] == made[3:]


async def test_what_a_reader_is_shown_of_them() -> None:
    bench = await Bench.of(TEXT)
    (mine,) = ids(await bench.suggest(("small", "tiny")))
    (other,) = ids(await bench.suggest(("large", "huge"), caller=OTHER))

    async def shown(**arguments: Any) -> list[str]:
        found = (await bench.read(**arguments)).suggestions
        return [] if found is UNSET else [one.id for one in found]

    assert await shown() == [mine]
    assert await shown(suggestions="all") == [mine, other]
    assert await shown(suggestions="none") == []
    await bench.decide("accept", mine)
    assert await shown(suggestions="all") == [other]


async def test_read_changes_tells_of_them_with_the_same_cursor() -> None:
    bench = await Bench.of(TEXT)
    cursor = (await bench.read(ANN)).cursor
    (one,) = ids(await bench.suggest(("small", "tiny")))
    told = await bench.changes(cursor, ANN)
    assert told.blocks == ()
    assert told.suggestions is not UNSET
    assert [(s.id, s.status) for s in told.suggestions] == [(one, "open")]
    assert (await bench.changes(told.cursor, ANN)).suggestions is UNSET
    await bench.decide("accept", one)
    later = await bench.changes(told.cursor, ANN)
    assert later.suggestions is not UNSET
    assert [(s.id, s.status) for s in later.suggestions] == [(one, "accepted")]
    assert [block.change for block in later.blocks] == ["changed"]
    own = await bench.changes(told.cursor, JUDGE, exclude_self=True)
    assert own.suggestions is UNSET


async def test_who_suggests_goes_on_behind_their_own_suggestion() -> None:
    bench = await Bench.of(TEXT)
    cursor = (await bench.read()).cursor
    made = await bench.suggest(("small", "tiny"), base=cursor)
    assert made.cursor is not None
    assert made.cursor > cursor
    assert (await bench.changes(made.cursor)).suggestions is UNSET
    done = await bench.patch("# Plan\n\nThe first step is small.\n", base=made.cursor)
    assert (done.deleted, done.behind) == (1, False)


async def test_of_those_decided_long_ago_only_the_fact_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(register, "MAX_DECIDED_TEXTS", 2)
    bench = await Bench.of(TEXT)
    cursor = (await bench.read()).cursor
    for word in ("tiny", "little", "short", "mini"):
        (made,) = ids(await bench.suggest(("small", word), note="size"))
        await bench.decide("reject", made)

    async def told() -> list[tuple[Any, ...]]:
        found = await bench.suggestions(ANN, status="rejected")
        return [(one.new, one.note, one.cut, one.decided_by) for one in found]

    kept = [
        (UNSET, UNSET, True, "Judge"),
        (UNSET, UNSET, True, "Judge"),
        ("short", "size", UNSET, "Judge"),
        ("mini", "size", UNSET, "Judge"),
    ]
    assert await told() == kept
    await bench.restart()
    assert await told() == kept
    changes = await bench.changes(cursor)
    assert changes.suggestions is not UNSET
    assert [one.status for one in changes.suggestions] == ["rejected"] * 4
