"""The command line, against a gateway on a real socket."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import NO_SERVER, REFUSED, USAGE, main
from gateway.commands.address_file import write_address
from gateway.owner_token import write_owner_token
from shared.budget import Allowance
from shared.directory_protocol import Member, Members, NewToken, TokenRow
from shared.errors import StorageUnavailable
from shared.protocol import Caller
from shared.tokens import hash_token
from tests.in_process import served
from tests.unit.gateway.fakes import READER, FakeRouter


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    return FakeRouter(rng.choice)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that every command uses, and no other setting."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DOCACTOR_DATA", str(folder))
    monkeypatch.delenv("DOCACTOR_TOKEN", raising=False)
    write_owner_token(folder, "owner-token")
    return folder


@pytest.fixture
def server(router: FakeRouter, data: Path) -> Iterator[str]:
    with served(router) as url:
        write_address(data, url)
        yield url


Captured = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("server")
def test_a_file_goes_in_and_comes_out(data: Path, capsys: Captured) -> None:
    path = data / "plan.md"
    path.write_text("# Plan\n\nÜber alles.\n", encoding="utf-8")
    assert main(["create", str(path), "--title", "My plan"]) == 0
    doc_id, slug, url = capsys.readouterr().out.split()
    assert (slug, url) == ("my-plan", "http://127.0.0.1:8000/d/my-plan")
    for ref in (doc_id, slug, url):
        assert main(["export", ref]) == 0
        assert capsys.readouterr().out == "# Plan\n\nÜber alles.\n"
    assert main(["list", "--query", "plan"]) == 0
    assert doc_id in capsys.readouterr().out


@pytest.mark.usefixtures("server")
def test_a_document_comes_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, router: FakeRouter
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert main(["create", "-", "--slug", "piped"]) == 0
    assert list(router.document("piped").texts.values()) == ["piped"]


@pytest.mark.usefixtures("server")
def test_the_list_says_that_there_is_more(capsys: Captured, router: FakeRouter, data: Path) -> None:
    path = data / "a.md"
    path.write_text("a")
    for number in range(3):
        main(["create", str(path), "--slug", f"doc-{number}"])
    capsys.readouterr()
    assert main(["list", "--limit", "2"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    before = err.split()[-1]
    assert main(["list", "--limit", "2", "--before", before]) == 0
    assert "doc-2" in capsys.readouterr().out


@pytest.mark.usefixtures("server")
def test_a_document_goes_and_comes_back(capsys: Captured, data: Path) -> None:
    (data / "a.md").write_text("# Plan")
    assert main(["create", str(data / "a.md"), "--expires", "30d"]) == 0
    out, err = capsys.readouterr()
    doc_id, slug, _ = out.split()
    assert err == "It is deleted at 2025-12-30T10:53:20.000+00:00.\n"
    assert main(["list"]) == 0
    assert "(expires 2025-12-30T10:53:20.000+00:00)" in capsys.readouterr().out
    assert main(["delete", slug]) == 0
    assert f"docactor undelete {doc_id}" in capsys.readouterr().out
    assert main(["export", slug]) == REFUSED
    assert main(["list"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["list", "--deleted"]) == 0
    assert capsys.readouterr().out.startswith(f"{doc_id}  2025-11-30T10:53:20.000+00:00  {slug}")
    assert main(["undelete", doc_id]) == 0
    assert main(["export", slug]) == 0
    assert capsys.readouterr().out.endswith("# Plan\n")


@pytest.mark.usefixtures("server")
def test_a_node_is_drained_when_there_is_another_or_by_force(
    capsys: Captured, router: FakeRouter
) -> None:
    assert main(["drain", "abc"]) == REFUSED
    assert "no other node" in capsys.readouterr().err
    assert main(["drain", "abc", "--force"]) == 0
    assert capsys.readouterr().out == "abc has no documents any more and gets none.\n"
    assert main(["undrain", "abc"]) == 0
    assert router.drained == set()


@pytest.mark.usefixtures("server")
def test_a_token_is_printed_once_and_works(capsys: Captured, router: FakeRouter) -> None:
    assert main(["token", "create", "--agent", "Bob", "--scope", "read"]) == 0
    out, err = capsys.readouterr()
    token = out.strip()
    assert " " not in token
    assert "Shown once" in err
    assert len(router.tokens) == 4
    assert max(router.tokens.values(), key=lambda c: c.name == "Bob").scopes == {"read"}


@pytest.mark.usefixtures("server")
def test_a_token_may_have_budgets_of_its_own(router: FakeRouter) -> None:
    flags = ["--writes-per-minute", "7", "--chars-per-hour", "500"]
    assert main(["token", "create", "--agent", "Bob", *flags]) == 0
    bob = next(caller for caller in router.tokens.values() if caller.name == "Bob")
    assert bob.allowance == Allowance(7, 500, None)


@pytest.mark.usefixtures("server")
def test_the_status_is_json(capsys: Captured) -> None:
    assert main(["status"]) == 0
    assert json.loads(capsys.readouterr().out)["ready"] is True


@pytest.mark.usefixtures("data")
def test_without_a_server_it_says_how_to_start_one(capsys: Captured) -> None:
    for command in (["list"], ["status"], ["export", "plan"], ["token", "create", "--agent", "A"]):
        assert main([*command, "--url", "http://127.0.0.1:9"]) == NO_SERVER
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        assert "docactor serve" in err


@pytest.mark.usefixtures("server")
def test_a_refusal_is_one_line(
    capsys: Captured, router: FakeRouter, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    assert main(["export", "nothing"]) == REFUSED
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert err.startswith("docactor: doc_id: no document 'nothing'")
    router.failure = StorageUnavailable("The disk is full.")
    assert main(["export", "plan"]) == REFUSED
    assert "Nothing was applied" in capsys.readouterr().err
    monkeypatch.setenv("DOCACTOR_TOKEN", "reader-token")
    assert READER.scopes == {"read"}
    assert main(["token", "create", "--agent", "Eve"]) == REFUSED
    assert "needs the scope 'admin'" in capsys.readouterr().err
    monkeypatch.setenv("DOCACTOR_TOKEN", "wrong")
    assert main(["list"]) == REFUSED
    assert "unknown, expired or revoked" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "command, said",
    [
        (["create", "missing.md"], "No such file"),
        (["export", "No Such"], "ID: no document"),
    ],
)
def test_what_cannot_be_sent_is_told_at_once(
    capsys: Captured, command: list[str], said: str
) -> None:
    assert main(command) == REFUSED
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("data")
def test_the_settings_in_force_are_printed(capsys: Captured) -> None:
    assert main(["config", "--port", "9"]) == 0
    out = capsys.readouterr().out
    assert "port = 9 " in out
    assert "# --port" in out
    assert "# DOCACTOR_DATA" in out


@pytest.mark.usefixtures("data")
def test_settings_that_are_unsafe_are_wrong_usage(capsys: Captured) -> None:
    assert main(["serve", "--host", "0.0.0.0"]) == USAGE
    assert "host: 0.0.0.0 is reachable by others" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [[], ["fly"], ["create"], ["token", "create"], ["list", "--limit", "many"]]
)
def test_wrong_usage_is_told_by_the_parser(capsys: Captured, command: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == USAGE
    assert "usage: docactor" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [[], ["serve"], ["create"], ["export"], ["list"], ["token", "create"]]
)
def test_every_command_explains_itself(capsys: Captured, command: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert caught.value.code == 0
    assert "usage: docactor" in capsys.readouterr().out


@pytest.mark.usefixtures("server")
def test_a_token_is_listed_and_revoked(capsys: Captured, router: FakeRouter, data: Path) -> None:
    (data / "a.md").write_text("# Plan")
    assert main(["create", str(data / "a.md")]) == 0
    doc_id, slug, _ = capsys.readouterr().out.split()
    flags = ["--scope", "comment,suggest", "--document", slug, "--expires", "30d"]
    assert main(["token", "create", "--agent", "Bob", *flags]) == 0
    token = capsys.readouterr().out.strip()
    caller = router.tokens[hash_token(token)]
    assert caller.scopes == {"read", "comment", "suggest"}
    assert caller.documents == frozenset({doc_id})
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith(
        f"{caller.token}  until 2025-12-30T10:53:20.000+00:00  comment read suggest  Bob, agent of"
    )
    assert f"(never used; only {doc_id})" in listed
    assert token not in listed
    assert main(["token", "revoke", caller.token]) == 0
    assert hash_token(token) not in router.tokens
    assert main(["token", "revoke", caller.token]) == REFUSED
    assert "id: no valid token" in capsys.readouterr().err
    assert main(["token", "list"]) == 0
    assert "  revoked 2025-11-30" in capsys.readouterr().out
    assert main(["token", "create", "--agent", "Bob", "--scope", "fly"]) == REFUSED
    assert "scope: one or more of" in capsys.readouterr().err
    assert [row.what for row in router.audit] == ["token.create", "token.revoke"]


@pytest.mark.usefixtures("server")
def test_roles_are_given_shown_and_taken_back(router: FakeRouter, capsys: Captured) -> None:
    anna = Member("person:ann", "owner", 1_764_500_000_000, "server")
    ben = Member("person:ben", "viewer", 1_764_500_060_000, "person:ann")
    asked: list[tuple[Any, ...]] = []

    def answer(method: str, told: Members) -> None:
        def run(_caller: Caller, *args: Any) -> Members:
            asked.append((method, *args))
            return told

        setattr(router, f"_{method}", run)

    answer("members", Members("abcdefghijkl", None, (anna,)))
    answer("set_member", Members("abcdefghijkl", None, (anna, ben)))
    answer("set_link_role", Members("abcdefghijkl", "suggester", (anna,)))
    assert main(["member", "list", "plan"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "owner       person:ann  (since 2025-11-30T10:53:20.000+00:00, by server)",
        "private: no role by link",
    ]
    for words, sent in (
        (["member", "add", "http://127.0.0.1:8000/d/plan", "ben", "viewer"], ("ben", "viewer")),
        (["member", "role", "plan", "agent:ben:bot", "editor"], ("agent:ben:bot", "editor")),
        (["member", "remove", "plan", "person:ben"], ("person:ben", None)),
    ):
        assert main(words) == 0
        assert asked[-1] == ("set_member", "plan", *sent)
    assert "viewer      person:ben" in capsys.readouterr().out
    assert main(["link", "plan", "suggester"]) == 0
    assert asked.pop() == ("set_link_role", "plan", "suggester")
    assert "suggester   everybody with the link" in capsys.readouterr().out
    assert main(["link", "plan", "none"]) == 0
    assert asked.pop() == ("set_link_role", "plan", None)
    with pytest.raises(SystemExit):
        main(["member", "add", "plan", "ben", "king"])


@pytest.mark.usefixtures("server")
def test_tokens_are_for_whoever_they_are_made_for(router: FakeRouter) -> None:
    owners: list[str] = []

    def create(owner: str, *_args: Any) -> NewToken:
        owners.append(owner)
        row = TokenRow("t1", "n", "p", "p", False, frozenset({"read"}), 1, None, None, None)
        return NewToken("dat_x", row)

    setattr(router, "_create_token", create)  # noqa: B010  it is called by its name
    for words in (["--agent", "bot"], ["--agent", "bot", "--of", "ben"], ["--person", "ben"]):
        assert main(["token", "create", *words]) == 0
    assert owners == ["person:1", "ben", "ben"]
