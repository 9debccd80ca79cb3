"""Operators of small arrays in machine code: what the Python methods do, and no reference lost."""

from __future__ import annotations

import gc
import inspect
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently
from tests.test_errors import FAULTS
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import native_methods, rerecord  # noqa: E402 - when there is an engine
from lazyfuse.runtime import native, native_parts, trace  # noqa: E402 - likewise

PROGRAMS = [*VIEWS, *WRITES]
SMALL = 100_000


@pytest.fixture(scope="module", autouse=True)
def operators() -> Iterator[None]:
    """Put the operators in, and the Python methods back."""
    kind = lf.LazyArray
    before = {name: value for name, value in vars(kind).items() if type(value) is FunctionType}
    callables = [type(each) for each in (lf.add, lf.matmul, lf.sum)]
    calls = [vars(each)["__call__"] for each in callables]
    again = {name: getattr(rerecord, name) for name in ("recorded", "written")}
    walks = len(trace.walks)
    assert native_methods.make_native(kind)
    assert not isinstance(vars(kind)["__add__"], FunctionType)
    yield
    for name, value in before.items():
        setattr(kind, name, value)
    for callable_type, call in zip(callables, calls, strict=True):
        callable_type.__call__ = call
    rerecord.use(again)
    del trace.walks[walks:]  # nothing, where the operators were in before


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with lf.options(eager_size=SMALL):
        yield


@pytest.mark.parametrize("program,arrays", PROGRAMS, ids=[case[0].__name__ for case in PROGRAMS])
def test_program(program: Any, arrays: tuple[Any, ...]) -> None:
    oracle.check(program, *arrays, sums=True)


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str) -> None:
    fault, array = FAULTS[name]
    wanted, given = [_told(fault, module, array) for module in (host, lf)]
    assert wanted == given


def _told(fault: Any, module: Any, array: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fault(module, module.asarray(array.copy()))
        except Exception as error:  # noqa: BLE001 - any exception is an answer here
            kinds = type(error).__mro__
            return next(kind.__name__ for kind in kinds if "_core" not in kind.__module__)
    return "nothing"


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "+=": lambda a, b: a.__iadd__(b), "-=": lambda a, b: a.__isub__(b),
    "*=": lambda a, b: a.__imul__(b), "/=": lambda a, b: a.__itruediv__(b),
    "|=": lambda a, b: a.__ior__(b),
}  # fmt: skip
OTHERS = {
    "itself": lambda np, a: a, "a copy": lambda np, a: np.array(a), "a row": lambda np, a: a[0],
    "a column": lambda np, a: a[:, :1], "transposed": lambda np, a: np.array(a.T).T,
    "more axes": lambda np, a: a[None], "of another size": lambda np, a: a[:, :2],
    "a float": lambda np, a: 2.5, "an int": lambda np, a: 3, "a large int": lambda np, a: 300,
    "a bool": lambda np, a: True, "complex": lambda np, a: 1j, "an element": lambda np, a: a[0, 0],
    "a NumPy scalar": lambda np, a: host.float32(1.5), "NumPy's": lambda np, a: host.ones((2, 3)),
    "a list": lambda np, a: [1, 2, 3], "a tuple": lambda np, a: (1, 2, 3),
    "None": lambda np, a: None, "text": lambda np, a: "x", "0-d": lambda np, a: np.array(2),
    "float32": lambda np, a: a.astype("f4"), "empty": lambda np, a: a[:0],
}  # fmt: skip
if oracle.ON_GPU:  # no NumPy's number, which has no operators in place
    del OTHERS["an element"]


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i4", "u1", "?", "c16", "f2"))
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: str, dtype: str) -> None:
    """On either side, with everything that may stand on the other."""

    def program(np: Any, a: Any) -> list[Any]:
        found: list[Any] = []
        for other in OTHERS.values():
            for swap in (False, True):
                mine = np.array(a)
                pair = (mine, other(np, mine))
                try:
                    result = OPERATORS[operator](*(pair[::-1] if swap else pair))
                    found.append("itself" if result is mine else result)
                except Exception as error:  # noqa: BLE001 - any exception is an answer here
                    kinds = [k for k in type(error).__mro__ if "_core" not in k.__module__]
                    found.append(kinds[0].__name__)
                found.append(mine)
        return found

    with host.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.check(program, host.arange(6).reshape(2, 3).astype(dtype))


KEYS: tuple[Any, ...] = (
    0, -1, 5, True, None, ..., slice(1), slice(None, None, -1), (0, 1), (0, slice(1)), (..., 0),
    (None, 0), (), (0, 0, 0), (slice(None), None, ...), [0, 1], (0, [1]), host.int8(1),
    host.array([True, False]), "x", 1.5, (0, 9), ((0, 1),), (slice(0, 0), ...),
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_items(key: Any) -> None:
    """Elements, views that share memory and know their base, copies, and errors."""

    def program(np: Any, a: Any) -> Any:
        try:
            part = a[key]
        except Exception as error:  # noqa: BLE001 - any exception is an answer here
            return type(error).__name__
        shared = np.shares_memory(part, a) if hasattr(part, "base") else None
        has_base = getattr(part, "base", None) is a
        if has_base and part.size:
            part[...] = 7
        return part, shared, has_base, a

    oracle.check(program, host.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("operator", ("-", "~", "+"))
def test_unary(operator: str) -> None:
    def program(np: Any, *arrays: Any) -> list[Any]:
        found: list[Any] = []
        for a in arrays:
            try:
                found.append(-a if operator == "-" else ~a if operator == "~" else +a)
            except TypeError:
                found.append("TypeError")
        return found

    oracle.check(program, *(host.arange(3).astype(d) for d in ("f8", "i4", "?", "u1", "c8")))


@pytest.mark.cpu("floating point flags")
def test_warnings_are_given_at_the_users_line() -> None:
    x, zero = lf.asarray([1.0, 2.0]), lf.asarray([0.0, 1.0])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]  # CPython has frames
        x / zero
    (one,) = heard
    assert (one.filename, one.lineno) == (__file__, line)
    assert str(one.message) == "divide by zero encountered in divide"
    with pytest.raises(FloatingPointError), lf.errstate(divide="raise"):
        x / zero
    with lf.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        x / zero


def test_small_meets_large() -> None:
    """A pending array on the other side: the Python method records."""
    x = lf.asarray([1.0, 2.0, 3.0])
    with lf.options(eager_size=0):
        pending = lf.asarray(host.arange(3.0)) * 2
    for found, wanted in ((x + pending, [1, 4, 7]), (pending - x, [-1, 0, 1])):
        assert found._host is None
        host.testing.assert_array_equal(host.asarray(found), wanted)


def test_references_are_kept_and_given_back() -> None:
    a, b = lf.asarray(host.arange(4.0)), lf.asarray(host.ones(4))
    watched = (lf.LazyArray, a, b, a._host, b._host)

    def work() -> None:
        for _ in range(100):
            kept = [a + b, 2 - a, a < b, -a, a[1:], a[2], a[..., None], a[None][0]]
            a.__iadd__(b * 0)
            for refused in (lambda: a + b[:2], lambda: a[9], lambda: a["x"], lambda: a + None):
                with pytest.raises((ValueError, IndexError, TypeError)):
                    refused()
            del kept

    work()
    gc.collect()
    before = [sys.getrefcount(item) for item in watched]
    work()
    gc.collect()
    assert [sys.getrefcount(item) for item in watched] == before


def test_a_view_keeps_its_memory_alive() -> None:
    views = [lf.asarray(host.arange(1000.0))[n:][1:] for n in range(50)]
    gc.collect()
    for n, view in enumerate(views):
        assert float(view[0]) == n + 1 and float(view.base[0]) == 0


def test_threads() -> None:
    a, b = lf.asarray(host.arange(1000.0)), lf.asarray(host.ones(1000))
    wrong: list[int] = []

    def work() -> None:
        for _ in range(300):
            if float((a * b + a - 1)[5]) != 9.0:
                wrong.append(1)

    concurrently(work, [()] * 4)
    assert not wrong


def test_signatures() -> None:
    assert str(inspect.signature(lf.LazyArray.__add__)) == "(self, value, /)"
    assert lf.LazyArray.__add__.__doc__ == host.ndarray.__add__.__doc__


def test_it_stays_away_where_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, recording = native_methods.native_sample(), native_methods._recording(lf.LazyArray)
    with lf.options(native=False):
        assert native.prepared(sample, recording) is None
    for question in ("is_known_python", "is_known_numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(native, question, lambda: False)
            assert native.prepared(sample, recording) is None
    another = sample._replace(array=host.empty(1))
    assert native.prepared(another, recording) is None


UFUNCS = sorted(
    name for name in dir(host)
    if isinstance(getattr(host, name), host.ufunc) and getattr(host, name).signature is None
    and name != "isnat"
)  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name: str) -> None:
    """By position and keyword, with outputs, on numbers and on too many operands."""
    ufunc = getattr(host, name)
    exact = getattr(lf, name)._exact is not None if hasattr(getattr(lf, name), "_exact") else False

    def program(np: Any, *arrays: Any) -> list[Any]:
        f, found = getattr(np, name), []
        calls: list[Any] = []
        for a in arrays:
            for other in (a, 2, 0.5, a[:1], a[0, 0], host.ones(3), [1, 2, 3]):
                given = (a, other)[: f.nin]
                calls += [lambda g=given: f(*g), lambda g=given: f(*g[::-1])]
            calls += [lambda a=a: f(*(a,) * f.nin, np.array(a)), lambda a=a: f(a, a, a, a, a)]
            calls += [lambda a=a: f(*(a,) * f.nin, out=np.array(a)), lambda: f(), lambda: f("x")]
            calls += [lambda a=a: f(*(a,) * f.nin, dtype=a.dtype), lambda a=a: f(a, nothing=1)]
        for call in calls:
            try:
                found.append(call())
            except Exception as error:  # noqa: BLE001 - any exception is an answer here
                kinds = [k for k in type(error).__mro__ if "_core" not in k.__module__]
                found.append(kinds[0].__name__)
        return found

    arrays = [host.arange(6).reshape(2, 3).astype(d) for d in ("f8", "f4", "i4", "?")]
    with host.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.check(program, *arrays, ulp=0 if exact or ufunc.nout > 1 else 8)


def test_attributes_that_arrays_lack() -> None:
    """The error is Python's, whoever raises it; what is put off is not settled by asking."""
    small, large = lf.array([1.0, 2.0]), lf.zeros(100_000)
    for array in (small, large):
        for name in ("__array_struct__", "__nonsense__", "__", "nonsense"):
            with pytest.raises(
                AttributeError, match=f"^'LazyArray' object .* '{name}'$"
            ) as raised:
                getattr(array, name)
            assert (raised.value.name, raised.value.obj) == (name, array)
            assert getattr(array, name, None) is None


def test_what_an_array_lacks() -> None:
    """Slots are asked for by descriptors: a class with `__getattr__` finds all its attributes and
    methods later, and a miss took a microsecond, as NumPy asks any operand for some."""
    x = lf.asarray(host.arange(4.0))
    assert "__getattr__" not in vars(type(x))
    for name in ("nothing", "_nothing", "__array_struct__"):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=f"'LazyArray' object has no attribute '{name}'"):
            getattr(x, name)
    storage, layout = x._storage, x._layout  # of a small array, which has none before
    assert x._storage is not None
    assert layout.shape == (4,)
    x._writeable = 7
    assert x._writeable == 7
    before = sys.getrefcount(storage)
    x._cast = storage
    assert sys.getrefcount(storage) == before + 1
    del x._cast
    assert sys.getrefcount(storage) == before
    assert x._cast is None


def test_what_somebody_adds_to_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method in the place of `__getattr__` was removed with what it stood for."""
    kind = lf.LazyArray
    code = native.prepared(native_methods.native_sample(), native_methods._recording(kind))
    assert code is not None

    def attribute(array: Any, name: str) -> Any:
        if name == "magic":
            return 42
        raise AttributeError(name)

    attribute.__qualname__ = "LazyArray.__getattr__"  # as `functools.wraps` has it
    monkeypatch.setattr(kind, "__getattr__", attribute, raising=False)
    native_parts.set_slots(code.slots)
    x = lf.asarray(host.arange(4.0))
    assert x.magic == 42
    assert x._storage is not None
    assert not hasattr(x, "nothing")


@pytest.mark.cpu("kernels that machine code runs")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_signals_while_kernels_run() -> None:
    """Their handlers ran in what is called when memory goes: what they raised was written to
    stderr, and lost, four times out of five. Some are, in pure Python too."""
    x = lf.asarray(host.linspace(0.0, 1.0, 300_000))

    def late(number: int, frame: object) -> None:
        raise TimeoutError

    def is_interrupted() -> bool:
        y, end = x, time.perf_counter() + 0.1
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.011)
            while time.perf_counter() < end:
                y = lf.sqrt(y * y + 1.0) * 0.5
                host.asarray(y)
        except TimeoutError:
            return True
        return False

    before = signal.signal(signal.SIGALRM, lambda *given: None)
    is_interrupted()  # compiles
    signal.signal(signal.SIGALRM, late)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "unraisablehook", lambda lost: None)
        with lf.options(check=False):
            found = [is_interrupted() for _ in range(40)]
    signal.signal(signal.SIGALRM, before)
    assert sum(found) > 25
