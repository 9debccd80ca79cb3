"""The main program of benchmarks that compare with NumPy alone: a table of medians and ratios."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

#: Median milliseconds of NumPy and of lazyfuse for a program, measured for so many seconds.
Measure = Callable[[Callable[..., Any], float], tuple[float, float]]


def main(
    module: str, title: str | None, programs: Mapping[str, Callable[..., Any]], measure: Measure
) -> None:
    """Measure every program and print the ratios."""
    parser = argparse.ArgumentParser(prog=module, description=title)
    parser.add_argument("--seconds", type=float, default=1.0, help="per program")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    found = {}
    for name, program in programs.items():
        numpy_ms, own_ms = measure(program, options.seconds)
        found[name] = {"numpy_ms": numpy_ms, "lazyfuse_ms": own_ms, "ratio": numpy_ms / own_ms}
        line = f"NumPy {numpy_ms:7.2f} ms  lazyfuse {own_ms:7.2f} ms  {numpy_ms / own_ms:6.2f} x"
        print(f"{name:26} {line}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
