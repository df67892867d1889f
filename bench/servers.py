"""The servers measured, each behind the same few attributes."""

from __future__ import annotations

import contextlib
import functools
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import httpx
import psutil

from bench.processes import free_port, is_listening, running, wait_until

ROOT: Final = Path(__file__).resolve().parents[1]
NPM: Final = ROOT / "bench" / "npm"
DOCACTOR: Final = Path(sys.executable).parent / "docactor"
CREATE_TRIES: Final = 5
# Budgets of the load's token: what is measured is the server, not its patience.
PLENTY: Final = tuple(
    f"--{budget}=1000000000"
    for budget in ("writes-per-minute", "chars-per-hour", "reads-per-minute")
)

Wire = Literal["y", "hocuspocus"]


class Server(NamedTuple):
    """A running server.

    Attributes:
        process: The top of its process tree.
        url: Where its editors connect.
        create: Makes a document out of Markdown and returns its name in the editors' addresses.
        token: What an editor or agent shows; empty where none is needed.
        mcp: Address of its MCP endpoint; empty where it has none.
    """

    name: str
    wire: Wire
    process: psutil.Process
    url: str
    create: Callable[[str], str]
    token: str = ""
    mcp: str = ""


@contextlib.contextmanager
def docactor(
    folder: Path, environment: dict[str, str] | None = None, workers: int = 1
) -> Iterator[Server]:
    """Our server as `docactor serve` starts it, with so many gateway processes."""
    port = free_port()
    log = folder / "docactor.log"
    data = folder / "docactor-data"
    base = f"http://127.0.0.1:{port}"
    where = ["--data", str(data)]
    listen = ["--host", "127.0.0.1", "--port", str(port), "--workers", str(workers)]
    command = [str(DOCACTOR), "serve", *where, *listen]
    with (
        running(command, cwd=folder, log=log, environment=environment) as process,
        httpx.Client(timeout=60) as client,
    ):
        wait_until(lambda: _answers(client, f"{base}/readyz"), process, log)
        yield server_at(process, port, make_token(where))


def server_at(process: psutil.Process, port: int, token: str) -> Server:
    """Our server on a port of this machine."""
    base = f"http://127.0.0.1:{port}"
    create = functools.partial(_create, f"{base}/api/documents", token)
    url = f"ws://127.0.0.1:{port}/collab"
    return Server("docactor", "y", process, url, create, token, f"{base}/mcp")


def over_hocuspocus(server: Server) -> Server:
    """Our server, its editors on the other wire."""
    url = server.url.removesuffix("/collab") + "/hocuspocus"
    return server._replace(name="docactor, Hocuspocus wire", wire="hocuspocus", url=url)


@contextlib.contextmanager
def hocuspocus(folder: Path) -> Iterator[Server]:
    """Hocuspocus with its SQLite extension; its documents exist as soon as they are named."""
    port = free_port()
    log = folder / "hocuspocus.log"
    command = ["node", "hocuspocus.mjs", str(port), str(folder / "hocuspocus.sqlite3")]
    with running(command, cwd=NPM, log=log) as process:
        wait_until(lambda: is_listening(port), process, log)

        url = f"ws://127.0.0.1:{port}"
        yield Server("hocuspocus", "hocuspocus", process, url, _named)


@contextlib.contextmanager
def y_websocket_server(folder: Path) -> Iterator[Server]:
    """The reference server of y-websocket, storing in LevelDB as it does when told a folder."""
    port = free_port()
    log = folder / "y-websocket.log"
    where = {"HOST": "127.0.0.1", "PORT": str(port), "YPERSISTENCE": str(folder / "leveldb")}
    command = ["node", "node_modules/@y/websocket-server/src/server.js"]
    with running(command, cwd=NPM, log=log, environment=where) as process:
        wait_until(lambda: is_listening(port), process, log)
        yield Server("y-websocket server", "y", process, f"ws://127.0.0.1:{port}", _named)


@contextlib.contextmanager
def pycrdt_websocket(folder: Path) -> Iterator[Server]:
    """pycrdt-websocket with its SQLite store."""
    port = free_port()
    log = folder / "pycrdt-websocket.log"
    database = str(folder / "pycrdt.sqlite3")
    command = [sys.executable, "-m", "bench.pycrdt_server", str(port), database]
    with running(command, cwd=ROOT, log=log) as process:
        wait_until(lambda: is_listening(port), process, log)
        yield Server("pycrdt-websocket", "y", process, f"ws://127.0.0.1:{port}", _named)


@contextlib.contextmanager
def noop_mcp(folder: Path) -> Iterator[str]:
    """Address of a FastMCP server with one tool that does nothing, served the way ours is."""
    port = free_port()
    log = folder / "noop.log"
    command = [sys.executable, "-m", "bench.noop_server", str(port)]
    with running(command, cwd=ROOT, log=log) as process:
        wait_until(lambda: is_listening(port), process, log)
        yield f"http://127.0.0.1:{port}/mcp"


def _named(_markdown: str) -> str:
    """The name of a document that exists as soon as it is named."""
    return f"bench-{secrets.token_hex(6)}"


def _answers(client: httpx.Client, url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return client.get(url).status_code == httpx.codes.OK
    return False


def _create(url: str, token: str, markdown: str) -> str:
    """The id of a new document. While the server says it has no room yet, it is asked again."""
    body = {"title": "Bench", "markdown": markdown, "idempotency_key": secrets.token_hex(8)}
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.post(url, json=body, headers=headers, timeout=60)
    for _ in range(CREATE_TRIES):
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        time.sleep(1)
        answer = httpx.post(url, json=body, headers=headers, timeout=60)
    if answer.is_error:
        msg = f"no document: {answer.text}"
        raise RuntimeError(msg)
    return str(answer.json()["doc_id"])


def make_token(where: list[str]) -> str:
    """A token that may write as much as it can. `where`: flags that name the data folder."""
    who = ["--agent", "bench", "--scope", "write"]
    command = [str(DOCACTOR), "token", "create", *who, *PLENTY, *where]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return printed.split()[-1]
