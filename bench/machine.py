"""What the figures were taken on: without it a latency says nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import sqlite3
import statistics
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil

from bench.servers import NPM, ROOT

PYTHON_PARTS: Final = (
    *("docactor", "fastmcp", "pycrdt", "ray", "uvicorn", "uvloop"),
    *("pycrdt-websocket", "pycrdt-store"),
)
NPM_PARTS: Final = (
    *("@hocuspocus/server", "@hocuspocus/extension-sqlite", "better-sqlite3", "yjs"),
    *("@y/websocket-server", "y-leveldb"),
)
NPM_CLIENTS: Final = ("@hocuspocus/provider", "y-websocket")
FSYNCS: Final = 50


def describe(folder: Path) -> dict[str, Any]:
    """The machine, and what an fsync costs in `folder`: whoever stores before telling pays it."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
        "fsync_ms": round(_fsync_ms(folder), 3),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def versions() -> dict[str, str]:
    """Of everything that shows in the figures, and the commit measured."""
    lock = json.loads((NPM / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return {
        "commit": _printed("git", "describe", "--always", "--dirty"),
        **{name: version(name) for name in PYTHON_PARTS},
        **{name: lock[f"node_modules/{name}"]["version"] for name in (*NPM_PARTS, *NPM_CLIENTS)},
        "python": platform.python_version(),
        "node": _printed("node", "--version").lstrip("v"),
        "sqlite": sqlite3.sqlite_version,
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return named[1] if named else platform.machine()


def _printed(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _fsync_ms(folder: Path) -> float:
    taken = []
    with (folder / "fsync").open("wb") as file:
        for _ in range(FSYNCS):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)
