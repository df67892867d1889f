"""The actor's end of the link: a Unix socket for its own node, TCP for the others.

A link proves itself with the route key that only the control road hands out; anything else is
answered `moved`, so a gateway with an old route asks the Directory again. While the document is
backlogged, or a gateway does not read what it is sent, that link's frames wait in the kernel.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from actors.document.editor_hub import EditorHub
from actors.document.frame_protocol import FrameProtocol
from shared.calls import Verb, encode_answer
from shared.errors import DocactorError, InternalError, Moved, TooLarge
from shared.limits import (
    LINK_ANSWER_BYTES,
    LINK_CLOSE_S,
    LINK_FRAME_BYTES,
    LINK_HELLO_BYTES,
    LINK_HELLO_S,
    LINK_OUTBOX_BYTES,
    LINK_PING_S,
    LINK_RETRY_S,
)
from shared.protocol import RouteKey
from shared.wire.frames import (
    PONG_FRAME,
    Call,
    Frame,
    Goodbye,
    Hello,
    Kind,
    decode_control,
    encode_control,
    encode_frame,
    encode_refusal,
)
from shared.wire.lib0 import MalformedMessage, var_uint

logger = logging.getLogger(__name__)

# What keeps a document awake: somebody edits, comes, or asks for the whole again.
_STIRRING: Final = frozenset({Kind.OPEN, Kind.RECAST, Kind.STEP1, Kind.UPDATE})


Serve = Callable[[Verb, bytes], Awaitable[bytes]]  # a call as `shared.calls` writes it


class LinkServer:
    """Serves the links of one activation.

    Args:
        folder: Where the Unix socket is made, under a name never used before (a killed actor
            leaves its file behind). Paths of sockets may have 107 bytes: keep it short and private.
        serve: Answers calls.
        host: The address for links from other nodes.
    """

    def __init__(
        self,
        hub: EditorHub,
        key: RouteKey,
        folder: Path,
        serve: Serve,
        host: str = "127.0.0.1",
    ) -> None:
        self.hub = hub
        self._serve = serve
        self._key = key
        self._host = host
        self._path = folder / f"{secrets.token_hex(6)}.sock"
        self._servers: list[asyncio.Server] = []
        self._links: set[ServerLink] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._all_gone = asyncio.Event()
        self.leaving = False  # nothing more is taken
        self.stirred_at = asyncio.get_running_loop().time()

    async def start(self) -> tuple[str, str]:
        """Listens. Returns `unix:<path>` and `tcp:<host>:<port>`, as a route names them."""
        loop = asyncio.get_running_loop()
        unix = await loop.create_unix_server(lambda: ServerLink(self), str(self._path))
        self._servers.append(unix)
        self._path.chmod(0o600)
        tcp = await loop.create_server(lambda: ServerLink(self), self._host, 0)
        self._servers.append(tcp)
        port = tcp.sockets[0].getsockname()[1]
        return f"unix:{self._path}", f"tcp:{self._host}:{port}"

    async def stop(self) -> None:
        """Ends all links after what they were already sent, and stops listening.

        Calls that were taken are answered, for as long as a link gets to take what it is sent.
        """
        for server in self._servers:
            server.close()
        self._path.unlink(missing_ok=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._say_goodbye()
        if self._calls:
            await asyncio.wait(self._calls, timeout=LINK_CLOSE_S)
        for link in self._links:
            link.close()
        try:
            async with asyncio.timeout(LINK_CLOSE_S):
                while self._links:
                    self._all_gone.clear()
                    await self._all_gone.wait()
        except TimeoutError:
            for link in tuple(self._links):
                link.abort()

    def holds(self, key: RouteKey) -> bool:
        """Whether this is the activation a hello names."""
        mine = self._key
        same = (key.doc_id, key.epoch) == (mine.doc_id, mine.epoch)
        return hmac.compare_digest(key.secret.encode(), mine.secret.encode()) and same

    @property
    def sole_gateway(self) -> str:
        """The one gateway that all sessions and waiting calls are at; empty: none, or several."""
        peer = self.hub.sole_user
        return peer.gateway if isinstance(peer, ServerLink) else ""

    def sleep(self) -> bool:
        """Leaves the sessions to the sole gateway; what comes from now on is not taken any more.

        False: something is under way, and nothing was done.
        """
        peer = self.hub.sole_user
        if self._calls or not isinstance(peer, ServerLink) or not self.hub.sleep(peer.taken):
            return False
        self.leaving = True
        return True

    def made(self, link: ServerLink) -> None:
        self._links.add(link)

    def gone(self, link: ServerLink) -> None:
        self._links.discard(link)
        self._all_gone.set()

    def call(self, link: ServerLink, call: Call) -> None:
        """Answers a call beside everything else."""
        task = asyncio.get_running_loop().create_task(self._answer(link, call))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _answer(self, link: ServerLink, call: Call) -> None:
        try:
            answer = await self._serve(call.verb, call.call)
        except Exception:
            # A border: what is said to a caller is an id, what happened is in the log.
            error_id = secrets.token_hex(4)
            logger.exception("%s failed, error %s", call.verb, error_id)
            error = InternalError("Something went wrong here.", error_id=error_id)
            answer = encode_answer(error.to_wire())
        if len(answer) > LINK_ANSWER_BYTES:
            refused = TooLarge("The answer is too long to be sent.", bytes=len(answer))
            answer = encode_answer(refused.to_wire())
        while link.connected and not link.writable:
            await link.drained.wait()  # long answers go one after another
        link.send(encode_frame(Kind.ANSWER, var_uint(call.number), answer))

    def _say_goodbye(self) -> None:
        if self.leaving:
            return  # it was said with SLEEP
        self.leaving = True
        for link in self._links:
            link.send(encode_control(Kind.GOODBYE, Goodbye(link.taken)))

    def catch_up(self, link: ServerLink, last_seq: int) -> None:
        """Starts sending what a gateway missed; the task ends with the server at the latest."""
        task = asyncio.get_running_loop().create_task(self._catch_up(link, last_seq))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _catch_up(self, link: ServerLink, last_seq: int) -> None:
        try:
            await self.hub.catch_up(link, last_seq)
        except DocactorError as error:
            logger.warning("a link cannot be brought up to date: %s", error)
            link.abort()
        except Exception:
            logger.exception("a link cannot be brought up to date")
            link.abort()


class ServerLink(FrameProtocol):
    """One gateway's connection, before and after its hello."""

    def __init__(self, server: LinkServer) -> None:
        super().__init__(LINK_HELLO_BYTES)
        self.gateway = ""
        self.drained = asyncio.Event()
        self._server = server
        self._hub = server.hub
        self._joined = False
        self._shown_life = 0.0  # loop time of the last pong
        self._hello_due: asyncio.TimerHandle | None = None
        self._life: asyncio.TimerHandle | None = None  # runs while frames are held back

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.made(self)
        self._hello_due = self._loop.call_later(LINK_HELLO_S, self.abort)

    def closed(self) -> None:
        for timer in (self._hello_due, self._life):
            if timer is not None:
                timer.cancel()
        self.drained.set()
        self._server.gone(self)
        self._hub.leave(self)

    def send(self, frame: bytes) -> None:
        super().send(frame)
        if self.unsent > LINK_OUTBOX_BYTES:
            logger.warning("link closed: the gateway does not read")
            self.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.drained.clear()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.drained.set()
        self.resume()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._joined and self._reader.buffered:
            self._show_life()  # a ping may be waiting behind a long frame

    def ready(self) -> bool:
        if not self.writable or self._server.leaving:
            return False
        if self._joined and self._hub.backlogged:
            self._hold()
            return False
        return True

    def frame_received(self, frame: Frame) -> None:
        if not self._joined:
            self._hello(frame)
        elif frame.kind == Kind.PING:
            self._shown_life = self._loop.time()
            self.send(PONG_FRAME)
        elif frame.kind == Kind.CALL:
            self._server.call(self, decode_control(frame.payload, Call))
        else:
            self._dispatch(frame)

    def _hello(self, frame: Frame) -> None:
        if frame.kind != Kind.HELLO:
            raise MalformedMessage("a link begins with a hello")
        hello = decode_control(frame.payload, Hello)
        if self._hello_due is not None:
            self._hello_due.cancel()
        if not self._server.holds(hello.key):
            self.send(encode_refusal(Moved("The document is not here under this route.").to_wire()))
            self.close()
            return
        self._joined = True
        self.gateway = hello.gateway
        self._reader.limit = LINK_FRAME_BYTES
        if self._hub.join(self, hello.last_seq) and hello.last_seq is not None:
            self._server.catch_up(self, hello.last_seq)

    def _dispatch(self, frame: Frame) -> None:
        if frame.kind in _STIRRING:
            self._server.stirred_at = self._loop.time()
        try:
            self._hub.receive(self, frame)
        except MalformedMessage:
            raise
        except Exception:
            logger.exception("a frame of kind %d failed", frame.kind)
            self._hub.fail(self, frame)

    # --- waiting for the document ----------------------------------------------------------------

    def _hold(self) -> None:
        """Looks again when what waits now is written; until then shows that it lives."""
        if self._life is None:
            self._life = self._loop.call_later(LINK_PING_S, self._still_held)
            self._hub.when_ready(self._look_again)

    def _look_again(self) -> None:
        if self._life is not None:
            self._life.cancel()
            self._life = None
        self._loop.call_later(LINK_RETRY_S, self.resume)

    def _still_held(self) -> None:
        self._life = self._loop.call_later(LINK_PING_S, self._still_held)
        self._show_life()

    def _show_life(self) -> None:
        now = self._loop.time()
        if now - self._shown_life >= LINK_PING_S:
            self._shown_life = now
            self.send(PONG_FRAME)
