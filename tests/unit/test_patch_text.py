"""Replacing quoted text, held to the real parser and renderer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.document.writing import canonical, canonical_blocks
from shared.errors import (
    FindNotMatched,
    InvalidArgument,
    NotUnique,
    StaleAnchor,
    StaleBlock,
    TooLarge,
    UnsupportedMarkup,
)
from shared.ids import BlockRef, text_hash
from shared.limits import MAX_TEXT_EDITS
from shared.markdown.parse import parse
from shared.patch.replace_text import Reader, plan_replace_text
from shared.patch.types import NewBlock, Plan, Present, apply_to_list
from shared.protocol import OnConflict, TextEdit, WriteOptions
from shared.tree import Block

TEXT = """# Plan

The **first bold** paragraph with a [link](https://example.org/first).

Second thoughts — “quoted”, it’s here\\*, twice twice.

## Later

| task | who |
| --- | --- |
| write | ann |
| read | bob |

- one item
- another item

```py
print("first")
```

The end.
"""
Doc = list[tuple[str, str]]


def document(markdown: str) -> Doc:
    blocks = parse(markdown).blocks
    return [(f"{n:08d}", canonical(block)) for n, block in enumerate(blocks)]


NOW = document(TEXT)


def reader(now: Doc) -> Reader:
    def block_of(block_id: str) -> Block:
        (block,) = parse(dict(now)[block_id]).blocks
        return block

    def read(text: str) -> list[NewBlock]:
        parsed = parse(text)
        return canonical_blocks(parsed.blocks, parsed.fidelity, ())

    return Reader(block_of, read, lambda block: NewBlock.of(block, canonical(block)))


def plan(
    *edits: tuple[str, str] | TextEdit,
    now: Doc = NOW,
    section: str | None = None,
    on_conflict: OnConflict | None = None,
    touched: frozenset[str] = frozenset(),
) -> Plan:
    return plan_replace_text(
        [Present.of(i, text) for i, text in now],
        [edit if isinstance(edit, TextEdit) else TextEdit(*edit) for edit in edits],
        BlockRef(section) if section else None,
        reader=reader(now),
        options=WriteOptions(on_conflict=on_conflict),
        touched=touched,
    )


def result(*edits: tuple[str, str] | TextEdit, now: Doc = NOW) -> list[str]:
    return [t for _, t in apply_to_list(now, plan(*edits, now=now), lambda n: f"new{n:05d}")]


def changed(*edits: tuple[str, str] | TextEdit) -> list[str]:
    """The texts that are new."""
    before = [text for _, text in NOW]
    return [text for text in result(*edits) if text not in before]


def test_a_quote_of_the_markdown_changes_its_block_alone_at_the_price_of_what_is_new() -> None:
    done = plan(("Second thoughts", "Better thoughts"))
    assert (done.replaced, done.inserted, done.deleted) == (1, 0, 0)
    assert done.charged == len("Better thoughts")
    assert changed(("Second thoughts", "Better thoughts")) == [
        NOW[2][1].replace("Second", "Better")
    ]


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("| read | bob |", "| read | bob |\n| talk | cy |", "| talk | cy |"),
        ("- one item\n- another", "- one item\n- between\n- another", "- between"),
        ('print("first")', "print(1)", "```py\nprint(1)\n```"),
        ("## Later", "### Later", "### Later"),
        ("**first bold**", "*first*", "The *first* paragraph"),
    ],
)
def test_a_quote_may_span_lines_and_markup_of_one_block(old: str, new: str, text: str) -> None:
    (now,) = changed((old, new))
    assert text in now


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("first bold paragraph", "only paragraph", "The only paragraph with a [link]"),
        ("bold paragraph", "**bolder** paragraph", "The **first bolder** paragraph with"),
        ("with a link.", "with no link.", "The **first bold** paragraph with no link."),
        ("ann", "cy", "| write | cy |"),
    ],
)
def test_what_is_not_in_the_markdown_is_found_as_it_reads(old: str, new: str, text: str) -> None:
    (now,) = changed((old, new))
    assert text in now


def test_marks_all_over_what_is_replaced_stay() -> None:
    now = document("Say **very\u00a0loud** things.\n")
    assert result(("very loud", "rather loud"), now=now) == ["Say **rather loud** things."]
    now = document("Call `a b` now, **all `of it`**.\n")
    assert result(("all of it", "none *x*"), now=now) == ["Call `a b` now, **none *x***."]


def test_a_new_text_that_would_be_a_block_is_text_where_text_was_quoted() -> None:
    now = document("One **two** three.\n")
    assert result(("two three", "1. two"), now=now) == ["One 1. two."]
    assert result(("One two", "# One"), now=now) == ["\\# One three."]


@pytest.mark.parametrize(
    "old",
    [
        'thoughts - "quoted", it\'s here',
        "thoughts\u00a0—  “quoted”, it’s here*",
        "thoughts\n— “quoted”, it's here\\*\n",
        "“quoted”, it’s here*, twice twice.\n",
    ],
)
def test_spaces_quotes_and_escapes_are_folded_last(old: str) -> None:
    (now,) = changed((old, "X\n"))
    assert now in (
        "Second X, twice twice.",
        "Second X*, twice twice.",
        "Second thoughts — X",
    )


def test_the_first_reading_that_has_it_decides() -> None:
    now = document('a “word” here\n\na "word" there\n')
    assert result(('"word"', "W"), now=now) == ["a “word” here", "a W there"]
    with pytest.raises(NotUnique):
        plan(("‘word’", "W"), now=document("it's 'word' and 'word'\n"))


def test_a_quote_that_occurs_twice_is_refused_with_the_places() -> None:
    with pytest.raises(NotUnique) as refused:
        plan(("first", "1st"))
    data = refused.value.data
    assert str(refused.value).startswith("edits[0].old_text: ")
    assert (data["edit"], data["count"]) == (0, 3)
    assert [match["anchor"][:8] for match in data["matches"]] == ["00000001"] * 2 + ["00000006"]
    assert data["matches"][2]["section_id"] == "00000003"
    assert "**first bold**" in data["matches"][0]["snippet"]
    with pytest.raises(NotUnique):
        plan(("aa", "b"), now=document("aaa\n"))


def test_a_quote_that_is_not_there_is_refused_with_what_is_like_it() -> None:
    with pytest.raises(FindNotMatched) as refused:
        plan(("Secnd thougts", "x"))
    (nearest,) = refused.value.data["nearest"]
    assert nearest["anchor"] == f"00000002-{text_hash(NOW[2][1])}"
    assert "Second thoughts" in nearest["text"]
    with pytest.raises(FindNotMatched) as refused:
        plan(("zzzz qqqq", "x"))
    assert refused.value.data["nearest"] == []


def test_a_quote_over_two_blocks_says_what_to_do_instead() -> None:
    with pytest.raises(FindNotMatched) as refused:
        plan(("# Plan\n\nThe **first", "x"))
    assert "one block" in refused.value.data["next_step"]


def test_all_edits_or_none_and_every_fault_is_told() -> None:
    with pytest.raises(FindNotMatched) as refused:
        plan(("The end.", "End."), ("nowhere at all", "x"), ("twice", "once"))
    assert refused.value.data["edit"] == 1
    (other,) = refused.value.data["failed"]
    assert (other["code"], other["edit"], other["count"]) == ("not_unique", 2, 2)


def test_several_edits_are_all_of_the_document_as_it_is() -> None:
    assert changed(("write", "read"), ("bob", "ann"), ("The end", "Fin")) == [
        NOW[4][1].replace("| write |", "| read |").replace("bob", "ann"),
        "Fin.",
    ]
    swapped = result(("one", "two"), ("two", "one"), now=document("one and two\n"))
    assert swapped == ["two and one"]


def test_edits_of_text_and_of_markdown_in_one_block() -> None:
    (now,) = changed(("bold paragraph", "bold text"), ("](https://example.org/first)", "](/x)"))
    assert now == "The **first** bold text with a [link](/x)."


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="overlap"):
        plan(("Second thoughts", "x"), ("thoughts —", "y"))
    with pytest.raises(InvalidArgument, match="make them one"):
        plan(("bold paragraph", "x"), ("**first bold**", "y"))


def test_an_anchor_or_a_section_narrows_where_to_look() -> None:
    code = NOW[6]
    anchor = BlockRef(code[0], text_hash(code[1]))
    done = plan(TextEdit("first", "last", anchor))
    assert [op.block_id for op in done.ops] == [code[0]]
    assert plan(("first", "last"), section="00000003").replaced == 1
    with pytest.raises(FindNotMatched) as refused:
        plan(("Second", "x"), section="00000003")
    assert refused.value.data["elsewhere"][0]["anchor"].startswith("00000002")
    with pytest.raises(FindNotMatched):
        plan(TextEdit("Second", "x", anchor))


def test_a_stale_hash_refuses_unless_the_edit_may_be_made_all_the_same() -> None:
    edit = TextEdit("The end", "Fin", BlockRef(NOW[-1][0], "000000"))
    with pytest.raises(StaleBlock):
        plan(edit)
    assert plan(edit, on_conflict="merge").replaced == 1
    with pytest.raises(StaleAnchor):
        plan(TextEdit("a", "b", BlockRef("zzzzzzzz")))


def test_reject_refuses_blocks_that_others_changed_since_the_base() -> None:
    touched = frozenset({NOW[-1][0]})
    assert plan(("The end", "Fin"), touched=touched).replaced == 1
    with pytest.raises(StaleBlock) as refused:
        plan(("The end", "Fin"), touched=touched, on_conflict="reject")
    assert refused.value.data["changed"][0]["text"] == "The end."
    assert plan(("Second", "x"), touched=touched, on_conflict="reject").replaced == 1


def test_a_block_may_become_several_and_the_likest_keeps_the_id() -> None:
    now = document("Before.\n\nThe body of the text.\n\nAfter.\n")
    edit = ("The body", "An intro.\n\nThe body")
    done = plan(edit, now=now)
    assert result(edit, now=now) == ["Before.", "An intro.", "The body of the text.", "After."]
    assert (done.inserted, done.replaced) == (1, 1)
    edits = (edit, ("Before.", "Before.\n\nMore of it."))
    assert result(*edits, now=now)[:4] == [
        "Before.",
        "More of it.",
        "An intro.",
        "The body of the text.",
    ]


def test_a_block_of_which_nothing_is_left_goes() -> None:
    done = plan(("The end.", ""))
    assert (done.deleted, done.charged) == (1, 0)
    assert plan(("# Plan", " ")).deleted == 1
    only = document("Only.\n")
    assert result(("Only.", ""), now=only) == ["&nbsp;"]
    both = document("**a** b\n\nc\n")
    assert result(("a b", ""), ("c", ""), now=both) == ["&nbsp;"]


def test_nothing_changed_is_nothing_done() -> None:
    assert plan(("The end.", "The end.")).ops == ()
    assert plan(("The end.", "The end.")).charged == 0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        plan()
    with pytest.raises(InvalidArgument, match=r"edits\[1\]"):
        plan(("The end", "x"), (" \n", "x"))
    with pytest.raises(TooLarge):
        plan(*[("The end", "x")] * (MAX_TEXT_EDITS + 1))
    with pytest.raises(UnsupportedMarkup):
        plan(("The end", "a\x00b"))
    with pytest.raises(FindNotMatched):
        plan(("Plan\x00The", "x"))


WORDS = st.sampled_from(
    ["alpha", "**bold**", "[a](b)", "`code`", "x_y", "1\\.", "“q”", "&amp;", "*"]
)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=5),
    st.data(),
)
def test_a_unique_quote_of_any_block_is_replaced_and_the_rest_stays(
    paragraphs: list[str], data: st.DataObject
) -> None:
    now = document("\n\n".join(paragraphs) + "\n")
    at = data.draw(st.integers(0, len(now) - 1))
    text = now[at][1]
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    try:
        done = plan((quote, "NEW"), now=now)
    except NotUnique:
        again = re.compile(f"(?={re.escape(quote)})")  # places may overlap
        assert sum(len(again.findall(other)) for _, other in now) > 1
        return
    except InvalidArgument:
        assert not quote.strip()
        return
    after = apply_to_list(now, done, lambda n: f"new{n:05d}")
    want = parse(text[:start] + "NEW" + text[start + len(quote) :]).blocks
    texts = [other for _, other in now]
    assert [other for _, other in after] == [
        *texts[:at],
        *map(canonical, want),
        *texts[at + 1 :],
    ]
    assert {pair for pair in now if pair[0] != now[at][0]} < set(after)
