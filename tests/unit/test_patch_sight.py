"""Several conversations of one name at one cursor: whose text it is, nobody knows."""

from __future__ import annotations

from shared.ids import BlockRef
from shared.patch.types import Plan, Seen, SeenBlock, Sight, digest_of, heading_level
from tests.unit.patch_world import ABC, Doc, block_id, doc, ids, ops, patch, saw, texts

FIRST, SECOND, THIRD = texts(ABC)


def sight(document: Doc) -> Sight:
    """What a conversation that was shown this document has."""
    levels = {i: level for i, text in document if (level := heading_level(text))}
    return Sight({i: digest_of(text) for i, text in document}, levels)


def shown(*documents: Doc) -> Seen:
    """To each of several conversations another of these: all of the same blocks."""
    sights = tuple(sight(document) for document in documents)
    blocks = []
    for i, digest in sights[0].blocks.items():
        others = tuple(sorted({one.blocks[i] for one in sights} - {digest}))
        blocks.append(SeenBlock(i, digest, sights[0].levels.get(i, 0), others))
    return Seen(tuple(blocks), whole=True, based=True, views=len(sights), sights=sights)


def b_is(text: str) -> Doc:
    return [ABC[0], (block_id("b"), text), ABC[2]]


def reasons(plan: Plan) -> list[str]:
    return [conflict.reason for conflict in plan.conflicts]


def test_two_conversations_at_two_states_overwrite_nothing() -> None:
    now = b_is("a newer second one")
    for text in (SECOND, "something else entirely"):
        plan = patch(now, FIRST, text, THIRD, seen=shown(now, ABC))
        assert plan.ops == ()
        assert len(plan.conflicts) == 1


def test_the_text_says_which_block_is_which() -> None:
    """One conversation wrote b like its neighbour; the other, which writes, read it before."""
    now = b_is(THIRD)
    plan = patch(now, FIRST + ", edited", SECOND, THIRD, seen=shown(now, ABC))
    assert ops(plan) == [f"replace a {FIRST}, edited"]
    assert reasons(plan) == ["older_text"]


def test_the_text_says_in_which_order_its_author_has_them() -> None:
    """Whose order it is has moved nothing, and deleted the last one."""
    now = [ABC[1], ABC[2], ABC[0]]
    assert ops(patch(now, FIRST, SECOND, seen=shown(now, ABC))) == ["delete c"]
    assert ops(patch(now, SECOND, THIRD, seen=shown(now, ABC))) == ["delete a"]


def test_of_two_equal_blocks_the_one_every_conversation_knows_as_it_is_stays() -> None:
    """The one that read them before b became like c deletes b, the other may delete either."""
    now = b_is(THIRD)
    plan = patch(now, FIRST, THIRD, seen=shown(now, ABC))
    assert plan.ops == ()
    assert [(one.anchor[:8], one.theirs) for one in plan.conflicts] == [(block_id("b"), THIRD)]


def test_a_heading_that_one_of_several_views_shows_ends_the_section() -> None:
    """Its author put it in; another conversation had the same cursor."""
    book = doc(a="before", h="# Title", x="alpha text", k="## Part", y="bravo text", z="# Next")
    now = [pair for pair in book if pair[0] != block_id("z")]  # it has been taken out since
    now.append((block_id("n"), "under what it headed"))
    both = saw(now)
    seen = Seen(
        both.blocks,
        both.known,
        whole=True,
        based=True,
        views=2,
        sights=(sight(now), sight([*book, now[-1]])),
    )
    sent = [text for i, text in book if i in ids(now)][1:]
    plan = patch(now, *sent, seen=seen, section=BlockRef(block_id("h")))
    assert plan.ops == ()
