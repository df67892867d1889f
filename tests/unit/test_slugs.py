"""Slugs and titles."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidArgument
from shared.limits import MAX_SLUG_CHARS
from shared.slugs import check_slug, is_usable, single_line, slugify, with_suffix


@pytest.mark.parametrize(
    "title,slug",
    [
        ("Hello, World!", "hello-world"),
        ("Über Äpfel", "uber-apfel"),
        ("  --a--  ", "a"),
        ("日本語", "document"),
        ("", "document"),
        ("C++ & C#", "c-c"),
    ],
)
def test_title_becomes_slug(title: str, slug: str) -> None:
    assert slugify(title) == slug


@given(st.text())
def test_any_title_gives_a_slug_that_is_usable_with_a_suffix(title: str) -> None:
    slug = slugify(title)
    assert is_usable(with_suffix(slug, random.Random(1).choice))
    assert len(slug) <= MAX_SLUG_CHARS


@pytest.mark.parametrize("slug", ["", "A", "a_b", "a b", "ä", "a" * 65, "a\n", "introduction"])
def test_malformed_slug_is_refused(slug: str) -> None:
    with pytest.raises(InvalidArgument, match="slug:"):
        check_slug(slug)


def test_title_is_one_line() -> None:
    assert single_line(" a\r\nb\u2028c\x85d ") == "a b c d"
    assert len(single_line("x" * 500)) == 200
