"""Measure first calls and memory in new processes, with caches on disk empty or filled.

`python -m perf.first_call PEER NAME SIZE` runs one workload in this process and prints JSON.
`measure` runs that command in new processes that share a new folder for caches.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from perf.environment import ROOT, keep_to, variables
from perf.peers import PEERS, Missing
from perf.worker import settle_compiler
from perf.workloads import BY_NAME, START

#: A process may take so long.
LIMIT_SECONDS = 150
#: Elements of the operation that starts a library: so many that lazyfuse compiles it soon.
STARTED = 500_000
#: Memory is measured at this multiple of the size: buffers that were kept count little then.
GROWTH = 10


def run_here(peer: str, name: str, size: int) -> dict[str, Any]:
    """Time the first two calls of a workload in this process, then measure memory.

    The process has run one operation before, until it was compiled where there is a compiler:
    importing and starting the library is timed apart, and so are the 2 to 40 ms that the operating
    system takes to hand out the first megabytes of memory. The inputs are there by then, so the
    memory of that operation's result is free for the call.
    """
    library, workload = PEERS[peer], BY_NAME[name]
    data = workload.inputs(size)
    begin = time.perf_counter()
    call = library.call(workload, data)
    begun = library.call(START, START.inputs(max(size, STARTED)))
    begun()
    start = time.perf_counter() - begin
    for _ in range(2):  # lazyfuse compiles what comes a second time
        begun()
        settle_compiler()
    del begun
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    del call, data
    found = {"start_ms": start * 1e3, "first_ms": times[0] * 1e3, "second_ms": times[1] * 1e3}
    return found | {"memory_size": size * GROWTH, "peak_mb": peak_mb(peer, name, size * GROWTH)}


def peak_mb(peer: str, name: str, size: int) -> float | None:
    """Most memory that a call needed besides its inputs, results included; None if not known."""
    call = PEERS[peer].call(BY_NAME[name], BY_NAME[name].inputs(size))
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far (Linux)
    except OSError:
        return None
    before = status_mb("VmRSS")
    call()
    return status_mb("VmHWM") - before


def status_mb(key: str) -> float:
    """Read a number of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise KeyError(key)


def run_fresh(peer: str, name: str, size: int, environment: dict[str, str]) -> dict[str, Any]:
    """Run the same in a new process; raise Missing when it fails, with its last words."""
    command = [sys.executable, "-m", "perf.first_call", peer, name, str(size)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True,
            timeout=LIMIT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Missing(f"took more than {LIMIT_SECONDS} s") from None
    if done.returncode:
        words = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise Missing(words.removeprefix("perf.peers.Missing: ")[:200])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(
    peer: str, name: str, size: int, *, threads: int, device: str, warm_processes: int
) -> dict[str, Any]:
    """The first call with empty caches, and the fastest of some processes with filled ones."""
    with tempfile.TemporaryDirectory() as cache:
        environment = variables(threads, device, Path(cache))
        environment["LAZYFUSE_BENCH_THREADS"] = str(threads)
        cold = run_fresh(peer, name, size, environment)
        warm = [run_fresh(peer, name, size, environment) for _ in range(warm_processes)]
    best = min(warm, key=lambda run: run["first_ms"] - run["second_ms"])
    return cold | {
        "disk_ms": best["first_ms"], "disk_second_ms": best["second_ms"],
        "disk_start_ms": min(run["start_ms"] for run in warm),
    }  # fmt: skip


if __name__ == "__main__":
    keep_to(int(os.environ["LAZYFUSE_BENCH_THREADS"]))
    print(json.dumps(run_here(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
