"""A process that holds one document's file and does what it is told, line by line.

Run as `python -m tests.integration.writer_process PATH`. Each line on standard input is `append
WORDS`, `read` or `close`; each answer is a line of JSON, written when the document has answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio

from actors.document.document import Document
from shared.errors import DocactorError
from shared.markdown.parse import parse
from tests.integration.stored_documents import KEY, TEXT, append, markdown


class Writer:
    """The process from outside. Leaving the scope kills it."""

    def __init__(self, path: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.writer_process", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, line: str) -> Any:
        """An error is told by its code, beginning with `!`."""
        self.tell(line)
        return self.answer()


async def _main(path: Path) -> None:
    document: Document | None = None
    while line := await asyncio.to_thread(sys.stdin.readline):  # the document goes on meanwhile
        verb, _, words = line.strip().partition(" ")
        told = "done"
        try:
            if document is None:
                exists = await anyio.Path(path).exists()
                seed = None if exists else parse(TEXT).blocks
                document = await Document.open(path, KEY, seed=seed)
            if verb == "append":
                await append(document, words)
            elif verb == "read":
                told = await markdown(document)
            else:
                await document.close()
                document = None
        except DocactorError as error:
            told = f"!{error.code}"
            if document is not None and document.failed is not None:
                await document.close()  # as the slot that has it is left for another
                document = None
        print(json.dumps(told), flush=True)  # noqa: T201  its answer


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
