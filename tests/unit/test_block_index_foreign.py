"""Children of the root that are no blocks: a client opened it as something else."""

from __future__ import annotations

import pytest
from pycrdt import Array, Doc, Text, XmlFragment

from shared.index.block_index import SavedIndex, Settled
from shared.yjs.foreign import foreign_children, remove_foreign
from tests.unit.index_bench import LINES, Bench, paragraph


def poison(kind: str, client_id: int) -> bytes:
    """What a client sends that opened the root as something else; it stands by client id."""
    if kind == "text":
        written: Doc[Text] = Doc(client_id=client_id)
        written.get("default", type=Text).insert(0, "words 🐙 from elsewhere")
        return written.get_update()
    listed: Doc[Array[object]] = Doc(client_id=client_id)
    listed.get("default", type=Array).extend([1, 2])
    return listed.get_update()


def repair(fragment: XmlFragment) -> None:
    remove_foreign(fragment, foreign_children(fragment), block_id="repaired")


@pytest.mark.parametrize("client_id", [0, 9])
@pytest.mark.parametrize("lines", [0, 4])
def test_foreign_children_settle_with_their_repair(client_id: int, lines: int) -> None:
    bench = Bench(*LINES[:lines], ids=False)
    ids = list(bench.index.ids)
    bench.doc.apply_update(poison("text", client_id))
    assert bench.index.settle(bench.now) == Settled()
    assert bench.index.foreign()
    if lines:
        with bench.doc.transaction():
            bench.index.element(ids[1]).attributes["align"] = "left"  # life goes on meanwhile
        assert bench.index.settle(bench.now) == Settled()
    settled = bench.write(repair)
    assert not bench.index.foreign()
    assert set(bench.index.ids) == {*ids, "repaired"}
    assert [one for one in bench.index.ids if one in ids] == ids
    assert [row.block_id for row in settled.rows] == ["repaired"]
    assert bench.edit(lambda fragment: fragment.children.insert(0, paragraph("on"))).rows
    assert bench.reload() == Settled()


def test_foreign_values_taken_out_leave_the_index_as_it_was() -> None:
    bench = Bench(*LINES)
    bench.doc.apply_update(poison("list", 9))
    assert bench.index.settle(bench.now) == Settled()
    assert bench.index.foreign()

    def take_out(fragment: XmlFragment) -> None:
        del fragment.children[4:6]

    assert bench.write(take_out).rows == ()
    assert not bench.index.foreign()


def test_foreign_children_at_load_wait_for_their_repair() -> None:
    bench = Bench(*LINES)
    bench.index.detach()
    bench.doc.apply_update(poison("text", 0))
    bench.index, settled = bench.attach(SavedIndex.load(bench.checkpoint, []))
    assert settled == Settled()
    assert bench.index.foreign()
    bench.write(repair)
    assert set(bench.index.ids) == {*(f"{n:08}" for n in range(4)), "repaired"}
