"""Kernels written by hand, compiled by the CPU backend, against NumPy: the bits, the edges, the memory around them."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.buffers import BufferPool, CpuBuffer, size_class
from lazyfuse.backends.cpu.emit import emit
from lazyfuse.backends.cpu.jit import Compiler, feature_names
from lazyfuse.backends.cpu.threads import Workers
from lazyfuse.ir.kernel import Kernel, Lanes
from lazyfuse.ops.body import Body, Value, cast, imag, make_complex, real, select
from tests.kernel_runner import KernelRunner, arguments, elementwise, fold, inner, load, outer

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
DTYPES = ("b1", *INTEGERS, "f2", "f4", "f8", "c8", "c16")
LENGTHS = (*range(71), 1000)
SUM_LENGTHS = (*range(301), 1000, 10007, 1_000_003)
RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


def values(dtype: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Random values that round when added."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(RNG.random(shape) < 0.5)
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    real_part = np.asarray(RNG.standard_normal(shape))
    if kind == "c":
        return np.asarray(real_part + 1j * RNG.standard_normal(shape)).astype(dtype)
    return real_part.astype(dtype)


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bit for bit, but for the bits of a NaN."""
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype.kind == "c":
        part = f"f{actual.itemsize // 2}"
        actual, expected = (np.atleast_1d(x).copy().view(part) for x in (actual, expected))
    if actual.dtype.kind == "f":
        equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
        return bool(np.all(equal | (np.isnan(actual) & np.isnan(expected))))
    return bool(np.array_equal(actual, expected))


def spread(array: np.ndarray, access: str) -> np.ndarray:
    """The same values, laid out for an access letter: reversed with gaps where it is strided."""
    if access != "s" or array.ndim == 0:
        return array
    memory = np.zeros(3 * len(array) + 1, array.dtype)
    view = memory[::-1][: 3 * len(array) : 3]
    view[...] = array
    return view


def combined(x: Value, y: Value) -> Value:
    """An expression of two values of any dtype; see `combined_numpy`."""
    if x.kind == "b":
        return x ^ y
    if x.dtype == "f2":
        return cast(cast(x, "f4") * cast(y, "f4"), "f2")
    if x.kind == "c":
        return make_complex(real(x) + real(y), imag(x) - imag(y))
    return x * y + x


def combined_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        if x.dtype.kind == "b":
            return x ^ y
        if x.dtype == "f2":
            return x * y
        if x.dtype.kind == "c":
            return (x.real + y.real + 1j * (x.imag - y.imag)).astype(x.dtype)
        return x * y + x


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype: str) -> None:
    """All dtypes, all accesses, all lengths around a vector; nothing outside the result is written."""
    for access in itertools.product("1s", "0s1", "1s"):
        body = Body()
        result = combined(load(body, dtype, 0), load(body, dtype, 1))
        roles = zip(("in", "in", "out"), access, strict=True)
        kernel = elementwise(body, [(role, dtype, kind) for role, kind in roles], {2: result})
        for n in LENGTHS:
            x = values(dtype, n)
            y = values(dtype, () if access[1] == "0" else n)
            around = np.zeros(3 * n + 40, dtype)
            place = around[10 : 10 + n] if access[2] == "1" else around[10 : 10 + 3 * n : 3]
            expected = around.copy()
            (expected[10 : 10 + n] if access[2] == "1" else expected[10 : 10 + 3 * n : 3])[...] = (
                combined_numpy(x, np.broadcast_to(y, x.shape))
            )
            RUN(kernel, (n,), [spread(x, access[0]), spread(y, access[1]), place])
            assert same(around, expected), (access, n)


def test_several_outputs_in_place() -> None:
    """Outputs of other dtypes beside one that overwrites its input."""
    body = Body()
    x, y = load(body, "f8", 0), load(body, "f8", 1)
    args = [("in", "f8", "1"), ("in", "f8", "1"), ("out", "f8", "1"), ("out", "b1", "1"), ("out", "f4", "1")]
    kernel = elementwise(body, args, {2: x - y, 3: x < y, 4: cast(x * y, "f4")})
    for n, threads in itertools.product((0, 5, 64, 1003, 300_000), (1, 2)):
        x0, y0 = values("f8", n), values("f8", n)
        a, less, product = x0.copy(), np.empty(n, bool), np.empty(n, "f4")
        RUN(kernel, (n,), [a, y0, a, less, product], threads=threads)
        assert same(a, x0 - y0) and same(less, x0 < y0) and same(product, (x0 * y0).astype("f4"))


def test_axes_and_indices() -> None:
    """Three axes with mixed accesses, and the position along each."""
    body = Body()
    x, y, z = (load(body, "i4", number) for number in range(3))
    place = body.emit("index", "i8", attr=0) * 100 + body.emit("index", "i8", attr=1) * 10
    place = place + body.emit("index", "i8", attr=2)
    args = [("in", "i4", "ss1"), ("in", "i4", "0s0"), ("in", "i4", "s0s"), ("out", "i8", "ss1")]
    kernel = elementwise(body, args, {3: cast(x + y * z, "i8") + place})
    for shape in ((2, 3, 5), (3, 1, 17), (1, 7, 1), (4, 0, 3), (70, 2, 9), (2, 300, 301)):
        x0, y0 = values("i4", shape), values("i4", shape[1])
        z0 = values("i4", (shape[0], 2 * shape[2]))[:, ::-2]
        i, j, k = np.indices(shape)
        product = y0[None, :, None] * z0[:, None, : shape[2]]
        expected = (x0 + product).astype("i8") + 100 * i + 10 * j + k
        for threads in (1, 2):
            out = np.zeros(shape, "i8")
            RUN(kernel, shape, [x0, y0, z0, out], threads=threads)
            assert same(out, expected)


def test_scalars_of_all_dtypes() -> None:
    """A scalar argument is converted to its dtype; a point kernel has no axes."""
    for dtype in DTYPES:
        body = Body()
        s = body.emit("scalar", dtype, attr=0)
        point = elementwise(body, [("out", dtype, "")], {0: s}, [dtype])
        line = elementwise(body, [("out", dtype, "1")], {0: s}, [dtype])
        value = values(dtype, ())[()]
        assert same(RUN(point, (), [np.zeros((), dtype)], [value])[0], np.asarray(value))
        assert same(RUN(line, (19,), [np.zeros(19, dtype)], [value])[0], np.full(19, value))


def test_division_past_the_end() -> None:
    """Lanes that do not exist divide by something that is not zero."""
    body = Body()
    x, y = load(body, "i4", 0), load(body, "i4", 1)
    args = [("in", "i4", "1"), ("in", "i4", "1"), ("out", "i4", "1")]
    kernel = elementwise(body, args, {2: x / y})
    for n in range(40):
        x0 = np.arange(1, n + 1, dtype="i4") * 7
        memory = np.zeros(n + 32, "i4")
        memory[:n] = 3
        out = np.zeros(n, "i4")
        assert same(RUN(kernel, (n,), [x0, memory[:n], out])[2], x0 // 3)


def full_sum(dtype: str, access: str, acc_dtype: str | None = None, chunk: int = 0) -> Kernel:
    body = Body()
    value = cast(load(body, dtype, 0), acc_dtype or dtype)
    return reduction(body, [("in", dtype, access), ("out", value.dtype, "0")], "add", value, chunk)


def reduction(
    body: Body, args: list[tuple[str, str, str]], op: str, value: Value, chunk: int = 0
) -> Kernel:
    """Fold `value` over one inner axis, lanes inside, to argument 1."""
    finish = Body()
    result = finish.emit("acc", value.dtype, attr=0)
    phases = (inner(body, [fold(op, value, chunk=chunk)]), outer(finish, {1: result}))
    return Kernel(len(args[0][2]) - 1, 1, Lanes.INNER, arguments(args), (), phases)


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
    phases = (inner(body, [fold("add", value)]), outer(finish, {1: finish.emit("acc", "f8", attr=0)}))
    kernel = Kernel(0, 2, Lanes.INNER, arguments([("in", "f8", "s1"), ("out", "f8", "00")]), (), phases)
    memory = values("f8", (40, 3000))
    for shape in ((1, 1), (40, 7), (39, 1000), (0, 3), (3, 0), (40, 2999)):
        x = memory[: shape[0], : shape[1]]
        for threads in (1, 2):
            (_, out) = RUN(kernel, shape, [x, np.zeros(())], threads=threads)
            total = 0.0
            for row in x:
                total += row.sum() if row.size else 0.0
            assert same(out, np.float64(total))


def column_kernel(dtype: str, op: str, access: str = "1s") -> Kernel:
    """Fold over the rows, lanes along columns: out[j] = fold over i of in[i, j]."""
    body, finish = Body(), Body()
    value = load(body, dtype, 0)
    phases = (inner(body, [fold(op, value)]), outer(finish, {1: finish.emit("acc", dtype, attr=0)}))
    args = arguments([("in", dtype, access), ("out", dtype, "10")])
    return Kernel(1, 1, Lanes.OUTER, args, (), phases)


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
            (_, out) = run_columns(kernel, x, threads)
            assert same(out, expected)
        if rows < 1000:
            (_, out) = run_columns(strided, x[:, ::-1], 1)
            assert same(out, expected[::-1])


def run_columns(kernel: Kernel, x: np.ndarray, threads: int) -> list[np.ndarray]:
    rows, columns = x.shape
    return list(RUN(kernel, (columns, rows), [x.T, np.zeros(columns, x.dtype)], threads=threads))


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
            (_, out) = run_columns(column, np.repeat(x[:, None], 19, axis=1), 1)
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
        (_, out) = run_columns(column_kernel(dtype, op), np.zeros((0, 11), dtype), 1)
        assert (out == expected).all()


def test_initial_value() -> None:
    """A fold may start from a scalar argument."""
    body, finish = Body(), Body()
    folds = [fold("add", load(body, "f8", 0), init=0), fold("maximum", load(body, "f8", 0), init=0)]
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
    kernel = Kernel(0, 1, Lanes.INNER, arguments([("in", dtype, "1"), ("out", "i8", "0")]), (), phases)
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


def softmax_kernel() -> Kernel:
    """Row softmax: maximum, sum of exponentials kept in scratch, quotient."""
    top, total, result = Body(), Body(), Body()
    x = load(top, "f4", 0)
    shifted = load(total, "f4", 0) - total.emit("acc", "f4", attr=0)
    power = shifted.unary("exp")
    quotient = load(result, "f4", 2) / result.emit("acc", "f4", attr=1)
    phases = (
        inner(top, [fold("maximum", x)]),
        inner(total, [fold("add", power)], {2: power}),
        inner(result, [], {1: quotient}),
    )
    args = [("in", "f4", "s1"), ("out", "f4", "s1"), ("scratch", "f4", "01")]
    return Kernel(1, 1, Lanes.INNER, arguments(args), (), phases)


@pytest.mark.parametrize("shape", ((1, 1), (3, 5), (100, 37), (300, 1024), (2, 0)))
def test_softmax(shape: tuple[int, int]) -> None:
    """Three phases and scratch; the bits do not depend on threads."""
    x = values("f4", shape)
    results = [
        RUN(softmax_kernel(), shape, [x, np.zeros(shape, "f4")], threads=threads)[1]
        for threads in (1, 2)
    ]
    assert same(*results)
    if x.size:
        power = np.exp(x - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(results[0], power / power.sum(axis=1, keepdims=True), rtol=1e-6)


def standardize_kernel(lanes: Lanes, args: list[tuple[str, str, str]], outer_axes: int = 1) -> Kernel:
    """(x - mean) / sqrt(mean of squares): two sums, then a phase that stores; scalar 0 is the length."""
    first, second, third = Body(), Body(), Body()

    def centred(body: Body) -> Value:
        mean = body.emit("acc", "f8", attr=0) / body.emit("scalar", "f8", attr=0)
        return load(body, "f8", 0) - mean

    shift = centred(second)
    width = third.emit("acc", "f8", attr=1) / third.emit("scalar", "f8", attr=0)
    phases = (
        inner(first, [fold("add", load(first, "f8", 0))]),
        inner(second, [fold("add", shift * shift)]),
        inner(third, [], {1: centred(third) / width.unary("sqrt")}),
    )
    return Kernel(outer_axes, 1, lanes, arguments(args), ("f8",), phases)


def standardized(x: np.ndarray, axis: int) -> np.ndarray:
    n = float(x.shape[axis])
    shift = x - x.sum(axis=axis, keepdims=True) / n
    return shift / np.sqrt((shift * shift).sum(axis=axis, keepdims=True) / n)


@pytest.mark.parametrize("threads", (1, 2))
def test_standardize(threads: int) -> None:
    """Rows, columns (also in place) and everything: equal to NumPy's five passes bit for bit."""
    rows = standardize_kernel(Lanes.INNER, [("in", "f8", "s1"), ("out", "f8", "s1")])
    columns = standardize_kernel(Lanes.OUTER, [("in", "f8", "1s"), ("out", "f8", "1s")])
    whole = standardize_kernel(Lanes.INNER, [("in", "f8", "1"), ("out", "f8", "1")], outer_axes=0)
    for shape in ((2, 3), (37, 41), (5000, 16), (16, 5000), (300, 300)):
        x = values("f8", shape)
        out = RUN(rows, shape, [x, np.zeros(shape)], [float(shape[1])], threads=threads)[1]
        assert same(out, standardized(x, 1))
        out = RUN(columns, shape[::-1], [x.T, np.zeros(shape).T], [float(shape[0])], threads=threads)[1]
        assert same(out.T, standardized(x, 0))
        y = x.copy()
        RUN(columns, shape[::-1], [y.T, y.T], [float(shape[0])], threads=threads)
        assert same(y, standardized(x, 0))
        flat = x.ravel()
        out = RUN(whole, flat.shape, [flat, np.zeros(flat.shape)], [float(flat.size)], threads=threads)[1]
        assert same(out, standardized(flat, 0))


def test_column_scratch() -> None:
    """Scratch of a column reduction holds one block of columns."""
    first, second = Body(), Body()
    square = load(first, "f8", 0) * load(first, "f8", 0)
    share = load(second, "f8", 2) / second.emit("acc", "f8", attr=0)
    args = arguments([("in", "f8", "1s"), ("out", "f8", "1s"), ("scratch", "f8", "11")])
    phases = (inner(first, [fold("add", square)], {2: square}), inner(second, [], {1: share}))
    kernel = Kernel(1, 1, Lanes.OUTER, args, (), phases)
    for shape in ((3, 5), (50, 300), (20_000, 20), (7, 40_000)):
        x = values("f8", shape)
        for threads in (1, 2):
            out = np.zeros(shape)
            RUN(kernel, shape[::-1], [x.T, out.T], threads=threads)
            assert same(out, x * x / (x * x).sum(axis=0))


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


def test_libm_lanes() -> None:
    """A function with a branch for rare lanes works in loops and tails."""
    body = Body()
    x = load(body, "f8", 0)
    args = [("in", "f8", "1"), ("in", "f8", "1"), ("out", "f8", "1")]
    kernel = elementwise(body, args, {2: x.binary("fmod", load(body, "f8", 1))})
    for n in (1, 7, 8, 30):
        x0, y0 = values("f8", n) * 100, values("f8", n)
        assert same(RUN(kernel, (n,), [x0, y0, np.zeros(n)])[2], np.fmod(x0, y0))


@pytest.mark.parametrize("cpu", ("x86-64", "x86-64-v3"))
def test_other_processors(cpu: str) -> None:
    """Code for a CPU without AVX-512, and without AVX, gives the same bits."""
    if not BACKEND.compiler.triple.startswith("x86_64"):
        pytest.skip("needs an x86-64 host")
    run = KernelRunner(CpuBackend(cpu=cpu, features="+fma" if cpu.endswith("v3") else ""))
    x = values("f8", (300, 77))
    columns = standardize_kernel(Lanes.OUTER, [("in", "f8", "1s"), ("out", "f8", "1s")])
    out = run(columns, x.shape[::-1], [x.T, np.zeros_like(x).T], [300.0], threads=2)[1]
    assert same(out.T, standardized(x, 0))
    for dtype in ("f4", "c16", "i8"):
        y = values(dtype, 10_007)
        assert same(run(full_sum(dtype, "s"), (10_007,), [y, np.zeros((), dtype)])[1], y.sum())
    for dtype in ("b1", "u1", "i4", "c8"):
        body = Body()
        result = combined(load(body, dtype, 0), load(body, dtype, 1))
        args = [("in", dtype, "1"), ("in", dtype, "s"), ("out", dtype, "1")]
        kernel = elementwise(body, args, {2: result})
        for n in range(40):
            a, b = values(dtype, n), values(dtype, n)
            assert same(run(kernel, (n,), [a, b, np.zeros(n, dtype)])[2], combined_numpy(a, b))


def test_other_architecture() -> None:
    """The text compiles for 64-bit ARM where this LLVM has it."""
    try:
        compiler = Compiler(cpu="generic", features="", triple="aarch64-unknown-linux-gnu")
    except RuntimeError as error:
        pytest.skip(str(error))
    for kernel in (softmax_kernel(), full_sum("c8", "s"), column_kernel("f4", "maximum")):
        assert compiler.compile(emit(kernel, compiler.features))
    assert "neon" in feature_names("", "generic", "aarch64-unknown-linux-gnu")


def test_load_from_binary() -> None:
    """An executable made from object code gives the same results and the same source."""
    kernel = softmax_kernel()
    compiled = BACKEND.compile(kernel, "softmax")
    loaded = BACKEND.load(kernel, "softmax", compiled.binary)
    assert loaded.source == compiled.source
    x = BACKEND.from_host(values("f4", (6, 50)))
    outs = [BACKEND.allocate(x.nbytes) for _ in range(2)]
    for executable, out in zip((compiled, loaded), outs, strict=True):
        executable.bind((6, 50), ((50, 1), (50, 1)), (0, 0))([x, out], [], threads=1)
    assert same(*(BACKEND.to_host(out) for out in outs))


def test_offsets() -> None:
    """An offset in elements moves an argument."""
    body = Body()
    kernel = elementwise(body, [("in", "i2", "1"), ("out", "i2", "1")], {1: load(body, "i2", 0)})
    source, target = BACKEND.from_host(np.arange(20, dtype="i2")), BACKEND.allocate(40)
    BACKEND.to_host(target)[...] = 0
    launch = BACKEND.compile(kernel, "copy").bind((5,), ((1,), (1,)), (10, 2))
    launch([source, target], [], threads=1)
    assert BACKEND.to_host(target).view("i2").tolist() == [0, 0, 10, 11, 12, 13, 14] + [0] * 13


def test_unsupported_is_typed() -> None:
    """What cannot be spelled says so."""
    body = Body()
    kernel = column_kernel("c8", "maximum")
    with pytest.raises(Unsupported, match="maximum on c8"):
        BACKEND.compile(kernel, "none")
    assert BACKEND.supports("add", "f8") and not BACKEND.supports("add", "c8")
    assert not BACKEND.supports("no such", "f8") and body.instrs == []


def test_buffers_are_aligned_recycled_and_kept_alive() -> None:
    """A block comes back only when no view needs it."""
    pool = BufferPool(limit=1 << 20)
    buffer = CpuBuffer(pool.take(10_000), 10_000, pool)
    pointer, view = buffer.pointer, buffer.array
    assert pointer % 64 == 0 and view.nbytes == 10_000 and buffer.exclusive
    del buffer
    assert pool.held == 0
    del view
    assert pool.held == size_class(10_000)
    assert pool.take(9_900).pointer == pointer
    CpuBuffer(pool.take(2 << 20), 2 << 20, pool)
    assert pool.held == 0  # larger than the limit
    with pytest.raises(MemoryError):
        pool.take(1 << 60)


def test_borrowed_memory_is_shared() -> None:
    """`borrow` shares and is never exclusive; a read-only array stays read-only."""
    host = np.arange(4.0)
    buffer = BACKEND.from_host(host, borrow=True)
    host[0] = 7.0
    assert BACKEND.to_host(buffer).view("f8")[0] == 7.0 and not buffer.exclusive
    host.flags.writeable = False
    assert not BACKEND.to_host(BACKEND.from_host(host, borrow=True)).flags.writeable
    copy = BACKEND.from_host(host)
    assert copy.pointer != host.ctypes.data and copy.exclusive


def test_workers_raise_and_go_on() -> None:
    """What a helper raises reaches the caller; the workers serve the next call."""
    workers = Workers()
    caller = threading.get_ident()
    began = threading.Event()

    def fail() -> None:
        if threading.get_ident() == caller:
            assert began.wait(10)
        else:
            began.set()
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        workers.run(fail, 1)
    calls: list[int] = []
    workers.run(lambda: calls.append(1), 3)
    assert 1 <= len(calls) <= 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_workers_survive_a_fork() -> None:
    """A forked child starts workers of its own."""
    x = values("f8", 1_000_000)
    kernel, expected = full_sum("f8", "1"), x.sum()
    RUN(kernel, x.shape, [x, np.zeros(())], threads=2)
    child = os.fork()
    if child == 0:
        (_, out) = RUN(kernel, x.shape, [x, np.zeros(())], threads=2)
        os._exit(0 if out == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_launches_from_many_threads() -> None:
    """One launch object may run on several threads at once."""
    kernel = full_sum("f8", "1")
    arrays = [values("f8", 200_000) for _ in range(4)]
    outs = [np.zeros(()) for _ in arrays]
    threads = [
        threading.Thread(target=RUN, args=(kernel, x.shape, [x, out]), kwargs={"threads": 2})
        for x, out in zip(arrays, outs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(out, x.sum()) for x, out in zip(arrays, outs, strict=True))


def test_select_and_hoisting() -> None:
    """What depends on no lane is computed before the loop, with the same result."""
    body = Body()
    x, row = load(body, "f8", 0), load(body, "f8", 1)
    s = body.emit("scalar", "f8", attr=0)
    limit = (row * s).unary("sqrt")
    args = [("in", "f8", "s1"), ("in", "f8", "s0"), ("out", "f8", "s1")]
    kernel = elementwise(body, args, {2: select(x < limit, x, limit)}, ["f8"])
    x0, row0 = values("f8", (9, 21)), np.abs(values("f8", 9))
    (_, _, out) = RUN(kernel, (9, 21), [x0, row0, np.zeros((9, 21))], [2.0])
    assert same(out, np.minimum(x0, np.sqrt(row0 * 2.0)[:, None]))
    assert emit(kernel, frozenset()).count("@llvm.sqrt.v8f64(") == 2  # its declaration and one call
