"""Reductions written by hand as kernels: the bits of NumPy's folds, on one thread or more."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.ir.kernel import Kernel, Lanes
from lazyfuse.ops.body import Body, imag, real
from tests.kernel_runner import (
    RNG,
    KernelRunner,
    arguments,
    column_kernel,
    fold,
    full_sum,
    inner,
    load,
    outer,
    reduction,
    run_columns,
    same,
    spread,
    values,
)

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)
SUM_LENGTHS = (*range(301), 1000, 10007, 1_000_003)


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


FOLDS: dict[str, Callable[..., np.generic]] = {
    "maximum": np.maximum.reduce,
    "minimum": np.minimum.reduce,
    "fmax": np.fmax.reduce,
    "fmin": np.fmin.reduce,
    "mul": np.multiply.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8", "c8", "c16", "i8", "u8"))
@pytest.mark.parametrize("access", ("1", "s"))
def test_sums(dtype: str, access: str) -> None:
    """Sums of every length equal np.sum bit for bit, on one thread and on two."""
    kernel = full_sum(dtype, access)
    for n in SUM_LENGTHS:
        x = spread(values(dtype, n), access)
        for threads in (1, 2, 3) if n > 1000 else (1,):
            (_, out) = RUN(kernel, (n,), [x, np.zeros((), dtype)], threads=threads)
            assert same(out, np.sum(x, dtype=dtype)), (n, threads)


def test_sums_with_a_cast() -> None:
    """NumPy adds runs of its buffer length one by one when it converts."""
    kernel = full_sum("f4", "1", "f8", chunk=8192)
    for n in (0, 10, 8192, 8193, 100_003):
        x = values("f4", n)
        for threads in (1, 2):
            (_, out) = RUN(kernel, (n,), [x, np.zeros(())], threads=threads)
            assert same(out, np.sum(x, dtype="f8"))


def test_sum_of_negative_zeros() -> None:
    """np.sum([-0.0]) is 0.0."""
    kernel = full_sum("f8", "1")
    for n in (1, 7, 8, 200):
        (_, out) = RUN(kernel, (n,), [np.full(n, -0.0), np.ones(())])
        assert same(out, np.sum(np.full(n, -0.0)))


@pytest.mark.parametrize("dtype", ("f4", "f8", "c16", "i8"))
def test_row_sums(dtype: str) -> None:
    """Each row on its own, contiguous or not."""
    body = Body()
    value = load(body, dtype, 0)
    kernel = reduction(body, [("in", dtype, "s1"), ("out", dtype, "10")], "add", value)
    strided = reduction(body, [("in", dtype, "ss"), ("out", dtype, "10")], "add", value)
    for rows, columns in ((0, 5), (3, 0), (1, 1), (7, 13), (5, 1000), (1030, 129)):
        x = values(dtype, (rows, columns))
        for threads in (1, 2):
            (_, out) = RUN(kernel, (rows, columns), [x, np.zeros(rows, dtype)], threads=threads)
            assert same(out, x.sum(axis=1, dtype=dtype))
        wide = values(dtype, (rows, 2 * columns))[:, ::-2]
        (_, out) = RUN(strided, (rows, columns), [wide, np.zeros(rows, dtype)])
        assert same(out, wide.sum(axis=1, dtype=dtype))


def test_sum_over_two_axes() -> None:
    """Rows of further inner axes are added one by one."""
    body = Body()
    value = load(body, "f8", 0)
    finish = Body()
    phases = (
        inner(body, [fold("add", value)]),
        outer(finish, {1: finish.emit("acc", "f8", attr=0)}),
    )
    kernel = Kernel(
        0, 2, Lanes.INNER, arguments([("in", "f8", "s1"), ("out", "f8", "00")]), (), phases
    )
    memory = values("f8", (40, 3000))
    for shape in ((1, 1), (40, 7), (39, 1000), (0, 3), (3, 0), (40, 2999)):
        x = memory[: shape[0], : shape[1]]
        for threads in (1, 2):
            (_, out) = RUN(kernel, shape, [x, np.zeros(())], threads=threads)
            total = 0.0
            for row in x:
                total += row.sum() if row.size else 0.0
            assert same(out, np.float64(total))


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8", "c8", "c16", "i8"))
def test_column_sums(dtype: str) -> None:
    """Every column adds its values in order, as NumPy does for axis 0."""
    kernel, strided = column_kernel(dtype, "add"), column_kernel(dtype, "add", "ss")
    for rows, columns in ((0, 5), (3, 1), (9, 7), (50, 16), (33, 300), (700, 1003), (70_000, 16)):
        x = values(dtype, (rows, columns))
        expected = np.zeros(columns, dtype) + x[:0].sum(axis=0, dtype=dtype)
        for row in x if rows < 1000 else ():
            expected += row
        expected = expected if rows < 1000 else x.sum(axis=0, dtype=dtype)
        for threads in (1, 2):
            (_, out) = run_columns(RUN, kernel, x, threads)
            assert same(out, expected)
        if rows < 1000:
            (_, out) = run_columns(RUN, strided, x[:, ::-1], 1)
            assert same(out, expected[::-1])


def fold_cases() -> Iterator[tuple[str, str]]:
    for op, dtype in itertools.product(FOLDS, ("b1", "i1", "u4", "i8", "f2", "f4", "f8", "c16")):
        is_float = dtype[0] in "fc"
        if op in ("and", "or", "xor") and is_float or dtype == "c16" and op != "mul":
            continue
        if dtype == "b1" and op in ("mul", "fmax", "fmin") or dtype == "f2" and op == "mul":
            continue
        yield op, dtype


@pytest.mark.parametrize(("op", "dtype"), list(fold_cases()))
def test_folds(op: str, dtype: str) -> None:
    """Every accumulator over rows, over everything and over columns."""
    body = Body()
    row = reduction(body, [("in", dtype, "1"), ("out", dtype, "0")], op, load(body, dtype, 0))
    column = column_kernel(dtype, op)
    for n in (1, 2, 7, 8, 9, 31, 100, 1000, 200_001):
        x = values(dtype, n)
        if dtype[0] == "f" and n in (9, 1000, 200_001) and op != "mul":
            x[[n // 3, n - 1]] = np.nan
        with np.errstate(all="ignore"):
            expected = FOLDS[op](x, **({"dtype": dtype} if op == "mul" else {}))
        for threads in (1, 2):
            (_, out) = RUN(row, (n,), [x, np.zeros((), dtype)], threads=threads)
            assert same(out, expected), n
        if n <= 1000:
            (_, out) = run_columns(RUN, column, np.repeat(x[:, None], 19, axis=1), 1)
            assert same(out, np.full(19, expected))


def test_fold_of_nothing_is_the_identity() -> None:
    """An inner extent of 0 gives 0, 1, -inf or the largest integer."""
    for op, dtype, expected in (
        ("add", "f8", 0.0),
        ("mul", "f4", 1.0),
        ("maximum", "f8", -np.inf),
        ("minimum", "i4", np.iinfo("i4").max),
        ("and", "u1", 255),
        ("or", "b1", False),
    ):
        body = Body()
        row = reduction(body, [("in", dtype, "1"), ("out", dtype, "0")], op, load(body, dtype, 0))
        empty = np.zeros(0, dtype)
        assert RUN(row, (0,), [empty, np.ones((), dtype)])[1] == expected
        (_, out) = run_columns(RUN, column_kernel(dtype, op), np.zeros((0, 11), dtype), 1)
        assert (out == expected).all()


def test_initial_value() -> None:
    """A fold may start from a scalar argument."""
    body, finish = Body(), Body()
    folds = [
        fold("add", load(body, "f8", 0), init=0),
        fold("maximum", load(body, "f8", 0), init=0),
    ]
    accs = [finish.emit("acc", "f8", attr=number) for number in (0, 1)]
    phases = (inner(body, folds), outer(finish, {1: accs[0], 2: accs[1]}))
    args = arguments([("in", "f8", "1"), ("out", "f8", "0"), ("out", "f8", "0")])
    kernel = Kernel(0, 1, Lanes.INNER, args, ("f8",), phases)
    for n, threads in itertools.product((0, 5, 500, 300_000), (1, 2)):
        x = values("f8", n)
        _, total, top = RUN(kernel, (n,), [x, np.zeros(()), np.zeros(())], [2.5], threads=threads)
        assert same(total, np.sum(x, initial=2.5)) and same(top, np.max(x, initial=2.5))


@pytest.mark.parametrize("dtype", ("b1", "i4", "u8", "f4", "f8"))
@pytest.mark.parametrize("op", ("argmax", "argmin"))
def test_argmax(op: str, dtype: str) -> None:
    """The first NaN wins, then the extreme value, then the smallest index."""
    body, finish = Body(), Body()
    value, place = load(body, dtype, 0), body.emit("index", "i8", attr=0)
    phases = (
        inner(body, [fold(op, value, index=place.index)]),
        outer(finish, {1: finish.emit("acc", "i8", attr=0)}),
    )
    kernel = Kernel(
        0, 1, Lanes.INNER, arguments([("in", dtype, "1"), ("out", "i8", "0")]), (), phases
    )
    for n in (1, 2, 8, 9, 30, 1000, 400_001):
        for x in (values(dtype, n), np.full(n, values(dtype, ())), values(dtype, n) * 0):
            x = x.astype(dtype)
            cases = [x]
            if dtype[0] == "f":
                cases += [np.where(np.arange(n) >= n // 2, np.nan, x).astype(dtype)]
                cases += [np.full(n, -np.inf, dtype), np.full(n, np.inf, dtype)]
            for case, threads in itertools.product(cases, (1, 2)):
                (_, out) = RUN(kernel, (n,), [case, np.zeros((), "i8")], threads=threads)
                assert out == getattr(np, op)(case), n


def test_argmax_out_of_order() -> None:
    """The smallest index wins also where the kernel walks the elements in another order."""
    body, finish = Body(), Body()
    row, column = (body.emit("index", "i8", attr=axis) for axis in (0, 1))
    winner = fold("argmax", load(body, "f8", 0), index=(column * 50 + row).index)
    phases = (inner(body, [winner]), outer(finish, {1: finish.emit("acc", "i8", attr=0)}))
    args = arguments([("in", "f8", "s1"), ("out", "i8", "00")])
    kernel = Kernel(0, 2, Lanes.INNER, args, (), phases)
    for threads in (1, 2):
        x = RNG.integers(0, 3, (50, 300)).astype("f8")
        for _ in range(2):
            (_, out) = RUN(kernel, x.shape, [x, np.zeros((), "i8")], threads=threads)
            assert out == np.argmax(x.T)
            x[RNG.random(x.shape) < 0.01] = np.nan


def test_real_and_complex_sums_together() -> None:
    """Sums over different trees in one phase each keep their own order."""
    body, finish = Body(), Body()
    z = load(body, "c16", 0)
    folds = [fold("add", z), fold("add", real(z)), fold("maximum", imag(z))]
    results = [finish.emit("acc", dtype, attr=k) for k, dtype in enumerate(("c16", "f8", "f8"))]
    phases = (inner(body, folds), outer(finish, dict(enumerate(results, 1))))
    args = [("in", "c16", "1"), ("out", "c16", "0"), ("out", "f8", "0"), ("out", "f8", "0")]
    kernel = Kernel(0, 1, Lanes.INNER, arguments(args), (), phases)
    for n, threads in itertools.product((1, 63, 64, 65, 1000, 100_003), (1, 2)):
        x = values("c16", n)
        outs = [np.zeros((), dtype) for dtype in ("c16", "f8", "f8")]
        RUN(kernel, (n,), [x, *outs], threads=threads)
        expected = (x.sum(), x.real.copy().sum(), x.imag.max())
        assert all(same(out, np.asarray(value)) for out, value in zip(outs, expected, strict=True))


def test_products_stay_in_registers() -> None:
    """A product of floats, whose order is fixed, is read from memory once and written once:
    through memory each step takes three times as long."""
    body, finish = Body(), Body()
    phases = (
        inner(body, [fold("mul", load(body, "f8", 0))]),
        outer(finish, {1: finish.emit("acc", "f8", attr=0)}),
    )
    args = arguments([("in", "f8", "1"), ("out", "f8", "0")])
    kernel = Kernel(0, 1, Lanes.INNER, args, (), phases)
    for n in (1, 7, 8, 9, 100, 1000):
        x = 1 + values("f8", n) / 1e3
        (_, out) = RUN(kernel, (n,), [x, np.zeros(())])
        assert same(out, np.asarray(np.multiply.reduce(x)))
    phase = BACKEND.compile(kernel, "test").source.partition("@lf_phase0")[2].partition("\n}")[0]
    loaded = [line for line in phase.splitlines() if "ptr %state" in line and "load" in line]
    assert len(loaded) <= 1
