"""Operands of other libraries decide on operators, ufuncs and functions, as they do with NumPy's
arrays; those that know nothing of LazyArray are given NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf

VALUES = host.array([3.0, 1.0, 4.0, 1.0, 5.0])


class Strict:
    """An array that knows NumPy's arrays and itself alone, as dask's and sparse's do."""

    def __init__(self, values: Any) -> None:
        self.values = host.asarray(values)

    def _own(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(self._own, value))
        return value.values if isinstance(value, Strict) else value

    @staticmethod
    def _knows(values: Any) -> bool:
        known = (Strict, host.ndarray, host.generic, int, float, list, tuple)
        return all(type(value) in known or isinstance(value, host.generic) for value in values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not self._knows((*inputs, *kwargs.get("out", ()))) or method != "__call__":
            return NotImplemented
        out = kwargs.pop("out", None)
        given = {} if out is None else {"out": tuple(map(self._own, out))}
        found = ufunc(*map(self._own, inputs), **kwargs, **given)
        return found if out is not None else _wrapped(found)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        flat = [item for arg in args for item in (arg if isinstance(arg, list) else [arg])]
        if not self._knows(flat):
            return NotImplemented
        return _wrapped(function(*map(self._own, args), **kwargs))


class Refusing(Strict):
    """One that raises TypeError instead, as those of polars and awkward do."""

    @staticmethod
    def _knows(values: Any) -> bool:
        if not Strict._knows(value.values if isinstance(value, Strict) else value
                             for value in values):  # fmt: skip
            raise TypeError("what is this?")
        return True


class Methods:
    """An array that overrides ufuncs, and functions by its methods alone, as those of pandas and
    xarray do; it takes any array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = [value.values if isinstance(value, Methods) else value for value in inputs]
        return Methods(getattr(ufunc, method)(*own, **kwargs))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return host.array(self.values, dtype)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return Methods(self.values.cumsum(axis))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return "mine"

    def searchsorted(self, v: Any, side: Any = None, sorter: Any = None) -> Any:
        return type(v).__name__

    def clip(self, low: Any, high: Any, out: Any = None) -> Any:
        return Methods(self.values.clip(low, high))


def _wrapped(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_wrapped, value))
    return Strict(value)


def _plain(value: Any) -> Any:
    """What a result is: its kind, and its values."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Strict | Methods):
        return type(value).__name__, host.asarray(value.values).tolist()
    is_array = isinstance(value, lf.LazyArray | host.ndarray)
    return ("array" if is_array else type(value).__name__), host.asarray(value).tolist()


def _in_place(array: Any, other: Any) -> Any:
    before = array
    array += other
    return array, before


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "multiply": operator.mul, "power": operator.pow, "less": operator.lt,
    "equal": operator.eq, "divmod": divmod, "floor": operator.floordiv, "in place": _in_place,
    "reflected": lambda array, other: other - array,
    "reflected power": lambda array, other: other**array,
    "reflected divmod": lambda array, other: divmod(other, array),
    "matmul": operator.matmul, "reflected matmul": lambda array, other: other @ array,
    "scalar": lambda array, other: array[0] * other,
    "sum": lambda array, other: array.sum() + other,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "ufunc": lambda np, array, other: np.add(array, other),
    "ufunc first": lambda np, array, other: np.hypot(other, array),
    "numpy's ufunc": lambda np, array, other: host.arctan2(array, other),
    "where": lambda np, array, other: np.where(array > 2, other, array),
    "concatenate": lambda np, array, other: np.concatenate([array, other]),
    "stack": lambda np, array, other: np.stack([other, array]),
    "dot": lambda np, array, other: np.dot(array, other),
    "matmul": lambda np, array, other: np.matmul(array, other),
    "isclose": lambda np, array, other: np.isclose(other, array),
    "numpy's where": lambda np, array, other: host.where(array > 2, other, array),
    "interp": lambda np, array, other: np.interp(array, np.sort(VALUES), other),
}


@pytest.mark.parametrize("kind", [Strict, Refusing])
@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_the_others(name: str, size: int, kind: type) -> None:
    with lf.options(eager_size=size):
        for _ in range(3):
            given = OPERATORS[name](lf.array(VALUES), kind(VALUES + 1))
            wanted = OPERATORS[name](VALUES.copy(), kind(VALUES + 1))
            assert _plain(given) == _plain(wanted)


@pytest.mark.parametrize("kind", [Strict, Refusing])
@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_others(name: str, size: int, kind: type) -> None:
    with lf.options(eager_size=size):
        given = FUNCTIONS[name](lf, lf.array(VALUES), kind(VALUES + 1))
        wanted = FUNCTIONS[name](host, VALUES.copy(), kind(VALUES + 1))
    assert _plain(given) == _plain(wanted)


@pytest.mark.parametrize("wrapped", [host.array, lf.array], ids=["NumPy's", "ours"])
def test_methods_are_the_functions(wrapped: Any) -> None:
    """NumPy's functions call methods of what they are given; arrays inside stay as they are."""
    other = Methods(wrapped(VALUES))
    assert _plain(lf.cumsum(other)) == ("Methods", VALUES.cumsum().tolist())
    assert lf.mean(other) == "mine"
    assert _plain(lf.clip(other, 1, 3)) == ("Methods", VALUES.clip(1, 3).tolist())
    assert _plain(lf.add.reduce(other)) == ("Methods", float(VALUES.sum()))
    assert _plain(lf.add.accumulate(other)) == ("Methods", VALUES.cumsum().tolist())
    assert _plain(lf.array(VALUES) * other) == ("Methods", (VALUES * VALUES).tolist())
    assert lf.searchsorted(other, lf.array(VALUES)) == "LazyArray"
    assert type(lf.cumsum(other).values) is type(other.values)
    assert _plain(lf.sort(other)) == ("array", host.sort(VALUES).tolist())
    assert _plain(lf.where(other > lf.array(2.0), 1, 0)) == ("array", [1, 0, 1, 0, 1])


def test_one_that_takes_no_ufuncs() -> None:
    """`__array_ufunc__ = None`: its reflected operators, and an error in place."""

    class Without:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "mine"

    x = lf.array(VALUES)
    assert x + Without() == "mine"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        x += Without()
    assert (host.asarray(x) == VALUES).all()


def test_an_array_with_an_index_is_no_integer() -> None:
    """dask's arrays have an `__index__`; as a key they are what `__array__` gives."""

    class Indexed(Methods):
        ndim = 1

        def __index__(self) -> int:
            raise TypeError("more than one element")

    keys = [host.array([0, 2]), host.array([True, False, True, False, False])]
    for size in (0, 65536):
        with lf.options(eager_size=size):
            for key in keys:
                x = lf.array(VALUES)
                assert host.asarray(x[Indexed(key)]).tolist() == VALUES[key].tolist()
                x[Indexed(key)] = 7
                assert (host.asarray(x)[key] == 7).all()


def _libraries() -> dict[str, Callable[[Any], Any]]:
    """How libraries make an array of NumPy's; of those that are installed."""
    made: dict[str, Callable[[Any], Any]] = {}
    try:
        import pandas as pd

        made |= {"Series": pd.Series, "Index": pd.Index}
    except ImportError:
        pass
    try:
        import xarray as xr

        made |= {"Variable": lambda values: xr.Variable("x", values)}
        made |= {"DataArray": lambda values: xr.DataArray(values, dims="x")}
    except ImportError:
        pass
    try:
        import dask.array as da

        made["dask"] = lambda values: da.from_array(values, chunks=3)
    except ImportError:
        pass
    try:
        import sparse

        made["sparse"] = sparse.COO.from_numpy
    except ImportError:
        pass
    return made


LIBRARIES = _libraries()


@pytest.mark.parametrize("library", LIBRARIES or [pytest.param("", marks=pytest.mark.skip)])
@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
def test_installed_libraries(library: str, size: int) -> None:
    programs: dict[str, Callable[[Any, Any, Any], Any]] = {
        "+": lambda np, a, o: a + o, "r-": lambda np, a, o: o - a, "<": lambda np, a, o: a < o,
        "==": lambda np, a, o: a == o, "exp": lambda np, a, o: np.exp(o),
        "maximum": lambda np, a, o: np.maximum(a, o), "cumsum": lambda np, a, o: np.cumsum(o),
        "mean": lambda np, a, o: np.mean(o), "round": lambda np, a, o: np.round(o, 1),
        "clip": lambda np, a, o: np.clip(o, 1, 3), "take": lambda np, a, o: np.take(o, [0, 1]),
        "where": lambda np, a, o: np.where(a > 2, o, a), "any": lambda np, a, o: np.any(o),
        "reduce": lambda np, a, o: np.add.reduce(o), "max": lambda np, a, o: np.max(o),
        "concatenate": lambda np, a, o: np.concatenate([a, o]),
    }  # fmt: skip
    make = LIBRARIES[library]
    with lf.options(eager_size=size, fallback="silent"):
        for name, program in programs.items():
            given = _outcome(program, lf, lf.array(VALUES), make(VALUES + 1))
            wanted = _outcome(program, host, VALUES.copy(), make(VALUES + 1))
            assert given == wanted, name


def _outcome(program: Any, np: Any, array: Any, other: Any) -> Any:
    try:
        found = program(np, array, other)
    except Exception as error:  # noqa: BLE001  # libraries raise any
        return type(error).__name__
    kind = type(found)
    is_ours = isinstance(found, lf.LazyArray | host.ndarray | host.generic)
    if hasattr(found, "compute"):
        found = found.compute()
    if hasattr(found, "todense"):
        found = found.todense()
    return "array" if is_ours else kind.__name__, host.asarray(found).tolist()


class Reflecting(host.ndarray):
    """A class derived from NumPy's with some operators of its own, which go first."""

    def __rmul__(self, other: Any) -> Any:
        return "mine"

    def __radd__(self, other: Any) -> Any:
        return NotImplemented

    def __eq__(self, other: object) -> Any:
        return "equal"

    def __gt__(self, other: Any) -> Any:
        return "greater"


TABLE = [[1.0, 0.0], [3.0, 4.0]]
KINDS: dict[str, Callable[[], Any]] = {
    "matrix": lambda: host.matrix(TABLE),
    "masked": lambda: host.ma.array(TABLE, mask=[[0, 1], [0, 0]]),
    "own operators": lambda: host.array(TABLE).view(Reflecting),
    "csr_array": lambda: pytest.importorskip("scipy.sparse").csr_array(TABLE),
    "csr_matrix": lambda: pytest.importorskip("scipy.sparse").csr_matrix(TABLE),
}


@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
@pytest.mark.parametrize("kind", KINDS)
def test_operators_of_subclasses_and_sparse_matrices(kind: str, size: int) -> None:
    with lf.options(eager_size=size, fallback="silent"):
        for name, program in OPERATORS.items():
            given = _seen(
                lambda np, run=program: run(np.array([[5.0, 6], [7, 8]]), KINDS[kind]()), lf
            )
            wanted = _seen(
                lambda np, run=program: run(np.array([[5.0, 6], [7, 8]]), KINDS[kind]()), host
            )
            assert given == wanted, name


def test_functions_of_sparse_matrices() -> None:
    """Which are no arrays, but have methods that NumPy calls."""
    sparse = pytest.importorskip("scipy.sparse").csr_array(TABLE)
    for name in ("sum", "max", "min", "mean"):
        assert float(getattr(lf, name)(sparse)) == float(getattr(host, name)(sparse))


def test_an_argument_that_numpy_does_not_ask() -> None:
    """The positions of `take`: what their `__array__` gives."""

    class Positions(Strict):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

    for size in (0, 65536):
        with lf.options(eager_size=size):
            found = lf.take(lf.array(VALUES), Positions([1, 2]))
            assert _plain(found) == ("array", VALUES[[1, 2]].tolist())


def _seen(program: Any, np: Any) -> Any:
    """What a program gives: kinds and values; or its error."""
    try:
        return _kinds(program(np))
    except Exception as error:  # noqa: BLE001  # any
        return type(error).__name__, str(error).replace("LazyArray", "numpy.ndarray")


def _kinds(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_kinds(item) for item in value]
    kind = type(value).__name__.replace("LazyArray", "ndarray")
    dense = value.toarray() if hasattr(value, "toarray") else value
    return kind, repr(host.asarray(dense).tolist())


class Records(host.ndarray):
    """Records of a class derived from NumPy's, which decides on functions."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__, sorted(kwargs)


@pytest.mark.parametrize("name", ["concatenate", "dstack", "apply_along_axis"])
def test_classes_derived_from_numpys_decide(name: str) -> None:
    """They were given keywords that nobody wrote, or NumPy's code came before they were asked."""
    records = host.zeros(3, dtype=[("a", "f8")]).view(Records)
    given: Any = (len, 0, records) if name == "apply_along_axis" else ([records, records],)
    found = getattr(lf, name)(*given)
    assert found == getattr(host, name)(*given) == (name, [])


class Named(host.ndarray):
    """An array of a class derived from NumPy's that decides nothing."""


SUBCLASSED: dict[str, Callable[[Any, Any], Any]] = {
    "operators": lambda q, x: (q + x, x + q, q * x > x, -q / x, q**x),
    "in place": lambda q, x: operator.iadd(q, x),
    "two results": lambda q, x: divmod(q, x),
    "rows": lambda q, x: q[:, None] - x,
    "of integers": lambda q, x: q.astype(int) << x.astype(int),
    "a small and a large": lambda q, x: host.tile(q, 90_000).view(Named)[-5:] + x,
    "of other shapes": lambda q, x: q + x[1:],
    "of other dtypes": lambda q, x: operator.iadd(q.astype(int), x),
}


@pytest.mark.parametrize("name", SUBCLASSED)
def test_small_arrays_beside_those_of_derived_classes(name: str) -> None:
    """What they give is NumPy's to compute; it is written where that says so."""
    program = SUBCLASSED[name]

    def run(np: Any) -> Any:
        q = VALUES.copy().view(Named)
        try:
            found = program(q, np.array(VALUES[::-1]))
        except Exception as error:  # noqa: BLE001  # any
            return type(error).__name__, str(error)
        return _kinds(found), found is q, q.tolist()

    assert run(lf) == run(host)


@pytest.mark.parametrize("size", (5, 50_000))
def test_objects_that_decide_are_asked_after_they_have_been_arrays(size: int) -> None:
    """That `asarray` has made an array of ours of an object says nothing of functions."""

    class Own:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return lf.arange(float(size))

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return f"mine: {function.__name__}"

    own = Own()
    with lf.options(eager_size=1000):
        for _ in range(2):
            assert [lf.sum(own), lf.sort(own), lf.std(own), lf.linalg.norm(own)] == [
                "mine: sum", "mine: sort", "mine: std", "mine: norm",
            ]  # fmt: skip
            assert lf.asarray(own).shape == (size,)


class Decides:
    """An object that says what functions of NumPy's make of it, and could be an array."""

    shape, ndim, dtype = (4, 4), 2, host.dtype(float)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> str:
        return f"its own {function.__name__}"

    def __array__(self, dtype: Any = None, copy: Any = None) -> host.ndarray:
        return host.eye(4)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.linalg.det(x),
        lambda np, x: np.lib.stride_tricks.sliding_window_view(x, (3, 3)),
        lambda np, x: np.lib.stride_tricks.sliding_window_view(
            x, window_shape=(3, 3), axis=(0, 1)
        ),
        lambda np, x: np.lib.stride_tricks.sliding_window_view(x=x, window_shape=(3, 3)),
    ],
)
def test_functions_that_others_decide_on(call: Any) -> None:
    assert call(lf, Decides()) == call(host, Decides())


def test_they_get_what_was_given() -> None:
    class Narrow:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return len(args), dict(kwargs)

    for np in (lf, host):
        windows = np.lib.stride_tricks.sliding_window_view
        assert windows(Narrow(), 2) == (2, {}) and windows(Narrow(), 2, axis=0) == (2, {"axis": 0})


@pytest.mark.parametrize("make", [lambda a: host.ma.array(a), lambda a: host.matrix(a)])
def test_strides_of_numpys_classes(make: Any) -> None:
    given = make([1.0, 2.0, 3.0])
    for np in (lf, host):
        tricks = np.lib.stride_tricks
        assert lf.asnumpy(tricks.as_strided(given, (2,), (8,))).tolist() == [1.0, 2.0]
    if isinstance(given, host.ma.MaskedArray):
        found = lf.lib.stride_tricks.sliding_window_view(given, 2, subok=True)
        assert isinstance(found, host.ma.MaskedArray)
