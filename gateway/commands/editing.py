"""`docactor edit ID`: a document in the editor of one's terminal, and sent back as a patch.

Others go on typing meanwhile and see that somebody is there. What comes back is compared with what
was opened: only what differs is edited, and what others changed since is kept.
"""

from __future__ import annotations

import getpass
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import anyio
from anyio.from_thread import start_blocking_portal

from gateway.client.editor_client import EditorClient
from gateway.commands.client import RestClient
from shared.errors import InvalidArgument

OK: Final = 0
NOT_ALL: Final = 1
USUAL_EDITOR: Final = "vi"  # where neither VISUAL nor EDITOR says otherwise, as crontab has it


def edit(
    client: RestClient, ref: str, environment: Mapping[str, str], *, allow_large_delete: bool
) -> int:
    """Opens the editor, waits for its end and sends what changed; the exit code.

    Text that could not be sent, or not all of it, is left in its file, which is named.

    Raises:
        DocactorError: As the server refused it.
        NoServerError: Nobody answers.
        InvalidArgument: The editor failed, or left something that is not UTF-8.
    """
    before, tag = client.export_with_tag(ref)
    folder = Path(tempfile.mkdtemp(prefix="docactor-"))
    path = folder / f"{ref}.md"
    path.write_bytes(before.encode())
    keep = False
    try:
        with present(client, ref):
            _run_editor(environment, path)
        after = _read(path)
        if after == before:
            print("Nothing changed.")
            return OK
        keep = True
        result = client.put(ref, after, tag, str(uuid4()), allow_large_delete=allow_large_delete)
        keep = bool(result["conflicts"])
        print(_summary(result))
        _tell_conflicts(result["conflicts"])
        return NOT_ALL if keep else OK
    finally:
        if keep:
            print(f"docactor: your text is in {path}", file=sys.stderr)
        else:
            path.unlink(missing_ok=True)
            _remove(folder)


@contextmanager
def present(client: RestClient, ref: str) -> Iterator[None]:
    """Others see a cursor's owner without a cursor: somebody has the document open."""
    state = {"user": {"name": f"{_user()} (docactor edit)", "color": "#8a8a8a"}}
    with start_blocking_portal() as portal:
        shown = portal.start_task_soon(_show, client.url, ref, client.token, state)
        try:
            yield
        finally:
            shown.cancel()


async def _show(server: str, ref: str, token: str, state: dict[str, Any]) -> None:
    async with EditorClient(server, ref, token, state=state):
        await anyio.sleep_forever()


def _run_editor(environment: Mapping[str, str], path: Path) -> None:
    command = environment.get("VISUAL") or environment.get("EDITOR") or USUAL_EDITOR
    try:
        ended = subprocess.run([*shlex.split(command), str(path)], check=False)  # noqa: S603  theirs
    except OSError as error:
        raise InvalidArgument(f"EDITOR: {command!r} cannot be started: {error}.") from error
    if ended.returncode:
        raise InvalidArgument(f"EDITOR: {command!r} failed ({ended.returncode}): nothing is sent.")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"The text is not UTF-8 (byte {error.start}).") from error


def _summary(result: Mapping[str, Any]) -> str:
    counts = [
        f"{result[what]} {what}"
        for what in ("replaced", "inserted", "deleted", "moved")
        if result[what]
    ]
    kept = len(result["kept"])
    told = f" {kept} that others added meanwhile stay." if kept else ""
    return f"Blocks: {', '.join(counts) or 'none changed'}.{told}"


def _tell_conflicts(conflicts: Sequence[Mapping[str, Any]]) -> None:
    for conflict in conflicts:
        print(f"docactor: {conflict['anchor']}: {conflict['reason']}", file=sys.stderr)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"  # an account without a name, as in some containers


def _remove(folder: Path) -> None:
    """Away with the folder. Some editors leave copies beside the file: those are the user's."""
    if not any(folder.iterdir()):
        folder.rmdir()
