"""Tokens: shown once, looked up by hash, gone when revoked or expired."""

from __future__ import annotations

import anyio
import pytest

from actors.directory.catalog_memory import MemoryCatalog
from actors.directory.notices import Notices
from actors.directory.token_register import TokenRegister
from shared.budget import Allowance
from shared.directory_protocol import AuditRow, News
from shared.errors import InvalidArgument
from shared.limits import REVOKED_TOLD_MS
from shared.protocol import Caller, Scope
from shared.tokens import hash_token
from tests.unit.clock import Clock

pytestmark = pytest.mark.anyio
WRITE: frozenset[Scope] = frozenset({"read", "write"})


@pytest.fixture
def clock() -> Clock[int]:
    return Clock(1_000_000)


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog()


@pytest.fixture
def notices() -> Notices:
    return Notices(0)


@pytest.fixture
def register(catalog: MemoryCatalog, notices: Notices, clock: Clock[int]) -> TokenRegister:
    return TokenRegister(catalog, notices, now_ms=clock)


async def test_agent_is_a_principal_of_its_own_and_belongs_to_a_person(
    register: TokenRegister,
) -> None:
    made = await register.create("ann", "bot", WRITE, agent=True)
    other = await register.create("ann", "bot 2", WRITE, agent=True)
    caller = await register.authenticate(hash_token(made.token))
    assert caller == Caller(
        "agent:ann:bot", "bot", "person:ann", agent=True, scopes=WRITE, token=made.row.id
    )
    assert other.row.principal != made.row.principal


async def test_budgets_of_a_token_go_with_its_caller(register: TokenRegister) -> None:
    allowance = Allowance(writes_per_minute=5, chars_per_hour=0)
    made = await register.create("ann", "bot", WRITE, agent=True, allowance=allowance)
    caller = await register.authenticate(hash_token(made.token))
    assert caller is not None
    assert caller.allowance == allowance
    with pytest.raises(InvalidArgument, match=r"^chars_per_hour: "):
        await register.create("ann", "bot", WRITE, agent=True, allowance=Allowance(1, -1))


async def test_person_is_the_same_principal_whatever_the_token(register: TokenRegister) -> None:
    one = await register.create("ann", "laptop", WRITE, agent=False)
    two = await register.create("ann", "phone", WRITE, agent=False)
    three = await register.create("person:ann", "desk", WRITE, agent=False)
    assert one.row.principal == two.row.principal == three.row.principal == "person:ann"


async def test_unknown_revoked_and_expired_tokens_are_nobody(
    register: TokenRegister, clock: Clock[int]
) -> None:
    expiring = await register.create("ann", "bot", WRITE, agent=True, expires=clock.now + 10)
    revoked = await register.create("ann", "bot", WRITE, agent=True)
    assert await register.authenticate(hash_token(expiring.token)) is not None
    clock.now += 10
    await register.revoke(revoked.row.id)
    for token in (expiring.token, revoked.token, "dat_" + "x" * 43):
        assert await register.authenticate(hash_token(token)) is None
    with pytest.raises(InvalidArgument, match="id:"):
        await register.revoke(revoked.row.id)


async def test_token_is_stored_nowhere(register: TokenRegister) -> None:
    made = await register.create("ann", "bot", WRITE, agent=True)
    assert made.token not in repr(await register.list())
    assert len(made.token) >= 43


async def test_use_is_noted_to_the_minute(register: TokenRegister, clock: Clock[int]) -> None:
    made = await register.create("ann", "bot", WRITE, agent=True)
    for at, noted in ((0, 0), (59_999, 0), (60_000, 60_000)):
        clock.now = 1_000_000 + at
        await register.authenticate(hash_token(made.token))
        (row,) = await register.list()
        assert row.last_used == 1_000_000 + noted


async def test_revocation_wakes_who_waits_for_notices(
    register: TokenRegister, notices: Notices
) -> None:
    made = await register.create("ann", "bot", WRITE, agent=True)
    heard: list[News] = []

    async def wait() -> None:
        heard.append(await notices.wait(0, 60.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        await register.revoke(made.row.id)
    news = News(1, frozenset(), tokens=True)
    assert heard == [news]
    assert await notices.wait(0, 60.0) == news


@pytest.mark.parametrize("name,scopes", [("", WRITE), ("bot", frozenset()), ("bot", {"root"})])
async def test_token_that_makes_no_sense_is_refused(
    register: TokenRegister, name: str, scopes: frozenset[str]
) -> None:
    with pytest.raises(InvalidArgument):
        await register.create("ann", name, frozenset(scopes), agent=True)  # type: ignore[arg-type]


async def test_a_token_is_for_certain_documents_and_for_a_while(
    register: TokenRegister, clock: Clock[int]
) -> None:
    only = frozenset({"abcdefghijkl"})
    made = await register.create("ann", "bot", WRITE, agent=True, expires="1h", documents=only)
    caller = await register.authenticate(hash_token(made.token))
    assert caller is not None
    assert (caller.documents, caller.expires) == (only, clock.now + 3_600_000)
    refused: list[tuple[frozenset[Scope], frozenset[str]]] = [
        (WRITE, frozenset()),
        (frozenset({"admin"}), only),
    ]
    for scopes, documents in refused:
        with pytest.raises(InvalidArgument, match=r"^documents: "):
            await register.create("ann", "bot", scopes, agent=True, documents=documents)
    with pytest.raises(InvalidArgument, match=r"^expires: "):
        await register.create("ann", "bot", WRITE, agent=True, expires="soon")


async def test_tokens_that_no_longer_count_are_told_apart(
    register: TokenRegister, clock: Clock[int]
) -> None:
    made = [
        await register.create("ann", f"bot {n}", WRITE, agent=True, expires=expires)
        for n, expires in enumerate((None, None, clock.now + 5))
    ]
    ids = [each.row.id for each in made]
    assert await register.invalid(frozenset(ids)) == frozenset()
    await register.revoke(ids[1])
    clock.now += 5
    assert await register.invalid(frozenset({*ids, "unknown"})) == {ids[1], ids[2], "unknown"}
    assert await register.invalid(frozenset()) == {ids[1]}  # it may have let a call in just before
    clock.now += REVOKED_TOLD_MS
    assert await register.invalid(frozenset()) == frozenset()


async def test_who_made_and_revoked_a_token_is_kept(
    register: TokenRegister, catalog: MemoryCatalog, clock: Clock[int]
) -> None:
    made = await register.create("ann", "bot", WRITE, agent=True, by="person:ann")
    clock.now += 1
    await register.revoke(made.row.id, "person:ben")
    assert await catalog.notes(9) == (
        AuditRow(clock.now, "person:ben", "token.revoke", made.row.id),
        AuditRow(clock.now - 1, "person:ann", "token.create", made.row.id),
    )
    assert made.token not in repr(await catalog.notes(9))
