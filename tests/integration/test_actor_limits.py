"""A document in a real actor takes as much as it may have, and says so of the next write."""

from __future__ import annotations

import pytest

from gateway.router import Router
from shared.budget import Allowance
from shared.errors import TooLarge
from shared.limits import MAX_BLOCKS, MAX_DOCUMENT_BYTES, MAX_MARKDOWN_CHARS
from shared.markdown.parse import parse
from shared.protocol import Caller, InsertRequest, ReadDocumentRequest, WriteResult

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

PLENTY = Allowance(10**9, 10**9, 10**9)
ANN = Caller(
    "person:ann", "Ann", "person:ann", scopes=frozenset({"read", "write"}), allowance=PLENTY
)


async def append(router: Router, doc: str, markdown: str) -> WriteResult:
    request = InsertRequest(parse(markdown).blocks, "end")
    result: WriteResult = await router.call(doc, "insert", ANN, request)
    return result


async def test_blocks_up_to_the_limit_and_none_more(router: Router) -> None:
    blocks = parse("x\n\n" * MAX_BLOCKS).blocks
    made = await router.directory("create_document", ANN, "Many blocks", None, blocks)
    with pytest.raises(TooLarge) as refused:
        await append(router, made.doc_id, "one more")
    assert refused.value.data["limit"] == MAX_BLOCKS
    request = ReadDocumentRequest(outline=True)
    read = await router.call(made.doc_id, "read_document", ANN, request)
    assert read.total_chars == 3 * MAX_BLOCKS - 1


async def test_bytes_up_to_the_limit_and_none_more(router: Router) -> None:
    blocks = parse("# Much text").blocks
    made = await router.directory("create_document", ANN, "Much text", None, blocks)
    largest = "x" * MAX_MARKDOWN_CHARS
    for _ in range(MAX_DOCUMENT_BYTES // MAX_MARKDOWN_CHARS):
        await append(router, made.doc_id, largest)
    with pytest.raises(TooLarge) as refused:
        await append(router, made.doc_id, largest)
    assert refused.value.data["limit"] == MAX_DOCUMENT_BYTES
    assert (await append(router, made.doc_id, "a little")).inserted == 1
