"""Which caller may use which verb of which document."""

from __future__ import annotations

import itertools
from typing import Final, get_args

import pytest

from shared.access import NEEDS, check, may_open, scopes_of
from shared.calls import VERBS
from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument
from shared.protocol import Caller, Scope

DOC: Final = "abcdefghijkl"
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
READ: Final = {"read_document", "read_changes"}
WRITE: Final = {"patch", "insert", "replace", "delete", "move", "replace_text"}
ADMIN: Final = {"back_up", "check"}
ALLOWED: Final[dict[Scope, set[str]]] = {
    "read": READ,
    "comment": READ,
    "suggest": READ,
    "write": READ | WRITE,
    "admin": READ | WRITE | ADMIN,
}


def test_every_verb_has_its_scope() -> None:
    assert NEEDS.keys() == VERBS


@pytest.mark.parametrize("scope, verb", list(itertools.product(SCOPES, sorted(VERBS))))
def test_every_scope_with_every_verb(scope: Scope, verb: str) -> None:
    for documents in (None, frozenset({DOC})):
        caller = Caller("agent:1", "A", scopes=scopes_of(scope), documents=documents)
        if verb in ALLOWED[scope]:
            check(caller, DOC, verb)
        else:
            with pytest.raises(CapabilityDenied) as refused:
                check(caller, DOC, verb)
            assert refused.value.data["needs"] == NEEDS[verb]
    stranger = Caller("agent:1", "A", scopes=scopes_of(scope), documents=frozenset({"other"}))
    assert not may_open(stranger, DOC)
    with pytest.raises(DocumentNotFound):
        check(stranger, DOC, verb)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_caller_without_scopes_may_nothing(verb: str) -> None:
    with pytest.raises(CapabilityDenied):
        check(Caller("agent:1", "A"), DOC, verb)


def test_scopes_are_named_together() -> None:
    assert scopes_of("comment, suggest") == {"read", "comment", "suggest"}
    assert scopes_of("write read") == scopes_of("write")
    for text in ("", " , ", "fly", "read,fly", "read;write"):
        with pytest.raises(InvalidArgument, match=r"^scope: "):
            scopes_of(text)
