"""Operators, ufuncs and reductions of a few elements by loops of machine code: the bits, dtypes,
warnings and errors of NumPy.
"""

from __future__ import annotations

import ctypes
import platform
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu.methods_quick_text import QUICK_MOST  # noqa: E402 - with an engine
from lazyfuse.frontend import deferred  # noqa: E402 - likewise
from tests.deferring import deferring  # noqa: E402 - likewise

pytestmark = [pytest.mark.engine, pytest.mark.cpu("machine code for small arrays")]
#: FE_DIVBYZERO of x86's fenv.h.
_DIVIDED = 4
SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 100, 127, 128, 129, 136, 137, 255, 257, 511, 999)
DTYPES = ("f8", "f4", "i8", "?", "i4", "c16")
F4_MAX = host.finfo("f4").max
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, host.inf, -host.inf, host.nan, 5e-324, 1e308, -1e-310, 3.0]


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Small arrays, by machine code; of a thousand elements, they are put off only in places that
    are hot."""
    with deferring(smallest=deferred.SMALLEST, hot=deferred.HOT), lf.options(eager_size=30_000):
        yield


def values(dtype: str, size: int, seed: int = 1) -> host.ndarray:
    """Numbers of every kind, but few that conditions come of."""
    return _drawn(dtype, size, seed).copy()


@cache
def _drawn(dtype: str, size: int, seed: int) -> host.ndarray:
    draw = host.random.default_rng(seed + size)
    drawn = draw.normal(size=size) * 10
    if host.dtype(dtype).kind == "u":  # by way of integers, of which none is out of range
        drawn = drawn.astype("i8")
    return (drawn > 0) if dtype == "?" else drawn.astype(dtype)


def same(program: Callable[[Any], Any]) -> None:
    """NumPy's answer: values, bits, dtypes, warnings, errors; twice, since the first call may be
    another one's."""
    wanted = told(program, host)
    for _ in range(2):
        given = told(program, lf)
        assert given[1:] == wanted[1:]
        assert [*oracle.compare("result", wanted[0], given[0])] == []


def told(program: Callable[[Any], Any], np: Any) -> tuple[Any, str, list[str]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found, error = program(np), ""
        except Exception as raised:  # noqa: BLE001 - any exception is an answer here
            found, error = (
                None,
                next(
                    kind.__name__
                    for kind in type(raised).__mro__
                    if "_core" not in kind.__module__
                ),
            )
    return (
        read(found, oracle.observe if np is lf else None),
        error,
        [str(each.message) for each in heard],
    )


def read(value: Any, reader: Callable[[Any], Any] | None) -> Any:
    if isinstance(value, (list, tuple)):
        return [read(each, reader) for each in value]
    return value if reader is None else reader(value)


BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "+": lambda np, a, b: a + b, "-": lambda np, a, b: a - b, "*": lambda np, a, b: a * b,
    "/": lambda np, a, b: a / b, "<": lambda np, a, b: a < b, "<=": lambda np, a, b: a <= b,
    "==": lambda np, a, b: a == b, "!=": lambda np, a, b: a != b, ">": lambda np, a, b: a > b,
    ">=": lambda np, a, b: a >= b, "maximum": lambda np, a, b: np.maximum(a, b),
    "minimum": lambda np, a, b: np.minimum(a, b), "add": lambda np, a, b: np.add(a, b),
    "divide": lambda np, a, b: np.divide(a, b), "less": lambda np, a, b: np.less(a, b),
    "where": lambda np, a, b: np.where(a < b, a, b),
}  # fmt: skip
UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "-": lambda np, a: -a, "abs": lambda np, a: abs(a), "sqrt": lambda np, a: np.sqrt(abs(a)),
    "square": lambda np, a: np.square(a), "** 2": lambda np, a: a**2,
    "** 2.0": lambda np, a: a**2.0, "negative": lambda np, a: np.negative(a),
    "absolute": lambda np, a: np.absolute(a),
}  # fmt: skip
FOLDS = ("sum", "mean", "max", "min", "var", "std", "any", "all")
USED: dict[str, Callable[[Any], Any]] = {
    **{name: lambda a, f=function: f(lf, a, a) for name, function in BINARY.items()},
    **{f"unary {name}": lambda a, f=function: f(lf, a) for name, function in UNARY.items()},
    **{f".{name}()": lambda a, f=name: getattr(a, f)() for name in FOLDS[:6]},
    **{f"{name}()": lambda a, f=name: getattr(lf, f)(a) for name in FOLDS[:6]},
    "+=": lambda a: a.__iadd__(a), "*=": lambda a: a.__imul__(2.0), "2 * a": lambda a: 2 * a,
    "a row": lambda a: a.reshape(1, -1) + a, "any": lambda a: (a > 0).any(),
    "apart": lambda a: a[::2] * 2.0, "a column": lambda a: a.reshape(-1, 1) + a[:1],
}  # fmt: skip
OTHERS: dict[str, Callable[[Any], Any]] = {
    "a float": lambda np: 2.5, "an int": lambda np: 3, "a large int": lambda np: 2**60,
    "a huge int": lambda np: 2**70, "a bool": lambda np: True, "nan": lambda np: host.nan,
    "inf": lambda np: host.inf, "a large float": lambda np: 1e200, "-0.0": lambda np: -0.0,
    "float64": lambda np: host.float64(2.5), "int64": lambda np: host.int64(3),
    "float32": lambda np: host.float32(2.5), "a complex number": lambda np: 1j,
    "a nan of float32": lambda np: host.float32("nan"), "a large float32": lambda np: F4_MAX,
    "a large int64": lambda np: host.int64(2**60 + 1), "int32": lambda np: host.int32(-3),
    "uint64": lambda np: host.uint64(2**63), "uint8": lambda np: host.uint8(200),
    "float16": lambda np: host.float16(0.1), "bool_": lambda np: host.bool_(True),
    "complex64": lambda np: host.complex64(1 + 2j),
    "NumPy's 0-d": lambda np: host.array(2.5), "a date": lambda np: host.datetime64("2020-01-01"),
    "one element": lambda np: np.array([2.0]), "0-d": lambda np: np.array(2.0),
}  # fmt: skip


@pytest.mark.skipif(platform.platform()[:5] != "Linux", reason="of its libm")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="of SSE's flags")
@pytest.mark.parametrize("name", USED)
def test_numpy_is_not_asked(name: str) -> None:
    """Its loops clear the flags of the processor; these leave them as they were."""
    library = ctypes.CDLL("libm.so.6")
    a = lf.array([1.0, 2.0, 3.0, 4.0])
    USED[name](a)
    library.feraiseexcept(_DIVIDED)
    USED[name](a)
    assert library.fetestexcept(_DIVIDED) == _DIVIDED
    library.feclearexcept(_DIVIDED)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_arrays(dtype: str, size: int) -> None:
    a, b = values(dtype, size), values(dtype, size, 2)
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, np.array(a), np.array(b)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", OTHERS)
def test_an_array_and_a_number(other: str, dtype: str) -> None:
    """On either side; and with others that are no arrays of its kind."""
    a = values(dtype, 21)
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, np.array(a), OTHERS[other](np)))
        same(lambda np, f=operation: f(np, OTHERS[other](np), np.array(a)))


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_two_dtypes(one: str, other: str) -> None:
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, np.array(values(one, 9)), np.array(values(other, 9))))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_array(dtype: str, size: int) -> None:
    a = values(dtype, size)
    for operation in UNARY.values():
        same(lambda np, f=operation: f(np, np.array(a)))


@pytest.mark.parametrize("size", (*SIZES, *range(1, 300, 3)))
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype: str, size: int) -> None:
    """As methods and functions; of matrices, which are reduced as one row."""
    a = values(dtype, size)
    for name in FOLDS:
        same(lambda np, f=name: getattr(np.array(a), f)())
        same(lambda np, f=name: getattr(np, f)(np.array(a)))
    if size % 3 == 0:
        for name in FOLDS:
            same(lambda np, f=name: getattr(np.array(a.reshape(3, -1)), f)())


@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_special_values(dtype: str) -> None:
    """Every pair of them, and with each of them among others: conditions warn as NumPy says."""
    with host.errstate(all="ignore"):
        special = host.array(SPECIAL).astype(dtype)
    a, b = host.repeat(special, len(special)), host.tile(special, len(special))
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, np.array(a), np.array(b)))
        for value in special:
            both = host.array([2.0, value], dtype)
            same(lambda np, f=operation, x=both: f(np, np.array(x), np.array(x[::-1].copy())))
    for operation in UNARY.values():
        same(lambda np, f=operation: f(np, np.array(special)))
    for name in FOLDS:
        for value in special:
            for size in (1, 5, 40):
                row = host.full(size, 2.0, dtype)
                row[size // 2] = value
                same(lambda np, f=name, x=row: getattr(np.array(x), f)())
        same(lambda np, f=name: getattr(np.array(special[:2]), f)())


@pytest.mark.parametrize("kind", ("warn", "raise", "ignore"))
def test_conditions(kind: str) -> None:
    def program(np: Any) -> Any:
        with np.errstate(all=kind):
            return np.array([1.0, 0.0]) / np.array([0.0, 0.0]), np.array([1e308]) * 10.0

    same(program)

    def underflow(np: Any) -> Any:
        with np.errstate(under=kind):
            return np.array([1e-308, 1.0]) * 1e-10

    same(underflow)


def test_warnings_are_at_the_line_of_the_user() -> None:
    a = lf.array([1.0, 0.0])
    with pytest.warns(RuntimeWarning, match="divide by zero") as heard:
        a / lf.array([0.0, 1.0])
    assert heard[0].filename == __file__


SHAPES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "a row and a matrix": lambda np: (np.ones((3, 4)), np.arange(4.0)),
    "a column": lambda np: (np.ones((3, 4)), np.ones((3, 1)) * 2),
    "a row of a matrix": lambda np: (np.arange(12.0).reshape(3, 4), np.arange(4.0)[None]),
    "a column and a row": lambda np: (np.arange(3.0)[:, None], np.arange(4.0)),
    "one element": lambda np: (np.arange(12.0).reshape(3, 4), np.array([2.0])),
    "one element of a matrix": lambda np: (np.arange(12.0).reshape(3, 4), np.array([[2.0]])),
    "a row of three axes": lambda np: (np.arange(24.0).reshape(2, 3, 4), np.arange(4.0)),
    "a matrix of three axes": lambda np: (np.arange(24.0).reshape(2, 3, 4), np.ones((3, 4))),
    "more axes of one element": lambda np: (np.arange(4.0), np.ones((1, 4))),
    "a column that lies apart": lambda np: (np.arange(12.0).reshape(3, 4)[:, 1], np.ones(3)),
    "two that lie apart": lambda np: (np.arange(12.0).reshape(3, 4)[:, 1], np.arange(9.0)[::3]),
    "many that lie apart": lambda np: (np.arange(600.0)[::3], np.ones(200)),
    "a tall matrix": lambda np: (np.ones((100, 1)), np.ones((100, 1)) * 2),
    "a tall matrix and a number": lambda np: (np.arange(99.0).reshape(99, 1), np.ones(1)),
    "many rows": lambda np: (np.arange(900.0).reshape(90, 10), np.arange(10.0)),
    "many columns": lambda np: (np.arange(900.0).reshape(10, 90), np.arange(10.0)[:, None]),
    "a broadcast row": lambda np: (np.ones((3, 4)), np.broadcast_to(np.arange(4.0), (3, 4))),
    "no elements": lambda np: (np.ones(0), np.ones(0)),
    "transposed": lambda np: (np.array(values("f8", 12)).reshape(3, 4).T, np.ones((4, 3))),
    "both transposed": lambda np: (np.ones((3, 4)).T, np.ones((3, 4)).T),
    "every second": lambda np: (np.arange(20.0)[::2], np.ones(10)),
    "backwards": lambda np: (np.arange(10.0)[::-1], np.arange(10.0)),
    "a slice": lambda np: (np.arange(20.0)[3:13], np.ones(10)),
    "unlike": lambda np: (np.ones(3), np.ones(4)),
    "more than one axis": lambda np: (np.ones((2, 3, 4)), np.ones((2, 3, 4))),
    "too many": lambda np: (np.ones(QUICK_MOST + 1), np.ones(QUICK_MOST + 1)),
    "another order of bytes": lambda np: (np.arange(3.0).astype(">f8"), np.ones(3)),
}  # fmt: skip


CHOICES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "two floats": lambda np, a, b: (1.0, -0.0),
    "two ints": lambda np, a, b: (1, 0),
    "an int and a float": lambda np, a, b: (1, 0.5),
    "an array and a float": lambda np, a, b: (a, 2.0),
    "a float and an array": lambda np, a, b: (host.nan, b),
    "an int and an array": lambda np, a, b: (1, b),
    "a huge int": lambda np, a, b: (2**70, a),
    "a bool": lambda np, a, b: (True, a),
    "float32": lambda np, a, b: (a.astype("f4"), 2.0),
    "two dtypes": lambda np, a, b: (a.astype("f4"), b),
    "int64": lambda np, a, b: (a.astype("i8"), 2),
    "ints and a float": lambda np, a, b: (a.astype("i8"), 2.5),
    "NumPy's float": lambda np, a, b: (host.float64(2.0), 1.0),
    "bools": lambda np, a, b: (a < b, a > b),
    "an element": lambda np, a, b: (a[:1], b),
    "complex": lambda np, a, b: (a, 1j),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_where(choice: str) -> None:
    for size in (1, 3, 20, 300):
        a, b = values("f8", size), values("f8", size, 2)

        def program(np: Any, a: Any = a, b: Any = b) -> Any:
            a, b = np.array(a), np.array(b)
            return np.where(a < b, *CHOICES[choice](np, a, b)), np.where(a, 1.0, b)

        same(program)


def test_where_of_other_conditions() -> None:
    same(lambda np: np.where(np.array([True, False, True])[::-1], np.arange(3.0), 1.0))
    same(lambda np: np.where(np.eye(3, dtype=bool), np.arange(3.0), np.arange(3.0)[:, None]))
    same(lambda np: np.where(np.arange(3) > 1, np.ones((3, 3)), 0.0))
    same(lambda np: np.where(np.array([True, False])))
    same(lambda np: np.where(np.array([True, False]), 1.0))


PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "vectors": lambda np: np.arange(3.0) @ np.ones(3),
    "a matrix and a vector": lambda np: np.ones((4, 3)) @ np.arange(3.0),
    "a vector and a matrix": lambda np: np.arange(3.0) @ np.ones((3, 4)),
    "matrices": lambda np: np.arange(12.0).reshape(4, 3) @ np.arange(6.0).reshape(3, 2),
    "transposed": lambda np: np.arange(12.0).reshape(4, 3) @ np.arange(12.0).reshape(4, 3).T,
    "ints": lambda np: np.arange(12).reshape(4, 3) @ np.arange(3),
    "a large result": lambda np: np.ones((400, 1)) @ np.ones((1, 400)),
    "stacks": lambda np: np.ones((2, 3, 3)) @ np.ones((3, 3)),
    "of other sizes": lambda np: np.ones(3) @ np.ones(4),
    "0-d": lambda np: np.array(2.0) @ np.ones(4),
    "with NumPy's": lambda np: np.ones((2, 2)) @ host.ones(2),
    "reflected": lambda np: host.ones((2, 2)) @ np.ones(2),
    "nothing": lambda np: np.ones((0, 3)) @ np.ones((3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    same(PRODUCTS[name])


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_in_place(name: str) -> None:
    def program(np: Any) -> Any:
        a, b = SHAPES[name](np)
        a = a.copy()
        view = a[1:]
        a += b
        a *= b
        view -= 1
        return a, view, b

    same(program)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, *SHAPES[name](np)))
    for operation in UNARY.values():
        same(lambda np, f=operation: f(np, SHAPES[name](np)[0]))
    for fold in FOLDS:
        same(lambda np, f=fold: getattr(SHAPES[name](np)[0], f)())


def changed(np: Any, dtype: str) -> list[Any]:
    """Operators that change their first operand, which others see."""
    a = np.array(values(dtype, 20))
    view, rest = a[2:], a[:5]
    found = [a, view, rest]
    a += a
    a *= 3
    a -= a[::-1].copy()
    a[1:] += a[:-1]
    a[:-1] *= a[1:]
    view -= 2
    rest += rest[::-1]
    if dtype[0] == "f":
        a /= 7
        a /= host.float64(3.0)
    a += np.array(values("f8", 20))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(dtype: str) -> None:
    same(lambda np: changed(np, dtype))


def test_in_place_where_that_is_refused() -> None:
    """And where a condition is an error nothing has been written."""

    def fixed(np: Any) -> Any:
        a = np.arange(3.0)
        a.flags.writeable = False
        a += 1
        return a

    def raised(np: Any) -> Any:
        a = np.array([1.0, 2.0, 0.0])
        try:
            with np.errstate(all="raise"):
                a /= np.array([1.0, 2.0, 0.0])
        except FloatingPointError:
            return a
        return None

    same(fixed)
    same(raised)


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "an axis": lambda np, a: (a.sum(0), a.sum(axis=1), np.max(a, axis=0), a.mean(-1)),
    "axes that stay": lambda np, a: (a.sum(keepdims=True), a.max(0, keepdims=True)),
    "a dtype": lambda np, a: (a.sum(dtype="f4"), np.add(a, a, dtype="f4")),
    "a mask": lambda np, a: (a.sum(where=a > 0), np.add(a, a, where=a > 0, out=a.copy())),
    "an initial value": lambda np, a: (a.sum(initial=2.0), a.max(initial=99.0)),
    "an output": lambda np, a: (np.add(a, a, out=a.copy()), np.sum(a, out=np.array(0.0))),
    "another power": lambda np, a: (np.rint(a) ** 3, np.rint(a) ** 3.0, a.astype("i8") ** 3),
    "ddof": lambda np, a: (a.std(ddof=1), np.var(a, ddof=1)),
    "positions": lambda np, a: (np.maximum(a, a.T[:3, :3]), np.where(a > 0)),
    "keys": lambda np, a: (a[a > 0], a[[0, 1]], a[None, 0], a[..., 1]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_other_forms(form: str) -> None:
    """What these calls ask for besides."""
    same(lambda np: FORMS[form](np, np.array(values("f8", 9)).reshape(3, 3)))


@pytest.mark.parametrize("size", (1, 2, 5, 17))
@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_zeros_of_both_signs(dtype: str, size: int) -> None:
    zeros = host.zeros(size, dtype)
    for a, b in ((zeros, -zeros), (-zeros, zeros)):
        for name in ("maximum", "minimum", "+", "-", "*", "<", "=="):
            same(lambda np, f=BINARY[name], x=a, y=b: f(np, np.array(x), np.array(y)))
        for fold in FOLDS:
            same(lambda np, f=fold, x=a: getattr(np.array(x), f)())


def test_arrays_of_numpys_go_where_ours_are() -> None:
    a, theirs = lf.ones(3), host.ones(3)
    with lf.options(device="cuda-host"):
        assert (a + theirs).device == "cpu" and (a + theirs).tolist() == [2.0, 2.0, 2.0]
    with lf.options(eager_size=2):
        assert (a + theirs)._host is None


def test_arrays_that_warn_when_they_are_written() -> None:
    def program(np: Any) -> Any:
        a, _ = np.broadcast_arrays(np.arange(3.0), np.ones((1, 3)))
        a += 1
        return a

    with pytest.warns(DeprecationWarning, match="overlapping"):
        program(lf)
    same(program)


def test_outputs_are_given_back() -> None:
    """The array itself, also where another argument has the same memory."""
    a = lf.ones(4)
    view = a[:]
    assert lf.add(a, lf.zeros(4), out=view) is view
    assert lf.sin(a, out=view) is view


def test_other_processors() -> None:
    """The text is code for them, too."""
    from lazyfuse.backends.cpu import methods_module, record
    from lazyfuse.backends.cpu.compiler import Compiler
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import recorder

    recording = native_methods._recording(lf.LazyArray)
    places = recorder.places(recording, record.ATTRIBUTES, record.place_name)
    triple = "aarch64-unknown-linux-gnu"
    compiler = Compiler(cpu="generic", features="", triple=triple)
    assert compiler.compile(methods_module.text(places, triple), level=0)[:4] == b"\x7fELF"


def test_other_operands() -> None:
    """NumPy's arrays give arrays of ours; two of them, too, in a function of ours."""
    theirs = host.arange(3.0)
    a = lf.arange(3.0)
    for made in (a + theirs, theirs + a, lf.add(a, theirs), lf.add(theirs, theirs), lf.sqrt(a)):
        assert type(made) is lf.LazyArray
    assert type(a.sum()) is type(lf.sum(a))

    with pytest.raises(TypeError):
        a + None  # type: ignore[operator]


def test_written_elements() -> None:
    def program(np: Any) -> list[Any]:
        a = np.zeros((3, 4))
        a[0, 1] = 1
        a[1] = 2.5
        a[1:, 2] = host.float64(3.0)
        a[..., -1] = np.arange(3.0)
        a[2][0] = 7
        a[0] = a[1]
        a[:, 0] = a[0, 0]
        errors = []
        for key, value in ((5, 1.0), ((0, 0, 0), 1.0), (0, np.ones(3)), (slice(None), "x")):
            try:
                a[key] = value
            except Exception as error:  # noqa: BLE001 - any exception is an answer here
                errors.append(f"{type(error).__name__}: {error}")
        told_errors.append(errors)
        return a

    told_errors: list[list[str]] = []
    same(program)
    assert len(told_errors) == 3 and told_errors[0] == told_errors[1] == told_errors[2]
    assert len(told_errors[0]) == 4


def test_some_are_put_off() -> None:
    """Small operands of what is, and results of it."""

    def program(np: Any) -> Any:
        row, matrix = np.arange(10.0), np.arange(60.0).reshape(6, 10)
        total, found = np.zeros(10), []
        for step in range(30):
            later = matrix * 2.0 + row
            row = row + 1.0
            later = np.maximum(later, step)
            total += later[step % 6]
            found.append(later.max() + total.sum())
            matrix = later - row
        return total, np.array(found), matrix

    with deferring(smallest=20):
        same(program)


def test_what_is_put_off_comes_first() -> None:
    """An operand without contents so far is computed by the one who asks."""
    with deferring(smallest=1):
        a = lf.arange(10.0)
        later = a + 1.0
        later = later * 2.0
        assert (later + a).sum() == host.sum((host.arange(10.0) + 1) * 2 + host.arange(10.0))
        later += 1.0
        assert later.max() == 21.0


def test_words_with_two_meanings_are_refused() -> None:
    """An object of the table that has a word's name was silently another one's place."""
    from lazyfuse.backends.cpu import methods_module

    with pytest.raises(ValueError, match="two meanings in machine code: T_SLICE$"):
        methods_module._words({"SLICE": -1}, {})
