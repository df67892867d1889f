"""`docactor doctor`, `backup` and `restore`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from actors.upkeep.backup import Manifest, Restored, restore
from actors.upkeep.doctor import Doctor
from gateway.commands.client import RestClient
from gateway.commands.progress import Progress
from gateway.server.data_lock import ServerRunsError, no_server_on
from gateway.upkeep import Step
from shared.checkup import CATALOG, Checkup, Repaired
from shared.errors import InternalError, InvalidArgument

OK = 0
PROBLEMS = 1


def doctor_stopped(data: Path, *, repair: bool) -> int:
    """Checks, and with `repair` mends, the files of a stopped server. Raises ServerRunsError."""
    if not data.is_dir():
        raise InvalidArgument(f"data: there is no folder {data}.")
    with no_server_on(data):
        doctor = Doctor(data, repair=repair)
        return _report(_steps(doctor), repair=repair)


def doctor_running(client: RestClient) -> int:
    """Checks every document through its actor."""
    return _report(((step, None) for step in client.check()), repair=False)


def back_up(client: RestClient, folder: Path) -> int:
    """Copies everything of a running server to `folder`, which is on its machine."""
    manifest: Manifest | None = None
    with Progress(sys.stderr) as progress:
        for step in client.back_up(str(folder)):
            progress.show(step.done, step.total)
            manifest = step.manifest
    if manifest is None:
        raise InternalError("The server ended the backup before it was finished.")
    print(f"{len(manifest.files) - 1} documents and the catalog are in {folder}.")
    for doc_id, why in manifest.missing.items():
        print(f"{doc_id}: not copied: {why}")
    return PROBLEMS if manifest.missing else OK


def restore_stopped(data: Path, folder: Path) -> int:
    """Puts a backup in the place of what a stopped server has."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with no_server_on(data), Progress(sys.stderr) as progress:
            done: Restored = restore(data, folder, _now_ms(), progress.show)
    except ServerRunsError:
        raise InvalidArgument(f"data: a server runs on {data}; stop it first.") from None
    print(f"{done.documents} documents and the catalog were restored to {data}.")
    if done.replaced:
        print(f"What was there is kept in {done.replaced}.")
    return OK


def _steps(doctor: Doctor) -> Iterator[tuple[Step, Repaired | None]]:
    total = doctor.total
    for number, (checkup, repaired) in enumerate(doctor.run(_now_ms()), start=1):
        yield Step(number, total, checkup=checkup), repaired


def _report(steps: Iterable[tuple[Step, Repaired | None]], *, repair: bool) -> int:
    sound = broken = left = 0
    with Progress(sys.stderr) as progress:
        for step, repaired in steps:
            progress.show(step.done, step.total)
            checkup = step.checkup
            if checkup is None:
                continue
            if checkup.doc_id != CATALOG:
                sound += not checkup.problems
                broken += bool(checkup.problems)
            if checkup.problems:
                progress.clear()
                _tell(checkup, repaired)
                left += repaired is None or bool(repaired.left)
    print(f"{sound + broken} documents checked: {sound} sound, {broken} with problems.")
    if left and not repair:
        print("Stop the server and run 'docactor doctor --repair' to mend what can be mended.")
    return PROBLEMS if left else OK


def _tell(checkup: Checkup, repaired: Repaired | None) -> None:
    for problem in checkup.problems:
        print(f"{checkup.doc_id}: {problem.code}: {problem.text}")
    if repaired is None:
        return
    for label, lines in (
        ("repaired", repaired.done),
        ("lost", repaired.lost),
        ("left", tuple(problem.text for problem in repaired.left)),
    ):
        for line in lines:
            print(f"{checkup.doc_id}: {label}: {line}")
    if repaired.aside:
        print(f"{checkup.doc_id}: the file as it was is kept in {repaired.aside}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
