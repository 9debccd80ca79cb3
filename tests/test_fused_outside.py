"""Fused functions that change what is not theirs, or ask what it is: they are called each time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place fuses nothing", allow_module_level=True)

lf = oracle.lf
SIZES = (200, 5000, 40_000)
CALLS = 40


@pytest.fixture(autouse=True, params=[0, 30_000])
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small arrays are the engine's, or NumPy's own, as users have them."""
    with lf.options(eager_size=request.param, cold_size=400_000):
        yield


class Kept:
    """What other objects hold."""

    total: Any = None


module = ModuleType("module")


def add(x: Any) -> None:
    module.total[...] += x  # type: ignore[attr-defined]  # it is there then


def in_a_module(x: Any) -> Any:
    module.total += x  # type: ignore[attr-defined]  # likewise
    return x * 2


def in_a_class(x: Any) -> Any:
    Kept.total += x
    return x * 2


def by_a_helper(x: Any) -> Any:
    add(x)
    return x * 2


def an_element(x: Any) -> Any:
    Kept.total[0] += 1
    return x * 2


def a_number(x: Any) -> Any:
    Kept.total += 1.0
    return x * 2


def a_part(x: Any) -> Any:
    Kept.total[:10] += 1
    return x * 2


def filled(x: Any) -> Any:
    Kept.total.fill(float(Kept.total[0]) + 1)
    return x * 2


def an_output(x: Any) -> Any:
    lf.add(Kept.total, x, out=Kept.total)
    return x * 2


def copied(x: Any) -> Any:
    lf.copyto(Kept.total, Kept.total + x)
    return x * 2


def and_an_error(x: Any) -> Any:
    try:
        Kept.total += x
        return x * lf.zeros(3)
    except Exception:
        return x * 2


def and_whatever_comes(x: Any) -> Any:
    try:
        Kept.total += x
    except BaseException:
        return x
    return x * 2


WRITING = (
    in_a_module, in_a_class, by_a_helper, an_element, a_number, a_part, filled, an_output, copied,
    and_an_error, and_whatever_comes,
)  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", WRITING, ids=lambda function: function.__name__)
def test_each_write_is_done_once(function: Callable[[Any], Any], size: int) -> None:
    """Writes into arrays that no argument is were lost in replays, or done twice when it was
    recorded."""
    Kept.total, fused = lf.zeros(size), lf.fuse(function)
    module.total = lf.zeros(size)  # type: ignore[attr-defined]  # it gets it
    x = lf.ones(size)
    for _ in range(CALLS):
        found = fused(x)
    total = module.total if function in (in_a_module, by_a_helper) else Kept.total
    assert float(total[0]) == CALLS and float(found[0]) == 2.0
    assert fused.replays == 0
    if size > 4096:
        assert "writes" in fused.reason or "asks" in fused.reason


def test_own_arrays_are_written() -> None:
    """What a function makes itself it may write."""

    @lf.fuse
    def step(x: Any) -> Any:
        y, z = lf.zeros_like(x), x * 2
        y[1:] = x[:-1]
        y[0] = 3.0
        z += y
        z[::2] *= 0.5
        lf.add(z, x, out=z)
        return y, z

    expected = step.__wrapped__
    x = lf.asarray(host.linspace(0.0, 1.0, 40_000))
    for _ in range(4):
        for found, wanted in zip(step(x), expected(x), strict=True):
            assert lf.asnumpy(found).tobytes() == lf.asnumpy(wanted).tobytes()
    assert step.replays == 2, step.reason


MAKERS: dict[str, Callable[[], Any]] = {
    "ones": lambda: lf.ones(3) / 3,
    "array": lambda: lf.array([0.2, 0.3, 0.5]),
    "copied": lambda: lf.array([0.2, 0.3, 0.5]).copy(),
    "of NumPy's": lambda: lf.asarray(host.hanning(5)[1:4].copy()),
    "arange": lambda: lf.arange(3) * 0.5,
    "view": lambda: lf.zeros(6)[::2] + 0.25,
}


@pytest.mark.parametrize("size", [5000, 40_000])
@pytest.mark.parametrize("maker", MAKERS)
def test_own_small_arrays_are_written(maker: str, size: int) -> None:
    """Weights, windows and stencils, which are NumPy's own."""

    @lf.fuse
    def smoothed(x: Any) -> Any:
        k = MAKERS[maker]()
        k[1] = 0.5
        k /= k.sum()
        k[:2] *= 2.0
        k.sort()
        k[k > 0.9] = 0.9
        return float(k[0]) * x[:-2] + float(k[1]) * x[1:-1] + float(k[2]) * x[2:]

    x = lf.asarray(host.linspace(0.0, 1.0, size))
    expected = lf.asnumpy(smoothed.__wrapped__(x))
    for _ in range(CALLS):
        assert lf.asnumpy(smoothed(x)).tobytes() == expected.tobytes()
    assert "writes" not in smoothed.reason


class Settings:
    """Attributes with names that arrays have, too."""

    base = 2.0
    id = 3.0


def by_settings(x: Any, y: Any) -> Any:
    return x * Settings.base + y * Settings.id


def by_a_flag(x: Any, y: Any, flag: bool = True) -> Any:
    found = x * y if flag is True else x
    return x if found is NotImplemented else found


@pytest.mark.parametrize("function", [by_settings, by_a_flag])
def test_what_is_not_asked_of_arrays(function: Callable[[Any, Any], Any]) -> None:
    fused, x = lf.fuse(function), lf.ones(40_000)
    for _ in range(4):
        found = fused(x, x * 2.0)
    assert lf.asnumpy(found).tobytes() == lf.asnumpy(function(x, x * 2.0)).tobytes()
    assert fused.replays == 2, fused.reason


def reshaped(x: Any) -> Any:
    x.shape = (2, -1)
    return x * 2


def frozen(x: Any) -> Any:
    x.flags.writeable = False
    return x * 2


def locked(x: Any) -> Any:
    x.setflags(write=False)
    return x * 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [reshaped, frozen, locked])
def test_arguments_are_changed(function: Callable[[Any], Any], size: int) -> None:
    """Their shape and flags, too, which was lost in replays."""
    fused = lf.fuse(function)
    for _ in range(CALLS):
        x = lf.ones(size)
        fused(x)
    assert x.shape == (2, size // 2) if function is reshaped else not x.flags.writeable
    assert fused.replays == 0


def is_itself(a: Any, b: Any) -> Any:
    return a + b if a is b else a - b


def by_identity(a: Any, b: Any) -> Any:
    return a + b if id(a) == id(b) else a - b


def by_memory(a: Any, b: Any) -> Any:
    return a + b if lf.shares_memory(a, b) else a - b


def by_base(a: Any, b: Any) -> Any:
    return a + b if a.base is None else a - b


def by_flags(a: Any, b: Any) -> Any:
    return a + b if b.flags.writeable else a - b


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [is_itself, by_identity, by_memory, by_base, by_flags])
def test_who_an_argument_is(function: Callable[[Any, Any], Any], size: int) -> None:
    """A recording sees copies, each its own."""
    fused = lf.fuse(function)
    x, y = lf.asarray(host.linspace(0.0, 1.0, size)), lf.asarray(host.linspace(1.0, 2.0, size))
    frozen_y = y.copy()
    frozen_y.flags.writeable = False
    given = [(x, y), (x, x), (x, x[:]), (x[:], y), (x, frozen_y), ([x][0], x)]
    for a, b in given * CALLS:
        found, wanted = fused(a, b), function(a, b)
        assert lf.asnumpy(found).tobytes() == lf.asnumpy(wanted).tobytes()


def test_what_calls_itself() -> None:
    """It is recorded at one level: each called all below it twice, so that an endless recursion
    took for ever."""

    @lf.fuse
    def endless(x: Any) -> Any:
        return endless(x)

    calls = []

    @lf.fuse
    def deep(x: Any, path: tuple[int, ...] = ()) -> Any:
        calls.append(path)
        if len(path) > 6:
            raise ValueError("deep enough")
        return deep(x, (*path, 1))

    x = lf.ones(5000)
    for _ in range(3):
        with pytest.raises(RecursionError):
            endless(x)
        with pytest.raises(ValueError, match="deep enough"):
            deep(x)
    assert len(calls) < 100


def _arrays() -> None:
    Kept.log, Kept.one, Kept.zero, Kept.square = lf.zeros(5), lf.ones(5), lf.zeros(5), lf.eye(5)
    Kept.numpys, Kept.draw = host.zeros(5), host.random.default_rng(0)


#: Writes into small arrays that somebody has, by functions that see no argument of the function.
WRITERS: dict[str, Callable[[], Any]] = {
    "add": lambda: lf.add(Kept.log, Kept.one, out=Kept.log),
    "a number": lambda: lf.add(Kept.log, 1.0, out=Kept.log),
    "NumPy's add": lambda: host.add(Kept.log, Kept.one, out=Kept.log),
    "where": lambda: lf.add(Kept.log, 1.0, out=Kept.log, where=Kept.one > 0),
    "exp": lambda: lf.exp(Kept.log * 0.1, out=Kept.log),
    "positional": lambda: lf.add(Kept.log, Kept.one, Kept.log),
    "put": lambda: lf.put(Kept.log, [0, 1], Kept.log[0] + 1),
    "method put": lambda: Kept.log.put([0, 1], Kept.log[0] + 1),
    "copyto": lambda: lf.copyto(Kept.log, Kept.log + 1),
    "copyto where": lambda: lf.copyto(Kept.log, Kept.log + 1, where=Kept.one > 0),
    "putmask": lambda: lf.putmask(Kept.log, Kept.one > 0, Kept.log + 1),
    "place": lambda: lf.place(Kept.log, Kept.one > 0, Kept.log + 1),
    "diagonal": lambda: lf.fill_diagonal(Kept.square, float(Kept.square[0, 0]) + 1),
    "along": lambda: lf.put_along_axis(Kept.log, lf.array([0]), float(Kept.log[0]) + 1, 0),
    "at": lambda: lf.add.at(Kept.log, [0, 0], 1.0),
    "sum": lambda: lf.sum(Kept.square + Kept.log, axis=0, out=Kept.log),
    "method": lambda: (Kept.square + Kept.log).sum(axis=0, out=Kept.log),
    "clip": lambda: (Kept.log + 1).clip(0, 100, out=Kept.log),
    "cumsum": lambda: lf.cumsum(Kept.log * 0.1 + 1, out=Kept.log),
    "take": lambda: lf.take(Kept.log + 1, [0, 1, 2, 3, 4], out=Kept.log),
    "joined": lambda: lf.concatenate([Kept.log[:2] + 1, Kept.log[2:] + 1], out=Kept.log),
    "dot": lambda: lf.dot(Kept.square, Kept.log + 1, out=Kept.log),
    "matmul": lambda: lf.matmul(Kept.square, Kept.log + 1, out=Kept.log),
    "NumPy's array": lambda: lf.add(Kept.numpys, Kept.one, out=Kept.numpys),
    "its operator": lambda: Kept.numpys.__iadd__(Kept.one),
    "flat": lambda: Kept.log.flat.__setitem__(0, float(Kept.log[0]) + 1),
    "shuffle": lambda: Kept.draw.shuffle(Kept.log),
    "a view": lambda: lf.add(Kept.log[1:], 1.0, out=Kept.log[1:]),
}


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("name", WRITERS)
def test_each_write_by_a_function_is_done_once(name: str, size: int) -> None:
    """Those into arrays of the engine, too, and of NumPy's beside one of ours."""

    def outside(x: Any) -> Any:
        WRITERS[name]()
        return x * 2

    found = []
    for function in (outside, lf.fuse(outside)):
        _arrays()
        x = lf.ones(size)
        for _ in range(6):
            result = function(x)
        assert float(result[0]) == 2.0
        found.append([host.asarray(each).tolist() for each in (Kept.log, Kept.square)])
        found[-1].append(Kept.numpys.tolist())
    assert found[0] == found[1]
    assert function.replays == 0  # type: ignore[attr-defined]  # the last one is fused


def test_what_functions_only_read_is_no_reason() -> None:
    """Constants of a module that NumPy's functions are given are as they were."""

    @lf.fuse
    def step(x: Any) -> Any:
        weights = lf.cumsum(Kept.one) + lf.add(Kept.log, Kept.one) + Kept.square.sum(axis=0)
        own = lf.zeros(5)
        lf.add(own, 1.0, out=own)
        return x * float(lf.sort(weights + own)[0])

    x = lf.ones(40_000)
    with lf.options(eager_size=30_000):
        _arrays()
        for _ in range(4):
            found = step(x)
    assert float(found[0]) == 4.0 and step.replays == 2, step.reason


def test_caches_stay_filled() -> None:
    """Arrays that the function makes itself and keeps have their values, however they are made."""

    def by_function(n: int) -> Any:
        found = lf.zeros(n)
        lf.cumsum(lf.ones(n), out=found)
        return found

    def by_operator(n: int) -> Any:
        found = lf.ones(n)
        found *= 3.0
        found[0] = 1.0
        return found

    def by_put(n: int) -> Any:
        found = lf.zeros(n)
        lf.put(found, [0, n - 1], 1.0)
        return found

    for make in (by_function, by_operator, by_put):
        windows = functools.lru_cache(make)

        @lf.fuse
        def weighted(x: Any, n: int) -> Any:
            if Kept.total is None or len(Kept.total) != n:
                Kept.total = make(n)  # noqa: B023 - called at once
            return x * Kept.total * windows(n)  # noqa: B023

        Kept.total = None
        for n in (3, 4, 3, 4, 3, 3, 3):
            found = weighted(lf.ones((5000, n)), n)
            wanted = host.asarray(make(n)) ** 2
            host.testing.assert_array_equal(host.asarray(found)[7], wanted)


def test_writes_of_other_threads_stay() -> None:
    """And what a function only reads is not touched."""
    with lf.options(eager_size=30_000):
        _arrays()
        begun, done = threading.Event(), threading.Event()

        @lf.fuse
        def step(x: Any) -> Any:
            lf.sort(Kept.log)
            begun.set()
            done.wait(10)
            return x * 2

        def write() -> None:
            begun.wait(10)
            Kept.log[0] = 99.0
            done.set()

        x = lf.ones(5000)
        step(x)
        begun.clear()
        done.clear()
        thread = threading.Thread(target=write)
        thread.start()
        step(x)
        thread.join()
        assert float(Kept.log[0]) == 99.0


def test_overlapping_arrays_are_undone() -> None:
    """The last write first; and one that is read-only again."""
    with lf.options(eager_size=30_000):
        Kept.total = lf.zeros(6)
        part = lf.lib.stride_tricks.as_strided(Kept.total, (3,), (8,))

        @lf.fuse
        def step(x: Any) -> Any:
            Kept.total.flags.writeable = True
            lf.add(Kept.total, 1, out=Kept.total)
            lf.add(part, 1, out=part)
            Kept.total.flags.writeable = False
            return x * 2

        for _ in range(4):
            step(lf.ones(5000))
        assert Kept.total.tolist() == [8.0] * 3 + [4.0] * 3


REPLAYED: dict[str, Callable[[Any], Any]] = {
    "eye": lambda x: x * float(lf.eye(3)[0, 0]),
    "linspace": lambda x: x + float(lf.linspace(0.0, 1.0, 5)[-1]),
    "list": lambda x: x * float(lf.sum([1.0, 2.0])),
    "dot": lambda x: x * float(lf.dot([1.0, 2.0], [3.0, 4.0])),
    "numpys": lambda x: x * float(lf.take(host.arange(4.0), [2])[0]),
    "inverse": lambda x: x * float(lf.linalg.inv(lf.eye(3))[0, 0]),
    "interpolated": lambda x: x * float(lf.interp(0.5, [0.0, 1.0], [1.0, 3.0])),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_small_numbers_are_no_reason(name: str) -> None:
    with lf.options(eager_size=30_000):
        fused = lf.fuse(lambda x: REPLAYED[name](x))
        x = lf.ones(40_000)
        for _ in range(5):
            found = fused(x)
        assert fused.replays == 3, fused.reason
        host.testing.assert_array_equal(host.asarray(found), host.asarray(REPLAYED[name](x)))
