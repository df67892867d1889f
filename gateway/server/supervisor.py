"""`docactor serve`: one process that starts Ray, the Directory and the gateways, and ends them.

It serves nothing itself. Ctrl-C, SIGTERM and SIGHUP leave no process and no folder behind; when it
is killed, gateways notice that their parent changed, and the last of them removes the folder.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from gateway.commands.address_file import remove_address, write_address
from gateway.owner_token import read_owner_token, write_owner_token
from gateway.server import ray_environment
from gateway.server.data_lock import only_server_of, refuse_half_restored
from gateway.server.logs import configure_logging
from gateway.server.temp_folder import TempFolder
from gateway.server.worker_processes import WorkerProcesses, WorkersFailedError
from gateway.settings import Settings
from shared.directory_protocol import DirectorySettings, NewToken
from shared.errors import DocactorError, InvalidArgument
from shared.tokens import hash_token

if TYPE_CHECKING:
    from gateway.server.cluster import Cluster

log = logging.getLogger("docactor.supervisor")
T = TypeVar("T")

OWNER: Final = "owner"
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READY_POLL_S: Final = 0.05
STOP_SLACK_S: Final = 5.0  # a gateway that has drained still has to end
RAY_START_S: Final = 120.0  # Ray gives up by itself after a minute, but not whatever happens
TICK_S: Final = 2.0  # a sign of life this often while Ray starts


def serve(settings: Settings) -> int:
    """Runs the server until it is told to stop; the exit code.

    Raises:
        InvalidArgument: The address is taken, or another server runs on the data folder.
        DocactorError: The Directory cannot serve, for instance because of a damaged catalog.
        OSError: The data folder cannot be used.
    """
    data = settings.data_path
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_half_restored(data)
    (data / "logs").mkdir(exist_ok=True)
    configure_logging(settings.log_level, data / "logs" / "server.jsonl")
    with ExitStack() as stack:
        if settings.ray_address is None:
            stack.enter_context(only_server_of(data))
        listener = stack.enter_context(_bind(settings))
        port = listener.getsockname()[1]
        supervisor = Supervisor(msgspec.structs.replace(settings, port=port), listener)
        code: int = anyio.run(supervisor.run, backend_options={"use_uvloop": True})
        if supervisor.stuck:
            # A thread of Python's cannot be ended, and would keep the process.
            logging.shutdown()
            os._exit(code)
        return code


class Supervisor:
    """One run of `serve`, from the first line printed to the last process gone.

    Attributes:
        stuck: Ray is still starting, on a thread that nothing ends but the end of the process.
    """

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._data = settings.data_path
        self._listener = listener
        self._born = time.monotonic()
        # Ray's processes die with the thread that started them: one that lives to the end.
        self._ray_thread = ThreadPoolExecutor(1, thread_name_prefix="ray")
        self._temp: TempFolder | None = None
        self._cluster: Cluster | None = None
        self._may_serve = anyio.Event()  # there is a Directory, and the owner's token
        self._stop = anyio.Event()
        self._hurry = anyio.Event()
        self._ready = self.stuck = False
        self._failure: str | None = None

    async def run(self) -> int:
        """Returns the exit code once nothing of ours is left."""
        async with anyio.create_task_group() as group:
            self._catch_signals()
            group.start_soon(self._tick)
            try:
                await self._serve()
            except (DocactorError, OSError, ray_environment.RayStartError) as error:
                self._failure = str(error)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._clean_up()
                group.cancel_scope.cancel()
        if self._failure is not None:
            say(f"docactor: {self._failure}", sys.stderr)
            return 1
        say("Stopped.")
        return 0

    # --- starting --------------------------------------------------------------------------------

    async def _serve(self) -> None:
        start = self._prepare()
        workers = self._workers()
        try:
            async with anyio.create_task_group() as group:
                workers.start(group)  # before Ray: they have as much to import as it to start
                try:
                    cluster = await self._start_ray(start)
                except ray_environment.RayStartError as error:
                    self._failure = str(error)
                    cluster = None
                if cluster is not None and not self._stop.is_set():
                    await self._run(workers, cluster, group)
                group.cancel_scope.cancel()
        except* WorkersFailedError as failed:
            self._failure = f"{failed.exceptions[0]}; see {self._data / 'logs'}"
        finally:
            workers.kill()

    async def _run(self, workers: WorkerProcesses, cluster: Cluster, group: TaskGroup) -> None:
        """From a Ray that runs to the last request answered."""
        group.start_soon(self._get_ready, cluster)
        await self._stop.wait()
        say("Stopping: requests in flight are answered, documents are stored.")
        await self._until_hurried(self._drain, workers, cluster)

    def _prepare(self) -> Callable[[], Cluster]:
        """Sets Ray's environment, for the gateways too; what starts Ray with it."""
        settings = self._settings
        if settings.ray_address is None:
            say("Starting: Ray, the Directory, the gateway …")
            self._temp = TempFolder.create()
            os.environ.update(ray_environment.embedded(self._data, self._temp.path))
            return self._start_embedded
        say(f"Joining the Ray cluster at {settings.ray_address} …")
        os.environ.update(ray_environment.joining())
        return self._join

    async def _start_ray(self, start: Callable[[], Cluster]) -> Cluster | None:
        """None: it was told to stop before Ray was there. Raises RayStartError."""
        starting = asyncio.ensure_future(self._on_ray_thread(start))
        giving_up = asyncio.ensure_future(self._patience())
        await asyncio.wait((starting, giving_up), return_when=asyncio.FIRST_COMPLETED)
        giving_up.cancel()
        if not starting.done():
            self.stuck = True
            if self._stop.is_set():
                return None
            raise ray_environment.RayStartError(
                f"Ray did not start within {RAY_START_S:.0f} s. Start the server again when the "
                f"machine is less busy; what Ray said is in {self._data / 'logs'}."
            )
        cluster = self._cluster = starting.result()
        # Ray has put a handler of its own in front of ours: it writes a stack to stderr at SIGTERM
        # and aborts the process three seconds later.
        self._catch_signals()
        return cluster

    async def _patience(self) -> None:
        """Returns when a start that is not finished is given up."""
        with anyio.move_on_after(RAY_START_S):
            await self._stop.wait()
            with anyio.move_on_after(self._settings.drain_s):
                await self._hurry.wait()

    def _start_embedded(self) -> Cluster:
        assert self._temp is not None
        return _cluster_class().start(self._temp.path)

    def _join(self) -> Cluster:
        assert self._settings.ray_address is not None
        return _cluster_class().join(self._settings.ray_address)

    async def _tick(self) -> None:
        """Signs of life until the server is ready."""
        while not self._ready and not self._stop.is_set():
            say(f"  … {time.monotonic() - self._born:.0f} s")
            await anyio.sleep(TICK_S)

    def _workers(self) -> WorkerProcesses:
        fd = self._listener.fileno()
        order = {
            "settings": self._settings,
            "fd": fd,
            "namespace": ray_environment.NAMESPACE,
            "parent": os.getpid(),
            "log_file": str(self._data / "logs" / "gateway.jsonl"),
        }

        async def encode(number: int) -> bytes:
            name = f"{socket.gethostname()}-{os.getpid()}-{number}"
            await self._may_serve.wait()
            assert self._cluster is not None
            address = self._cluster.address
            return msgspec.json.encode({**order, "gateway_id": name, "ray_address": address})

        return WorkerProcesses(self._settings.workers, encode, fd)

    async def _get_ready(self, cluster: Cluster) -> None:
        settings = self._settings
        try:
            await cluster.start_directory(
                DirectorySettings(
                    data=str(self._data),
                    idle_s=settings.idle_s,
                    hibernate_s=settings.hibernate_s,
                    beat_s=settings.heartbeat_s,
                    warm_slots=settings.warm_slots,
                    max_active=settings.max_active,
                    drain_s=settings.drain_s,
                )
            )
            token = await self._owner_token(cluster)
        except DocactorError as error:
            self._failure = f"{error.message} The logs are in {self._data / 'logs'}."
            self._stop.set()
            return
        self._may_serve.set()  # so that whoever finds the server ready can find the token, too
        await self._until_served()
        write_address(self._data, settings.base_url)
        self._greet(token)

    async def _owner_token(self, cluster: Cluster) -> str | None:
        """The owner's token; made at the first start, and again when it is no longer valid."""
        if self._settings.no_auth:
            return None
        token = read_owner_token(self._data)
        if token and await cluster.router.directory("authenticate", hash_token(token)):
            return token
        scopes = frozenset({"read", "comment", "suggest", "write", "admin"})
        made: NewToken = await cluster.router.directory("create_token", OWNER, OWNER, scopes, False)
        write_owner_token(self._data, made.token)
        return made.token

    async def _until_served(self) -> None:
        """A gateway listens only when its application has started."""
        address = self._listener.getsockname()
        host = "127.0.0.1" if address[0] == "0.0.0.0" else address[0]  # noqa: S104  compared
        host = "::1" if host == "::" else host
        while True:
            try:
                stream = await anyio.connect_tcp(host, address[1])
            except OSError:
                await anyio.sleep(READY_POLL_S)
            else:
                await stream.aclose()
                return

    def _greet(self, token: str | None) -> None:
        self._ready = True
        url = self._settings.base_url
        seconds = time.monotonic() - self._born
        say(f"Ready after {seconds:.1f} s: {url}" + (f"/#{token}" if token else ""))
        server: dict[str, object] = {"type": "http", "url": f"{url}/mcp"}
        if token:
            server["headers"] = {"Authorization": f"Bearer {token}"}
        config = msgspec.json.encode({"mcpServers": {"docactor": server}}).decode()
        say(f"For an MCP client: {config}")
        say(f"Data is in {self._data}. Ctrl-C stops the server.")

    # --- stopping --------------------------------------------------------------------------------

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def _drain(self, workers: WorkerProcesses, cluster: Cluster) -> None:
        await workers.stop(self._settings.drain_s + STOP_SLACK_S)
        if self._settings.ray_address is not None:
            return  # other gateways may use these documents
        try:
            with anyio.move_on_after(self._settings.drain_s):
                await cluster.router.directory("drain")
        except DocactorError as error:
            # What is acknowledged is on disk: only final checkpoints are missing.
            log.warning("documents were not closed in order: %s", error.message)

    async def _until_hurried(
        self,
        work: Callable[[WorkerProcesses, Cluster], Awaitable[None]],
        workers: WorkerProcesses,
        cluster: Cluster,
    ) -> None:
        async with anyio.create_task_group() as group:

            async def give_up() -> None:
                await self._hurry.wait()
                say("Stopping at once.")
                workers.kill()
                group.cancel_scope.cancel()

            group.start_soon(give_up)
            await work(workers, cluster)
            group.cancel_scope.cancel()

    async def _clean_up(self) -> None:
        if self._cluster is not None:
            await self._cluster.router.close()
            await self._on_ray_thread(self._cluster.end)
        self._ray_thread.shutdown(wait=not self.stuck)
        remove_address(self._data)
        if self._temp is not None:
            self._temp.leave(in_order=True)

    async def _on_ray_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._ray_thread.submit(work))


def say(text: str, stream: TextIO | None = None) -> None:
    """A line for whoever started the server."""
    print(text, file=stream or sys.stdout, flush=True)


def _bind(settings: Settings) -> socket.socket:
    """The listening socket, not listening yet: gateways do that when they can answer."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        raise InvalidArgument(f"port: cannot listen on {where}: {error.strerror}.") from error
    return listener


def _cluster_class() -> type[Cluster]:
    # Imports Ray, which reads part of its environment at that moment: not before it is set.
    module = importlib.import_module("gateway.server.cluster")
    kind: type[Cluster] = module.Cluster
    return kind
