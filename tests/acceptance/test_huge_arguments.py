"""A book in one argument (P55): taken or refused by name, while other documents are read."""

from __future__ import annotations

import statistics
from typing import Final

import anyio
import pytest

from shared.limits import MAX_MARKDOWN_CHARS
from tests.acceptance.agents import agent
from tests.acceptance.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

OTHERS: Final = 5
PAUSE_S: Final = 0.05  # between two reads of one reader
SLOW_S: Final = 3 * 0.5  # what the 95th hundredth of others' reads stays under; on any machine
PARAGRAPH: Final = "The harbour master wrote every ship into a ledger. "


def book(chars: int) -> str:
    """Paragraphs of a line, some 40 characters short of `chars` in all."""
    return "\n\n".join([PARAGRAPH.strip()] * (chars // (len(PARAGRAPH) + 1)))


async def test_others_are_read_while_books_come_and_one_too_long_is_refused_by_name(
    server: Server,
) -> None:
    book_id = server.create("# Book\n\nEmpty yet.")
    others = [server.create(f"# Other {n}\n\nWords.") for n in range(OTHERS)]
    reader = server.create_token("reader", reads_per_minute=100_000)
    writer = server.create_token("writer", chars_per_hour=10 * MAX_MARKDOWN_CHARS)
    waited: list[float] = []
    done = anyio.Event()

    async def follow(doc_id: str) -> None:
        async with agent(server.mcp, reader) as reading:
            while not done.is_set():
                started = anyio.current_time()
                await reading.call("read_document", doc_id=doc_id)
                waited.append(anyio.current_time() - started)
                await anyio.sleep(PAUSE_S)

    async with anyio.create_task_group() as readers, agent(server.mcp, writer) as writing:
        for doc_id in others:
            readers.start_soon(follow, doc_id)
        cursor = (await writing.call("read_document", doc_id=book_id))["cursor"]
        taken = await writing.call("patch", doc_id=book_id, markdown=book(900_000), base=cursor)
        assert taken["ok"]
        line = "word " * (MAX_MARKDOWN_CHARS // 5 - 1)
        await writing.call("insert", doc_id=server.create("# Line"), markdown=line)
        for chars in (3_000_000, 5_000_000):
            refused = await writing.refused("patch", doc_id=book_id, markdown=book(chars))
            assert refused["code"] == "too_large"
            assert f"{MAX_MARKDOWN_CHARS}" in refused["message"].replace(",", "")
            assert refused["next_step"]
        done.set()
    assert len(waited) > 20 * OTHERS
    assert statistics.quantiles(waited, n=20)[-1] < SLOW_S
    async with agent(server.mcp, reader) as reading:
        page = await reading.call("read_document", doc_id=book_id, max_chars=MAX_MARKDOWN_CHARS)
    assert page["total_chars"] == len(book(900_000)) + 1  # the last line ends
