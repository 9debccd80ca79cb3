"""Measure first calls in fresh processes: compile included, disk cache empty or warm.

`python -m perf.first_call NAME SIZE` runs one workload twice in this process and prints JSON.
`measure(name, size)` runs that command in new processes that share a new cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from perf.peers import lazyfuse_call
from perf.workloads import BY_NAME

ROOT = Path(__file__).resolve().parent.parent
WARM_PROCESSES = 5


@dataclass(frozen=True, slots=True)
class FirstCall:
    """First and second call of one process in ms, and what the first one compiled and launched."""

    first_ms: float
    second_ms: float
    compiled: int
    launched: int


#: Arrays of the workload's size that a process has used and freed before its first call.
USED = 3


def run_here(name: str, size: int) -> FirstCall:
    """Time the first two calls of a workload in this process.

    The process has used some memory before, as any process that has inputs to work on: the kernel
    of the operating system takes 2 to 40 ms to hand out 16 MB of new pages on the machines that
    this was measured on, which says nothing about the first call.
    """
    import lazyfuse as lf

    call = lazyfuse_call(BY_NAME[name], BY_NAME[name].inputs(size))
    lf.materialize([lf.full(size, float(number)) for number in range(USED)])
    lf.reset_stats()
    start = time.perf_counter()
    call()
    middle = time.perf_counter()
    stats = lf.stats()
    again = time.perf_counter()
    call()
    second = time.perf_counter() - again
    return FirstCall(
        first_ms=(middle - start) * 1e3,
        second_ms=second * 1e3,
        compiled=stats.kernels_compiled,
        launched=stats.kernels_launched,
    )


def run_fresh(name: str, size: int, cache: str) -> FirstCall:
    """Run the same in a new process with the given cache folder."""
    environment = os.environ | {"LAZYFUSE_CACHE_DIR": cache}
    command = [sys.executable, "-m", "perf.first_call", name, str(size)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return FirstCall(**json.loads(done.stdout.splitlines()[-1]))


def measure(name: str, size: int) -> tuple[FirstCall, FirstCall]:
    """Give the first call with an empty disk cache, and the best of some with a warm one."""
    with tempfile.TemporaryDirectory() as cache:
        cold = run_fresh(name, size, cache)
        warm = [run_fresh(name, size, cache) for _ in range(WARM_PROCESSES)]
    return cold, min(warm, key=lambda call: call.first_ms)


if __name__ == "__main__":
    print(json.dumps(asdict(run_here(sys.argv[1], int(sys.argv[2])))))
