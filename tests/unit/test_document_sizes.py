"""How much is sent for how little: bytes and characters, which do not depend on the machine."""

from __future__ import annotations

import json

import msgspec
import pytest
from fastmcp.tools import ToolResult
from pycrdt import XmlElement, XmlText

from actors.storage.committer import Committed
from gateway.mcp import results
from tests.unit.documents import ANN, Bench, anchors, text_of

pytestmark = pytest.mark.anyio
SENTENCE = "Paragraph {}: the harbour master wrote every ship into a ledger."


def text(blocks: int) -> str:
    return "\n\n".join(SENTENCE.format(n) for n in range(blocks)) + "\n"


async def sent_by(bench: Bench) -> list[bytes]:
    sent = list[bytes]()

    def heard(committed: Committed) -> None:
        sent.append(committed.update)

    bench.document.subscribe(heard)
    return sent


def answered(answer: ToolResult) -> int:
    """Bytes of what an agent reads of an answer, both channels: four are a token."""
    text = [item.model_dump() for item in answer.content]
    return len(json.dumps([text, answer.structured_content], ensure_ascii=False).encode())


async def test_one_edit_among_500_blocks_costs_a_follower_one_in_a_hundred_characters() -> None:
    bench = await Bench.of(text(500))
    read = await bench.read(max_chars=1_000_000)
    await bench.type(250, " More.")
    changes = await bench.changes(read.cursor)
    assert len(changes.blocks) == 1
    assert len(msgspec.json.encode(changes)) <= read.total_chars / 100 + 300


async def test_a_reworded_sentence_among_1000_blocks_is_broadcast_in_its_own_size() -> None:
    bench = await Bench.of(text(1_000))
    read = await bench.read(max_chars=1_000_000)
    sent = await sent_by(bench)
    old, new = "wrote every ship", "noted each and every vessel"
    before = text(1_000)
    changed = before.replace(SENTENCE.format(500), SENTENCE.format(500).replace(old, new))
    assert (await bench.patch(changed, base=read.cursor)).replaced == 1
    assert sum(map(len, sent)) <= 2 * (len(old) + len(new)) + 200
    after = anchors(await bench.read(max_chars=1_000_000))
    differ = [
        n for n, pair in enumerate(zip(anchors(read), after, strict=True)) if len({*pair}) > 1
    ]
    assert differ == [500]


async def test_an_enter_that_strips_every_id_sends_little_and_tells_of_two_blocks() -> None:
    """As y-tiptap does it without an extension for ids: half a block, and no id on any other."""
    bench = await Bench.of(text(1_000))
    read = await bench.read(max_chars=1_000_000)
    sent = await sent_by(bench)
    editor = bench.editor(ANN, keeps_ids=False)
    with editor.doc.transaction():
        first = text_of(editor, 500)
        rest = str(first)[20:]
        del first[20:]
        editor.root.children.insert(501, XmlElement("paragraph", {}, [XmlText(rest)]))
        for block in editor.root.children:
            assert isinstance(block, XmlElement)
            if "id" in block.attributes:
                del block.attributes["id"]
    typed = sum(map(len, editor._outgoing))
    editor.push()
    changes = await bench.changes(read.cursor)
    assert [block.change for block in changes.blocks] == ["changed", "added"]
    assert sum(map(len, sent)) - typed <= 200


async def test_a_word_fixed_in_100_000_characters_takes_few_tokens_and_no_reading() -> None:
    bench = await Bench.of(text(1_600))
    old, new = "Paragraph 800: the harbour master", "Paragraph 800: the harbour mistress"
    arguments = {"doc_id": "a" * 12, "edits": [{"old_text": old, "new_text": new}]}
    assert len(json.dumps(arguments)) / 4 <= 200
    result = await bench.replace_text((old, new))
    assert (result.replaced, result.charged) == (1, len(new))


async def test_following_100_edits_in_500_blocks_takes_two_in_a_hundred_tokens_of_reading() -> None:
    bench = await Bench.of(text(500))
    read = await bench.read(format="anchored", max_chars=1_000_000)
    cursor, followed, again = read.cursor, 0, 0
    for n in range(100):
        await bench.type(n * 10 % 500 + n // 50, f" {n}")
        changes = await bench.changes(cursor)
        assert len(changes.blocks) == 1
        followed += answered(results.changes(changes, anchored=False))
        read = await bench.read(format="anchored", max_chars=1_000_000)
        again += answered(results.document(read, anchored=True))
        cursor = changes.cursor
    assert followed <= again / 50


async def test_asking_in_vain_takes_fifty_tokens() -> None:
    bench = await Bench.of(text(500))
    changes = await bench.changes((await bench.read(max_chars=1_000_000)).cursor)
    assert answered(results.changes(changes, anchored=False)) / 4 <= 50


async def test_a_write_is_answered_in_the_size_of_what_was_written() -> None:
    bench = await Bench.of(text(1_000))
    read = await bench.read(max_chars=1_000_000)
    old, new = SENTENCE.format(500), SENTENCE.format(500).replace("every ship", "each ship")
    by_patch = await bench.patch(text(1_000).replace(old, new), base=read.cursor)
    by_quote = await bench.replace_text((new, old))
    inserted = await bench.insert("A new paragraph of some words.", after=anchors(read)[3])
    moved = await bench.move(anchors(read)[900], "start")
    for result in (by_patch, by_quote, inserted, moved):
        assert answered(results.written(result, dry_run=False)) / 4 <= 150
