"""How fast is each workload, against NumPy and its other peers, and how near to the machine?

Each result is checked against NumPy before it is timed. A round records the whole program again
and waits for its results.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest

from perf import first_call, roofline
from perf.peers import PEERS, THREADS, Missing
from perf.workloads import BY_NAME, Workload, as_tuple, error, ideal_bytes

SIZES = [int(n) for n in os.environ.get("LAZYFUSE_BENCH_SIZES", "10000,1000000").split(",")]
SECONDS = 0.5
PEER_TOLERANCE = 1e-5  # the peers' own libm and summation order; they are not under test
FIRST_CALL_SIZE = 1_000_000


def version(name: str) -> str:
    """Give the version of a library."""
    return str(__import__(name).__version__)


def own_facts(workload: Workload, call: Any, size: int) -> dict[str, Any]:
    """Count what one warm call of lazyfuse does, and time first calls in new processes."""
    import lazyfuse as lf

    lf.reset_stats()
    call()
    stats = lf.stats()
    facts = {
        "kernels": stats.kernels_launched,
        "fallbacks": stats.fallbacks,
        "moved_bytes": stats.bytes_read + stats.bytes_written,
    }
    if size != FIRST_CALL_SIZE:
        return facts
    cold, warm = first_call.measure(workload.name, size)
    return facts | {
        "compiled": cold.compiled,
        "first_ms_cold": cold.first_ms,
        "first_ms_disk": warm.first_ms,
        "compile_ms": cold.first_ms - cold.second_ms,
    }


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", BY_NAME)
def test_workload(benchmark: Any, name: str, peer: str, n: int) -> None:
    """Time one workload with one library at one size."""
    workload = BY_NAME[name]
    data = workload.inputs(n)
    expected = tuple(np.asarray(x) for x in as_tuple(workload.program(np, data)))
    try:
        call = PEERS[peer](workload, data)
    except Missing as reason:
        pytest.skip(str(reason))
    results = call()
    tolerance = workload.tolerance if peer == "lazyfuse" else PEER_TOLERANCE
    worst = max(error(a, e) for a, e in zip(results, expected, strict=True))
    assert worst <= tolerance, f"{peer} differs from NumPy by {worst:.2e}"
    benchmark.group = name
    nbytes = ideal_bytes(data, expected)
    benchmark.extra_info |= {
        "peer": peer,
        "n": n,
        "version": version(peer),
        "threads": 1 if peer == "numpy" else THREADS,
        "error": worst,
        "ideal_bytes": nbytes,
    }
    if peer == "lazyfuse":
        benchmark.extra_info |= own_facts(workload, call, n)
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    rounds = int(min(max(SECONDS / once, 5), 2000))
    benchmark.pedantic(call, rounds=rounds, iterations=1, warmup_rounds=2)
    if benchmark.stats is None:  # --benchmark-disable
        return
    median = benchmark.stats.stats.median
    benchmark.extra_info["bandwidth_fraction"] = roofline.fraction(nbytes, median)
