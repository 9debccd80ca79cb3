"""The whole engine on device "cuda-ptx": the named programs, writes and indexing, against NumPy.
Op rows and random programs stand in test_cuda_ladder.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx

import lazyfuse as lf
from lazyfuse.runtime.session import backend
from tests import oracle
from tests.programs import Example, examples

pytestmark = [pytest.mark.engine, needs_ptx]
EXAMPLES = examples()


@pytest.fixture(autouse=True)
def on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """New arrays live on the interpreter; sums are trees there."""
    monkeypatch.setattr(oracle, "ON_GPU", True)
    with lf.options(device="cuda-ptx", disk_cache=False):
        yield


def test_the_interpreter_computes() -> None:
    """Results live on the device, and come from PTX that was executed, thread by thread."""
    before = backend("cuda-ptx").counts()
    y = lf.array(np.arange(1000.0)) * 3.25 + 1
    assert lf.asnumpy(y)[999] == 999 * 3.25 + 1 and y.device == "cuda-ptx"
    executed = backend("cuda-ptx").counts() - before
    assert executed["mul.rn.f64"] >= 1000 and executed["add.rn.f64"] >= 1000


@pytest.mark.parametrize("name", EXAMPLES)
def test_programs(name: str) -> None:
    """The named programs."""
    example = EXAMPLES[name]
    problems = list(oracle.differences(example.program, *example.arrays, rules=rules_of(example)))
    assert problems == []


def rules_of(example: Example) -> oracle.Rules:
    """Sums are trees, and what is divided by them has their error."""
    return oracle.Rules(ulp=max(example.ulp, 64), normwise=True, sums=True)


def test_writes_and_views() -> None:
    """Aliasing does not depend on the device."""

    def program(np: Any, x: Any) -> Any:
        before = x * 2
        x[1:] += x[:-1]
        x.T[0] = -1
        x[::-1][:2] *= x[:2]
        return x + before[::-1], x

    oracle.check(program, np.arange(24.0).reshape(4, 6))


def test_indexing_and_scans() -> None:
    """Gathers, scatters, masks, running sums and arg reductions: no access out of bounds, no
    race.
    """

    def program(np: Any, x: Any, line: Any, rows: Any) -> list[Any]:
        scattered = x * 1
        scattered[:, rows] = 5
        scattered[1:3, :4] += 1
        return [
            x[:, rows] * 2 + 1,
            line[line > 0] - 1,
            scattered,
            *(np.cumsum(x * 2, axis=axis) for axis in (0, 1)),
            np.cumsum(line),
            np.maximum.accumulate(x, axis=1),
            np.minimum.accumulate(line[::-1]),
            x.argmax(axis=1),
            x.argmin(axis=0),
            line.argmax(),
            x.sum(axis=1, where=x > 0),
        ]

    rng = np.random.default_rng(8)
    x, line = rng.normal(size=(7, 150)), rng.normal(size=1500)
    oracle.check(program, x, line, rng.integers(0, 150, 40), sums=True)
