"""The promises about speed: `python -m perf.bars perf/results/NAME.json` prints PASS or FAIL.

They are judged by the results of a run of `scripts/bench`; what was not measured is not judged.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from perf.results import OWN, Results, geometric_mean, load
from perf.workloads import FAMILIES

STANDARD = tuple(workload.name for workload in FAMILIES["standard"])
SIZES = (10_000, 1_000_000, 10_000_000)
TWICE = ("black_scholes", "haversine", "mandelbrot")
#: A program that runs once over so few elements is judged by its first call.
ONCE_SIZE = 100_000
COMPILE_MS, DISK_MS = 30.0, 2.0
RECORD_US = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: what was measured, its limit, and whether it holds."""

    name: str
    measured: float
    limit: float
    unit: str
    at_least: bool

    @property
    def passed(self) -> bool:
        """Whether it holds."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        verdict, sign = "PASS" if self.passed else "FAIL", ">=" if self.at_least else "<="
        return f"{verdict}  {self.name:48} {self.measured:9.2f} {self.unit} {sign} {self.limit:g}"


def judge(results: Results) -> list[Bar]:
    """Judge all promises."""
    return [
        *against_peers(results),
        *bandwidth(results),
        *small_arrays(results),
        *first_calls(results),
        *recording(results),
    ]


def against_peers(results: Results) -> Iterator[Bar]:
    """At least as fast as the fastest peer; twice on some; 1.5 times in the mean.

    The fastest peers run functions under a decorator of theirs. So does `fuse`; the program as it
    stands is judged as well.
    """
    for size, own in product(SIZES, reversed(OWN)):
        found = {
            name: value
            for name in STANDARD
            if (peer := results.fastest(name, size)) is not None
            and (value := results.ratio(name, size, peer, own=own)) is not None
        }
        for name, value in found.items():
            limit = 2.0 if name in TWICE else 1.0
            yield Bar(f"{name}, {size:,}, {own} to the fastest peer", value, limit, "x", True)
        mean = geometric_mean(found.values())
        if mean is not None:
            yield Bar(f"geometric mean, {size:,}, {own}", mean, 1.5, "x", True)


def bandwidth(results: Results) -> Iterator[Bar]:
    """Programs that are bound by memory move their bytes nearly as fast as a loop in C that was
    tuned by hand."""
    for size, own in product(SIZES[1:], reversed(OWN)):
        for name in results.workloads("uses"):
            reached = results.ratio(name, size, "c", own=own)
            if reached is not None:
                name = f"{name}, {size:,}, {own}, of a loop in C"
                yield Bar(name, reached * 100, 85.0, "%", True)


def small_arrays(results: Results) -> Iterator[Bar]:
    """Five operations: at most twice NumPy's time up to 1,000 elements, faster from 5,000 on."""
    for size in results.sizes("overhead"):
        for peer, most in (("lazyfuse", 2.0), ("fuse", 1.3)):
            own = results.milliseconds("overhead", "five_ops", size, peer)
            base = results.milliseconds("overhead", "five_ops", size, "numpy")
            if own is None or base is None:
                continue
            limit = most if size <= 1_000 else 1.0
            yield Bar(f"five operations, {size:,}, {peer}", own / base, limit, "x t", False)


def first_calls(results: Results) -> Iterator[Bar]:
    """Compiling is quick, more so from disk; once on small data costs at most twice NumPy: where
    the kernels of its functions are on disk, and in the first process of an installation. That
    has compiled those of `exp` and `log` when it started; others would be compiled now."""
    for entry in results.of("first calls"):
        if entry["peer"] != "lazyfuse":
            continue
        name = f"{entry['workload']}, {entry['n']:,}"
        if entry["n"] <= ONCE_SIZE:
            base = results.get("first calls", entry["workload"], entry["n"], "numpy")
            if base is not None:
                for what, key in (("once", "disk_ms"), ("once, functions compiled", "first_ms")):
                    times = entry[key] / base.get(key, base["first_ms"])
                    yield Bar(f"{name}, {what}, to NumPy", times, 2.0, "x t", False)
            continue
        for what, prefix, limit in (("compiled", "", COMPILE_MS), ("from disk", "disk_", DISK_MS)):
            first = entry["disk_ms" if prefix else "first_ms"]
            more = first - entry[f"{prefix}second_ms"]
            yield Bar(f"{name}, {what}", more, limit, "ms", False)


def recording(results: Results) -> Iterator[Bar]:
    """Recording an operation is cheap."""
    for entry in results.of("record"):
        each = entry["median_ms"] * 1e3 / entry["operations"]
        name = f"recording an operation ({entry.get('program', 'of ten')})"
        yield Bar(name, each, RECORD_US, "us", False)


def main() -> int:
    """Print all promises; the exit status is 1 when one fails."""
    parser = argparse.ArgumentParser(prog="perf.bars", description=__doc__)
    parser.add_argument("results", type=Path)
    bars = judge(load(parser.parse_args().results))
    for bar in bars:
        print(bar)
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
