"""`docactor create DIR` and `docactor export --all DIR`: whole folders of Markdown files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway.commands.client import RestClient
from gateway.commands.progress import Progress
from shared.errors import DocactorError, InvalidArgument
from shared.limits import MAX_LIST
from shared.slugs import UNTITLED, is_usable, slugify

T = TypeVar("T")

OK: Final = 0
SOME_FAILED: Final = 1
_SUFFIX: Final = ".md"
_TRIES: Final = 5  # a server that is full or busy says so and when to come again
_WAIT_S: Final = 1.0  # where it does not say when
_TOLD: Final = 3  # things a line names of what a document's Markdown leaves out
_NOT_A_NAME: Final = "-md"  # behind a name that would look like a document's id


class _Run:
    """Does one thing for each file or document, tells what failed, and goes on."""

    def __init__(self, total: int) -> None:
        self.done = 0
        self.failed = 0
        self.inexact = 0
        self._total = total
        self._progress = Progress(sys.stderr)

    def each(self, name: str, work: Callable[[], str]) -> None:
        """`work` returns a line to print, or nothing."""
        try:
            line = work()
        except (DocactorError, OSError) as error:
            self.failed += 1
            text = error.message if isinstance(error, DocactorError) else str(error)
            self._progress.clear()
            print(f"docactor: {name}: {text}", file=sys.stderr)
        except BaseException:  # nobody answers any more, or Ctrl-C
            self._progress.clear()
            raise
        else:
            self.done += 1
            if line:
                self._progress.clear()
                print(line)
        self._progress.show(self.done + self.failed, self._total)

    def tell(self, name: str, made: dict[str, Any]) -> None:
        """What of a text the server could not keep as it was."""
        for note in made.get("fidelity", ()):
            self._progress.clear()
            print(f"docactor: {name}: {note['what']}", file=sys.stderr)

    def tell_unsaid(self, name: str, notes: Sequence[Mapping[str, Any]]) -> None:
        """What Markdown could not say of a document."""
        if notes:
            self.inexact += 1
            self._progress.clear()
            print(unsaid(name, notes), file=sys.stderr)

    def end(self, what: str) -> int:
        self._progress.clear()
        inexact = f", {self.inexact} of them not entirely" if self.inexact else ""
        failed = f", {self.failed} failed" if self.failed else ""
        print(f"{self.done} {what}{inexact}{failed}.", file=sys.stderr)
        return SOME_FAILED if self.failed else OK


def create_folder(client: RestClient, folder: Path, expires: str | None) -> int:
    """A document from every Markdown file below `folder`; the exit code.

    The slug comes from the path: `notes/Plan A.md` is `notes-plan-a`. A file that was already
    created with the same content, by a run that was cut short, is not created again.
    """
    files = sorted(markdown_files(folder))
    run = _Run(len(files))
    for path in files:
        name = path.relative_to(folder).as_posix()
        run.each(name, partial(_create, run, client, path, name, expires))
    return run.end("documents created")


def markdown_files(folder: Path) -> Iterator[Path]:
    """Files with the ending of Markdown; links and what begins with a dot are passed over."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(parent, name)
            markdown = path.suffix.lower() == _SUFFIX and not name.startswith(".")
            if markdown and not path.is_symlink():
                yield path


def slug_of(name: str) -> str | None:
    """The slug of a file's path; None: the server makes one from the title."""
    words = slugify(name[: -len(_SUFFIX)])
    if words == slugify("") and "document" not in name.lower():
        return None  # nothing in the name fits a slug
    return words if is_usable(words) else words + _NOT_A_NAME


def _create(run: _Run, client: RestClient, path: Path, name: str, expires: str | None) -> str:
    content = path.read_bytes()
    try:
        markdown = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"not UTF-8 (byte {error.start}).") from error
    key = "folder-" + blake2b(name.encode() + b"\0" + content, digest_size=16).hexdigest()
    title = None if markdown.strip() else path.stem or UNTITLED
    create = partial(client.create, markdown, title, slug_of(name), expires, idempotency_key=key)
    made = _patiently(create)
    run.tell(name, made)
    return f"{made['doc_id']}  {made['slug']}  {name}"


def export_folder(client: RestClient, folder: Path) -> int:
    """Every document as `<slug>.md` in `folder`, which is made; the exit code.

    Files of these names are replaced, each in one step; others are left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = _all_documents(client)
    run = _Run(len(rows))
    for row in rows.values():
        name = f"{row['slug']}{_SUFFIX}"
        run.each(name, partial(_export, run, client, row["doc_id"], folder / name))
    return run.end(f"documents written to {folder}")


def _all_documents(client: RestClient) -> dict[str, dict[str, Any]]:
    """Every document by its id.

    The list is ordered by the last change: one that changes while it is read moves to its front. So
    the front is read again until it holds nothing new.
    """
    rows: dict[str, dict[str, Any]] = {}
    while True:
        before: str | None = None
        while True:
            page = _patiently(partial(client.documents, "", MAX_LIST, before))
            new = {row["doc_id"]: row for row in page["documents"] if row["doc_id"] not in rows}
            rows |= new
            before = page.get("next")
            if before is None or not new:
                break
        if not new:
            return rows


def unsaid(name: str, notes: Sequence[Mapping[str, Any]]) -> str:
    """One line about what Markdown could not say of a document: the first few things by name."""
    told = "; ".join(f"{note['what']} ({note['block_id']})" for note in notes[:_TOLD])
    more = f"; and {len(notes) - _TOLD} more" if len(notes) > _TOLD else ""
    return f"docactor: {name}: not in the Markdown: {told}{more}"


def _export(run: _Run, client: RestClient, doc: str, path: Path) -> str:
    text, notes = _patiently(partial(client.export, doc))
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(text.encode())
    unfinished.replace(path)
    run.tell_unsaid(path.name, notes)
    return ""


def _patiently(call: Callable[[], T]) -> T:
    """`call`, again when the server says that later is better."""
    for _ in range(_TRIES - 1):
        try:
            return call()
        except DocactorError as error:
            if not error.retryable:
                raise
            wait = error.data.get("retry_after_s")
            time.sleep(wait if isinstance(wait, int | float) else _WAIT_S)
    return call()
