"""What tests of reported cases do: make documents as people do, patch them as agents do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.protocol import WriteResult
from shared.tree import Node, Text
from shared.yjs.blocks import read
from tests.unit.documents import Bench

EVERYTHING: Final = b"\x00"  # the state vector of whoever has nothing
Make = Callable[[str], Awaitable[Bench]]


async def whole(bench: Bench) -> tuple[str, int]:
    shown = await bench.read(format="markdown", max_chars=1_000_000)
    assert isinstance(shown.markdown, str)
    return shown.markdown, shown.cursor


def counts(result: WriteResult) -> tuple[int, int, int, int]:
    return result.replaced, result.inserted, result.deleted, result.moved


async def patched(bench: Bench, old: str, new: str) -> WriteResult:
    """An agent reads all, changes one place and sends all back."""
    text, cursor = await whole(bench)
    assert old in text
    return await bench.patch(text.replace(old, new), base=cursor)


async def sent_back(bench: Bench) -> str:
    """What was read, sent back: it changes nothing. The text."""
    before = bench.document.diff(EVERYTHING)
    text, cursor = await whole(bench)
    result = await bench.patch(text, base=cursor)
    assert (counts(result), result.charged, result.conflicts) == ((0, 0, 0, 0), 0, ())
    assert bench.document.diff(EVERYTHING) == before
    return text


def trees(bench: Bench) -> list[Node]:
    """The blocks exactly as stored."""
    doc: Doc[XmlFragment] = Doc()
    doc.apply_update(bench.document.diff(EVERYTHING))
    root = doc.get("default", type=XmlFragment)
    with doc.transaction():
        children = list(root.children)
        return [read(child) for child in children if isinstance(child, XmlElement | XmlText)]


def runs(node: Node) -> list[tuple[str, list[str]]]:
    return [(item.text, sorted(item.marks)) for item in node.content if isinstance(item, Text)]


async def typed(make: Make, *blocks: Callable[[], XmlElement]) -> Bench:
    """A document that a person's editor has filled."""
    bench = await make("")
    editor = bench.editor()
    for block in blocks:
        editor.root.children.append(block())
    editor.push()
    return bench


def element(tag: str, *content: Any, **attrs: Any) -> Callable[[], XmlElement]:
    def build() -> XmlElement:
        made = [XmlText(part) if isinstance(part, str) else part() for part in content]
        return XmlElement(tag, attrs, made)

    return build


def first_text(node: Any) -> XmlText:
    while not isinstance(node, XmlText):
        node = node.children[0]
    return node
