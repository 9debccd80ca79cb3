"""report: what left the engine, and what ran in it; also printed at exit by LAZYFUSE_REPORT=1."""

from __future__ import annotations

import atexit
import sys

from lazyfuse import config, events


def report() -> str:
    """The calls since the last `reset_stats()` as text: kernels and library calls that ran, and
    by name the functions that left the engine for NumPy."""
    totals = events.stats()
    outside = events.fallbacks()
    lines = [
        f"lazyfuse: {totals.kernels_launched} kernels launched, {totals.unfused} library calls, "
        f"{totals.fallbacks} calls left the engine for NumPy"
    ]
    if totals.device_calls:
        lines[0] += f"; a GPU's libraries answered {totals.device_calls} of them"
    width = max((len(name) for name in outside), default=0)
    lines += [f"  {name:{width}}  {count}" for name, count in outside.items()]
    return "\n".join(lines)


def _print() -> None:
    print(report(), file=sys.stderr)


if config.current().report:
    atexit.register(_print)
