"""Ray's environment, in one place. It must be set before `import ray`: parts are read there.

Why each, with what was measured:
- worker_niceness: Ray runs every actor at nice 15; beside two busy processes a call took 34 ms
  instead of 4.5.
- health checks: a killed node is noticed in 2 s instead of 16.
- ENABLE_WINDOWS_OR_OSX_CLUSTER=0: despite its name it makes Ray listen on loopback alone; without
  it every port of an embedded cluster is open to the network.
- LOG_MONITOR_MAX_OPEN_FILES=0: a helper of Ray's keeps the output of up to 200 actors open, dead
  ones too, to show it to drivers; ours do not ask for it.
- task_events_report_interval_ms=0, maximum_gcs_destroyed_actor_cached_count: Ray remembers the
  last 100,000 calls and 100,000 dead actors for its dashboard, which does not run: 45 MB more
  after 250 documents, and a message per call.
- MALLOC_ARENA_MAX: of a worker's thirty threads one at a time runs Python; a heap for each of them
  is 2.3 MB of every document's process.
- AUTH_*: only who can read our token file may talk to the cluster.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from actors.document.socket_folder import TEMP_ENV
from actors.json_log import LOG_ENV

NAMESPACE: Final = "docactor"
TOKEN_FILE: Final = "ray_token"  # noqa: S105  the file's name

ALWAYS: Final[Mapping[str, str]] = {
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_LOG_MONITOR_MAX_OPEN_FILES": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_maximum_gcs_destroyed_actor_cached_count": "1000",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
    "MALLOC_ARENA_MAX": "2",
}


class RayStartError(Exception):
    """There is no Ray: what happened, and what whoever starts the server can do, in a line."""


def embedded(data: Path, temp: Path) -> dict[str, str]:
    """The environment of a cluster of our own. Makes its token file when there is none.

    Args:
        data: The data folder; must exist.
        temp: The cluster's private folder.
    """
    return {
        **ALWAYS,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(_token_file(data)),
        LOG_ENV: str(data / "logs" / "actors.jsonl"),
        TEMP_ENV: str(temp),
    }


def joining() -> dict[str, str]:
    """The environment of a process that joins a cluster its operator runs.

    Token, addresses and log files are the operator's, as `ray_cluster.yaml` shows.
    """
    return dict(ALWAYS)


def _token_file(data: Path) -> Path:
    path = data / TOKEN_FILE
    if not path.exists():
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(secrets.token_hex(32), encoding="ascii")
    return path
