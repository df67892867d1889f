"""Roles in the Directory: who gives them, what they open, who hears of them; and tickets."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from actors.directory.access_verbs import AccessVerbs
from actors.directory.catalog_memory import MemoryCatalog
from actors.directory.members import principal_of
from actors.directory.notices import Notices
from shared.directory_protocol import Admitted, DocumentRow, News
from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument
from shared.limits import MAX_MEMBERS, NOTICES_KEPT, TICKET_S
from shared.protocol import Caller, Role, Scope
from shared.tokens import TICKET_PREFIX, hash_token

pytestmark = pytest.mark.anyio
WRITE: frozenset[Scope] = frozenset({"read", "write"})
DOC = "abcdefghijkl"
ANN = Caller("person:ann", "Ann", "person:ann", scopes=WRITE)
BEN = Caller("person:ben", "Ben", "person:ben", scopes=WRITE)
BOT = Caller("agent:ben:bot", "bot", "person:ben", agent=True, scopes=WRITE)
ADMIN = Caller("person:op", "Op", "person:op", scopes=frozenset({"admin"}))


class World:
    def __init__(self) -> None:
        self.now = 1_000_000
        self.catalog = MemoryCatalog()
        self.notices = Notices(0)
        self.verbs = AccessVerbs(self.catalog, self.notices, lambda: self.now)

    async def document(self, doc_id: str = DOC, slug: str = "plan", **more: Any) -> None:
        row = DocumentRow(doc_id, slug, "Plan", "creating", 1, 1, "person:ann", **more)
        assert await self.catalog.reserve(row, None, 1)
        await self.catalog.make_ready(doc_id, b"")

    async def role(self, caller: Caller, ref: str = "plan") -> Role | None:
        (admitted,) = await self.verbs.admit(((ref, caller),))
        return None if admitted is None else admitted.role


@pytest.fixture
async def world() -> World:
    world = World()
    await world.document()
    return world


async def test_a_document_is_there_for_its_owner_and_nobody_else(world: World) -> None:
    asked = tuple((ref, who) for ref in ("plan", DOC, "nothing") for who in (ANN, BEN, ADMIN))
    owner = Admitted(DOC, "owner", None)
    assert await world.verbs.admit(asked) == (owner, None, owner) * 2 + (None, None, None)


async def test_a_role_is_given_changed_and_taken_back(world: World) -> None:
    verbs = world.verbs
    given = await verbs.set_member(ANN, "plan", "ben", "viewer")
    assert [(row.principal, row.role, row.by) for row in given.members] == [
        ("person:ann", "owner", "server"),
        ("person:ben", "viewer", "person:ann"),
    ]
    assert await verbs.members(ANN, DOC) == given
    assert (await world.role(BEN), await world.role(BOT)) == ("viewer", "viewer")
    await verbs.set_member(ANN, "plan", BOT.principal, "editor")
    assert (await world.role(BEN), await world.role(BOT)) == ("viewer", "editor")
    await verbs.set_member(ANN, "plan", "person:ben", None)
    assert (await world.role(BEN), await world.role(BOT)) == (None, "editor")
    with pytest.raises(InvalidArgument, match=r"^principal: person:ben is no member"):
        await verbs.set_member(ANN, "plan", "ben", None)
    log = [(row.who, row.what, row.about) for row in await verbs.audit(9)]
    assert log[::-1] == [
        ("person:ann", "member.set", f"{DOC} person:ben viewer"),
        ("person:ann", "member.set", f"{DOC} agent:ben:bot editor"),
        ("person:ann", "member.remove", f"{DOC} person:ben"),
    ]


async def test_what_the_link_allows_is_everybodys(world: World) -> None:
    await world.verbs.set_link_role(ANN, "plan", "suggester")
    stranger = Caller("anonymous", "anonymous", scopes=WRITE)
    (there,) = await world.verbs.admit((("plan", stranger),))
    assert there == Admitted(DOC, None, "suggester")
    await world.verbs.set_link_role(ANN, "plan", None)
    assert await world.verbs.admit((("plan", stranger),)) == (None,)
    with pytest.raises(InvalidArgument, match=r"^role: "):
        await world.verbs.set_link_role(ANN, "plan", "owner")  # type: ignore[arg-type]


@pytest.mark.parametrize("role", ["viewer", "commenter", "suggester", "editor"])
async def test_whoever_owns_it_not_is_refused(world: World, role: Role) -> None:
    verbs = world.verbs
    for caller, error in ((BEN, DocumentNotFound), (BOT, DocumentNotFound)):
        with pytest.raises(error):
            await verbs.set_member(caller, "plan", "ben", "owner")
    await verbs.set_member(ANN, "plan", "ben", role)
    before = await verbs.members(ANN, "plan")
    for caller in (BEN, BOT):
        for act in (
            verbs.members(caller, "plan"),
            verbs.set_member(caller, "plan", "ben", "owner"),
            verbs.set_link_role(caller, "plan", "editor"),
        ):
            with pytest.raises(CapabilityDenied):
                await act
    assert await verbs.members(ANN, "plan") == before


async def test_an_owners_agent_gives_no_roles_and_an_operator_does(world: World) -> None:
    agent = Caller("agent:ann:bot", "bot", "person:ann", agent=True, scopes=WRITE)
    assert await world.role(agent) == "owner"
    with pytest.raises(CapabilityDenied, match="an agent's"):
        await world.verbs.set_link_role(agent, "plan", "editor")
    only = Caller("person:ann", "Ann", scopes=WRITE, documents=frozenset({DOC}))
    with pytest.raises(CapabilityDenied, match="certain documents"):
        await world.verbs.set_link_role(only, "plan", "editor")
    assert (await world.verbs.set_link_role(ADMIN, "plan", "editor")).link_role == "editor"


async def test_somebody_always_owns_it(world: World) -> None:
    for role in (None, "editor"):
        with pytest.raises(InvalidArgument, match="only owner"):
            await world.verbs.set_member(ANN, "plan", "ann", role)
    await world.verbs.set_member(ANN, "plan", "ben", "owner")
    await world.verbs.set_member(BEN, "plan", "ann", None)
    assert (await world.role(ANN), await world.role(BEN)) == (None, "owner")


async def test_a_document_has_so_many_members_at_most(world: World) -> None:
    for number in range(MAX_MEMBERS - 1):
        await world.verbs.set_member(ANN, "plan", f"p{number}", "viewer")
    with pytest.raises(InvalidArgument, match="members at most"):
        await world.verbs.set_member(ANN, "plan", "ben", "viewer")
    await world.verbs.set_member(ANN, "plan", "p0", "editor")  # who is one may change


def test_principals_as_people_write_them() -> None:
    assert principal_of(" ben ") == principal_of("person:ben") == "person:ben"
    assert principal_of("agent:ben:the bot") == "agent:ben:the bot"
    assert principal_of("a\nb") == "person:a b"
    for text in ("", "  ", "person:", "person: ", "robot:x", "x" * 600, "agent:"):
        with pytest.raises(InvalidArgument, match=r"^principal: "):
            principal_of(text)


async def test_expired_deleted_and_other_documents_are_not_there(world: World) -> None:
    await world.document("b" * 12, "soon", expires_at=world.now + 5)
    assert await world.role(ANN, "soon") == "owner"
    world.now += 5
    assert await world.role(ANN, "soon") is None
    only = Caller("person:ann", "Ann", scopes=WRITE, documents=frozenset({"b" * 12}))
    assert await world.role(only) is None


async def test_every_change_is_told_to_whoever_waits(world: World) -> None:
    heard: list[News] = []

    async def wait() -> None:
        heard.append(await world.verbs.wait_for_notice(0, 60.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await world.verbs.set_member(ANN, "plan", "ben", "viewer")
    await world.verbs.set_link_role(ANN, "plan", "viewer")
    assert heard == [News(1, frozenset({DOC}), tokens=False)]
    assert await world.verbs.wait_for_notice(1, 60.0) == News(2, frozenset({DOC}), tokens=False)
    assert await world.verbs.wait_for_notice(2, 0.0) == News(2, frozenset(), tokens=False)


async def test_whoever_missed_too_much_looks_at_everything() -> None:
    notices = Notices(100)
    assert await notices.wait(99, 0.0) == News(100, None, tokens=True)  # of another Directory
    for number in range(NOTICES_KEPT):
        notices.of_document(f"d{number}")
    assert (await notices.wait(100, 0.0)).documents is not None
    notices.of_tokens()
    assert await notices.wait(100, 0.0) == News(101 + NOTICES_KEPT, None, tokens=True)
    assert await notices.wait(101, 0.0) != News(101 + NOTICES_KEPT, None, tokens=True)
    assert await notices.wait(10**9, 0.0) == News(101 + NOTICES_KEPT, None, tokens=True)


# --- tickets --------------------------------------------------------------------------------------


async def caller_of(world: World, **more: Any) -> tuple[Caller, str]:
    made = await world.verbs.create_token("ann", "laptop", WRITE, agent=False, **more)
    caller = await world.verbs.authenticate(hash_token(made.token))
    assert caller is not None
    return caller, made.row.id


async def test_a_ticket_is_its_callers_for_one_document_and_a_day(world: World) -> None:
    caller, token_id = await caller_of(world)
    ticket = await world.verbs.create_ticket(caller, "plan")
    assert ticket.ticket.startswith(TICKET_PREFIX)
    assert (ticket.doc_id, ticket.expires_at) == (DOC, world.now + TICKET_S * 1000)
    comes = await world.verbs.redeem(ticket.ticket)
    assert comes is not None
    assert (comes.principal, comes.token, comes.documents) == (
        "person:ann",
        token_id,
        frozenset({DOC}),
    )
    assert await world.role(comes) == "owner"
    assert await world.verbs.redeem(ticket.ticket) == comes  # as often as the socket comes back
    world.now = ticket.expires_at
    assert await world.verbs.redeem(ticket.ticket) is None


async def test_a_ticket_is_void_as_soon_as_its_token_is(world: World) -> None:
    caller, token_id = await caller_of(world)
    late, _ = await caller_of(world, expires=world.now + 50)
    ticket = await world.verbs.create_ticket(caller, "plan")
    short = await world.verbs.create_ticket(late, "plan")
    assert short.expires_at == world.now + 50
    await world.verbs.revoke_token(token_id)
    assert await world.verbs.redeem(ticket.ticket) is None
    assert await world.verbs.redeem(short.ticket) is not None


async def test_no_ticket_for_what_is_not_there(world: World) -> None:
    for caller, ref in ((BEN, "plan"), (ANN, "nothing")):
        with pytest.raises(DocumentNotFound):
            await world.verbs.create_ticket(caller, ref)


async def test_a_caller_without_a_token_of_ours_is_in_its_ticket(world: World) -> None:
    ticket = await world.verbs.create_ticket(ANN, "plan")
    comes = await world.verbs.redeem(ticket.ticket)
    assert comes is not None
    assert (comes.principal, comes.expires) == ("person:ann", ticket.expires_at)


async def test_what_we_did_not_sign_counts_for_nothing(world: World) -> None:
    caller, _ = await caller_of(world)
    good = (await world.verbs.create_ticket(caller, "plan")).ticket
    other = World()
    await other.document()
    foreign = (await other.verbs.create_ticket(ANN, "plan")).ticket
    signed = good.removeprefix(TICKET_PREFIX)
    changed = [f"{signed[:at]}{'AB'[signed[at] == 'A']}{signed[at + 1 :]}" for at in (0, 60)]
    for text in (foreign, "", TICKET_PREFIX, TICKET_PREFIX + "!", "dtk_ä", *changed, signed[:-5]):
        assert await world.verbs.redeem(text) is None, text
