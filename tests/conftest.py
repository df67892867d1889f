"""What every ring of tests shares: one printed seed behind everything that is random."""

from __future__ import annotations

import os
import random
from typing import Final

import pytest
from hypothesis import settings

import tests.ray_first  # noqa: F401  sets Ray's environment before any test imports Ray

# A failing example is printed with the blob that replays it. No deadline: the machine is shared,
# and no test asserts speed.
settings.register_profile("default", print_blob=True, deadline=None, max_examples=60)
settings.register_profile("thorough", print_blob=True, deadline=None, max_examples=2_000)
settings.register_profile("soak", print_blob=True, deadline=None, stateful_step_count=100)
settings.load_profile("default")

_PROFILE: Final = "hypothesis_profile"
_OPTION: Final = "hypothesis_seed"  # one flag replays both kinds of random test
# What a commit is judged by is the same twice; the other profiles are for looking further.
_SEED: Final = "20"
_VARIABLE: Final = "DOCACTOR_TEST_SEED"  # how xdist's workers learn what the first process drew


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    seed = getattr(config.option, _OPTION) or os.environ.get(_VARIABLE)
    if not seed and getattr(config.option, _PROFILE, None) in {None, "default"}:
        seed = _SEED
    seed = seed or str(random.SystemRandom().randrange(2**32))
    setattr(config.option, _OPTION, seed)
    os.environ[_VARIABLE] = seed


def pytest_report_header(config: pytest.Config) -> str:
    seed = getattr(config.option, _OPTION)
    return f"random seed: {seed} (again with --hypothesis-seed={seed})"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers of this run and this test; the seed stands in the header."""
    seed = f"{getattr(request.config.option, _OPTION)}:{request.node.nodeid}"
    print(f"random numbers from seed {seed!r}")  # noqa: T201  pytest shows it when the test fails
    return random.Random(seed)


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on the loop that Ray's actors and uvicorn have."""
    return "asyncio"
