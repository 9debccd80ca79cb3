"""Loops whose steps each need a reduction of the step before, recorded as a whole: no kernel
computes all steps before its own once more, and planning takes as long for each as for the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from lazyfuse.schedule import cost, fusion
from tests.oracle import check, lf

pytestmark = pytest.mark.engine

STEPS: dict[str, Callable[..., Any]] = {
    "full": lambda xp, x, i: x / x.sum() * i,
    "extreme": lambda xp, x, i: x + x.max() / i,
    "normalized": lambda xp, x, i: (x - x.mean()) / x.std() + i,
    "rows": lambda xp, x, i: x / x.sum(axis=1, keepdims=True) * i,
    "exponentials": lambda xp, x, i: xp.exp(x - x.max(axis=1, keepdims=True)) + x,
    "columns": lambda xp, x, i: x - x.mean(axis=0) * 0.5,
    "standardized": lambda xp, x, i: (x - x.mean(axis=0)) / x.std(axis=0) + i,
    "rows and columns": lambda xp, x, i: x / x.sum(axis=1, keepdims=True) / (x.sum(axis=0) + i),
    "halves": lambda xp, x, i: x + 0.1 * (x[::-1] - x) * x.mean(),
}


def repeated(name: str, count: int) -> Callable[..., Any]:
    def program(xp: Any, x: Any) -> Any:
        for number in range(1, count + 1):
            x = STEPS[name](xp, x, number)
        return x

    return program


@pytest.mark.parametrize("shape", [(300, 400), (2000, 60), (7, 20_000), (40, 30)])
@pytest.mark.parametrize("name", STEPS)
def test_values(name: str, shape: tuple[int, int]) -> None:
    """Of twelve steps, which need more than one kernel, however rows and columns lie."""
    x = host.random.default_rng(5).random(shape)
    # errors of exponentials are raised in their turn, and become the larger
    check(repeated(name, 12), x, sums=True, ulp=64 if name != "exponentials" else 1 << 14)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "c16"])
def test_dtypes(dtype: str) -> None:
    """What is kept of a row between phases has the dtype that NumPy gives it."""
    x = (host.random.default_rng(6).random((30, 500)) * 9).astype(dtype)

    def program(xp: Any, x: Any) -> Any:
        for _ in range(9):
            x = (x * 3 - x.sum(axis=1, keepdims=True) // 7 if dtype == "i8" else x / 3 + x.sum(
                axis=1, keepdims=True)).astype(dtype)  # fmt: skip
        return x

    check(program, x, sums=True, ulp=64 if dtype != "f2" else 8)


@pytest.mark.parametrize("name", STEPS)
def test_kernels_do_not_begin_anew(name: str) -> None:
    """All of them together compute a few times what was recorded, and none is large."""
    count = 40
    x = lf.array(host.random.default_rng(7).random((500, 400)))
    text = lf.explain(repeated(name, count)(lf, x))
    sizes = [int(found) for found in re.findall(r"(\d+) operations", text)]
    phases = [int(found) for found in re.findall(r"(\d+) phases?,", text)]
    recorded = len(set(repeated(name, 1)(lf, x)._read().srcs)) + 12  # of a step, at most
    assert sum(sizes) <= 4 * recorded * count and max(sizes) < 150
    assert max(phases) <= cost.MOST_PHASES + 2


@pytest.mark.parametrize("name", ["columns", "standardized"])
def test_long_columns(name: str) -> None:
    """Of columns that are in no cache when they are read again: few phases, from little."""
    x = lf.array(host.random.default_rng(7).random((4000, 100)))
    text = lf.explain(repeated(name, 40)(lf, x))
    assert max(int(found) for found in re.findall(r"(\d+) operations", text)) < 22
    assert max(int(found) for found in re.findall(r"(\d+) phases?,", text)) <= 4


@pytest.mark.parametrize("name", STEPS)
def test_planning_is_linear(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands that grouping looks at, of twice as many steps: about twice as many."""
    walked = [0]
    made = fusion.walk

    def walk(*args: Any, **kwargs: Any) -> Any:
        found = made(*args, **kwargs)
        walked[0] += len(found.terms)
        return found

    monkeypatch.setattr(fusion, "walk", walk)
    x = lf.array(host.random.default_rng(8).random((500, 400)))
    seen = []
    for count in (20, 40, 80):
        walked[0] = 0
        lf.explain(repeated(name, count)(lf, x))
        seen.append(walked[0])
    assert seen[0] > 0 and seen[2] < 2.6 * seen[1] < 2.6 * 2.6 * seen[0]


@pytest.mark.cpu("scratch memory in the text of kernels")
def test_rows_are_kept_as_they_are_handed_on() -> None:
    """What later phases read, and not each value on the way; cheap ones are computed again."""
    from tests.test_shape_classes import plan_of

    x = lf.array(host.random.default_rng(9).random((500, 400)))
    costly = lf.exp(x) * 2 + 1
    for y, kept in ((costly, 1), (x * 2 + 1, 0)):
        (step,) = plan_of(y / y.sum(axis=1, keepdims=True)).steps
        roles = [arg.role.name for arg in step.kernel.args]
        assert roles.count("SCRATCH") == kept
