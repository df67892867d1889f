"""What a caller may do with a document: asked where the document is, by whoever serves it.

A caller may do what both allow: the token's scopes and the role on the document. A role is granted
by name or to everybody who has the link; of two the better one counts. A link never lets anybody
comment: text of strangers that an agent is led to read could steer it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument
from shared.protocol import Caller, LinkRole, Mode, Role, Scope

NEEDS: Final[dict[str, Scope]] = {
    "read_document": "read",
    "read_changes": "read",
    "get_changes": "read",
    "patch": "write",
    "insert": "write",
    "replace": "write",
    "delete": "write",
    "move": "write",
    "replace_text": "write",
    "list_versions": "read",
    "read_version": "read",
    "compare": "read",
    "save_version": "write",
    "restore": "write",
    "suggest": "suggest",
    "list_suggestions": "read",
    "decide_suggestion": "suggest",  # more than to take back one's own asks for more, there
    "read_events": "read",
    "join": "read",
    "leave": "read",
    "list_chats": "read",
    "read_chat": "read",
    "post_chat_message": "comment",
    "reply": "comment",
    "edit_message": "comment",
    "delete_message": "comment",
    "resolve_thread": "comment",
    "back_up": "admin",
    "check": "admin",
}
"""Which scope each verb of a document needs."""

SUGGESTABLE: Final = frozenset({"patch", "insert", "replace", "delete", "move", "replace_text"})
"""Verbs that with `mode="suggest"` need no more than that."""

_BRINGS: Final[dict[str, frozenset[Scope]]] = {
    "read": frozenset({"read"}),
    "comment": frozenset({"read", "comment"}),
    "suggest": frozenset({"read", "suggest"}),
    "write": frozenset({"read", "comment", "suggest", "write"}),
    "admin": frozenset({"read", "comment", "suggest", "write", "admin"}),
}
ROLES: Final[dict[Role, frozenset[Scope]]] = {
    "viewer": _BRINGS["read"],
    "commenter": _BRINGS["comment"],
    "suggester": frozenset({"read", "comment", "suggest"}),
    "editor": _BRINGS["write"],
    "owner": _BRINGS["write"],
}
"""What each role allows when it is granted by name; an owner also says who else has one."""

LINK_ROLES: Final[dict[LinkRole, frozenset[Scope]]] = {
    "viewer": _BRINGS["read"],
    "suggester": _BRINGS["suggest"],
    "editor": frozenset({"read", "suggest", "write"}),
}
"""What each role allows when it is everybody's who has the link."""

ANONYMOUS: Final = "anonymous"
"""The principal of everybody who has no token and comes by a link."""

_NOTHING: Final = frozenset[Scope]()
_ORDER: Final = tuple(ROLES)


def scopes_of(text: str) -> frozenset[Scope]:
    """The scopes named, by spaces or commas, each with those it is of no use without.

    Raises InvalidArgument.
    """
    names = text.replace(",", " ").split()
    if not names or not _BRINGS.keys() >= set(names):
        raise InvalidArgument(f"scope: one or more of {', '.join(_BRINGS)}.", field="scope")
    return frozenset[Scope]().union(*(_BRINGS[name] for name in names))


def best(roles: tuple[Role, ...]) -> Role | None:
    """The one that allows most."""
    return max(roles, key=_ORDER.index, default=None)


def with_role(caller: Caller, role: Role | None, link_role: LinkRole | None) -> Caller:
    """The caller, as the document is asked for."""
    return msgspec.structs.replace(caller, role=role, link_role=link_role)


def person_of(caller: Caller) -> str | None:
    """The person a caller is, or belongs to; None: nobody knows who."""
    if caller.person is not None or caller.agent:
        return caller.person
    return None if caller.principal == ANONYMOUS else caller.principal


def is_operator(caller: Caller) -> bool:
    """Whether the caller runs the server: the scope `admin` is every role on every document."""
    return "admin" in caller.scopes


def allows(caller: Caller, scope: Scope) -> bool:
    """Whether the caller's token has the scope; `admin` allows everything."""
    return scope in caller.scopes or is_operator(caller)


def require(caller: Caller, scope: Scope) -> None:
    """Raises CapabilityDenied when the caller's token does not allow `scope`."""
    if not allows(caller, scope):
        raise CapabilityDenied(
            f"token: this needs the scope {scope!r}; yours allows {sorted(caller.scopes)}.",
            needs=scope,
        )


def granted(caller: Caller) -> frozenset[Scope]:
    """What the caller's roles on the document allow, whatever the token does."""
    if is_operator(caller):
        return _BRINGS["admin"]
    by_name = _NOTHING if caller.role is None else ROLES[caller.role]
    return by_name | (_NOTHING if caller.link_role is None else LINK_ROLES[caller.link_role])


def may(caller: Caller, scope: Scope) -> bool:
    """Whether token and role allow it."""
    return allows(caller, scope) and scope in granted(caller)


def may_open(caller: Caller, doc_id: str) -> bool:
    """Whether there is such a document for the caller: the token is for it, and a role is there."""
    for_it = caller.documents is None or doc_id in caller.documents
    return for_it and "read" in granted(caller)


def to_write(mode: Mode) -> Scope:
    """The scope that a verb of `SUGGESTABLE` needs."""
    return "suggest" if mode == "suggest" else "write"


def check(caller: Caller, doc_id: str, verb: str, mode: Mode = "apply") -> None:
    """Refuses a call that the caller may not make; `mode`: of a verb that writes.

    Raises:
        DocumentNotFound: The caller may not read it; the same answer as for one that does not
            exist.
        CapabilityDenied: The caller may, but not this.
    """
    if not may_open(caller, doc_id):
        raise DocumentNotFound.for_document(doc_id)
    scope = to_write(mode) if verb in SUGGESTABLE else NEEDS[verb]
    require(caller, scope)
    if scope not in granted(caller):
        raise CapabilityDenied(
            f"role: this needs {scope!r}; you are {_said(caller)} of this document.",
            needs=scope,
            role=caller.role or caller.link_role,
        )


def require_owner(caller: Caller) -> None:
    """Raises CapabilityDenied when the caller may not give roles on the document, or delete it.

    An agent may not, whoever it belongs to: what it reads could talk it into letting others in. Nor
    may a token for certain documents: whoever made it trusts its bearer with less.
    """
    if caller.documents is not None:
        raise CapabilityDenied("token: it is for certain documents; this takes one that is not.")
    if is_operator(caller):
        return
    if caller.role != "owner":
        raise CapabilityDenied(
            f"role: only an owner may do this; you are {_said(caller)} of this document.",
            role=caller.role or caller.link_role,
        )
    if caller.agent:
        raise CapabilityDenied("token: it is an agent's; this takes a person's, or scope 'admin'.")
    require(caller, "write")


def _said(caller: Caller) -> str:
    role = caller.role or caller.link_role
    return f"an {role}" if role in ("editor", "owner") else f"a {role}"
