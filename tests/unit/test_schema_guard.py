"""An editor that cannot hold what others made does not take it away by being opened."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.wire.y_protocol import EMPTY_UPDATE
from tests.unit.documents import ANN, Bench

pytestmark = pytest.mark.anyio


class Copy:
    """Somebody's copy of a document; each act is the update of it."""

    def __init__(self, bench: Bench) -> None:
        self.doc: Doc[XmlFragment] = Doc()
        self.root = self.doc.get("default", type=XmlFragment)
        self.doc.apply_update(bench.document.diff(b"\x00"))
        self._sent: list[bytes] = []
        self._subscription = self.doc.observe(lambda event: self._sent.append(event.update))

    def update(self) -> bytes:
        return self._sent.pop()

    def delete(self, block: int) -> bytes:
        del self.root.children[block]
        return self.update()

    def text(self, block: int) -> XmlText:
        element = self.root.children[block]
        assert isinstance(element, XmlElement)
        text = element.children[0]
        assert isinstance(text, XmlText)
        return text


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A heading, a custom block, a paragraph with a custom mark, a plain one."""
    bench = await Bench.of("# Plan\n\nMarked words here.\n\nPlain.")
    maker = Copy(bench)
    maker.root.children.insert(1, XmlElement("callout", {}, [XmlText("Look!")]))
    assert bench.document.apply(maker.update(), ANN).verdict == "applied"
    maker.text(2).format(0, 6, {"comment": {"id": "1"}})
    assert bench.document.apply(maker.update(), ANN).verdict == "applied"
    yield bench
    await bench.document.close()


def applied(bench: Bench, update: bytes) -> tuple[str, str]:
    outcome = bench.document.apply(update, ANN, guarded=True)
    return outcome.verdict, outcome.reason


async def test_a_custom_block_is_not_deleted_by_who_has_brought_nothing(bench: Bench) -> None:
    before = bench.document.diff(b"\x00")
    told = applied(bench, Copy(bench).delete(1))
    assert told == ("refused", "this editor cannot hold callout")
    assert bench.document.diff(b"\x00") == before


async def test_text_with_a_custom_mark_is_not_deleted_either(bench: Bench) -> None:
    smaller = Copy(bench)
    text = smaller.text(2)
    del text[0 : len(text)]
    assert applied(bench, smaller.update()) == ("refused", "this editor cannot hold comment")


async def test_a_custom_node_inside_a_block_counts_like_one_outside(bench: Bench) -> None:
    maker = Copy(bench)
    quote = XmlElement("blockquote", {}, [XmlElement("video", {}, []), XmlElement("paragraph")])
    maker.root.children.append(quote)
    assert bench.document.apply(maker.update(), ANN).verdict == "applied"
    smaller = Copy(bench)
    inner = smaller.root.children[4]
    assert isinstance(inner, XmlElement)
    del inner.children[0]
    assert applied(bench, smaller.update()) == ("refused", "this editor cannot hold video")


async def test_plain_blocks_and_letters_may_go_as_a_first_act(bench: Bench) -> None:
    person = Copy(bench)
    assert applied(bench, person.delete(3)) == ("applied", "")
    del person.text(2)[0:1]  # of the marked run, which stays
    assert applied(bench, person.update()) == ("applied", "")
    del person.text(2)[8:10]
    assert applied(bench, person.update()) == ("applied", "")


async def test_who_has_typed_may_delete_whatever_there_is(bench: Bench) -> None:
    update = Copy(bench).delete(1)
    assert bench.document.apply(update, ANN, guarded=False).verdict == "applied"


async def test_an_update_that_brings_something_is_a_persons(bench: Bench) -> None:
    person = Copy(bench)
    with person.doc.transaction():
        del person.root.children[1]
        person.root.children.append(XmlElement("paragraph", {}, [XmlText("instead")]))
    assert applied(bench, person.update()) == ("applied", "")


async def test_nothing_and_what_is_no_update_are_judged_as_ever(bench: Bench) -> None:
    assert applied(bench, EMPTY_UPDATE)[0] == "unchanged"
    assert applied(bench, Copy(bench).doc.get_update(Copy(bench).doc.get_state()))[0] == "unchanged"
    assert applied(bench, b"\x00\xff\xff")[0] == "refused"
