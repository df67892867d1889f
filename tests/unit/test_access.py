"""Which caller may use which verb of which document."""

from __future__ import annotations

import itertools
from typing import Final, get_args

import pytest

from shared.access import (
    LINK_ROLES,
    NEEDS,
    ROLES,
    SUGGESTABLE,
    best,
    check,
    may,
    may_open,
    require_owner,
    scopes_of,
)
from shared.calls import VERBS
from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument
from shared.protocol import Caller, LinkRole, Role, Scope

DOC: Final = "abcdefghijkl"
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
READ: Final = {
    "read_document",
    "read_changes",
    "get_changes",
    "list_versions",
    "read_events",
    "join",
    "leave",
    "read_version",
    "compare",
    "list_chats",
    "read_chat",
    "list_suggestions",
}
WRITE: Final = {
    *("patch", "insert", "replace", "delete", "move", "replace_text"),
    *("save_version", "restore"),
}
COMMENT: Final = {
    *("post_chat_message", "reply", "edit_message", "delete_message", "resolve_thread"),
}
ADMIN: Final = {"back_up", "check"}
SUGGEST: Final = {"suggest", "decide_suggestion"}
ALLOWED: Final[dict[Scope, set[str]]] = {
    "read": READ,
    "comment": READ | COMMENT,
    "suggest": READ | SUGGEST,
    "write": READ | COMMENT | SUGGEST | WRITE,
    "admin": READ | COMMENT | SUGGEST | WRITE | ADMIN,
}
# What a role allows, each letter a scope; a link never lets anybody comment.
NAMED: Final[dict[Role, str]] = {
    "viewer": "r",
    "commenter": "rc",
    "suggester": "rcs",
    "editor": "rcsw",
    "owner": "rcsw",
}
LINKED: Final[dict[LinkRole, str]] = {"viewer": "r", "suggester": "rs", "editor": "rsw"}


def someone(scope: Scope, role: Role | None, link: LinkRole | None = None) -> Caller:
    return Caller("agent:1", "A", scopes=scopes_of(scope), role=role, link_role=link)


def test_every_verb_has_its_scope_and_every_role_its_table() -> None:
    assert NEEDS.keys() == VERBS
    assert ROLES.keys() == NAMED.keys() == set(get_args(Role))
    assert LINK_ROLES.keys() == LINKED.keys() == set(get_args(LinkRole))


@pytest.mark.parametrize("scope, verb", list(itertools.product(SCOPES, sorted(VERBS))))
def test_every_scope_with_every_verb(scope: Scope, verb: str) -> None:
    for documents in (None, frozenset({DOC})):
        caller = Caller("agent:1", "A", scopes=scopes_of(scope), documents=documents, role="owner")
        if verb in ALLOWED[scope]:
            check(caller, DOC, verb)
        else:
            with pytest.raises(CapabilityDenied) as refused:
                check(caller, DOC, verb)
            assert refused.value.data["needs"] == NEEDS[verb]
    scopes, other = scopes_of(scope), frozenset({"other"})
    stranger = Caller("agent:1", "A", scopes=scopes, documents=other, role="owner")
    assert not may_open(stranger, DOC)
    with pytest.raises(DocumentNotFound):
        check(stranger, DOC, verb)


@pytest.mark.parametrize("role", [None, *get_args(Role)])
@pytest.mark.parametrize("link", [None, *get_args(LinkRole)])
def test_every_role_with_every_scope_and_verb(role: Role | None, link: LinkRole | None) -> None:
    letters = ("" if role is None else NAMED[role]) + ("" if link is None else LINKED[link])
    for held, wanted in itertools.product(SCOPES, SCOPES):
        allowed = held == "admin" or (wanted[0] in letters and wanted in scopes_of(held))
        assert may(someone(held, role, link), wanted) is allowed, (held, wanted)
    for held, verb in itertools.product(SCOPES, VERBS):
        caller = someone(held, role, link)
        if held == "admin" or (NEEDS[verb][0] in letters and verb in ALLOWED[held]):
            check(caller, DOC, verb)
            continue
        with pytest.raises(CapabilityDenied if letters else DocumentNotFound):
            check(caller, DOC, verb)


def test_to_suggest_a_write_takes_no_more_than_that() -> None:
    for role, held, verb in itertools.product(NAMED, SCOPES, sorted(VERBS)):
        caller = someone(held, role)
        needs = "s" if verb in SUGGESTABLE else NEEDS[verb][0]
        if held == "admin" or (needs in NAMED[role] and needs in {s[0] for s in scopes_of(held)}):
            check(caller, DOC, verb, "suggest")
            continue
        with pytest.raises(CapabilityDenied) as refused:
            check(caller, DOC, verb, "suggest")
        assert refused.value.data["needs"][0] == needs


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_caller_without_scopes_may_nothing(verb: str) -> None:
    with pytest.raises(CapabilityDenied):
        check(Caller("agent:1", "A", role="owner"), DOC, verb)


def test_only_people_who_own_a_document_give_roles_and_delete_it() -> None:
    for role, agent, scope in itertools.product(get_args(Role), (True, False), SCOPES):
        caller = Caller("p", "P", agent=agent, scopes=scopes_of(scope), role=role)
        if scope == "admin" or (role == "owner" and not agent and scope == "write"):
            require_owner(caller)
        else:
            with pytest.raises(CapabilityDenied):
                require_owner(caller)
    with pytest.raises(CapabilityDenied):
        require_owner(someone("write", None, "editor"))
    with pytest.raises(CapabilityDenied):
        require_owner(Caller("p", "P", documents=frozenset({DOC}), scopes=scopes_of("admin")))


def test_the_better_one_of_two_roles_counts() -> None:
    assert best(()) is None
    assert best(("viewer", "owner", "editor")) == "owner"
    assert best(("commenter", "viewer")) == "commenter"


def test_scopes_are_named_together() -> None:
    assert scopes_of("comment, suggest") == {"read", "comment", "suggest"}
    assert scopes_of("write read") == scopes_of("write")
    for text in ("", " , ", "fly", "read,fly", "read;write"):
        with pytest.raises(InvalidArgument, match=r"^scope: "):
            scopes_of(text)
