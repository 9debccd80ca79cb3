"""Programs that differed from NumPy in review: memory that others keep, and unusual arguments."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from lazyfuse.collecting import uncollected
from tests import oracle
from tests.test_found_defects_review import outcome

COUNT = 70_000


class Several:
    """Gives the arrays that it has to any function, in what it keeps them in."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def nonzero(self) -> Any:
        return self.parts

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.parts


class Listed(list):  # type: ignore[type-arg]
    """A list that NumPy takes for another array."""

    def __init__(self, kept: host.ndarray) -> None:
        super().__init__()
        self.kept = kept

    def __array__(self, dtype: Any = None, copy: Any = None) -> host.ndarray:
        return self.kept


def first(results: Any) -> Any:
    """The first of some results, which nobody else has then."""
    return results[0]


@pytest.mark.parametrize("kind", (tuple, list))
@pytest.mark.parametrize("name", ("nonzero", "unique", "histogram"))
def test_arrays_in_what_others_keep_are_not_taken_over(name: str, kind: Any) -> None:
    """What was computed from them was written into their memory."""
    giver = Several(kind(host.arange(float(COUNT)) for _ in range(2)))
    for _ in range(3):
        x = first(getattr(oracle.lf, name)(giver))
        x = x * 3.0 + 1.0
        assert host.asarray(x)[2] == 7.0
        assert giver.parts[0][2] == 2.0


def test_a_view_that_is_given_twice_is_one() -> None:
    """It was counted as two that refer to its base, which another one does, too."""
    kept = []

    class Twice:
        def __array_function__(self, *_: Any) -> Any:
            base = host.arange(float(COUNT))
            kept[:] = [base]
            part = base[:]
            return part, part, base[:]

    results = list(oracle.lf.unique(Twice()))
    x = results.pop()
    results.clear()
    x = x * 3.0 + 1.0
    assert host.asarray(x)[2] == 7.0
    assert kept[0][2] == 2.0


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "operand": lambda np, kept: np.add(np.ones(COUNT), kept),
    "asarray": lambda np, kept: np.asarray(kept) * 2.0 + 1.0,
    "sqrt": lambda np, kept: np.sqrt(kept),
    "clip": lambda np, kept: np.clip(kept, 1.0, 2.0),
    "where": lambda np, kept: np.where(kept, kept, -1.0),
    "full": lambda np, kept: np.full(COUNT, kept) + 1.0,
    "negative": lambda np, kept: np.negative(kept),
    "sort": lambda np, kept: np.sort(kept) + 1.0,
    "product": lambda np, kept: np.dot(np.ones((2, COUNT)), kept),
}


@pytest.mark.parametrize("way", WAYS)
def test_lists_that_are_arrays_keep_them(way: str) -> None:
    """What NumPy makes of a list is new, but not what one of a subclass gives."""
    kept = Listed(host.arange(float(COUNT)))
    for _ in range(3):
        found = WAYS[way](oracle.lf, kept)
        wanted = WAYS[way](host, host.arange(float(COUNT)))
        host.testing.assert_allclose(host.asarray(found), wanted, 1e-13)
        assert host.array_equal(kept.kept, host.arange(float(COUNT)))
    x = oracle.lf.zeros(COUNT)
    x[:] = kept
    x *= 5.0
    assert host.asarray(x)[2] == 10.0 and kept.kept[2] == 2.0


def test_what_writes_into_its_first_argument_by_name() -> None:
    """Functions of the module found a read-only array."""

    def program(np: Any) -> Any:
        np.random.seed(3)
        x, board = np.arange(COUNT) * 1, np.arange(1.0 * COUNT).reshape(-1, 7) * 1.0
        np.random.shuffle(x=x)
        np.put(a=x, ind=[3], v=[5])
        np.place(arr=x, mask=x > COUNT - 9, vals=[-1])
        np.putmask(a=x, mask=x == 8, values=-2)
        np.copyto(dst=board[:1], src=7.0)
        np.fill_diagonal(a=board, val=0.5)
        np.put_along_axis(arr=board, indices=np.array([[2]]), values=-3.0, axis=1)
        return x, board

    oracle.check(program)


ARGUMENTS = (
    "a.reshape(None)", "a.reshape(range(2, COUNT, COUNT // 2 - 2))", "np.reshape(a, None)",
    "np.reshape(a, {COUNT})", "a.reshape(COUNT, order='')", "a.reshape(COUNT, order=None)",
    "a.reshape(COUNT, order=b'F')", "a.reshape(COUNT, order=1)", "np.ravel(a, order='')",
    "np.ravel(a, order=1.5)", "a.copy(order='CC')", "a.copy(order=b'C')", "a.copy(order=1)",
    "a.astype(float, order=1)", "a.flatten(order='')", "np.empty_like(a, order='')",
    "np.squeeze(a, True)", "np.squeeze(a, (0, 0))", "np.squeeze(a, (0, -2))",
    "np.squeeze(a, np.int64(0))", "np.transpose(a, {0, 1})", "np.transpose(a, range(1, -1, -1))",
    "np.flip(a, range(2))", "np.flip(a, np.array([0, 1]))", "np.flip(a, {0})", "np.flip(a, 1.5)",
    "np.flip(a, (0, 0))", "np.flip(a, 2)", "np.flip(a, True)", "np.cumsum(a, (0,))",
    "np.rot90(a, axes=(0,))", "np.rot90(a, axes=(0, 0))", "np.rot90(a, axes=(0, -2))",
    "np.rot90(a, axes=(0, 5))", "np.rot90(a, axes=(0, 1, 2))", "np.rot90(a, axes=3)",
    "np.expand_dims(a, {0})", "np.expand_dims(a, range(2))", "np.expand_dims(a, (0, 0))",
    "np.expand_dims(a, True)", "np.expand_dims(a, (0, 3))", "a.copy(order=b'X')",
    "np.asarray(a.reshape(2, -1).T, order=b'C')", "np.asarray(a, order=b'X')",
    "np.asanyarray(a.reshape(2, -1).T, order='c')", "np.asarray(a, order=2)",
    "np.asanyarray(a, order='')", "np.zeros((2, COUNT), order=b'F')",
    "np.ones((2, COUNT), order=b'C')", "np.full((2, COUNT), 1.0, order=b'f')",
    "np.zeros((2, COUNT), order='A')", "np.ones((2, COUNT), order=1)",
    "np.full((2, COUNT), 1.0, order='')", "np.empty((2, COUNT), order=b'F')",
    "np.ndarray((2, COUNT), order='A')", "np.ndarray((2, COUNT), order=b'F')",
    "np.ndarray((2, COUNT), order=1)", "np.array(a.reshape(2, -1).T, order=b'C')",
    "np.reshape(a, newshape=COUNT)", "np.reshape(a, COUNT, newshape=COUNT)",
    "np.quantile(a, 0.3, interpolation='lower')", "np.percentile(a, 30, interpolation=None)",
)  # fmt: skip


@pytest.mark.parametrize("text", ARGUMENTS)
def test_unusual_arguments(text: str) -> None:
    """Taken, or refused with another kind of error."""

    def program(np: Any) -> Any:
        a = np.arange(float(COUNT)).reshape(1, COUNT) * 1.0
        return eval(text, {"np": np, "a": a, "COUNT": COUNT})

    found, wanted = outcome(lambda: program(oracle.lf)), outcome(lambda: program(host))
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and found[0] == wanted[0], (found, wanted)
        return
    assert found.strides == wanted.strides
    if not text.startswith(("np.empty", "np.ndarray")):
        host.testing.assert_array_equal(host.asarray(found), wanted)


def test_a_threshold_that_is_set_meanwhile_stays() -> None:
    """That of before was put back, whatever another thread had chosen."""
    before, is_inside, may_end = gc.get_threshold(), threading.Event(), threading.Event()

    def inside() -> None:
        is_inside.set()
        may_end.wait(10)

    other = threading.Thread(target=uncollected, args=(inside,))
    other.start()
    is_inside.wait(10)
    try:
        gc.set_threshold(50_000, 20, 20)
        may_end.set()
        other.join()
        assert gc.get_threshold()[0] == 50_000
    finally:
        gc.set_threshold(*before)


def test_nothing_is_collected_until_all_threads_are_done() -> None:
    """The first to come switched back when it was done: kernels are compiled aside while others
    are compiled in threads that must not run finalizers."""
    before = gc.get_threshold()
    begun, may_end = threading.Event(), threading.Event()
    other = threading.Thread(target=uncollected, args=(lambda: begun.set() or may_end.wait(10),))
    other.start()
    begun.wait(10)

    def inside() -> int:
        may_end.set()
        other.join()
        return gc.get_threshold()[0]

    assert uncollected(inside) == 0
    assert gc.get_threshold() == before


def test_an_array_among_many_numbers() -> None:
    """NumPy asks an array in the middle of a list to call the function, which asked NumPy."""

    def program(np: Any) -> Any:
        some = np.arange(3)
        return np.choose(some + 19, [1] * 20 + [some] + [2] * 20)

    with oracle.options(eager_size=0):
        oracle.check(program)


def test_an_array_among_many_numbers_that_are_joined() -> None:
    def program(np: Any) -> Any:
        some = [1.0] * 20 + [np.array([1.5, 2.5])] + [2.0] * 20
        alone = [1.0] * 20 + [np.array(2.5)] + [2.0] * 20
        return np.hstack(some), np.roots(alone), np.block([some]), np.stack(arrays=alone)

    for size in (0, 30_000):
        with oracle.options(eager_size=size):
            oracle.check(program)


def test_one_stride_as_a_number() -> None:
    def program(np: Any) -> Any:
        x = np.arange(10)[::2].copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # since NumPy 2.4
            x.strides = 0
        return x

    with oracle.options(eager_size=0):
        oracle.check(program)


@pytest.mark.parametrize("size", [10, 40_000, 500_000])
@pytest.mark.parametrize("pair", ["f8 i8", "f8 f4", "c16 f8", "i8 u1", "f8 f8", "u1 f8", "f2 f2"])
def test_copies_of_other_dtypes(pair: str, size: int) -> None:
    """`copyto` refuses what `x[...] = y` casts, and tells of no cast."""
    source, target = pair.split()

    def program(np: Any, x: Any) -> Any:
        y, found = np.zeros(size, target), []
        for value in (x, x[:1], x[None], host.ones(size, source), 2, x[::-1]):
            try:
                np.copyto(y, value)
            except TypeError as error:
                found.append(str(error))
        np.copyto(y, x.real if target[0] != "c" else x, casting="unsafe")
        return y, found

    for eager_size in (0, 30_000):
        with oracle.options(eager_size=eager_size):
            oracle.check(program, (host.arange(size) % 100).astype(source))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_numbers_of_nan_in_every_layout(dtype: str) -> None:
    """Arrays that do not lie in C order took the long way."""

    def program(np: Any, x: Any) -> Any:
        x[3, 4, 5], x[1, 2, 3], x[0, 0, 0] = np.nan, np.inf, -np.inf
        parts = (x, x.T, x[::-1], x[:, ::2], x.transpose(1, 0, 2), x[:, :, 1:4], x[::-1].T)
        found = [np.nan_to_num(part, nan=7.0) for part in parts]
        return found, [each.base is None for each in found]

    for eager_size in (0, 30_000):
        with oracle.options(eager_size=eager_size):
            oracle.check(program, host.arange(40.0 * 30 * 40).reshape(40, 30, 40).astype(dtype))


class Derived(host.ndarray):
    """NumPy does not look through views of such a class for whose memory they are."""


def _derived(kept: Any) -> Any:
    return kept.view(Derived)[:].view(host.ndarray)


GIVEN: dict[str, Callable[[Any], Any]] = {
    "itself": lambda kept: kept,
    "a view": lambda kept: kept[:],
    "a view of a view of a class": _derived,
    "both": lambda kept: (kept, kept),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_what_a_callback_gives_is_its_own(kind: str) -> None:
    """An array that it keeps was written over by the next operator, as a temporary is."""
    kept = host.ones(COUNT)

    def callback(*_: Any) -> Any:
        return GIVEN[kind](kept)

    with oracle.options(eager_size=30_000, cold_size=1 << 20):
        for _ in range(3):
            if kind == "both":
                _ = oracle.lf.fromfunction(callback, (3, 3))[1] * 5.0 + 1.0
            else:
                _ = oracle.lf.fromfunction(callback, (3, 3)) * 5.0 + 1.0
                _ = oracle.lf.fromfunction(function=callback, shape=(3, 3)) * 5.0 + 1.0
            assert (kept == 1.0).all()


@pytest.mark.parametrize("eager_size", [0, 30_000])
def test_a_function_by_its_keyword(eager_size: int) -> None:
    """`function=` was taken for the one that is to be called, until there was machine code."""
    fromfunction = oracle.lf.fromfunction
    with oracle.options(eager_size=eager_size):
        for call in (fromfunction, getattr(fromfunction, "call_as_user", fromfunction)):
            assert call(function=lambda i: i * 2, shape=(3,)).tolist() == [0.0, 2.0, 4.0]
