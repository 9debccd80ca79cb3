"""The layout and summation order that lazyfuse predicts are those of the installed NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lazyfuse.ir import order

Array = np.ndarray[Any, Any]
EXTENTS = (0, 1, 1, 2, 3, 5, 7)


def layout(a: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and the strides in elements, as lazyfuse.ir.order takes them."""
    assert all(step % a.itemsize == 0 for step in a.strides)
    return a.shape, tuple(step // a.itemsize for step in a.strides)


def strides(a: Array) -> tuple[int, ...]:
    return layout(a)[1]


def random_view(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Array:
    """Return an array transposed, strided, reversed and broadcast at random, of random values."""
    ndim = len(shape)
    perm = rng.choice(
        [
            range(ndim),
            range(ndim)[::-1],
            rng.sample(range(ndim), ndim),
            rng.sample(range(ndim), ndim),
        ]
    )
    plain = rng.random() < 0.4
    steps = [1 if plain else rng.choice((1, 1, 1, 2, 3, -1, -1, -2, 0)) for _ in shape]
    base = [shape[axis] * (abs(steps[axis])) if steps[axis] else 1 for axis in perm]
    a = random_values(rng, math.prod(base), dtype).reshape(base).transpose(np.argsort(perm))
    for axis, step in enumerate(steps):
        if step == 0:
            a = np.broadcast_to(a, (*a.shape[:axis], shape[axis], *a.shape[axis + 1 :]))
        else:
            a = a[(slice(None),) * axis + (slice(None, None, step),)]
    assert a.shape == shape
    return a


def random_values(rng: random.Random, count: int, dtype: str) -> Array:
    """Return values of mixed magnitudes and signs, so that each order has its own sum."""
    generator = np.random.default_rng(rng.randrange(2**32))
    top = 3 if dtype == "f2" else 8
    values = generator.standard_normal((2, count)) * 10 ** generator.uniform(0, top, (2, count))
    if dtype == "?":
        return np.asarray(np.greater(values[0], 0))
    if np.dtype(dtype).kind == "c":
        return np.asarray(values[0] + 1j * values[1], dtype)
    return np.asarray(values[0].astype(dtype))


def random_shape(rng: random.Random, extents: Sequence[int] = EXTENTS) -> tuple[int, ...]:
    return tuple(rng.choice(extents) for _ in range(rng.randrange(6)))


def broadcast_part(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts to `shape`; most often `shape` itself."""
    if rng.random() < 0.6:
        return shape
    part = tuple(1 if rng.random() < 0.3 else extent for extent in shape)
    return part[rng.randrange(len(part) + 1) :]


def pairwise_sum(rows: Array) -> Array:
    """Return NumPy's pairwise sum (loops_utils.h.src) of each row, in the dtype of `rows`.

    Complex numbers count as two floats: half as many accumulators and half the block.
    """
    per = 2 if rows.dtype.kind == "c" else 1
    count = rows.shape[1]
    lanes = 8 // per
    if count > 128 // per:
        half = (count * per // 2) // 8 * 8 // per
        return pairwise_sum(rows[:, :half]) + pairwise_sum(rows[:, half:])
    total, done = np.full(len(rows), -0.0, rows.dtype), 0
    if count >= lanes:
        done = count - count % lanes
        acc = rows[:, :lanes].copy()
        for start in range(lanes, done, lanes):
            acc = acc + rows[:, start : start + lanes]
        while acc.shape[1] > 1:
            acc = acc[:, ::2] + acc[:, 1::2]
        total = acc[:, 0]
    for at in range(done, count):
        total = total + rows[:, at]
    return total


def reference_sum(a: Array, axes: tuple[int, ...], dtype: str | None = None) -> Array:
    """Return np.sum(a, axis=axes, dtype=dtype), in the order that reduction_order tells."""
    target = np.dtype(dtype or a.dtype)
    rows, how, out_shape = rows_of(a, axes, cast=target != a.dtype)
    rows = rows.astype(target)
    total = np.zeros(len(rows), target)
    for run in runs(rows, how, a.shape):
        total = add_run(total, run)
    return total.reshape(out_shape)


def rows_of(
    a: Array, axes: tuple[int, ...], *, cast: bool = False
) -> tuple[Array, order.ReductionOrder, tuple[int, ...]]:
    """Return every output's elements, a row each in summation order; the order; the shape."""
    how = order.reduction_order(*layout(a), axes, cast=cast)
    kept = [axis for axis in range(a.ndim) if axis not in axes]
    silent = [axis for axis in axes if axis not in how.axes]
    assert all(a.shape[axis] == 1 for axis in silent)
    out_shape = tuple(a.shape[axis] for axis in kept)
    count = math.prod(a.shape[axis] for axis in axes)
    moved = a.transpose(kept + silent + list(how.axes))
    return moved.reshape(math.prod(out_shape), count), how, out_shape


def runs(rows: Array, how: order.ReductionOrder, shape: tuple[int, ...]) -> list[Array]:
    """Cut every output's elements into the runs whose pairwise sums are added one by one."""
    count = rows.shape[1]
    if count == 0:
        return []
    span = (
        math.prod(shape[axis] for axis in how.axes[len(how.axes) - how.run_axes :])
        if how.pairwise
        else 1
    )
    chunk = how.chunk or span
    return [
        rows[:, at : min(at + chunk, start + span)]
        for start in range(0, count, span)
        for at in range(start, start + span, chunk)
    ]


def add_run(total: Array, run: Array) -> Array:
    """Add the pairwise sum of a run: float16 adds up in float32 and rounds once."""
    if run.dtype != np.float16:
        return total + pairwise_sum(run)
    return (total.astype("f4") + pairwise_sum(run.astype("f4"))).astype("f2")


def assert_same_bits(actual: Array, expected: Array) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert np.ascontiguousarray(actual).tobytes() == np.ascontiguousarray(expected).tobytes()


UFUNC_CALLS = {
    1: (np.negative, np.sqrt, lambda x: x + 1, lambda x: np.multiply(2.0, x)),
    2: (np.add, np.less, np.copysign),
    3: (np.clip,),
}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_ufunc_result_has_predicted_strides(seed: int, count: int) -> None:
    """One to three operands of one dtype, some of them broadcast."""
    rng = random.Random(seed * 10 + count)
    for _ in range(150):
        shape = random_shape(rng)
        parts = [shape] + [broadcast_part(rng, shape) for _ in range(count - 1)]
        rng.shuffle(parts)
        operands = [random_view(rng, part, "f8") for part in parts]
        expected = order.result_strides([layout(a) for a in operands], shape)
        for ufunc in UFUNC_CALLS[count]:
            with np.errstate(invalid="ignore"):
                result = np.asarray(ufunc(*operands))
            assert strides(result) == expected, [layout(a) for a in operands]


@pytest.mark.parametrize("seed", range(10))
def test_nditer_result_has_predicted_strides(seed: int) -> None:
    """np.where, two outputs, and operands that need a cast never take the trivial loop."""
    rng = random.Random(seed)
    for _ in range(150):
        shape = random_shape(rng)
        a, c = random_view(rng, shape, "i4"), random_view(rng, broadcast_part(rng, shape), "f8")
        b = random_view(rng, shape, "?")
        pair = [layout(a), layout(c)]
        expected = order.result_strides(pair, shape, trivial=a.ndim == 0)
        assert strides(np.asarray(np.add(a, c))) == expected
        assert strides(
            np.asarray(np.divmod(c, np.broadcast_to(3.0, shape))[1])
        ) == order.result_strides([layout(c)], shape, trivial=False)
        triple = order.result_strides([layout(b), *pair], shape, trivial=False)
        assert strides(np.where(b, a, c)) == triple


@pytest.mark.parametrize("seed", range(10))
def test_copy_has_predicted_strides(seed: int) -> None:
    """astype, np.copy and empty_like share NumPy's other K order."""
    rng = random.Random(seed)
    for _ in range(300):
        a = random_view(rng, random_shape(rng), "f8")
        expected = order.copy_strides(*layout(a))
        for copy in (a.astype("f4"), np.copy(a), np.empty_like(a), np.zeros_like(a, dtype="i2")):
            assert strides(copy) == expected, layout(a)


@pytest.mark.parametrize("seed", range(5))
def test_contiguity_is_numpys_flag(seed: int) -> None:
    """Contiguity follows the relaxed rule; new arrays have c_strides or f_strides."""
    rng = random.Random(seed)
    for _ in range(300):
        a = random_view(rng, random_shape(rng), "f8")
        assert order.is_contiguous(*layout(a)) == a.flags.c_contiguous
        assert order.is_f_contiguous(*layout(a)) == a.flags.f_contiguous
        assert order.c_strides(a.shape) == strides(np.empty(a.shape))
        assert order.f_strides(a.shape) == strides(np.empty(a.shape, order="F"))


DTYPES: list[tuple[str, str | None]] = [
    ("f4", None),
    ("f8", None),
    ("c8", None),
    ("c16", None),
    ("f2", None),
]
DTYPES += [("f4", "f8"), ("i4", "f8"), ("f2", "f4"), ("?", "f4"), ("f8", "c16"), ("f8", "f4")]
LONG = (
    1,
    2,
    3,
    7,
    8,
    9,
    63,
    64,
    65,
    128,
    129,
    130,
    700,
    4096,
    4097,
    8191,
    8192,
    8193,
    9000,
    17000,
)


def random_sum_shape(rng: random.Random) -> tuple[int, ...]:
    """Return a shape of at most 60,000 elements around the lengths at which the order changes."""
    while True:
        extents = rng.choice([EXTENTS, LONG, (1, 2, 3, 9, 33), (2, 3, 17, 100)])
        shape = random_shape(rng, extents)
        if math.prod(shape) <= 60_000:
            return shape


def random_axes(rng: random.Random, ndim: int) -> tuple[int, ...]:
    if rng.random() < 0.4:
        return tuple(range(ndim))
    return tuple(sorted(rng.sample(range(ndim), rng.randrange(ndim + 1))))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dtype", "accumulator"), DTYPES)
def test_sum_follows_reduction_order(seed: int, dtype: str, accumulator: str | None) -> None:
    """Sums over random axes of random layouts equal the reference, with and without keepdims."""
    rng = random.Random(f"{seed} {dtype} {accumulator}")
    for _ in range(60):
        a = random_view(rng, random_sum_shape(rng), dtype)
        axes = random_axes(rng, a.ndim)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = np.sum(a, axis=axes, dtype=accumulator)
            kept = np.sum(a, axis=axes, dtype=accumulator, keepdims=True)
            actual = reference_sum(a, axes, accumulator)
        assert_same_bits(actual, np.asarray(expected))
        assert_same_bits(kept.reshape(actual.shape), actual)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction_result_has_predicted_strides(seed: int, keepdims: bool) -> None:
    """Sums, extremes and means allocate their result in the order of the operand's strides."""
    rng = random.Random(seed)
    for _ in range(100):
        a = random_view(rng, random_shape(rng, (1, 1, 2, 3, 5, 7)), rng.choice(["f4", "i4"]))
        axes = random_axes(rng, a.ndim)
        expected = order.reduction_strides(*layout(a), axes, keepdims=keepdims)
        for method in (a.sum, a.max, a.any, a.mean):
            assert strides(np.asarray(method(axis=axes, keepdims=keepdims))) == expected


@pytest.mark.parametrize("dtype", ["?", "i4", "f2", "f4", "f8", "c8", "c16"])
def test_mean_and_var_are_compositions(dtype: str) -> None:
    """The compositions of the module docstring give the bits of np.mean and np.var."""
    rng = random.Random(dtype)
    for _ in range(40):
        a = random_view(rng, random_shape(rng, (1, 2, 3, 9, 33)), dtype)
        axes = random_axes(rng, a.ndim)
        with np.errstate(all="ignore"):
            assert_same_bits(composed_mean(a, axes), np.asarray(a.mean(axis=axes)))
            assert_same_bits(composed_var(a, axes), np.asarray(a.var(axis=axes)))


def composed_mean(a: Array, axes: tuple[int, ...]) -> Array:
    """Return a.mean(axis=axes) from a sum and a division by an intp: the division is in f8."""
    wide = {"f": "f4" if a.dtype == np.float16 else a.dtype, "c": a.dtype}.get(a.dtype.kind, "f8")
    total = reference_sum(a, axes, np.dtype(wide).str[1:])
    mean = total / np.intp(math.prod(a.shape[axis] for axis in axes))
    if a.dtype != np.float16 or total.ndim == 0:
        return np.asarray(mean, a.dtype if a.dtype.kind in "fc" else "f8")
    return np.asarray(mean, "f4").astype("f2")


def composed_var(a: Array, axes: tuple[int, ...]) -> Array:
    """Return a.var(axis=axes); an f2 stays f2, and the deviations are added up in their layout."""
    wide = a.dtype.str[1:] if a.dtype.kind in "fc" else "f8"
    count = np.intp(math.prod(a.shape[axis] for axis in axes))
    mean = laid_out(reference_sum(a, axes, wide) / count, a, axes).astype(wide)
    x = np.asarray(np.subtract(a, mean, out=...))
    square = x.real * x.real + x.imag * x.imag if a.dtype.kind == "c" else x * x
    x = x.real
    x[...] = square
    return np.asarray(reference_sum(x, axes) / count, x.dtype)


def laid_out(result: Array, a: Array, axes: tuple[int, ...]) -> Array:
    """Return a result of reducing `a` with keepdims, in the layout that NumPy would allocate."""
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(a.shape))
    steps = order.reduction_strides(*layout(a), axes, keepdims=True)
    memory = np.empty(result.size, result.dtype)
    shaped = np.lib.stride_tricks.as_strided(memory, kept, [s * result.itemsize for s in steps])
    shaped[...] = result.reshape(kept)
    return shaped


STRIDED = {
    "rows of a buffer": ((9, 1000), (3000, 2), (0, 1), False, (True, (0, 1), 2, 8000)),
    "one run of all axes": ((3, 4, 5), (20, 5, 1), (0, 1, 2), False, (True, (0, 1, 2), 3, 0)),
    "Fortran order": ((3, 4, 5), (1, 3, 12), (0, 1, 2), False, (True, (2, 1, 0), 3, 0)),
    "kept inner axis": ((30, 4), (4, 1), (0,), False, (False, (0,), 0, 0)),
    "inner extent 1": ((30, 1), (1, 1), (0,), False, (True, (0,), 1, 0)),
    "cast, long": ((20_000,), (1,), (0,), True, (True, (0,), 1, 8192)),
    "cast, long rows": ((2, 20_000), (20_000, 1), (1,), True, (True, (1,), 1, 8192)),
    "cast, all axes": ((2, 20_000), (20_000, 1), (0, 1), True, (True, (0, 1), 2, 8192)),
    "long rows, gaps": ((3, 5000), (6000, 1), (0, 1), False, (True, (0, 1), 1, 0)),
    "reversed": ((3, 5), (-5, -1), (0, 1), False, (True, (0, 1), 2, 0)),
}


@pytest.mark.parametrize("name", STRIDED)
def test_reduction_order_of(name: str) -> None:
    """The rules of the module docstring, one example each."""
    shape, steps, axes, cast, expected = STRIDED[name]
    assert order.reduction_order(shape, steps, axes, cast=cast) == expected


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_sum_starts_from_positive_zero(dtype: str) -> None:
    """A sum of -0.0, pairwise or not, is +0.0."""
    zeros = -np.zeros((20, 3), dtype)
    for total in (zeros.sum(), zeros.sum(axis=0), zeros.sum(axis=1), zeros[:0].sum(axis=0)):
        assert not np.signbit(np.asarray(total).real).any()


def multiply(a: Array, b: Array, *, in_run: bool) -> Array:
    """Return a * b; complex by the plain formula in a run, elsewhere fused as in np.multiply."""
    if a.dtype.kind != "c" or not in_run:
        return np.asarray(np.multiply(a, b))
    result = np.empty_like(a)
    result.real = a.real * b.real - a.imag * b.imag
    result.imag = a.real * b.imag + a.imag * b.real
    return result


def reference_prod(a: Array, axes: tuple[int, ...]) -> Array:
    """Return a.prod(axis=axes): from 1, one by one; float16 rounds once per run."""
    rows, how, out_shape = rows_of(a, axes)
    total = np.ones(len(rows), a.dtype)
    wide = "f4" if a.dtype == np.float16 else a.dtype
    for run in runs(rows, how, a.shape):
        partial = total.astype(wide)
        for column in run.astype(wide).T:
            partial = multiply(partial, column, in_run=how.pairwise)
        total = partial.astype(a.dtype)
    return total.reshape(out_shape)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_prod_multiplies_one_by_one(dtype: str) -> None:
    """A product folds its elements in the order of `axes`."""
    rng = random.Random(dtype)
    for _ in range(150):
        shape = random_shape(rng, (1, 2, 3, 9))
        a = random_view(rng, shape, dtype)
        with np.errstate(all="ignore"):
            a = np.add(a / (1 + abs(a)), 1, dtype=dtype)
            axes = random_axes(rng, a.ndim)
            assert_same_bits(reference_prod(a, axes), np.asarray(a.prod(axis=axes)))
