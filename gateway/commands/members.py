"""`docactor member …` and `docactor link …`: who may do what with a document."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, get_args

from gateway.commands.client import RestClient
from gateway.times import iso
from shared.protocol import LinkRole, Role

Client = Callable[[argparse.Namespace], RestClient]
NOBODY = "none"
_WHO = "a person's name, person:<name>, or agent:<person>:<name>"


def add_parsers(
    commands: Any, add_server: Callable[[argparse.ArgumentParser], Any], client: Client
) -> None:
    """Adds both commands.

    Args:
        commands: The command line's sub-parsers.
        add_server: Adds what says which server is meant.
        client: Talks to it.
    """
    about = "say who may do what with a document"
    member = commands.add_parser("member", help=about)
    actions = member.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, about in (
        ("list", "show who has a role on a document, and what its link allows"),
        ("add", "give somebody a role on a document"),
        ("role", "give a member another role"),
        ("remove", "take somebody's role back; what they have open ends"),
    ):
        sub = actions.add_parser(name, help=about)
        sub.set_defaults(run=_run(client, name))
        sub.add_argument("id", metavar="ID", help="a document's id, slug or URL")
        if name != "list":
            sub.add_argument("who", metavar="WHO", help=_WHO)
        if name in ("add", "role"):
            sub.add_argument("role", choices=get_args(Role), help="what they may do")
        add_server(sub)
    link = commands.add_parser("link", help="say what everybody with a document's link may do")
    link.set_defaults(run=_run(client, "link"))
    link.add_argument("id", metavar="ID", help="a document's id, slug or URL")
    link.add_argument("role", choices=(*get_args(LinkRole), NOBODY), help="none: it is private")
    add_server(link)


def _run(client: Client, action: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        with client(options) as rest:
            show(_done(rest, action, options))
        return 0

    return run


def _done(rest: RestClient, action: str, options: argparse.Namespace) -> Mapping[str, Any]:
    match action:
        case "list":
            return rest.members(options.id)
        case "link":
            return rest.set_link(options.id, None if options.role == NOBODY else options.role)
        case "remove":
            return rest.set_member(options.id, options.who, None)
    return rest.set_member(options.id, options.who, options.role)


def show(told: Mapping[str, Any]) -> None:
    """A line for each member, and one for the link."""
    for row in told["members"]:
        print(f"{row['role']:<10}  {row['principal']}  (since {iso(row['at'])}, by {row['by']})")
    role = told["link_role"]
    print(f"{role:<10}  everybody with the link" if role else "private: no role by link")
