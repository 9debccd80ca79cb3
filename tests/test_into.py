"""`out=` of ufuncs on arrays of the engine, again and again: written by recipes, in Python and in
machine code, with NumPy's values, aliasing, errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.frontend import ufunc as ufuncs  # noqa: E402 - likewise

pytestmark = pytest.mark.engine
N, TIMES = 600, 6
X, Y = host.linspace(-3.0, 5.0, N), host.linspace(2.0, 0.5, N)
PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "another": lambda np, x, y, o: np.multiply(x, y, out=o),
    "by position": lambda np, x, y, o: np.multiply(x, y, o),
    "in a tuple": lambda np, x, y, o: np.multiply(x, y, out=(o,)),
    "the first": lambda np, x, y, o: np.subtract(o, y, out=o),
    "the second": lambda np, x, y, o: np.subtract(y, o, out=o),
    "all of them": lambda np, x, y, o: np.add(o, o, out=o),
    "twice the same": lambda np, x, y, o: np.multiply(x, x, out=o),
    "one operand": lambda np, x, y, o: np.negative(x, out=o),
    "itself": lambda np, x, y, o: np.negative(o, o),
    "inexact": lambda np, x, y, o: np.exp(y, out=o),
    "inexact, itself": lambda np, x, y, o: np.sin(o, o),
    "a number": lambda np, x, y, o: np.multiply(x, 2.5, out=o),
    "a number first": lambda np, x, y, o: np.subtract(1, x, o),
    "a number that differs": lambda np, x, y, o: np.add(o, float(o[3]), out=o),
    "one of NumPy's": lambda np, x, y, o: np.multiply(host.float32(0.1), x, out=o),
    "numbers": lambda np, x, y, o: np.add(1.0, 2.0, out=o),
    "reversed": lambda np, x, y, o: np.add(o[::-1], x, out=o),
    "into a part": lambda np, x, y, o: np.add(x[1:], y[:-1], out=o[1:]),
    "from the neighbour": lambda np, x, y, o: np.add(o[1:], y[1:], out=o[:-1]),
    "every other": lambda np, x, y, o: np.multiply(x[::2], y[::2], out=o[1::2]),
    "a row": lambda np, x, y, o: np.add(
        x.reshape(20, 30), y[:30], out=o.reshape(20, 30)
    ),
    "what is pending": lambda np, x, y, o: np.add(x * y, y, out=o),
    "an array of NumPy's": lambda np, x, y, o: np.add(x, host.ones(N), out=o),
    "a comparison": lambda np, x, y, o: np.greater(x, y, out=o),
    "a small one": lambda np, x, y, o: np.add(x, np.array([0.5]), out=o),
}  # fmt: skip
REFUSED: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "of another shape": lambda np, x, y, o: np.add(x, y, out=o[:50]),
    "too short": lambda np, x, y, o: np.add(x, y[:50], out=o),
    "of a narrower dtype": lambda np, x, y, o: np.add(x, y, out=o.astype("i8")),
    "read-only": lambda np, x, y, o: np.add(x, y, out=np.broadcast_to(o[:1], N)),
    "a list": lambda np, x, y, o: np.add(x, y, out=[1.0] * N),
    "twice": lambda np, x, y, o: np.add(x, y, o, out=o),
    "for both": lambda np, x, y, o: np.add(x, y, out=(o, o)),
    "a number": lambda np, x, y, o: np.add(x, y, 2.0),
}


@pytest.fixture(params=("Python", "machine code"), autouse=True)
def way(request: pytest.FixtureRequest) -> Any:
    """Which code runs; a process has Python's methods until the machine code is put in."""
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    with lf.options(eager_size=100):
        yield str(request.param)


@pytest.mark.parametrize("dtype", ("f8", "f4", "c16"))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, dtype: str) -> None:
    """What each call leaves, and what readers recorded before it see."""
    if dtype == "c16" and name == "a number that differs":
        pytest.skip("float() of a complex number")

    def program(np: Any, x: Any, y: Any) -> Any:
        x, y, o = np.array(x), np.array(y), np.zeros(N, x.dtype)
        seen = []
        for _ in range(TIMES):
            before = o + 1
            given = PROGRAMS[name](np, x, y, o)
            seen += [before, given + 0, o.copy()]
            assert given.shape != o.shape or given is o
        return seen

    with host.errstate(all="ignore"):
        oracle.check(program, X.astype(dtype), Y.astype(dtype), ulp=4)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """By NumPy's errors, after it has been done by a recipe and each time; nothing is written."""

    def program(np: Any, x: Any, y: Any) -> Any:
        x, y, o = np.array(x), np.array(y), np.zeros(N)
        for _ in range(3):
            np.add(x, y, out=o)
        kinds = []
        for _ in range(3):
            try:
                REFUSED[name](np, x, y, o)
            except (TypeError, ValueError) as error:
                kinds.append(isinstance(error, TypeError))
        return len(kinds), kinds, o

    oracle.check(program, X, Y)


@pytest.mark.parametrize("name", ("another", "the first", "a number", "into a part", "itself"))
def test_the_long_way_is_gone_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was called as; so the rest goes by recipes."""
    calls, long_way = [0], ufuncs.call

    def counted(*args: Any) -> Any:
        calls[0] += 1
        return long_way(*args)

    monkeypatch.setattr(ufuncs, "call", counted)
    ufuncs.UFUNCS["multiply"]._into.clear()
    for _ in range(TIMES):
        x, y, o = lf.array(X), lf.array(Y), lf.zeros(N) + 0.5
        for _ in range(TIMES):
            PROGRAMS[name](lf, x, y, o)
    assert calls[0] <= 2  # the first state of `o` differs from the others


@pytest.mark.cpu("floating point flags")
def test_conditions_are_told_at_the_users_line() -> None:
    """Once for each call, as NumPy does."""
    x, o = lf.array(X), lf.zeros(N)
    for _ in range(4):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            lf.divide(x, 0.0, out=o)
            host.asarray(o)
        assert [each.filename for each in heard] == [__file__] * len(heard)
        assert {str(each.message) for each in heard} == {"divide by zero encountered in divide"}
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        lf.divide(x, 0.0, out=o)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda o: o[:], "a view": lambda o: o.view(), "reshaped": lambda o: o.reshape(N),
    "raveled": lambda o: o.ravel(), "reversed": lambda o: o[::-1],
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_an_operand_that_is_a_view_of_the_output(name: str) -> None:
    """What is learnt of it is not taken for an operand with memory of its own, nor the reverse."""

    def program(np: Any, x: Any, y: Any) -> Any:
        seen = []
        for _ in range(TIMES):
            for same in (True, False):
                o, other = np.array(x), np.array(y)
                view = WHOLE[name](o if same else other)
                seen += [np.subtract(view, o, out=o) + 0, np.subtract(o, view, out=o) + 0]
        return seen

    for ufunc in ufuncs.UFUNCS.values():
        if ufunc._into is not None:
            ufunc._into.clear()
    oracle.check(program, X, Y)
