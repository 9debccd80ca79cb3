"""Compositions that are recorded again by their recipes: `roll`, `diff`, `pad` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import check

lf = oracle.lf
pytestmark = pytest.mark.engine

ROW = host.random.default_rng(5).random(70_000) - 0.5
SQUARE = host.random.default_rng(6).random((300, 260)) - 0.5
GAPS = host.where(ROW > 0.2, host.nan, host.where(ROW < -0.3, host.inf, ROW))

CALLS: dict[str, tuple[host.ndarray, Callable[[Any, Any], Any]]] = {
    "roll": (ROW, lambda np, x: np.roll(x, 3)),
    "roll an axis": (SQUARE, lambda np, x: np.roll(x, -2, axis=1)),
    "roll both": (SQUARE, lambda np, x: np.roll(x, (1, -5), (0, 1))),
    "roll once around": (SQUARE, lambda np, x: np.roll(x, 260, 1)),
    "roll by nothing": (SQUARE, lambda np, x: np.roll(x, 0, 0)),
    "diff": (ROW, lambda np, x: np.diff(x)),
    "diff twice": (SQUARE, lambda np, x: np.diff(x, 2, axis=0)),
    "ediff1d": (ROW, lambda np, x: np.ediff1d(x)),
    "pad": (SQUARE, lambda np, x: np.pad(x, 2, constant_values=7)),
    "pad edges": (SQUARE, lambda np, x: np.pad(x, (1, 2), mode="edge")),
    "angle": (ROW + 1j, lambda np, x: np.angle(x)),
    "sinc": (ROW, lambda np, x: np.sinc(x)),
    "trapezoid": (ROW, lambda np, x: np.trapezoid(x)),
    "nan_to_num": (GAPS, lambda np, x: np.nan_to_num(x)),
    "clip": (ROW, lambda np, x: np.clip(x, -0.25, 0.25)),
}


@pytest.mark.cpu("what a GPU records is recorded the long way, too")
@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_is_remembered(name: str) -> None:
    values, call = CALLS[name]
    function = getattr(lf, name.split(maxsplit=1)[0])
    known = function._recipes if function._learned is None else function._learned
    known.clear()
    with lf.options(cold_size=0):
        for _ in range(4):
            call(lf, lf.asarray(values))
    assert known
    check(lambda np, x: call(np, x), values, ulp=4, sums=name == "trapezoid")


def test_a_recipe_is_for_one_shape() -> None:
    """A roll by the length of an axis is a copy there, and nowhere else."""
    with lf.options(cold_size=0):
        for columns in (260, 250, 260, 250):
            values = host.arange(300.0 * columns).reshape(300, columns)
            found = lf.roll(lf.asarray(values), 260, 1)
            host.testing.assert_array_equal(lf.asnumpy(found), host.roll(values, 260, 1))
        for _ in range(3):
            with pytest.raises(host.exceptions.AxisError):
                lf.roll(lf.asarray(ROW), 0, 1)
            with pytest.raises(host.exceptions.AxisError):
                lf.roll(lf.asarray(SQUARE), 0, 2)


def test_what_gives_its_operand_does_so_each_time() -> None:
    with lf.options(cold_size=0):
        for _ in range(4):
            x, y = lf.asarray(GAPS), lf.asarray(ROW) * 2.0
            assert lf.nan_to_num(x, copy=False) is x
            assert lf.nan_to_num(y, copy=False) is y
            assert not lf.isnan(x).any()
            same = lf.diff(y, 0)
            assert same is y or same.base is y


def test_bounds_of_integers_are_looked_at() -> None:
    """A bound that the dtype does not pass leaves a side open; another one after it does not."""
    values = (ROW * 400).astype("i2")
    with lf.options(cold_size=0):
        for low, high in ((-100_000, 100), (-100, 100_000), (-100, 100), (-100_000, 100_000)) * 2:
            found = lf.clip(lf.asarray(values), low, high)
            wanted = host.clip(values.astype("i8"), low, high).astype("i2")
            host.testing.assert_array_equal(lf.asnumpy(found), wanted)
            assert found.dtype == host.int16
