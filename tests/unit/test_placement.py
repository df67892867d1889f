"""Where a document goes, and how many a node takes."""

from __future__ import annotations

import pytest

from actors.directory.placement import (
    NodeLoad,
    by_preference,
    max_active,
    slots_in_memory,
    starts_at_once,
)
from actors.ports import NodeInfo

GIB = 2**30


@pytest.mark.parametrize(
    "cores,memory,most",
    [(2, 24 * GIB, 100), (2, 4 * GIB, 64), (64, 8 * GIB, 128), (0, GIB // 32, 1)],
)
def test_memory_and_cores_bound_a_node(cores: float, memory: int, most: int) -> None:
    assert max_active(NodeInfo("n", cores, memory)) == most


def test_setting_overrides_what_a_node_takes() -> None:
    assert max_active(NodeInfo("n", 2, GIB), 7) == 7


@pytest.mark.parametrize("cores,starts", [(1, 1), (2, 1), (8, 4)])
def test_starts_at_once_follow_the_cores(cores: float, starts: int) -> None:
    assert starts_at_once(NodeInfo("n", cores, GIB)) == starts


def test_least_loaded_for_its_size_comes_first_and_full_nodes_not_at_all() -> None:
    small = NodeLoad("small", 4, 4, 10)
    large = NodeLoad("large", 30, 0, 100)
    full = NodeLoad("full", 10, 4, 10)
    assert by_preference([small, full, large]) == [large, small]


def test_blank_at_hand_breaks_ties() -> None:
    cold, warm = NodeLoad("a", 1, 0, 10), NodeLoad("b", 1, 2, 10)
    assert by_preference([cold, warm]) == [warm, cold]


def test_setting_cannot_exceed_what_fits_into_memory() -> None:
    assert max_active(NodeInfo("n", 2, GIB), 500) == slots_in_memory(NodeInfo("n", 2, GIB)) == 16
