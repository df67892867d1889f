"""REST by its own description: whatever that allows, or just does not, is answered as it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from schemathesis.config import (
    GenerationConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.core.result import Ok
from schemathesis.openapi import from_dict
from schemathesis.schemas import APIOperation

from gateway.rest.openapi import MARKDOWN, PATH, description
from tests.acceptance.server import Server
from tests.acceptance.test_hostile_arguments import faults
from tests.acceptance.test_roles import grant, link, person
from tests.amount import amount

TEXT: Final = "# Plan\n\nOne.\n\n## Part\n\nTwo.\n"
CASES: Final = amount(30, 300)  # of each operation
# A backup goes wherever the body says. Everything else is tried.
DELETE: Final = "DELETE /api/documents/{doc}"  # of the one there is: tests/acceptance/test_roles.py
LEFT_OUT: Final = {"POST /api/backup"}
DESCRIPTION: Final[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(description()))
CONFIG: Final = SchemathesisConfig(
    projects=ProjectsConfig(
        default=ProjectConfig(generation=GenerationConfig(with_security_parameters=False))
    )
)


def operations() -> dict[str, APIOperation[Any, Any, Any, Any]]:
    found = from_dict(DESCRIPTION, config=CONFIG).get_all_operations()
    by_label = {each.ok().label: each.ok() for each in found if isinstance(each, Ok)}
    assert len(by_label) == sum(map(len, DESCRIPTION["paths"].values()))
    return {label: one for label, one in by_label.items() if label not in LEFT_OUT}


OPERATIONS: Final = operations()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose log nobody else writes to: without a fault in it afterwards."""
    with Server(tmp_path_factory.mktemp("described") / "data") as running:
        assert running.request("GET", PATH).json() == DESCRIPTION
        yield running
        assert faults(running.data) == []


class World(NamedTuple):
    """A document, and the tokens of who may do everything and of who may read it."""

    server: Server
    doc: str
    tokens: tuple[str, str]


@pytest.fixture(scope="module")
def world(own: Server) -> World:
    made = World(own, own.create(TEXT), (own.token, person(own, "viewer")))
    grant(own, made.doc, "viewer", "viewer")
    return made


def cases(label: str, doc: str) -> st.SearchStrategy[Case[Any]]:
    """Requests that fit the description and such that do not; about `doc` and about any name."""
    operation, kinds = OPERATIONS[label], []
    for mode in GenerationMode:
        kinds.append(operation.as_strategy(generation_mode=mode))
        if "{doc}" in operation.path and label != DELETE:
            ours = {"doc": doc}
            kinds.append(operation.as_strategy(generation_mode=mode, path_parameters=ours))
    return st.one_of(kinds)


def left_out(case: Case[Any]) -> list[Any]:
    """Checks that cannot be made of a request.

    What fits may be refused all the same: no description says which blocks there are. And all text
    is Markdown, a number for instance.
    """
    unsure: list[Any] = [positive_data_acceptance]
    return [*unsure, negative_data_rejection] if case.media_type == MARKDOWN else unsure


@pytest.mark.timeout(amount(120, 3_600))
@pytest.mark.parametrize("label", OPERATIONS)
def test_any_request_is_answered_as_described(world: World, label: str) -> None:
    own, doc, (owner, viewer) = world
    link(own, doc, None)
    with requests.Session() as session:

        def state() -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {owner}"}
            answer = session.get(f"{own.url}/api/documents/{doc}", headers=headers)
            return answer.status_code, answer.json()

        before = state()

        @settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(cases(label, doc), st.sampled_from(world.tokens))
        def trial(case: Case[Any], token: str) -> None:
            nonlocal before
            if "wait" in case.query and isinstance(case.query["wait"], int | float | str):
                case.query["wait"] = "0"  # nothing will come
            answer = case.call(own.url, session, {"Authorization": f"Bearer {token}"}, timeout=60)
            case.validate_response(answer, excluded_checks=left_out(case))
            after = state()
            if answer.status_code >= 400 or token == viewer:
                assert after == before
            before = after

        trial()
