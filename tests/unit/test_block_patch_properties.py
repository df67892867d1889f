"""What holds for every patch."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from shared.errors import BaseRequired, DocactorError, EmptyPatch, LargeDelete, StaleBlock
from shared.ids import BlockRef, text_hash
from shared.patch.patch import plan_patch
from shared.patch.types import (
    NOTHING_SEEN,
    NewBlock,
    Plan,
    Replace,
    Seen,
    SeenBlock,
    digest_of,
    is_blank,
)
from shared.protocol import WriteOptions
from tests.unit.patch_world import (
    MERGER,
    Doc,
    after,
    block_id,
    doc,
    documents,
    present,
    saw,
    sent,
    sentences,
    texts,
)

ANYTHING = WriteOptions(allow_large_delete=True)


def shown(document: Doc) -> list[str]:
    """The texts a reader gets: no empty paragraphs at the end."""
    found = texts(document)
    while found and is_blank(found[-1]):
        found.pop()
    return found


def plan_of(now: Doc, new: list[NewBlock], seen: Seen) -> Plan:
    return plan_patch(present(now), new, seen, merger=MERGER, options=ANYTHING)


def plan_or_none(now: Doc, new: list[NewBlock], seen: Seen) -> Plan | None:
    try:
        return plan_of(now, new, seen)
    except EmptyPatch:
        return None


@st.composite
def edited(draw: st.DrawFn, start: Doc, prefix: str, moves: bool = True) -> Doc:
    """A document after some edits of one author. New blocks have ids that begin with `prefix`."""
    now = list(start)
    for number in range(draw(st.integers(0, 5))):
        kinds = ["insert"] if not now else ["insert", "delete", "rewrite", "word", "word"]
        kind = draw(st.sampled_from(kinds + (["move"] if now and moves else [])))
        at = draw(st.integers(0, len(now) - (kind != "insert")))
        if kind == "insert":
            now.insert(at, (block_id(f"{prefix}{number}x"), draw(sentences())))
        elif kind == "delete":
            del now[at]
        elif kind == "rewrite":
            now[at] = (now[at][0], draw(sentences()))
        elif kind == "word":
            words = now[at][1].split(" ")
            words[draw(st.integers(0, len(words) - 1))] = f"{prefix}{number}"
            now[at] = (now[at][0], " ".join(words))
        else:
            now.insert(draw(st.integers(0, len(now) - 1)), now.pop(at))
    return now


@given(documents(), st.data())
def test_the_document_reads_as_sent_when_all_was_seen_and_nobody_else_wrote(
    start: Doc, data: st.DataObject
) -> None:
    wanted = shown(data.draw(edited(start, "q")))
    plan = plan_or_none(start, sent(*wanted), saw(start))
    if plan is None:
        return
    assert shown(after(start, plan)) == wanted
    assert not plan.conflicts
    assert not plan.kept


@given(documents(), documents())
def test_two_unrelated_documents_become_one_another(start: Doc, other: Doc) -> None:
    wanted = shown(other)
    plan = plan_or_none(start, sent(*wanted), saw(start))
    if plan is not None:
        assert shown(after(start, plan)) == wanted


@given(documents(), st.data())
def test_unchanged_blocks_keep_their_ids(start: Doc, data: st.DataObject) -> None:
    wanted = shown(data.draw(edited(start, "q")))
    plan = plan_or_none(start, sent(*wanted), saw(start))
    assume(plan is not None and wanted)
    assert plan is not None
    result = dict(after(start, plan))
    before, then = Counter(texts(start)), Counter(wanted)
    for i, text in start:
        if before[text] == then[text] == 1 and not is_blank(text):
            assert result.get(i) == text


@given(documents(), st.booleans())
def test_a_patch_with_what_was_read_does_nothing(start: Doc, based: bool) -> None:
    seen = saw(start) if based else NOTHING_SEEN
    plan = plan_of(start, sent(*shown(start)), seen)
    assert plan == Plan()


@given(documents(), st.data())
def test_a_patch_sent_twice_does_nothing_the_second_time(start: Doc, data: st.DataObject) -> None:
    wanted = shown(data.draw(edited(start, "q")))
    plan = plan_or_none(start, sent(*wanted), saw(start))
    assume(plan is not None)
    assert plan is not None
    result = after(start, plan)
    again = plan_of(result, sent(*wanted), saw(start))
    if max(Counter([*texts(start), None]).values()) == max(Counter([*wanted, None]).values()) == 1:
        assert again.ops == ()
    twice = Counter(texts(after(result, again)))
    assert all(n <= max(1, Counter(texts(result))[text]) for text, n in twice.items())


@given(documents(), st.data())
def test_what_others_did_meanwhile_stays(start: Doc, data: st.DataObject) -> None:
    theirs = data.draw(edited(start, "p"))
    mine = data.draw(edited(start, "q"))
    wanted = shown(mine)
    plan = plan_or_none(theirs, sent(*wanted), saw(start))
    if plan is None:
        return
    result = dict(after(theirs, plan))
    before, now = dict(start), dict(theirs)
    disputed = {conflict.anchor[:8] for conflict in plan.conflicts}
    merged = {op.block_id for op in plan.ops if isinstance(op, Replace) and op.merged}
    for i, text in now.items():
        if i not in before:  # added since: never deleted, never rewritten
            assert result[i] == text
        elif text != before[i]:  # edited since: as it is, or merged
            assert i in result
            assert result[i] == text or i in merged
            if i in merged:
                new_words = set(text.split()) - set(before[i].split())
                assert new_words <= set(result[i].split())
        elif i in result and result[i] == text:
            continue
        else:  # only the author of the patch changed it
            assert i not in disputed


SAYINGS = ["words of one kind", "words of another kind", "something else altogether"]


@given(st.lists(st.sampled_from(SAYINGS), min_size=2, max_size=8), st.data())
def test_edits_of_different_blocks_are_all_made_however_many_say_the_same(
    said: list[str], data: st.DataObject
) -> None:
    """They may even be made alike by the two edits."""
    start = doc(*said)
    whose = [data.draw(st.sampled_from(["mine", "theirs", "nobody's"])) for _ in said]

    def lengthened(by: set[str]) -> Doc:
        edits = zip(start, whose, strict=True)
        return [(i, f"{text} and more" if who in by else text) for (i, text), who in edits]

    theirs = lengthened({"theirs"})
    plan = plan_of(theirs, sent(*texts(lengthened({"mine"}))), saw(start))
    assert plan.conflicts == ()
    assert after(theirs, plan) == lengthened({"mine", "theirs"})


@given(documents(), st.data())
def test_what_others_deleted_and_the_author_left_alone_stays_deleted(
    start: Doc, data: st.DataObject
) -> None:
    theirs = data.draw(edited(start, "p"))
    plan = plan_or_none(theirs, sent(*shown(start)), saw(start))
    if plan is None:
        return
    assert plan.ops == ()
    assert plan.conflicts == ()


@given(documents(), st.data())
def test_every_word_of_the_author_is_written_or_reported(start: Doc, data: st.DataObject) -> None:
    theirs = data.draw(edited(start, "p"))
    wanted = shown(data.draw(edited(start, "q")))
    plan = plan_or_none(theirs, sent(*wanted), saw(start))
    if plan is None:
        return
    result = after(theirs, plan)
    told = texts(result) + [conflict.yours or "" for conflict in plan.conflicts]
    new_words = {word for text in wanted for word in text.split() if word.startswith("q")}
    for word in new_words - {w for text in texts(start) for w in text.split()}:
        assert any(word in text.split() for text in told), word


@st.composite
def sights(draw: st.DrawFn, start: Doc) -> tuple[Seen, set[str], list[BlockRef]]:
    """Any mixture of views, base and anchors, and the ids that may be deleted by it."""
    chosen = [i for i, _ in start if draw(st.booleans())]
    digests = {i: digest_of(text) for i, text in start}
    seen = Seen(
        tuple(SeenBlock(i, digests[i]) for i in chosen),
        {i: (digests[i],) for i in chosen},
        whole=len(chosen) == len(start) and draw(st.booleans()),
        based=draw(st.booleans()),
        views=draw(st.integers(0, 2)),
    )
    named = [i for i, _ in start if draw(st.integers(0, 4)) == 0]
    refs = [BlockRef(i, text_hash(text)) for i, text in start if i in named]
    return seen, {*chosen, *named}, refs


@given(documents(), st.data())
def test_nothing_unseen_is_ever_lost(start: Doc, data: st.DataObject) -> None:
    seen, mine, refs = data.draw(sights(start))
    theirs = data.draw(edited(start, "p"))
    new = sent(*texts(data.draw(edited(start, "q"))))
    try:
        plan = plan_patch(
            present(theirs),
            new,
            seen,
            merger=MERGER,
            anchors=refs,
            options=WriteOptions(allow_large_delete=True, on_conflict="merge"),
        )
    except (BaseRequired, EmptyPatch):
        return
    result = dict(after(theirs, plan))
    for i, text in theirs:
        if i not in mine:
            assert result[i] == text
        elif text != dict(start).get(i) and i in dict(start):
            assert i in result


@given(documents(min_size=1), st.data())
def test_nothing_is_doubled_whatever_was_seen(start: Doc, data: st.DataObject) -> None:
    """The whole text, with one word changed, from authors who saw anything between all and none."""
    seen, _, refs = data.draw(sights(start))
    wanted = shown(start)
    assume(wanted)
    at = data.draw(st.integers(0, len(wanted) - 1))
    wanted[at] += " changed"
    try:
        plan = plan_patch(
            present(start), sent(*wanted), seen, merger=MERGER, anchors=refs, options=ANYTHING
        )
    except (BaseRequired, StaleBlock):
        return
    counted = Counter(texts(after(start, plan))) - Counter(texts(start))
    assert set(counted) <= {wanted[at]}
    assert sum(counted.values()) <= 1


@given(documents(), documents())
def test_without_view_or_name_only_insertions_go_through(start: Doc, other: Doc) -> None:
    try:
        plan = plan_of(start, sent(*texts(other)), NOTHING_SEEN)
    except (BaseRequired, EmptyPatch):
        return
    left = [pair for pair in after(start, plan) if pair in start]
    assert left == start


@given(documents(), st.data())
def test_refusals_never_carry_a_plan(start: Doc, data: st.DataObject) -> None:
    """Every refusal is one of ours, with data that is JSON."""
    seen, _, refs = data.draw(sights(start))
    theirs = data.draw(edited(start, "p"))
    new = sent(*texts(data.draw(edited(start, "q"))))
    try:
        plan_patch(present(theirs), new, seen, merger=MERGER, anchors=refs)
    except (BaseRequired, EmptyPatch, StaleBlock, LargeDelete) as refusal:
        assert isinstance(refusal, DocactorError)
        assert refusal.as_dict()["next_step"]
