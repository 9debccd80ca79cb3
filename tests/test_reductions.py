"""Reductions equal NumPy bit for bit, summation order included, for every layout, axis and
keyword.
"""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle
from tests.corpus import DTYPES, LAYOUTS

#: Around 8 partial sums, blocks of 128, the 8192 elements of NumPy's buffer, and SIMD widths.
BOUNDARIES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 127, 128, 129, 135, 136, 255, 256, 257, 1000, 1023)
LONG_BOUNDARIES = (8191, 8192, 8193, 16384, 16391, 65536, 100003)
SUMS = ("sum", "prod", "mean", "var", "std")
OTHERS = ("min", "max", "any", "all", "argmin", "argmax", "count_nonzero")
REDUCTIONS = (*SUMS, *OTHERS)
SHAPES = (
    (6, 1),
    (1, 7),
    (5, 130),
    (130, 5),
    (3, 4, 5),
    (2, 1, 300),
    (17, 3, 1),
    (1, 1, 1),
    (4, 129, 2),
)


def _values(dtype: str, *shape: int) -> Any:
    """Return values whose sum shows its order; integers stay small enough for `prod` to say
    something.
    """
    size = int(host.prod(shape))
    if dtype in ("f2",):
        return (corpus.random_values("f4", size) / 64).astype(dtype).reshape(shape)
    return corpus.random_values(dtype, size).reshape(shape)


def _axes(ndim: int) -> list[Any]:
    axes: list[Any] = [None, *range(ndim), -1]
    if ndim > 2:
        axes += [(0, 1), (0, 2), (1, 2), (-1, 0), tuple(range(ndim))]
    return axes


def _reduce(np: Any, name: str, x: Any, **keywords: Any) -> Any:
    try:
        return getattr(np, name)(x, **keywords)
    except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
        return corpus.refusal(raised)


def _ulp(dtype: str) -> float:
    """Complex products and magnitudes are fused by NumPy where the machine can."""
    return 64 if dtype in corpus.COMPLEX else 0


def _check(program: Any, *arrays: Any, ulp: float = 0) -> None:
    oracle.check(program, *arrays, ulp=ulp, zero_sign=False, sums=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis(shape: tuple[int, ...], dtype: str, full: bool) -> None:
    """Each reduction over one axis, several, and all."""
    if not full and (SHAPES.index(shape) + DTYPES.index(dtype)) % 2:
        pytest.skip("every other shape for a dtype: all with --full")

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {
            f"{name} axis={axis}": _reduce(np, name, x, axis=axis)
            for name in REDUCTIONS
            for axis in _axes(len(shape))
            if not (isinstance(axis, tuple) and name.startswith("arg"))
        }

    _check(program, _values(dtype, *shape), ulp=_ulp(dtype))


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8", "c8", "c16", "i4", "u1", "?"))
def test_lengths_of_a_row(dtype: str) -> None:
    """The blocks of NumPy's pairwise sum, at the lengths where a block begins or ends."""

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {f"{name} {n}": _reduce(np, name, x[:n]) for n in BOUNDARIES for name in REDUCTIONS}

    _check(program, _values(dtype, 1024), ulp=_ulp(dtype))


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8", "c16"))
@pytest.mark.parametrize("length", LONG_BOUNDARIES)
def test_long_rows(length: int, dtype: str) -> None:
    """Lengths beyond NumPy's buffer and beyond one thread's share."""
    x = _values(dtype, length)
    if oracle.ON_GPU and dtype[0] == "f":
        x = abs(x)  # what cancels has few digits left, other ones in another order
    _check(
        lambda np, x: [np.sum(x), np.mean(x), np.sum(x[::2]), np.sum(x[::-1])], x, ulp=_ulp(dtype)
    )
    _check(lambda np, x: [np.sum(x * x), np.sum(x + 1, axis=0), np.var(x)], x, ulp=_ulp(dtype))


@pytest.mark.parametrize("dtype", ("f4", "f8", "i2", "?", "c8"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, dtype: str) -> None:
    """The order of a sum follows the strides: C, Fortran, strided, reversed, broadcast."""
    values = _values(dtype, 40, 133)

    def program(np: Any, base: Any) -> dict[str, Any]:
        x = LAYOUTS[layout].view(np, base)
        axes = _axes(x.ndim)
        results = {
            f"{n} {a}": _reduce(np, n, x, axis=a) for n in ("sum", "mean", "std") for a in axes
        }
        results |= {f"computed {a}": _reduce(np, "sum", x + x, axis=a) for a in axes}
        return results | {f"{n} {a}": _reduce(np, n, x, axis=a) for n in OTHERS for a in axes}

    _check(program, LAYOUTS[layout].prepare(values), ulp=_ulp(dtype))


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_three_axes_in_every_order(dtype: str) -> None:
    """A transposed 3-D array is summed in the order of its memory, as NumPy sorts its axes."""
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {
            f"{order} {axis}": np.transpose(x, order).sum(axis=axis)
            for order in orders
            for axis in _axes(3)
        }

    _check(program, _values(dtype, 9, 20, 131))


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_axes_of_one_element(dtype: str) -> None:
    """Axes of length 1 and axes that NumPy merges do not change the order of a sum."""

    def program(np: Any, x: Any) -> dict[str, Any]:
        views = [
            x.reshape(shape)
            for shape in ((300, 1, 40), (1, 300, 40), (300, 40, 1), (12000, 1), (1, 12000))
        ]
        return {f"{v.shape} {axis}": v.sum(axis=axis) for v in views for axis in _axes(v.ndim)}

    _check(program, _values(dtype, 12000))


@pytest.mark.parametrize("dtype", DTYPES)
def test_keepdims_and_dtype(dtype: str) -> None:
    """`keepdims` keeps axes of length 1; `dtype` sets the accumulator; small integers widen
    without it.
    """

    def program(np: Any, x: Any) -> dict[str, Any]:
        results = {
            f"{n} keep {a}": _reduce(np, n, x, axis=a, keepdims=True)
            for n in REDUCTIONS
            for a in _axes(2)
        }
        for name in ("sum", "prod", "mean"):
            for target in ("f8", "f4", "i8", "i1", "c16", "f2"):
                if target in ("f8", "c16") or x.dtype.kind in "iub":
                    results[f"{name} {target}"] = _reduce(np, name, x, axis=0, dtype=target)
        return results

    values = corpus.special_values(dtype) if dtype in corpus.BOOL else _values(dtype, 36)
    if host.dtype(dtype).kind in "fc":
        values = (abs(values) % 3).astype(dtype)
    _check(program, host.resize(values, (4, 9)), ulp=_ulp(dtype))


@pytest.mark.parametrize("dtype", ("f8", "f4", "i4", "?"))
def test_where_and_initial(dtype: str) -> None:
    """`where=` leaves elements out, `initial=` starts the fold."""
    mask = host.random.default_rng(0).random((11, 140)) < 0.4

    def program(np: Any, x: Any, m: Any) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for axis in _axes(2):
            for name in ("sum", "prod", "any", "all"):
                results[f"{name} where {axis}"] = _reduce(np, name, x, axis=axis, where=m)
            for name in ("min", "max"):
                results[f"{name} where {axis}"] = _reduce(
                    np, name, x, axis=axis, where=m, initial=1
                )
                results[f"{name} initial {axis}"] = _reduce(np, name, x, axis=axis, initial=5)
            for name in ("mean", "var", "std"):
                results[f"{name} where {axis}"] = _reduce(np, name, x, axis=axis, where=m)
            results[f"sum initial {axis}"] = _reduce(np, "sum", x, axis=axis, initial=3)
            results[f"max no initial {axis}"] = _reduce(np, "max", x, axis=axis, where=m)
        results["row mask"] = x.sum(axis=0, where=m[:, :1])
        return results

    _check(program, _values(dtype, 11, 140), mask)


@pytest.mark.parametrize("ddof", (0, 1, 2, 0.5, 7))
def test_ddof(ddof: float) -> None:
    """`ddof` lowers the divisor of var and std, down to zero and below."""

    def program(np: Any, x: Any) -> list[Any]:
        return [f(x, axis=a, ddof=ddof) for f in (np.var, np.std) for a in (None, 0, 1)]

    for dtype in ("f8", "f4", "i4"):
        _check(program, _values(dtype, 6, 7))


def test_out() -> None:
    """`out=` receives the result, is returned, and may be the input's own row."""

    def program(np: Any, x: Any, o: Any) -> list[Any]:
        result = np.sum(x, axis=0, out=o)
        np.max(x, axis=1, out=x[:, 0])
        x.mean(axis=0, out=x[1])
        return [result is o, result + 1]

    _check(program, _values("f8", 9, 9), host.zeros(9))
    _check(lambda np, x, o: np.sum(x, axis=0, out=o), _values("f8", 4, 5), host.zeros(5, "f4"))
    _check(lambda np, x, o: np.sum(x, axis=0, out=o), _values("f8", 4, 5), host.zeros(4))
    _check(lambda np, x, o: np.sum(x, axis=0, out=o), _values("f8", 4, 5), host.zeros(5, "i4"))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_empty(name: str) -> None:
    """An empty fold gives the identity, or ValueError where there is none, at the call."""
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3)):

        def program(np: Any, x: Any) -> list[Any]:
            return [_reduce(np, name, x, axis=a) for a in _axes(len(shape))]  # noqa: B023

        _check(program, host.zeros(shape))


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8"))
def test_nan_and_infinities(dtype: str) -> None:
    """NaN propagates through min, max, sum; argmin and argmax point at the first one (pitfall
    P32).
    """
    values = _values(dtype, 8, 70)
    values[1, 5], values[2, 69], values[2, 3] = host.nan, host.nan, host.nan
    values[3, 7], values[4, 9], values[4, 10] = host.inf, -host.inf, host.inf
    values[5], values[6] = -0.0, 7.0

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {f"{n} {a}": _reduce(np, n, x, axis=a) for n in REDUCTIONS for a in (None, 0, 1)}

    _check(program, values)


@pytest.mark.parametrize("dtype", ("i1", "i8", "u8", "f4", "?", "c8"))
def test_arg_reductions_take_the_first(dtype: str) -> None:
    """Among equal candidates argmin and argmax give the first, whatever the layout or the number
    of threads.
    """
    values = host.resize(host.array([3, 1, 1, 3, 2, 1, 3], dtype), (500, 40))

    def program(np: Any, x: Any) -> list[Any]:
        views = (x, x.T, x[::-1], x[:, ::3], x[5:6])
        return [f(v, axis=a) for v in views for f in (np.argmin, np.argmax) for a in (None, 0, 1)]

    _check(program, values)
    _check(
        lambda np, x: [x.argmax(axis=1, keepdims=True), x.argmin(axis=0, keepdims=True)], values
    )


def test_methods_and_functions_agree() -> None:
    """A reduction is a method, a function and a ufunc's `reduce`."""

    def program(np: Any, x: Any) -> list[Any]:
        methods = [
            x.sum(),
            x.prod(0),
            x.min(1),
            x.max(),
            x.any(),
            x.all(0),
            x.mean(1),
            x.var(),
            x.std(0),
        ]
        methods += [
            x.argmin(),
            x.argmax(1),
            x.sum((0, 1)),
            np.amax(x),
            np.amin(x, 0),
            np.ptp(x),
            x.ptp(),
        ]
        return methods

    def known(np: Any, x: Any) -> list[Any]:
        folds = [np.add.reduce(x), np.multiply.reduce(x, axis=1), np.maximum.reduce(x, axis=None)]
        folds += [np.logical_and.reduce(x), np.bitwise_or.reduce(x.astype("i4"), axis=1)]
        return [*folds, np.amax(x), np.amin(x, 0), np.ptp(x)]

    values = _values("f8", 6, 9) / 64
    _check(lambda np, x: program(np, x)[:11], values)
    _check(known, values)


def test_reduction_of_a_reduction() -> None:
    """Folds of folds, and folds mixed with elementwise work, keep the order of each sum."""

    def program(np: Any, x: Any) -> list[Any]:
        rows = x.sum(axis=1)
        centred = x - x.mean(axis=1, keepdims=True)
        return [
            rows.sum(),
            (rows * rows).mean(),
            centred.sum(axis=0),
            np.sqrt((centred**2).sum(axis=1)),
            x.max(1).min(),
        ]

    for dtype in ("f4", "f8"):
        _check(program, _values(dtype, 37, 211))


def test_sum_over_a_huge_inner_axis_in_modes() -> None:
    """A sum has the same bits with one thread and two, fused and not, cut and cached."""
    x = corpus.random_values("f4", 300_001)
    oracle.check_modes(
        lambda np, x: [(x * 2 + 1).sum(), x.max(), x.argmin(), x.mean()], x, sums=True
    )
    tall = corpus.random_values("f8", 120_000).reshape(-1, 4)
    oracle.check_modes(
        lambda np, x: [(x * 2 + 1).sum(axis=0), x.std(0), x.sum(1)], tall, sums=True
    )


def test_half_precision_mean() -> None:
    """float16 means accumulate in float32; integer and bool sums widen (pitfall P37)."""
    _check(lambda np, x: [np.mean(x), np.sum(x), np.var(x)], host.ones(70_000, "f2"))
    _check(lambda np, x: [x.sum(), x.mean(), x.prod()], host.full(1000, 100, "i1"))
    _check(lambda np, x: [x.sum(), x.mean(), (x == 3).sum()], host.full(1000, 255, "u1"))


def test_sums_of_counted_indices() -> None:
    """A pairwise sum over two axes whose operand counts along them (a triangle from `arange`):
    its run cannot be one loop, so it goes through memory.
    """

    def program(np: Any, x: Any) -> Any:
        n, m = x.shape
        i, j = np.arange(n), np.arange(m)
        lower = np.where(i[:, None] >= j, x, 0)
        weighted = x * (i[:, None] * 2.5 + j)
        flat = x + np.arange(n * m).reshape(n, m)
        return [
            lower.sum(), weighted.sum(), flat.sum(), np.triu(x, 1).mean(), lower.sum(0),
            lower.sum(1), (x[None] + j).sum((1, 2)), (x - i[:, None]).sum() + x.sum(),
        ]  # fmt: skip

    rng = host.random.default_rng(3)
    for shape in ((8, 8), (130, 140), (300, 7), (1, 500)):
        oracle.check_modes(program, rng.random(shape), sums=True)
