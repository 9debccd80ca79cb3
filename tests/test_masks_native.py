"""The same writes in machine code, what it leaves to Python, and no reference lost."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.python_calls import python_calls  # noqa: E402 - where there is an engine
from tests.test_masks import (  # noqa: E402, F401 - again, in machine code
    calls,
    test_a_mask_that_is_filled,
    test_arrays_that_lie_otherwise,
    test_arrays_where_a_mask_is_true,
    test_masks_of_arrays_that_lie_apart,
    test_memory_that_is_shared,
    test_numbers,
    test_what_reads_a_written_array_keeps_its_values,
)
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

pytestmark = pytest.mark.usefixtures("operators")
DTYPES = ("b1", "i1", "u2", "i4", "i8", "f4", "f8")


def write(x: Any, mask: Any, number: Any) -> None:
    x[mask] = number


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("size", (5001, 6000, 40_063))
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_is_not_asked(dtype: str, size: int) -> None:
    """For few and many that are true, in blocks of 64 and behind them."""
    draw = host.random.default_rng(size)
    values = (draw.random(size) * 100).astype(dtype)
    masks = [draw.random(size) < density for density in (0.0, 0.001, 0.2, 0.9, 1.0)]
    masks.append(host.arange(size) >= size - 3)
    with lf.options(eager_size=5000, cold_size=100_000):
        for mask in masks:
            x, where, expected = lf.array(values), lf.array(mask), values.copy()
            lf.materialize(x, where)
            write(x, where, 1)
            number = expected.dtype.type(1).item()
            assert python_calls(lambda x=x, m=where, n=number: write(x, m, n)) == ["write"]
            expected[mask] = 1
            assert lf.asnumpy(x).tobytes() == expected.tobytes()


@pytest.mark.cpu("writes at once")
def test_parts_are_written() -> None:
    """Of the same memory order: what is beside them stays."""

    def program(np: Any, x: Any, m: Any) -> Any:
        part, where = x[10:-10], m[10:-10]
        part[where] = -1.0
        x[3:100][m[3:100]] = 7.0  # few
        row = x.reshape(-1)[5:]
        row[m.reshape(-1)[5:]] = 2.5
        x[:, 1:][m[:, 1:]] = 3.5  # not in one piece
        x.T[m.T] = 4.5
        kept = x * 1
        x[m & (x > 3)] = 5.5
        return x, kept

    draw = host.random.default_rng(1)
    with lf.options(eager_size=1000, cold_size=1_000_000):
        oracle.check(program, draw.random((300, 200)), draw.random((300, 200)) < 0.1)


@pytest.mark.cpu("writes at once")
def test_no_reference_is_lost() -> None:
    x, mask = lf.asarray(host.arange(9000.0)) * 1.0, lf.asarray(host.arange(9000) % 3 == 0)
    frozen = lf.asarray(host.arange(9000.0)) * 1.0
    frozen.flags.writeable = False
    lf.materialize(x, mask, frozen)

    def run() -> None:
        x[mask] = 1.0
        x[mask] = host.float64(2.0)
        with pytest.raises(TypeError):
            x[mask] = 1j
        with pytest.raises(ValueError, match="read-only"):
            frozen[mask] = 1.0
        with pytest.raises(IndexError):
            x[mask[:-1]] = 1.0

    kept = (x, x._storage, x._storage.node, mask, mask._storage, mask._storage.node, x.dtype)
    with lf.options(eager_size=5000, cold_size=100_000):
        assert_nothing_is_lost(run, kept, known=20, rounds=20)
