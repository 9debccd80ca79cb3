"""What is learnt from a whole array holds for no part of its form, which begins elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

lf = oracle.lf
pytestmark = pytest.mark.engine

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda np, x: np.roll(x, 1, 0),
    "roll both": lambda np, x: np.roll(x, (2, -3), (0, 1)),
    "diff": lambda np, x: np.diff(x),
    "diff of rows": lambda np, x: np.diff(x, 2, axis=0),
    "pad edges": lambda np, x: np.pad(x, 1, mode="edge"),
    "pad": lambda np, x: np.pad(x, 2),
    "pad around": lambda np, x: np.pad(x, 3, mode="wrap"),
    "trapezoid": lambda np, x: np.trapezoid(x),
    "ediff1d": lambda np, x: np.ediff1d(x[0]),
    "trace": lambda np, x: np.trace(x),
    "clip": lambda np, x: np.clip(x, 3, 900),
    "nan_to_num": lambda np, x: np.nan_to_num(x),
    "angle": lambda np, x: np.angle(x),
    "written": lambda np, x: np.roll(x, 1, 1).__iadd__(np.roll(x, -1, 0)),
}


@pytest.mark.parametrize("eager", (0, 100))
@pytest.mark.parametrize("name", CALLS)
def test_parts_are_read_where_they_lie(name: str, eager: int) -> None:
    """First and last, in both orders, also of what is pending."""
    call = CALLS[name]
    whole = host.arange(300.0 * 250).reshape(300, 250)
    stack = host.arange(3 * 300.0 * 250).reshape(3, 300, 250)
    tall = host.arange(700.0 * 250).reshape(700, 250)
    with lf.options(cold_size=0, eager_size=eager):
        for _ in range(3):
            for values, part in (
                (whole, slice(None)), (stack, 1), (stack, 2), (tall, slice(50, 350)),
                (whole, slice(None)), (stack, 0),
            ):  # fmt: skip
                for pending in (False, True):
                    x = lf.asarray(values) * 1.0 if pending else lf.asarray(values)
                    found, wanted = call(lf, x[part]), call(host, values[part])
                    host.testing.assert_allclose(lf.asnumpy(found), wanted, rtol=1e-13)


@pytest.mark.parametrize("eager", (0, 100))
def test_operands_of_writes_are_read_where_they_lie(eager: int) -> None:
    stack = host.arange(3 * 300.0 * 250).reshape(3, 300, 250)
    with lf.options(cold_size=0, eager_size=eager):
        for _ in range(3):
            for place in (0, 1, 2):
                x, y = lf.asarray(stack) * 1.0, lf.asarray(stack[0])
                values, other = stack.copy(), stack[0].copy()
                x[place] += lf.roll(x[0], 1, 0)
                values[place] += host.roll(values[0], 1, 0)
                y += x[place]
                other += values[place]
                x[place, 1:-1] = x[place, 2:] * 0.5
                values[place, 1:-1] = values[place, 2:] * 0.5
                y[5:200] -= x[place][3:198]
                other[5:200] -= values[place][3:198]
                host.testing.assert_array_equal(lf.asnumpy(x), values)
                host.testing.assert_array_equal(lf.asnumpy(y), other)
