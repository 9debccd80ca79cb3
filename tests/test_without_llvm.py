"""Without llvmlite the same plans run op by op through NumPy, and that is said once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [pytest.mark.engine, pytest.mark.cpu("LLVM to do without")]

PROGRAM = """
import sys, warnings
sys.modules["llvmlite"] = None
warnings.simplefilter("always")
import numpy, lazyfuse as lf
h = numpy.arange(12.0).reshape(3, 4)
with warnings.catch_warnings(record=True) as said:
    x = lf.array(h)
    y = (x - x.mean(0)) / x.std(0)
    x[1:] += x[:-1]
    z = lf.exp(-x.T).sum(axis=1)
    lf.materialize(x, y, z)
    lf.materialize(x * 2)
assert numpy.array_equal(lf.asnumpy(y), (h - h.mean(0)) / h.std(0))
h[1:] += h[:-1].copy()
assert numpy.array_equal(lf.asnumpy(x), h) and numpy.array_equal(z, numpy.exp(-h.T).sum(axis=1))
assert [str(w.category.__name__) for w in said] == ["UnfusedWarning"], said
assert lf.stats().kernels_launched == 0 and lf.stats().unfused > 0
"""

SUITE = """
import sys
sys.modules["llvmlite"] = None
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_warning_and_numpys_answers() -> None:
    """A program of views, writes, reductions and functions."""
    done = _run("-c", PROGRAM)
    assert done.returncode == 0, done.stderr


def test_the_programs_of_the_suite() -> None:
    """Views and writes, as they run on the compiled backend."""
    files = [f"tests/test_{name}.py" for name in ("views", "writes")]
    flags = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    done = _run("-c", SUITE, *files, *flags)
    assert done.returncode == 0, done.stdout[-3000:]
