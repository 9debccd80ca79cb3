"""Small arrays of other libraries: NumPy is asked at once, with the objects themselves, and all is
as it is with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.python_calls import python_calls

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = pytest.mark.cpu("NumPy computes it")


class Labelled:
    """Like a Series of pandas: it decides on ufuncs, and has no functions."""

    __array_priority__ = 1000

    def __init__(self, values: Any) -> None:
        self.values = host.asarray(values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> host.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [each.values if isinstance(each, Labelled) else each for each in inputs]
        return Labelled(getattr(ufunc, method)(*plain, **kwargs))


class Deciding(Labelled):
    """One that decides on functions as well."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__


class OfOurs(Labelled):
    """One that is made of an array of ours, which NumPy refuses."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return lf.asarray(self.values)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    with lf.options(eager_size=1000):
        yield


VALUES = host.array([0.5, 2.0, 1.0, 2.0])

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "unique": lambda np, s, x: np.unique(s),
    "diff": lambda np, s, x: np.diff(s),
    "asarray": lambda np, s, x: np.asarray(s),
    "array": lambda np, s, x: np.array(s, dtype="f4"),
    "append": lambda np, s, x: np.append(s, 1),
    "hstack": lambda np, s, x: np.hstack([s, s]),
    "where": lambda np, s, x: np.where(x > 1, s, 0),
    "interp": lambda np, s, x: np.interp(x, s, s),
    "corrcoef": lambda np, s, x: np.corrcoef(s, s),
    "dot": lambda np, s, x: np.dot(s, x),
    "zeros_like": lambda np, s, x: np.zeros_like(s),
    "array_equal": lambda np, s, x: np.array_equal(s, x),
    "searchsorted": lambda np, s, x: np.searchsorted(s, 1.5),
    "percentile": lambda np, s, x: np.percentile(s, 50),
    "argwhere": lambda np, s, x: np.argwhere(s),
    "tile": lambda np, s, x: np.tile(s, 2),
    "refused": lambda np, s, x: np.linalg.norm(s, axis=4),
    "key": lambda np, s, x: x[Labelled([1, 0])],
    "mask": lambda np, s, x: x[Labelled(host.array([True, False, True, False]))],
    "keys": lambda np, s, x: np.reshape(x, (2, 2))[Labelled([1]), 0],
    "no key": lambda np, s, x: x[s],
    "empty key": lambda np, s, x: x[Labelled([])],
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys(name: str) -> None:
    oracle.check(lambda np, x: CALLS[name](np, Labelled(VALUES), x), VALUES)


#: Python functions that a call may take; it took 60 to 160.
_FEW = 45


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"refused", "no key", "empty key"}))
def test_it_is_computed_at_once(name: str) -> None:
    x, s = lf.array(VALUES), Labelled(VALUES)
    CALLS[name](lf, s, x)
    lf.reset_stats()
    found = CALLS[name](lf, s, x)
    lf.materialize(*(each for each in [found] if isinstance(each, oracle.LAZY)))
    done = lf.stats()
    assert done.kernels_launched == done.fallbacks == done.unfused == 0


@pytest.mark.parametrize("ufunc", ["sqrt", "exp", "isnan", "maximum"])
def test_ufuncs_are_its_class(ufunc: str) -> None:
    """Its `__array_ufunc__` is given NumPy's ufunc, at little cost."""
    s, function = Labelled(VALUES), getattr(lf, ufunc)
    args = (s, 2.0)[: function.nin]
    assert type(function(*args)) is Labelled
    assert not host.any(function(*args).values != getattr(host, ufunc)(VALUES, *args[1:]))
    calls = python_calls(lambda: function(*args))
    assert len(calls) < _FEW and "_run" not in calls
    assert lf.add.reduce(s).values == VALUES.sum()


class Several(Labelled):
    """Its results are NumPy's own."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [each.values if isinstance(each, Labelled) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def test_arrays_that_ufuncs_give_are_ours() -> None:
    s = Several(VALUES)
    assert isinstance(lf.sqrt(s), lf.LazyArray)
    assert all(isinstance(each, lf.LazyArray) for each in lf.divmod(s, 2.0))
    assert type(lf.add(s, s, dtype="f4")) is lf.LazyArray


def test_ufuncs_into_an_array() -> None:
    s, out = Several(VALUES), lf.zeros(4)
    assert lf.sqrt(s, out=out) is out
    assert out.tolist() == host.sqrt(VALUES).tolist()


def test_results_are_not_its_memory() -> None:
    s = Labelled(VALUES.copy())
    x = lf.asarray(s)
    x[0] = 9.0
    s.values[1] = 8.0
    assert s.values[0] == 0.5 and x[1] == 2.0
    assert lf.diff(s, 0) is s


def test_it_decides_on_functions() -> None:
    s = Deciding(VALUES)
    assert (lf.sum(s), lf.concatenate([s, s]), lf.unique(s)) == ("sum", "concatenate", "unique")
    assert lf.where(lf.array([True]), s, s) == "where"


def test_large_ones_are_recorded() -> None:
    s = Labelled(host.arange(5000.0))
    lf.reset_stats()
    found = lf.diff(s)
    assert lf.stats().kernels_launched == 0 and found.sum() == 4999
    assert lf.stats().kernels_launched == 1


def test_a_fallback_is_told() -> None:
    s = Labelled(VALUES)
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError):
        lf.sqrt(s)
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError):
        lf.unique(s)


def test_what_gives_arrays_of_ours() -> None:
    s = OfOurs(VALUES)
    for _ in range(2):
        assert lf.diff(s).tolist() == host.diff(VALUES).tolist()
        assert lf.hstack([s, s]).shape == (8,)
        assert lf.arange(4.0)[OfOurs(host.array([1, 2]))].tolist() == [1.0, 2.0]


def test_fuse_records() -> None:
    s = Labelled(VALUES)

    @lf.fuse
    def program(x: Any) -> Any:
        return lf.where(x > 1, s, x)

    for _ in range(2):
        assert program(lf.array(VALUES)).tolist() == VALUES.tolist()
