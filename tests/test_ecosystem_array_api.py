"""SciPy's and scikit-learn's functions for any library of the Array API, with `array_api`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("sklearn")
pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[1]


def test_functions_for_any_library() -> None:
    """What has no axes was taken for NumPy's: half of SciPy's statistics were refused."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.array_api_programs"],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=300, env=os.environ,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("", 0), done.stderr[-3000:]
