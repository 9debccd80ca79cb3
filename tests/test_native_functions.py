"""Functions, methods and keys on small arrays in machine code: what Python does, and no reference
lost."""

from __future__ import annotations

import gc
import inspect
import pickle
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently
from tests.python_calls import python_calls
from tests.signed import IS_SIGNED

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_namespace import test_calls  # noqa: E402, F401 - again, in machine code
from tests.test_namespace_aliasing import (  # noqa: E402
    test_aliasing,  # noqa: F401 - likewise
    test_in_place,  # noqa: F401 - likewise
)
from tests.test_native import operators, small  # noqa: E402, F401 - fixtures of this module, too
from tests.test_small_arrays import (  # noqa: E402
    test_arrays_in_the_middle_of_long_lists,  # noqa: F401 - likewise
)

OUTPUTS: dict[str, Callable[..., Any]] = {
    "exact": lambda np, x, o: np.add(x, 1.0, out=o),
    "by position": lambda np, x, o: np.add(x, 1.0, o),
    "a tuple": lambda np, x, o: np.add(x, 1.0, out=(o,)),
    "its own": lambda np, x, o: np.exp(x, out=o),
    "its own by position": lambda np, x, o: np.exp(x, o),
    "itself": lambda np, x, o: np.sqrt(x, out=x),
    "its own, itself": lambda np, x, o: np.sin(x, out=x),
    "a view": lambda np, x, o: np.exp(x[:1], out=o[1:]),
    "a function": lambda np, x, o: np.cumsum(x, axis=0, out=o),
    "a method": lambda np, x, o: x.cumsum(axis=1, out=o),
    "a reduction": lambda np, x, o: x.sum(axis=0, out=o[0]),
    "clip": lambda np, x, o: np.clip(x, 1, 3, out=o),
    "where": lambda np, x, o: np.multiply(x, 2.0, out=o, where=x > 2),
    "float32": lambda np, x, o: np.add(x, 1.0, out=o.astype("f4")),
    "its own into float32": lambda np, x, o: np.exp(x, out=o.astype("f4")),
    "matmul": lambda np, x, o: np.matmul(x, x.T, out=o[:, :2]),
}


METHODS_OF_UFUNCS: dict[str, Callable[..., Any]] = {
    "outer": lambda np, x: np.subtract.outer(x, x[0]),
    "outer of a number": lambda np, x: np.add.outer(x, 2),
    "outer of its own bits": lambda np, x: np.power.outer(x[0], x[1]),
    "at": lambda np, x: np.add.at(x, ([0, 0], [1, 1]), 2.0),
    "at of one operand": lambda np, x: np.negative.at(x, [0, 1, 0]),
    "at of a view": lambda np, x: np.multiply.at(x[1], [2, 2], [3.0, 4.0]),
    "at, outside": lambda np, x: np.add.at(x, [9], 1.0),
    "a fold that no kernel does": lambda np, x: np.logaddexp.reduce(x, axis=1),
    "another one": lambda np, x: np.hypot.reduce(x),
}


@pytest.mark.parametrize("name", METHODS_OF_UFUNCS)
def test_methods_of_ufuncs(name: str) -> None:
    """What they give and write; what is pending has what was there before."""

    def program(np: Any, x: Any) -> Any:
        part, large = np.array(x), np.arange(50_000.0)
        pending = large[: part.size].reshape(part.shape) + part
        return METHODS_OF_UFUNCS[name](np, part), part, pending

    oracle.check(program, host.arange(6.0).reshape(2, 3) + 1)
    kind = type(lf.add.reduce)
    assert isinstance(lf.add.outer, kind) and isinstance(lf.add.at, kind)


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name: str) -> None:
    """They are given, and written."""

    def program(np: Any, x: Any, o: Any) -> Any:
        parts = [np.array(x), np.array(o)]
        found = OUTPUTS[name](np, *parts)
        return found, [found is part for part in parts], parts

    oracle.check(program, host.arange(6.0).reshape(2, 3), host.zeros((2, 3)), ulp=4)


NUMPYS: dict[str, Callable[..., Any]] = {
    "keyword": lambda x, o: lf.add(x, 1.0, out=o),
    "tuple": lambda x, o: lf.add(x, 1.0, out=(o,)),
    "position": lambda x, o: lf.add(x, 1.0, o),
    "mask": lambda x, o: lf.add(x, 1.0, out=o, where=x > 2.0),
    "method": lambda x, o: x.cumsum(axis=0, out=o),
    "method by position": lambda x, o: x.clip(1.0, 3.0, o),
    "function": lambda x, o: lf.clip(x, 1.0, 3.0, out=o),
    "function by position": lambda x, o: lf.cumsum(x, 0, None, o),
    "matmul": lambda x, o: lf.matmul(x, x.T @ x, out=o),
    "list": lambda x, o: lf.concatenate([x[:1], x[1:]], out=o),
    "its own": lambda x, o: lf.exp(x, out=o),
    "method with a list": lambda x, o: x.take([1, 0], 0, o),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_outputs_that_are_numpys(name: str) -> None:
    """They are given back as they are."""
    x, out = lf.asarray(host.arange(6.0).reshape(2, 3)), host.zeros((2, 3))
    assert NUMPYS[name](x, out) is out
    assert out[1, 2] != 0.0


def test_several_outputs_that_are_numpys() -> None:
    x, whole = lf.asarray([1.5, -2.25]), host.empty(2)
    found = lf.modf(x, None, whole)
    assert found[1] is whole and type(found[0]) is lf.LazyArray
    host.testing.assert_array_equal(whole, [1.0, -2.0])
    for converted in (lf.asarray(dtype=None, a=whole), lf.squeeze(axis=None, a=whole)):
        assert type(converted) is lf.LazyArray
    for converted in (lf.asarray(whole), lf.atleast_1d(whole), *lf.atleast_1d(whole, whole)):
        assert type(converted) is lf.LazyArray


def test_many_arguments() -> None:
    """They do not go on the stack."""
    x, many = lf.asarray([1.0, 2.0]), [0] * 1_000_000
    for call in (x.sum, lf.zeros, lf.add, x.transpose, x.__setitem__):
        with pytest.raises((TypeError, ValueError)):
            call(*many)
    with pytest.raises(TypeError):
        x.sum(**{f"a{number}": 0 for number in range(100_000)})
    assert len(lf.broadcast_arrays(*many[:1000])) == 1000


def test_what_numpy_refuses() -> None:
    x = lf.asarray(host.arange(5.0))
    refused: list[Callable[[], Any]] = [
        lambda: x.__setitem__(0, 7.0, foo=1), lambda: lf.zeros("a"), lambda: lf.eye(3, "a"),
        lambda: lf.zeros(k for k in (2, 3)), lambda: lf.sum(x, 0, axis=0),
        lambda: lf.zeros((3, "a")), lambda: lf.zeros(2.5),
    ]  # fmt: skip
    for call in refused:
        with pytest.raises(TypeError):
            call()
    host.testing.assert_array_equal(host.asarray(x), host.arange(5.0))
    assert lf.identity(3, "f4").dtype == host.float32
    read_only = lf.zeros(5)
    read_only.flags.writeable = False
    for out in (lf.exp, lf.sqrt):
        with pytest.raises(ValueError, match="output array is read-only"):
            out(x, out=read_only)


def test_several_outputs() -> None:
    def program(np: Any, x: Any, y: Any) -> Any:
        q, r = np.empty(3), np.empty(3)
        found = np.divmod(x, y, out=(q, r))
        half = np.modf(x)
        return found[0] is q, found[1] is r, q, r, half, [part.base is None for part in half]

    oracle.check(program, host.array([1.5, -7.0, 9.0]), host.array([2.0, 3.0, -4.0]))


def test_lists() -> None:
    """Arrays in lists, also nested, numbers beside them, and what is too large in one."""
    with lf.options(eager_size=0):
        large = lf.asarray(host.arange(3.0)) + 1.0

    def program(np: Any, x: Any, y: Any) -> list[Any]:
        return [
            np.concatenate([x, y]), np.stack((x, y), axis=1), np.block([[x, y], [y, x]]),
            np.array([x, y]), np.array([1, x[0], 2.5]), np.vstack([[1, 2, 3], x]),
            np.array([[1, 2], [3, 4]]), np.select([x > 1, y > 1], [x, y], 5.0),
        ]  # fmt: skip

    oracle.check(program, host.arange(3.0), host.ones(3))
    x = lf.asarray(host.arange(3.0))
    found = lf.concatenate([x, large])
    assert found._host is None
    host.testing.assert_array_equal(host.asarray(found), [0, 1, 2, 1, 2, 3])


@pytest.mark.cpu("small arrays that are NumPy's")
def test_a_result_that_is_large_leaves() -> None:
    x = lf.asarray(host.arange(10.0))
    with lf.options(eager_size=20):
        for found in (lf.outer(x, x), x.repeat(3), lf.zeros(21), lf.ones((3, 7))):
            assert found._host is None
        column, row = lf.asarray(host.arange(10)[:, None]), lf.asarray(host.arange(10))
        for found in (column << row, column * row, row >> column):
            assert found._host is None and found._storage.node.buffer is None  # not computed
        for found in (lf.zeros(20), lf.empty((4, 5)), lf.full((2, 2), 1.0), x.repeat(2)):
            assert found._host is not None
    with lf.options(eager_size=0):
        assert lf.zeros(3)._host is None and lf.sum(lf.ones((3, 3)), axis=0)._host is None


FRESH: dict[str, Callable[..., Any]] = {
    "roll": lambda np, x: np.roll(x, 1), "reshaped copy": lambda np, x: x.T.reshape(-1),
    "picked": lambda np, x: x[[1, 0]], "masked": lambda np, x: x[x > 2],
    "take": lambda np, x: x.take([0, 3]),
    "flattened": lambda np, x: x.T.flatten(), "tile": lambda np, x: np.tile(x, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FRESH)
def test_fresh_results_are_nobody_elses(name: str) -> None:
    def program(np: Any, x: Any) -> Any:
        found = FRESH[name](np, x)
        found[...] = -1.0
        return found, x, np.shares_memory(found, x)

    oracle.check(program, host.arange(6.0).reshape(2, 3))


WARNING: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda np, x, empty: empty.mean(),
    lambda np, x, empty: np.mean(empty),
    lambda np, x, empty: np.log(x),
    lambda np, x, empty: x**-1,
    lambda np, x, empty: np.std(empty),
    lambda np, x, empty: np.log(x, out=x.copy()),
    lambda np, x, empty: (x + 1j).astype(float),
    lambda np, x, empty: np.power(x, -3.5),
    lambda np, x, empty: x / x.sum(axis=0, keepdims=True) / 0.0,
    lambda np, x, empty: np.asarray([300.0]).astype("f2") * np.float16(300),
)


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("number", range(len(WARNING)))
def test_warnings_are_given_at_the_users_line(number: int) -> None:
    """And where NumPy's own code gives them."""

    def told(np: Any) -> list[Any]:
        x, empty = np.asarray([0.0, 1.0]), np.asarray(host.empty(0))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            WARNING[number](np, x, empty)
        return [(each.filename, each.lineno, str(each.message)) for each in heard]

    assert told(lf) == told(host)


@pytest.mark.cpu("floating point flags")
def test_errors_of_conditions() -> None:
    for program in (
        lambda x: lf.log(x), lambda x: lf.log(x, out=x), lambda x: x**-2.5,
        lambda x: lf.log(x, out=lf.zeros(2)), lambda x: lf.log(x, x),
    ):  # fmt: skip
        with lf.errstate(all="raise"), pytest.raises(FloatingPointError):
            program(lf.asarray([0.0, 1.0]))


INEXACT = ("exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "arctan", "cbrt", "exp2")
TWO = ("power", "arctan2", "hypot", "logaddexp")


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "i4", "c16"))
@pytest.mark.parametrize("size", (1, 7, 64, 1000, 20_000))
def test_kernels_of_single_functions(size: int, dtype: str) -> None:
    """They have the bits of large arrays, on one thread and on two."""
    values = host.linspace(0.5, 2.5, size).astype(dtype)
    for name in (*INEXACT, *TWO):
        function = getattr(lf, name)
        operands = [(values,)] if name in INEXACT else [
            (values, values[::-1].copy()), (values, 2.5), (1.5, values), (values, 3)]  # fmt: skip
        for given in operands:
            if dtype == "c16" and name not in ("exp", "log", "sin", "cos", "power"):
                continue
            with lf.options(eager_size=0):
                wanted = host.asarray(function(*map(_ours, given)))
            for threads in (1, 2):
                with lf.options(threads=threads, eager_size=100_000):
                    for _ in range(3):
                        found = function(*map(_ours, given))
                        assert found._host is not None or dtype in ("i4", "f2", "c16")
                        host.testing.assert_array_equal(host.asarray(found), wanted)
                        assert found.dtype == wanted.dtype


def _ours(value: Any) -> Any:
    return lf.asarray(value) if isinstance(value, host.ndarray) else value


def test_kernels_of_other_layouts() -> None:
    """What does not lie densely takes the long way."""
    values = host.linspace(0.5, 2.5, 60).reshape(6, 10)

    def program(np: Any, x: Any) -> list[Any]:
        parts = [x.T, x[::2], x[:, ::3], x[0], x[:, None], np.asfortranarray(x), x[:0], x[0, 0]]
        return [np.exp(part) for part in parts] + [np.power(x, x[0]), x ** x[:, :1], x**2.5]

    oracle.check(program, values, ulp=4)


MIXED: dict[str, Callable[..., Any]] = {
    "row": lambda np, x, r, c: x * r, "reflected": lambda np, x, r, c: r - x,
    "column": lambda np, x, r, c: (x - c) / r, "comparison": lambda np, x, r, c: r < x,
    "ufunc": lambda np, x, r, c: np.maximum(x, r), "first": lambda np, x, r, c: np.subtract(r, x),
    "three": lambda np, x, r, c: np.where(x > c, r, x), "view": lambda np, x, r, c: x * r[::-1],
    "its own": lambda np, x, r, c: np.arctan2(c, x),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_large_and_small_operands(name: str) -> None:
    """Small ones are read when the operation is recorded."""
    large, row = host.linspace(0.5, 2.0, 12).reshape(3, 4), host.arange(4.0)
    with lf.options(eager_size=0):
        x = lf.asarray(large) * 1.0
    r, c = lf.asarray(row), lf.asarray(large[:, :1].copy())
    for turn in range(4):
        with lf.options(eager_size=10):
            found = MIXED[name](lf, x, r, c)
        assert found._host is None
        r[0] = turn + 10.0
        wanted = MIXED[name](host, large, row, large[:, :1])
        row[0] = turn + 10.0
        host.testing.assert_allclose(host.asarray(found), wanted, rtol=1e-15)


def test_keys_and_values() -> None:
    def program(np: Any, x: Any) -> list[Any]:
        mask, places = x > 2, np.array([1, 0, 1])
        found = [x[mask], x[places], x[places, places], x[[0, 1], :2], x[mask, None], x[:, [0, 2]]]
        x[mask] = -1
        x[places] = [7, 8, 9]
        x[0, 1:] = x[1, :2]
        x[..., None][0] = 5
        x[[0]] = np.array([1, 2, 3])
        return [*found, x]

    oracle.check(program, host.arange(6.0).reshape(2, 3))
    x = lf.asarray(host.arange(6.0))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    for key, value in ((9, 1.0), ("a", 1.0), (slice(3), [1, 2])):
        with pytest.raises((IndexError, ValueError)):
            lf.asarray(host.arange(6.0))[key] = value


def test_functions_are_functions() -> None:
    """As NumPy's: named, with signatures, methods of classes, and pickled by name."""
    for function in (lf.sum, lf.linalg.norm, lf.lib.stride_tricks.sliding_window_view, lf.clip):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301  # our own
        assert function.__name__ == function.__qualname__.rpartition(".")[2]
        assert callable(function) and function.__doc__

    class Holder:
        total, made = lf.sum, lf.zeros

    assert isinstance(Holder().total, types.MethodType)
    assert Holder().made(3).shape == (3,)  # NumPy's is a builtin function
    assert inspect.isroutine(lf.sum) and inspect.isroutine(host.sum)
    if IS_SIGNED:
        assert str(inspect.signature(lf.concatenate)) == str(inspect.signature(host.concatenate))
        assert inspect.signature(lf.LazyArray.sum) == inspect.signature(host.ndarray.sum)


def test_numpys_code_does_not_ask_python_for_parts_of_the_class() -> None:
    """`number * array` of a number of NumPy's asks our class four times whether it overrides
    ufuncs; Python answered, which took longer than the product. What only Python knows it does."""
    x, number = lf.asarray(host.arange(4.0)), host.float64(2.0)
    assert not python_calls(lambda: number * x)
    assert python_calls(lambda: lf.LazyArray.mean)[0] == "attribute"
    assert (number * x).tolist() == [0.0, 2.0, 4.0, 6.0]
    mean = lf.LazyArray.mean
    assert mean(x) == mean(host.arange(4.0)) == 1.5  # asked of the class, it takes both
    assert not hasattr(lf.LazyArray, "nothing") and not hasattr(lf.LazyArray, "x" * 100)
    before = [sys.getrefcount(each) for each in (x, lf.LazyArray, lf.LazyArray.__array_ufunc__)]
    for _ in range(20):
        number * x
        assert lf.LazyArray.__array_function__ and not hasattr(lf.LazyArray, "nothing")
    after = [sys.getrefcount(each) for each in (x, lf.LazyArray, lf.LazyArray.__array_ufunc__)]
    assert before == after


def test_references_are_kept_and_given_back() -> None:
    a, b = lf.asarray(host.arange(1.0, 5.0)), lf.asarray(host.ones(4))
    out, mask = lf.asarray(host.zeros(4)), lf.asarray(host.array([True, False, True, True]))
    words, both = {"axis": 0}, [a, b]
    axes, dtype = (0,), host.dtype("f4")
    watched = (
        lf.LazyArray, a, b, out, mask, a._host, b._host, out._host, both, axes, dtype, host.exp,
        lf.sum, None, Ellipsis, lf.sum._engine, host.sum, both[0],
    )  # fmt: skip

    def work() -> None:
        for _ in range(100):
            kept = [
                lf.sum(a), lf.sum(a, **words), a.sum(axis=axes), lf.concatenate(both), a % b,
                a.astype(dtype), lf.exp(a), lf.exp(a, out=out), a**2, a**2.5, lf.power(a, b),
                2.0**a, a[mask], a.reshape(2, 2), lf.roll(a, 1), a.T.reshape(-1), abs(a), a @ b,
                lf.nonzero(a), lf.divmod(a, b), lf.zeros(3), lf.arange(4), lf.add(a, b, out=out),
                a.tolist(), lf.asarray(a), lf.split(a, 2), lf.where(mask, a, b), a.copy(),
                lf.matmul(a, b), lf.stack((a, b)), lf.log(a - a.max() + 1),
            ]  # fmt: skip
            a[mask] = b[mask]
            a[...] = host.arange(1.0, 5.0)
            refused: list[Callable[[], Any]] = [
                lambda: lf.sum(a, axis=3), lambda: a.sum(bad=1), lambda: a @ b[:2],
                lambda: lf.concatenate([a, None]), lambda: lf.exp(a, out=mask), lambda: lf.exp(),
                lambda: a[mask, mask], lambda: a.__setitem__(9, 1), lambda: lf.zeros("x"),
                lambda: lf.zeros((2, -1)),
            ]  # fmt: skip
            for call in refused:
                with pytest.raises((ValueError, IndexError, TypeError)):
                    call()
            del kept

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()
        gc.collect()
        before = [sys.getrefcount(item) for item in watched]
        work()
    gc.collect()
    after = [sys.getrefcount(item) for item in watched]
    assert [abs(now - then) < 50 for now, then in zip(after, before, strict=True)] == [True] * len(
        after
    )


def test_threads() -> None:
    a = lf.asarray(host.linspace(0.0, 1.0, 5000))
    wanted = host.asarray(lf.exp(a))
    wrong: list[int] = []

    def work() -> None:
        for _ in range(200):
            found = host.asarray(lf.exp(a)), float(lf.sum(a)), host.asarray(lf.concatenate([a, a]))
            if (
                not (found[0] == wanted).all()
                or found[1] != found[1]
                or found[2].shape != (10_000,)
            ):
                wrong.append(1)

    concurrently(work, [()] * 4)
    assert not wrong


VIEWS_OF_SMALL: dict[str, Callable[..., Any]] = {
    "squeeze": lambda np, x: np.squeeze(x),
    "flip": lambda np, x: np.flip(x),
    "transpose": lambda np, x: np.transpose(x),
    "swapaxes": lambda np, x: np.swapaxes(x, 0, 1),
    "reshape": lambda np, x: np.reshape(x, 6),
    "atleast_1d": lambda np, x: np.atleast_1d(x),
    "a tuple of axes": lambda np, x: np.expand_dims(x, (0, 2, 4)),
    "a method with a shape": lambda np, x: x.reshape((1, 2, 3, 1)),
    "a method": lambda np, x: x.squeeze(),
    "a key": lambda np, x: x[0],
    "a keyword": lambda np, x: np.transpose(a=x),
    "keywords": lambda np, x: np.expand_dims(a=x, axis=(0, 2)),
    "all by keyword": lambda np, x: np.ravel(a=x, order="C"),
}


@pytest.mark.parametrize("name", VIEWS_OF_SMALL)
def test_small_arrays_stay_small_under_other_options(name: str) -> None:
    """Without small arrays, functions took one to the engine, and a view was of a copy there."""
    x = lf.array(host.arange(6.0).reshape(1, 6, 1))
    with lf.options(eager_size=0):
        view = VIEWS_OF_SMALL[name](lf, x)
        view += 1
        made = lf.zeros(3)
    assert host.array_equal(host.asarray(x).ravel(), host.arange(1.0, 7.0))
    assert made._host is None


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("made", [
    lambda np: np.eye(4), lambda np: np.eye(3, 5, k=1), lambda np: np.eye(100, 100),
    lambda np: np.eye(5, M=101), lambda np: np.arange(100), lambda np: np.arange(0, 100, 0.5),
    lambda np: np.arange(3, 3), lambda np: np.arange(True), lambda np: np.linspace(0, 1, 100),
    lambda np: np.linspace(0, 1, num=7), lambda np: np.tri(4, 5, 1), lambda np: np.identity(6),
    lambda np: np.eye(300), lambda np: np.arange(40_000), lambda np: np.eye(2, dtype=int),
])  # fmt: skip
def test_sizes_of_ints(made: Callable[[Any], Any]) -> None:
    """What functions of ints make is small where it is, and NumPy's."""
    with lf.options(eager_size=30_000):
        found, expected = made(lf), made(host)
        assert (found._host is None) == (expected.size > 30_000)
        assert found.dtype == expected.dtype
        host.testing.assert_array_equal(lf.asnumpy(found), expected)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "column": lambda x: x[:, 1],
    "row": lambda x: x[1],
    "reversed": lambda x: x[2, ::-1],
    "steps": lambda x: x[0, ::3],
    "transposed": lambda x: x.T,
    "part": lambda x: x[1:, 2:],
    "repeated": lambda x: x[1, None, :],
    "element": lambda x: x[1, 1:2],
    "empty": lambda x: x[1, :0],
}
_NUMBERS = host.linspace(0.1, 2.0, 35).reshape(5, 7)
OF_NUMBERS: dict[str, Any] = {
    "float64": _NUMBERS,
    "float32": _NUMBERS.astype("f4"),
    "int64": host.arange(-3, 32).reshape(5, 7),
    "large": host.array([[2**53 + 1, -(2**62) - 1, 2**63 - 1]] * 3).repeat(3, axis=1),
    "int32": host.arange(35, dtype="i4").reshape(5, 7),
    "uint64": host.arange(35, dtype="u8").reshape(5, 7) << host.uint64(40),
    "bool": _NUMBERS > 1.0,
    "complex128": _NUMBERS * (1 - 2j),
    "complex64": _NUMBERS.astype("c8") * 1j,
}


BESIDE_NUMBERS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x**1.5,
    lambda x: 1.5**x,
    lambda x: 3 ** (x * x % 4),
    lambda x: host.hypot(x, 2.5),
    lambda x: host.arctan2(x, x),
)


@pytest.mark.parametrize("kind", OF_NUMBERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_any_layout(kind: str, layout: str) -> None:
    """The kernels' bits, NumPy's dtype and memory order, and what is read is as it was; often, so
    that machine code knows the kernels."""
    ours = lf.array(OF_NUMBERS[kind])
    wanted_of = LAYOUTS[layout](OF_NUMBERS[kind])
    functions = ("sin", "exp2") if kind[0] == "c" else ("sin", "cbrt", "arctan", "exp2")
    for function in ("abs", *functions):
        wanted = getattr(host, function)(wanted_of)
        with lf.options(eager_size=0):
            recorded = host.asarray(getattr(lf, function)(LAYOUTS[layout](lf.array(ours))))
        for _ in range(12):
            found = host.asarray(getattr(lf, function)(LAYOUTS[layout](ours)))
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.strides == wanted.strides or found.size < 2
        assert found.tobytes() == recorded.tobytes()
    assert host.asarray(ours).tobytes() == OF_NUMBERS[kind].tobytes()
    for power in () if kind[0] == "c" else BESIDE_NUMBERS:
        powers = [host.asarray(power(LAYOUTS[layout](ours))) for _ in range(12)]
        with lf.options(eager_size=0):
            again = host.asarray(power(LAYOUTS[layout](lf.array(ours))))
        host.testing.assert_array_equal(powers[-1], again)
        assert powers[-1].dtype == power(wanted_of).dtype


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i4", "c16"))
def test_kernels_without_axes(dtype: str) -> None:
    """They give numbers, with the bits of other arrays; each call took 9 us."""
    alone, line = lf.asarray(host.array(1.5, dtype)), lf.asarray(host.array([1.5], dtype))
    for name in (*INEXACT, *TWO):
        if dtype == "c16" and name not in ("exp", "log", "sin", "cos", "power"):
            continue
        function = getattr(lf, name)
        pairs = [((alone,), (line,))] if name in INEXACT else [
            ((alone, alone), (line, line)), ((alone, 2.5), (line, 2.5)),
            ((1.5, alone), (1.5, line)),
        ]  # fmt: skip
        for _ in range(12):
            for given, wanted in pairs:
                found, as_line = function(*given), function(*wanted)
                assert found == as_line[0] and found.dtype == as_line.dtype
                assert isinstance(found, host.generic) or dtype in ("i4", "i8", "c16")
    if dtype == "f8":
        assert python_calls(lambda: lf.exp(alone)) in ([], ["empty_like"])
        out = lf.zeros(())
        assert lf.exp(alone, out=out) is out and out == lf.exp(alone)
        with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
            assert lf.log(lf.zeros(())) == -host.inf
        assert caught[0].filename == __file__


def _others() -> dict[str, Callable[[Any], Any]]:
    """Ufuncs that are none of ours."""
    plus = host.frompyfunc(lambda a, b: a + b, 2, 1)
    return {
        "counts": lambda np: host.bitwise_count(np.arange(5)),
        "two results": lambda np: host.frexp(np.linspace(0.0, 3.0, 7)),
        "objects": lambda np: plus(np.arange(3.0), np.ones((2, 1))),
        "a list": lambda np: plus([1, 2], np.arange(2)),
        "no axes": lambda np: host.bitwise_count(np.array(7)),
        "no elements": lambda np: host.bitwise_count(np.arange(0)),
        "a word": lambda np: plus(np.arange(2), "a"),
        "other shapes": lambda np: plus(np.arange(2), np.arange(3)),
        "a dtype": lambda np: host.bitwise_count(np.linspace(0.0, 1.0, 3)),
        "an output": lambda np: host.bitwise_count(np.arange(3), out=np.zeros(3, "u1")),
        "large": lambda np: host.bitwise_count(np.arange(100_000)),
        "many": lambda np: plus(np.arange(300.0)[:, None], np.arange(300.0)),
    }


@pytest.mark.parametrize("name", _others())
def test_ufuncs_of_others(name: str) -> None:
    """Of small arrays they are NumPy's at once: SciPy's took ten times its time."""
    oracle.check(_others()[name])


@pytest.mark.cpu("small arrays that are NumPy's")
def test_ufuncs_of_others_call_no_python() -> None:
    x = lf.arange(5)
    assert isinstance(host.bitwise_count(x), lf.LazyArray)
    assert not python_calls(lambda: host.bitwise_count(x))


def test_small_arrays_without_axes_beside_large_ones() -> None:
    """A copy of one in the engine is known again by its bytes, which one without axes has not in
    rows."""
    shift, wanted = lf.asarray(host.array(2)), host.arange(50_000) << 2
    for _ in range(8):
        found = lf.arange(50_000) << shift
        assert host.array_equal(host.asarray(found), wanted)
