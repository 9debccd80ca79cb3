"""Ten programs of the literature of numerical Python, run with NumPy and with the import swapped.

The files in `literature/` are plain NumPy programs. What they print must be the same text, and
every array and number that they leave behind must be the same: bit for bit where only arithmetic
is done, else within the tolerance that is given with its reason.
"""

from __future__ import annotations

import contextlib
import io
import re
import types
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

FOLDER = Path(__file__).parent / "literature"

#: Programs of arithmetic, comparisons, roots, sums, indexing and random numbers alone: every bit.
EXACT = ("game_of_life", "gray_scott", "jacobi", "kmeans")
#: Relative to the largest value of each array, with what may differ by some ULP.
TOLERANCE = {
    "mandelbrot": 1e-12,  # log and log2
    "boids": 1e-9,  # cos, sin and hypot, then 20 steps that amplify
    "nbody": 1e-9,  # power -1.5, then 50 steps that amplify
    "fft_filter": 1e-12,  # sin and log10; the transforms are NumPy's own
    "pca": 1e-9,  # BLAS and LAPACK may round by where memory lies
    "monte_carlo": 1e-9,  # exp, multiplied up over 50 steps
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program printed, what it was warned of, and its global variables that are data."""

    text: str
    warned: list[str]
    data: dict[str, Any]


@cache
def run(name: str, module: str) -> Outcome:
    """Run a program of the folder under NumPy or lazyfuse; nothing but the import changes."""
    path = FOLDER / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    assert source.count("import numpy as np\n") == 1
    source = source.replace("import numpy as np\n", f"import {module} as np\n")
    variables: dict[str, Any] = {"__name__": name}
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(record=True) as caught,
        host.printoptions(),
    ):
        warnings.simplefilter("default")  # "always" would make every operation run at once
        exec(compile(source, str(path), "exec"), variables)
    warned = [f"{one.lineno}: {one.message}" for one in caught]
    data = {key: value for key, value in variables.items() if _is_data(key, value)}
    return Outcome(printed.getvalue(), warned, data)


def _is_data(name: str, value: Any) -> bool:
    opaque = (types.ModuleType, types.FunctionType, str, list)
    return not name.startswith("_") and not isinstance(value, opaque) and name != "rng"


@pytest.mark.parametrize("name", (*EXACT, *TOLERANCE))
def test_program(name: str) -> None:
    """The program prints and computes what it does with NumPy."""
    wanted, given = run(name, "numpy"), run(name, oracle.MODULE)
    assert _rounded(given.text) == _rounded(wanted.text)
    assert given.data.keys() == wanted.data.keys()
    problems = []
    for key, value in wanted.data.items():
        problems += _differences(key, value, given.data[key], TOLERANCE.get(name, 0.0))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", (*EXACT, *TOLERANCE))
def test_warnings(name: str) -> None:
    """The program is warned of what NumPy warns of, at the same lines."""
    assert run(name, oracle.MODULE).warned == run(name, "numpy").warned


def _rounded(text: str) -> str:
    """The text; on a GPU, where sums are trees, with numbers of few digits."""
    if not oracle.ON_GPU:
        return text
    return re.sub(r"\d+\.\d+(e[+-]\d+)?", lambda found: f"{float(found[0]):.9g}", text)


def _differences(key: str, wanted: Any, given: Any, tolerance: float) -> list[str]:
    if not isinstance(wanted, (host.ndarray, host.generic, float)):
        return [] if wanted == given else [f"{key}: {wanted!r} against {given!r}"]
    left, right = host.asarray(wanted), host.asarray(given)
    if left.dtype.kind not in "fc" or not tolerance:
        return list(oracle.compare(key, left, right, oracle.Rules(strides=False, sums=True)))
    if left.dtype != right.dtype or left.shape != right.shape:
        return [f"{key}: {left.dtype} {left.shape} against {right.dtype} {right.shape}"]
    with host.errstate(all="ignore"):
        scale = abs(left[host.isfinite(left)]).max(initial=0.0)
        same = (abs(left - right) <= tolerance * scale) | (left == right)
        wrong = ~(same | (host.isnan(left) & host.isnan(right)))
    count = int(wrong.sum())
    return [f"{key}: {count} of {left.size} differ by more than {tolerance}"] if count else []


def test_all_programs_are_run() -> None:
    """Every file of the folder is in one of the two tables."""
    assert {path.stem for path in FOLDER.glob("*.py")} == {*EXACT, *TOLERANCE}
