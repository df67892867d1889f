"""One contract for the catalog and its double: tokens, roles, and the log of what was granted."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.ports import Access, Catalog, Who
from shared.budget import Allowance
from shared.directory_protocol import AuditRow, Member, TokenRow
from shared.errors import StorageUnavailable
from tests.integration.test_catalog_contract import ready, row

pytestmark = pytest.mark.anyio

ANN = Who("person:ann", "person:ann")
BEN = Who("person:ben", "person:ben")
BOT = Who("agent:ben:bot", "person:ben")
NOTE = AuditRow(5, "person:ann", "some.act", "something")


def note(number: int) -> AuditRow:
    return AuditRow(number, "person:ann", "some.act", f"act {number}")


async def test_tokens(catalog: Catalog) -> None:
    made = TokenRow(
        "t1", "bot", "person:ann", "agent:ann:bot", True, frozenset({"read"}), 1, 99, None, None
    )
    await catalog.add_token(made, b"hash", NOTE)
    assert await catalog.token(b"hash") == made
    own = msgspec.structs.replace(made, id="t2", created=2, allowance=Allowance(7, None, 0))
    await catalog.add_token(own, b"own", NOTE)
    assert await catalog.token(b"own") == own
    only = msgspec.structs.replace(made, id="t3", created=3, documents=frozenset({"a", "b"}))
    await catalog.add_token(only, b"only", NOTE)
    assert await catalog.token(b"only") == only
    assert await catalog.tokens() == (made, own, only)
    assert await catalog.token(b"other") is None
    assert await catalog.token_of("t2") == own
    assert await catalog.token_of("t9") is None
    await catalog.token_used("t1", 5)
    assert await catalog.revoke_token("t1", 6, NOTE)
    assert not await catalog.revoke_token("t1", 7, NOTE)
    kept, *_ = await catalog.tokens()
    assert (kept.last_used, kept.revoked) == (5, 6)


async def test_whoever_a_document_is_made_for_owns_it(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    assert await catalog.members(one.doc_id) == (Member("person:ann", "owner", 1, "server"),)
    found = await catalog.access([(one.slug, ANN), (one.doc_id, BEN), ("nothing", ANN)])
    there = await catalog.document(one.doc_id)
    assert there is not None
    assert found == (Access(there, ("owner",)), Access(there, ()), None)


async def test_a_person_and_an_agent_have_roles_of_their_own(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    assert await catalog.set_member(one.doc_id, Member("person:ben", "viewer", 2, "ann"), NOTE)
    assert await catalog.set_member(one.doc_id, Member(BOT.principal, "editor", 3, "ann"), NOTE)
    bot, ben = await catalog.access([(one.doc_id, BOT), (one.doc_id, BEN)])
    assert bot is not None
    assert sorted(bot.roles) == ["editor", "viewer"]
    assert ben is not None
    assert ben.roles == ("viewer",)
    assert await catalog.set_member(one.doc_id, Member("person:ben", "commenter", 4, "x"), NOTE)
    members = await catalog.members(one.doc_id)
    assert [(each.principal, each.role) for each in members] == [
        ("person:ann", "owner"),
        (BOT.principal, "editor"),
        ("person:ben", "commenter"),
    ]
    assert await catalog.remove_member(one.doc_id, BOT.principal, NOTE)
    assert len(await catalog.members(one.doc_id)) == 2


async def test_a_document_always_has_an_owner(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    before = await catalog.members(one.doc_id), await catalog.notes(9)
    for last in (
        catalog.remove_member(one.doc_id, "person:ann", NOTE),
        catalog.set_member(one.doc_id, Member("person:ann", "editor", 2, "ann"), NOTE),
    ):
        assert not await last
        assert (await catalog.members(one.doc_id), await catalog.notes(9)) == before
    assert await catalog.set_member(one.doc_id, Member("person:ben", "owner", 2, "ann"), NOTE)
    assert await catalog.remove_member(one.doc_id, "person:ann", NOTE)
    assert [each.principal for each in await catalog.members(one.doc_id)] == ["person:ben"]


async def test_pages_have_what_somebody_has_a_role_on(catalog: Catalog) -> None:
    one, two, three = row("1", 1), row("2", 2), row("3", 3)
    for each in (one, two, three):
        await ready(catalog, each)
    await catalog.set_member(two.doc_id, Member("person:ben", "viewer", 2, "ann"), NOTE)
    await catalog.set_member(three.doc_id, Member(BOT.principal, "editor", 2, "ann"), NOTE)
    await catalog.set_link_role(one.doc_id, "editor", NOTE)

    async def page(who: Who, *, all_of: bool = False) -> list[tuple[str, str | None, str | None]]:
        rows = await catalog.page("", None, 9, who, all_of=all_of)
        return [(found.doc_id, found.role, found.link_role) for found in rows]

    assert await page(BEN) == [(two.doc_id, "viewer", None)]
    assert await page(BOT) == [(three.doc_id, "editor", None), (two.doc_id, "viewer", None)]
    assert await page(Who("person:eve", "person:eve")) == []
    assert await page(BEN, all_of=True) == [
        (three.doc_id, None, None),
        (two.doc_id, "viewer", None),
        (one.doc_id, None, "editor"),
    ]


async def test_a_link_role_is_of_a_ready_document(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    await catalog.set_link_role(one.doc_id, "suggester", note(1))
    found = await catalog.document(one.doc_id)
    assert found is not None
    assert found.link_role == "suggester"
    await catalog.set_link_role(one.doc_id, None, note(2))
    await catalog.set_link_role("nothing12345", "viewer", note(3))
    found = await catalog.document(one.doc_id)
    assert found is not None
    assert found.link_role is None
    assert await catalog.notes(9) == (note(2), note(1))


async def test_roles_outlive_deletion_and_go_with_the_row(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    await catalog.set_member(one.doc_id, Member("person:ben", "viewer", 2, "ann"), NOTE)
    await catalog.delete_document(one.doc_id, 5, NOTE)
    assert await catalog.access([(one.doc_id, BEN)]) == (None,)
    await catalog.undelete(one.doc_id, one.slug, None, NOTE)
    assert len(await catalog.members(one.doc_id)) == 2
    await catalog.delete_document(one.doc_id, 6, NOTE)
    await catalog.purge(one.doc_id, NOTE)
    assert await catalog.members(one.doc_id) == ()


async def test_a_secret_is_made_once(catalog: Catalog) -> None:
    assert await catalog.secret("key", b"first") == b"first"
    assert await catalog.secret("key", b"second") == b"first"
    assert await catalog.secret("other", b"third") == b"third"


async def test_the_audit_log_has_the_newest_first_and_what_was_done_only(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    token = TokenRow("t1", "bot", "p", "a", True, frozenset({"read"}), 1, 99, None, None)
    await catalog.add_token(token, b"hash", note(1))
    assert await catalog.revoke_token("t1", 6, note(2))
    assert not await catalog.revoke_token("t1", 7, note(0))
    assert not await catalog.undelete(one.doc_id, one.slug, None, note(0))
    await catalog.purge(one.doc_id, note(0))
    assert await catalog.delete_document(one.doc_id, 5, note(3))
    assert not await catalog.delete_document(one.doc_id, 5, note(0))
    assert await catalog.undelete(one.doc_id, one.slug, None, note(4))
    await catalog.remove_member(one.doc_id, "person:nobody", note(0))
    await catalog.delete_document(one.doc_id, 5, note(5))
    await catalog.purge(one.doc_id, note(6))
    assert await catalog.notes(9) == tuple(note(number) for number in range(6, 0, -1))
    assert await catalog.notes(2) == (note(6), note(5))


async def test_an_act_without_its_line_in_the_log_is_not_done(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = await SqliteCatalog.open(path)
    one, two = row("1"), row("2")
    for each in (one, two):
        await ready(catalog, each)
    await catalog.delete_document(two.doc_id, 5, NOTE)
    token = TokenRow("t1", "bot", "p", "a", True, frozenset({"read"}), 1, 99, None, None)
    await catalog.add_token(token, b"hash", NOTE)
    await catalog.close()
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'no room'); END"
    )
    before = list(db.iterdump())
    db.close()
    catalog = await SqliteCatalog.open(path)
    other = msgspec.structs.replace(token, id="t2")
    acts: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: catalog.delete_document(one.doc_id, 5, NOTE),
        lambda: catalog.undelete(two.doc_id, "free", None, NOTE),
        lambda: catalog.purge(two.doc_id, NOTE),
        lambda: catalog.add_token(other, b"other", NOTE),
        lambda: catalog.revoke_token("t1", 5, NOTE),
        lambda: catalog.set_member(one.doc_id, Member("person:ben", "owner", 2, "ann"), NOTE),
        lambda: catalog.remove_member(one.doc_id, "person:ann", NOTE),
        lambda: catalog.set_link_role(one.doc_id, "viewer", NOTE),
    )
    for act in acts:
        with pytest.raises(StorageUnavailable, match="no room"):
            await act()
    await catalog.close()
    db = sqlite3.connect(path)
    assert list(db.iterdump()) == before
    db.close()
