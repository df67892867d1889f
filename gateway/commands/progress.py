"""A progress bar for whoever sits at a terminal, and nothing for anybody else."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self, TextIO

_WIDTH: Final = 30  # characters of the bar


class Progress:
    """Use it in a `with` block, which leaves the line clear."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._wanted = stream.isatty()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, done: int, total: int) -> None:
        """`done` of `total` things are done."""
        if not self._wanted:
            return
        full = _WIDTH * done // max(1, total)
        self._stream.write(f"\r[{'#' * full}{' ' * (_WIDTH - full)}] {done}/{total}")
        self._stream.flush()
        self._shown = True

    def clear(self) -> None:
        """Takes the bar away, so that a line can be written."""
        if self._shown:
            self._stream.write(f"\r{' ' * (_WIDTH + 20)}\r")
            self._stream.flush()
            self._shown = False
