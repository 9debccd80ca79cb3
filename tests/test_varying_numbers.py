"""Numbers that change from call to call under `fuse`: recorded once, replayed with each."""

from __future__ import annotations

import gc
import math
import random
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the engine records and replays", allow_module_level=True)

from lazyfuse.frontend import fused as frontend  # noqa: E402 - when there is an engine

SIZE = 4500  # more than `fuse` calls few
KINDS: dict[str, dict[str, Any]] = {
    "machine code": {"eager_size": 0},
    "small": {"eager_size": 30_000},
    "Python": {"eager_size": 0, "native": False},
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record as soon as may be, as if NumPy were never faster."""
    monkeypatch.setattr(frontend, "CALLS_OF_FEW", 1)
    monkeypatch.setattr("lazyfuse.frontend.recording._REPLAY", 0.0)
    yield


@pytest.fixture
def small() -> Iterator[None]:
    """Small arrays are small."""
    with lf.options(eager_size=30_000):
        yield


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Where replays run."""
    with lf.options(**request.param):
        yield request.param


def _array(dtype: str = "f8", size: int = SIZE) -> host.ndarray:
    numbers = host.random.default_rng(5).random(size) * 9 + 1
    return host.array(numbers.astype(dtype))


def _read(value: Any) -> Any:
    """A result with the values of its arrays, for `oracle.compare`; numbers by what is printed, as
    NaN is unequal."""
    if isinstance(value, tuple | list):
        return [_read(item) for item in value]
    if isinstance(value, dict):
        return {name: _read(item) for name, item in value.items()}
    if type(value) in (int, float):
        return f"{type(value)} {value!r}"
    return value if type(value) is host.ndarray else oracle.observe(value)


def _plain(value: Any) -> Any:
    """The values of what has been read."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return getattr(value, "values", value) if not isinstance(value, dict) else value


def _outcome(function: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, or the type of what it raises; and the warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        try:
            given = _read(function())
        except Exception as error:  # noqa: BLE001 - any exception is an answer here
            given = type(error)
    return given, sorted({str(item.message) for item in heard})


def _same(given: Any, wanted: Any) -> None:
    if isinstance(wanted, type):
        assert given is wanted
        return
    problems = list(oracle.compare("result", _plain(wanted), given))
    assert not problems, problems


def _follow(
    formula: Callable[..., Any], *calls: tuple[Any, ...], fused: Any = None, by: Any = host
) -> Any:
    """Give a fused function the arguments of calls, one after the other, and compare results and
    warnings with NumPy's, or with those of the function `by` lazyfuse; return it."""
    fused = lf.fuse(lambda *given: formula(lf, *given)) if fused is None else fused
    for call in calls:
        lazy = [oracle.to_lazy(value) for value in call]
        wanted, said = _outcome(partial(formula, by, *(call if by is host else lazy)))
        given, heard = _outcome(partial(fused, *lazy))
        _same(given, wanted)
        assert heard == said, call[1:]
    return fused


FORMULAS: dict[str, Callable[..., Any]] = {
    "product": lambda np, a, x: a * x,
    "twice": lambda np, a, x: (a + x) * x - x / (a + 1),
    "arithmetic": lambda np, a, x: a * (0.5 * x) + (1 - x) * a - (-x + 3) * a,
    "quotient": lambda np, a, x: a / (x + 2) + a * (x / 3),
    "floor": lambda np, a, x: a * (x // 2) + a * (x % 3),
    "magnitude": lambda np, a, x: a + abs(x) - +x,
    "powers": lambda np, a, x: a * x**2 + a * x**3,
    "ufuncs": lambda np, a, x: np.maximum(a, x) + np.multiply(x, a) - np.minimum(x, a),
    "condition": lambda np, a, x: np.where(a > x, a, x),
    "comparison": lambda np, a, x: (a < x) | (x == a) | (a >= x * 0.5),
    "clip": lambda np, a, x: np.clip(a, x - 1, x + 1),
    "reduction": lambda np, a, x: (a * x).sum() / x,
    "maximum": lambda np, a, x: (a + x).max(),
    "several": lambda np, a, x: (a * x, a + x * x),
    "a number as well": lambda np, a, x: {"next": a * x, "time": [x + 1, x, 3.0]},
    "kernels": lambda np, a, x: np.cumsum(np.cumsum(a * x) - x) + x,
    "root": lambda np, a, x: np.sqrt(abs(a * x) + x * x),
}  # fmt: skip
FLOATS = (
    0.5, 0.25, 0.1, -0.0, 0.0, 1.0, -2.0, 1e-3, math.inf, -math.inf, math.nan, 1e39, 1e-320, 2.0,
)  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "u1", "c16", "c8", "f2"))
def test_floats(kind: dict[str, Any], name: str, dtype: str) -> None:
    """NumPy's bits and warnings for each number, of whatever dtype the array is."""
    if name in ("floor", "clip", "maximum", "comparison", "condition") and dtype[0] == "c":
        pytest.skip("NumPy orders no complex numbers as we do")
    a = _array(dtype)
    fused = _follow(FORMULAS[name], *[(a, number) for number in FLOATS])
    assert fused.recordings == 1 and fused.replays >= 4


def test_it_is_recorded_once(kind: dict[str, Any]) -> None:
    """Whatever the number, in the first calls and in the thousandth."""
    fused = lf.fuse(lambda u, v, dt: u + dt * (v - u))
    u, v = _array(), _array()[::-1].copy()
    x, y = lf.asarray(u), lf.asarray(v)
    for _ in range(3):
        fused(x, y, 0.125)
    assert fused.recordings == 1
    for number in range(1000):
        result = fused(x, y, number * 0.001)
        if number % 50 < 3:
            _same(oracle.observe(result), u + number * 0.001 * (v - u))
    assert fused.recordings == 2 and fused.replays == 999 and not fused.reason


INTEGERS = (
    3, 2, 0, 1, -1, 7, 200, 255, 256, -128, -129, 40_000, 2**31, 2**40, 2**53 + 1, 2**63 - 1,
    2**63, 2**64 - 1, 2**64, -(2**63), 10**400,
)  # fmt: skip
OF_INTEGERS = (
    "product", "twice", "arithmetic", "quotient", "floor", "magnitude", "powers", "ufuncs",
    "condition", "comparison", "clip", "reduction", "several", "a number as well",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "u8", "i2", "u1", "c16"))
def test_integers(kind: dict[str, Any], name: str, dtype: str) -> None:
    """Those that a dtype does not hold raise as in NumPy; sums and products have all digits."""
    if name in ("floor", "clip", "comparison", "condition") and dtype[0] == "c":
        pytest.skip("NumPy orders no complex numbers as we do")
    a = _array(dtype)
    fused = _follow(FORMULAS[name], *[(a, number) for number in INTEGERS])
    is_looked_at = name in ("condition", "clip") and dtype[0] in "iu"
    assert fused.recordings == 1 and fused.replays or is_looked_at


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c16", "c8"))
def test_complex_numbers(kind: dict[str, Any], dtype: str) -> None:
    """As arguments, and where arithmetic with a float gives them."""
    a = _array(dtype)
    signed = complex(-0.0, 0.0), complex(0.0, -0.0)
    numbers = (2j, 1 + 1j, *signed, 1e39 + 0j, complex(math.nan, 1), 3j)
    fused = _follow(lambda np, a, x: (a * x, a + (x - 2)), *[(a, number) for number in numbers])
    assert fused.recordings == 1 and fused.replays >= 3
    fused = _follow(lambda np, a, x: a * (1j * x), *[(a, number * 0.5) for number in range(6)])
    assert fused.recordings == 1 and fused.replays == 3


def test_integers_and_floats_in_turn(kind: dict[str, Any]) -> None:
    """Each kind has a recording; a bool, a string and NumPy's scalars are values."""
    a = _array("f4")
    fused = lf.fuse(lambda a, x: a * x)
    for number in range(20):
        x = number if number % 2 else number / 4
        _same(_read(fused(lf.asarray(a), x)), a * x)
    assert fused.recordings == 2 and fused.replays == 14
    for x in (True, False, host.float32(2.5), host.float32(3.5), host.float16(0.5), host.int64(2)):
        for _ in range(3):
            _same(_read(fused(lf.asarray(a), x)), a * x)
    assert fused.recordings == 8


def test_where_numbers_stand(kind: dict[str, Any]) -> None:
    """By position, by name, in tuples, lists and dicts: those alone that change."""

    def function(a: Any, first: Any, *, rate: float, more: dict[str, Any]) -> Any:
        (x, name), (y,) = first, more["list"]
        return a * x + rate * (a - y * more["scale"]), {"rate": rate + 1, name: [a + y]}

    fused = lf.fuse(function)
    a = _array()
    for number in range(30):
        first, more = (number * 0.5, "sum"), {"list": [number - 3.0], "scale": 2.0}
        given = fused(lf.asarray(a), first, rate=0.1 * number, more=more)
        wanted = function(a, first, rate=0.1 * number, more=more)
        _same(_read(given), _read(wanted))
    assert fused.recordings == 1 and fused.replays == 27
    assert kind.get("native") is False or fused._machine.replays == 27
    for first in ((0.5, "other"), [0.5, "sum"], (1, "sum"), (True, "sum"), (0.5, "sum")):
        given = fused(lf.asarray(a), first, rate=0.5, more={"list": [1.0], "scale": 2.0})
        wanted = function(a, first, rate=0.5, more={"list": [1.0], "scale": 2.0})
        _same(_read(given), _read(wanted))
    assert fused.recordings == 1


def test_one_number_that_stays_and_one_that_changes(kind: dict[str, Any]) -> None:
    fused = lf.fuse(lambda a, x, y: a**x * y)
    a = _array()
    for number in range(10):
        with oracle.options(**kind):
            _same(_read(fused(lf.asarray(a), 2.0, 0.5 * number)), a**2.0 * (0.5 * number))
    assert fused.recordings == 1 and fused.replays == 7
    for number in range(3):  # another exponent: it is asked for, and so belongs to the signature
        _same(_read(fused(lf.asarray(a), 0.5, 0.25 * number)), a**0.5 * (0.25 * number))
    assert fused.recordings == 1


ASKS: dict[str, Callable[..., Any]] = {
    "a branch": lambda np, a, x: a * x if x > 0.5 else a - x,
    "a truth": lambda np, a, x: a * x if x else a + 1,
    "an equality": lambda np, a, x: a * 2 if x == 0.5 else a * x,
    "math": lambda np, a, x: a * math.sin(x),
    "an array": lambda np, a, x: a * np.asarray(x) + np.full(len(a), x),
    "a list": lambda np, a, x: a * np.array([x, 1.0])[0],
    "float": lambda np, a, x: a * float(x),
    "int": lambda np, a, x: a * int(4 * x),
    "text": lambda np, a, x: a * float(f"{x:.3f}") + len(str(x)),
    "an exponent": lambda np, a, x: a**x,
    "a method": lambda np, a, x: a * x.hex().count("1") + x.real,
    "rounding": lambda np, a, x: a * round(x) + math.floor(x) + divmod(x, 0.3)[1],
    "its type": lambda np, a, x: a * x if type(x) is float else a - x,
    "a table": lambda np, a, x: a * {0.5: 2.0}.get(x, 3.0),
    "a range": lambda np, a, x: sum([a * i for i in range(int(x * 3))], a),
    "NumPy's array": lambda np, a, x: a * (host.ones(1) * x)[0] + (x - host.ones(1))[0],
    "NumPy's scalar": lambda np, a, x: a * (x / host.float32(3)),
    "an index": lambda np, a, x: a * a[int(x * 8)],
}


#: What a function cannot do either with numbers that stay.
UNFIT = ("an array", "a list", "an index")


@pytest.mark.parametrize("name", ASKS)
def test_what_needs_the_value(kind: dict[str, Any], name: str) -> None:
    """Then it belongs to the signature, as other values do; which is found out once."""
    a = _array()
    numbers = (0.25, 0.5, 0.5, 0.75, 0.0, 0.5, 2.0, -1.5)
    fused = _follow(ASKS[name], *[(a, number) for number in numbers], by=lf)
    assert fused.recordings <= (name == "its type")  # known beforehand, from the code
    _follow(ASKS[name], *[(a, 0.5)] * 3, fused=fused, by=lf)
    assert fused.recordings == 1 and fused.replays or fused.reason and name in UNFIT


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c16", "u1"))
def test_numpys_floats(kind: dict[str, Any], dtype: str) -> None:
    """They are strong, and their arithmetic warns instead of raising."""
    numbers = [host.float64(number) for number in (0.5, 0.25, 4.0, 1.0, 0.0, 3.5, 1e200, 2.5)]
    a = _array(dtype)
    for function in (
        lambda np, a, x: (a * x, a + (1 / x) * 0.5, x * 2),
        lambda np, a, x: a * (x * x) - x,
        lambda np, a, x: np.maximum(a, x) + (x - 1.0),
    ):
        if dtype == "c16" and "maximum" in function.__code__.co_names:
            continue
        fused = _follow(function, *[(a, number) for number in numbers])
        assert fused.recordings == 1 and fused.replays >= 3
    fused = lf.fuse(lambda a, x: a * x)
    for x in host.linspace(0, 1, 20):
        _same(_read(fused(lf.asarray(a), x)), a * x)
    assert fused.recordings == 1 and fused.replays == 17


@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_ufuncs_of_numbers(kind: dict[str, Any], dtype: str) -> None:
    """They give NumPy's scalars, which are strong: in each call again, with NumPy's warnings."""

    def function(np: Any, a: Any, x: Any) -> Any:
        decay, root = np.exp(-x / 2), host.sqrt(x)
        return a * decay + a * (root * 0.5), a - host.float64(3) * x

    a = _array(dtype)
    numbers = (0.25, 0.5, 0.75, 4.0, 1.5, -1.0, 2.0, -2000.0, 3000.0, 0.0, -0.0, math.nan, 1.0)
    fused = _follow(function, *[(a, number) for number in numbers], by=lf)
    assert fused.recordings == 1 and fused.replays >= 6


def test_what_needs_the_value_is_found_out_once() -> None:
    calls: list[Any] = []
    note = calls.append

    def function(a: Any, x: Any) -> Any:
        note(x)
        return a * math.sin(x)

    fused, a = lf.fuse(function), lf.asarray(_array())
    for number in range(100):
        fused(a, number * 0.5)
    assert len(calls) == 101 and not fused.recordings


def test_an_exponent_that_numpy_treats_by_its_value() -> None:
    """2.0 squares, 0.5 takes the root; whichever number was first."""
    numbers = (1.5, 2.5, 2.0, 0.5, -1.0, 1.0, 3.0)
    _follow(lambda np, a, x: a**x, *[(_array(), number) for number in numbers], by=lf)


def test_errors_are_those_of_the_function(kind: dict[str, Any]) -> None:
    """When a number makes Python raise: at a replay, and where the first one does."""
    a = _array()
    for numbers in ((1.0, 2.0, 4.0, 8.0, 0.0, 3.0), (1.0, 2.0, 0.0, 4.0, 0.0, 3.0)):
        fused = _follow(lambda np, a, x: a * (1 / x), *[(a, number) for number in numbers])
        assert fused.recordings == (numbers[2] != 0) == bool(fused.replays)
    _follow(lambda np, a, x: a * x**3, *[(a, x) for x in (1.0, 2.0, 3.0, 4.0, 1e200, 5.0)])
    _follow(lambda np, a, x: a * abs(x**0.5), *[(a, x) for x in (1.0, 2.0, 3.0, 4.0, -2.0, 5.0)])


def _caught(np: Any, a: Any, x: Any) -> Any:
    try:
        factor = 1 / x
    except ZeroDivisionError:
        factor = 0.0
    return a * factor


def _of_type(np: Any, a: Any, n: Any) -> Any:
    if type(n) is int and n > 5:
        n = 5
    return a * n


def _by_a_function(np: Any, a: Any, n: Any) -> Any:
    return _of_type(np, a, n) + 1


def _if_there(np: Any, a: Any, x: Any) -> Any:
    return a if x is None else a * x


def test_branches_that_are_not_taken_when_it_is_recorded(kind: dict[str, Any]) -> None:
    a = _array()
    numbers = (0.5, 0.25, 0.0, 4.0, 8.0, 0.0, 2.0)
    _follow(_caught, *[(a, number) for number in numbers])
    for function in (_of_type, _by_a_function):
        _follow(function, *[(a, number) for number in (1, 2, 3, 10, 2, 10, 4)])
    _follow(
        lambda np, a, x, y: a * (x if x is y else y * 2),
        *[(a, x, y) for x, y in ((1, 2), (3, 4), (0, 0), (5, 5), (2, 3))],
    )
    assert _follow(_if_there, *[(a, number) for number in numbers]).replays


def test_what_functions_remember_are_numbers() -> None:
    half = lru_cache(lambda x: x * 0.5)
    inner = lf.fuse(lambda a, x: a * half(x))
    outer = lf.fuse(lambda a, x: inner(a, 0.3) + half(x))
    a = lf.asarray(_array())
    inner(a, 0.3)
    half.cache_clear()
    for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.3):
        _same(_read(outer(a, x)), _read(a * 0.15 + x * 0.5))
        assert type(half(x)) is float
    for x in (0.3, 0.4, 0.3, 0.3):
        _same(_read(inner(a, x)), _read(a * (x * 0.5)))


def test_many_numbers_in_containers_belong_to_the_signature() -> None:
    rows = [[float(n + m) for n in range(40)] for m in range(40)]
    fused, a = lf.fuse(lambda a, rows: a * rows[0][0]), lf.asarray(_array())
    for first in (1.0, 2.0, 3.0, 3.0, 3.0):
        rows[0][0] = first
        _same(_read(fused(a, rows)), _read(a * first))


def test_what_a_function_keeps_of_a_stand_in() -> None:
    """It is a number like others afterwards."""
    kept: list[Any] = []
    keep = kept.append

    @lru_cache
    def cached(x: float) -> float:
        return x * 2

    def function(a: Any, x: Any) -> Any:
        keep(x * 2)
        return a * x

    fused, a = lf.fuse(function), _array()
    for number in range(6):
        fused(lf.asarray(a), number * 0.5)
    assert fused.replays and [float(x) for x in kept] == sorted(float(x) for x in kept)
    for x in kept:
        assert isinstance(x, float) and cached(x) == 2 * float(x)
        _same(_read(lf.asarray(a) * x + a * x), a * float(x) + a * float(x))
    other = lf.fuse(lambda a, x: a * x)
    for x in kept:
        _same(_read(other(lf.asarray(a), x)), a * float(x))


def test_a_fused_function_in_another(kind: dict[str, Any]) -> None:
    inner = lf.fuse(lambda a, x: a * x)
    outer = lf.fuse(lambda a, x: inner(a, x * 2) + inner(a, x))
    a = _array()
    for number in range(12):
        x = number * 0.5
        _same(_read(outer(lf.asarray(a), x)), a * (x * 2) + a * x)


def test_methods_and_attributes(kind: dict[str, Any]) -> None:
    """A number of the instance belongs to the signature; one that is given does not."""

    class Model:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        @lf.fuse
        def step(self, a: Any, dt: float) -> Any:
            return a + dt * (a * self.rate)

    a, model = _array(), Model(0.5)
    for number in range(20):
        _same(_read(model.step(lf.asarray(a), number * 0.1)), a + number * 0.1 * (a * 0.5))
    assert Model.step.recordings == 1 and Model.step.replays == 17
    model.rate = 0.25
    for number in range(20):
        _same(_read(model.step(lf.asarray(a), number * 0.1)), a + number * 0.1 * (a * 0.25))
    assert Model.step.recordings == 2


def test_assignments(kind: dict[str, Any]) -> None:
    """Boundary values, masks and whole arrays."""

    def function(np: Any, a: Any, x: Any) -> Any:
        b = a * 2
        b[0], b[-3:] = x, x * 0.5
        b[a > 5] = x
        c = a + 1
        c[...] = x
        return b, c * a, np.where(a > x, x, 0.0)

    for dtype in ("f8", "f4", "c16"):
        if dtype != "c16":
            fused = _follow(function, *[(_array(dtype), number) for number in FLOATS[:10]])
            assert fused.recordings == 1 and fused.replays


def test_threads_with_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a kernel runs without the GIL, and where workers help: each call has its own."""
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.NS_PER_THREAD", 0.01)
    arrays = [lf.asarray(_array(size=60_000)) + 0 for _ in range(4)]
    fused = lf.fuse(lambda a, x: (lf.exp(a * (x * 0.25)) * x, (a * x).sum()))
    found = {x: fused(arrays[0], x) for x in (0.5, 1.0, 1.5, 2.0)}
    wanted = {x: (lf.asnumpy(product), float(total)) for x, (product, total) in found.items()}
    wrong: list[Any] = []

    def work(array: Any, x: float) -> None:
        with lf.options(threads=2):
            for _ in range(40):
                product, total = fused(array, x)
                is_same = host.array_equal(lf.asnumpy(product), wanted[x][0])
                if not is_same or total != wanted[x][1]:
                    wrong.append(x)

    for x in wanted:
        work(arrays[0], x)
    pairs = zip(arrays, wanted, strict=True)
    concurrently(work, pairs)
    assert not wrong and fused.recordings == 3 and fused.replays > 300


def test_no_reference_is_lost(small: None) -> None:
    """Of numbers, of containers and of literals; also where a call is left to the function."""
    fused = lf.fuse(lambda a, x, more: (a * (1 / x) * more["by"] + (x - 2), x * 1000.5))
    a, more = lf.asarray(_array(size=50)), {"by": 0.25}

    def calls() -> None:
        for number in range(1, 9):
            fused(a, number * 0.125, {"by": number + 0.5})
            fused(a, number * 1e300, more)
        with suppress(ZeroDivisionError):
            fused(a, 0.0, more)
        fused(a, math.inf, more)

    watched = [a, a._host, more, more["by"], float, dict, fused]  # type: ignore[attr-defined]
    for _ in range(10):
        calls()
    assert fused._machine.replays > 100 and fused.recordings == 1
    gc.collect()  # what other tests have left
    before = [sys.getrefcount(item) for item in watched]
    tracemalloc.start()
    for _ in range(20):
        calls()
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        calls()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    after = [sys.getrefcount(item) for item in watched]
    assert max(map(abs, map(int.__sub__, after, before))) < 150  # less than one a round
    assert grown < 60_000


def test_an_interrupt_while_a_number_is_computed(small: None) -> None:
    """It is the caller's, and no reason to call the function."""
    is_over = [False]

    def interrupt(ufunc: Any) -> Any:
        if is_over[0]:
            raise KeyboardInterrupt
        return ufunc

    fused, a = lf.fuse(lambda a, x: a * lf.exp(x)), lf.asarray(_array(size=50))
    for number in range(5):
        fused(a, number * 0.5)
    assert fused._machine.replays == 2
    numbers = next(each for each in fused._known.values() if not isinstance(each, int)).numbers
    step = next(row.function for row in numbers.rows if hasattr(row, "function"))
    function = step._function
    step._function = lambda x: interrupt(function)(x)
    _same(_read(fused(a, 0.25)), _read(lf.asarray(_array(size=50)) * lf.exp(0.25)))
    is_over[0] = True
    with pytest.raises(KeyboardInterrupt):
        fused(a, 0.25)


def test_many_operations_on_a_number() -> None:
    """More than there is room for on the stack: Python computes them."""

    def function(np: Any, a: Any, x: Any) -> Any:
        for _ in range(3000):
            x = x * 1.0001
        return a * x

    fused = _follow(function, *[(_array(), number * 0.5) for number in range(8)])
    assert fused.recordings == 1 and fused.replays == 5 and not fused._machine.replays


def test_a_long_list_is_not_looked_at() -> None:
    fused = lf.fuse(lambda a, many: a * many[0])
    a, many = lf.asarray(_array()), [0.5] * 1000
    for _ in range(4):
        many[0] += 1.0
        _same(_read(fused(a, many)), _array() * many[0])
    assert not fused.recordings and "list" in fused.reason


@pytest.mark.parametrize("seed", range(10))
def test_random_calls(seed: int) -> None:
    """Expressions of all operators on numbers, with random numbers of all kinds."""
    draw = random.Random(seed)
    pool = [*FLOATS, *INTEGERS[:12], 0.3, -7.25, 1j, True]
    dtype = draw.choice(("f8", "f4", "i8", "c16", "u1"))
    a = _array(dtype, draw.choice((5, 700, 5000)))
    text = _expression(draw, 4)
    formula: Any = eval(f"lambda np, a, x, y: (a * ({text}) + y, ({text}))")
    with lf.options(eager_size=draw.choice((0, 30_000)), native=draw.random() < 0.7):
        for _ in range(4):
            x, y = draw.sample(pool, 2)
            same = [number for number in pool if type(number) is type(x)]
            calls = [(a, draw.choice(same), y if draw.random() < 0.5 else 0.5) for _ in range(12)]
            _follow(formula, *calls)


def _expression(draw: random.Random, depth: int) -> str:
    if not depth or draw.random() < 0.2:
        return draw.choice(("x", "y", "x", "2", "0.5", "3.0", "-1"))
    if draw.random() < 0.2:
        return draw.choice(("-({})", "abs({})", "+({})")).format(_expression(draw, depth - 1))
    sign = draw.choice(("+", "-", "*", "/", "//", "%", "**"))
    left = _expression(draw, depth - 1)
    right = draw.choice(("2", "3")) if sign == "**" else _expression(draw, depth - 1)
    return f"({left}) {sign} ({right})"


@pytest.mark.parametrize("device", ("cuda-host",))
def test_on_a_device(device: str) -> None:
    """The text of a GPU's kernels, run by a compiler for the host."""
    try:
        a = lf.array(_array(), device=device)
    except RuntimeError as error:
        pytest.skip(str(error))
    fused = lf.fuse(lambda u, x: (u * (x * 0.5) + x, x + 1))
    for number in range(8):
        product, after = fused(a, number * 0.25)
        _same(_read(lf.asnumpy(product)), _array() * (number * 0.25 * 0.5) + number * 0.25)
        assert after == number * 0.25 + 1
    assert fused.recordings == 1 and fused.replays == 5
