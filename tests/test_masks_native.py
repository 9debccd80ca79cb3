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
    NAN,
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


SMALL_NUMBERS = (
    1,
    -0.0,
    2**53 + 1,
    2**63,
    NAN,
    0.5,
    host.float64(0.1),
    host.int64(7),
    True,
    1j,
    "a",
)


@pytest.mark.parametrize("dtype", ("f8", "i8", "f4", "b1", "u1"))
@pytest.mark.parametrize("shape", ((), (1,), (7,), (64,), (8, 16), (5, 13), (3, 0)))
def test_small_arrays(shape: tuple[int, ...], dtype: str) -> None:
    """Of all kinds of numbers, masks and orders: what NumPy says is said."""
    draw = host.random.default_rng(3)
    values = host.asarray(draw.random(shape) * 4).astype(dtype)
    masks = [host.asarray(draw.random(shape) < density) for density in (0.0, 0.3, 1.0)]

    def program(np: Any) -> Any:
        found: list[Any] = []
        for mask in masks:
            for turn in (lambda a: a, lambda a: a.T, lambda a: a[..., ::-1] if a.ndim else a):
                x, where = np.array(values), np.array(mask)
                for key in (turn(where), mask, turn(where)[None], where.tolist()):
                    try:
                        turn(x)[key] = number
                    except (IndexError, OverflowError, TypeError, ValueError) as error:
                        found.append(type(error))
                found.append(x)
        return found

    with lf.options(eager_size=1000):
        for number in SMALL_NUMBERS:  # noqa: B007 - the program reads it
            oracle.check(program)


@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "i8", "i4", "u2", "i1", "b1", "c8", "c16"))
@pytest.mark.parametrize(
    "shape", ((), (1,), (63,), (64,), (65,), (1000,), (8, 16), (5, 40), (3, 0))
)
def test_small_arrays_are_picked_from(shape: tuple[int, ...], dtype: str) -> None:
    """In C order and others, parts, and by masks that do not fit."""
    draw = host.random.default_rng(4)
    values = host.asarray(draw.random(shape) * 4).astype(dtype)
    masks = [host.asarray(draw.random(shape) < density) for density in (0.0, 0.05, 0.5, 0.98, 1.0)]

    def program(np: Any) -> Any:
        found: list[Any] = []
        for mask in masks:
            x, where = np.array(values), np.array(mask)
            turned = (x[..., ::-1], where[..., ::-1]) if x.ndim else (x, where)
            for a, m in ((x, where), (x.T, where.T), turned, (x, mask), (x, ~where)):
                part = a[m]
                found += [part, part.flags.owndata, part.flags.writeable]
                part += 1  # a copy
            found.append(x)
            for wrong in (where[None], where[..., :-1] if where.ndim else where[None, None]):
                try:
                    found.append(x[wrong])
                except IndexError as error:
                    found.append(str(error))
        return found

    with lf.options(eager_size=2000):
        oracle.check(program)


def test_small_memory_that_is_shared() -> None:
    """A mask that lies in the array, and arrays that nobody may write."""

    def program(np: Any) -> Any:
        x = np.arange(80.0)
        bits = x.view(bool) if np is host else np.asarray(host.zeros(640, bool))
        mask = bits[8:88]
        mask[:] = host.arange(80) % 3 == 0
        y = np.arange(80)
        y[np.array(mask)] = -1
        flags = np.arange(80) % 2 == 0
        flags[1:][flags[:-1]] = True
        frozen = np.arange(5.0)
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            frozen[frozen > 2] = 1.0
        return y, flags, frozen

    with lf.options(eager_size=1000):
        oracle.check(program)


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
    small, few = lf.array(host.arange(90.0)), lf.array(host.arange(90) % 3 == 0)
    lf.materialize(x, mask, frozen)

    def run() -> None:
        x[mask] = 1.0
        x[mask] = host.float64(2.0)
        small[few], small[~few], few[few]
        small[few] = 1.0
        small[few] = 2
        with pytest.raises(TypeError):
            small[few] = 1j
        with pytest.raises(TypeError):
            x[mask] = 1j
        with pytest.raises(ValueError, match="read-only"):
            frozen[mask] = 1.0
        with pytest.raises(IndexError):
            x[mask[:-1]] = 1.0

    kept = (
        small,
        small._host,
        few,
        x,
        x._storage,
        x._storage.node,
        mask,
        mask._storage,
        mask._storage.node,
        x.dtype,
    )
    with lf.options(eager_size=5000, cold_size=100_000):
        assert_nothing_is_lost(run, kept, known=20, rounds=20)
