"""Recordings that machine code replays: what the function gives, whatever changes meanwhile."""

from __future__ import annotations

import gc
import inspect
import math
import os
import random
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the code replays what the engine runs on the CPU", allow_module_level=True)

from lazyfuse.backends.cpu import launch_bands  # noqa: E402 - when there is an engine
from lazyfuse.frontend import fused as frontend  # noqa: E402 - when there is an engine
from lazyfuse.frontend import native_methods  # noqa: E402 - likewise
from lazyfuse.ir.kept import MOST_PIECES, pieces_of  # noqa: E402 - likewise
from lazyfuse.ir.layout import Layout  # noqa: E402 - likewise
from lazyfuse.ir.plan import Wave  # noqa: E402 - likewise
from lazyfuse.runtime import native, replay_code, session, under_way  # noqa: E402 - likewise
from lazyfuse.runtime.sequence import sequence  # noqa: E402 - likewise
from tests.test_waves import CASES, grid  # noqa: E402 - likewise


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record the second call, also on few elements; small arrays are small."""
    monkeypatch.setattr(frontend, "CALLS_OF_FEW", 1)
    with lf.options(eager_size=1000):
        yield


def _replays(fused: Any) -> int:
    """How often machine code has run a kernel."""
    return int(fused._machine.replays)


def _same(given: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list):
        assert type(given) is type(wanted) and len(given) == len(wanted)
        for pair in zip(given, wanted, strict=True):
            _same(*pair)
    elif isinstance(wanted, dict):
        assert given.keys() == wanted.keys()
        for name in wanted:
            _same(given[name], wanted[name])
    else:
        problems = list(oracle.compare("result", wanted, oracle.observe(given)))
        assert not problems, problems


def _numbers(*shape: int, dtype: str = "f8") -> host.ndarray:
    numbers = host.random.default_rng(5).random(shape) * 9 + 1
    return host.array(numbers.astype(dtype))


def _stencil(np: Any, a: Any, b: Any) -> Any:
    """Steps in place: between two kernels, what a step leaves alone is copied."""
    u = a.copy()
    for _ in range(4):
        u[1:-1] += u[2:] + u[:-2] - b[1:-1]
    return u


def _boundaries(np: Any, a: Any, b: Any) -> Any:
    """Writes of parts, and versions that are results of their own."""
    u = a.copy()
    u[1:-1] = u[2:] - b[:-2]
    u[:1] = b[-1:]
    v = u.copy()
    v[-1:] += u[:1]
    v[::2] = v[::2] * b[::2]
    w = v.copy()
    w[..., 0] = 3
    return u, v, w + a, w


FORMULAS: dict[str, Callable[..., Any]] = {
    "chain": lambda np, a, b: (a * 2.0 + b) * a - b * 0.5,
    "one operation": lambda np, a, b: a + b,
    "functions": lambda np, a, b: np.sqrt(np.abs(a)) + np.maximum(a, b),
    "rows": lambda np, a, b: (a * b).sum(axis=-1) / 2,
    "columns": lambda np, a, b: (a + b).max(axis=0),
    "a scalar": lambda np, a, b: (a * b).sum(),
    "condition": lambda np, a, b: np.where(a > b, a - b, b),
    "comparison": lambda np, a, b: (a > b) & (b < 4),
    "several": lambda np, a, b: (a + b, a * b),
    "mixed": lambda np, a, b: {"sum": a + b, "rest": [(a - b).max(), None, 3]},
    "mean and deviation": lambda np, a, b: (a - a.mean(axis=0)) / a.std(axis=0) + b,
    "scan": lambda np, a, b: np.cumsum(a * b, axis=0),
    "several kernels": lambda np, a, b: np.cumsum(np.cumsum(a, axis=0) - b, axis=0) + b,
    "steps in place": _stencil,
    "boundaries": _boundaries,
    "a call": lambda np, a, b: np.sort(a * 2, axis=-1) + b,
}
SHAPES = {"small": (6, 5), "one": (1, 1), "line": (700,), "large": (100, 60), "long": (5000,)}


KINDS = [(shape, "f8") for shape in SHAPES]
KINDS += [(shape, dtype) for shape in ("small", "large") for dtype in ("f4", "i8", "u1", "c16")]


@pytest.mark.parametrize("size,dtype", KINDS)
@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name: str, size: str, dtype: str) -> None:
    """Arrays of ours, NumPy's, and both; results have NumPy's bits at every call."""
    formula, shape = FORMULAS[name], SHAPES[size]
    a, b = _numbers(*shape, dtype=dtype), _numbers(*shape, dtype=dtype)[::-1].copy()
    fused = lf.fuse(lambda a, b: formula(lf, a, b))
    wanted = formula(host, a, b)
    for left, right in ((a, b), (lf.asarray(a), lf.asarray(b)), (lf.asarray(a), b)) * 3:
        _same(fused(left, right), wanted)
        _same(left, a)


def test_machine_code_replays() -> None:
    """Kernels of small and of large arrays, of results in any form."""
    for formula in (FORMULAS[name] for name in ("chain", "rows", "a scalar", "several", "mixed")):
        for shape in SHAPES.values():
            fused = lf.fuse(lambda a, b, formula=formula: formula(lf, a, b))
            a, b = lf.asarray(_numbers(*shape)), lf.asarray(_numbers(*shape))
            for _ in range(5):
                fused(a, b)
            assert (_replays(fused), fused.replays, fused.reason) == (3, 3, ""), shape


def test_a_plan_of_several_kernels() -> None:
    """Steps of a stencil take turns in two pieces of memory; what NumPy does is left to Python."""
    a, b = _numbers(100, 60), _numbers(100, 60)
    fused = lf.fuse(lambda a, b: _stencil(lf, a, b))
    for _ in range(5):
        fused(lf.asarray(a), lf.asarray(b))
    assert _replays(fused) == 3
    (found,) = fused._known.values()
    steps = sequence(found.known.plan, session.backend("cpu"), found.scalars)
    assert len(steps.steps) - steps.copies == 4 and len(steps.memory) <= 2
    assert steps.copies < 4 or steps.read > 4 * a.nbytes
    fused = lf.fuse(lambda a, b: FORMULAS["a call"](lf, a, b))
    for _ in range(5):
        fused(lf.asarray(a), lf.asarray(b))
    assert not _replays(fused) and fused.replays == 3


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("name", ("heat", "heat f4", "heat F", "reaction", "leapfrog"))
def test_waves(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of more memory than a cache holds run band by band, and what they keep is copied
    there: NumPy's bits, in new memory each time."""
    monkeypatch.setattr(launch_bands, "BAND_BYTES", 1 << 18)
    program, few, _ = CASES[name]
    many = [grid(700, 611, dtype=a.dtype.str[1:], seed=n) for n, a in enumerate(few)]
    many = [host.asfortranarray(a) if name == "heat F" else a for a in many]
    wanted = program(host, *(a.copy() for a in many))
    with lf.options(threads=threads):
        fused = lf.fuse(lambda *given: program(lf, *(a.copy() for a in given)))
        found = [fused(*map(lf.asarray, many)) for _ in range(6)]
    for given in found:
        _same(given, wanted)
    assert _replays(fused) >= 3
    (known,) = fused._known.values()
    steps = sequence(known.known.plan, session.backend("cpu"), known.scalars)
    assert type(steps.steps[-1].of) is Wave and len(steps.steps) <= 2 and steps.launches >= 4


def test_pieces_of_memory() -> None:
    """A layout covers what NumPy's view of it does, in few pieces."""
    memory = host.arange(400)
    cases = ((slice(None), 1), (slice(3, 9), 1), ((slice(None), slice(0, 1)), 20),
             ((slice(2, 5), slice(3, 7)), 3), ((slice(None, None, -1), slice(4)), 20),
             ((slice(0, 0),), 0), ((slice(1, 2), slice(2, 3)), 1))  # fmt: skip
    for key, count in cases:
        part = memory.reshape(20, 20)[key]
        strides = tuple(stride // 8 for stride in part.strides)
        first = (part.__array_interface__["data"][0] - memory.ctypes.data) // 8
        pieces = pieces_of([Layout(part.shape, strides, first)], 8)
        covered = [memory[start // 8 : (start + length) // 8] for start, length in pieces]
        assert list(host.concatenate([memory[:0], *covered])) == sorted(part.ravel())
        assert len(pieces) == count
    assert pieces_of([Layout((MOST_PIECES + 1, 1), (2, 1), 0)], 8) is None
    assert pieces_of([Layout((3,), (2,), 0), Layout((2,), (2,), 1)], 4).tolist() == [[0, 20]]


def test_small_arrays_give_what_numpy_gives() -> None:
    """Arrays of the class that wraps NumPy's, and NumPy's scalars."""
    fused = lf.fuse(lambda a: (a * 2, (a * a).sum()))
    a = lf.asarray(_numbers(20))
    for _ in range(4):
        double, total = fused(a)
        assert type(double) is lf.LazyArray and type(double._host) is host.ndarray
        assert type(total) is host.float64 and double._owner is None
        double += 1
        double[0] = total
    assert _replays(fused) == 2


PLAIN = (
    0, 1, 1.0, -1.0, 0.0, -0.0, True, False, 2**40, 2**40 + 1, 3.5, math.nan, math.inf,
    host.float64(3.5), host.float32(3.5), host.int64(3), host.int8(3), host.uint8(3), 2j,
    complex(-0.0, 1), complex(0.0, 1), host.complex128(2j), None, "x", "y",
)  # fmt: skip


class Model:
    """An instance that a function reads."""

    def __init__(self, rate: Any) -> None:
        self.rate, self.how = rate, {"by": 2.0}


READING = """
def reading(a, b, plain=2, *, extra=1.5):
    return (a - b) * scale + _plain(plain) * model.rate + extra * model.how["by"]
"""


def _plain(value: Any) -> Any:
    """Something to compute with, of any plain value."""
    return len(str(value)) if value is None or isinstance(value, str) else value


def _choices(draw: random.Random) -> tuple[Any, ...]:
    """Two arrays, and a plain value, of all kinds."""
    shape = draw.choice(((5,), (2, 5), (1,), (4500,), (1, 5), (9, 500)))
    dtype = draw.choice(("f8", "f4", "i8", "c16", ">f8"))
    made = []
    for part in (shape, draw.choice((shape, shape[-1:]))):
        array = host.round(_numbers(*part), 1).astype(dtype)
        layout = draw.choice(("plain", "plain", "ours", "ours", "pending", "odd"))
        made.append(_laid_out(array, layout, draw))
    return *made, draw.choice(PLAIN)


def _laid_out(array: host.ndarray, layout: str, draw: random.Random) -> Any:
    if layout == "odd":
        reverse, fortran = array[::-1], host.asfortranarray(array)
        unaligned = host.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1)
        return draw.choice((reverse, fortran, unaligned.reshape(array.shape)))
    if layout == "pending":
        return lf.asarray(array) * 1
    return lf.asarray(array) if layout == "ours" else array


@pytest.mark.parametrize("seed", range(12))
def test_whatever_changes_between_calls(seed: int) -> None:
    """Arguments by position and by name, what modules, closures and instances hold, and options:
    the same as the function itself gives under NumPy, or the same error."""
    draw = random.Random(seed)
    cell, model = 1.0, Model(0.5)

    def function(a: Any, b: Any, plain: Any = 2, *, extra: Any = 1.5) -> Any:
        return (a + b) * _plain(plain) - extra * cell

    globe = {"scale": 1.0, "model": model, "_plain": _plain}
    exec(READING, globe)
    pool = [_choices(draw) for _ in range(5)]
    functions = [(one, lf.fuse(one, signatures=200)) for one in (function, globe["reading"])]
    with warnings.catch_warnings(), host.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(600):
            step = draw.random()
            if step < 0.02:
                cell = draw.choice((1.0, 2.0, -0.0, 0.0))
            elif step < 0.04:
                globe["scale"] = draw.choice((1.0, 2.0, True, 2))
            elif step < 0.06:
                model.rate = draw.choice((0.5, 0.25))
                model.how["by"] = draw.choice((2.0, 3.0))
            given = draw.choice(pool)
            named = draw.choice(({}, {}, {"extra": 2.5}, {"plain": 3}))
            one, fused = draw.choice(functions)
            count = 2 if "plain" in named else draw.choice((2, 3))
            _same_call(fused, one, given[:count], named)
    assert sum(_replays(fused) for _, fused in functions) > 20


def _same_call(fused: Any, function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    plain = [oracle.to_numpy(value) for value in given]
    try:
        wanted = function(*plain, **named)
    except Exception as error:  # noqa: BLE001 - any exception is an answer here
        with pytest.raises(type(error)):
            fused(*given, **named)
        return
    _same(fused(*given, **named), wanted)


def test_a_name_that_a_module_gets_later() -> None:
    """A name of Python's own is read until the module has one of its own."""
    globe: dict[str, Any] = {}
    exec("def function(a): return a * abs(-2.0)", globe)
    fused = lf.fuse(globe["function"])
    a = lf.asarray(_numbers(10))
    for _ in range(4):
        _same(fused(a), host.asarray(a) * 2)
    globe["abs"] = lambda value: 5.0
    for _ in range(4):
        _same(fused(a), host.asarray(a) * 5)
    del globe["abs"]
    _same(fused(a), host.asarray(a) * 2)
    assert _replays(fused) == 5


def test_an_instance_that_cannot_be_looked_at() -> None:
    """An exception on the way is the caller's."""

    class Shy:
        is_shy = False

        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            if self.is_shy:
                raise RuntimeError("no")
            return {"rate": 2.0}

    shy = Shy()
    fused = lf.fuse(lambda a, model: a * model.__dict__["rate"])
    a = lf.asarray(_numbers(10))
    for _ in range(4):
        fused(a, shy)
    assert _replays(fused) == 2
    Shy.is_shy = True
    with pytest.raises(RuntimeError, match="no"):
        fused(a, shy)


@pytest.mark.parametrize("size", (10, 5000), ids=("small", "large"))
def test_options(size: int) -> None:
    """Equal options do, also when they are set anew; of others there are other recordings."""
    fused = lf.fuse(lambda a: a * 3)
    numbers = _numbers(size)  # memory that has been lent is asked for by Python
    a = lf.asarray(numbers)
    for _ in range(3):
        for threads in (1, 2):
            with lf.options(threads=threads):
                for _ in range(3):
                    _same(fused(a), numbers * 3)
    assert (fused.recordings, fused.replays) == (2, 14)
    assert _replays(fused) == 14
    with lf.options(native=False):
        for _ in range(4):
            fused(a)
    assert _replays(fused) == 14


@pytest.mark.parametrize("size", (10, 5000), ids=("small", "large"))
def test_conditions_are_told(size: int) -> None:
    """A replay that meets what somebody wants to hear is made by the function instead."""
    fused = lf.fuse(lambda a, b: a / b + 1)
    under = lf.fuse(lambda a: a * 1e-200)
    a, b = _numbers(size), _numbers(size)
    for _ in range(3):
        fused(lf.asarray(a), lf.asarray(b))
        under(lf.asarray(a * 1e-200))  # underflow, which NumPy ignores
    assert (_replays(fused), _replays(under)) == (1, 1)
    b[3] = 0
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        _same(fused(lf.asarray(a), lf.asarray(b)), host.asarray(a / b + 1))
    assert {str(item.message) for item in heard} == {"divide by zero encountered in divide"}
    with host.errstate(divide="raise"), pytest.raises(FloatingPointError):
        fused(lf.asarray(a), lf.asarray(b))
    assert _replays(fused) == 1
    with host.errstate(divide="ignore"):
        fused(lf.asarray(a), lf.asarray(b))
    assert _replays(fused) == 2
    with host.errstate(under="raise"), pytest.raises(FloatingPointError):
        lf.asnumpy(under(lf.asarray(a * 1e-200)))


def test_what_an_errstate_inside_wants_told() -> None:
    def function(a: Any) -> Any:
        with host.errstate(over="warn"):
            return a * 1e300

    fused = lf.fuse(function)
    with host.errstate(all="ignore"):
        for _ in range(4):
            fused(lf.asarray(_numbers(10)))
        assert _replays(fused) == 2
        with pytest.warns(RuntimeWarning, match="overflow"):
            fused(lf.asarray(_numbers(10) * 1e300))
    assert fused.replays == 2


def test_the_call_of_a_method_and_wrong_arguments() -> None:
    class Stepper:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        @lf.fuse
        def step(self, a: Any, *, by: float = 1.0) -> Any:
            """Step."""
            return a * self.rate + by

    one, other = Stepper(2.0), Stepper(3.0)
    a = lf.asarray(_numbers(10))
    for stepper in (one, one, one, other, other, other):
        for named in ({}, {"by": 2.0}):
            _same(stepper.step(a, **named), host.asarray(a) * stepper.rate + named.get("by", 1.0))
    assert _replays(Stepper.step) == 4
    one.rate = 5.0
    _same(one.step(a), host.asarray(a) * 5.0 + 1.0)
    for wrong, named in (((a, a), {}), ((a,), {"of": 1}), ((), {})):
        with pytest.raises(TypeError):
            one.step(*wrong, **named)
    assert (
        str(inspect.signature(Stepper.step)) == "(self, a: 'Any', *, by: 'float' = 1.0) -> 'Any'"
    )
    assert Stepper.step.__doc__ == "Step." and type(Stepper.step).__call__.__doc__


UNMARKED: dict[str, tuple[Callable[[], Any], str]] = {
    "holds a generator": (lambda: {"draws": iter(())}, "more than its value"),
    "holds an array": (lambda: SimpleNamespace(a=host.ones(3)), "more than its value"),
    "a view": (lambda: lf.asarray(_numbers(5000))[::2], "a view"),
    "of no kernels": (lambda: host.array(["x"]), "without kernels"),
    "a pending scalar": (lambda: lf.asarray(_numbers(5000)).sum(), "a scalar"),
}


@pytest.mark.parametrize("name", UNMARKED)
def test_it_says_why_an_argument_cannot_be_marked(name: str) -> None:
    make, reason = UNMARKED[name]
    fused, other = lf.fuse(lambda a, other: a * 2), make()
    for _ in range(3):
        fused(lf.asarray(_numbers(10)), other)
    assert reason in fused.reason and type(other).__name__ in fused.reason and not fused.replays


class Unhashed:
    """An instance that is asked for its hash in vain."""

    def __hash__(self) -> int:
        raise TypeError("no hash")


class Listed(list[float]):
    """A list that has attributes as well."""


READ = {
    "array": ([host.ones(10)], "unseen: read"),
    "list": (Listed([2.0]), "unseen: read"),
    "hash": (Unhashed(), "nor has a hash"),
}


@pytest.mark.parametrize("name", READ)
def test_it_says_why_what_is_read_cannot_be_marked(name: str) -> None:
    value, reason = READ[name]
    globe: dict[str, Any] = {"read": value}
    exec("def function(a): return (a * 2, read)[0]", globe)
    fused, a = lf.fuse(globe["function"]), lf.asarray(_numbers(10))
    for _ in range(3):
        fused(a)
    assert reason in fused.reason and not fused.replays


@dataclass
class Settings:
    """Equal by value, and so without a hash; with a method among its attributes."""

    rate: float
    names: dict[str, Any]
    steps: list[float]

    def __post_init__(self) -> None:
        self.method = self.scaled

    def scaled(self, a: Any) -> Any:
        return a * self.rate + self.names["by"] + sum(self.steps)


CHANGES: dict[str, Callable[[Settings], Any]] = {
    "an attribute": lambda one: setattr(one, "rate", 3.0),
    "the sign of a zero": lambda one: setattr(one, "rate", -0.0),
    "inside a dict": lambda one: one.names.update(by=7.0),
    "inside a list": lambda one: one.steps.append(2.0),
    "another dict": lambda one: setattr(one, "names", {"by": 4.0}),
    "all attributes": lambda one: setattr(one, "__dict__", {**vars(one), "rate": 9.0}),
    "a new attribute": lambda one: setattr(one, "other", 1),
    "one less": lambda one: delattr(one, "method"),
    "its class": lambda one: setattr(one, "__class__", Faster),
}


class Faster(Settings):
    def scaled(self, a: Any) -> Any:
        return a * 100.0


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("where", ("argument", "global"))
def test_what_an_instance_holds(where: str, change: str) -> None:
    """Attributes of instances that are arguments, and that a function reads, are looked at."""
    one = Settings(0.0, {"by": 1.0}, [0.5])
    globe: dict[str, Any] = {"one": one}
    exec("def of(a, one): return one.scaled(a)\ndef reads(a): return one.scaled(a)", globe)
    fused = lf.fuse(globe["of" if where == "argument" else "reads"])
    a, given = lf.asarray(_numbers(10)), (one,) if where == "argument" else ()
    for _ in range(5):
        _same(fused(a, *given), one.scaled(host.asarray(a)))
    assert _replays(fused) == 3
    CHANGES[change](one)
    for _ in range(4):
        _same(fused(a, *given), one.scaled(host.asarray(a)))


def test_a_recording_sees_what_is_replayed_in_it() -> None:
    """A fused function in a fused function asks for values of its own."""
    inner = lf.fuse(lambda a: a * 2)
    constant = _numbers(10)
    for _ in range(4):
        inner(constant)
    outer = lf.fuse(lambda a: a + float(inner(host.array([2.0] * 9 + [4.0]))[0]))
    for _ in range(4):
        _same(outer(lf.asarray(constant)), constant + 4.0)
    assert "asks for values" in outer.reason and not outer.replays


def test_counts() -> None:
    """Launches and bytes are counted as Python counts them."""
    seen = []
    for is_native in (True, False):
        with lf.options(native=is_native):
            fused = lf.fuse(lambda a, b: (a * b + 1, a - b))
            a, b = lf.asarray(_numbers(5000)), lf.asarray(_numbers(5000))
            for _ in range(2):
                fused(a, b)
            lf.materialize(a, b)
            lf.reset_stats()
            for _ in range(5):
                fused(a, b)
            stats = lf.stats()
            seen.append((stats.kernels_launched, stats.bytes_read, stats.bytes_written))
        assert _replays(fused) == 5 * is_native
    assert seen[0] == seen[1] == (5, 5 * 2 * 40000, 5 * 2 * 40000)
    lf.reset_stats()
    assert lf.stats().kernels_launched == 0


def test_no_reference_is_lost() -> None:
    """Of arguments, dtypes, shapes, options; when a call is replayed, refused, or raises."""
    fused = lf.fuse(lambda a, b, n=1: (a * b + n, (a - b).max(), a * 2))
    small = [lf.asarray(_numbers(20)), _numbers(20)]
    large = [lf.asarray(_numbers(5000)) + 0 for _ in range(2)]
    zero = lf.asarray(host.zeros(20))
    quotient = lf.fuse(lambda a, b: a / b)

    def calls() -> None:
        for arrays in (small, large):
            fused(*arrays)
            fused(*arrays, n=2)
        fused(small[0], large[0][:20])
        with pytest.raises(TypeError):
            fused(small[0])
        with host.errstate(all="raise"), pytest.raises(FloatingPointError):
            quotient(small[0], zero)
        quotient(small[0], small[1])

    assert native_methods.make_native(lf.LazyArray)  # not while it is measured
    watched = [*small, small[0]._host, *large, large[0]._storage.node.buffer, None, host.float64]
    watched += [host.dtype("f8"), fused, lf.LazyArray, True, lf.options]
    for _ in range(20):
        calls()
    assert _replays(fused) > 40 and _replays(quotient)
    gc.collect()
    before = [sys.getrefcount(item) for item in watched]
    tracemalloc.start()
    for _ in range(100):
        calls()
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(400):
        calls()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    after = [sys.getrefcount(item) for item in watched]
    assert max(map(abs, map(int.__sub__, after, before))) < 50
    assert grown < 40_000  # 100 bytes a call


def test_arrays_of_other_threads() -> None:
    """An array that two threads use is said to be shared before it is read."""
    fused = lf.fuse(lambda a: a * 2 + 1)
    array = lf.asarray(_numbers(5000)) + 0
    for _ in range(4):
        fused(array)
    before, wrong = _replays(fused), list[int]()

    def work() -> None:
        with lf.options(eager_size=1000):
            for _ in range(5):
                if not host.array_equal(lf.asnumpy(fused(array)), lf.asnumpy(array) * 2 + 1):
                    wrong.append(1)

    thread = threading.Thread(target=work)
    assert not array._storage.is_shared
    thread.start()
    thread.join()
    assert not wrong and array._storage.is_shared and _replays(fused) == before + 4


def test_long_kernels_let_other_threads_go_on() -> None:
    """Without the GIL: threads that run them and others that change what is not theirs."""
    with lf.options(eager_size=30_000, threads=1):
        fused = lf.fuse(lambda a, b: lf.exp(a) * lf.log(b) + lf.sin(a * b) - lf.cos(b))
        a, b = (lf.asarray(_numbers(20_000)) for _ in range(2))
        wanted = lf.asnumpy(fused(a, b)).copy()
        fused(a, b), fused(a, b)
        assert _replays(fused) == 1
        wrong: list[Any] = []

        def work() -> None:
            with lf.options(eager_size=30_000, threads=1):
                for _ in range(20):
                    if not host.array_equal(lf.asnumpy(fused(a, b)), wanted):
                        wrong.append(1)

        concurrently(work, [()] * 4)
    assert not wrong and fused.replays == 81


def test_threads_that_share_the_memory_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that workers help with has a job of its own: one thread at a time replays it, others
    go through Python."""
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.NS_PER_THREAD", 0.01)
    fused = lf.fuse(lambda a: ((a * a).sum(), (a + 1).max()))
    arrays = [lf.asarray(_numbers(50_000) + number) for number in range(4)]
    wrong: list[Any] = []

    def work(array: Any) -> None:
        values = lf.asnumpy(array)
        with lf.options(eager_size=1000, threads=2):
            for _ in range(60):
                total, most = fused(array)
                if (total, most) != ((values * values).sum(), values.max() + 1):
                    wrong.append((total, most))

    work(arrays[0])
    assert _replays(fused) == 58
    concurrently(work, [(array,) for array in arrays])
    assert not wrong and fused.replays == 58 + 240


def test_few_elements_are_not_looked_at_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every call has another value, calls cost little more than the function."""
    fused = lf.fuse(lambda a, number: a * number, signatures=4)
    a = lf.asarray(_numbers(10))
    for number in host.arange(frontend._IN_VAIN + 20):
        _same(fused(a, number), host.asarray(a) * number)
    monkeypatch.setattr(frontend.Fused, "_signature", None)
    _same(fused(a, 0.5), host.asarray(a) * 0.5)


def test_few_elements_are_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "CALLS_OF_FEW", 15)
    fused = lf.fuse(lambda a: a * 2 + 1)
    a = lf.asarray(_numbers(10))
    for _ in range(20):
        fused(a)
    assert (fused.recordings, fused.replays) == (1, 4)


def test_it_stays_away_where_objects_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's method does the same then."""
    for question in ("is_known_python", "is_known_numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(native, question, lambda: False)
            patch.setattr(replay_code, "_state", {})
            fused = lf.fuse(lambda a, b: lf.exp(a) * lf.sin(b))
            a, b = lf.asarray(_numbers(5000)), lf.asarray(_numbers(5000))
            for _ in range(4):
                fused(a, b)
            assert isinstance(replay_code._state["failure"], LookupError)
            assert fused.replays == 2 and not fused._entries[0]


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("size", ("small", "line", "large"))
def test_several_threads(name: str, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers help, with scratch memory of their own: the same bits."""
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.NS_PER_THREAD", 0.01)
    formula = FORMULAS[name]
    a, b = _numbers(*SHAPES[size]), _numbers(*SHAPES[size])[::-1].copy()
    wanted = formula(host, a, b)
    with lf.options(eager_size=1000, threads=3):
        fused = lf.fuse(lambda a, b: formula(lf, a, b))
        for _ in range(20):
            _same(fused(lf.asarray(a), lf.asarray(b)), wanted)
    assert _replays(fused) == 18 * (name != "a call")
    helpers = [*fused._machine._crews.values()]
    assert all(0 < count <= 2 for count in helpers)
    if name in ("chain", "functions", "several") and size != "small":
        assert helpers == [2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_its_own_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.NS_PER_THREAD", 0.01)
    with lf.options(eager_size=1000, threads=2):
        fused = lf.fuse(lambda a: a * 2 + 1)
        a = lf.asarray(_numbers(700))
        for _ in range(4):
            fused(a)
        before, workers = _replays(fused), session.backend("cpu").workers  # type: ignore[attr-defined]
        assert before == 2 and workers.count
        child = os.fork()
        if not child:
            for _ in range(4):
                _same(fused(a), host.asarray(a) * 2 + 1)
            os._exit(0 if workers.count == 1 and _replays(fused) == before + 3 else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        fused(a)
        assert _replays(fused) == before + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_waits_for_no_recording_of_another_thread() -> None:
    """The other thread is not there; its recording was under way in the child for ever."""
    fused, a = lf.fuse(lambda a: a * 2 + 1), lf.asarray(_numbers(50_000))
    for _ in range(4):
        fused(a)
    before = _replays(fused)
    other, own = object(), object()
    under_way.recordings.update({other: threading.get_ident() + 1, own: threading.get_ident()})
    child = os.fork()
    if not child:
        is_own_left = list(under_way.recordings) == [own]
        under_way.recordings.clear()
        fused(a), fused(a)  # the first hires workers
        os._exit(0 if is_own_left and _replays(fused) == before + 1 else 1)
    under_way.recordings.clear()
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_what_a_function_changes_while_it_is_recorded() -> None:
    """A recording stands for what the function found, not for what it left."""
    globe: dict[str, Any] = {"scale": 2.0}
    exec(
        "def function(a):\n    global scale\n    result = a * scale\n    scale = 3.0\n"
        "    return result",
        globe,
    )
    fused, a = lf.fuse(globe["function"]), lf.asarray(_numbers(10))
    for _ in range(2):
        globe["scale"] = 2.0
        fused(a)
    for _ in range(5):
        assert globe["scale"] == 3.0
        _same(fused(a), host.asarray(a) * 3.0)
    globe["scale"] = 2.0
    _same(fused(a), host.asarray(a) * 2.0)
    assert fused.recordings == 2


def test_options_that_are_met_late() -> None:
    """Those that were met are kept by a bound; later ones are told apart as well."""
    fused, a = lf.fuse(lambda a: a * 3), lf.asarray(_numbers(10))
    for size in range(300):
        with lf.options(cache_size=1000 + size):
            pass
    for _ in range(5):
        with lf.options(cache_size=7777):
            for _ in range(8):
                fused(a)
    assert _replays(fused) == fused.replays > 20
