"""So much of one principal at once, and room for everybody else."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from shared.concurrency import Concurrency
from shared.errors import RateLimited


def test_one_principal_has_so_many_at_once_and_others_theirs() -> None:
    limit = Concurrency(2, "calls")
    with ExitStack() as going:
        for _ in range(2):
            going.enter_context(limit.one_more("ann"))
        with (
            pytest.raises(RateLimited, match=r"^concurrency: 2 calls") as refused,
            limit.one_more("ann"),
        ):
            raise AssertionError("not begun")
        assert refused.value.as_dict()["retryable"] is True
        assert refused.value.data == {
            "budget": "concurrency",
            "limit": 2,
            "remaining": 0,
            "retry_after_s": 1,
        }
        going.enter_context(limit.one_more("ben"))
    with limit.one_more("ann"):
        pass
    assert not limit._going


def test_what_fails_is_over_too() -> None:
    limit = Concurrency(1, "calls")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), limit.one_more("ann"):
            raise ZeroDivisionError
