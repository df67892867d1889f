"""The Directory's copy of when people last left, for questions about many documents."""

from __future__ import annotations

import pytest

from shared.protocol import Caller
from tests.unit.cluster_double import World

pytestmark = pytest.mark.anyio
ANN = Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"admin"}))


async def test_it_comes_with_the_documents_heartbeat_and_before_it_is_put_away() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "Plan")
        (slot,) = [one for one in world.slots.slots.values() if one.key is not None]
        slot.left = {"person:ann": 5}
        assert await directory.last_left("person:ann") == {}
        await directory._activations.sweep()
        assert await directory.last_left("person:ann") == {made.doc_id: 5}
        slot.left = {"person:ann": 7, "person:bob": 3}
        assert await directory._activations.passivate(made.doc_id, None)
        assert await directory.last_left("person:ann") == {made.doc_id: 7}
        assert await directory.last_left("person:bob") == {made.doc_id: 3}
