"""What a caller may do with a document: asked where the document is, by whoever serves it."""

from __future__ import annotations

from typing import Final

from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument
from shared.protocol import Caller, Scope

NEEDS: Final[dict[str, Scope]] = {
    "read_document": "read",
    "read_changes": "read",
    "patch": "write",
    "insert": "write",
    "replace": "write",
    "delete": "write",
    "move": "write",
    "replace_text": "write",
    "back_up": "admin",
    "check": "admin",
}
"""Which scope each verb of a document needs."""


_BRINGS: Final[dict[str, frozenset[Scope]]] = {
    "read": frozenset({"read"}),
    "comment": frozenset({"read", "comment"}),
    "suggest": frozenset({"read", "suggest"}),
    "write": frozenset({"read", "comment", "suggest", "write"}),
    "admin": frozenset({"read", "comment", "suggest", "write", "admin"}),
}


def scopes_of(text: str) -> frozenset[Scope]:
    """The scopes named, by spaces or commas, each with those it is of no use without.

    Raises InvalidArgument.
    """
    names = text.replace(",", " ").split()
    if not names or not _BRINGS.keys() >= set(names):
        raise InvalidArgument(f"scope: one or more of {', '.join(_BRINGS)}.", field="scope")
    return frozenset[Scope]().union(*(_BRINGS[name] for name in names))


def allows(caller: Caller, scope: Scope) -> bool:
    """Whether the caller's token has the scope; `admin` allows everything."""
    return scope in caller.scopes or "admin" in caller.scopes


def require(caller: Caller, scope: Scope) -> None:
    """Raises CapabilityDenied when the caller's token does not allow `scope`."""
    if not allows(caller, scope):
        raise CapabilityDenied(
            f"token: this needs the scope {scope!r}; yours allows {sorted(caller.scopes)}.",
            needs=scope,
        )


def may_open(caller: Caller, doc_id: str) -> bool:
    """Whether the caller's token is for this document."""
    return caller.documents is None or doc_id in caller.documents


def check(caller: Caller, doc_id: str, verb: str) -> None:
    """Refuses a call that the caller may not make.

    Raises:
        DocumentNotFound: The token is not for this document; the same answer as for one that does
            not exist.
        CapabilityDenied: It is, but not for this verb.
    """
    if not may_open(caller, doc_id):
        raise DocumentNotFound.for_document(doc_id)
    require(caller, NEEDS[verb])
