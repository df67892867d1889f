"""Tasks that outlive the call that started them, all of one scope, none forgotten."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

log = logging.getLogger(__name__)


class Background:
    """Starts tasks in one task group. A failing task is logged; the others go on."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Background]:
        """The scope of the tasks: leaving it cancels what still runs and waits for it."""
        try:
            async with anyio.create_task_group() as group:
                try:
                    yield cls(group)
                finally:
                    group.cancel_scope.cancel()
        except ExceptionGroup as failed:
            # The scope's own error as it was: those of tasks end in `_guarded`.
            (error,) = failed.exceptions
            raise error from error.__cause__

    def spawn(self, work: Callable[[], Awaitable[object]], name: str) -> None:
        """Runs `work` beside the others; `name` is for logs."""
        self._group.start_soon(self._guarded, work, name, name=name)

    @staticmethod
    async def _guarded(work: Callable[[], Awaitable[object]], name: str) -> None:
        try:
            await work()
        except Exception:
            # The border of a task: one failure must not cancel the tasks beside it.
            log.exception("background task failed: %s", name)
