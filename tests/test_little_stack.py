"""Calls near the end of the stack raise RecursionError, as in all of Python, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cpu("LLVM")]
ROOT = Path(__file__).resolve().parents[1]

PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
import numpy, lazyfuse as lf

def program(np, number):
    x = np.arange(1000) * 0.5 + number
    y = np.cos(x) + x * x
    y[::3] = number
    return float((y[1:] + np.where(y > x, y, x)[1:]).sum()), np.sort(y)[:5].tolist()

def deep(levels, number):
    return program(lf, number) if levels <= 0 else deep(levels - 1, number)

raised = 0
for left in (*range(4, 150), 200, 250, 300, 350):
    try:
        found = deep(sys.getrecursionlimit() - left, left)
    except RecursionError:
        raised += 1
    else:
        assert numpy.allclose(found[0], program(numpy, left)[0])
assert raised > 20
assert numpy.allclose(program(lf, 0.5)[0], program(numpy, 0.5)[0])
assert type(lf.arange(3)._storage) and "reference" not in repr(
    __import__("lazyfuse.runtime.session", fromlist=["backend"]).backend("cpu")
)
"""


@pytest.mark.parametrize("eager_size", (0, 100, 65536))
def test_little_is_left_of_the_stack(eager_size: int, tmp_path: Path) -> None:
    """The compiler was held to be missing for the whole process, kernels were held to be ones that
    cannot be compiled, with a warning, and ctypes.ArgumentError was raised."""
    settings = {"LAZYFUSE_DEVICE": "cpu", "LAZYFUSE_EAGER_SIZE": str(eager_size),
                "LAZYFUSE_COLD_SIZE": "0", "LAZYFUSE_CACHE_DIR": str(tmp_path)}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, check=False,
        timeout=120, env=os.environ | settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
