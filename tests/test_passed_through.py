"""Objects of NumPy that are lazyfuse's too work with LazyArrays: masked arrays, polynomials,
iterators, text, functions of functions.
"""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests.oracle import check, lf


def masked(np: Any, m: Any) -> Any:
    found = np.ma.masked_where(m > 3, m)
    total = np.ma.sum(found, axis=0)
    return np.ma.filled(total, -1.0), np.ma.getmaskarray(found), np.ma.array(m, mask=m < 0).mean()


def polynomials(np: Any, m: Any) -> Any:
    fitted = np.polynomial.Polynomial.fit(m[0], m[1], 1)
    p = np.polynomial.Polynomial(m[0])
    series = np.polynomial.chebyshev.chebval(m[1], m[0])
    old = np.poly1d(m[0])
    return (
        np.round(fitted.convert().coef, 9), p(m[1]), (p * p).coef, series, old(m[1]),
        (old * old).coeffs, old.deriv()(2.0),
    )  # fmt: skip


def iterators(np: Any, m: Any) -> Any:
    pairs = [(index, float(value)) for index, value in np.ndenumerate(m)]
    both = [float(x) * float(y) for x, y in np.nditer([m, m.T.reshape(3, 4)])]
    shapes = np.broadcast(m, m[0]).shape, np.broadcast_shapes(m.shape, (4,))
    flat = [float(value) for value in m.flat]
    with np.nditer([m, None]) as step:
        for x, out in step:
            out[...] = x * 2
        doubled = np.asarray(step.operands[1])
    return pairs, both, shapes, flat, doubled, list(np.ndindex(*m.shape))


def written_iterators(np: Any, m: Any) -> Any:
    a, b, c = m[0] * 1, m[1] * 1, m[2] * 1
    with np.nditer(a, op_flags=["readwrite"]) as step:
        for x in step:
            x[...] = 2 * x
    for x, y in np.nditer([b, c], op_flags=[["readwrite"], ["readonly"]]):
        x[...] += y
    step = np.nditer(m[:, ::2], ["multi_index"], [["writeonly"]])
    while not step.finished:
        step[0] = 10 * step.multi_index[0] + step.multi_index[1]
        step.iternext()
    buffered = np.nditer(c, ["external_loop", "buffered"], [["readwrite"]], buffersize=2)
    with buffered:
        sizes = [len(x) for x in buffered]
    return a, b, c, m, sizes, step.itersize


def of_functions(np: Any, m: Any) -> Any:
    twice = np.vectorize(lambda x, y: x * 2 + y, otypes=[float])
    rows = np.vectorize(lambda row: row.sum(), signature="(n)->()")
    hypot = np.frompyfunc(lambda x, y: (x * x + y * y) ** 0.5, 2, 1)
    return (
        np.asarray(twice(m, 1.0)), np.asarray(rows(m)), np.asarray(hypot(m, m), float),
        np.apply_along_axis(np.sort, 1, m), np.apply_along_axis(lambda v: v.max() - v, 0, m),
        np.apply_over_axes(np.sum, m, (0, 1)), np.fromfunction(lambda i, j: i * 3 + j, (2, 3)),
        np.piecewise(m, [m < 0, m >= 0], [lambda v: -v, lambda v: v * 2]),
    )  # fmt: skip


def matrices(np: Any, m: Any) -> Any:
    matrix = np.matrix(m)
    return np.asarray(matrix * matrix.T), np.asarray(np.bmat([[m, m]])), type(matrix + m).__name__


def complex_math(np: Any, m: Any) -> Any:
    return np.emath.sqrt(m), np.emath.log10(m[0] + 10), np.emath.power(m, 2)


def text(np: Any, m: Any) -> Any:
    with np.printoptions(precision=2, suppress=True):
        short = str(m / 3), repr(m / 3), np.array2string(m / 3, separator=", ")
    threshold = np.get_printoptions()["threshold"]
    return short, str(m), repr(m.T), threshold, np.format_float_positional(float(m[0, 0]))


def characters(np: Any, m: Any) -> Any:
    names = np.array(["one", "two"])
    upper = np.strings.upper(names)
    records = np.rec.fromarrays([m[0], m[1]], names="x,y")
    return upper.tolist(), np.char.add(names, "!").tolist(), float(records.x.sum())


def tricks(np: Any, m: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(m, 2, axis=1)
    columns = np.lib.stride_tricks.as_strided(m[0], (2, 4), (0, 8))
    return windows.sum(axis=-1), columns, np.lib.array_utils.normalize_axis_index(-1, 2)


def errors(np: Any, m: Any) -> Any:
    with np.errstate(all="ignore"):
        quotient = m / 0
    kept = np.geterr()["divide"]
    return quotient, kept, np.exceptions.AxisError.__name__, np.dtypes.Float64DType().itemsize


PROGRAMS = [
    masked, polynomials, iterators, written_iterators, of_functions, matrices, complex_math, text,
    characters, tricks, errors,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Any) -> None:
    """The program gives what it gives with NumPy."""
    values = host.arange(12.0).reshape(3, 4) - 4.5
    check(program, values, strides=False, ulp=4 if program is complex_math else 0)


@pytest.mark.engine
def test_numpys_functions_are_ours() -> None:
    """A function of NumPy's, also of a submodule, that is called on a LazyArray is recorded."""
    x = lf.asarray(host.arange(6.0))
    with lf.options(fallback="error"):
        found = [
            host.roll(x, 1), host.linalg.norm(x), host.fft.rfft(x), host.pad(x, 1), host.sort(x),
            host.einsum("i,i", x, x), host.add(x, x), host.matmul(x, x),
            host.linalg.det(x[:4].reshape(2, 2)),
        ]  # fmt: skip
    assert {type(item) for item in found} <= {lf.LazyArray, lf.LazyScalar}


@pytest.mark.engine
def test_view_as_an_array() -> None:
    """`x.view(np.ndarray)` and `x.view(type(x))` are views, as in NumPy."""
    check(
        lambda np, m: (m.view(np.ndarray)[0].fill(7), m.view(type(m))[1].fill(8), m), host.eye(3)
    )
