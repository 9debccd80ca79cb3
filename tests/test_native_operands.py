"""Operands of functions in machine code that are no arrays of lazyfuse: NumPy's, and lists."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.python_calls import python_calls

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import deferred, direct  # noqa: E402
from tests.test_native import operators, small  # noqa: E402, F401 - fixtures of this module, too

LINE = host.linspace(0.5, 2.5, 9)

OPERANDS: dict[str, Any] = {
    "doubles": LINE,
    "singles": LINE.astype("f4"),
    "ints": host.arange(1, 9),
    "complex numbers": LINE * 1j,
    "rows": LINE.reshape(3, 3),
    "columns": LINE.reshape(3, 3).T,
    "gaps": LINE[::2],
    "blocks": host.linspace(0.5, 2.5, 30).reshape(5, 6)[1:4, 2:5],
    "blocks of singles": host.linspace(0.5, 2.5, 24, dtype="f4").reshape(2, 3, 4)[:, 1:, ::2],
    "blocks turned": host.linspace(0.5, 2.5, 30).reshape(5, 6)[1:4, 2:5].T,
    "blocks backwards": host.linspace(0.5, 2.5, 30).reshape(5, 6)[3:0:-1, 2:5],
    "overlapping rows": host.lib.stride_tricks.as_strided(LINE, (3, 4), (8, 8)),
    "repeated rows": host.broadcast_to(LINE, (3, 9)),
    "other bytes": LINE.astype(">f8"),
    "no axes": host.array(1.5),
    "no elements": host.zeros(0),
    "objects": host.array([1.5, 2.5], object),
    "masks": LINE > 1,
    "many": host.linspace(0.1, 1, 50_000),
    "a list": [0.5, 1.5],
    "a list of ints": [1, 2, 3],
    "a list of large ints": [1, 2**70],
    "a list of NumPy's numbers": [host.float64(0.5), 2],
    "a list of other numbers": [host.float32(0.5), 1j, True],
    "a long list": LINE.tolist() * 50,
    "a list of lists": [[0.5, 1.5], [2.5, 3.5]],
    "a ragged list": [[0.5], [1.5, 2.5]],
    "an empty list": [],
    "a tuple": (0.5, 1.5),
    "a word": ["one"],
}  # fmt: skip
CALLS: dict[str, Callable[..., Any]] = {
    "exp": lambda np, x: np.exp(x),
    "absolute": lambda np, x: np.abs(x),
    "arctan2": lambda np, x: np.arctan2(x, x),
    "hypot": lambda np, x: np.hypot(x, 1.5),
    "a number first": lambda np, x: np.logaddexp(1.5, x),
    "beside ours": lambda np, x: np.arctan2(np.ones(np.shape(x)), x),
    "power": lambda np, x: np.power(x, 1.5),
    "as an operator": lambda np, x: np.ones(np.shape(x)) ** x,
    "a double of NumPy's": lambda np, x: np.power(np.array(x), host.float64(1.5)),
    "a double of NumPy's first": lambda np, x: np.hypot(host.float64(0.1), np.array(x)),
    "into ours": lambda np, x: np.log(x, out=np.zeros_like(np.exp(x))),
}


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("call", CALLS)
def test_operands_that_are_not_ours(call: str, name: str) -> None:
    """Values, dtypes, memory orders and errors are NumPy's, up to the bits of the functions."""
    for _ in range(3):
        oracle.check(lambda np: CALLS[call](np, OPERANDS[name]), ulp=4)


@pytest.mark.parametrize("number", [2.0, 0.5, -1.0, 0.0, 1e300, host.inf, host.nan])
def test_doubles_of_numpys(number: float) -> None:
    """They are numbers beside doubles, and strong beside other dtypes."""
    given = host.float64(number)

    def program(np: Any) -> list[Any]:
        lines = [np.array(LINE), np.array(LINE, dtype="f4"), np.arange(4), np.array(LINE)[::2]]
        with np.errstate(all="ignore"):
            return [f(x) for x in lines for f in (lambda x: x**given, lambda x: given**x)]

    for _ in range(12):
        oracle.check(program, ulp=4)


@pytest.mark.cpu("small arrays that are NumPy's")
def test_a_double_of_numpys_is_taken_in_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`(1 + 1 / t) ** x` with a `t` of NumPy's took 80 times NumPy's time, in Python."""
    x, number = lf.array(LINE), host.float64(1.5)
    expected = (1.5**x).tolist(), lf.arctan2(x, 1.5).tolist()
    for _ in range(20):
        number**x, lf.arctan2(x, number)
    monkeypatch.delattr(direct, "_run")
    assert ((number**x).tolist(), lf.arctan2(x, number).tolist()) == expected


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("operand", [LINE, LINE.tolist()])
def test_they_are_computed_in_machine_code(operand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`exp` of NumPy's arrays and of lists took up to 40 times NumPy's time, in Python."""
    expected = lf.exp(lf.array(operand)).tolist()
    for _ in range(20):
        lf.exp(operand)
    monkeypatch.delattr(direct, "_run")
    assert lf.exp(operand).tolist() == expected


@pytest.mark.cpu("parts of memory that are NumPy's")
def test_blocks_are_computed_in_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`exp` of a block of a matrix took 14 times NumPy's time, in Python."""
    matrix = lf.array(host.linspace(0.5, 2.5, 400 * 400).reshape(400, 400)) * 1.0
    lf.materialize(matrix)
    block = matrix[3:7, 5:9]
    expected = lf.exp(block * 1.0).tolist(), lf.arctan2(block * 1.0, block * 1.0).tolist()
    for _ in range(20):
        lf.exp(block), lf.arctan2(block, block)
    monkeypatch.delattr(direct, "_run")
    assert (lf.exp(block).tolist(), lf.arctan2(block, block).tolist()) == expected


@pytest.mark.cpu("parts of memory that are NumPy's")
@pytest.mark.parametrize("method", ["clip", "repeat"])
def test_methods_of_rows_are_called_in_machine_code(method: str) -> None:
    """They took 18 times NumPy's time, in Python."""
    values = host.linspace(0.5, 2.5, 400 * 400).reshape(400, 400)
    matrix = lf.array(values) * 1.0
    lf.materialize(matrix)
    call = {"clip": lambda x: x.clip(0.6, 1.2), "repeat": lambda x: x.repeat(2)}[method]
    for key in (3, (slice(3, 9), slice(5, 20)), (slice(None), 2)):
        part = matrix[key]
        names = python_calls(lambda: call(part))  # noqa: B023 - called at once
        assert not {"call", "called"}.intersection(names)
        assert host.array_equal(call(part), call(values[key]))


@pytest.mark.cpu("parts of memory that are NumPy's")
@pytest.mark.parametrize("dtype", ("c8", "c16"))
def test_absolute_values_of_complex_rows(dtype: str) -> None:
    """`abs(z[3])` took 18 times NumPy's time, in Python; `np.abs(z[3])` did not."""
    line = host.linspace(0.5, 2.5, 160_000)
    values = (line + 1j * line[::-1]).astype(dtype).reshape(400, 400)
    values[3, :3] = complex("inf"), complex(0.0, float("nan")), 0.0
    matrix = lf.array(values) * 1.0
    lf.materialize(matrix)
    rows = matrix[3], matrix[3:5, 2:90], matrix[3:4], matrix[:, 3]
    for row in rows:
        for _ in range(20):
            abs(row)
        names = python_calls(lambda: abs(row))  # noqa: B023 - called at once
        assert names == ["empty_like"]  # how NumPy asks whom it is like
        host.testing.assert_array_equal(abs(row), lf.abs(row.copy()))
    host.testing.assert_allclose(abs(rows[1]), abs(values[3:5, 2:90]), rtol=3e-7)
    host.testing.assert_array_equal(abs(matrix.real[3]), lf.abs(matrix.real[3].copy()))
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        abs(matrix[:2] * host.finfo(values.real.dtype).max)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "+=": lambda a, b: a.__iadd__(b),
    "*=": lambda a, b: a.__imul__(b),
}


@pytest.mark.parametrize(
    "name", [name for name, each in OPERANDS.items() if isinstance(each, host.ndarray)]
)
@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_with_arrays_of_numpys(sign: str, name: str) -> None:
    """Values, dtypes, memory orders and errors are NumPy's; results are ours."""
    theirs = OPERANDS[name]
    for shape in ((), (1,), (9,), (3, 3), (3, 1), (50_000,)):
        count = int(host.prod(shape))
        ours = host.linspace(0.5, 3.0, count).reshape(shape)
        for each in (ours, ours.astype("i4"), ours.T.astype("f4")):

            def program(np: Any, x: Any) -> Any:
                with host.errstate(all="ignore"):
                    return OPERATORS[sign](np.array(x), theirs)  # noqa: B023 - called at once

            for _ in range(2):
                oracle.check(program, each)


def test_operators_with_arrays_of_numpys_need_no_python() -> None:
    x, y = lf.asarray(host.arange(9.0)), host.ones(9)
    assert not python_calls(lambda: (x * y, y - x, x < y, operator.iadd(x, y)))
    assert x.tolist() == list(range(1, 10))


def test_arrays_of_numpys_in_the_same_memory() -> None:
    x = lf.asarray(host.arange(9.0))
    memory = host.asarray(x)
    x += memory[::-1]
    assert x.tolist() == [8.0] * 9 and memory.tolist() == [8.0] * 9
    product = x * memory
    memory[:] = 1.0
    assert type(product) is lf.LazyArray and product.tolist() == [64.0] * 9
    assert x.tolist() == [1.0] * 9


@pytest.mark.parametrize("dtype", ("f8", "f4", "i4", "c16", "?", ">f8", "O"))
@pytest.mark.parametrize("size", (3, 40_000))
def test_products_with_arrays_of_numpys(dtype: str, size: int) -> None:
    """From both sides, with parts of arrays of the engine, whole ones and small ones."""
    theirs = host.arange(9).reshape(3, 3).astype(dtype)

    def program(np: Any, lines: Any) -> list[Any]:
        found = []
        for part in (lines[:, 1], lines[:, :2], lines[::-1], lines[:, ::-1], lines * 2):
            found += [theirs @ part, part.T @ theirs, theirs.T @ part, theirs[0] @ part]
            for fault in (lambda: theirs[:2].T @ part, lambda: part @ theirs[0, 0]):  # noqa: B023
                with pytest.raises(ValueError, match="matmul"):
                    fault()
        return found

    lines = host.linspace(0.5, 2.5, 3 * size).reshape(3, size)
    for each in (lines, lines.astype("i8")):
        oracle.check(program, each)


def test_products_with_matrices_of_numpys_need_no_python() -> None:
    """Of a column of an array of the engine they took 17 us, most of it Python."""
    theirs, lines = host.arange(9.0).reshape(3, 3), lf.asarray(host.ones((3, 40_000)))
    theirs @ lines[:, 0]  # loads what is loaded late
    references = sys.getrefcount(theirs)
    found: list[Any] = []
    frames = python_calls(lambda: found.extend((theirs @ lines[:, 1], lines[:, 2] @ theirs)))
    assert not frames and sys.getrefcount(theirs) == references
    assert [each.tolist() for each in found] == [[3.0, 12.0, 21.0], [9.0, 12.0, 15.0]]


class Prior:
    """What operators are left to by its priority."""

    __array_priority__ = 1e6

    def __rmatmul__(self, other: Any) -> str:
        return "theirs"


class Asked:
    """What takes ufuncs for itself, and tells how it was asked."""

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **words: Any) -> Any:
        out = words.pop("out", None)
        first = operands[0]
        return ufunc.__name__, method, len(operands), out is None or out[0] is first, words


class Refusing(Prior):
    __array_ufunc__ = None


@pytest.mark.parametrize("shape", ((3, 3), (3,), (2, 3, 3), (4, 40_000)))
@pytest.mark.parametrize("name", ("imatmul", "imul", "ipow"))
def test_operators_in_place_ask_the_operand(shape: tuple[int, ...], name: str) -> None:
    def program(np: Any, array: Any) -> Any:
        told = getattr(operator, name)(array, Asked())
        with pytest.raises(TypeError) as error:
            getattr(operator, name)(array, Refusing())
        return repr(told), str(error.value)

    oracle.check(program, host.ones(shape))


@pytest.mark.parametrize("size", (3, 40_000))
def test_products_in_place_go_by_priority(size: int) -> None:
    """As other operators in place: the name is what `x @ other` gives."""

    def program(np: Any, array: Any) -> Any:
        part = array[:, :3]
        part @= Prior()
        return part

    oracle.check(program, host.ones((3, size)))


UNDERFLOWS: dict[str, Callable[[Any, Any], Any]] = {
    "powers of zero": lambda np, x: np.power(x, 2.5),
    "tails": lambda np, x: np.exp(x - 800.0),
}


@pytest.mark.parametrize("name", UNDERFLOWS)
def test_conditions_that_nobody_wants_to_hear_of(name: str) -> None:
    """Underflow, which NumPy ignores by default, had Python compute it all again, each time."""
    function, values = UNDERFLOWS[name], host.arange(40.0)
    x = lf.asarray(values)
    for _ in range(30):
        found = function(lf, x)
    host.testing.assert_allclose(host.asarray(found), function(host, values), 1e-14)
    asked = {"<lambda>", "empty_like", "is_told", "current_modes"}  # the second by NumPy's C code
    assert {*python_calls(lambda: function(lf, x))} <= asked
    if name == "powers of zero":  # which only look so to the processor
        with lf.errstate(all="raise"):
            host.asarray(function(lf, x))
        return
    with lf.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        host.asarray(function(lf, x))
    with lf.errstate(under="warn"), pytest.warns(RuntimeWarning, match="underflow"):
        host.asarray(function(lf, x))


def test_a_question_about_conditions_that_is_interrupted() -> None:
    x, question = lf.asarray(host.arange(40.0) - 800.0), deferred._held["ASK_FLAGS"][0]
    for _ in range(30):
        lf.exp(x)

    def interrupted(flags: int) -> bool:
        raise KeyboardInterrupt

    deferred._refer("ASK_FLAGS", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            lf.exp(x)
    finally:
        deferred._refer("ASK_FLAGS", question)
    expected = host.exp(host.arange(40.0) - 800.0)
    host.testing.assert_allclose(host.asarray(lf.exp(x)), expected, 1e-14)
