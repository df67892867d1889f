from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.index.order import PIECE, BlockOrder


class Item:
    def __init__(self) -> None:
        self.piece: list[Any] | None = None


def items(count: int) -> list[Item]:
    return [Item() for _ in range(count)]


@given(st.lists(st.tuples(st.sampled_from("+-=?"), st.integers(0, 2_000), st.integers(1, 700))))
def test_it_is_a_list(operations: list[tuple[str, int, int]]) -> None:
    plain = items(3)
    order: BlockOrder[Item] = BlockOrder(plain)
    for what, at, count in operations:
        place = at % (len(plain) + 1)
        if what == "+":
            new = items(count)
            order.insert(place, new)
            plain[place:place] = new
        elif what == "-" and plain:
            item = plain.pop(at % len(plain))
            order.remove(item)
        elif what == "=":
            plain = plain[count:]
            order.replace_all(plain)
        assert order.slice(place, count) == plain[place : place + count]
        some = plain[at % 7 :: 1 + count]
        assert order.places(reversed(some)) == [(plain.index(one), one) for one in some]
    assert list(order) == plain
    assert len(order) == len(plain)
    for item in plain[::97]:
        assert order.place(item) == plain.index(item)


def test_many_inserts_at_one_place_keep_pieces_small() -> None:
    order: BlockOrder[Item] = BlockOrder()
    for _ in range(5 * PIECE):
        order.insert(0, items(1))
    assert all(item.piece is not None and len(item.piece) <= 2 * PIECE for item in order)


def test_what_is_not_in_the_list_has_no_place() -> None:
    order: BlockOrder[Item] = BlockOrder(items(2))
    with pytest.raises(ValueError, match="not in"):
        order.place(Item())
    with pytest.raises(IndexError):
        order.insert(3, items(1))
