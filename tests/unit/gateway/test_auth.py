"""Tokens to callers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest

from gateway.admissions import ANYBODY
from gateway.auth import LOCAL_AGENT, LOCAL_PERSON, Authenticator, DocactorTokens, mcp_caller
from gateway.mcp.held import Held
from gateway.mcp.profiles import AUTHOR, FULL, PROFILES, READER, profile, usual
from shared.access import scopes_of
from shared.errors import DocactorError, DocumentNotFound, Overloaded, Unauthenticated
from shared.limits import MAX_CACHED_TOKENS, MAX_TICKET_CHARS, TOKEN_CACHE_S, TOKEN_UNSURE_S
from shared.protocol import Caller
from shared.tokens import hash_token
from tests.unit.clock import Clock
from tests.unit.gateway import fakes
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio
SAYING = {"post_chat_message", "reply"}


@pytest.fixture
def clock() -> Clock[float]:
    return Clock(0.0)


@pytest.fixture
def tokens(router: FakeRouter, clock: Clock[float]) -> Authenticator:
    return Authenticator(router, no_auth=False, now=clock)


async def test_a_token_is_asked_for_once_a_while(
    tokens: Authenticator, router: FakeRouter, clock: Clock[float]
) -> None:
    for _ in range(3):
        assert await tokens.of_token("writer-token") == fakes.WRITER
    assert router.asked_tokens == 1
    router.tokens.clear()
    clock.now = TOKEN_UNSURE_S
    assert await tokens.of_token("writer-token") is None


async def test_a_revoked_token_is_forgotten_at_once(
    tokens: Authenticator, router: FakeRouter, clock: Clock[float]
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        assert await tokens.of_token("writer-token") == fakes.WRITER
        clock.now = TOKEN_CACHE_S - 1
        assert await tokens.of_token("writer-token") == fakes.WRITER
        assert router.asked_tokens == 1
        router.revoke("writer-token")
        await anyio.wait_all_tasks_blocked()
        assert await tokens.of_token("writer-token") is None
        tasks.cancel_scope.cancel()


async def test_without_notices_nothing_is_remembered_for_long(
    tokens: Authenticator, router: FakeRouter, clock: Clock[float]
) -> None:
    router.failure = Overloaded("The Directory does not answer.")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        assert await tokens.of_token("writer-token") == fakes.WRITER
        clock.now = TOKEN_UNSURE_S
        assert await tokens.of_token("writer-token") == fakes.WRITER
        assert router.asked_tokens == 2
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("token", ["", "x" * 257, "schlüssel"])
async def test_what_is_no_token_is_not_asked_for(
    tokens: Authenticator, router: FakeRouter, token: str
) -> None:
    assert await tokens.of_token(token) is None
    assert router.asked_tokens == 0


async def test_guessing_does_not_fill_the_memory(tokens: Authenticator, rng: random.Random) -> None:
    for _ in range(MAX_CACHED_TOKENS + 10):
        await tokens.of_token(str(rng.random()))
    assert len(tokens._known) <= MAX_CACHED_TOKENS


async def test_a_directory_that_cannot_be_asked_is_no_refusal(tokens: Authenticator) -> None:
    class Down(FakeRouter):
        async def directory(self, method: str, *args: object) -> object:
            raise Overloaded("The Directory does not answer.")

    broken = Authenticator(Down(random.choice), no_auth=False)
    with pytest.raises(Overloaded):
        await broken.of_token("writer-token")


async def test_headers_and_sockets_carry_the_same_tokens(tokens: Authenticator) -> None:
    assert await tokens.of_header("Bearer writer-token") == fakes.WRITER
    assert await tokens.of_header("bearer  writer-token ") == fakes.WRITER
    assert await tokens.of_socket("writer-token") == fakes.WRITER
    for header in (None, "", "Bearer", "Bearer nope", "Basic writer-token"):
        with pytest.raises(Unauthenticated):
            await tokens.of_header(header)
    with pytest.raises(Unauthenticated):
        await tokens.of_socket("nope")
    # Who shows nothing comes as far as a document's link lets anybody.
    assert await tokens.of_socket(None) == await tokens.of_socket("") == ANYBODY
    assert await tokens.of_visitor(None) == ANYBODY
    for header in ("", "Bearer", "Bearer nope"):
        with pytest.raises(Unauthenticated):
            await tokens.of_visitor(header)


async def test_a_ticket_opens_sockets_and_nothing_else(
    tokens: Authenticator, router: FakeRouter
) -> None:
    router.answers["redeem"] = fakes.READER
    for _ in range(2):
        assert await tokens.of_socket("dtk_ticket") == fakes.READER
        assert await tokens.of_token("dtk_ticket") is None
        with pytest.raises(Unauthenticated):
            await tokens.of_header("Bearer dtk_ticket")
    for text in ("dtk_ü", "dtk_" + "x" * MAX_TICKET_CHARS):
        with pytest.raises(Unauthenticated):
            await tokens.of_socket(text)


async def test_without_auth_requests_are_the_local_agent_and_sockets_the_local_person(
    router: FakeRouter,
) -> None:
    tokens = Authenticator(router, no_auth=True)
    assert await tokens.of_header(None) == LOCAL_AGENT
    assert await tokens.of_socket(None) == LOCAL_PERSON
    assert await tokens.of_header("Bearer writer-token") == fakes.WRITER
    with pytest.raises(Unauthenticated):
        await tokens.of_header("Bearer nope")


async def test_fastmcp_sees_the_caller_and_never_the_token(tokens: Authenticator) -> None:
    verifier = DocactorTokens(tokens)
    access = await verifier.verify_token("writer-token")
    assert access is not None
    assert access.claims["caller"] == fakes.WRITER
    assert access.claims["sub"] == fakes.WRITER.principal
    assert "writer-token" not in repr(access)
    assert await verifier.verify_token("nope") is None


async def test_outside_a_request_nobody_calls() -> None:
    with pytest.raises(Unauthenticated):
        mcp_caller(no_auth=False)
    assert mcp_caller(no_auth=True) == LOCAL_AGENT


@pytest.mark.parametrize(
    "scope, name, hidden",
    [
        ("read", "reader", set[str]()),
        ("comment", "author", AUTHOR - READER - SAYING),
        ("suggest", "reviewer", {"create_document", "resolve_thread"} | SAYING),
        ("comment suggest", "reviewer", {"create_document"}),
        ("write", "author", set[str]()),
        ("admin", "full", set[str]()),
    ],
)
def test_which_tools_a_token_is_shown(scope: str, name: str, hidden: set[str]) -> None:
    caller = Caller("p", "P", scopes=scopes_of(scope))
    assert usual(caller) == name
    assert PROFILES[name] & profile(caller) == PROFILES[name] - hidden


def test_the_profiles_grow_and_every_tool_can_be_used_by_some_token() -> None:
    assert READER < AUTHOR < PROFILES["reviewer"] < FULL
    assert profile(Caller("p", "P", scopes=scopes_of("admin"))) == FULL
    readers = READER | {"read_events", "join", "leave", "list_versions", "read_version"}
    assert profile(fakes.READER) == readers | {"list_suggestions"}


def ends(ended: list[str], name: str) -> Callable[[DocactorError], None]:
    return lambda _error: ended.append(name)


def bound(router: FakeRouter, token: str, **more: Any) -> Caller:
    caller = msgspec.structs.replace(fakes.WRITER, token=f"id of {token}", **more)
    router.tokens[hash_token(token)] = caller
    return caller


async def test_what_goes_on_under_a_revoked_token_ends_and_nothing_else(
    tokens: Authenticator, router: FakeRouter
) -> None:
    ended: list[str] = []
    for token in ("one", "two"):
        tokens.live.add(bound(router, token), ends(ended, token))
    tokens.live.add(LOCAL_PERSON, ends(ended, "local"))
    left = tokens.live.add(bound(router, "one"), ends(ended, "left before"))
    left()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        assert ended == []
        router.revoke("one")
        await anyio.wait_all_tasks_blocked()
        assert ended == ["one"]
        tasks.cancel_scope.cancel()


async def test_what_goes_on_hears_of_new_roles_and_ends_with_the_last_one(
    tokens: Authenticator, router: FakeRouter
) -> None:
    router._create_document(fakes.OWNER, "Plan", "plan", (), None)
    doc_id = router.document("plan").row.doc_id
    router.roles[fakes.WRITER.principal] = "editor"
    caller = (await router.admit("plan", bound(router, "one"))).caller
    other = (await router.admit("plan", fakes.OWNER)).caller
    roles: list[str | None] = []
    ended: list[str] = []
    tokens.live.add(
        caller,
        lambda error: ended.append(error.code),
        doc_id,
        lambda caller: roles.append(caller.role),
    )
    tokens.live.add(other, ends(ended, "owner"), doc_id, lambda _caller: roles.append("owner"))
    tokens.live.add(caller, ends(ended, "elsewhere"), "elsewhere123")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        for role in ("viewer", "viewer", "editor"):
            await anyio.wait_all_tasks_blocked()
            router.recast(caller.principal, role, doc_id)
        await anyio.wait_all_tasks_blocked()
        assert (roles, ended) == (["viewer", "editor"], ["elsewhere"])
        router.recast(caller.principal, None, doc_id)
        await anyio.wait_all_tasks_blocked()
        assert ended == ["elsewhere", DocumentNotFound.code]
        tasks.cancel_scope.cancel()


async def test_a_directory_that_fails_just_then_is_asked_again(
    tokens: Authenticator, router: FakeRouter
) -> None:
    ended: list[str] = []
    tokens.live.add(bound(router, "one"), ends(ended, "one"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        router.failure = Overloaded("The Directory does not answer.")
        router.revoke("one")
        await anyio.wait_all_tasks_blocked()
        assert ended == []
        router.failure = None
        with anyio.fail_after(10):
            while not ended:  # noqa: ASYNC110  what is waited for sets no event
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


def test_what_goes_on_under_an_expired_token_ends_when_its_time_has_come(
    tokens: Authenticator, router: FakeRouter
) -> None:
    ended: list[str] = []
    tokens.live.add(bound(router, "one", expires=5), ends(ended, "one"))
    tokens.live.end_expired(4)
    assert ended == []
    tokens.live.end_expired(5)
    assert ended == ["one"]


async def test_an_expired_token_is_refused_though_it_is_remembered(
    tokens: Authenticator, router: FakeRouter
) -> None:
    bound(router, "late", expires=5)
    assert await tokens.of_token("late") is None
    assert await tokens.of_token("late") is None


async def test_a_token_revoked_while_the_directory_answers_is_asked_for_again(
    tokens: Authenticator, router: FakeRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = router.directory

    async def slowly(method: str, *args: Any) -> Any:
        answer = await plain(method, *args)
        if method == "authenticate" and answer is not None:
            router.revoke("writer-token")
            await anyio.wait_all_tasks_blocked()
        return answer

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        monkeypatch.setattr(router, "directory", slowly)
        assert await tokens.of_token("writer-token") is None
        tasks.cancel_scope.cancel()


async def test_a_call_that_waits_ends_with_its_token(router: FakeRouter) -> None:
    held, caller = Held(), bound(router, "one")
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(Unauthenticated), held.hold(caller, ""):
                await anyio.sleep_forever()

        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        held.live.end([caller.token])
    assert held.live.ids == frozenset()


async def test_a_call_let_in_before_its_token_ended_does_not_begin_to_wait(
    tokens: Authenticator, router: FakeRouter
) -> None:
    caller, held = bound(router, "one"), Held()
    held.live = tokens.live
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        router.revoke("one")
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(10), pytest.raises(Unauthenticated), held.hold(caller, ""):
            await anyio.sleep_forever()
        tasks.cancel_scope.cancel()
