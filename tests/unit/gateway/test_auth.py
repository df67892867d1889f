"""Tokens to callers."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest

from gateway.auth import LOCAL_AGENT, LOCAL_PERSON, Authenticator, DocactorTokens, mcp_caller
from gateway.mcp.profiles import AUTHOR, READER, profile
from gateway.mcp.waiting import Held
from shared.errors import Overloaded, Unauthenticated
from shared.limits import MAX_CACHED_TOKENS, TOKEN_CACHE_S, TOKEN_UNSURE_S
from shared.protocol import Caller
from shared.tokens import hash_token
from tests.unit.gateway import fakes
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(router: FakeRouter, clock: Clock) -> Authenticator:
    return Authenticator(router, no_auth=False, now=clock)


async def test_a_token_is_asked_for_once_a_while(
    tokens: Authenticator, router: FakeRouter, clock: Clock
) -> None:
    for _ in range(3):
        assert await tokens.of_token("writer-token") == fakes.WRITER
    assert router.asked_tokens == 1
    router.tokens.clear()
    clock.now = TOKEN_UNSURE_S
    assert await tokens.of_token("writer-token") is None


async def test_a_revoked_token_is_forgotten_at_once(
    tokens: Authenticator, router: FakeRouter, clock: Clock
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
    tokens: Authenticator, router: FakeRouter, clock: Clock
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
    for token in (None, "", "nope"):
        with pytest.raises(Unauthenticated):
            await tokens.of_socket(token)


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


async def test_tools_are_shown_by_what_the_token_allows() -> None:
    assert profile(fakes.READER) == READER
    assert profile(fakes.WRITER) == AUTHOR
    assert profile(Caller("p", "P", scopes=frozenset({"admin"}))) == AUTHOR


def bound(router: FakeRouter, token: str, **more: Any) -> Caller:
    caller = msgspec.structs.replace(fakes.WRITER, token=f"id of {token}", **more)
    router.tokens[hash_token(token)] = caller
    return caller


async def test_what_goes_on_under_a_revoked_token_ends_and_nothing_else(
    tokens: Authenticator, router: FakeRouter
) -> None:
    ended: list[str] = []
    for token in ("one", "two"):
        tokens.live.add(bound(router, token), partial(ended.append, token))
    tokens.live.add(LOCAL_PERSON, partial(ended.append, "local"))
    left = tokens.live.add(bound(router, "one"), partial(ended.append, "left before"))
    left()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tokens.follow)
        await anyio.wait_all_tasks_blocked()
        assert ended == []
        router.revoke("one")
        await anyio.wait_all_tasks_blocked()
        assert ended == ["one"]
        tasks.cancel_scope.cancel()


async def test_a_directory_that_fails_just_then_is_asked_again(
    tokens: Authenticator, router: FakeRouter
) -> None:
    ended: list[str] = []
    tokens.live.add(bound(router, "one"), partial(ended.append, "one"))
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
    tokens.live.add(bound(router, "one", expires=5), partial(ended.append, "one"))
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
            with pytest.raises(Unauthenticated), held.hold(caller):
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
        with anyio.fail_after(10), pytest.raises(Unauthenticated), held.hold(caller):
            await anyio.sleep_forever()
        tasks.cancel_scope.cancel()
