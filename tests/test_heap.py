"""Small arrays that come and go leave their memory in the C library's heap."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests import oracle

ROOT = Path(__file__).resolve().parent.parent
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not oracle.IS_ENGINE, reason="NumPy keeps nothing"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's heap"),
]
PROGRAM = """
import resource, sys
import numpy as np
if sys.argv[1] == "lazyfuse":
    import lazyfuse
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def turn():
    arrays = [np.ones(10_000) for _ in range(20)]
for _ in range(3):
    turn()
before = faults()
for _ in range(50):
    turn()
print((faults() - before) / 50)
"""


def pages(library: str) -> float:
    """Pages that each of many turns has mapped, in a process that has made no larger array."""
    command = [sys.executable, "-c", PROGRAM, library]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_pages_stay() -> None:
    """Twenty arrays of 80 KB are 390 pages; with NumPy alone most are mapped at each turn."""
    if pages("numpy") < 100:
        pytest.skip("this C library keeps its heap")
    assert pages("lazyfuse") < 10
