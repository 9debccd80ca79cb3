"""Numbers that are written through `x.flat`, and read, one by one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

VALUES = (
    1.5, -0.0, float("nan"), float("inf"), 1e300, True, False, 3, -1, 2**40, 2**70, 1 + 2j,
    host.float64(2.5), host.float32(2.5), host.int64(-7), host.bool(True), host.uint8(200),
    None, "text", [4, 5], [[1], [2]],
)  # fmt: skip
KEYS = (0, 7, 59, 60, -1, -60, -61, host.int64(8), host.int32(61), True, 2.0, slice(3, 9, 2))
DTYPES = ("f8", "f4", "i8", "u1", "?", "c16", ">f8")


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or what it raises."""
    try:
        return call(*args)
    except Exception as error:
        return type(error).__name__, str(error)


def written(key: Any, value: Any, order: str, dtype: str) -> oracle.Program:
    """An array of 2 axes that a value is written into, and the elements at a position."""

    def program(np: Any, m: Any) -> Any:
        x = np.array(m, dtype=dtype, order=order)
        found = outcome(x.flat.__setitem__, key, value)
        return found, x, outcome(x.flat.__getitem__, key)

    return program


GRID = host.arange(60).reshape(12, 5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("eager_size", (0, 1000))
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_number(dtype: str, eager_size: int) -> None:
    """Values, and errors in NumPy's words."""
    with oracle.options(eager_size=eager_size):
        for key in KEYS:
            for value in VALUES:
                for order in "CF":
                    oracle.check(written(key, value, order, dtype), GRID)


@pytest.mark.parametrize("eager_size", (0, 1000))
@pytest.mark.parametrize("shape", ((), (1,), (60,), (3, 4, 5), (60, 1), (1, 60), (0, 5)))
def test_each_shape(shape: tuple[int, ...], eager_size: int) -> None:
    def program(np: Any, m: Any) -> Any:
        x = np.zeros(shape) if 0 in shape else np.array(m.ravel()[: max(host.prod(shape), 1)])
        x = x.reshape(shape) * 1.0
        found = [outcome(x.flat.__setitem__, key, 1.5) for key in KEYS[:9]]
        return found, [outcome(x.flat.__getitem__, key) for key in KEYS[:9]], x

    with oracle.options(eager_size=eager_size):
        oracle.check(program, GRID)


@pytest.mark.parametrize("eager_size", (0, 1000))
def test_what_may_not_be_written(eager_size: int) -> None:
    """And views of arrays, which see what is written."""

    def program(np: Any, m: Any) -> Any:
        x = m * 1.0
        views = [x[::2], x.T, x[:, ::-1], x[3]]
        for number, view in enumerate(views):
            view.flat[number + 1] = -1.0 - number
        x.flags.writeable = False
        return x, views, outcome(x.flat.__setitem__, 3, 1.0)

    with oracle.options(eager_size=eager_size):
        oracle.check(program, GRID)


@pytest.mark.parametrize("eager_size", (0, 1000))
def test_where_it_is(eager_size: int) -> None:
    """The position of an iterator, before it has begun and on its way."""

    def program(np: Any, m: Any) -> Any:
        steps = (m * 2.0).flat
        found = [(steps.index, steps.coords)]
        for _ in range(7):
            next(steps)
            found.append((steps.index, steps.coords))
        return found, iter(steps) is steps, len(steps), [*steps][-1], (steps.index, steps.coords)

    with oracle.options(eager_size=eager_size):
        oracle.check(program, GRID)


def test_it_cannot_be_pickled() -> None:
    """Nor copied."""

    def program(np: Any, m: Any) -> Any:
        steps = (m * 2.0).flat
        before = outcome(pickle.dumps, steps), outcome(copy.copy, steps)
        next(steps)
        return before, outcome(pickle.dumps, steps)

    oracle.check(program, GRID)
    oracle.check(program, host.ones((400, 200)))


def test_positions_of_numpys_integers() -> None:
    """Of an array that has more elements than they can say."""

    def program(np: Any, m: Any) -> Any:
        return np.broadcast_to(m, (len(m), 2**31 + 5)).flat[host.int32(5)]

    oracle.check(program, host.arange(40_000.0)[:, None])
