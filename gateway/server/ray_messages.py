"""Keeps Ray's own messages out of what our processes write.

`log_to_driver=False` is not enough: notices of dead workers and of many actors reach every process
that has joined a cluster, and are written to its stdout by the private function replaced here. Ray
is pinned, and a test asserts that a server's output carries our lines alone.
"""

from __future__ import annotations

import logging

import ray._private.worker as ray_worker


def silence() -> None:
    """Call it before `ray.init`."""
    ray_worker.print_to_stdstream = lambda *_args, **_kwargs: None
    logging.getLogger("ray").setLevel(logging.ERROR)
