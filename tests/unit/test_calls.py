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
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.protocol_chat import (
    ChangedMessage,
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    ListChatsResult,
    ListedChat,
    PostChatMessageRequest,
    PostedMessage,
    ReadChatRequest,
    ReadChatResult,
    ReplyRequest,
    ResolvedThread,
    ResolveThreadRequest,
    ToldMessage,
)
from shared.protocol_events import (
    Event,
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
    RosterEntry,
    RosterResult,
)
from shared.protocol_history import (
    CompareCounts,
    ComparedBlock,
    ComparedState,
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    ReadVersionRequest,
    ReadVersionResult,
    RestoreRequest,
    RestoreResult,
    SaveVersionRequest,
    Version,
)
from shared.protocol_suggestions import (
    Decided,
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)
from shared.suggestions.info import SuggestionInfo

KEY = RouteKey("d" * 12, 3, "secret")
ANN = Caller("person:ann", "Ann", agent=True, scopes=frozenset({"read", "write"}))
HERE = BlockRef("a" * 8, "abcdef")
CHAT = ListedChat(
    thread_id="t",
    section_id=None,
    resolved=True,
    message_count=2,
    last_seq=5,
    last_at="2026-03-31T09:00:00.000+00:00",
    quote="q",
    orphaned=True,
)
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
AT = "2026-03-31T09:00:00.000+00:00"
HAPPENED = Event(seq=9, type="mention", at=AT, by="Ann", block_id="k3x9d2ab")
NAMED = Version("v8", AT, "named", "as sent", "Ann", "v3")
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
    "list_versions": ((ListVersionsRequest("v9", 3),), ListVersionsResult((NAMED,), "v7")),
    "read_version": (
        (ReadVersionRequest("as sent", 5),),
        ReadVersionResult("v8", AT, "text\n", 9, truncated=True, name="as sent", next_step="More."),
    ),
    "compare": (
        (CompareRequest(17, "v8", HERE), CompareRequest(AT)),
        CompareResult(
            since=ComparedState(AT, "v8"),
            until=ComparedState(AT),
            counts=CompareCounts(0, 1, 1, 0, 2, 3),
            blocks=(ComparedBlock("a", "changed", None, None, "{++x++}"),),
            truncated=False,
        ),
    ),
    "save_version": ((SaveVersionRequest("as sent", "v8"), SaveVersionRequest("x")), NAMED),
    "restore": (
        (RestoreRequest("v8", OPTIONS),),
        RestoreResult(**msgspec.structs.asdict(WRITTEN), version="v10", undo="v9"),
    ),
    "get_changes": (
        (GetChangesRequest(),),
        FoundChanges(5, from_last_left=True, compared_at=4, head_at=None),
    ),
    "suggest": ((SuggestRequest((TextEdit("a", "", HERE),), "why", OPTIONS),), WRITTEN),
    "list_suggestions": (
        (ListSuggestionsRequest("all", 3, "s7"),),
        ListSuggestionsResult(
            (SuggestionInfo("s1", "g1", "move", "open", "Ann", True, AT, after=None),), "s1"
        ),
    ),
    "decide_suggestion": (
        (DecideRequest("accept", "s1"), DecideRequest("reject", group="g1", options=OPTIONS)),
        DecideResult(
            **msgspec.structs.asdict(WRITTEN), decided=(Decided("s1", "accepted", "Ann", "Bo"),)
        ),
    ),
    "read_events": (
        (ReadEventsRequest("9-00000000", ("mention",), look=True), ReadEventsRequest()),
        ReadEventsResult((HAPPENED,), "12.m9-0f3a9c21", truncated=False, more=True),
    ),
    "join": (
        (JoinRequest("reading"),),
        RosterResult((RosterEntry("Bot", "reading", "2026", "2027", you=True),), "1-00000000"),
    ),
    "leave": ((LeaveRequest(),), RosterResult((), "1-00000000")),
    "list_chats": ((ListChatsRequest(),), ListChatsResult((CHAT,), 3)),
    "read_chat": (
        (ReadChatRequest(HERE, None, 4, 2), ReadChatRequest(thread_id="t")),
        ReadChatResult((ToldMessage("m", 1, AT, "Ann", "hi", "connected_app", AT, True),), CHAT, 7),
    ),
    "post_chat_message": (
        (PostChatMessageRequest("hi", HERE, "quote", "k"), PostChatMessageRequest("hi")),
        PostedMessage("t", "m", 1, None, "Title", "quote"),
    ),
    "reply": ((ReplyRequest("t", "hi", "k"),), PostedMessage("t", "m", 1, "aaaaaaaa")),
    "edit_message": ((EditMessageRequest("m", "x"),), ChangedMessage("t", "m", 1, AT)),
    "delete_message": ((DeleteMessageRequest("m"),), ChangedMessage("t", "m", 1, deleted=True)),
    "resolve_thread": ((ResolveThreadRequest("t", False),), ResolvedThread("t", False)),
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
