"""Programs that NumPy's own tests showed to be wrong, cut to their core."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle

GRID = host.arange(12.0).reshape(3, 4)
COUNTS = host.arange(6, dtype="i4").reshape(2, 3)


class Other:
    """An operand with arithmetic and a higher priority of its own."""

    __array_priority__ = 10.0

    def __rpow__(self, left: Any) -> str:
        return "rpow"

    def __radd__(self, left: Any) -> str:
        return "radd"


def holder(np: Any) -> Any:
    """An object whose `__array__` gives an array of the library under test."""

    class Holder:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

    return Holder()


class Foreign:
    """An array of another library, which answers for NumPy's functions itself."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> str:
        return str(function.__name__)


def resized(array: Any, *shape: Any) -> Any:
    """Resize an array of its own in place."""
    array.resize(*shape, refcheck=False)
    return array


# fmt: off
PROGRAMS: dict[str, oracle.Program] = {
    "zeros of strings": lambda np, f, i: np.zeros(2, "S").tolist(),
    "ones of objects": lambda np, f, i: np.ones(2, object).tolist(),
    "zeros_like strings": lambda np, f, i: np.zeros_like(host.array(["a"])).tolist(),
    "zeros_like NumPy's, its order": lambda np, f, i: np.zeros_like(host.ones((2, 3)).T),
    "full_like A, another shape": lambda np, f, i: np.full_like(f.T, 1, order="A", shape=(2, 2)),
    "full_like overflows": lambda np, f, i: np.full_like(i.astype("i1"), 300),
    "full wraps a scalar": lambda np, f, i: np.full(2, host.int64(300), "i1"),
    "empty of long doubles": lambda np, f, i: str(np.zeros(100, "g").dtype),
    "arange of long doubles": lambda np, f, i: np.arange(100, dtype="g").sum() == 4950,
    "eye of long doubles": lambda np, f, i: str(np.eye(3, dtype="g").mean(axis=1).dtype),
    "big-endian stays": lambda np, f, i: np.array([1.0, 2.0], ">f8").dtype.str,
    "astype big-endian stays": lambda np, f, i: f.astype(">f4").dtype.str,
    "big-endian meets native": lambda np, f, i: f + np.arange(4, dtype=">i4"),
    "order in lower case": lambda np, f, i: f.astype("f4", order="f"),
    "order None": lambda np, f, i: f.T.ravel(order=None),
    "unknown order": lambda np, f, i: f.astype("f4", order="Z"),
    "ravel K of reversed rows": lambda np, f, i: f[::-1].ravel(order="K"),
    "ravel K of every other": lambda np, f, i: f[0, ::2].ravel(order="K").flags.owndata,
    "round keeps the order": lambda np, f, i: np.round(i.T),
    "conjugate into an array": lambda np, f, i: (f + 1j).conjugate(np.empty((3, 4), complex)),
    "moveaxis with a range": lambda np, f, i: np.moveaxis(f, range(2), (1, 0)),
    "moveaxis, no such source": lambda np, f, i: np.moveaxis(f, 3, 0),
    "size along two axes": lambda np, f, i: np.size(f, (0, 1)),
    "size along no such axis": lambda np, f, i: np.size(f, 2),
    "reshape to a bool": lambda np, f, i: np.reshape(f, (True, -1)),
    "zeros of a bool": lambda np, f, i: np.zeros((True, 2)),
    "zeros far too long": lambda np, f, i: np.zeros(2**63),
    "byte order without a cast": lambda np, f, i: np.sin(host.ones(2, ">f8"), casting="no"),
    "reshape without a shape": lambda np, f, i: np.reshape(f),
    "clip without a_max": lambda np, f, i: np.clip(f, 1),
    "clip with both spellings": lambda np, f, i: np.clip(f, 1, 2, max=3),
    "astype of the same values": lambda np, f, i: f.astype("i2", casting="same_value"),
    "astype of other values": lambda np, f, i: (f + 0.5).astype("i2", casting="same_value"),
    "astype of no array": lambda np, f, i: np.astype([1, 2], float),
    "ddof and correction": lambda np, f, i: np.std(f, ddof=1, correction=1),
    "arange from a start alone": lambda np, f, i: np.arange(start=4),
    "arange, start given twice": lambda np, f, i: np.arange(3, start=2),
    "arange by keywords": lambda np, f, i: np.arange(start=1, stop=7, step=2),
    "putmask by keyword": lambda np, f, i: np.putmask(a=f, mask=f > 1, values=0.0),
    "matmul in place, too narrow": lambda np, f, i: f.__imatmul__(np.ones((4, 1))),
    "resize to no axes": lambda np, f, i: resized(np.ones(1), ()),
    "resize, a word for refcheck": lambda np, f, i: np.ones(1).resize(2, refcheck="yes"),
    "priority of the other operand": lambda np, f, i: (f ** Other(), f + Other()),
    "__array__ gives one of ours": lambda np, f, i: np.sin(holder(np)) + np.asarray(holder(np)),
    "another library's array": lambda np, f, i: (
        np.mean(Foreign()), np.histogram2d(f, Foreign()), np.where(f > 1, f, Foreign()),
    ),
    "long double and NaN": lambda np, f, i: np.nanmin(np.array([np.nan, 2.0], "g")) == 2,
}
# fmt: on


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    """The program does what it does with NumPy."""
    oracle.check(PROGRAMS[name], GRID, COUNTS)


def test_a_discarded_imaginary_part_is_warned_of() -> None:
    """At the call, as in NumPy; to bool nothing is discarded."""
    values = oracle.lf.array([1 + 2j])
    with pytest.warns(host.exceptions.ComplexWarning, match="imaginary part"):
        values.astype("f8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values.astype(bool)


@pytest.mark.engine
def test_a_ufunc_equals_numpys() -> None:
    """Tables of ufuncs find them under both modules; a pickle names the same one."""
    assert oracle.lf.add == host.add
    assert oracle.lf.add != host.subtract
    assert {host.add: 1}[oracle.lf.add] == 1
    assert pickle.loads(pickle.dumps(oracle.lf.add)) == host.add


@pytest.mark.engine
def test_signatures_are_numpys() -> None:
    """`inspect.signature` gives what it gives for NumPy's Python functions."""
    import inspect

    for name in ("sum", "mean", "std", "clip", "moveaxis", "amin", "nanmax"):
        ours, theirs = getattr(oracle.lf, name), getattr(host, name)
        assert inspect.signature(ours) == inspect.signature(theirs)


@pytest.mark.engine
def test_assertions_compute_once() -> None:
    """`lazyfuse.testing` computes both sides in one run, and NumPy's assertion decides."""
    from lazyfuse import testing

    values = oracle.lf.arange(1000.0)
    testing.assert_array_equal(values + 1, [values[1:] - 0, None][0].shape and values + 1)
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 1000"):
        testing.assert_equal(values, oracle.lf.where(values == 3, 0, values))
    testing.assert_raises(ValueError, lambda: values.reshape(3, 4))


@pytest.mark.parametrize("kind", (int, float))
def test_complex_scalars_become_real(kind: type) -> None:
    """With NumPy's warning at the line, also where they are pending; an array does not."""
    with oracle.lf.options(eager_size=0):
        values = oracle.lf.array([1 + 2j, 3 + 0j]) * 2
        for scalar in (values.sum(), values[0], values[:1].prod()):
            with pytest.warns(host.exceptions.ComplexWarning, match="imaginary part") as caught:
                assert kind(scalar) == kind(host.asarray(scalar).real)
            assert caught[0].filename == __file__
        with pytest.raises(TypeError, match="complex"):
            kind(oracle.lf.array(1j))
