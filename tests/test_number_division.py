"""Integers divided by a number (`ops/reciprocal.py`): NumPy's quotients and remainders for every
kind of divisor, and its conditions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.ops.body import Body
from lazyfuse.ops.reciprocal import floor_divide_by_number
from tests import oracle
from tests.kernel_runner import KernelRunner, elementwise, load
from tests.oracle import check
from tests.test_error_modes import check_warnings

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def numbers(dtype: str) -> np.ndarray:
    """The ends of the range, powers of two and their neighbours, and what lies between."""
    info = np.iinfo(dtype)
    powers = [1 << bit for bit in range(info.bits)]
    near = {sign * power + shift for power in powers for shift in (-1, 0, 1) for sign in (1, -1)}
    near |= {info.min, info.min + 1, info.max - 1, 3, 7, 10, 255, 641, 10**9, 6700417}
    return np.array(sorted(n for n in near if info.min <= n <= info.max), dtype)


def dividends(dtype: str, divisor: Any) -> np.ndarray:
    """Numbers, and multiples of the divisor with their neighbours; all there are of 16 bits."""
    info = np.iinfo(dtype)
    if info.bits <= 16:
        return np.arange(info.min, info.max + 1).astype(dtype)
    rng, by = np.random.default_rng(int(divisor) & 0xFFFF), int(divisor) or 1
    drawn = np.frombuffer(rng.bytes(200 * info.bits // 8), dtype)
    multiples = [int(x) // by * by + shift for x in drawn for shift in (-1, 0, 1)]
    near = [x for x in multiples if info.min <= x <= info.max]
    return np.concatenate([numbers(dtype), drawn, np.array(near, dtype)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_and_remainders(dtype: str) -> None:
    """By every number of a list, as NumPy's floor division has it."""
    divisors = numbers(dtype) if np.iinfo(dtype).bits > 16 else numbers(dtype)[::2]
    for divisor in divisors:
        x = dividends(dtype, divisor)

        def program(np: Any, x: Any, divisor: Any = divisor) -> Any:
            with np.errstate(all="ignore"):
                return x // divisor, x % divisor, *np.divmod(x, divisor)

        check(program, x)


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_conditions(dtype: str) -> None:
    """0, -1 and the smallest number; nothing is told of others, not even of the largest."""
    info, kind = np.iinfo(dtype), np.dtype(dtype).type
    for x in (info.min, info.max, 5):
        for y in {0, 1, 2, info.max, info.min, -1 if info.min else 1}:
            given, number = np.full(11, x, dtype), kind(y)
            check_warnings(lambda np, a, y=number: a // y, given)
            check_warnings(lambda np, a, y=number: a % y, given)
            check_warnings(lambda np, a, b: a // b, given, np.array(y, dtype))


@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_all_short_divisors(dtype: str) -> None:
    """The smallest and largest multiples of every number and some between, and what is one less:
    quotients never fall, so only there can they be wrong."""
    most, body = int(np.iinfo(dtype).max), Body()
    pair = load(body, dtype, 0), load(body, dtype, 1)
    args = [("in", dtype, "1"), ("in", dtype, "1"), ("out", dtype, "1")]
    kernel = elementwise(body, args, {2: floor_divide_by_number(*pair)})
    y = np.arange(1, most + 1)
    run = KernelRunner(CpuBackend())
    drawn = np.random.default_rng(3).integers(1, most // y + 1, (20, most))
    for times in (np.ones_like(y), most // y, *drawn):
        for x in (times * y, times * y - 1, np.full_like(y, most)):
            given = [x.astype(dtype), y.astype(dtype), np.empty(most, dtype)]
            assert np.array_equal(run(kernel, (most,), given)[-1], x // y)


def test_short_numbers_are_divided_here() -> None:
    """Not by NumPy, which the other tests would not tell."""
    x = oracle.lf.asarray(np.arange(40_000).astype(np.uint16))
    with oracle.lf.options(cold_size=0):
        assert "1 kernel" in oracle.lf.explain(x // np.uint16(7) + x % np.uint16(5))
