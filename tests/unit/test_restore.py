"""Restoring a version: in place, under the old ids, exact, and itself to be taken back."""

from __future__ import annotations

import asyncio
import random

import pytest
from msgspec import UNSET
from pycrdt import XmlElement, XmlText

from shared.budget import Allowance
from shared.errors import IdempotencyMismatch, RateLimited, UnsupportedMode
from shared.history.restoring import plan_restore
from shared.history.states import PastBlock
from shared.patch.types import Insert, apply_to_list
from shared.protocol import Caller
from shared.tree import Block, Node, Text
from shared.yjs.exact import read_exact
from tests.amount import amount
from tests.unit.documents import ANN, Bench, anchors, block_id, text_of

pytestmark = pytest.mark.anyio
PLENTY = Allowance(writes_per_minute=10**9, chars_per_hour=10**9, reads_per_minute=10**9)
START = "# Plan\n\none\n\ntwo\n\nthree\n"


def everything(bench: Bench) -> list[object]:
    """All there is of the document: ids, hints, and every attribute and mark."""
    live = bench.document._keeper.live
    with live.doc.transaction():
        return [
            (one, live.index.hints(one), read_exact(live.index.element(one)))
            for one in live.index.ids
        ]


async def test_a_version_comes_back_block_by_block_under_the_old_ids() -> None:
    bench = await Bench.of(START)
    before = everything(bench)
    plan, one, two, _ = map(block_id, anchors(await bench.read()))
    await bench.save("then")
    await bench.replace_text(("one", "1"), caller=ANN)
    await bench.read(ANN)
    await bench.delete(two, caller=ANN)
    await bench.move(plan, "end", caller=ANN)
    await bench.insert("four", after="start", caller=ANN)
    seen = everything(bench)
    mirror = await bench.mirror()
    result = await bench.restore("then", base=mirror.cursor)
    assert everything(bench) == before
    assert (result.replaced, result.inserted, result.deleted, result.moved) == (1, 1, 1, 1)
    assert {block_id(block.anchor) for block in result.blocks} == {one, two, plan}
    mirror.apply(await bench.changes(mirror.cursor))
    assert mirror.markdown() == await bench.markdown() == START
    assert (result.version, result.undo) == ("v3", "v2")
    top, undo, then = await bench.versions()
    assert (top.kind, top.restored, top.by) == ("restored", "v1", "Scribe")
    assert (undo.kind, then.name) == ("before_restore", "then")
    assert isinstance(result.undo, str)
    await bench.restore(result.undo)
    assert everything(bench) == seen


async def test_only_what_differs_is_touched_and_a_caret_stays() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.replace_text(("one", "one and more"))
    editor = bench.editor()
    typed = text_of(editor, 1)
    typed.insert(0, "typed ")  # not sent yet
    before = bench.document.seq
    await bench.restore("then")
    update = bench.store.updates[before + 1]
    assert len(update.data) < 60
    editor.push()
    assert await bench.markdown() == START.replace("one", "typed one")


async def test_a_version_of_now_is_no_write() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    seq = bench.document.seq
    result = await bench.restore("then")
    assert result.ok
    assert (result.version, result.undo) == (UNSET, UNSET)
    assert bench.document.seq == seq
    assert len(await bench.versions()) == 1


async def test_what_markdown_cannot_say_comes_back_too() -> None:
    bench = await Bench.of("one\n\ntwo\n\n1) a\n2) b\n")
    editor = bench.editor()
    first, second = editor.root.children[0], editor.root.children[1]
    assert isinstance(first, XmlElement)
    assert isinstance(second, XmlElement)
    first.attributes["textAlign"] = "right"
    text_of(editor, 0).format(0, 2, {"highlight": {"color": "red"}})
    widget = XmlElement(
        "widget", {"src": "x"}, [XmlElement("inner", {"n": "1"}, [XmlText("deep")])]
    )
    editor.root.children.append(widget)
    second.children.append(XmlElement("mention", {"who": "bob"}))
    editor.push()
    before = everything(bench)
    await bench.save("then")
    ids = anchors(await bench.read())
    editor.pull()
    first = editor.root.children[0]
    assert isinstance(first, XmlElement)
    first.attributes["textAlign"] = "left"
    text_of(editor, 0).format(0, 2, {"highlight": None})
    editor.push()
    await bench.restore("then")
    assert everything(bench) == before
    await bench.delete(*anchors(await bench.read())[1:])
    await bench.restore("then")
    assert everything(bench) == before
    assert anchors(await bench.read()) == ids


async def test_a_block_retyped_or_emptied_comes_back() -> None:
    bench = await Bench.of(START)
    before = everything(bench)
    await bench.save("then")
    ids = anchors(await bench.read())
    await bench.replace(ids[1], None, "- a list")
    await bench.replace(ids[2], None, "## two")
    await bench.restore("then")
    assert everything(bench) == before
    await bench.delete(*anchors(await bench.read()))
    assert await bench.markdown() == ""
    await bench.restore("then")
    assert everything(bench) == before


async def test_a_dry_run_says_what_it_would_do_and_keeps_no_version() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.replace_text(("one", "1"))
    seq = bench.document.seq
    told = await bench.restore("then", dry_run=True)
    assert (told.replaced, told.version) == (1, UNSET)
    assert bench.document.seq == seq
    assert len(await bench.versions()) == 1


async def test_under_one_key_it_happens_once_restarts_included() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.save("also")
    await bench.replace_text(("one", "1"))
    first = await bench.restore("then", idempotency_key="k")
    await bench.restart()
    await bench.replace_text(("two", "2"))
    again = await bench.restore("then", idempotency_key="k")
    assert (again.version, again.undo) == (first.version, first.undo)
    assert "\n2\n" in await bench.markdown()
    with pytest.raises(IdempotencyMismatch):
        await bench.restore("also", idempotency_key="k")


async def test_suggesting_it_is_refused() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    with pytest.raises(UnsupportedMode):
        await bench.restore("then", mode="suggest")


async def test_it_is_one_write_of_its_authors_budget_and_costs_no_characters() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.replace_text(("one", "1"))
    result = await bench.restore("then")
    assert result.charged == 0
    left = result.remaining
    assert left is not UNSET
    for n in range(left.writes):
        await bench.insert(f"{n}")
    with pytest.raises(RateLimited):
        await bench.restore("then")


async def test_what_an_agent_was_not_shown_it_has_not_seen_by_restoring() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.replace_text(("one", "1"), caller=ANN)
    newcomer = Caller("newcomer", "Newcomer", agent=True)
    result = await bench.restore("then", caller=newcomer)
    assert result.cursor is None  # it has read nothing: nothing to go on from


async def test_somebody_types_all_the_while() -> None:
    bench = await Bench.of(START)
    await bench.save("then")
    await bench.replace_text(("two", "2"))
    editor = bench.editor()
    typing = True

    async def types() -> None:
        while typing:
            text = text_of(editor, 1)
            text.insert(len(text), "x")
            editor.push()
            await asyncio.sleep(0)

    task = asyncio.create_task(types())
    await bench.restore("then")
    typing = False
    await task
    words = await bench.markdown()
    assert "two" in words


async def test_any_history_is_taken_back_to_any_version() -> None:
    rng = random.Random(11)
    bench = await Bench.of(START + "\n- a\n- b\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n")
    editors = [bench.editor(), bench.editor(Caller("bob", "Bob"), keeps_ids=False)]
    mirror = await bench.mirror()
    states: dict[str, list[object]] = {}
    patient = Caller("patient", "Patient", allowance=PLENTY)
    for step in range(amount(80, 800)):
        editor = rng.choice(editors)
        editor.pull()
        editor.act(rng)
        editor.hand_over()
        bench.now += rng.choice([10, 20_000, 70_000])
        if step % 10 == 0:
            made = await bench.save(f"step {step}", caller=patient)
            states[made.version] = everything(bench)
        elif step % 10 == 5:
            version = rng.choice(list(states))
            before = everything(bench)
            result = await bench.restore(version, caller=patient)
            assert everything(bench) == states[version], version
            if isinstance(result.undo, str) and rng.random() < 0.5:
                await bench.restore(result.undo, caller=patient)
                assert everything(bench) == before
        mirror.apply(await bench.changes(mirror.cursor, caller=patient))
        assert mirror.markdown() == await bench.markdown()


def past(block_id: str, text: str) -> PastBlock:
    return PastBlock(block_id, Block(Node("paragraph", {}, (Text(text),))), text)


def test_the_operations_of_a_restore_mean_the_version() -> None:
    rng = random.Random(5)
    for _ in range(amount(500, 5000)):
        ids = [f"b{n}" for n in range(9)]
        sides = [
            [past(one, rng.choice("xyz")) for one in rng.sample(ids, rng.randrange(9))]
            for _ in range(2)
        ]
        plan = plan_restore(*sides)
        present, wanted = ([(one.block_id, one.text) for one in side] for side in sides)
        assert apply_to_list(present, plan, lambda _: "") == wanted
        kept = {one for one, _ in present}
        assert all(op.block_id not in kept for op in plan.ops if isinstance(op, Insert))
