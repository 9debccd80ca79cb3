"""What CPython calls at once in the place of methods: the slots of classes in machine code."""

from __future__ import annotations

import copy
import ctypes
import functools
import gc
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu import methods  # noqa: E402
from lazyfuse.frontend import registry  # noqa: E402
from lazyfuse.runtime.native_parts import Wrapper, set_wrapper  # noqa: E402
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.fixture(autouse=True)
def sizes() -> Iterator[None]:
    """Arrays of a few elements are small, those of some ten thousand the engine's."""
    with lf.options(eager_size=1000):
        yield


#: Numbers of CPython's typeslots.h.
NUMBERS = {
    "mp_ass_subscript": 3, "mp_length": 4, "mp_subscript": 5, "nb_absolute": 6, "nb_add": 7,
    "nb_and": 8, "nb_floor_divide": 12, "nb_inplace_add": 14, "nb_inplace_true_divide": 24,
    "nb_invert": 27, "nb_multiply": 29, "nb_negative": 30, "nb_remainder": 34, "nb_subtract": 36,
    "nb_true_divide": 37, "nb_xor": 38, "tp_iter": 62, "tp_richcompare": 67,
    "nb_matrix_multiply": 75,
}  # fmt: skip
CALL = 50
NAMES = {
    "mp_ass_subscript": ("__setitem__", "__delitem__"), "mp_length": ("__len__",),
    "mp_subscript": ("__getitem__",), "nb_absolute": ("__abs__",),
    "nb_add": ("__add__", "__radd__"), "nb_and": ("__and__", "__rand__"),
    "nb_floor_divide": ("__floordiv__", "__rfloordiv__"), "nb_inplace_add": ("__iadd__",),
    "nb_inplace_true_divide": ("__itruediv__",), "nb_invert": ("__invert__",),
    "nb_multiply": ("__mul__", "__rmul__"), "nb_negative": ("__neg__",),
    "nb_remainder": ("__mod__", "__rmod__"), "nb_subtract": ("__sub__", "__rsub__"),
    "nb_true_divide": ("__truediv__", "__rtruediv__"), "nb_xor": ("__xor__", "__rxor__"),
    "tp_iter": ("__iter__",),
    "tp_richcompare": ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"),
    "nb_matrix_multiply": ("__matmul__", "__rmatmul__"),
}  # fmt: skip


def slot(kind: type, number: int) -> int | None:
    """What CPython calls for a slot of a class."""
    asked = ctypes.pythonapi.PyType_GetSlot
    asked.restype, asked.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    found: int | None = asked(kind, number)
    return found


def function(kind: type, name: str) -> int | None:
    """The function of a slot wrapper (PyWrapperDescrObject of CPython's descrobject.h)."""
    return ctypes.c_void_p.from_address(id(vars(kind)[name]) + 48).value


@pytest.mark.parametrize("name", NUMBERS)
def test_slots_are_called_at_once(name: str) -> None:
    found = {function(lf.LazyArray, each) for each in NAMES[name]}
    assert found == {slot(lf.LazyArray, NUMBERS[name])}


@pytest.mark.parametrize("name", ("add", "matmul"))
def test_calls_are_made_at_once(name: str) -> None:
    for kind in (type(registry.NATIVE[name]), type(lf.sum)):
        assert slot(kind, CALL) == function(kind, "__call__")


def test_functions_say_where_they_are_called() -> None:
    """From their first call on, so that CPython makes no tuple and no dict of the arguments."""
    x = lf.ones(3)
    lf.add(x, x), lf.sqrt(x), lf.sum(x), lf.matmul(x, x)
    called = lf.add, lf.sqrt, lf.sum, lf.matmul
    assert all(type(each).__flags__ & 1 << 11 for each in called)  # Py_TPFLAGS_HAVE_VECTORCALL
    assert lf.add._vector == lf.sqrt._vector > 0
    assert len({each._vector for each in called}) == 3


def test_the_word_is_no_reference() -> None:
    """The collection of garbage does not look at it, and copies have their own."""
    lf.add(lf.ones(3), 1), lf.sum(lf.ones(3))
    for _ in range(3):
        gc.collect()
    for each in (lf.add, lf.sum, lf.matmul, lf.add.reduce):
        assert lf.add._vector not in gc.get_referents(each)
        assert copy.copy(each) is each or copy.copy(each) == each
        assert pickle.loads(pickle.dumps(each)) is each or pickle.loads(pickle.dumps(each)) == each
    kept = lf.add._vector
    for value in (None, 0):
        with pytest.raises(AttributeError):
            lf.add._vector = value
    assert lf.add._vector == kept


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "positional": lambda np, x: np.add(x, 1.0),
    "keywords": lambda np, x: np.add(x, 1.0, dtype="f4", casting="unsafe"),
    "only keywords": lambda np, x: np.sum(a=x, axis=0),
    "unpacked": lambda np, x: np.add(*(x, x), **{"out": None}),
    "nothing unpacked": lambda np, x: np.add(*[x, 2.0], **{}),
    "partial": lambda np, x: functools.partial(np.add, x, where=x > 1, out=x * 0)(1.0),
    "mapped": lambda np, x: [*map(np.add, [x, x], [1.0, 2.0])],
    "reduced": lambda np, x: functools.reduce(np.maximum, [x, x * 2, x * 0]),
    "many": lambda np, x: np.broadcast_arrays(*[x] * 40)[39],
    "method of a ufunc": lambda np, x: (np.add.reduce(x), np.add.outer(x[:3], x[:2])),
    "special method": lambda np, x: np.add.__call__(x, 3.0),
}


@pytest.mark.parametrize("size", (5, 40_000))
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, size: int) -> None:
    oracle.check(lambda np, x: CALLS[name](np, x), host.arange(float(size)))


def test_arrays_are_not_joined_in_place() -> None:
    """CPython takes `__iadd__` for that, and its NotImplemented for the result."""
    address = function(lf.LazyArray, "__iadd__")
    assert address is not None
    set_wrapper(Wrapper(lf.LazyArray, "__iadd__", address))  # whatever other tests have done to it
    assert slot(lf.LazyArray, 42) is None  # sq_inplace_concat
    assert slot(lf.LazyArray, NUMBERS["nb_inplace_add"]) == address
    x = lf.arange(3.0)
    for other in (Left(1), object(), {1}):
        with pytest.raises(TypeError):
            operator.iconcat(x, other)


def test_every_operator_has_one() -> None:
    missing = {*methods.BINARY, *methods.COMPARISONS, *methods.UNARY} - {*methods.SLOTS}
    assert not missing


class Left:
    """Knows arrays by none of its operators, or by its own."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __add__(self, other: Any) -> Any:
        return self.answer

    def __radd__(self, other: Any) -> Any:
        return self.answer

    __lt__ = __gt__ = __mul__ = __rmul__ = __add__


class Number(float):
    """A float that is more."""


def _deleted(x: Any) -> None:
    del x[0]


Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {
    "numbers": lambda np, x: (1.5 + x, x + 1.5, 2 - x, x - 2, 3.0 / x, x // 2, 7 % x, 2 * x),
    "more numbers": lambda np, x: (Number(2) * x, x * Number(2), host.float32(2) - x),
    "truth": lambda np, x: (True + x, x - False, x > True),
    "lists": lambda np, x: ([1.0] * len(x) + x, x * [2.0] * 1, (1.0,) - x, x <= [1.0] * len(x)),
    "arrays of NumPy's": lambda np, x: (host.ones(len(x)) - x, x / host.ones(len(x))),
    "by name": lambda np, x: (x.__radd__(x * 2), x.__rsub__(1.0), x.__sub__(x), x.__rtruediv__(2)),
    "by the class": lambda np, x: (type(x).__mul__(x, 2.0), type(x).__neg__(x)),
    "not known": lambda np, x: (x.__add__(Left(3)) is NotImplemented, x + Left(3), Left(4) + x),
    "not known, compared": lambda np, x: (x < Left(3), Left(3) > x, x * Left(2), Left(2) * x),
    "equal to anything": lambda np, x: (x == "a", x != None, x.__eq__(x), x == x),  # noqa: E711, PLR0124
    "in place": lambda np, x: (operator.iadd(x, 1.0), operator.itruediv(x, x[:1]), x),
    "bits": lambda np, x: (~x.astype(int), x.astype(int) & 3, 6 ^ x.astype(int)),
    "products": lambda np, x: (x @ x, [1.0] * len(x) @ x, x @ host.ones(len(x))),
    "an outer product": lambda np, x: x[:3, None] @ x[None],
    "length": lambda np, x: (len(x), len(x[:0]), x.__len__(), bool(x[:1]), not x[:1]),
    "items": lambda np, x: (x[0], x[1:3], x[[0, 1]], x[x > 1], x.__getitem__(0), x[-1], x[...]),
    "items by the operator": lambda np, x: (operator.getitem(x, 1), *map(x.__getitem__, range(3))),
    "written": lambda np, x: (x.__setitem__(0, 5.0), operator.setitem(x, 1, 6.0), x),
    "iteration": lambda np, x: (*map(float, x[:3]), next(iter(x)), list(x[:2]), 2.0 in x),
    "keywords": lambda np, x: (
        np.add(x, 1, dtype="f4"), np.sum(x, axis=0, keepdims=True), np.matmul(x, x, dtype="f8"),
        np.add(x, 1, **{}), np.zeros(shape=2), np.maximum(x, 1.0, where=x > 1, out=x.copy()),
        np.concatenate([x, x], axis=0), np.mean(a=x),
    ),
    "many arguments": lambda np, x: np.meshgrid(*[x[:2]] * 5),
}  # fmt: skip
FAULTS: dict[str, Program] = {
    "shapes": lambda np, x: x + x[:2],
    "types": lambda np, x: x + "a",
    "reflected types": lambda np, x: "a" - x,
    "comparison": lambda np, x: x < "a",
    "deleted": lambda np, x: _deleted(x),
    "deleted by name": lambda np, x: x.__delitem__(0),
    "no axes": lambda np, x: len(x.sum(keepdims=True)[0, ...] if x.ndim > 1 else x[0, ...]),
    "no such item": lambda np, x: x[10**9],
    "no such place": lambda np, x: operator.setitem(x, 10**9, 1.0),
    "of no dtype": lambda np, x: operator.setitem(x, 0, "a"),
    "in place": lambda np, x: operator.iadd(x, 1j),
    "bad keyword": lambda np, x: np.add(x, 1, nothing=2),
    "bad keyword of a function": lambda np, x: np.sum(x, nothing=2),
    "no arguments": lambda np, x: np.add(),
    "too many": lambda np, x: x.__add__(1, 2),
    "too few": lambda np, x: x.__getitem__(),
    "power": lambda np, x: operator.lshift(x, 1),
}


@pytest.mark.parametrize("size", (7, 40_000))
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, size: int) -> None:
    oracle.check(lambda np, x: PROGRAMS[name](np, x), host.arange(1.0, size + 1) / 16)


@pytest.mark.parametrize("size", (7, 40_000))
@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, size: int) -> None:
    told = []
    for np in (host, lf):
        with pytest.raises((TypeError, ValueError, IndexError)) as error:
            FAULTS[name](np, np.arange(1.0, size + 1))
        told.append((error.type, str(error.value).replace("numpy.ndarray", "LazyArray")))
    if name not in ("too many", "too few", "types", "reflected types", "comparison"):
        assert told[0] == told[1]
    assert issubclass(told[1][0], told[0][0])


def test_methods_that_others_put_in_place() -> None:
    """They are called, and the slot is asked at once again when they are gone."""
    x, own = lf.arange(4.0), vars(lf.LazyArray)["__add__"]
    before = slot(lf.LazyArray, NUMBERS["nb_add"])
    lf.LazyArray.__add__ = lambda self, other: "theirs"  # type: ignore[method-assign, assignment, misc]
    try:
        assert x + 1 == "theirs"
        assert (1 + x).tolist() == [1.0, 2.0, 3.0, 4.0]
    finally:
        lf.LazyArray.__add__ = own
    assert slot(lf.LazyArray, NUMBERS["nb_add"]) == before
    assert (x + 1).tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", ("add", "matmul", "sum"))
def test_calls_that_others_put_in_place(name: str) -> None:
    """They are called, also by functions that have said where they are called."""
    x, called = lf.arange(4.0), getattr(lf, name)
    kind = type(called)
    words = [x] * getattr(called, "nin", 1)
    expected, own = called(*words).tolist(), vars(kind)["__call__"]
    kind.__call__ = lambda self, *args: "theirs"
    try:
        assert (called(*words), called(*words)) == ("theirs", "theirs")
    finally:
        kind.__call__ = own
    assert called(*words).tolist() == called(*words).tolist() == expected


def test_what_they_say_of_themselves_is_numpys() -> None:
    for name in ("__add__", "__getitem__", "__lt__", "__len__", "__neg__"):
        own, theirs = vars(lf.LazyArray)[name], getattr(host.ndarray, name)
        assert (own.__doc__, own.__text_signature__) == (theirs.__doc__, theirs.__text_signature__)


def test_no_reference_is_lost() -> None:
    x, key, value = lf.arange(4.0), 123_456, 1234.5
    words = {"axis": 0, "keepdims": True}
    kept = (x, x._host, key, value, words, lf.sum, lf.add, *words, None, NotImplemented)

    def run() -> None:
        _ = x + value, value - x, x < value, -x, len(x), x[1], x[1:], lf.add(x, value)
        x[0] = value
        _ = lf.sum(x, **words), x == "a", x.__add__(Left(1)), [*x]
        for fault in FAULTS.values():
            with pytest.raises((TypeError, ValueError, IndexError)):
                fault(lf, x)
        with pytest.raises(IndexError):
            x[key]

    assert_nothing_is_lost(run, kept, known=20, rounds=60)


OTHER_CODE = """
import lazyfuse as lf
from lazyfuse.frontend import native_methods
from lazyfuse.runtime import native
assert native_methods.make_native(lf.LazyArray)
x = lf.arange(4.0)
lf.add(x, 1), lf.sum(x)
before = lf.add._vector
recording = native_methods._recording(lf.LazyArray)
code = native.prepared(native_methods.native_sample(), recording)
native_methods._use(code)
native.install(code)
assert lf.add(x, 1).tolist() == [1.0, 2.0, 3.0, 4.0]  # which is unsaid now
lf.add(x, 1)
assert lf.add._vector not in (0, before)
assert lf.sum(x, axis=0) == 6.0
"""


def test_lengths_are_let_go() -> None:
    """Numbers that nobody else has, as the length of more than 256 elements."""
    with lf.options(eager_size=1000):
        x = lf.ones(1000)
    assert len(x) == 1000 and x._host is not None
    before = sys.getallocatedblocks()
    for _ in range(2000):
        len(x)
    assert sys.getallocatedblocks() - before < 1000


INTERRUPTED = """
import gc
import lazyfuse as lf
from lazyfuse.frontend import fused as frontend, native_methods
from lazyfuse.runtime import native, replay_code
assert native.set_called is replay_code.set_called
own = native.set_called
def interrupted(kinds):
    raise KeyboardInterrupt
native.set_called = replay_code.set_called = interrupted
x, fused = lf.arange(4.0), lf.fuse(lambda a: a + 1.0)
try:
    {begin}
except KeyboardInterrupt:
    native.set_called = replay_code.set_called = own
else:
    raise AssertionError("not interrupted")
for _ in range(2):
    for _ in range(4):
        assert lf.add(x, 1.0)[3] == fused(x)[3] == 4.0 and lf.sum(x, axis=0) == 6.0
        assert frontend.can_enter(fused)
    gc.collect()
    assert native_methods.make_native(lf.LazyArray)
print("done")
"""
BEGUN = {
    "methods": "native_methods.make_native(lf.LazyArray)",
    "fused functions": "frontend.can_enter(fused)",
}


@pytest.mark.parametrize("name", BEGUN)
def test_an_interrupt_before_calls_are_made_at_once(name: str) -> None:
    """Functions say where they are called by then: no reference, to garbage collection either."""
    program = INTERRUPTED.format(begin=BEGUN[name])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_other_code_takes_the_place() -> None:
    """As where an interrupt came as the first was put in: functions are not called in that."""
    done = subprocess.run(
        [sys.executable, "-c", OTHER_CODE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
