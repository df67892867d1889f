"""What people do in Tiptap, act by act: whatever comes of it reads, comes back, and can be patched.

A document is built by the server, edited by the published editor, read as Markdown, sent back
unchanged and with one word changed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon, check, is_blank, plain_text
from shared.tree import Node
from shared.yjs.blocks import read
from shared.yjs.update import decode_state_vector
from tests.acceptance.tiptap import EMPTY, Person, Tiptap
from tests.unit.documents import Bench

pytestmark = pytest.mark.anyio

Act = tuple[str, dict[str, Any]]


def act(name: str, **arguments: Any) -> Act:
    return name, arguments


def types(text: str) -> Act:
    return act("type", text=text)


def press(*keys: str) -> Act:
    return act("press", keys=keys)


def run(command: str, *arguments: Any) -> Act:
    return act("run", command=command, arguments=arguments)


def after(words: str) -> Act:
    return act("caret", after=words)


def before(words: str) -> Act:
    return act("caret", before=words)


def select(words: str, to: str | None = None) -> Act:
    return act("select", words=words, to=to or words)


TABLE: Final = "| name | size |\n| --- | --: |\n| river | long |\n| stone | hard |"
LIST: Final = "- alpha\n- beta\n- gamma\n\nafter"
TASKS: Final = "- [ ] alpha\n- [x] beta\n  - [ ] nested\n\nafter"
PASTED: Final = (
    "<h2>Pasted <em>title</em></h2><p>one<br>two <b>bold </b>three <u>under</u>"
    ' <a href="http://e.org/a_b(c)" title="T">link</a> <code>a|b`c</code></p>'
    "<ul><li>x<ol start=4><li>y</li></ol></li><li><pre><code>deep\n\ncode</code></pre></li></ul>"
    '<table><tr><th colspan="2">wide</th></tr><tr><td>a|b</td><td><ul><li>in</li></ul></td></tr>'
    '</table><blockquote><p>q</p><p></p></blockquote><hr><img src="i.png" alt="pic"><kbd>key</kbd>'
)
SOURCES: Final = "---\na: b\n---\n\n<div>\nx\n</div>\n\nt[^1] <kbd>k</kbd> ![i](j)"

SCENES: Final[dict[str, tuple[str, list[Act]]]] = {
    "typing into nothing": ("", [act("click"), types("hello world")]),
    "typing what looks like syntax": (
        "word",
        [after("word"), types(" *a* _b_ <b> &amp; [x](y) | `"), press("Enter"), types("1. a\\")],
    ),
    "input rules of blocks": (
        "",
        [
            *(act("click"), types("## Title"), press("Enter"), types("- one"), press("Enter")),
            *(types("two"), press("Enter", "Enter"), types("3. three"), press("Enter", "Enter")),
            *(types("> quoted"), press("Enter", "Enter"), types("``` "), types("code  x\ty")),
            *(press("Enter"), types("more"), press("Enter", "Enter", "Enter"), types("[ ] task")),
        ],
    ),
    "input rules of marks": (
        "",
        [act("click"), types("a **bold** b *it* c ~~out~~ d `co*de` e ==high== f")],
    ),
    "a rule by typing": ("above", [after("above"), press("Enter"), types("---"), types("below")]),
    "a link by typing": ("see", [after("see"), types(" https://e.org/a_b_c and on ")]),
    "split in the middle": ("one two three", [after("two"), press("Enter"), types("X")]),
    "split at the start": ("one\n\ntwo", [before("two"), press("Enter", "Enter")]),
    "split a heading": ("# One two\n\nafter", [after("One"), press("Enter")]),
    "split inside marks": ("a **bold words** b", [after("bold"), press("Enter"), types(" in ")]),
    "merge with the block above": ("one\n\n**two**", [before("two"), press("Backspace")]),
    "merge a heading into a list": (LIST, [before("after"), press("Backspace", "Backspace")]),
    "a break and another": ("one two", [after("one"), press("Shift-Enter", "Shift-Enter")]),
    "a break at the end": ("one", [after("one"), press("Shift-Enter")]),
    "a break in a heading": ("# one two\n\nx", [after("one"), press("Shift-Enter")]),
    "a paragraph of one break": ("", [act("click"), press("Shift-Enter")]),
    "indent": (LIST, [after("beta"), press("Tab"), after("gamma"), press("Tab", "Tab")]),
    "outdent out of the list": (LIST, [after("beta"), press("Shift-Tab"), types("!")]),
    "outdent a nested list": (
        "- alpha\n  - beta\n    - gamma",
        [after("beta"), press("Shift-Tab"), after("gamma"), press("Shift-Tab", "Shift-Tab")],
    ),
    "an empty item": (LIST, [after("beta"), press("Enter")]),
    "an item of two paragraphs": (
        LIST,
        [after("beta"), press("Enter"), press("Backspace"), types("second paragraph")],
    ),
    "bullets to numbers": (LIST, [after("beta"), run("toggleOrderedList"), types("!")]),
    "numbers to bullets": ("5) a\n6) b", [after("a"), run("toggleBulletList")]),
    "bullets to tasks": (LIST, [after("beta"), run("toggleTaskList")]),
    "tasks to bullets": (TASKS, [after("beta"), run("toggleBulletList")]),
    "half a list lifted": (LIST, [after("alpha"), run("toggleBulletList")]),
    "a list in a quote": (LIST, [select("alpha", "after"), run("toggleBlockquote")]),
    "out of a quote": ("> one\n>\n> two", [after("two"), run("toggleBlockquote")]),
    "paragraphs to a list": ("one\n\ntwo", [select("one", "two"), run("toggleBulletList")]),
    "ticking": (TASKS, [act("tick")]),
    "a ticked task split": (TASKS, [after("be"), press("Enter"), types("[x] y")]),
    "an empty task": (TASKS, [after("beta"), press("Enter")]),
    "a task indented": (TASKS, [after("beta"), press("Enter"), types("c"), press("Tab")]),
    "a row more": (TABLE, [after("river"), run("addRowAfter"), run("addRowBefore")]),
    "a column more": (TABLE, [after("river"), run("addColumnAfter"), run("addColumnBefore")]),
    "a row less": (TABLE, [after("river"), run("deleteRow")]),
    "a column less": (TABLE, [after("river"), run("deleteColumn")]),
    "no header": (TABLE, [after("name"), run("toggleHeaderRow"), after("river"), types("|x")]),
    "a header column": (TABLE, [after("name"), run("toggleHeaderColumn")]),
    "a header cell": (TABLE, [after("river"), run("toggleHeaderCell")]),
    "merged cells": (TABLE, [act("cells", **{"from": "river", "to": "stone"}), run("mergeCells")]),
    "merged and split": (
        TABLE,
        [act("cells", **{"from": "name", "to": "stone"}), run("mergeCells"), run("splitCell")],
    ),
    "a list in a cell": (TABLE, [after("river"), run("toggleBulletList"), types(" a|b")]),
    "two paragraphs in a cell": (TABLE, [after("river"), press("Enter"), types("mouth")]),
    "code in a cell": (TABLE, [after("river"), run("toggleCodeBlock"), press("Enter")]),
    "a break in a cell": (TABLE, [after("river"), press("Shift-Enter"), types("x")]),
    "a row by Tab": (TABLE, [after("hard"), press("Tab"), types("new")]),
    "a table emptied": (TABLE, [act("cells", **{"from": "name", "to": "hard"}), press("Delete")]),
    "a table gone": (TABLE, [after("river"), run("deleteTable")]),
    "a column's width": (TABLE, [after("river"), run("setCellAttribute", "colwidth", [120])]),
    "a column's alignment": (TABLE, [after("river"), run("setCellAttribute", "align", "center")]),
    "a table inside a list": (
        LIST,
        [after("beta"), run("insertTable", {"rows": 2, "cols": 2, "withHeaderRow": False})],
    ),
    "bold over blanks": ("one two three", [select(" two "), run("toggleBold")]),
    "bold beside quotes": ('a "two"b', [select('"two"'), run("toggleBold")]),
    "marks that overlap": (
        "one two three",
        [
            *(select("one", "two"), run("toggleBold"), select("two", "three")),
            *(run("toggleItalic"), select("two"), run("toggleStrike"), run("toggleUnderline")),
        ],
    ),
    "all marks at once": (
        "one two three",
        [
            select("two"),
            *map(run, ("toggleBold", "toggleItalic", "toggleUnderline", "toggleSuperscript")),
            run("toggleHighlight", {"color": "#ff0"}),
            run("setLink", {"href": "http://e.org/a b"}),
        ],
    ),
    "code over everything": ("a **b** *c*", [select("a", "c"), run("toggleCode")]),
    "marks off": ("a **b *c* d**", [select("c"), run("unsetAllMarks")]),
    "half a link unlinked": ("[one two](u)", [select("two"), run("unsetLink")]),
    "code typed": ("```py\nx = 1\n```", [after("x = 1"), press("Enter"), types("```\n  y\t# z")]),
    "code to text": ("```\n# a\n- b\n\nc\n```", [after("a"), run("toggleCodeBlock")]),
    "text to code": ("a **b** `c`\n\nx", [after("a"), run("toggleCodeBlock")]),
    "a heading to text and back": (
        "# One",
        [after("One"), run("setParagraph"), run("toggleHeading", {"level": 6})],
    ),
    "a list emptied": ("- a", [after("a"), press("Backspace", "Backspace")]),
    "everything deleted": (
        f"{LIST}\n\n{TABLE}",
        [act("click"), run("selectAll"), press("Backspace")],
    ),
    "a block deleted": (f"one\n\n{TABLE}\n\ntwo", [act("node", block=1), run("deleteSelection")]),
    "a rule and an image": (
        "one",
        [
            *(after("one"), run("setHorizontalRule")),
            run("setImage", {"src": "a (b).png", "alt": "x]"}),
        ],
    ),
    "an image of a size": ("one", [run("setImage", {"src": "a.png", "width": 30, "height": 20})]),
    "rich text pasted": ("one two", [after("one"), act("paste", html=PASTED)]),
    "rich text pasted into a list": (LIST, [after("beta"), act("paste", html=PASTED)]),
    "rich text pasted into a cell": (TABLE, [after("river"), act("paste", html=PASTED)]),
    "lines pasted": ("one", [after("one"), act("paste", text="a\nb\n\n# c\n- d")]),
    "lines pasted into code": ("```\nx\n```", [after("x"), act("paste", text="a\n\n\tb\n")]),
    "undone": ("one", [after("one"), types(" two"), run("undo")]),
    "a split undone": ("one two", [after("one"), press("Enter"), run("undo"), run("redo")]),
    "a table undone": (TABLE, [after("river"), run("deleteRow"), run("undo"), types("!")]),
    "source that has no node": (
        f"{SOURCES}\n\n[^1]: note\n\n$$\ny\n$$",
        [after("x"), types("y"), press("Enter"), after("note"), types("!"), after("k"), types("2")],
    ),
    "source outgrowing its place": (
        "<div>\nx\n</div>\n\ntext",
        [after("x"), press("Enter"), types("<!-- open"), press("Enter"), types("``` a")],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def tiptap() -> Iterator[Tiptap]:
    with Tiptap() as running:
        yield running


def trees(bench: Bench) -> list[Node]:
    """The blocks of the document, exactly as stored."""
    doc: Doc[XmlFragment] = Doc()
    doc.apply_update(bench.document.diff(EMPTY))
    root = doc.get("default", type=XmlFragment)
    with doc.transaction():
        children = list(root.children)
        return [read(child) for child in children if isinstance(child, XmlElement | XmlText)]


async def check_round_trip(bench: Bench) -> None:
    """It reads, its Markdown says the same tree, and sent back it changes nothing."""
    nodes = trees(bench)
    for node in nodes:
        assert check(node) is None, node
        assert [canon(block.node) for block in parse(render(node).text).blocks] == [canon(node)]
    while nodes and is_blank(nodes[-1]):
        nodes.pop()
    before = bench.document.diff(EMPTY)
    for form in ("markdown", "anchored"):
        shown = await bench.read(format=form, max_chars=1_000_000)
        assert isinstance(shown.markdown, str)
        again = parse(shown.markdown).blocks
        assert [canon(block.node) for block in again] == [canon(node) for node in nodes]
        result = await bench.patch(shown.markdown, base=shown.cursor)
        counts = (result.replaced, result.inserted, result.deleted, result.moved, result.charged)
        assert counts == (0, 0, 0, 0, 0), shown.markdown
        assert result.conflicts == ()
    assert bench.document.diff(EMPTY) == before


_WORD: Final = re.compile(r"[a-z]{3,}")
_MARKUP: Final = frozenset(  # could be words of a tag or an address as well
    ("strong", "mark", "data", "color", "table", "code", "nbsp", "header", "type", "http", "org")
)


async def change_a_word(bench: Bench) -> tuple[str, str] | None:
    """An agent changes one word somewhere: the word and what it is now."""
    shown = await bench.read(format="blocks", max_chars=1_000_000)
    assert isinstance(shown.blocks, tuple)
    texts = [block.text for block in shown.blocks]
    for at, node in enumerate(trees(bench)):
        for word in _WORD.findall(plain_text(node)):
            text = texts[at]
            if isinstance(text, str) and word not in _MARKUP and word in text:
                new = f"{word}qq"
                texts[at] = text.replace(word, new, 1)
                markdown = join([str(text) for text in texts])
                result = await bench.patch(markdown, base=shown.cursor)
                assert (result.replaced, result.inserted, result.deleted) == (1, 0, 0), markdown
                return word, new
    return None


async def check_patched(bench: Bench, person: Person, tiptap: Tiptap) -> None:
    """An agent's edit arrives in the editor, which answers nothing, also when opened afresh."""
    changed = await change_a_word(bench)
    answer = person.pull()
    assert answer.sent == [], answer.shown
    document = bench.document
    assert decode_state_vector(answer.vector) == decode_state_vector(document.state_vector())
    if changed:
        assert any(changed[1] in text for text in answer.text)
    with tiptap.opened(document.diff(EMPTY)) as (_, opened):
        assert opened.sent == [], opened.shown
        assert opened.shown == answer.shown


@pytest.mark.parametrize("name", SCENES)
async def test_what_people_do_comes_back(name: str, tiptap: Tiptap) -> None:
    markdown, acts = SCENES[name]
    bench = await Bench.of(markdown)
    with Person.at(bench, tiptap) as person:
        sent = [update for step, given in acts for update in person.do(step, **given).sent]
        assert sent
        await check_round_trip(bench)
        await check_patched(bench, person, tiptap)
        person.do("click")
        person.do("type", text="again")
        await check_round_trip(bench)
    await bench.document.close()


AGENT_EDITS: Final = {  # what an agent writes instead of TABLE
    "a row more": TABLE + "\n| more | yes |",
    "a row in the middle": TABLE.replace("| stone", "| more | yes |\n| stone"),
    "a row less": TABLE.replace("\n| river | long |", ""),
    "a column more": "\n".join(
        f"{line} {cell} |"
        for line, cell in zip(TABLE.split("\n"), ("new", "---", "x", "y"), strict=True)
    ),
    "a column less": "| name |\n| --- |\n| river |\n| stone |",
    "a column in the middle": "| name | new | size |\n| --- | --- | --: |\n| river | x | long |\n"
    "| stone | y | hard |",
    "rows the other way round": "\n".join(TABLE.split("\n")[i] for i in (0, 1, 3, 2)),
    "columns the other way round": "| size | name |\n| --: | --- |\n| long | river |\n"
    "| hard | stone |",
    "other words": TABLE.replace("stone", "pebble").replace("name", "what"),
    "another alignment": TABLE.replace("--:", ":-:"),
    "cells joined": '<table><tr><th colspan="2">name</th></tr><tr><td>river</td><td>long</td></tr>'
    "<tr><td>stone</td><td>hard</td></tr></table>",
    "header cells gone": f"<!-- no header -->\n|  |  |\n{TABLE.split(chr(10), 1)[1]}\n| a | b |",
}


@pytest.mark.parametrize("edit", AGENT_EDITS)
async def test_an_editor_has_nothing_to_mend_in_an_agents_table(edit: str, tiptap: Tiptap) -> None:
    """Its columns have widths, which no Markdown says."""
    bench = await Bench.of(f"{TABLE}\n\nend")
    with Person.at(bench, tiptap) as person:
        for first, last, width in (("name", "stone", 120), ("size", "hard", 80)):
            person.do("cells", **{"from": first, "to": last})
            assert person.do(
                "run", command="setCellAttribute", arguments=["colwidth", [width]]
            ).sent
        shown = await bench.read(format="markdown")
        await bench.patch(f"{AGENT_EDITS[edit]}\n\nend", base=shown.cursor)
        answer = person.pull()
        assert answer.sent == [], answer.shown
        before = trees(bench)[0]
        person.do("click")
        assert trees(bench)[0] == before
        await check_round_trip(bench)
    with tiptap.opened(bench.document.diff(EMPTY)) as (desk, opened):
        assert opened.sent == [], opened.shown
        assert len(desk.ask("append").sent) == 1
    await bench.document.close()


# --- walks ---------------------------------------------------------------------------------------

COMMANDS: Final = (
    *("toggleBold", "toggleItalic", "toggleStrike", "toggleCode", "toggleUnderline"),
    *("toggleHighlight", "toggleSubscript", "toggleSuperscript", "unsetAllMarks", "unsetLink"),
    *("toggleBulletList", "toggleOrderedList", "toggleTaskList", "toggleBlockquote"),
    *("toggleCodeBlock", "setParagraph", "setHorizontalRule", "insertTable", "deleteSelection"),
    *("addRowAfter", "addColumnBefore", "deleteRow", "deleteColumn", "toggleHeaderRow"),
    *(
        "toggleHeaderCell",
        "mergeCells",
        "splitCell",
        "undo",
        "redo",
        "setHardBreak",
        "liftEmptyBlock",
    ),
)
KEYS: Final = (
    "Enter",
    "Enter",
    "Shift-Enter",
    "Tab",
    "Shift-Tab",
    "Backspace",
    "Backspace",
    "Delete",
)
TYPED: Final = (
    *("word", " ", "*", "**bo** ", "_a_ ", "# ", "- ", "1. ", "> ", "``` ", "[ ] ", "|", "\\", "`"),
    *("<b>", "&amp;", "[x](y)", "http://e.org ", "\u00a0", "\u3000文", "“q”", "~~", "$$", "---"),
)
START: Final = (
    f"# Title\n\n{LIST}\n\n{TABLE}\n\n{TASKS}\n\n> quote\n\n```py\nx = 1\n```\n\n<p>\n\nend[^1]"
)


def some_act(rng: random.Random) -> Act:
    kind = rng.choice(("span", "span", "type", "type", "press", "press", "run", "paste", "heading"))
    match kind:
        case "span":
            start = rng.random()
            return act("span", **{"from": start, "to": rng.choice((start, start, rng.random()))})
        case "type":
            return types("".join(rng.choices(TYPED, k=rng.randrange(1, 4))))
        case "press":
            return press(*rng.choices(KEYS, k=rng.randrange(1, 3)))
        case "paste":
            return (
                act("paste", html=PASTED) if rng.random() < 0.2 else act("paste", text="p\n\n- q")
            )
        case "heading":
            return run("toggleHeading", {"level": rng.randrange(1, 7)})
        case _:
            return run(rng.choice(COMMANDS))


@pytest.mark.parametrize("walk", range(3))
async def test_whatever_people_do_comes_back(walk: int, tiptap: Tiptap, rng: random.Random) -> None:
    bench = await Bench.of(START)
    with Person.at(bench, tiptap) as person:
        for _ in range(8):
            for _ in range(8):
                step, given = some_act(rng)
                print(step, given)  # noqa: T201  the way to a failure
                person.do(step, **given)
            await check_round_trip(bench)
            await check_patched(bench, person, tiptap)
    await bench.document.close()
