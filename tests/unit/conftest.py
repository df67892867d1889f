"""Documents for the tests of one document."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.documents import Bench
from tests.unit.reported import Make


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A new document of a Markdown text; closed with the test."""
    made: list[Bench] = []

    async def new(markdown: str) -> Bench:
        made.append(await Bench.of(markdown))
        return made[-1]

    yield new
    for bench in made:
        await bench.document.close()
