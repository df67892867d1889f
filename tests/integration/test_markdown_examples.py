"""Every example of CommonMark and GFM in a real actor: read, sent back, nothing changes.

One document takes the examples in turn, as an author rewrites all of it; between two reads lie the
gateway's parser, Ray, the actor, its diff and its file.
"""

from __future__ import annotations

from typing import Final

import pytest

from gateway.router import Router
from shared.budget import Allowance
from shared.directory_protocol import Created
from shared.markdown.join import join
from shared.markdown.parse import Parsed, parse
from shared.markdown.render import render
from shared.protocol import (
    Caller,
    PatchRequest,
    ReadDocumentRequest,
    ReadDocumentResult,
    WriteOptions,
    WriteResult,
)
from tests.commonmark import EXAMPLES
from tests.unit.markdown.gfm import CASES

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(400)]

PLENTY: Final = Allowance(1_000_000, 100_000_000, 1_000_000)
ANN: Final = Caller(
    "person:ann", "Ann", "person:ann", scopes=frozenset({"read", "write"}), allowance=PLENTY
)
TEXTS: Final = {f"CommonMark {one['example']}": one["markdown"] for one in EXAMPLES} | CASES


async def read(router: Router, ref: str) -> tuple[str, int]:
    asked = ReadDocumentRequest(format="markdown", max_chars=1_000_000)
    shown: ReadDocumentResult = await router.call(ref, "read_document", ANN, asked)
    assert isinstance(shown.markdown, str)
    return shown.markdown, shown.cursor


async def patch(router: Router, ref: str, parsed: Parsed, base: int) -> WriteResult:
    options = WriteOptions(base=base, allow_large_delete=True)
    order = PatchRequest(parsed.blocks, options=options, fidelity=parsed.fidelity)
    result: WriteResult = await router.call(ref, "patch", ANN, order)
    return result


async def test_each_example_sent_back_changes_nothing(router: Router) -> None:
    made: Created = await router.directory(
        "create_document", ANN, "Examples", None, parse("start").blocks
    )
    _, cursor = await read(router, made.doc_id)
    changed, wrong = [], []
    for name, markdown in TEXTS.items():
        parsed = parse(markdown)
        if not parsed.blocks:  # a patch that would empty the document is refused
            continue
        written = await patch(router, made.doc_id, parsed, cursor)
        text, cursor = await read(router, made.doc_id)
        whole = join(render(block.node, block.hints).text for block in parsed.blocks)
        if text != whole and not written.conflicts:  # a block of an earlier example stays deleted
            wrong.append(name)
        result = await patch(router, made.doc_id, parse(text), cursor)
        done = (result.replaced, result.inserted, result.deleted, result.moved, result.charged)
        again, after = await read(router, made.doc_id)
        if done != (0, 0, 0, 0, 0) or (again, after) != (text, cursor):
            changed.append(name)
    assert (changed, wrong) == ([], [])
