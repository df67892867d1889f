"""These run in a pytest process of their own: `pytest tests/multinode`."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Left out of a run of everything: a process joins one Ray cluster, and another has it."""
    del collection_path
    asked = any("multinode" in argument for argument in config.args)
    return None if asked else True
