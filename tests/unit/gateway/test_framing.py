from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mcp.framing import frame, new_nonce, unframe

NONCES = st.text("0123456789abcdef", min_size=8, max_size=8)
LINES = st.text(st.characters(exclude_characters="\r\n"), max_size=20)
FAKES = NONCES.map(lambda nonce: frame("", nonce).split("\n")).flatmap(st.sampled_from)
TEXTS = st.lists(LINES | FAKES, min_size=1).map("\n".join)


@given(text=TEXTS, nonce=NONCES)
def test_what_was_framed_comes_back_to_the_letter(text: str, nonce: str) -> None:
    framed = frame(text, "00000000" if nonce in text else nonce)
    if "00000000" not in text:
        assert unframe(framed) == text


@given(text=st.text())
def test_a_text_without_frame_lines_is_left_alone(text: str) -> None:
    assert unframe(text) == text


def test_people_cannot_end_the_frame_around_their_text() -> None:
    fake = frame("x", "11111111").split("\n")[2]
    framed = frame(f"before\n{fake}\nafter", "22222222")
    assert framed.split("\n")[-1] != fake
    assert unframe(framed) == f"before\n{fake}\nafter"


def test_two_pages_copied_together_are_both_unframed() -> None:
    pages = frame("one", "11111111") + "\n\n" + frame("two", "22222222")
    assert unframe(pages) == "one\n\ntwo"


def test_a_line_copied_without_its_partner_goes_at_the_edge_only() -> None:
    begin, _, end = frame("x", "11111111").split("\n")
    assert unframe(f"{begin}\ntext") == "text"
    assert unframe(f"text\n{end}\n") == "text\n"
    assert unframe(f"a\n{end}\nb") == f"a\n{end}\nb"


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends_do_not_hide_the_frame(newline: str) -> None:
    assert unframe(frame("a", "11111111").replace("\n", newline)) == "a"


def test_every_answer_has_another_nonce() -> None:
    assert new_nonce() != new_nonce()


def test_many_unpaired_lines_take_no_long_time() -> None:
    begin = frame("x", "11111111").split("\n")[0]
    text = "\n".join([begin] * 20_000)
    assert unframe(text).count("\n") == 20_000 - 2
