"""Reported cases of what Markdown says badly or not at all: marks, attributes, unknown nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pycrdt import Doc, XmlFragment, XmlText

from shared.errors import UnsupportedMarkup
from tests.unit.documents import Bench, anchors
from tests.unit.reported import (
    EVERYTHING,
    Make,
    counts,
    element,
    first_text,
    patched,
    runs,
    sent_back,
    trees,
    typed,
    whole,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "old, new, expected",
    [
        (
            "**bold** plain",
            "**bold** and plain",
            [("bold", ["bold"]), (" and plain", [])],
        ),
        (
            "**bold** plain",
            "x **bold** and plain",
            [("x ", []), ("bold", ["bold"]), (" and plain", [])],
        ),
        (
            "**bold** plain",
            "**bold more** and plain",
            [("bold more", ["bold"]), (" and plain", [])],
        ),
        ("[a](u) tail", "[a](u)z tail", [("a", ["link"]), ("z tail", [])]),
        ("`a` tail", "`a` z tail", [("a", ["code"]), (" z tail", [])]),
        ("<u>a</u>b", "<u>a</u>xb", [("a", ["underline"]), ("xb", [])]),
    ],
)
async def test_marks_do_not_bleed(
    make: Make, old: str, new: str, expected: list[tuple[str, list[str]]]
) -> None:
    bench = await make(old)
    await patched(bench, old, new)
    assert runs(trees(bench)[0]) == expected
    assert await sent_back(bench) == new + "\n"


async def test_a_plain_mark_is_there_though_its_value_is_empty(make: Make) -> None:
    bench = await typed(make, element("paragraph", "one two"), element("codeBlock", "one two"))
    editor = bench.editor()
    for block in (0, 1):
        first_text(editor.root.children[block]).format(0, 3, {"bold": {}})
    editor.push()
    shown = await bench.read(format="blocks")
    assert await sent_back(bench) == "**one** two\n\n```\none two\n```\n"
    assert isinstance(shown.fidelity, tuple)
    assert [note.what for note in shown.fidelity] == ["codeBlock: mark bold is not shown"]
    assert runs(trees(bench)[1]) == [("one", ["bold"]), (" two", [])]


async def unshowable(make: Make) -> Bench:
    """Blocks that Markdown cannot express, between two that it can."""
    cell = element("tableCell", element("paragraph", "m"), colspan=2, rowspan=1, colwidth=[80, 90])
    small = element("tableCell", element("paragraph", "s"), colspan=1, rowspan=1, colwidth=[80])
    return await typed(
        make,
        element("paragraph", "a"),
        element("image", src="i.png", width=30, caption="c"),
        element("embed", kind="board", ref="r9"),
        element("table", element("tableRow", cell), element("tableRow", small, small)),
        element("callout", element("paragraph", "one"), element("paragraph", "two"), color="red"),
        element("paragraph", "b"),
    )


def inner_bytes(bench: Bench) -> list[str]:
    """Each block as it stands in the shared document, with every attribute but the id."""
    doc: Doc[XmlFragment] = Doc()
    doc.apply_update(bench.document.diff(EVERYTHING))
    return [spelled(child) for child in doc.get("default", type=XmlFragment).children]


def spelled(node: Any) -> str:
    if isinstance(node, XmlText):
        return str(node)
    attrs = sorted((name, value) for name, value in dict(node.attributes).items() if name != "id")
    return f"<{node.tag} {attrs}>{''.join(map(spelled, node.children))}"


async def test_blocks_that_markdown_cannot_express_survive_a_patch_of_everything(
    make: Make,
) -> None:
    bench = await unshowable(make)
    before = inner_bytes(bench)
    shown = await bench.read(format="blocks")
    assert isinstance(shown.fidelity, tuple)
    assert [note.what for note in shown.fidelity] == [
        "image: caption is not shown",
        "image: width is not shown",
        "embed: shown as a placeholder",
        "tableCell: colwidth is not shown",
        "callout: shown as a placeholder",
    ]
    result = await patched(bench, "\n\nb\n", "\n\nb2\n")
    assert counts(result) == (1, 0, 0, 0)
    after = inner_bytes(bench)
    assert after[:-1] == before[:-1]
    assert "b2" in after[-1]
    await sent_back(bench)


async def test_deleting_or_moving_a_placeholder_deletes_or_moves_its_block(make: Make) -> None:
    bench = await unshowable(make)
    bench.now += 60_000  # what somebody edits right now is not moved
    callout = inner_bytes(bench)[4]
    text, cursor = await whole(bench)
    lines = text.split("\n\n")
    line = next(one for one in lines if "callout" in one)
    moved = [one for one in lines if one != line]
    result = await bench.patch("\n\n".join([line, *moved]), base=cursor)
    assert (result.moved, result.deleted, result.inserted) == (1, 0, 0)
    assert inner_bytes(bench)[0] == callout
    text, cursor = await whole(bench)
    result = await bench.patch(text.replace(line + "\n\n", ""), base=cursor)
    assert counts(result) == (0, 0, 1, 0)
    assert not any("callout" in one for one in inner_bytes(bench))
    await sent_back(bench)


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.replace("callout", "banner"),
        lambda line: line[:-5] + "x -->",
        lambda line: f"{line}\n\n- {line.replace('callout', 'banner')}",
    ],
    ids=["type", "id", "inside"],
)
async def test_a_damaged_placeholder_is_refused_and_no_text(
    make: Make, damage: Callable[[str], str]
) -> None:
    bench = await unshowable(make)
    before = inner_bytes(bench)
    text, cursor = await whole(bench)
    line = next(one for one in text.split("\n\n") if "callout" in one)
    with pytest.raises(UnsupportedMarkup, match="stands for nothing in this document"):
        await bench.patch(text.replace(line, damage(line)), base=cursor)
    names = anchors(await bench.read())
    with pytest.raises(UnsupportedMarkup, match="stands for nothing in this document"):
        await bench.replace(names[4], names[5], damage(line))
    assert inner_bytes(bench) == before


async def test_a_placeholder_of_elsewhere_is_source_and_told(make: Make) -> None:
    line = "<!-- opaque:callout abcd1234 -->"
    bench = await make("a\n")
    result = await bench.insert(f"{line}\n\n- {line}\n")
    assert isinstance(result.fidelity, tuple)
    assert [note.what for note in result.fidelity] == [
        f"{line}: stands for nothing here, kept as source"
    ] * 2
    assert await sent_back(bench) == (
        f"a\n\n```=html\n{line}\n```\n\n- ```=html\n  {line}\n  ```\n"
    )


async def test_a_placeholder_of_a_block_somebody_deleted_meanwhile_is_no_error(make: Make) -> None:
    bench = await unshowable(make)
    text, cursor = await whole(bench)
    await bench.erase(4)
    result = await bench.patch(text.replace("\n\nb\n", "\n\nb2\n"), base=cursor)
    assert counts(result) == (1, 0, 0, 0)
    assert not any("callout" in one for one in inner_bytes(bench))
