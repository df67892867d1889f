from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BaseExpired
from shared.feed.cursor import Cursor
from shared.limits import MAX_OLDER_TEXTS, MAX_VIEWS, VIEW_TTL_MS
from shared.patch.types import Seen, digest_of
from shared.views.conversation import Shown
from shared.views.told import ToldTexts
from shared.views.views import Views, cursor_after_write
from tests.unit.patch_world import Doc, block_id, doc, ids

ANN = "ann"
DOC = doc(a="alpha", b="bravo", c="charlie")
A, B, C, D = (block_id(name) for name in "abcd")


def part(seq: int) -> Cursor:
    return Cursor(seq, part=True)


def seen(views: Views, base: Cursor | None = None, now: int = 0, principal: str = ANN) -> Seen:
    found = views.choose(principal, base, now)
    assert found is not None
    return found


def shown_ids(found: Seen) -> list[str]:
    return [block.block_id for block in found.blocks]


def digests(found: Seen) -> dict[str, str]:
    return {block.block_id: block.digest for block in found.blocks}


def reading(at: int = 10, document: Doc = DOC) -> Views:
    views = Views()
    views.on_read(ANN, Cursor(at), document, now=0)
    return views


def told(
    views: Views,
    since: Cursor,
    cursor: Cursor,
    *shown: Shown,
    removed: tuple[str, ...] = (),
    order: list[str] | None = None,
    now: int = 0,
) -> None:
    views.on_changes(ANN, since, cursor, shown=shown, removed=removed, order=order or [], now=now)


def wrote(
    views: Views, base: Cursor | None, cursor: Cursor | None, *shown: Shown, removed: str = ""
) -> None:
    gone = [removed] if removed else []
    views.on_write(ANN, base, cursor, shown=shown, removed=gone, order=[], now=0)


def test_who_read_nothing_has_seen_nothing() -> None:
    found = seen(Views())
    assert found.views == 0
    assert not found.blocks
    assert not found.whole


def test_reading_shows_the_blocks_in_order() -> None:
    found = seen(reading(), Cursor(10))
    assert shown_ids(found) == [A, B, C]
    assert digests(found)[A] == digest_of("alpha")
    assert found.whole
    assert found.based
    assert found.text_of(A, digest_of("alpha")[:6]) == "alpha"


def test_another_principal_has_seen_nothing() -> None:
    assert seen(reading(), principal="bob").views == 0


def test_a_part_is_not_the_whole() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    found = seen(views, part(10))
    assert shown_ids(found) == [A, B]
    assert not found.whole


def test_changes_carry_the_view_on_as_they_carry_a_mirror() -> None:
    views = reading()
    told(
        views,
        Cursor(10),
        Cursor(14),
        Shown(D, "delta", None),
        Shown(A, "alpha, edited", C),
        removed=(B,),
    )
    found = seen(views, Cursor(14))
    assert shown_ids(found) == [D, C, A]
    assert digests(found)[A] == digest_of("alpha, edited")
    assert found.older[A] == {digest_of("alpha")}
    assert found.older[B] == {digest_of("bravo")}
    assert views.choose(ANN, Cursor(10), 0) is None  # the view has gone on: ask the log


def test_a_part_takes_changed_blocks_at_their_place_in_the_document() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[1:], now=0)
    told(
        views,
        part(10),
        part(11),
        Shown(D, "delta", block_id("x")),
        order=[A, B, C, block_id("x"), D],
    )
    assert shown_ids(seen(views, part(11))) == [B, C, D]


def test_a_cursor_nobody_was_given_starts_no_view() -> None:
    views = reading()
    told(views, Cursor(11), Cursor(12), Shown(A, "alpha, edited"))
    assert seen(views).views == 1
    assert digests(seen(views))[A] == digest_of("alpha")


def test_without_a_base_only_what_every_view_shows_was_seen() -> None:
    views = reading()
    views.on_read(ANN, Cursor(12), doc(b="bravo two", c="charlie", d="delta"), now=1)
    found = seen(views)
    assert shown_ids(found) == [B, C]
    assert digests(found)[B] == digest_of("bravo two")
    assert found.blocks[0].others == (digest_of("bravo"),)
    assert found.known.keys() == {A, B, C, D}
    assert found.views == 2


def test_a_base_names_its_view_and_not_the_other() -> None:
    views = reading()
    views.on_read(ANN, part(10), DOC[:1], now=1)
    assert shown_ids(seen(views, Cursor(10))) == [A, B, C]
    assert shown_ids(seen(views, part(10))) == [A]


def test_a_base_that_fits_two_views_shows_what_both_show() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    views.on_read(ANN, part(10), DOC[1:], now=0)
    assert shown_ids(seen(views, part(10))) == [B]


def test_when_two_different_views_could_have_asked_both_stay_behind() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    views.on_read(ANN, part(10), DOC[1:], now=0)
    told(views, part(10), part(11), Shown(A, "alpha, edited"), order=ids(DOC))
    assert shown_ids(seen(views, part(11))) == [A, B]
    assert shown_ids(seen(views, part(10))) == [B]


def test_of_two_equal_views_one_goes_on() -> None:
    views = reading()
    views.on_read(ANN, Cursor(10), DOC, now=0)
    told(views, Cursor(10), Cursor(11), Shown(A, "alpha, edited"))
    assert digests(seen(views, Cursor(11)))[A] == digest_of("alpha, edited")
    assert digests(seen(views, Cursor(10)))[A] == digest_of("alpha")


def test_a_write_carries_its_own_view_on() -> None:
    views = reading()
    wrote(views, Cursor(10), Cursor(11), Shown(D, "delta", A), removed=C)
    assert shown_ids(seen(views, Cursor(11))) == [A, D, B]


def test_a_write_without_base_carries_the_only_view_on() -> None:
    views = reading()
    wrote(views, None, Cursor(11), Shown(D, "delta", A))
    assert D in shown_ids(seen(views, Cursor(11)))


def test_a_write_behind_others_leaves_the_cursor_where_it_was() -> None:
    views = reading()
    wrote(views, Cursor(10), Cursor(10), Shown(A, "mine"))
    assert digests(seen(views, Cursor(10)))[A] == digest_of("mine")


def test_a_call_that_wrote_nothing_leaves_views_as_they_were() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    views.on_read(ANN, part(10), DOC[1:], now=0)
    wrote(views, part(10), part(10))
    wrote(views, Cursor(7), Cursor(7))  # of a view that is gone: still the document of then
    assert seen(views, part(10)).views == 2
    assert views.choose(ANN, Cursor(7), 0) is None


def test_what_a_cursor_does_not_tell_is_to_be_saved_at_once() -> None:
    views = reading()
    wrote(views, Cursor(10), Cursor(11), Shown(A, "mine"))
    urgent = [views.urgent]  # lost, it is the document of that moment
    wrote(views, Cursor(11), Cursor(11), Shown(D, "delta", A))
    assert set(shown_ids(seen(views, Cursor(11)))) == {A, B, C, D}
    urgent.append(views.urgent)
    views.save()
    assert [*urgent, views.urgent] == [False, True, False]


def test_a_write_without_base_of_one_of_two_conversations_is_nobodys() -> None:
    views = reading()
    views.on_read(ANN, Cursor(10), DOC, now=0)
    wrote(views, None, Cursor(11), Shown(D, "delta", A), Shown(A, "mine"))
    found = seen(views)
    assert shown_ids(found) == [A, B, C]
    assert digests(found)[A] == digest_of("alpha")
    assert digest_of("mine") in found.older[A]  # shown, if it is not certain to whom


def test_a_block_two_readers_know_differently_was_seen_by_neither_for_certain() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    views.on_read(ANN, part(10), DOC[:2], now=0)
    wrote(views, part(10), part(10), Shown(A, "mine"))
    told(views, part(10), part(11), Shown(C, "charlie, edited", B), order=ids(DOC))
    assert shown_ids(seen(views, part(11))) == [B, C]


def test_the_cursor_of_a_write_that_is_nobodys_says_no_more_than_none() -> None:
    views = Views()
    views.on_read(ANN, part(10), DOC[:2], now=0)
    views.on_read(ANN, part(11), DOC[1:], now=0)
    wrote(views, None, part(10), Shown(D, "delta", A))
    found = seen(views, part(10))
    assert shown_ids(found) == [B]
    assert not found.based
    told(views, part(10), part(12), Shown(A, "alpha, edited"))
    assert not seen(views, part(12)).based
    assert not seen(Views.load(views.save()), part(12)).based
    assert seen(views, part(11)).based


def test_a_reader_whose_view_is_gone_is_not_taken_for_another_at_the_same_place() -> None:
    views = reading(10)
    told(views, Cursor(8), Cursor(10), Shown(A, "alpha"))
    assert not seen(views, Cursor(10)).based


def test_who_waits_at_an_unchanged_document_is_not_forgotten() -> None:
    views = reading()
    views.save()
    told(views, Cursor(10), Cursor(10), now=60_000)
    assert views.save() == {}
    told(views, Cursor(10), Cursor(10), now=VIEW_TTL_MS - 1)
    assert views.save().keys() == {ANN}
    assert seen(views, Cursor(10), now=VIEW_TTL_MS + 1).views == 1


def test_a_view_is_forgotten_after_a_day_without_use() -> None:
    views = reading()
    told(views, Cursor(10), Cursor(11), now=VIEW_TTL_MS - 1)
    assert seen(views, Cursor(11), now=2 * VIEW_TTL_MS - 2).views == 1
    assert seen(views, now=2 * VIEW_TTL_MS).views == 0
    assert views.oldest_cursor(ANN, 2 * VIEW_TTL_MS) is None


def test_the_base_of_a_forgotten_partial_answer_has_expired() -> None:
    for gone in (Cursor(10, part=True), Cursor(10, cut=True)):
        with pytest.raises(BaseExpired) as refusal:
            Views().choose(ANN, gone, 0)
        assert "read" in refusal.value.as_dict()["next_step"].lower()


def test_a_ninth_view_leaves_what_the_two_oldest_both_showed() -> None:
    views = Views()
    views.on_read(ANN, Cursor(1), DOC[:2], now=1)
    views.on_read(ANN, Cursor(2), DOC[1:], now=2)
    for n in range(3, MAX_VIEWS + 2):
        views.on_read(ANN, Cursor(n), DOC, now=n)
    found = seen(views, now=20)
    assert found.views == MAX_VIEWS
    assert shown_ids(found) == [B]
    assert views.choose(ANN, Cursor(1), 20) is None
    assert views.oldest_cursor(ANN, 20) == Cursor(1)
    wrote(views, Cursor(-1), Cursor(30), Shown(D, "delta"))  # no cursor names the joined view
    assert D not in shown_ids(seen(views, now=20))


def test_the_oldest_cursor_is_that_of_the_view_carried_on_least() -> None:
    views = reading(10)
    views.on_read(ANN, part(12), DOC[:1], now=1)
    assert views.oldest_cursor(ANN, 2) == Cursor(10)
    told(views, Cursor(10), Cursor(15), now=3)
    assert views.oldest_cursor(ANN, 4) == part(12)
    assert views.oldest_cursor("bob", 4) is None


def test_earlier_texts_of_a_block_are_remembered_up_to_a_limit() -> None:
    views = reading()
    for n in range(MAX_OLDER_TEXTS + 5):
        told(views, Cursor(10 + n), Cursor(11 + n), Shown(A, f"text {n}"))
    older = seen(views).older[A]
    assert len(older) == MAX_OLDER_TEXTS
    assert digest_of("alpha") not in older


def test_told_texts_are_forgotten_oldest_first_when_room_runs_out() -> None:
    texts = ToldTexts(room=1_000)
    texts.remember(A, "a" * 200)
    texts.remember(B, "b" * 200)
    texts.remember(A, "a" * 200)
    texts.remember(C, "c" * 200)
    assert texts.find(B, digest_of("b" * 200)) is None
    assert texts.find(A, digest_of("a" * 200)[:6]) == "a" * 200
    texts.remember(D, "d" * 2_000)
    assert texts.find(D, digest_of("d" * 2_000)) is None


def test_a_heading_is_noted_with_its_level_and_forgotten_with_its_text() -> None:
    views = reading(10, doc(a="## Plan"))
    assert seen(views).blocks[0].level == 2
    told(views, Cursor(10), Cursor(11), Shown(A, "no heading"))
    assert seen(views).blocks[0].level == 0


# --- saving ------------------------------


def test_views_survive_a_restart_but_for_the_texts() -> None:
    views = reading()
    told(views, Cursor(10), Cursor(11), Shown(A, "alpha, edited"))
    again = Views.load(views.save())
    before, after = seen(views, Cursor(11)), seen(again, Cursor(11))
    assert after.blocks == before.blocks
    assert after.older == before.older
    assert after.text_of(A, digest_of("alpha")) is None


def test_only_what_changed_is_saved_again() -> None:
    views = reading()
    views.on_read("bob", Cursor(3), DOC, now=0)
    assert views.save().keys() == {ANN, "bob"}
    assert views.save() == {}
    wrote(views, None, Cursor(12))
    assert views.save().keys() == {ANN}


def test_a_principal_whose_views_are_too_old_is_taken_out_of_the_file() -> None:
    views = reading()
    views.save()
    assert seen(views, now=VIEW_TTL_MS + 1).views == 0
    saved = views.save()
    assert saved == {ANN: b""}
    assert seen(Views.load(saved)).views == 0


def test_past_the_limit_the_principal_heard_of_least_lately_is_forgotten_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shared.views.views.MAX_VIEW_ENTRIES", 7)
    views = reading()
    views.on_read(ANN, Cursor(11), DOC, now=1)
    views.on_read("bob", Cursor(12), DOC, now=2)
    assert seen(views, now=3).views == 0
    assert seen(views, now=3, principal="bob").views == 1


# --- the mirror ------------------------------


@given(st.permutations("abcdef"), st.data())
def test_a_view_carried_on_has_the_order_of_the_document(
    start: list[str], data: st.DataObject
) -> None:
    """One answer of the feed, from any document to any other: the mirror rule."""
    end = data.draw(st.permutations("bcdefgh"))
    views = Views()
    views.on_read(ANN, Cursor(1), [(block_id(n), n) for n in start], now=0)
    order = [block_id(n) for n in end]
    shown = [Shown(i, f"{i} edited", order[n - 1] if n else None) for n, i in enumerate(order)]
    told(views, Cursor(1), Cursor(2), *shown, removed=(block_id("a"),), order=order)
    assert shown_ids(seen(views, Cursor(2))) == order


# --- the cursor of a write ------------------------------


@pytest.mark.parametrize(
    "base, oldest, before, after, expected",
    [
        (Cursor(10), None, 10, 11, (Cursor(11), False)),
        (part(10), None, 10, 11, (part(11), False)),
        (Cursor(10), None, 12, 13, (Cursor(10), True)),
        (Cursor(10), Cursor(5), 10, 11, (Cursor(11), False)),
        (None, Cursor(10), 10, 11, (Cursor(11), False)),
        (None, Cursor(5), 10, 11, (Cursor(5), True)),
        (None, None, 10, 11, (None, False)),
        (Cursor(10), None, 10, 10, (Cursor(10), False)),
    ],
)
def test_a_write_never_makes_a_reader_skip_a_change(
    base: Cursor | None,
    oldest: Cursor | None,
    before: int,
    after: int,
    expected: tuple[Cursor | None, bool],
) -> None:
    assert cursor_after_write(base, oldest, before, after) == expected
