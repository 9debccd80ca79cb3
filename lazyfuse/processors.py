"""How many processors there are for threads."""

from __future__ import annotations

import os
from functools import cache


@cache
def default_threads() -> int:
    """The processors this process may run on; fewer when OMP_NUM_THREADS says so, as it does in
    worker processes that share a machine."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(asked)) if asked.isdigit() and int(asked) > 0 else available
