"""Check the speed promises: `python -m perf.bars` prints PASS or FAIL for each.

NumPy and lazyfuse run in turn in one process, in blocks of a few calls, two threads, 1,000,000
elements; medians of many rounds decide; the ratio of the fastest rounds is shown as well, since it
suffers less when something else uses the machine. First calls are timed in new processes. Exit
status 1 when a bar fails.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SIZE = 1_000_000
SPEEDUPS = {"black_scholes": 8.0, "chain": 5.0, "gaussian": 2.5, "softmax": 2.5}
COLD_MS, DISK_MS = 100.0, 10.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: what was measured, its limit, and whether it holds."""

    name: str
    measured: float
    limit: float
    unit: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        verdict = "PASS" if self.passed else "FAIL"
        sign = ">=" if self.unit == "x" else "<"
        return (
            f"{verdict}  {self.name:28} {self.measured:8.2f} {self.unit:2}"
            f" (bar {sign} {self.limit:g})  {self.detail}"
        )


def seconds(call: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


#: Calls of one library in a row, and how many of them only undo what the other left in the caches:
#: times settle after four to eight calls (measured on a 32 MB third-level cache).
BLOCK, SETTLE = 20, 6


def alternate(calls: list[Callable[[], Any]], duration: float) -> list[list[float]]:
    """Run calls in turn, in blocks, for a while;
    give the seconds of all settled ones."""
    for call in calls:
        call()
        call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + duration
    while len(times[0]) < 15 or time.perf_counter() < end:
        for call, samples in zip(calls, times, strict=True):
            samples.extend([seconds(call) for _ in range(BLOCK)][SETTLE:])
    return times


def speed_bar(name: str, limit: float, duration: float) -> Bar:
    """Measure one workload against NumPy."""
    import lazyfuse as lf
    from perf import roofline
    from perf.peers import lazyfuse_call, numpy_call
    from perf.workloads import BY_NAME, ideal_bytes

    data = BY_NAME[name].inputs(SIZE)
    reference, own = numpy_call(BY_NAME[name], data), lazyfuse_call(BY_NAME[name], data)
    times = alternate([reference, own], duration)
    numpy_s, own_s = (statistics.median(samples) for samples in times)
    best = min(times[0]) / min(times[1])
    lf.reset_stats()
    own()
    reached = roofline.fraction(ideal_bytes(data, reference()), own_s)
    detail = (
        f"NumPy {numpy_s * 1e3:.2f} ms, lazyfuse {own_s * 1e3:.2f} ms,"
        f" {lf.stats().kernels_launched} kernels, {reached:.0%} of copy bandwidth,"
        f" fastest rounds {best:.2f}x"
    )
    ratio = numpy_s / own_s
    return Bar(f"{name} speedup", ratio, limit, "x", ratio >= limit, detail)


def first_call_bars(name: str) -> list[Bar]:
    """Measure the first call of one workload, disk cache empty and warm."""
    from perf.first_call import measure

    cold, disk = measure(name, SIZE)
    detail = f"{cold.compiled} compiled, second call {cold.second_ms:.1f} ms"
    warm = f"{disk.compiled} compiled, second call {disk.second_ms:.1f} ms"
    return [
        Bar(f"{name} first call", cold.first_ms, COLD_MS, "ms", cold.first_ms < COLD_MS, detail),
        Bar(f"{name} first, disk", disk.first_ms, DISK_MS, "ms", disk.first_ms < DISK_MS, warm),
    ]


def main() -> int:
    """Check all bars and print them."""
    parser = argparse.ArgumentParser(prog="perf.bars", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="per workload")
    parser.add_argument("--json", type=Path, help="also write the bars to this file")
    options = parser.parse_args()
    for name in ("LAZYFUSE_BENCH_THREADS", "LAZYFUSE_THREADS"):
        os.environ.setdefault(name, "2")
    bars = []
    for name, limit in SPEEDUPS.items():
        for bar in [speed_bar(name, limit, options.seconds), *first_call_bars(name)]:
            print(bar, flush=True)
            bars.append(bar)
    if options.json:
        options.json.write_text(json.dumps([asdict(bar) for bar in bars], indent=1))
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
