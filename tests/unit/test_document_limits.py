"""What an agent's write may make of a document: refused past the limits, and nothing changed."""

from __future__ import annotations

import pytest

from shared.errors import TooLarge, UnsupportedMarkup
from shared.limits import MAX_DEPTH, MAX_MARKDOWN_CHARS
from shared.markdown.parse import parse
from shared.protocol import Remaining
from tests.unit.documents import SCRIBE, Bench, anchors, text_of

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\nSecond words.\n"


@pytest.fixture
def four_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.document.applying.MAX_BLOCKS", 4)


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.document.applying.MAX_DOCUMENT_BYTES", 2_000)


@pytest.mark.usefixtures("four_blocks")
@pytest.mark.parametrize("verb", ["insert", "patch", "replace", "replace_text"])
async def test_no_verb_makes_more_blocks_than_a_document_may_have(verb: str) -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    two = "Second words.\n\nThird.\n\nFourth."
    calls = {
        "insert": lambda: bench.insert("Third.\n\nFourth."),
        "patch": lambda: bench.patch(TEXT + "\nThird.\n\nFourth.\n", base=read.cursor),
        "replace": lambda: bench.replace(anchors(read)[2], None, two),
        "replace_text": lambda: bench.replace_text(("Second words.", two)),
    }
    with pytest.raises(TooLarge) as refused:
        await calls[verb]()
    assert refused.value.data["limit"] == 4
    assert await bench.markdown() == TEXT
    assert (await bench.insert("Third.")).inserted == 1


@pytest.mark.usefixtures("four_blocks")
async def test_a_full_document_can_be_rewritten_and_made_smaller() -> None:
    bench = await Bench.of(TEXT + "\nThird.\n\nFourth.\n")  # one too many, from before the limit
    read = await bench.read()
    await bench.replace_text(("Third.", "3rd."))
    await bench.replace(anchors(read)[4], None, "4th.")
    with pytest.raises(TooLarge):
        await bench.insert("Fifth.")
    await bench.delete(anchors(read)[1])
    await bench.delete(anchors(read)[2])
    assert (await bench.insert("Fifth.")).inserted == 1


@pytest.mark.usefixtures("few_bytes")
async def test_a_document_takes_no_more_bytes_than_it_may_have() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("x" * 1_000)
    with pytest.raises(TooLarge) as refused:
        await bench.insert("\N{PILE OF POO}" * 300)  # 300 characters, 1,200 bytes
    assert refused.value.data["limit"] == 2_000
    assert refused.value.retryable is False
    assert (await bench.insert("y" * 300)).inserted == 1


@pytest.mark.usefixtures("few_bytes")
async def test_text_that_was_deleted_does_not_count() -> None:
    bench = await Bench.of(TEXT)
    for _ in range(5):
        await bench.insert("x" * 1_000)
        await bench.delete(anchors(await bench.read())[-1])
    assert await bench.markdown() == TEXT


@pytest.mark.usefixtures("few_bytes")
async def test_a_refused_write_costs_nothing_and_leaves_its_key_free() -> None:
    bench = await Bench.of(TEXT)
    before = await bench.insert("small")
    with pytest.raises(TooLarge):
        await bench.insert("x" * 3_000, idempotency_key="k")
    after = await bench.insert("small", idempotency_key="k")
    assert (before.remaining, after.remaining) == (Remaining(99, 199_995), Remaining(98, 199_990))


async def test_nested_deeper_than_editors_take_is_refused() -> None:
    bench = await Bench.of(TEXT)
    deepest = "> " * (MAX_DEPTH - 1) + "a"
    assert (await bench.insert(deepest)).inserted == 1
    with pytest.raises(UnsupportedMarkup):
        parse("> " + deepest)
    with pytest.raises(UnsupportedMarkup):  # by a quote, whose result is what counts
        await bench.replace_text((deepest, "> " + deepest))
    assert await bench.markdown() == f"{TEXT}\n{deepest}\n"


async def test_one_block_grows_as_far_as_one_write_reaches() -> None:
    """Past it nobody could send the block back."""
    bench = await Bench.of("# Plan\n\n" + "x" * (MAX_MARKDOWN_CHARS - 20) + " end\n")
    with pytest.raises(TooLarge) as refused:
        await bench.replace_text((" end", " the very end indeed, and no more"))
    assert refused.value.data["limit"] == MAX_MARKDOWN_CHARS
    assert (await bench.replace_text((" end", " stop"))).replaced == 1


async def test_a_block_too_large_to_send_back_is_read_and_typed_in_all_the_same() -> None:
    bench = await Bench.of("First.\n")
    editor = bench.editor()
    text_of(editor, 0).insert(0, "x" * (MAX_MARKDOWN_CHARS + 10))
    editor.push()
    read = await bench.read(SCRIBE, max_chars=MAX_MARKDOWN_CHARS)
    assert read.total_chars > MAX_MARKDOWN_CHARS
    assert (await bench.insert("Second.")).inserted == 1
