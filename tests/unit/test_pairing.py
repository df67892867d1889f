"""Which child is which: every one once, in order, and what moved is found again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.tree import Node, Text
from shared.yjs.edit import edit
from shared.yjs.pairing import Child, lay_out
from tests.unit.blocks_trees import Page

WORDS = st.sampled_from(("", "a", "river", "rivers", "stone bridge", "stone bridges", "sea"))


def children(*texts: str) -> list[Child]:
    return [Child(key=text, kind="row", text=text, family="row") for text in texts]


@given(st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8))
def test_every_child_is_laid_out_once_and_in_order(old: list[str], new: list[str]) -> None:
    layout = lay_out(children(*old), children(*new))
    assert [i for i, _ in layout.pairs if i is not None] == list(range(len(old)))
    assert [j for _, j in layout.pairs if j is not None] == list(range(len(new)))
    gone = {i for i, j in layout.pairs if j is None}
    come = {j for i, j in layout.pairs if i is None}
    assert set(layout.sources) <= come
    assert set(layout.sources.values()) <= gone
    assert len(set(layout.sources.values())) == len(layout.sources)


@given(st.permutations(["river", "stone", "sea", "cloud", "north"]))
def test_of_a_new_order_every_child_stays_or_moves(new: list[str]) -> None:
    old = ["river", "stone", "sea", "cloud", "north"]
    layout = lay_out(children(*old), children(*new))
    partners = {j: i for i, j in layout.pairs if i is not None and j is not None}
    assert {**partners, **layout.sources} == {at: old.index(text) for at, text in enumerate(new)}


@pytest.mark.parametrize(
    "old, new, sources",
    [
        (["a river", "sea", "cloud"], ["sea", "cloud", "a rivers"], {2: 0}),
        (["x", "sea", "cloud"], ["sea", "cloud", "north"], {}),
        # one that takes the place of one that moved is new, however things stand
        (["stone", "sea", "cloud"], ["river", "sea", "cloud", "stone"], {3: 0}),
    ],
)
def test_what_moved_is_found(old: list[str], new: list[str], sources: dict[int, int]) -> None:
    assert lay_out(children(*old), children(*new)).sources == sources


def test_an_item_that_moves_takes_its_comments_and_attributes_along() -> None:
    def bullets(*texts: Text) -> Node:
        items = (Node("listItem", {}, (Node("paragraph", {}, (text,)),)) for text in texts)
        return Node("bulletList", {}, tuple(items))

    marked = Text("stone bridge", {"comment--1tiVU/zO": {"thread": "x"}})
    page = Page()
    page.put(bullets(Text("river"), Text("sea"), marked))
    with page.doc.transaction():
        page.any(0).children[2].attributes["colour"] = "red"
    page.do(lambda: edit(page.at(0), bullets(Text("stone bridge"), Text("river"), Text("sea"))))
    first = page.read().content[0]
    assert isinstance(first, Node)
    assert first.attrs == {"colour": "red"}
    assert first.content == (Node("paragraph", {}, (marked,)),)
    page.do(lambda: edit(page.at(0), bullets(Text("river"), Text("sea"), Text("stone bridges"))))
    last = page.read().content[2]
    assert isinstance(last, Node)
    assert last.attrs == {"colour": "red"}
