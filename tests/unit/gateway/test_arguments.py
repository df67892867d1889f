"""What each reader of arguments takes, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mcp import arguments
from gateway.mcp.arguments import Unfit
from shared.errors import DocumentNotFound, InvalidArgument, InvalidCursor
from shared.ids import BlockRef
from shared.limits import MAX_SAFE_INTEGER
from shared.protocol import TextEdit

REF = BlockRef("k3x9d2ab", "1f09c3")
BARE = BlockRef("k3x9d2ab")


def _limit(value: object) -> int:
    return arguments.whole(value, 1, 200)


def _wait(value: object) -> float:
    return arguments.seconds(value, 50)


def _mode(value: object) -> str:
    return arguments.choice(value, ("apply", "suggest"))


def _blocks(value: object) -> tuple[BlockRef, ...]:
    return arguments.several(value, arguments.block)


def _edits(value: object) -> tuple[TextEdit, ...]:
    return arguments.several(value, arguments.edit)


def _title(value: object) -> str:
    return arguments.words(value, 10)


TAKEN: list[tuple[Callable[[Any], object], object, object]] = [
    (_limit, 7, 7),
    (_limit, "7", 7),
    (_limit, " 7 ", 7),
    (_limit, 7.0, 7),
    (_limit, "200", 200),
    (_wait, 0, 0.0),
    (_wait, "12.5", 12.5),
    (_wait, 50, 50.0),
    (arguments.flag, True, True),
    (arguments.flag, "false", False),
    (arguments.flag, " True ", True),
    (arguments.cursor, 0, 0),
    (arguments.cursor, 1048622, 1048622),
    (arguments.cursor, "1048622", 1048622),
    (arguments.cursor, " 1048622\n", 1048622),
    (arguments.cursor, MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
    (_mode, "Suggest", "suggest"),
    (arguments.text, "", ""),
    (arguments.text, "# A\r\n", "# A\r\n"),
    (_title, 2026, "2026"),
    (arguments.document, "q3-plan", "q3-plan"),
    (arguments.document, " abcdefgh1234 ", "abcdefgh1234"),
    (arguments.document, '"q3-plan"', "q3-plan"),
    (arguments.document, "https://docs.example/d/q3-plan?x=1#top", "q3-plan"),
    (arguments.document, "http://127.0.0.1:8000/api/documents/q3-plan.md", "q3-plan"),
    (arguments.document, "wss://docs.example/collab/q3-plan", "q3-plan"),
    (arguments.document, "/d/q3-plan/", "q3-plan"),
    (arguments.block, "k3x9d2ab", BARE),
    (arguments.block, "k3x9d2ab-1f09c3\n", REF),
    (arguments.block, "[k3x9d2ab-1f09c3]", REF),
    (arguments.block, "`k3x9d2ab-1f09c3`", REF),
    (arguments.block, {"anchor": "k3x9d2ab-1f09c3", "text": "a"}, REF),
    (arguments.place, "START", "start"),
    (arguments.place, "end", "end"),
    (arguments.place, "k3x9d2ab", BARE),
    (_blocks, ["k3x9d2ab", "k3x9d2ab-1f09c3\n"], (BARE, REF)),
    (_blocks, '["k3x9d2ab", "k3x9d2ab-1f09c3"]', (BARE, REF)),
    (_blocks, "k3x9d2ab", (BARE,)),
    (_blocks, "[k3x9d2ab-1f09c3]", (REF,)),
    (_blocks, "k3x9d2ab, k3x9d2ab-1f09c3", (BARE, REF)),
    (_blocks, "k3x9d2ab\nk3x9d2ab-1f09c3", (BARE, REF)),
    (_blocks, [{"anchor": "k3x9d2ab-1f09c3"}], (REF,)),
    (_blocks, {"anchor": "k3x9d2ab-1f09c3"}, (REF,)),
    (_blocks, [], ()),
    (_blocks, "[]", ()),
    (_edits, [{"old_text": "a", "new_text": ""}], (TextEdit("a", ""),)),
    (_edits, {"old_text": "a", "new_text": "b", "anchor": None}, (TextEdit("a", "b"),)),
    (_edits, '{"old_text": "a b", "new_text": "c"}', (TextEdit("a b", "c"),)),
    (
        _edits,
        '[{"old_text": " a\\n", "new_text": "b", "anchor": "k3x9d2ab-1f09c3"}]',
        (TextEdit(" a\n", "b", REF),),
    ),
]


@pytest.mark.parametrize("read, given, expected", TAKEN)
def test_takes_what_models_send(
    read: Callable[[Any], object], given: object, expected: object
) -> None:
    assert read(given) == expected


REFUSED: list[tuple[Callable[[Any], object], tuple[object, ...]]] = [
    (_limit, (True, 7.5, "7.5", "abc", "", "0x10", [], {}, 0, -1, 201, 10**12)),
    (_limit, (math.nan, math.inf, "1_0", "٧", "9" * 400)),
    (_wait, (True, "soon", -1, 51, math.nan, "nan", math.inf, 10**400, [])),
    (arguments.flag, (0, 1, "yes", "", None, [])),
    (_mode, ("", "propose", 1, ["apply"])),
    (arguments.text, (5, ["a"], {}, True, "half \ud800 pair")),
    (_title, (True, ["a"], "more than ten")),
    (arguments.document, ("", "  ", 5, [], {})),
    (arguments.block, ("", "k3x9d2a", "K3X9D2AB", "k3x9d2ab-1f09c", 5, None, {})),
    (arguments.place, ("", "middle", 5, [])),
    (_edits, (5, True, "a", [{}], ["a"], [{"old_text": "a"}], [{"old_text": 5, "new_text": ""}])),
    (_edits, ([{"old_text": "a", "new_text": "b", "anchor": "x"}], [{"old": "a", "new": "b"}])),
    (_blocks, (5, True, ["nope"], "nope", '{"a": 1}', ["k3x9d2ab"] * 20_001)),
]


@pytest.mark.parametrize(
    "read, given", [(read, value) for read, values in REFUSED for value in values]
)
def test_refuses_what_it_would_have_to_guess(read: Callable[[Any], object], given: object) -> None:
    with pytest.raises(Unfit) as caught:
        read(given)
    assert caught.value.kind is InvalidArgument
    assert len(caught.value.text) < 200


NO_CURSORS = [
    *[-1, "-1", 1.5, "1.5", 7.0, "0x10", "", " ", True, False, [], {"o": 1}],
    *["9" * 400, 2**63, MAX_SAFE_INTEGER + 1, math.nan, "1e3", "+7", "٧", b"7"],
]


@pytest.mark.parametrize("given", NO_CURSORS)
def test_a_cursor_is_a_whole_number_or_its_digits(given: object) -> None:
    with pytest.raises(Unfit) as caught:
        arguments.cursor(given)
    assert caught.value.kind is InvalidCursor


@pytest.mark.parametrize(
    "given", ["../../etc/passwd", "My Plan", "a" * 65, "https://[", "plan?", "пл", "/", "a\x00b"]
)
def test_what_cannot_be_a_document_answers_as_an_unknown_one(given: str) -> None:
    with pytest.raises(Unfit) as caught:
        arguments.document(given)
    assert caught.value.kind is DocumentNotFound


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "read",
    [
        *(_limit, _wait, _mode, _blocks, _title, arguments.flag, arguments.cursor),
        *(arguments.text, arguments.document, arguments.block, arguments.place, _edits),
    ],
)
@given(value=JSON)
def test_no_value_brings_another_error(read: Callable[[Any], object], value: object) -> None:
    with suppress(Unfit):
        read(value)
