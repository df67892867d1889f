"""Documents somebody may make in an hour."""

from __future__ import annotations

import pytest

from actors.directory.creations import Creations
from shared.budget import HOUR_MS
from shared.errors import InvalidArgument, RateLimited
from shared.limits import CREATIONS_PER_HOUR, MAX_SPENDERS
from shared.protocol import Caller
from tests.unit.cluster_double import World

NOW = 1_700_000_000_000
ANN = Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"read", "write"}))
OPERATOR = Caller("person:op", "Op", scopes=frozenset({"admin"}))


def test_so_many_an_hour_and_then_again() -> None:
    creations = Creations()
    for _ in range(CREATIONS_PER_HOUR):
        creations.spend(ANN, NOW)
    with pytest.raises(RateLimited) as refused:
        creations.spend(ANN, NOW)
    assert refused.value.data["limit"] == CREATIONS_PER_HOUR
    wait = refused.value.data["retry_after_s"]
    assert HOUR_MS <= wait * 1000 <= HOUR_MS + HOUR_MS / 60
    creations.spend(Caller("person:ben", "Ben", scopes=ANN.scopes), NOW)
    creations.spend(ANN, NOW + wait * 1000)


def test_operators_are_not_counted_and_memory_is_bounded() -> None:
    creations = Creations()
    for _ in range(CREATIONS_PER_HOUR + 1):
        creations.spend(OPERATOR, NOW)
    for number in range(MAX_SPENDERS + 5):
        at = NOW + number * HOUR_MS
        creations.spend(Caller(f"p{number}", "P", scopes=ANN.scopes), at)
    assert len(creations._windows) <= MAX_SPENDERS


@pytest.mark.anyio
async def test_a_directory_refuses_before_it_makes_anything() -> None:
    world = World()
    async with world.directory() as directory:
        key = "again"
        made = await directory.create_document(ANN, "One", None, (), key)
        for _ in range(CREATIONS_PER_HOUR - 1):
            directory._creations.spend(ANN, world.now)
        # The same call again makes nothing, and costs nothing.
        assert await directory.create_document(ANN, "One", None, (), key) == made
        before = await directory.document_ids()
        with pytest.raises(RateLimited, match="new documents an hour"):
            await directory.create_document(ANN, "Two")
        assert await directory.document_ids() == before
        assert await world.catalog.creating() == ()


@pytest.mark.anyio
async def test_guessing_slugs_tells_nothing_but_that_one_is_taken_and_is_bounded() -> None:
    world, eve = World(), Caller("person:eve", "Eve", "person:eve", scopes=ANN.scopes)
    async with world.directory() as directory:
        hidden = await directory.create_document(ANN, "Layoffs", "layoffs")
        shared = await directory.create_document(ANN, "Menu", "menu")
        await directory.set_member(ANN, shared.doc_id, "eve", "viewer")
        told = []
        for slug in ("layoffs", "menu"):
            with pytest.raises(InvalidArgument, match="is taken") as taken:
                await directory.create_document(eve, "Mine", slug)
            told.append(taken.value)
        for error in told:
            assert error.data.keys() == {"slug", "free"}
            assert hidden.doc_id not in str(error.as_dict())
        for _ in range(CREATIONS_PER_HOUR - len(told)):
            with pytest.raises(InvalidArgument, match="is taken"):
                await directory.create_document(eve, "Mine", "layoffs")
        with pytest.raises(RateLimited, match="new documents an hour"):
            await directory.create_document(eve, "Mine", "layoffs")
        assert (await directory.list_documents(eve)).rows[0].doc_id == shared.doc_id
