"""Small arrays are computed at once by NumPy, and nobody can tell but by the time it takes.

Sizes: everything small; and a limit in the middle, so that small arrays meet those of the engine.
"""

from __future__ import annotations

import copy
import pickle
from collections import namedtuple
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.ops.table import OPS
from tests import oracle
from tests.test_errors import FAULTS
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no limit", allow_module_level=True)

Program = Callable[..., Any]
Pair = namedtuple("Pair", "first second")
Place = IntEnum("Place", {"FIRST": 0, "SECOND": 1})
PROGRAMS = [*VIEWS, *WRITES]
LIMITS = (3, 7, 100_000)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("program,arrays", PROGRAMS, ids=[case[0].__name__ for case in PROGRAMS])
def test_program(program: Program, arrays: tuple[Any, ...], limit: int) -> None:
    """The programs of views and writes, with the same rules."""
    with oracle.options(eager_size=limit):
        oracle.check(program, *arrays, sums=True)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str, limit: int) -> None:
    """The errors are NumPy's, at the call."""
    program, array = FAULTS[name]
    with oracle.options(eager_size=limit):
        oracle.check(program, array)


def by_other_integers(np: Any, x: Any) -> Any:
    """Views by integers and tuples of classes of the user's."""
    x = x.copy()
    views = x[Place.SECOND], x[:, Place.FIRST], np.expand_dims(x, Place.FIRST)
    shaped = x.reshape(Place.SECOND, -1), x.reshape(Pair(2, 3)), np.transpose(x, Pair(1, 0))
    for number, each in enumerate((*views, *shaped)):
        each[...] = each + number
    return x, views, shaped


def test_other_integers() -> None:
    for size in (0, 1000):
        with oracle.options(eager_size=size):
            oracle.check(by_other_integers, host.arange(6.0).reshape(2, 3))


def mixed(np: Any, x: Any, y: Any) -> Any:
    """A small array and a large one, in both directions."""
    low = x[:2] + y[:2]
    z = x + y[:3]
    z += y[3:6]
    y[:3] += z
    y[0] = x[1]
    x[1:] = y[4:6]
    x[0] = y.sum()
    w = np.where(x > y[0], x, y[:3])
    joined = np.concatenate([x, y]), np.stack([x, y[:3]])
    return low, z, w, x, y, joined, x @ y[:3], [x.max(), y.max()]


def test_mixed() -> None:
    for limit in (3, 4, 10):
        with oracle.options(eager_size=limit):
            oracle.check(mixed, host.arange(3.0), host.arange(9.0) ** 2)


def test_same_bits_as_the_engine() -> None:
    """Transcendental functions are the kernels' own at every size."""

    def program(np: Any, x: Any, y: Any) -> Any:
        return np.exp(x), np.sin(x) * y, x**y, np.hypot(x, y), np.log1p(abs(x)), np.arctan2(x, y)

    x, y = host.random.default_rng(0).normal(size=(2, 500))
    results = []
    for limit in (0, 1000):
        with oracle.options(eager_size=limit):
            results.append([lf.asnumpy(r) for r in program(lf, lf.array(x), lf.array(y))])
    for left, right in zip(*results, strict=True):
        assert (left.view("u8") == right.view("u8")).all()


@pytest.mark.cpu("small arrays that are NumPy's")
def test_no_kernel_runs() -> None:
    with oracle.options(eager_size=100):
        x = lf.array(host.arange(20.0))
        lf.reset_stats()
        y = ((x + 1) * x - x[::-1]).reshape(4, 5).T
        y[1:] /= 2
        assert float(y.sum()) == float(host.asarray(y).sum())
        assert lf.stats().kernels_launched == 0


def test_large_results_leave() -> None:
    """A product of small arrays that is large is recorded, so it fuses."""
    with oracle.options(eager_size=100):
        x = lf.array(host.arange(60.0))
        lf.reset_stats()
        total = ((x[:, None] - x[None, :]) ** 2).sum(axis=0).max()
        h = host.arange(60.0)
        assert float(total) == ((h[:, None] - h[None, :]) ** 2).sum(axis=0).max()
        assert lf.stats().kernels_launched <= 2 and lf.stats().copies == 0


@pytest.mark.cpu("small arrays that are NumPy's")
def test_numpy_is_given_the_memory() -> None:
    """`numpy.asarray` gives the memory of the array, as in NumPy: both see what is written."""
    with oracle.options(eager_size=100):
        x = lf.array([1.0, 2.0, 3.0])
        seen, view = host.asarray(x), memoryview(host.asarray(x[1:]))
        x += 1
        assert seen.tolist() == [2, 3, 4] and view.tolist() == [3, 4]
        seen[0] = 9
        assert (x * 2).tolist() == [18, 6, 8]
        seen.shape = (3, 1)  # which is of this object alone
        assert x.shape == (3,) and host.array(x, copy=True).base is None
        x.setflags(write=False)
        assert not host.asarray(x).flags.writeable


@pytest.mark.cpu("small arrays that are NumPy's")
def test_what_numpy_writes_is_seen_by_what_repeats() -> None:
    """Also by operations that machine code puts off."""
    with oracle.options(eager_size=30_000):
        x, y = lf.arange(2000.0), lf.ones(2000)
        theirs = host.asarray(x)
        for count in range(400):
            before = x * 2.0 + y
            theirs[0] = count
            after = (x * 2.0 + y) / 1.5
            theirs[0] = -1.0
            inner = before + after
            own = host.asarray(inner)
            own[1] = count
            last = inner * 1.0
            assert before[0] == (2.0 * (-1 if count else 0) + 1), count
            assert after[0] == (2.0 * count + 1) / 1.5 and last[1] == count


def test_host_memory_is_copied() -> None:
    with oracle.options(eager_size=100):
        mine = host.arange(3.0)
        x, y = lf.array(mine), lf.asarray(mine)
        mine[:] = 9
        assert x.tolist() == y.tolist() == [0, 1, 2]
        assert lf.asarray(x) is x and pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]


def test_an_array_outlives_its_limit() -> None:
    """Arrays stay what they are when the option changes."""
    with oracle.options(eager_size=100):
        small = lf.array([3.0, 4.0])
    small[0] = 5
    large = lf.array([1.0, 2.0])
    with oracle.options(eager_size=100):
        both = small * large + large
    assert both.tolist() == [6, 10] and (small + small).tolist() == [10, 8]


def test_functions_of_numbers_are_numpys() -> None:
    """`np.exp(0.5)` is a number, of NumPy's type and bits, and takes no kernel."""
    with oracle.options(eager_size=100):
        lf.reset_stats()
        for name in ("exp", "log", "sin", "sqrt", "hypot", "power", "add", "isnan"):
            numbers = (0.5, 2.0)[: getattr(host, name).nin]
            found, expected = getattr(lf, name)(*numbers), getattr(host, name)(*numbers)
            assert type(found) is type(expected) and found == expected, name
        assert lf.stats().kernels_launched == 0


INEXACT = sorted(
    name for name, op in OPS.items()
    if op.ulp and isinstance(getattr(host, name, None), host.ufunc)
)  # fmt: skip


@pytest.mark.parametrize("size", (1, 3, 17, 1000))
@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "c16", "c8"))
@pytest.mark.parametrize("name", INEXACT)
def test_transcendental_functions_have_the_bits_of_large_arrays(
    name: str, dtype: str, size: int
) -> None:
    """They are computed at once by the kernel of the op: the same one that large arrays take."""
    ufunc = getattr(host, name)
    rng = host.random.default_rng(size)
    given = [(rng.random(size) * 0.9 + 0.05).astype(dtype) for _ in range(ufunc.nin)]
    if dtype[0] == "c":
        given = [array + 0.1j * array[::-1] for array in given]
    try:
        ufunc(*given)
    except TypeError:
        pytest.skip("NumPy has no loop")
    with lf.options(eager_size=10_000):
        small = getattr(lf, name)(*[lf.asarray(array.astype(dtype)) for array in given])
    with lf.options(eager_size=0):
        large = getattr(lf, name)(*[lf.asarray(array.astype(dtype)) for array in given])
    host.testing.assert_array_equal(host.asarray(small), host.asarray(large))
    assert small.dtype == large.dtype and small.shape == large.shape


@pytest.mark.cpu("small arrays that are NumPy's")
def test_small_transcendental_functions_at_once() -> None:
    """Shapes, numbers beside arrays, and what the engine is left: other shapes, conditions."""
    with lf.options(eager_size=100):
        x, y = lf.asarray(host.ones((3, 4)) * 0.5), lf.asarray(host.ones(4))
        assert host.asarray(lf.exp(x)).shape == (3, 4) and lf.exp(x)._host is not None
        assert (x**2.5)._host is not None and lf.arctan2(x, 2)._host is not None
        host.testing.assert_allclose(host.asarray(lf.arctan2(x, 2)), host.arctan2(0.5, 2))
        host.testing.assert_allclose(host.asarray(lf.hypot(x, y)), host.hypot(0.5, 1))
        host.testing.assert_allclose(host.asarray(lf.exp(x.T)), host.exp(0.5))
        with pytest.raises(FloatingPointError), host.errstate(divide="raise"):
            lf.log(x * 0)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            lf.materialize(lf.log(x * 0))
        with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
            lf.materialize(lf.exp(x * 1e6))


@pytest.mark.cpu("small arrays that are NumPy's")
def test_copies_beside_other_objects_stay_small() -> None:
    """`copy.deepcopy` gives a table of whatever else it has copied."""

    class Layer:
        def __init__(self) -> None:
            self.weights = lf.array([[1.0, 2.0], [3.0, 4.0]]).T
            self.shared = self.weights

    with oracle.options(eager_size=100):
        layer = Layer()
        found = copy.deepcopy([layer, {"of": layer.weights}])
        assert found[0].weights is found[0].shared is found[1]["of"]
        assert found[0].weights._host is not None
        assert found[0].weights.strides == (8, 16)
        found[0].weights[0] = 7.0
        assert layer.weights[0, 0] == 1.0


#: What NumPy makes a small array of, and is none of ours; and lists of ours.
LIKE_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "list": lambda np: [1.0, 2.5],
    "integers": lambda np: (1, 2, 3),
    "table": lambda np: [[1, 2], [3, 4]],
    "of NumPy": lambda np: host.array([1.0, 2.5], "f4"),
    "column": lambda np: host.arange(1.0, 7.0).reshape(3, 2)[:, 1],
    "ours": lambda np: [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    "masks": lambda np: [True, False],
}


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("make", LIKE_ARRAYS.values(), ids=LIKE_ARRAYS)
def test_small_transcendental_functions_of_what_is_like_an_array(make: Callable[..., Any]) -> None:
    """What they give was pending, and all that was computed with it."""
    functions = {
        "exp": lambda np, x: np.exp(x),
        "tanh": lambda np, x: np.tanh(x),
        "hypot": lambda np, x: np.hypot(x, np.array(2.0)),
        "power": lambda np, x: np.power(x, np.array([2.5])),
        "operator": lambda np, x: x ** np.array([0.5]),
        "scalar": lambda np, x: np.array([1.0, 2.0]) ** np.float64(0.7),
    }
    with oracle.options(eager_size=100):
        for name, function in functions.items():
            wanted, given = function(host, make(host)), function(lf, make(lf))
            assert given._host is not None, name
            rules, found = oracle.Rules(ulp=4), host.asarray(given)
            assert not list(oracle.compare(name, wanted, found, rules))
            assert host.array_equal(host.asarray(given + 1.0), host.asarray(given) + 1.0)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_transcendental_functions_of_arrays_without_axes() -> None:
    """They give scalars at once, of the kernels' bits."""
    with oracle.options(eager_size=100):
        for value in (host.array(0.7), lf.array(0.7), lf.array(host.float32(0.7))):
            found = lf.sin(value)
            assert type(found) is host.asarray(value).dtype.type
            assert found == host.asarray(lf.sin(lf.array([value, value])))[0]
        with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
            assert host.isnan(float(lf.log(lf.array(-1.0))))


@pytest.mark.cpu("small arrays that are NumPy's")
def test_small_operands_of_exact_functions() -> None:
    with lf.options(eager_size=100):
        x, column = lf.asarray(host.arange(50.0)), lf.asarray(host.arange(50.0)[:, None])
        assert lf.sqrt(x)._host is not None and lf.maximum(x, 2)._host is not None
        assert lf.add(x, column)._host is None  # 2,500 elements
        assert lf.absolute(x * (1 + 1j)).dtype == "f8"
        host.testing.assert_array_equal(host.asarray(lf.add(x, column)), host.add.outer(x, x))
        with pytest.raises(ValueError, match="broadcast"):
            lf.add(x, x[:7])
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
            lf.sqrt(x - 10)


@pytest.mark.parametrize("make", [
    lambda np, s, a, b: np.array([1.0] * 40 + [s] + [2.0] * 40),
    lambda np, s, a, b: np.asarray([1] * 40 + [a[1]] + [2] * 40),
    lambda np, s, a, b: np.array([1.0] * 40 + [b[7]] + [2.0] * 40, dtype="f4"),
    lambda np, s, a, b: np.array([[1.0, 2.0]] * 40 + [a] + [[3.0, 4.0]]),
    lambda np, s, a, b: np.array([[1.0, 2.0]] * 40 + [[b[3], s]] + [(3.0, 4.0)]),
    lambda np, s, a, b: np.sum([1.0] * 40 + [s] + [2.0] * 40),
    lambda np, s, a, b: np.concatenate([[1.0] * 50, [2.0] * 40 + [s] + [3.0]]),
    lambda np, s, a, b: np.where([True, False] * 40, [1.0] * 40 + [s] + [2.0] * 39, 0.0),
    lambda np, s, a, b: np.add([1.0] * 40 + [a[0]] + [2.0] * 40, 1.0),
    lambda np, s, a, b: b[[1] * 40 + [int(s)] + [2] * 40],
    lambda np, s, a, b: np.array([1.0] * 40 + [b[:2]] + [2.0] * 40),
    lambda np, s, a, b: np.array([1.0] * 40 + ["x"] + [2.0] * 40),
])  # fmt: skip
def test_arrays_in_the_middle_of_long_lists(make: Callable[..., Any]) -> None:
    """Of which only the ends are looked at: NumPy takes the values that it needs."""

    def program(np: Any) -> Any:
        b = np.arange(50_000.0)
        return make(np, b[:3].sum() * 1, np.array([5.0, 6.0]), b)

    oracle.check(program)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_small_arrays_beside_lists_tuples_and_numpys() -> None:
    """They stayed small: what the engine computed of them made everything after it pending."""
    with lf.options(eager_size=100):
        x = lf.asarray(host.arange(4.0))
        others = [(1, 2, 3, 4), [1.5] * 4, host.arange(4), host.float32(2), [[1], [2]]]
        for other in others:
            for found, wanted in (
                (x * other, host.arange(4.0) * other),
                (other - x, other - host.arange(4.0)),
                (x < other, host.arange(4.0) < other),
            ):
                assert found._host is not None
                host.testing.assert_array_equal(host.asarray(found), wanted)
        x += [1, 1, 1, 1]
        assert x._host is not None
        host.testing.assert_array_equal(host.asarray(x), host.arange(4.0) + 1)
        with pytest.raises(ValueError, match="broadcast"):
            x * [1, 2]
        with pytest.raises(ValueError, match="inhomogeneous"):
            x * [1, [2]]
        with pytest.raises(TypeError):
            x + [None, 1, 2, 3]


def test_small_keys_and_values() -> None:
    with lf.options(eager_size=100):
        x = lf.asarray(host.arange(12.0).reshape(3, 4))
        x[1:, ::2] = x[:2, 1::2]
        x[0, 1] = 7
        x[..., None][0] = 1
        row = x[1, :]
        row[...] = lf.asarray(host.arange(4, dtype="f4"))
        wanted = host.arange(12.0).reshape(3, 4)
        wanted[1:, ::2] = wanted[:2, 1::2].copy()
        wanted[0] = 1
        wanted[1] = host.arange(4)
        host.testing.assert_array_equal(host.asarray(x), wanted)
        with pytest.raises(IndexError):
            x[5, 0]
        with pytest.raises(ValueError, match="broadcast"):
            x[0] = x[:, 0]


@pytest.mark.cpu("floating point flags")
def test_conditions_of_what_is_written() -> None:
    """Transcendental functions with `out=` were silent, and raised nothing."""
    for into in (lambda x: x, lambda x: lf.zeros(2), lambda x: lf.zeros(4)[1:3]):
        x = lf.asarray([0.0, 1.0])
        out = into(x)
        with lf.errstate(divide="raise"), pytest.raises(FloatingPointError, match="log"):
            lf.log(x, out=out)
        host.testing.assert_array_equal(host.asarray(out), [-host.inf, 0.0])
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            lf.log(lf.asarray([0.0, 2.0]), out=out)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_a_deep_copy_does_not_look_at_what_was_copied_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a tree of arrays each took as long as all before it together."""
    with lf.options(eager_size=4096), monkeypatch.context() as patched:
        tree = [lf.ones((2, 3), order="F"), {"x": lf.arange(3)[::-1]}]
        patched.delattr("lazyfuse.frontend.small_methods.lowered")
        copied = copy.deepcopy(tree)
    tree[0][0, 0] = 7
    assert copied[0].tolist() == [[1, 1, 1], [1, 1, 1]] and copied[0].flags.f_contiguous
    assert copied[1]["x"].tolist() == [2, 1, 0]


class Marked(host.ndarray):
    """A class of a program, whose ufuncs are marked."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [host.asarray(value) for value in inputs]
        return "marked", getattr(ufunc, method)(*plain, **kwargs)


OF_CLASSES: dict[str, Callable[[Any, Any], Any]] = {
    "a matrix": lambda np, x: np.asmatrix(x + 1),
    "a masked array": lambda np, x: np.ma.masked_greater(np.ma.array(x), 3),
    "a class of a program": lambda np, x: host.asarray(x).view(Marked),
    "a record array": lambda np, x: np.rec.fromarrays([host.arange(3.0)], names="a"),
}
BESIDE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "multiply": lambda np, x, m: np.multiply(x, m),
    "maximum of one": lambda np, x, m: np.maximum(m, m),
    "not exact": lambda np, x, m: np.exp(m),
    "sum": lambda np, x, m: (np.sum(m), np.sum(m, axis=0), np.mean(m, 1)),
    "average": lambda np, x, m: np.average(m),
    "dot": lambda np, x, m: np.dot(x, m.T),
    "inv": lambda np, x, m: np.linalg.inv(m[:, :2].T @ m[:, :2]),
    "a view": lambda np, x, m: (np.ravel(m), np.transpose(m), np.squeeze(m)),
    "an operator": lambda np, x, m: (x + m, m + x, x @ m.T),
    "joined": lambda np, x, m: np.concatenate([x, m]),
    "where": lambda np, x, m: np.where(x > 2, x, m),
    "into": lambda np, x, m: np.add(x, x, out=m),
}


@pytest.mark.parametrize("kind", OF_CLASSES)
@pytest.mark.parametrize("name", BESIDE)
def test_arrays_of_other_classes(name: str, kind: str) -> None:
    """Functions of arrays of derived classes are NumPy's, in their results' classes, too."""
    x = host.arange(6.0).reshape(2, 3)
    with lf.options(eager_size=4096):
        oracle.check(lambda np, x: BESIDE[name](np, x, OF_CLASSES[kind](np, x)), x, ulp=4)
        classes = [
            type(BESIDE["multiply"](np, np.asarray(x), OF_CLASSES["a matrix"](np, np.asarray(x))))
            for np in (host, lf)
        ]
    assert classes == [host.matrix, host.matrix]


class Wrapping(host.ndarray):
    """A class of a program, whose results are no arrays, whoever computes them."""

    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return "wrapped", host.array(array)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "called", function.__name__


@pytest.mark.parametrize("eager_size", [0, 4096])
def test_what_a_class_makes_of_what_is_written_into_it(eager_size: int) -> None:
    """The array given as `out=` was given back instead."""

    def program(np: Any, x: Any) -> Any:
        m, n, k = (host.ones(3).view(Wrapping) for _ in range(3))
        m += x
        results = [m, np.add(x, x, n), np.add(x, x, out=k), np.sum(n, out=np.zeros(()))]
        marks = [result[0] for result in results]
        return marks, [host.array(result[1]) for result in results[:3]], host.asarray(n)

    with oracle.options(eager_size=eager_size):
        oracle.check(program, host.arange(3.0))


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("name", ["multiply", "sum", "average", "dot"])
def test_small_matrices_are_computed_at_once(name: str) -> None:
    """They took up to 100 times NumPy's time: recorded in vain, then materialized and wrapped."""
    with lf.options(eager_size=4096, fallback="error"):
        x = lf.ones((2, 3))
        assert isinstance(BESIDE[name](lf, x, lf.asmatrix(x)), host.matrix | tuple | float)
