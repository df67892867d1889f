"""`docactor versions …`: what a document was, what changed since, and going back to it.

`docactor restore` is another thing: it puts back the backup of a whole server.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from gateway.commands.client import RestClient
from shared.limits import DEFAULT_VERSIONS

Client = Callable[[argparse.Namespace], RestClient]
_POINT = "a time with offset such as 2026-03-31T09:00:00+02:00, a version, or a cursor"


def add_parsers(
    commands: Any, add_server: Callable[[argparse.ArgumentParser], Any], client: Client
) -> None:
    """Adds the command.

    Args:
        commands: The command line's sub-parsers.
        add_server: Adds what says which server is meant.
        client: Talks to it.
    """
    top = commands.add_parser("versions", help="show what a document was, and go back to it")
    actions = top.add_subparsers(title="actions", required=True, metavar="ACTION")

    def add(name: str, run: Callable[[RestClient, Any], int], about: str) -> Any:
        sub = actions.add_parser(name, help=about)
        sub.set_defaults(run=_run(client, run))
        sub.add_argument("id", metavar="ID", help="a document's id, slug or URL")
        return sub

    sub = add("list", _list, "list the versions of a document, newest first")
    sub.add_argument("--before", metavar="VERSION", help="those older than this one")
    sub.add_argument("--limit", type=int, default=DEFAULT_VERSIONS, help="how many at most")
    add_server(sub)
    sub = add("read", _read, "print a document as a version holds it")
    sub.add_argument("version", metavar="VERSION", help="v<number> or its name")
    add_server(sub)
    sub = add("compare", _compare, "print what differs between two states")
    sub.add_argument("since", metavar="FROM", help=_POINT)
    sub.add_argument("until", metavar="TO", nargs="?", help="the same; default: now")
    add_server(sub)
    sub = add("save", _save, "name a document as it is now, so that it is kept for good")
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("--version", metavar="VERSION", help="name this one instead")
    add_server(sub)
    sub = add("restore", _restore, "make a document what a version held; can be undone")
    sub.add_argument("version", metavar="VERSION", help="v<number> or its name")
    sub.add_argument("--dry-run", action="store_true", help="only say what it would do")
    add_server(sub)


def _run(
    client: Client, action: Callable[[RestClient, Any], int]
) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        with client(options) as rest:
            return action(rest, options)

    return run


def _list(rest: RestClient, options: Any) -> int:
    page = rest.versions(options.id, options.before, options.limit)
    for version in page["versions"]:
        print(_line(version))
    if "next" in page:
        print(f"docactor: for older ones add --before {page['next']}", file=sys.stderr)
    return 0


def _read(rest: RestClient, options: Any) -> int:
    print(rest.version(options.id, options.version)["markdown"], end="")
    return 0


def _compare(rest: RestClient, options: Any) -> int:
    found = rest.compare(options.id, options.since, options.until)
    for block in found["blocks"]:
        print(f"[{block['block_id']}] {block['change']}")
        if "diff" in block:
            print(f"{block['diff']}\n")
    counts = found["counts"]
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ("added", "removed", "changed", "moved"))
    print(f"{found['from']['at']} to {found['to']['at']}: {told}", file=sys.stderr)
    return 0


def _save(rest: RestClient, options: Any) -> int:
    print(_line(rest.save_version(options.id, options.name, options.version)))
    return 0


def _restore(rest: RestClient, options: Any) -> int:
    result = rest.restore_version(
        options.id, options.version, dry_run=options.dry_run, key=str(uuid4())
    )
    counts = ", ".join(
        f"{result[what]} {what}" for what in ("replaced", "inserted", "deleted", "moved")
    )
    print(f"Blocks: {counts}.")
    if "undo" in result:
        print(f"Undo it with: docactor versions restore {options.id} {result['undo']}")
    return 0


def _line(version: Mapping[str, Any]) -> str:
    put_back = f" {version['restored']}" if "restored" in version else ""
    name = f"  {version['name']}" if "name" in version else ""
    by = f"  (by {version['by']})" if "by" in version else ""
    return f"{version['version']:<6}  {version['at']}  {version['kind']}{put_back}{name}{by}"
