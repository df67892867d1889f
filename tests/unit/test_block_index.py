from __future__ import annotations

import pytest
from pycrdt import Array, XmlElement, XmlFragment, XmlText

from shared.errors import DocumentCorrupt
from shared.feed.block_changes import Draft
from shared.index.block_index import SavedIndex, Settled
from shared.limits import REMEMBER_REMOVED_MS
from shared.tree import Hints, Node
from shared.tree import Text as Run
from shared.yjs import blocks
from shared.yjs.edit import edit
from tests.unit.index_bench import LINES, Bench, bullets, node, paragraph, type_into

# --- life ----------------------------------------------------------------------------------------


def test_a_new_document_takes_valid_unique_attributes_and_mints_the_rest_without_rows() -> None:
    bench = Bench()
    bench.index.detach()
    for attribute in ("abcd1234", "abcd1234", "NOT-VALID", None):
        attributes = {"id": attribute} if attribute else {}
        bench.fragment.children.append(XmlElement("paragraph", attributes))
    index, settled = bench.attach(None)
    assert list(index.ids) == ["abcd1234", *index.ids[1:]]
    assert len(set(index.ids)) == 4
    assert all(block_id.startswith("mint") for block_id in index.ids[1:])
    assert settled.rows == ()
    seeded = SavedIndex.load(b"", [settled.splice])
    assert seeded.dump() == index.save()


def test_a_loaded_index_that_fits_tells_nothing_and_reads_nothing() -> None:
    bench = Bench(*LINES)
    bench.reader.read_blocks = bench.reader.read_words = 0
    assert bench.reload() == Settled()
    assert (bench.reader.read_blocks, bench.reader.read_words) == (0, 0)
    assert bench.texts() == list(LINES)


def test_words_are_warmed_in_slices() -> None:
    bench = Bench(*LINES)
    bench.reload()
    bench.reader.read_words = 0
    assert not bench.index.warm(3)
    assert bench.reader.read_words == 3
    assert bench.index.warm(3)
    assert bench.index.warm(3)
    assert bench.reader.read_words == 4


def test_a_cold_index_finds_moved_words_and_goes_by_place_for_the_rest() -> None:
    bench = Bench(*LINES, ids=False)
    ids = list(bench.index.ids)
    bench.reload()

    def move_first_to_end_and_type_in_second(fragment: XmlFragment) -> None:
        del fragment.children[0]
        fragment.children.append(paragraph(LINES[0]))
        type_into(0, "Well, ")(fragment)

    settled = bench.edit(move_first_to_end_and_type_in_second)
    assert list(bench.index.ids) == [ids[1], ids[2], ids[3], ids[0]]
    assert settled.rows == (Draft(ids[1], "changed"), Draft(ids[0], "moved"))


def test_an_index_that_does_not_fit_is_settled_anew_with_rows_of_the_difference() -> None:
    bench = Bench(*LINES)
    ids = bench.index.ids
    bench.index.detach()
    del bench.fragment.children[1]
    bench.fragment.children.append(paragraph("something new at the end of it all"))
    bench.index, settled = bench.attach(SavedIndex.load(bench.checkpoint, []))
    assert list(bench.index.ids[:3]) == [ids[0], ids[2], ids[3]]
    assert settled.rows == (Draft(ids[1], "removed"), Draft(bench.index.ids[3], "added"))
    after = SavedIndex.load(bench.checkpoint, [settled.splice])
    assert after.dump() == bench.index.save()


def test_a_misfit_that_only_words_show_is_put_right_once_they_are_read() -> None:
    bench = Bench(*LINES, ids=False)
    ids = bench.index.ids
    bench.index.detach()
    del bench.fragment.children[0]
    bench.fragment.children.append(paragraph(LINES[0]))
    bench.index, settled = bench.attach(SavedIndex.load(bench.checkpoint, []))
    assert settled == Settled()
    bench.index.warm(10)
    assert bench.index.settle(bench.now).rows == (Draft(ids[0], "moved"),)
    assert list(bench.index.ids) == [*ids[1:], ids[0]]
    assert bench.texts() == [*LINES[1:], LINES[0]]


def test_bytes_that_are_no_index_are_a_corrupt_document() -> None:
    bench = Bench(*LINES)
    splice = bench.edit(type_into(3, "x")).splice
    for checkpoint, splices in (
        (b"\xff\xff", []),
        (b"", [b"nonsense"]),
        (b"", [splice]),
        (bench.checkpoint[:-3], []),
    ):
        with pytest.raises(DocumentCorrupt):
            SavedIndex.load(checkpoint, splices)


def test_a_detached_index_no_longer_follows() -> None:
    bench = Bench(*LINES)
    bench.index.detach()
    type_into(0, "x")(bench.fragment)
    del bench.fragment.children[1]
    assert bench.index.settle(bench.now) == Settled()


# --- what transactions cost and tell -------------------------------------------------------------


def test_a_transaction_that_touches_no_block_settles_nothing() -> None:
    bench = Bench(*LINES)
    bench.doc.get("other", type=Array).append(1)
    assert bench.index.settle(bench.now) == Settled()


def test_typing_reads_one_block_whatever_the_document() -> None:
    bench = Bench(*[f"{LINES[n % 4]} {n}" for n in range(300)])
    bench.reader.read_blocks = 0
    settled = bench.edit(type_into(170, "x"))
    assert bench.reader.read_blocks == 1
    assert settled.rows == (Draft(f"{170:08}", "changed"),)
    assert settled.touched == {f"{170:08}"}
    assert len(settled.splice) < 64


def test_stripping_the_attribute_of_every_block_reads_none_and_tells_nothing() -> None:
    bench = Bench(*[f"{LINES[n % 4]} {n}" for n in range(300)])
    bench.reader.read_blocks = 0

    def strip(fragment: XmlFragment) -> None:
        for block in fragment.children:
            assert isinstance(block, XmlElement)
            del block.attributes["id"]

    settled = bench.edit(strip)
    assert (settled.rows, settled.touched, bench.reader.read_blocks) == ((), frozenset(), 0)
    assert len(settled.splice) < 400
    before = bench.index.ids
    assert bench.reload() == Settled()
    assert bench.index.ids == before


def test_a_block_that_came_and_went_in_one_go_leaves_no_trace() -> None:
    bench = Bench(*LINES)
    with bench.doc.transaction():
        bench.fragment.children.insert(1, paragraph("passing by"))
    with bench.doc.transaction():
        del bench.fragment.children[1]
    assert bench.index.settle(bench.now) == Settled()
    assert len(bench.index) == 4


def test_several_transactions_may_be_settled_at_once() -> None:
    bench = Bench(*LINES, ids=False)
    ids = bench.index.ids
    with bench.doc.transaction():
        del bench.fragment.children[1]
    with bench.doc.transaction():
        bench.fragment.children.insert(1, paragraph("in between"))
        del bench.fragment.children[2]
    type_into(0, "x")(bench.fragment)
    with bench.doc.transaction():
        bench.fragment.children.insert(3, paragraph(LINES[1]))
    settled = bench.index.settle(bench.now)
    assert [ids[0], ids[3], ids[1]] == [one for one in bench.index.ids if one in ids]
    assert Draft(ids[2], "removed") in settled.rows or ids[2] in bench.index.ids
    assert bench.texts() == [f"x{LINES[0]}", "in between", LINES[3], LINES[1]]


@pytest.mark.parametrize("wait, same", [(0, True), (-1, True), (1, False)])
def test_cut_words_get_their_id_back_for_ten_minutes_and_over_a_restart(
    wait: int, same: bool
) -> None:
    bench = Bench(*LINES, ids=False)
    block_id = bench.index.ids[2]

    def cut(fragment: XmlFragment) -> None:
        del fragment.children[2]

    assert bench.edit(cut).rows == (Draft(block_id, "removed"),)
    bench.reload()
    bench.now += REMEMBER_REMOVED_MS + wait
    settled = bench.edit(lambda fragment: fragment.children.insert(0, paragraph(LINES[2])))
    assert settled.rows[0].kind == "added"
    assert (bench.index.ids[0] == block_id) is same


def test_a_copy_of_a_block_that_stands_is_new_though_another_with_its_attribute_went() -> None:
    bench = Bench(*LINES)

    def share(fragment: XmlFragment) -> None:
        for at in (1, 2):
            block = fragment.children[at]
            assert isinstance(block, XmlElement)
            block.attributes["id"] = "0b1c-uuid"

    def take_out(fragment: XmlFragment) -> None:
        del fragment.children[2]

    bench.edit(share)
    bench.edit(take_out)
    copied = paragraph("words of its own, unlike all others", id="0b1c-uuid")
    bench.edit(lambda fragment: fragment.children.append(copied))
    assert bench.index.ids[3].startswith("mint")


def test_an_attribute_that_is_no_short_text_is_none() -> None:
    bench = Bench(*LINES)
    settled = bench.edit(lambda fragment: fragment.children.append(paragraph("odd", id="x" * 65)))
    assert settled.rows[0].kind == "added"
    with bench.doc.transaction():
        bench.fragment.children[0].attributes["id"] = 7  # type: ignore[union-attr]
    assert bench.index.settle(bench.now).rows == ()
    bench.splices.clear()
    bench.checkpoint = bench.index.save()
    assert bench.reload() == Settled()


def test_a_text_at_the_top_is_a_block() -> None:
    bench = Bench(*LINES[:2])
    settled = bench.edit(lambda fragment: fragment.children.insert(1, XmlText("bare")))
    block_id = bench.index.ids[1]
    assert settled.rows == (Draft(block_id, "added"),)
    assert bench.index.node(block_id) == node("bare")
    with bench.doc.transaction():
        text = bench.index.element(block_id)
        assert isinstance(text, XmlText)
        text.insert(0, "still ")
    assert bench.index.settle(bench.now).rows == (Draft(block_id, "changed"),)


# --- the server's own transactions ---------------------------------------------------------------


def test_new_elements_of_the_server_bring_their_ids_and_others_keep_theirs() -> None:
    bench = Bench(*LINES)
    rewritten = bench.index.element("00000001")

    def change(fragment: XmlFragment) -> None:
        blocks.insert(fragment, 0, node(LINES[1]), "newblock")
        edit(rewritten, node("entirely different words"))
        blocks.remove(fragment, 4)

    settled = bench.write(change)
    assert list(bench.index.ids) == ["newblock", "00000000", "00000001", "00000002"]
    assert set(settled.rows) == {
        Draft("newblock", "added"),
        Draft("00000001", "changed"),
        Draft("00000003", "removed"),
    }


def test_a_new_type_under_the_same_id_is_a_change() -> None:
    bench = Bench(*LINES)

    def change(fragment: XmlFragment) -> None:
        blocks.remove(fragment, 1)
        blocks.insert(fragment, 1, Node("heading", {"level": 2}, (Run(LINES[1]),)), "00000001")

    assert [row.block_id for row in bench.write(change).rows] == ["00000001"]
    assert list(bench.index.ids) == [f"{n:08}" for n in range(4)]


def test_an_attribute_repair_makes_no_rows_and_gives_no_block_another_id() -> None:
    bench = Bench(*LINES, ids=False)
    ids = list(bench.index.ids)

    def repair(_: XmlFragment) -> None:
        for block_id in ids[:3]:
            bench.index.element(block_id).attributes["id"] = block_id

    settled = bench.write(repair)
    assert (settled.rows, list(bench.index.ids)) == ((), ids)
    assert settled.splice


def test_hints_change_the_fingerprint_survive_typing_and_restart_and_go_with_the_type() -> None:
    bench = Bench(LINES[0])
    loose = Hints(loose=True)
    bench.write(lambda fragment: blocks.insert(fragment, 1, bullets("a", "b"), "thelist1"))
    tight = bench.index.fingerprint("thelist1")
    assert bench.write(lambda _: None, {"thelist1": loose}).rows == (Draft("thelist1", "changed"),)
    assert bench.index.hints("thelist1") == loose
    assert bench.index.fingerprint("thelist1") != tight
    bench.reload()
    assert bench.index.hints("thelist1") == loose

    def another_item(fragment: XmlFragment) -> None:
        items = fragment.children[1]
        assert isinstance(items, XmlElement)
        items.children.append(XmlElement("listItem", {}, [paragraph("c")]))

    assert bench.edit(another_item).rows == (Draft("thelist1", "changed"),)
    assert bench.index.hints("thelist1") == loose

    def toggle(fragment: XmlFragment) -> None:
        del fragment.children[1]
        items = [XmlElement("listItem", {}, [paragraph(line)]) for line in "abc"]
        fragment.children.insert(1, XmlElement("orderedList", {}, items))

    bench.edit(toggle)
    assert bench.index.ids[1] == "thelist1"
    assert bench.index.hints("thelist1") == Hints()


def test_an_opaque_block_names_its_id_and_moves_with_its_words() -> None:
    bench = Bench(*LINES[:2])
    bench.edit(
        lambda fragment: fragment.children.insert(0, XmlElement("callout", {}, [paragraph("hear")]))
    )
    block_id = bench.index.ids[0]
    assert bench.index.node(block_id).attrs == {"tag": "callout", "ref": block_id}

    def move(fragment: XmlFragment) -> None:
        del fragment.children[0]
        fragment.children.append(XmlElement("callout", {}, [paragraph("hear")]))

    assert bench.edit(move).rows == (Draft(block_id, "moved"),)
    assert bench.index.ids[2] == block_id
