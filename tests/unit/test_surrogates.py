"""Edits between the halves of a character: the character stays whole, or goes."""

from __future__ import annotations

import random

import pytest
from pycrdt import Doc, XmlFragment, merge_updates

from actors.document.document import Document
from shared.wire.lib0 import var_uint
from shared.yjs.surrogates import CutsItselfError, Pairs, put_back, without
from shared.yjs.update import Id, MalformedUpdateError, texts
from tests.unit.documents import ANN, Bench

pytestmark = pytest.mark.anyio
TEXT = "a📊b **c😀d** e\n"


def halves(document: Document) -> dict[str, Id]:
    """The ids of the first halves in a document, by character."""
    found = {}
    for client, clock, text in texts(document.diff(b"\0")):
        for at, character in enumerate(text):
            if character > "\uffff":
                units = len(text[:at].encode("utf-16-le")) // 2
                found[character] = (client, clock + units)
    return found


def between(first_half: Id, text: str, client: int = 77) -> bytes:
    """What Yjs sends for a text typed between the halves of a character."""
    return put_back([(first_half, text)], client)


def deletion(client: int, start: int, length: int) -> bytes:
    return b"\0\x01" + var_uint(client) + b"\x01" + var_uint(start) + var_uint(length)


def newcomer(document: Document) -> str:
    doc: Doc[XmlFragment] = Doc()
    doc.apply_update(document.diff(b"\0"))
    return str(doc.get("default", type=XmlFragment))


async def test_what_is_typed_into_a_character_stands_beside_it() -> None:
    bench = await Bench.of(TEXT)
    ids = halves(bench.document)
    applied = bench.document.apply(between(ids["📊"], "X"), ANN)
    assert applied.verdict == "applied"
    assert (await bench.markdown()).replace("X", "") == TEXT
    await bench.restart()
    assert (await bench.markdown()).replace("X", "") == TEXT
    assert newcomer(bench.document).count("📊") == 1


async def test_marks_around_a_character_that_is_cut_stay() -> None:
    bench = await Bench.of(TEXT)
    bench.document.apply(between(halves(bench.document)["😀"], "X"), ANN)
    assert await bench.markdown() in ("a📊b **c😀Xd** e\n", "a📊b **cX😀d** e\n")


@pytest.mark.parametrize("half", [0, 1])
async def test_a_character_of_which_half_is_deleted_goes(half: int) -> None:
    bench = await Bench.of(TEXT)
    client, clock = halves(bench.document)["📊"]
    assert bench.document.apply(deletion(client, clock + half, 1), ANN).verdict == "applied"
    assert await bench.markdown() == TEXT.replace("📊", "")
    await bench.restart()
    assert await bench.markdown() == TEXT.replace("📊", "")


async def test_half_replaced_as_older_editors_do_is_gone_and_what_they_sent_is_there() -> None:
    """📊 to 📈 keeps the first half; of the second, sent alone, Yjs makes U+FFFD on the wire."""
    bench = await Bench.of(TEXT)
    client, clock = halves(bench.document)["📊"]
    sent = merge_updates(between((client, clock), "\ufffd"), deletion(client, clock + 1, 1))
    assert bench.document.apply(sent, ANN).verdict == "applied"
    assert await bench.markdown() == TEXT.replace("📊", "\ufffd")


async def test_a_whole_character_is_deleted_and_typed_beside_as_ever() -> None:
    bench = await Bench.of(TEXT)
    client, clock = halves(bench.document)["📊"]
    applied = bench.document.apply(deletion(client, clock, 2), ANN)
    assert len(applied.effects) == 1
    again = bench.document.apply(between((client, clock), "X"), ANN)  # by who had not heard of it
    assert (again.verdict, len(again.effects)) == ("applied", 1)
    assert await bench.markdown() == TEXT.replace("📊", "X")


async def test_one_character_cut_twice_is_mended_once() -> None:
    bench = await Bench.of(TEXT)
    first_half = halves(bench.document)["📊"]
    bench.document.apply(between(first_half, "X", 77), ANN)
    second = bench.document.apply(between(first_half, "Y", 78), ANN)
    assert len(second.effects) == 1
    text = await bench.markdown()
    assert sorted(text) == sorted(TEXT + "XY")
    assert "�" not in newcomer(bench.document)


async def test_what_is_done_to_keep_it_whole_is_its_editors_doing() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    bench.document.apply(between(halves(bench.document)["📊"], "X"), ANN)
    changes = await bench.changes(read.cursor)
    assert [(block.change, block.by) for block in changes.blocks] == [("changed", ("Ann",))]


async def test_the_log_is_replayed_as_it_was_made() -> None:
    """In one transaction the deleted text would still be there to be cut."""
    bench = await Bench.of("😀" * 40 + "\n")
    rng = random.Random(5)
    known = texts(bench.document.diff(b"\0"))
    client, clock, text = max(known, key=lambda one: len(one[2]))
    assert len(text) == 40
    for number in range(20):
        first_half = (client, clock + 2 * rng.randrange(40))
        bench.document.apply(between(first_half, "x", 100 + number), ANN)
    before = await bench.markdown()
    assert (before.count("😀"), before.count("x")) == (40, 20)
    base = (await bench.read()).cursor
    await bench.insert("More.")
    assert (await bench.document._keeper.store.load()).checkpoint is None
    bench.store = bench.store.reopened()
    dead, bench.document = bench.document, await bench._start()
    assert await bench.markdown() == before + "\nMore.\n"
    assert (await bench.patch(before.replace("x", "y"), base=base)).replaced == 1  # of that moment
    await dead.close()


async def test_an_update_that_cuts_what_it_brings_is_asked_for_again() -> None:
    bench = await Bench.of("First.\n")
    editor = bench.editor()
    editor.root.children[0].children[0].insert(0, "📊")  # type: ignore[union-attr]
    (client, clock, _), *_ = [one for one in texts(editor._outgoing[0]) if "📊" in one[2]]
    sent = merge_updates(editor._outgoing[0], between((client, clock), "X"))
    assert bench.document.apply(sent, ANN).verdict == "gap"
    assert await bench.markdown() == "First.\n"


def test_where_there_are_none_nothing_is_looked_at() -> None:
    pairs = Pairs([b"plain"])

    def state() -> bytes:
        raise AssertionError

    assert pairs.cut_by(between((1, 1), "x"), state) == {}


@pytest.mark.parametrize("update", [b"", b"\x01", b"\0\x01", "📊".encode()])
def test_what_is_no_update_is_malformed(update: bytes) -> None:
    with pytest.raises(MalformedUpdateError):
        Pairs(["📊".encode()]).cut_by(update, lambda: b"\0\0")


def test_pairs_are_known_by_their_first_half_until_they_are_deleted() -> None:
    pairs = Pairs(())
    pairs.took(put_back([((1, 5), "a📊b😀")], 9))
    assert pairs.cut_by(between((9, 1), "x"), bytes) == {(9, 1): "📊"}
    assert pairs.cut_by(between((9, 2), "x"), bytes) == {}
    assert pairs.cut_by(deletion(9, 2, 1), bytes) == {(9, 1): ""}
    assert pairs.cut_by(deletion(9, 1, 2), bytes) == {}
    pairs.took(without([(9, 1)]))
    assert pairs.cut_by(between((9, 1), "x"), bytes) == {}
    assert pairs.cut_by(between((9, 4), "x"), bytes) == {(9, 4): "😀"}
    with pytest.raises(CutsItselfError):
        pairs.cut_by(merge_updates(put_back([((9, 2), "📊")], 5), between((5, 0), "x")), bytes)


async def test_a_text_that_is_none_is_refused_where_characters_could_be_cut() -> None:
    bench = await Bench.of(TEXT)
    client, clock = halves(bench.document)["📊"]
    sent = between((client, clock + 2), "abcd").replace(b"abcd", b"a\xff\xff\xff")
    assert bench.document.apply(sent, ANN).verdict == "refused"
    assert await bench.markdown() == TEXT
