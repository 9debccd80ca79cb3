"""Run the demo: `python -m demo [--device auto|cpu|cuda] [--out FOLDER] [--threads N]`."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from demo import inputs, programs
from demo.traffic import Program, numpy_bytes

SECONDS_PER_PROGRAM = 2.0


@dataclass(frozen=True, slots=True)
class Case:
    """One program of the demo: its inputs and how far its results may be from NumPy's."""

    title: str
    program: Program
    load: Callable[[], inputs.Inputs]
    tolerance: float
    scale: str

    def error(self, actual: np.ndarray, expected: np.ndarray) -> float:
        """Measure a result: in grey levels, or relative to the largest value of the array."""
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            return float("inf")
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        largest = 1.0 if self.scale == "levels" else float(np.abs(expected).max())
        return float(difference.max() / largest)


CASES = (
    Case("photo, 1411x1411x3 u1", programs.grade_photo, inputs.photo, 1.0, "levels"),
    Case("survey, 20190x9 f8", programs.score_table, inputs.survey, 1e-12, "relative"),
    Case("Black-Scholes, 1e6 f8", programs.black_scholes, inputs.options, 1e-12, "relative"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for one program."""

    title: str
    numpy_ms: float
    lazy_ms: float
    first_ms: float
    kernels: int
    numpy_bytes: int
    lazy_bytes: int
    error: float
    fallbacks: int
    passed: bool


def milliseconds(call: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def alternate(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """Time two calls in turn for a while and give both medians."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + SECONDS_PER_PROGRAM
    while len(times[0]) < 5 or time.perf_counter() < end:
        times[0].append(milliseconds(first))
        times[1].append(milliseconds(second))
    return statistics.median(times[0]), statistics.median(times[1])


def measure(case: Case, lf: Any) -> tuple[Row, tuple[np.ndarray, ...]]:
    """Run one program with numpy and with lazyfuse, compare and time both."""
    host = case.load()
    lazy = {name: lf.array(array) for name, array in host.items()}
    lf.materialize(*lazy.values())

    def run_lazy() -> tuple[Any, ...]:
        results = as_tuple(case.program(lf, lazy))
        lf.materialize(*results)
        return results

    lf.reset_stats()
    first_ms = milliseconds(run_lazy)
    lf.reset_stats()
    pending = run_lazy()
    stats = lf.stats()
    results = tuple(lf.asnumpy(result) for result in pending)
    expected = as_tuple(case.program(np, host))
    error = max(case.error(a, np.asarray(e)) for a, e in zip(results, expected, strict=True))
    numpy_ms, lazy_ms = alternate(lambda: case.program(np, host), run_lazy)
    row = Row(
        title=case.title,
        numpy_ms=numpy_ms,
        lazy_ms=lazy_ms,
        first_ms=first_ms,
        kernels=stats.kernels_launched,
        numpy_bytes=numpy_bytes(case.program, host),
        lazy_bytes=stats.bytes_read + stats.bytes_written,
        error=error,
        fallbacks=stats.fallbacks,
        passed=error <= case.tolerance,
    )
    return row, results


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Give a program's result as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def table(rows: list[Row]) -> str:
    """Write the measured rows as aligned text."""
    heads = ("program", "NumPy ms", "lazyfuse ms", "speedup", "first call ms", "kernels",
             "NumPy MB", "lazyfuse MB", "difference", "result")  # fmt: skip
    lines = [heads]
    for row in rows:
        lines.append((
            row.title,
            f"{row.numpy_ms:.2f}",
            f"{row.lazy_ms:.2f}",
            f"{row.numpy_ms / row.lazy_ms:.1f}x",
            f"{row.first_ms:.1f}",
            str(row.kernels),
            f"{row.numpy_bytes / 1e6:.1f}",
            f"{row.lazy_bytes / 1e6:.1f}",
            f"{row.error:.1e}",
            "same" if row.passed else "DIFFERENT",
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def write_picture(graded: np.ndarray, folder: Path) -> Path:
    """Write the original photograph and the graded one, side by side, as a PNG."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "graded.png"
    Image.fromarray(np.concatenate([inputs.photo()["photo"], graded], axis=1)).save(path)
    return path


def choose_device(wanted: str, lf: Any) -> str:
    """Give the device to run on; `auto` takes CUDA when there is a GPU."""
    has_gpu = any(str(device).startswith("cuda") for device in lf.devices())
    if wanted == "auto":
        return "cuda" if has_gpu else "cpu"
    if wanted == "cuda" and not has_gpu:
        raise SystemExit("no CUDA device: needs an NVIDIA driver and lazyfuse[cuda12] or [cuda13]")
    return wanted


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--threads", type=int, help="threads of the CPU kernels")
    return parser.parse_args()


def main() -> int:
    """Run all programs and print the table; 1 when a result differs from NumPy's."""
    options = arguments()
    # An empty kernel cache, so that the first call shows what compiling costs.
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("LAZYFUSE_CACHE_DIR", cache)
        import lazyfuse as lf

        device = choose_device(options.device, lf)
        settings = {"device": device} | ({"threads": options.threads} if options.threads else {})
        with lf.options(**settings):
            measured = [measure(case, lf) for case in CASES]
    rows = [row for row, _ in measured]
    print(f"lazyfuse {lf.__version__} on {device}, numpy {np.__version__}, {os.cpu_count()} cores")
    print(f"medians, warm, run in turn; tolerance: 1 grey level, else {CASES[1].tolerance:.0e}")
    print("of the largest value; MB: what all operations read and write (lazyfuse: all kernels)\n")
    print(table(rows))
    print(f"\nwrote {write_picture(measured[0][1][0], options.out)}")
    if fallbacks := sum(row.fallbacks for row in rows):
        print(f"{fallbacks} operations fell back to NumPy")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
