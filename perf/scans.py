"""How fast are scans, against NumPy? `python -m perf.scans` prints a line per program.

Both run in turn in one process, in blocks of a few calls, on 1,000,000 elements; medians decide.
A scan is bound by the latency of its step (an addition of doubles takes four cycles), so one row
on one thread shows the step, and columns or rows on several threads show the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lazyfuse as lf
from perf.bars import alternate

SIZE = 1_000_000

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum, one axis": lambda xp, x: xp.cumsum(x),
    "cumsum of rows": lambda xp, x: xp.cumsum(x.reshape(1000, 1000), axis=1),
    "cumsum of columns": lambda xp, x: xp.cumsum(x.reshape(1000, 1000), axis=0),
    "cumsum of an expression": lambda xp, x: xp.cumsum(xp.exp(x) * 2 + 1),
    "the same, columns": lambda xp, x: xp.cumsum((x * x + 1).reshape(1000, 1000), axis=0),
    "cumsum of float32": lambda xp, x: xp.cumsum(x.astype("f4")),
    "cumprod of rows": lambda xp, x: xp.cumprod(x.reshape(1000, 1000), axis=1),
    "maximum.accumulate": lambda xp, x: xp.maximum.accumulate(x),
    "cumsum of integers": lambda xp, x: xp.cumsum(x.astype("i8")),
}


def measure(program: Callable[[Any, Any], Any], seconds: float) -> tuple[float, float]:
    """Median milliseconds of NumPy and of lazyfuse; both must give the same bits."""
    x = np.random.default_rng(1).normal(size=SIZE)
    own = lf.array(x)
    expected, given = program(np, x), lf.asnumpy(program(lf, own))
    assert np.array_equal(expected, given) or "exp" in program.__code__.co_names
    calls = [lambda: program(np, x), lambda: lf.materialize(program(lf, own))]
    times = [statistics.median(samples) * 1e3 for samples in alternate(calls, seconds)]
    return times[0], times[1]


def main() -> None:
    """Measure every program and print the ratios."""
    parser = argparse.ArgumentParser(prog="perf.scans", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="per program")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    found = {}
    for name, program in PROGRAMS.items():
        numpy_ms, own_ms = measure(program, options.seconds)
        found[name] = {"numpy_ms": numpy_ms, "lazyfuse_ms": own_ms, "ratio": numpy_ms / own_ms}
        line = f"NumPy {numpy_ms:7.2f} ms  lazyfuse {own_ms:7.2f} ms  {numpy_ms / own_ms:6.2f} x"
        print(f"{name:26} {line}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
