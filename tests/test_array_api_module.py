"""`lazyfuse.array_api`: all results are arrays, and their values those of `lazyfuse`."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no such module", allow_module_level=True)

from lazyfuse import array_api as xp  # noqa: E402 - when there is an engine

lf = oracle.lf
pytestmark = pytest.mark.engine
#: Small arrays, which are NumPy's, and others.
SIZES = (5, 20_000)
BINARY = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
ON_INTEGERS = "and_ or_ xor lshift rshift floordiv".split()


@pytest.fixture(params=SIZES, autouse=True)
def size(request: pytest.FixtureRequest) -> Any:
    with lf.options(eager_size=1000):
        yield request.param


def values(size: int, dtype: str = "f8") -> host.ndarray:
    return host.random.default_rng(3).uniform(1, 9, size).astype(dtype)


def check(found: Any, wanted: Any) -> None:
    """An array of the values that lazyfuse has."""
    assert type(found) is xp.Array
    theirs = host.asarray(wanted)
    assert (found.dtype, found.shape) == (theirs.dtype, theirs.shape)
    host.testing.assert_array_equal(host.asarray(found), theirs)


@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str, size: int) -> None:
    """With arrays, elements, numbers and arrays of NumPy's, on either side."""
    apply, given = getattr(operator, name), values(size)
    a, x = xp.asarray(given), lf.asarray(given)
    for other in (2.5, 2, host.float64(3.0), given):
        check(apply(a, other), apply(x, other))
        check(apply(other, a), apply(other, x))
    check(apply(a, a[1]), apply(x, x[1]))
    check(apply(a[0], a[1]), apply(x[:1], x[1:2])[0])


@pytest.mark.parametrize("name", ON_INTEGERS)
def test_operators_on_integers(name: str, size: int) -> None:
    apply, given = getattr(operator, name), values(size, "i8")
    a, x = xp.asarray(given), lf.asarray(given)
    check(apply(a, 2), apply(x, 2))
    check(apply(3, a), apply(3, x))
    check(apply(a, a[0]), apply(x, x[0]))


def test_matrices_and_one_operand(size: int) -> None:
    given = values(size)
    a, x = xp.asarray(given), lf.asarray(given)
    check(a @ a, x @ x)
    check(xp.reshape(a, (5, -1)) @ xp.reshape(a, (-1, 5)), x.reshape(5, -1) @ x.reshape(-1, 5))
    for apply in (operator.neg, operator.pos, abs):
        check(apply(a - 4), apply(x - 4))
    check(~(a > 3), ~(x > 3))


@pytest.mark.parametrize("function", ["exp", "log1p", "sin", "tanh", "expm1", "sqrt"])
def test_elements_have_the_bits_of_arrays(function: str, size: int) -> None:
    a = xp.asarray(values(size))
    whole = host.asarray(getattr(xp, function)(a))
    assert [float(getattr(xp, function)(a[k])) for k in range(5)] == whole[:5].tolist()


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np, x: np.sum(x),
    "mean of an axis": lambda np, x: np.mean(np.reshape(x, (5, -1)), axis=0),
    "arithmetic of results": lambda np, x: (np.max(x) - np.min(x)) / 2 + np.std(x),
    "an element": lambda np, x: np.sqrt(x[2]) + x[0] * 2,
    "concat": lambda np, x: np.concat([x, x[:2]]),
    "stack of elements": lambda np, x: np.stack([x[0], x[1]]),
    "where": lambda np, x: np.where(x > 3, x, 0.0),
    "a mask": lambda np, x: x[x > 3],
    "places": lambda np, x: np.take(x, np.asarray([2, 0])),
    "norm": lambda np, x: np.linalg.norm(x),
    "det": lambda np, x: np.linalg.det(np.reshape(x[:4], (2, 2))),
    "fft": lambda np, x: np.fft.fft(x),
    "any": lambda np, x: np.any(x > 3),
    "argmax": lambda np, x: np.argmax(x),
    "methods": lambda np, x: x.reshape((5, -1)).sum(axis=1).T,
    "astype": lambda np, x: np.astype(x, np.float32),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, size: int) -> None:
    program, given = FUNCTIONS[name], values(size)
    check(program(xp, xp.asarray(given)), program(lf, lf.asarray(given)))


def test_several_results(size: int) -> None:
    a = xp.asarray([3, 1, 3])
    found = xp.unique_counts(a)
    check(found.values, [1, 3])
    check(found.counts, [1, 2])
    (places,) = xp.nonzero(a)
    check(places, [0, 1, 2])
    check(xp.broadcast_arrays(a, a[0])[1], [3, 3, 3])
    assert [type(each) for each in a] == [xp.Array] * 3


def test_bounds_may_be_left_out(size: int) -> None:
    """NumPy's own wants both, by position."""
    a = xp.asarray([1, 5, 9])
    check(xp.clip(a, 3), [3, 5, 9])
    check(xp.clip(a, max=6), [1, 5, 6])
    check(xp.clip(a, 2, xp.asarray(4)), [2, 4, 4])


def test_writes(size: int) -> None:
    """In place: other names of the memory see it; what a number is added to is the same array."""
    x = lf.asarray(values(size))
    a = xp.asarray(x)
    a += 1
    a[1], a[a > 9] = xp.asarray(7.0), 0.0
    x[2] = 5.0
    check(a, x)
    assert host.asarray(a)[[1, 2]].tolist() == [7.0, 5.0]
    number = a[1]
    again = number
    again += 2
    assert float(number) == float(again) == 9.0 and float(a[1]) == 7.0
    other = copy.copy(a)
    other[0] = -1
    assert float(a[0]) != -1
    total = xp.sum(a) * 2
    total[...] = 4.0  # a number that is pending
    assert float(total) == 4.0


def test_numbers_and_text(size: int) -> None:
    a = xp.asarray([2, 3])
    assert (int(a[0]), float(a[1]), complex(a[1]), bool(a[0]), len(a)) == (2, 3.0, 3 + 0j, True, 2)
    assert [10, 11, 12][a[0]] == 12 and 3 in a and f"{a[0]:03d}" == "002"
    assert repr(a) == "Array([2, 3])" and repr(a[0]) == "Array(2)" and str(a[0]) == "2"
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_what_libraries_ask(size: int) -> None:
    a = xp.asarray(values(size))
    assert a.__array_namespace__() is xp and a[0].__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="version"):
        a.__array_namespace__(api_version="2001.01")
    assert (a.device, a[0].shape, a.ndim, a.size) == (lf.asarray(1.0).device, (), 1, size)
    assert xp.isdtype(a.dtype, "real floating") and xp.result_type(a, 1) == host.float64
    assert xp.float32 is host.float32 and xp.pi == host.pi and xp.newaxis is None
    assert {"asarray", "sum", "linalg", "fft", "clip"} <= {*dir(xp)}
    assert "cpu" in xp.__array_namespace_info__().devices()
    check(xp.from_dlpack(a), a)
    host.testing.assert_array_equal(host.from_dlpack(a), host.asarray(a))
    check(pickle.loads(pickle.dumps(a)), a)
    assert type(lf.asarray(a)) is lf.ndarray and type(host.exp(a)) is xp.Array
    for name in ("no_such_name", "_value", "__wrapped__"):
        with pytest.raises(AttributeError):
            getattr(xp, name)


def test_errors_are_those_of_arrays(size: int) -> None:
    a = xp.asarray(values(size))
    with pytest.raises(IndexError, match="out of bounds"):
        a[size]
    with pytest.raises(ValueError, match="broadcast"):
        a + xp.asarray([1, 2])
    with pytest.raises(AttributeError, match="no_such"):
        _ = a.no_such


def test_values_are_sorted(size: int) -> None:
    """Of NumPy, too, which leaves the order of `unique_values` open; libraries count on one."""
    given = host.random.default_rng(1).integers(0, 50, size)
    for array in (given, lf.asarray(given)):
        found = lf.unique_values(array)
        assert type(found) is lf.ndarray and found.tolist() == host.unique(given).tolist()
    check(xp.unique_values(xp.asarray(given)), host.unique(given))
    nans = lf.unique_values([host.nan, 1.0, host.nan])
    host.testing.assert_array_equal(nans, [1.0, host.nan, host.nan])


def test_outputs_are_given_back(size: int) -> None:
    """Whosever arrays they are: a variable of NumPy's became an Array."""
    a, h, own = xp.ones(size), host.zeros(size), lf.zeros(size)
    kept = h, own
    h += a
    own += a
    assert (h is kept[0], own is kept[1]) == (True, True)
    assert host.add(h, a, out=h) is h and host.add(a, 1, out=a) is a
    assert h.tolist()[:2] == [2.0, 2.0] and own.tolist()[:2] == [1.0, 1.0]
    number = xp.asarray(0.0)
    assert xp.sum(a, out=number) is number and float(number) == 2.0 * size
    whole, rest = host.divmod(a, 3, out=(None, h))
    assert type(whole) is xp.Array and rest is h


def test_classes_of_others(size: int) -> None:
    """Masks were lost; a class derived from Array called itself without end."""
    masked = host.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for found in (xp.ones(3) + masked, masked + xp.ones(3), xp.add(xp.ones(3), masked)):
        assert type(found) is host.ma.MaskedArray and found.mask.tolist() == [False, True, False]

    class Named(xp.Array):  # type: ignore[misc,name-defined]  # a class that is Any
        __slots__ = ()

    named = Named(lf.ones(3))
    for found in (host.exp(named) - 1, xp.ones(3) + named - 1, xp.add(named, 0)):
        assert type(found) is xp.Array and found.shape == (3,)


def test_the_module(size: int) -> None:
    """All names, in every way to ask for them, and functions that are pickled."""
    names: dict[str, Any] = {}
    exec("from lazyfuse.array_api import *", names)
    assert {"Array", "sum", "linalg"} <= {*names} and not {"np", "sys"} & {*names}
    check(names["copy"]([1, 2]), [1, 2])
    import lazyfuse.array_api.linalg as linalg
    from lazyfuse.array_api.fft import fft

    assert linalg is xp.linalg and fft is xp.fft.fft and xp.__array_api_version__ == "2025.12"
    for function in (xp.sum, xp.exp, xp.linalg.norm):
        assert pickle.loads(pickle.dumps(function)) is function
    check(pickle.loads(pickle.dumps(xp.ones(3), 0)), host.ones(3))
    assert "sum" in dir(xp.ones(3)) and "Array" in dir(xp)
    check(xp.Array([1, 2]), [1, 2])
    check(divmod(xp.asarray([5, 7]), 2)[0], [2, 3])
    check(divmod(9, xp.asarray([5, 7]))[1], [4, 2])


def test_dtypes_that_the_standard_wants(size: int) -> None:
    """Bounds do not change it, and frequencies have one."""
    bounds = xp.asarray(2), xp.asarray(3)
    check(xp.clip(xp.asarray([1, 5], dtype=xp.int8), *bounds), host.array([2, 3], "i1"))
    check(xp.fft.rfftfreq(4, d=0.5, dtype=xp.float32), host.fft.rfftfreq(4, 0.5).astype("f4"))
    check(xp.fft.fftfreq(5, device="cpu"), host.fft.fftfreq(5))
