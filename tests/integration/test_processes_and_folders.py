"""What is asked of the machine: processes, locks between them, folders that go with the last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from actors.document.socket_folder import socket_folder
from actors.folder_lock import FolderLock, LockProof
from actors.processes import is_alive, kill_for_certain, start_time
from actors.storage.document_files import DocumentFiles
from gateway.server.temp_folder import LOCK_FILE, TempFolder, remove_stale
from gateway.server.worker_processes import WorkerProcesses, WorkersFailedError

pytestmark = pytest.mark.anyio


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Another process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def elsewhere(code: str, *arguments: str) -> str:
    """What `code` prints when another process runs it."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


async def test_stopped_process_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    started = start_time(sleeper.pid)
    sleeper.send_signal(signal.SIGSTOP)
    assert await kill_for_certain(sleeper.pid, started)
    assert not is_alive(sleeper.pid, started)
    assert sleeper.wait() == -signal.SIGKILL


async def test_later_process_with_the_same_pid_is_left_alone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert await kill_for_certain(sleeper.pid, start_time(sleeper.pid) - 1)
    assert sleeper.poll() is None


def test_process_that_never_was_is_not_alive() -> None:
    assert start_time(2**22 + 1) == 0
    assert not is_alive(2**22 + 1, 0)


SHARES = """
import sys
from actors.folder_lock import LockProof, shares_folder
print(shares_folder(LockProof(*sys.argv[1:])))
"""


def test_other_process_sees_the_directorys_lock(tmp_path: Path) -> None:
    lock = FolderLock.take(tmp_path / "lock")
    proof = lock.proof
    assert elsewhere(SHARES, proof.path, proof.nonce) == "True"
    lock.release()
    # Nobody holds it: a folder where locks do not hold looks like this.
    assert elsewhere(SHARES, proof.path, proof.nonce) == "False"


def test_other_folder_under_the_same_path_is_not_taken_for_ours(tmp_path: Path) -> None:
    lock = FolderLock.take(tmp_path / "lock")
    assert elsewhere(SHARES, lock.proof.path, "0" * 32) == "False"
    assert elsewhere(SHARES, str(tmp_path / "missing"), lock.proof.nonce) == "False"
    lock.release()


def test_lock_is_refused_to_a_second_directory(tmp_path: Path) -> None:
    lock = FolderLock.take(tmp_path / "lock")
    code = "import sys; from pathlib import Path; from actors.folder_lock import FolderLock\n"
    code += "try: FolderLock.take(Path(sys.argv[1]))\nexcept OSError: print('refused')"
    assert elsewhere(code, str(tmp_path / "lock")) == "refused"
    assert isinstance(lock.proof, LockProof)
    lock.release()


def test_last_to_leave_removes_the_folder(tmp_path: Path) -> None:
    first = TempFolder.create(tmp_path)
    second = TempFolder.join(first.path)
    (first.path / "ray").mkdir()
    assert not first.leave(in_order=True)
    assert first.path.exists()
    assert second.leave(in_order=True)
    assert not first.path.exists()


def test_folder_of_living_processes_is_not_stale(tmp_path: Path) -> None:
    folder = TempFolder.create(tmp_path)
    remove_stale(tmp_path)
    assert folder.path.exists()
    folder.leave(in_order=True)


def test_processes_that_live_on_in_the_folder_of_a_killed_server_are_killed(
    tmp_path: Path,
) -> None:
    folder = TempFolder.create(tmp_path)
    other = TempFolder.create(tmp_path)
    command = [sys.executable, "-c", "input()"]
    inhabitant, neighbour = (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, env={**os.environ, "DOCACTOR_TEMP": str(its.path)}
        )
        for its in (folder, other)
    )
    with inhabitant, neighbour:
        assert folder.leave()
        assert inhabitant.wait() == -signal.SIGKILL
        assert neighbour.poll() is None
        neighbour.kill()
    assert not folder.path.exists()
    other.leave(in_order=True)


def test_next_start_removes_what_killed_processes_left(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path\n"
    code += "from gateway.server.temp_folder import TempFolder\n"
    code += "print(TempFolder.create(Path(sys.argv[1])).path, flush=True); os._exit(9)"
    left = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    path = Path(left.stdout.strip())
    assert (path / LOCK_FILE).exists()
    TempFolder.create(tmp_path).leave(in_order=True)
    assert not path.exists()


def test_folder_that_a_late_process_of_ray_made_anew_goes_too(tmp_path: Path) -> None:
    late = tmp_path / "docactor-late"
    (late / "ray" / "session").mkdir(parents=True)
    remove_stale(tmp_path)
    assert late.exists()  # it may be somebody's who is just starting
    os.utime(late, (0, 0))
    remove_stale(tmp_path)
    assert not late.exists()


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "docactor-notes"
    other.mkdir()
    (other / "text").write_text("mine", encoding="utf-8")
    os.utime(other, (0, 0))
    remove_stale(tmp_path)
    assert (other / "text").exists()


def test_sockets_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCACTOR_TEMP", str(tmp_path))
    left = tmp_path / "links" / str(2**22 + 1)
    left.mkdir(parents=True)
    mine = socket_folder()
    assert not left.exists()
    assert mine.stat().st_mode & 0o077 == 0
    assert socket_folder() == mine


async def test_epoch_is_replaced_whole_and_goes_with_the_document(tmp_path: Path) -> None:
    files = DocumentFiles(tmp_path)
    await files.write_epoch("abc", 3)
    await files.write_epoch("abc", 4)
    path = Path(files.path("abc"))
    assert path.with_suffix(".epoch").read_text(encoding="ascii") == "4"
    path.touch()  # noqa: ASYNC240  a test may block
    await files.remove("abc")
    assert list(path.parent.iterdir()) == []
    await files.remove("abc")


async def test_gateways_that_cannot_work_are_not_started_for_ever() -> None:
    async def order(_number: int) -> bytes:
        return b"no order"

    workers = WorkerProcesses(1, order, 0)
    with pytest.raises(ExceptionGroup) as caught:
        async with anyio.create_task_group() as group:
            workers.start(group)
    assert caught.group_contains(WorkersFailedError, match="gateway 0 ends as soon as it starts")


def test_ray_is_not_imported_before_its_environment_is_set() -> None:
    code = "import sys, gateway.cli; print('ray' in sys.modules)"
    assert elsewhere(code) == "False"


def test_commands_and_the_supervisor_do_without_what_only_gateways_need() -> None:
    """FastMCP alone takes longer to import than most commands to run."""
    code = (
        "import sys, gateway.cli, gateway.server.cluster; "
        "print({'fastmcp', 'mcp_types', 'starlette'} & sys.modules.keys())"
    )
    assert elsewhere(code) == "set()"
