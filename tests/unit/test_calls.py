"""Every call and every answer is the same on the other side."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shared.calls import (
    READS,
    VERBS,
    Verb,
    decode_answer,
    decode_call,
    encode_answer,
    encode_call,
)
from shared.checkup import BackUpRequest, CheckRequest, Checkup, Copied, Problem
from shared.errors import InvalidArgument, Moved, StaleAnchor
from shared.ids import BlockRef
from shared.markdown.parse import parse
from shared.protocol import (
    BlockText,
    Caller,
    ChangedBlock,
    Conflict,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    Remaining,
    ReplaceRequest,
    ReplaceTextRequest,
    RouteKey,
    TextEdit,
    WriteOptions,
    WriteResult,
    WrittenBlock,
)

KEY = RouteKey("d" * 12, 3, "secret")
ANN = Caller("person:ann", "Ann", agent=True, scopes=frozenset({"read", "write"}))
HERE = BlockRef("a" * 8, "abcdef")
OPTIONS = WriteOptions(base=7, on_conflict="merge", idempotency_key="k")
BLOCKS = parse(
    "# Head\n\n1) one\n\n2) two\n\n| a | b |\n|:-:|---|\n| **x** | [y](/z 't') |\n\n<div>raw</div>"
).blocks
WRITTEN = WriteResult(
    ok=True,
    replaced=1,
    inserted=0,
    deleted=0,
    moved=0,
    charged=9,
    blocks=(WrittenBlock("aaaaaaaa-abcdef", None, "text"), WrittenBlock("bbbbbbbb-abcdef", "a")),
    removed=("cccccccc",),
    kept=(),
    conflicts=(Conflict("aaaaaaaa-abcdef", None, "theirs", "deleted"),),
    cursor=None,
    behind=True,
    remaining=Remaining(3, 4),
)
CALLS: dict[Verb, tuple[tuple[Any, ...], Any]] = {
    "read_document": (
        (ReadDocumentRequest(), ReadDocumentRequest(section_id=HERE, find="x", outline=True)),
        ReadDocumentResult("T", 5, 9, truncated=False, blocks=(BlockText("a-b", "t"),)),
    ),
    "read_changes": (
        (ReadChangesRequest(), ReadChangesRequest(cursor=2**53, look=True)),
        ReadChangesResult(
            (ChangedBlock("a-b", "\U0001f600", "moved", None, ("Ann",)),),
            ("x",),
            5,
            truncated=True,
            more=False,
            reason="too_old",
        ),
    ),
    "patch": ((PatchRequest(BLOCKS, (HERE,), HERE, OPTIONS), PatchRequest(())), WRITTEN),
    "insert": ((InsertRequest(BLOCKS), InsertRequest(BLOCKS, HERE, OPTIONS)), WRITTEN),
    "replace": ((ReplaceRequest(HERE, None, BLOCKS), ReplaceRequest(HERE, HERE, ())), WRITTEN),
    "delete": ((DeleteRequest((HERE,), OPTIONS),), WRITTEN),
    "move": ((MoveRequest(HERE, "start", section=True), MoveRequest(HERE, HERE)), WRITTEN),
    "replace_text": ((ReplaceTextRequest((TextEdit("a", "", HERE),), HERE),), WRITTEN),
    "back_up": ((BackUpRequest("/a/b"),), Copied(5, "ff")),
    "check": ((CheckRequest("d"),), Checkup("d", (Problem("integrity", "bad"),))),
}


def test_every_verb_has_an_example() -> None:
    assert CALLS.keys() == VERBS
    assert READS < VERBS


@pytest.mark.parametrize("verb", sorted(CALLS))
def test_call_and_answer_are_the_same_on_the_other_side(verb: Verb) -> None:
    requests, result = CALLS[verb]
    for request in requests:
        assert decode_call(verb, encode_call(KEY, ANN, request)) == (KEY, ANN, request)
    assert decode_answer(verb, encode_answer(result)) == result


def test_unset_stays_unset() -> None:
    result = decode_answer("patch", encode_answer(WRITTEN))
    assert "fidelity" not in msgspec.to_builtins(result)


@pytest.mark.parametrize("error", [Moved("Not here."), StaleAnchor("Changed.", anchors=["a-b"])])
def test_error_is_an_answer(error: Any) -> None:
    assert decode_answer("patch", encode_answer(error.to_wire())) == error.to_wire()


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="surrogate"):
        encode_call(KEY, ANN, ReadDocumentRequest(find="\ud800"))


def test_request_of_another_verb_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_call("insert", encode_call(KEY, ANN, DeleteRequest((HERE,))))
