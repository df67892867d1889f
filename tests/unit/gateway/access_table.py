"""Who may do what, written down by hand: what the tests of access are held against.

A letter stands for a scope: read, comment, suggest, write, admin.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from shared.protocol import LinkRole, Role

Outcome = Literal["ok", "unauthenticated", "capability_denied", "doc_not_found"]
Kind = Literal["open", "server", "document", "visit", "owner", "former"]


class Standing(NamedTuple):
    """What somebody has on the document."""

    role: Role | None
    link: LinkRole | None
    agent: bool = False


STANDINGS: Final = {
    "stranger": Standing(None, None),
    "viewer": Standing("viewer", None),
    "commenter": Standing("commenter", None),
    "suggester": Standing("suggester", None),
    "editor": Standing("editor", None),
    "owner": Standing("owner", None),
    "an owner's agent": Standing("owner", None, agent=True),
    "link to view": Standing(None, "viewer"),
    "link to suggest": Standing(None, "suggester"),
    "link to edit": Standing(None, "editor"),
    "viewer with a link to edit": Standing("viewer", "editor"),
}
SCOPES: Final = {
    None: "",
    "read": "r",
    "comment": "rc",
    "suggest": "rs",
    "write": "rcsw",
    "admin": "rcswa",
}
BY_NAME: Final = {
    None: "",
    "viewer": "r",
    "commenter": "rc",
    "suggester": "rcs",
    "editor": "rcsw",
    "owner": "rcsw",
}
BY_LINK: Final = {None: "", "viewer": "r", "suggester": "rs", "editor": "rsw"}


def letters(standing: Standing) -> str:
    return BY_NAME[standing.role] + BY_LINK[standing.link]


def outcome(kind: Kind, needs: str, standing: Standing, scope: str | None) -> Outcome:
    """What an act is answered with.

    Args:
        kind: Whom it is open to: everybody; whoever's token has the scope; whose role has it too,
            and for a visit also whoever comes by the link without a token; people who own the
            document; or those who did, before it was deleted.
        needs: The scope's letter.
        scope: The token's; None: there is no token.
    """
    if kind == "open" or scope == "admin":
        return "ok"
    mine = letters(standing)
    if scope is None:
        by_link = BY_LINK[standing.link]
        return "ok" if kind == "visit" and needs in by_link else "unauthenticated"
    if kind in ("owner", "former"):
        if not mine or (kind == "former" and standing.role != "owner"):
            return "doc_not_found"
        may = standing.role == "owner" and not standing.agent and "w" in SCOPES[scope]
        return "ok" if may else "capability_denied"
    if needs not in SCOPES[scope]:
        return "capability_denied"
    if kind == "server" or needs in mine:
        return "ok"
    return "capability_denied" if mine else "doc_not_found"
