"""What leaves the engine for NumPy: counted, announced once per line, refused when asked."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests.oracle import check, lf

pytestmark = pytest.mark.engine

#: Functions that no kernel and no recorded call does.
OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "unique": lambda a: lf.unique(a),
    "histogram": lambda a: lf.histogram(a),
    "linalg.svd": lambda a: lf.linalg.svd(a[None]),
    "numpy.unique": lambda a: host.unique(a),
    "scipy-like ufunc": lambda a: host.frompyfunc(lambda v: v, 1, 1)(a),
}


@pytest.fixture
def a() -> Any:
    return lf.asarray(host.array([2.0, 1.0, 3.0, 1.0]))


@pytest.mark.parametrize("name", OUTSIDE)
def test_refused(name: str, a: Any) -> None:
    """Nothing leaves the engine under fallback="error"; the message names the function."""
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError, match="is not native"):
        OUTSIDE[name](a)
    assert lf.stats().fallbacks == 0


def test_warned_once_per_line(a: Any) -> None:
    """One warning per line of the user, at that line; NumPy's own calls never warn."""
    with lf.options(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            lf.unique(a)
        host.unique(a)
        lf.intersect1d(a, a)
        lf.linalg.pinv(a[None])
    assert [item.category for item in caught] == [lf.FallbackWarning] * 4
    assert {item.filename for item in caught} == {__file__}
    assert len({item.lineno for item in caught}) == 4
    assert str(caught[0].message).startswith("unique runs through ")
    assert lf.stats().fallbacks == 6


#: Functions of NumPy's own Python code: what they do is recorded.
RECORDED: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda np, a: np.roll(a, 1),
    "pad": lambda np, a: np.pad(a, 2, mode="reflect"),
    "tile": lambda np, a: np.tile(a, (2, 3)),
    "cov": lambda np, a: np.cov(a.reshape(2, -1)),
    "kron": lambda np, a: np.kron(a, [1.0, 2.0]),
    "meshgrid": lambda np, a: np.meshgrid(a, [1.0, 2.0]),
    "select": lambda np, a: np.select([a > 1, a > 2], [a, -a]),
    "gradient": lambda np, a: np.gradient(a),
    "isclose": lambda np, a: np.isclose(a, 1.0),
    "average": lambda np, a: np.average(a),
    "linspace": lambda np, a: np.linspace(0, 1, 9),
    "norm": lambda np, a: np.linalg.norm(a),
    "einsum": lambda np, a: np.einsum("i,i->", a, a),
    "convolve": lambda np, a: np.convolve(a, a),
    "interp": lambda np, a: np.interp(a, [0.0, 5.0], [0.0, 1.0]),
    "argsort": lambda np, a: np.argsort(a + 1),
    "partition": lambda np, a: np.partition(a, 2),
    "repeat": lambda np, a: np.repeat(a, 3),
    "fftshift": lambda np, a: np.fft.fftshift(a),
    "r_": lambda np, a: np.r_[a, 1:4],
    "tril": lambda np, a: np.tril(a.reshape(2, -1)),
    "polyval": lambda np, a: np.polyval([1.0, 2.0, 3.0], a),
    "nansum": lambda np, a: np.nansum(a),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name: str) -> None:
    """The values are not read before the result is needed, and nothing leaves the engine."""
    values = host.random.default_rng(0).random(512)
    with lf.options(fallback="error"):
        found = RECORDED[name](lf, lf.asarray(values) * 2)
        assert lf.stats().bytes_read < values.nbytes
        lf.materialize(found)
    check(lambda np, x: RECORDED[name](np, x * 2), values, sums=True)


def test_numpys_code_is_fused(a: Any) -> None:
    """What NumPy's code does fuses with what is around it."""
    x = lf.asarray(host.arange(100_000.0))
    y = lf.isclose(x * 2, x + x).all()
    assert lf.explain(y).startswith("1 kernel ")
    assert bool(y)


def test_numbers_of_calls_by_name(a: Any) -> None:
    """The report says what left the engine and how often."""
    lf.unique(a)
    lf.unique(a)
    lf.median(a)
    text = lf.report()
    assert "unique" in text
    assert "2" in text


# ---- what comes back, and what is left alone


def subclasses(np: Any, a: Any) -> Any:
    """Masked arrays and matrices keep their class in functions of the namespace."""
    masked = host.ma.masked_greater(host.array([1.0, 5.0, 2.0]), 3)
    matrix = host.matrix([[1.0, 2.0], [3.0, 4.0]])
    results = [
        np.sum(masked), np.mean(masked), np.sqrt(masked), np.where(masked > 1, masked, 0.0),
        np.asanyarray(masked), masked + a, np.concatenate([masked, masked]), np.roll(masked, 1),
        np.sum(matrix, axis=0), matrix * matrix, np.asanyarray(matrix),
    ]  # fmt: skip
    plain = {"LazyArray": "ndarray", "LazyScalar": "float64"}
    kinds = [type(item).__name__ for item in results]
    return [plain.get(kind, kind) for kind in kinds], [
        host.ma.filled(item, -1.0) if isinstance(item, host.ma.MaskedArray) else np.asarray(item)
        for item in results
    ]


def test_subclasses_are_left_alone() -> None:
    """NumPy's subclasses have NumPy's results."""
    wanted = subclasses(host, host.ones(3))
    given = subclasses(lf, lf.ones(3))
    assert given[0] == wanted[0]
    for left, right in zip(wanted[1], given[1], strict=True):
        host.testing.assert_array_equal(host.asarray(left), host.asarray(right))


def test_only_numbers_are_wrapped() -> None:
    """Arrays of objects, strings, dates and records stay NumPy's."""
    for values in ([None, 1], ["a", "b"], [b"x"], host.array(["2026-01-01"], "M8[D]")):
        for function in (lf.array, lf.asarray, lf.atleast_1d, lf.ravel, lf.roll):
            args = (values, 1) if function is lf.roll else (values,)
            found = function(*args)
            assert type(found) is host.ndarray, function
    record = lf.zeros(3, dtype=[("x", "f8"), ("y", "i4")])
    assert type(record) is host.ndarray
    assert type(lf.zeros(2, host.longdouble)) is host.ndarray


def views_of_one_result(np: Any, s: Any) -> Any:
    """Results that are views of one new array write through each other."""
    rows, columns = np.nonzero(s)
    return rows, columns, rows.base is not None, np.linalg.eigvals(s).flags.owndata


def test_results_keep_their_memory_order() -> None:
    """A result of NumPy lies in memory as NumPy made it."""
    check(views_of_one_result, host.array([[4.0, 0.0], [1.0, 3.0]]))


def outputs(np: Any, m: Any) -> Any:
    """`out=` of functions that leave the engine is written and given back."""
    out = np.zeros(4)
    view = out[:2]
    same = np.median(m, axis=0, out=out) is out
    return out, view, same


def test_outputs_are_written() -> None:
    check(outputs, host.arange(12.0).reshape(3, 4))


def test_report_at_exit() -> None:
    """LAZYFUSE_REPORT=1 prints the report when the program ends."""
    program = "import lazyfuse as np; np.unique(np.arange(3)); print(np.roll(np.arange(3), 1))"
    environment = {**os.environ, "LAZYFUSE_REPORT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[2 0 1]\n"
    assert "1 calls left the engine for NumPy" in done.stderr
    assert done.stderr.endswith("\n  unique  1\n")


@pytest.mark.parametrize("size", (5, 5000, 50_000))
@pytest.mark.parametrize("name", ("asarray", "ascontiguousarray", "asfortranarray"))
def test_arrays_of_subclasses_can_be_written(name: str, size: int) -> None:
    """They are copies, as of NumPy's arrays; they were read-only."""
    values = host.arange(float(size))
    for source in (host.matrix(values), host.ma.array(values, mask=values > 3)):
        given = getattr(lf, name)(source)
        assert type(given) is lf.LazyArray
        given[..., 0] = 7.0
        wanted = getattr(host, name)(source).copy()
        wanted[..., 0] = 7.0
        host.testing.assert_array_equal(host.asarray(given), wanted)
        assert host.asarray(source).flat[0] == 0.0
