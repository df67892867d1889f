"""`docactor`: the command line.

    docactor serve                       run the server
    docactor create FILE | DIR           a document from a Markdown file, or many from a folder
    docactor export ID | --all DIR       a document as Markdown, or all as files
    docactor edit ID                     a document in $EDITOR, what changed sent back
    docactor list | status | config      what there is, how it goes, what is in force
    docactor delete | undelete ID        a document goes, and comes back within 30 days
    docactor drain | undrain NODE        a node's documents go elsewhere, and may come back
    docactor member add ID WHO ROLE      a role on a document; list, role, remove
    docactor link ID ROLE                what everybody with its link may do
    docactor token create --agent NAME   a token for an agent
    docactor doctor [--repair]           check what is stored, and mend it
    docactor backup | restore DIR        copy everything of a running server, and put it back

Exit codes: 0 done, 1 refused by the server, 2 wrong usage, 3 no server answers.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.commands import editing as cli_editing
from gateway.commands import folders as cli_folders
from gateway.commands import members as cli_members
from gateway.commands import tokens as cli_tokens
from gateway.commands import upkeep as cli_upkeep
from gateway.commands import versions as cli_versions
from gateway.commands.address_file import read_address
from gateway.commands.client import NoServerError, RestClient
from gateway.mcp.arguments import Unfit, document
from gateway.owner_token import read_owner_token
from gateway.server.data_lock import ServerRunsError
from gateway.server.supervisor import serve
from gateway.settings import FIELDS, Loaded, Settings, describe, load
from shared.errors import DocactorError, InvalidArgument
from shared.limits import DEFAULT_LIST

REFUSED: Final = 1
USAGE: Final = 2
NO_SERVER: Final = 3

_HELP: Final = {
    "host": "address to listen on (default 127.0.0.1)",
    "port": "port to listen on (default 8000)",
    "data": "folder of catalog, documents and owner token (default ./docactor-data)",
    "workers": "gateway processes (default 1)",
    "ray_address": "join this Ray cluster instead of starting one",
    "public_url": "the address others type, when it is not http://HOST:PORT",
    "behind_proxy": "a reverse proxy in front does TLS",
    "no_auth": "no tokens at all; loopback only",
    "tls_cert": "certificate file",
    "tls_key": "key file of the certificate",
    "allowed_hosts": "further Host names, with commas between",
    "allowed_origins": "further browser origins, with commas between",
    "warm_slots": "blank document actors kept started per node",
    "max_active": "active documents per node",
    "idle_s": "seconds until an idle document is put away",
    "hibernate_s": "the same with tabs open in which nobody does a thing; 0: never",
    "heartbeat_s": "seconds between two looks at each document (default 5)",
    "drain_s": "seconds a stop may take",
    "writes_per_minute": "writes to one document a principal may make (default 10)",
    "chars_per_hour": "characters it may add to one (default 20000)",
    "reads_per_minute": "calls of each tool that reads it may make there (default 60)",
    "named_factor": "named agents and people get so many times as much (default 10)",
    "oidc_issuer": "address of an OpenID Connect issuer whose tokens count too",
    "oidc_audience": "what its tokens must be for",
    "oidc_scope": "the most its tokens may do here (default write)",
    "log_level": "debug, info, warning or error",
}
_BUDGETS: Final = {
    "writes_per_minute": "writes to one document",
    "chars_per_hour": "characters added to one document",
    "reads_per_minute": "calls of each tool that reads, of one document",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    options = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except NoServerError as error:
        print(f"docactor: {error}. Start one with 'docactor serve'.", file=sys.stderr)
        return NO_SERVER
    except InvalidArgument as error:
        print(f"docactor: {error.message}", file=sys.stderr)
        return USAGE if options.run in (run_serve, run_config) else REFUSED
    except DocactorError as error:
        told = error.as_dict()
        print(f"docactor: {told['message']} {told['next_step']}".rstrip(), file=sys.stderr)
        return REFUSED
    except OSError as error:
        print(f"docactor: {error}", file=sys.stderr)
        return REFUSED


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="docactor",
        description="A server for documents that people and agents edit together.",
        epilog="Settings come from docactor.toml, then DOCACTOR_* variables, then flags.",
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], about: str) -> Any:
        sub = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        sub.set_defaults(run=run)
        return sub

    for name, run, about in (
        ("serve", run_serve, "run the server until Ctrl-C or SIGTERM"),
        ("config", run_config, "print the settings in force and where each comes from"),
    ):
        _add_settings(add(name, run, about), FIELDS)
    _add_documents(add)
    _add_administration(add)
    _add_server(add("status", run_status, "show how the server is"))
    sub = add("doctor", run_doctor, "check every document and the catalog")
    sub.add_argument("--repair", action="store_true", help="mend them; the server must be stopped")
    _add_server(sub)
    sub = add("backup", run_backup, "copy everything of a running server to an empty folder")
    sub.add_argument("dir", metavar="DIR", type=Path, help="folder on the server's machine")
    _add_server(sub)
    sub = add("restore", run_restore, "put a backup into the data folder of a stopped server")
    sub.add_argument("dir", metavar="DIR", type=Path, help="folder that 'docactor backup' filled")
    _add_settings(sub, ("data",))
    _add_tokens(commands.add_parser("token", help="manage access tokens"))
    cli_members.add_parsers(commands, _add_server, _client)
    cli_versions.add_parsers(commands, _add_server, _client)
    return top


def _add_documents(add: Callable[..., argparse.ArgumentParser]) -> None:
    sub = add("create", run_create, "create a document from a Markdown file, or many from a folder")
    sub.add_argument(
        "file",
        metavar="FILE",
        help="Markdown in UTF-8; - reads standard input; a folder: every .md file below it",
    )
    sub.add_argument("--title", help="title (default: the first heading)")
    sub.add_argument("--slug", help="name in the address (default: from the title)")
    sub.add_argument(
        "--expires",
        metavar="WHEN",
        help="delete it then: a duration such as 30d (m, h, d, w), or a time with its offset",
    )
    _add_server(sub)
    sub = add("export", run_export, "write a document as Markdown to standard output")
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="a document's id, slug or URL")
    which.add_argument(
        "--all", metavar="DIR", type=Path, help="write every document to a file in this folder"
    )
    sub.add_argument(
        "--suggestions", action="store_true", help="with open suggestions, in CriticMarkup"
    )
    _add_server(sub)
    sub = add("edit", run_edit, "open a document in $EDITOR and send back what you changed")
    sub.add_argument("id", metavar="ID", help="a document's id, slug or URL")
    sub.add_argument(
        "--allow-large-delete",
        action="store_true",
        help="also when most of it is gone; otherwise that is refused",
    )
    _add_server(sub)
    sub = add("list", run_list, "list documents, last changed first")
    sub.add_argument("--query", default="", help="words that title or slug contain")
    sub.add_argument("--limit", type=int, default=DEFAULT_LIST, help="how many at most")
    sub.add_argument("--before", help="go on from here: 'next' of the page before")
    sub.add_argument("--deleted", action="store_true", help="those that can be had back instead")
    _add_server(sub)


def run_serve(options: argparse.Namespace) -> int:
    return serve(_load(options).settings)


def run_config(options: argparse.Namespace) -> int:
    print(describe(_load(options)))
    return 0


def run_create(options: argparse.Namespace) -> int:
    if Path(options.file).is_dir():
        return _create_folder(options)
    markdown = _read_file(options.file)
    with _client(options) as client:
        made = client.create(markdown, options.title, options.slug, options.expires)
    print(f"{made['doc_id']}  {made['slug']}  {made['url']}")
    for note in made.get("fidelity", ()):
        print(f"docactor: {note['what']}", file=sys.stderr)
    if "expires_at" in made:
        print(f"It is deleted at {made['expires_at']}.", file=sys.stderr)
    return 0


def _create_folder(options: argparse.Namespace) -> int:
    if options.title or options.slug:
        raise InvalidArgument("--title, --slug: a folder makes many documents.")
    with _client(options) as client:
        return cli_folders.create_folder(client, Path(options.file), options.expires)


def run_export(options: argparse.Namespace) -> int:
    if options.all is not None:
        if options.suggestions:
            raise InvalidArgument("--suggestions: name one document.")
        with _client(options) as client:
            return cli_folders.export_folder(client, options.all.expanduser())
    ref = _reference(options.id)
    with _client(options) as client:
        text, notes = client.export(ref, critic=options.suggestions)
    sys.stdout.write(text)
    if notes:
        print(cli_folders.unsaid(ref, notes), file=sys.stderr)
    return 0


def run_edit(options: argparse.Namespace) -> int:
    ref, large = _reference(options.id), options.allow_large_delete
    with _client(options) as client:
        return cli_editing.edit(client, ref, os.environ, allow_large_delete=large)


def run_list(options: argparse.Namespace) -> int:
    with _client(options) as client:
        page = client.documents(
            options.query, options.limit, options.before, deleted=options.deleted
        )
    for row in page["documents"]:
        at = row["deleted_at" if options.deleted else "updated_at"]
        expires = f"  (expires {row['expires_at']})" if "expires_at" in row else ""
        print(f"{row['doc_id']}  {at}  {row['slug']}  {row['title']}{expires}")
    if "next" in page:
        deleted = "--deleted " if options.deleted else ""
        print(f"more: docactor list {deleted}--before {page['next']}", file=sys.stderr)
    return 0


def run_delete(options: argparse.Namespace) -> int:
    with _client(options) as client:
        gone = client.delete(_reference(options.id))
    print(f"Deleted {gone['doc_id']}. Until {gone['kept_until']} it can be had back:")
    print(f"  docactor undelete {gone['doc_id']}")
    return 0


def run_undelete(options: argparse.Namespace) -> int:
    with _client(options) as client:
        back = client.undelete(_reference(options.id))
    print(f"{back['doc_id']}  {back['slug']}  {back['url']}")
    return 0


def run_drain(options: argparse.Namespace) -> int:
    with _client(options) as client:
        node = client.drain(options.node, force=options.force)
    if node["active"]:
        print(f"{node['node_id']}: {node['active']} documents are still closing.")
        return 0
    print(f"{node['node_id']} has no documents any more and gets none.")
    return 0


def run_undrain(options: argparse.Namespace) -> int:
    with _client(options) as client:
        node = client.undrain(options.node)
    print(f"{node['node_id']} takes documents.")
    return 0


def run_status(options: argparse.Namespace) -> int:
    with _client(options) as client:
        status = client.status()
    print(msgspec.json.format(msgspec.json.encode(status)).decode())
    return 0


def run_token_create(options: argparse.Namespace) -> int:
    order = {budget: getattr(options, f"own_{budget}") for budget in _BUDGETS}
    order |= {"name": options.agent or options.person, "agent": bool(options.agent)}
    order |= {"person": options.person or options.of}
    order |= {"scope": options.scope, "expires": options.expires}
    if options.document:
        order["documents"] = [_reference(ref) for ref in options.document]
    with _client(options) as client:
        return cli_tokens.create(client, order)


def run_token_list(options: argparse.Namespace) -> int:
    with _client(options) as client:
        return cli_tokens.show(client)


def run_token_revoke(options: argparse.Namespace) -> int:
    with _client(options) as client:
        return cli_tokens.revoke(client, options.id)


def run_doctor(options: argparse.Namespace) -> int:
    if not options.url:
        data = _load(options).settings.data_path
        try:
            return cli_upkeep.doctor_stopped(data, repair=options.repair)
        except ServerRunsError:
            pass
    if options.repair:
        raise InvalidArgument("A server runs here: stop it before repairing.")
    with _client(options) as client:
        return cli_upkeep.doctor_running(client)


def run_backup(options: argparse.Namespace) -> int:
    with _client(options) as client:
        return cli_upkeep.back_up(client, options.dir.expanduser().resolve())


def run_restore(options: argparse.Namespace) -> int:
    data = _load(options).settings.data_path
    return cli_upkeep.restore_stopped(data, options.dir.expanduser().resolve())


def _add_settings(sub: argparse.ArgumentParser, names: Sequence[str]) -> None:
    sub.add_argument("--config", type=Path, help="settings file (default ./docactor.toml)")
    group = sub.add_argument_group("settings")
    switches = {name for name in FIELDS if isinstance(getattr(Settings(), name), bool)}
    for name in names:
        flag = "--" + name.replace("_", "-")
        if name in switches:
            group.add_argument(flag, action="store_true", default=None, help=_HELP[name])
        else:
            group.add_argument(flag, metavar="VALUE", help=_HELP[name])


def _add_server(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--url", help="address of the server (default: from the data folder)")
    _add_settings(sub, ("data",))


def _add_tokens(sub: argparse.ArgumentParser) -> None:
    actions = sub.add_subparsers(title="actions", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a token and print it once")
    create.set_defaults(run=run_token_create)
    whose = create.add_mutually_exclusive_group(required=True)
    whose.add_argument("--agent", metavar="NAME", help="for an agent of this name")
    whose.add_argument(
        "--person", metavar="NAME", help="for a person; the one who started the server is owner"
    )
    create.add_argument(
        "--of", metavar="PERSON", help="the person an agent belongs to (default: yourself)"
    )
    create.add_argument(
        "--scope",
        default="write",
        help="what it allows: one or more of read, comment, suggest, write, admin, with commas"
        " between; each brings what it needs (default write)",
    )
    create.add_argument(
        "--document",
        action="append",
        metavar="ID",
        help="only this document, by id, slug or URL; may be repeated (default: all)",
    )
    create.add_argument(
        "--expires",
        metavar="WHEN",
        help="until then: a duration such as 30d (m, h, d, w), or a time with its offset",
    )
    for budget, about in _BUDGETS.items():
        create.add_argument(
            "--" + budget.replace("_", "-"),
            dest=f"own_{budget}",
            type=int,
            metavar="N",
            help=f"{about} (default: as the server's settings say)",
        )
    _add_server(create)
    listed = actions.add_parser("list", help="show every token, and when it was last used")
    listed.set_defaults(run=run_token_list)
    _add_server(listed)
    revoke = actions.add_parser("revoke", help="end a token and what goes on under it")
    revoke.set_defaults(run=run_token_revoke)
    revoke.add_argument("id", metavar="ID", help="the token's id; see 'docactor token list'")
    _add_server(revoke)


def _add_administration(add: Callable[..., argparse.ArgumentParser]) -> None:
    for name, run, about in (
        ("delete", run_delete, "delete a document; its sessions are closed"),
        ("undelete", run_undelete, "bring a deleted document back"),
    ):
        sub = add(name, run, about)
        sub.add_argument("id", metavar="ID", help="a document's id, slug or URL")
        _add_server(sub)
    sub = add("drain", run_drain, "move a node's documents to the others, and place none there")
    sub.add_argument("node", metavar="NODE", help="a node's id, or the beginning of it; see status")
    sub.add_argument(
        "--force",
        action="store_true",
        help="even when no other node takes documents: then none opens until one does",
    )
    _add_server(sub)
    sub = add("undrain", run_undrain, "let a drained node have documents again")
    sub.add_argument("node", metavar="NODE", help="a node's id, or the beginning of it")
    _add_server(sub)


def _load(options: argparse.Namespace) -> Loaded:
    return load(vars(options), os.environ, options.config)


def _client(options: argparse.Namespace) -> RestClient:
    settings = _load(options).settings
    data = settings.data_path
    url = options.url or read_address(data) or settings.base_url
    return RestClient(url, os.environ.get("DOCACTOR_TOKEN") or read_owner_token(data))


def _reference(given: str) -> str:
    try:
        return document(given)
    except Unfit as error:
        raise error.kind(f"ID: {error.text}") from error


def _read_file(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"FILE: {name} is not UTF-8 (byte {error.start}).") from error


if __name__ == "__main__":
    sys.exit(main())
