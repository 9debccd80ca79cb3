"""Floating point conditions: `np.errstate`, warnings and their lines, as NumPy has them.

Programs run under both modules; the lines are those of this file, so they are compared as well.
With the action "always" an operation inside `catch_warnings` is computed at the call, with
"default" when its result is needed.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any
from zlib import crc32

import numpy as host
import pytest

from lazyfuse.ir.origin import line_of
from lazyfuse.ops.table import MULTIPLE, OPS
from lazyfuse.runtime import conditions
from lazyfuse.runtime.error_modes import current_modes
from tests import oracle
from tests.concurrently import concurrently
from tests.oracle import lf

pytestmark = [pytest.mark.engine, pytest.mark.cpu("floating point flags")]

Program = Callable[..., Any]
Heard = list[tuple[type[Warning], str, str, int]]


@pytest.fixture(autouse=True)
def no_small_arrays() -> Iterator[None]:
    """Let kernels compute arrays of every size."""
    with lf.options(eager_size=0):
        yield


def heard(module: Any, program: Program, *given: Any, action: str = "default") -> Heard:
    """Return the warnings of a program: category, text, file and line."""
    conditions._fruitless.clear()
    arrays = [oracle.to_lazy(item) if module is lf else copy(item) for item in given]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]  # typeshed's list of words
        value = program(module, *arrays)
        if module is lf:
            lf.materialize(*[item for item in _leaves(value) if isinstance(item, oracle.LAZY)])
    return [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if type(value) is tuple else [value]


def check_warnings(program: Program, *arrays: Any, lines: bool = True) -> None:
    """Assert that a program warns of the same things as under NumPy, at once and later.

    Without `lines` where NumPy names a line of its own Python code, lazyfuse the user's.
    """
    for action in ("always", "default"):
        wanted = heard(host, program, *arrays, action=action)
        given = heard(lf, program, *arrays, action=action)
        shown = slice(None) if lines else slice(2)
        assert sorted(str(w[shown]) for w in given) == sorted(str(w[shown]) for w in wanted), (
            action
        )


#: `options(eager_size=...)` that makes the arrays of these tests small.
SMALL = 1000

SPECIALS = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, host.inf, -host.inf, host.nan, 700.0, -700.0],
    "i": [0, 1, -1, 2, -3, 100],
    "u": [0, 1, 2, 100],
    "c": [0.0, 1.0 + 1.0j, -1.0j, host.inf, complex(host.nan, 1.0), 1e200 + 1e200j],
}


def specials(dtype: str) -> host.ndarray:
    """Return special values of a dtype: extremes, zeros, infinities."""
    kind = host.dtype(dtype)
    values = list(SPECIALS[kind.kind])
    if kind.kind == "f":
        limits = host.finfo(kind)
        values += [float(limits.max), -float(limits.max), float(limits.tiny)]
    elif kind.kind in "iu":
        values += [host.iinfo(kind).min, host.iinfo(kind).max]
    return host.array(values, kind)


#: Where NumPy's own loops say more than the result shows, by processor and by number of elements:
#: not a promise of NumPy, so not one of ours.
UNCERTAIN = {
    "power": "overflow for an infinite exponent, in some vector loops",
    "float_power": "as power",
    "logaddexp": "invalid for NaN, in some C libraries",
    "logaddexp2": "as logaddexp",
    "ldexp": "no loop for two operands of one dtype",
}
UNARY = [n for n, op in OPS.items() if op.ufunc and op.arity == 1 and op.ufunc.nout == 1]
BINARY = [
    n
    for n, op in OPS.items()
    if op.ufunc and op.arity == 2 and op.ufunc.nout == 1 and n not in UNCERTAIN
]


def _has_loop(name: str, dtype: str) -> bool:
    ufunc = getattr(host, name, None)
    try:
        return ufunc is not None and bool(
            ufunc.resolve_dtypes((host.dtype(dtype),) * ufunc.nin + (None,) * ufunc.nout)
        )
    except TypeError:
        return False


def _first(name: str, full: bool) -> int:
    """Which special value is the first: the default run takes every other one."""
    return 0 if full else crc32(name.encode()) % 2


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "c16"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary_operations_warn_as_numpy(name: str, dtype: str, full: bool) -> None:
    """One special value at a time: each with its own conditions."""
    if not _has_loop(name, dtype):
        pytest.skip("NumPy has no loop")
    for value in specials(dtype)[_first(name, full) :: 1 if full else 2]:
        check_warnings(lambda np, a: getattr(np, name)(a), host.full(11, value))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "i1", "u1", "u8", "c16"])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_operations_warn_as_numpy(name: str, dtype: str, full: bool) -> None:
    """Pairs of special values."""
    if not _has_loop(name, dtype):
        pytest.skip("NumPy has no loop")
    pairs = list(itertools.product(specials(dtype)[::2], specials(dtype)[:9]))
    for x, y in pairs[_first(name, full) :: 1 if full else 2]:
        check_warnings(
            lambda np, a, b: getattr(np, name)(a, b), host.full(11, x), host.full(11, y)
        )


@pytest.mark.parametrize("name", sorted(MULTIPLE))
def test_operations_of_several_results_warn_once(name: str) -> None:
    """Both results are computed, one warning is given."""
    arrays = [host.array([0.0, 1.0, host.inf, host.nan, -5.0])] * getattr(host, name).nin
    check_warnings(lambda np, *a: getattr(np, name)(*a), *arrays)
    if name == "divmod":
        check_warnings(lambda np, a: np.divmod(a, 0), host.arange(5))


@pytest.mark.parametrize("source", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("target", ["f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "b1"])
def test_casts_warn_as_numpy(source: str, target: str) -> None:
    """Out of range, infinite, NaN."""
    if source == "c16" and target not in ("f4", "b1"):
        pytest.skip("NumPy warns of the lost imaginary part too")
    values = specials(source)
    if target in ("u8", "u4", "u1"):
        values = values[values >= 0]  # negative to unsigned is not defined in C
    for value in values:
        if host.iscomplexobj(values) and target != "b1":
            continue
        check_warnings(lambda np, a: a.astype(target), host.full(11, value))


def test_integer_division() -> None:
    """x // 0 is 0 with a warning; the smallest // -1 overflows."""
    numbers = host.arange(-20, 20)
    check_warnings(lambda np, a: a // 0, numbers)
    check_warnings(lambda np, a: a % (a - 3), numbers)
    check_warnings(lambda np, a: np.fmod(a, 0), numbers)
    for dtype in ("i1", "i2", "i4", "i8"):
        check_warnings(lambda np, a: a // -1, host.array([host.iinfo(dtype).min, 5], dtype))


def test_reductions_and_scans() -> None:
    """Overflow and invalid in folds."""
    huge = host.full(1000, 1e308)
    mixed = host.array([host.inf, -host.inf, 1.0])
    for program in (
        lambda np, a: a.sum(),
        lambda np, a: a.prod(),
        lambda np, a: np.add.reduce(a),
        lambda np, a: np.cumsum(a),
        lambda np, a: (a * 2).sum(),
        lambda np, a: a.max(),
    ):
        check_warnings(program, huge, lines=False)
        check_warnings(program, mixed, lines=False)
    check_warnings(lambda np, a: np.add.reduce(a), huge)
    check_warnings(lambda np, a: np.add.accumulate(a), huge)
    check_warnings(lambda np, a: a.sum(axis=0), host.full((50, 30), 1e307), lines=False)
    check_warnings(lambda np, a: a.sum(axis=1), host.full((50, 30), 1e307), lines=False)


def test_operators_of_scalars() -> None:
    """Elements and full reductions are scalars in NumPy: its operators on them say so."""
    values = host.array([0.0, 1.0, 1e300])
    for program in (
        lambda np, a: a[1] / a[0],
        lambda np, a: a.sum() * 1e300,
        lambda np, a: 1 / a.min(),
        lambda np, a: a[0] % 0.0,
        lambda np, a: np.divide(a[1], a[0]),
        lambda np, a: np.log(a[0]),
    ):
        check_warnings(program, values)


def test_scalars_of_small_dtypes_overflow_in_the_cast() -> None:
    """A Python float that float32 cannot hold."""
    check_warnings(lambda np, a: a * 1e300, host.ones(5, "f4"))


@pytest.mark.parametrize("length", [*range(1, 40), 127, 129, 1000])
def test_lanes_past_the_end_are_silent(length: int) -> None:
    """Only elements that exist are divided by, whatever is computed beside them."""
    program = lambda np, a, b: (  # noqa: E731
        1 / np.log(a + 1),
        1 / (a - length),
        a[::2] / (b[::2] + 1),
        1 / (np.arange(length) - length),
        np.sqrt(length - 0.5 - a).sum(),
    )
    arrays = host.arange(1.0, length), host.arange(float(length))
    if length > 1:
        given = heard(lf, lambda np, a, b: program(np, a, b[:-1]), *arrays)
        assert given == heard(host, lambda np, a, b: program(np, a, b[:-1]), *arrays)


def several(np: Any, a: Any) -> Any:
    """Divide, subtract, multiply, add: on lines of their own."""
    b = a / 0
    c = b - b
    d = a * 1e300
    e = d * d
    return c + e, np.log(a - 1).sum()


def test_each_line_of_a_fused_program_warns_for_itself() -> None:
    """One kernel, five warnings, each at its line; unfused the same, and cut by a budget."""
    values = host.arange(1.0, 50.0)
    for mode in ({}, {"fusion": False}, {"threads": 2}, {"max_pending_nodes": 3}):
        with oracle.options(**mode):
            check_warnings(several, values)
    assert len(heard(lf, several, values)) == 4


def test_many_threads_in_one_kernel() -> None:
    """The flags of helpers count as well."""
    values = host.ones(1_000_000)
    values[-1] = 0.0
    check_warnings(lambda np, a: 1 / a, values)
    check_warnings(lambda np, a: (a * 1e308).sum(), values, lines=False)


def test_line_of_the_default_filter_warns_once() -> None:
    """A loop over one line: the second time is silent, as in NumPy, and another line is not."""

    def program(np: Any, a: Any) -> Any:
        for _ in range(3):
            b = a / 0
            if np is lf:
                lf.materialize(b)
        return b, a / 0

    check_warnings(program, host.ones(30))


def test_what_no_line_wants_to_hear_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that has warned does not pay for the search again; neither does an ignored one."""
    asked = []
    replay = conditions._replay
    monkeypatch.setattr(conditions, "_replay", lambda *given: asked.append(1) or replay(*given))
    x = lf.ones(100)

    def divide() -> None:
        lf.materialize(x / 0)

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for _ in range(5):
            divide()
        assert len(asked) == 1
        with host.errstate(divide="ignore"):
            lf.materialize(1 / (x - 1))
        warnings.simplefilter("ignore")
        lf.materialize(x / 0)
        assert len(asked) == 1


def test_fruitless_searches_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides of a select are computed; a flag that nobody raised is asked for ever less."""
    asked = []
    replay = conditions._replay
    monkeypatch.setattr(conditions, "_replay", lambda *given: asked.append(1) or replay(*given))
    x = lf.full(100, lf.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(100):
            lf.materialize(lf.floor_divide(lf.full(100, -0.0) + 1, x * 0 + lf.inf) + x)
    assert not caught
    assert len(asked) < 20


def test_inputs_that_are_overwritten_still_tell_the_line() -> None:
    """Dead inputs give their memory to results, small and large, in several operations or one."""

    def chain(np: Any, a: Any) -> Any:
        a = a * 1e300
        a = a * a
        return a + 1

    def one(np: Any, a: Any) -> Any:
        a /= 0
        return a

    for size in (100, 200_000):
        check_warnings(one, host.ones(size))
    check_warnings(chain, host.ones(100))
    texts = [text for _, text, _, _ in heard(lf, chain, host.ones(200_000))]
    assert texts == ["overflow encountered in multiply"]


@pytest.mark.parametrize("size", [30, 100_000])
def test_nobody_is_blamed_for_what_is_ignored(size: int) -> None:
    """A flag that was raised where nobody wants to hear of it is put down to no other operation
    when a run has overwritten the operands that would tell."""

    def ignored(np: Any, a: Any) -> Any:
        x = np.array(a)
        with np.errstate(divide="ignore"):
            x = x / (x - 1)
        return np.where(x > 5, 5.0, x) / 3

    def told(np: Any, a: Any) -> Any:
        x = np.array(a)
        y = x / (x - 1)
        if np is lf:
            lf.materialize(y.max())
        del x
        return np.where(y > 5, 5.0, y) / 3

    check_warnings(lambda np, _: ignored(np, host.ones(size)), host.ones(1))
    check_warnings(lambda np, _: told(np, host.ones(size)), host.ones(1))


@pytest.mark.parametrize("size", [30, 100_000])
def test_results_are_read_where_operands_are_lost(size: int) -> None:
    """Behind a pending write in place, lines are told by what it has written."""

    def program(np: Any, a: Any) -> Any:
        x = np.array(a)
        x[host.arange(5)] = np.arange(5.0) - 2
        with np.errstate(all="ignore"):
            y = np.log(x)
        return x, np.where(y > 0, y, 1.0).sum(), (1 / x).max()

    check_warnings(lambda np, _: program(np, host.ones(size)), host.ones(1), lines=False)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16"])
def test_both_sides_of_where_speak(dtype: str) -> None:
    """`np.where(a > 0, 1 / a, 0)` divides by zero in NumPy; a processor with masks would not."""
    for program in (
        lambda np, a: np.where(a > 0, 1 / a, 0),
        lambda np, a: np.where(a > 0, a / a, 0),
        lambda np, a: np.where(a > 0, np.sqrt(a.real - 1), 0),
        lambda np, a: np.where(a < 5, a * 60000 * 1e34 * 1e290, 0),
        lambda np, a: np.where(a > 1, a, np.where(a > 0, a, 1 / a)),
        lambda np, a: np.where(a > 0, np.where(a > 0, a, 1 / a), a),
        lambda np, a: np.where(~(a > 0), a, np.where(a > 0, 1 / a - 1 / a, a)),
        lambda np, a: np.where(a > 0, np.where(~(a > 0), 1 / a, 2.0), a),
    ):
        for count in (3, 50):
            check_warnings(program, host.arange(count).astype(dtype))


def masked(np: Any, a: Any, out: Any) -> Any:
    """Compute where a mask is true, in all the ways to write it."""
    np.divide(1, a, out=out, where=a != 0)
    np.log(a, out=out, where=a > 1)
    np.divide(a, a, out=out[:3], where=np.array([False, True, True])[:, None])
    np.multiply(a, 1e300, out=out, where=a < 2)
    return out, np.divmod(1, a, out=(out.copy(), out.copy()), where=a > 0)


def test_operations_with_a_mask_speak_of_what_it_leaves() -> None:
    """`where=` keeps NumPy from the elements that it leaves out; kernels compute them."""
    rows = host.array([[0.0, 1.0, 2.0], [1.0, -1.0, 3.0], [5.0, 1e10, 0.5]])
    check_warnings(masked, rows, host.zeros((3, 3)))
    for cell in (host.inf, 1e200, 0.0, host.nan):
        check_warnings(masked, host.full((3, 3), cell), host.zeros((3, 3)))
    narrow = lambda np, a, out: np.add(a, 1, out=out, where=a < 5, casting="same_kind")  # noqa: E731
    check_warnings(narrow, host.array([1e300, 1.0]), host.zeros(2, "f4"))
    check_warnings(narrow, host.array([-1e300, 1.0]), host.zeros(2, "f4"))


def test_words_of_arrays_without_axes_and_of_outputs() -> None:
    """Arrays without axes are no scalars; a ufunc casts to its output under its own name."""
    zero, big = host.zeros(()), host.array([1e300, 0.0, 1.0])
    for program, array in (
        (lambda np, a: a.__imod__(a), host.zeros((), "i8")),
        (lambda np, a: a.reshape(()) / a.reshape(()), zero),
        (lambda np, a: a[()] / a[()], zero),
        (lambda np, a: a.sum() / np.float32(0), host.zeros(3, "f4")),
        (lambda np, a: a.any() / a.all(), host.zeros(3, "?")),
        (lambda np, a: np.add(a, a, out=np.zeros(3, "f4"), casting="same_kind"), big),
        (lambda np, a: np.divide(a, 0, out=np.zeros(3, "i8"), casting="unsafe"), big),
        (lambda np, a: np.add.reduce(a, out=np.zeros((), "f4")), big),
        (lambda np, a: np.arange(3, dtype="f2").__iadd__(a), big),
    ):
        check_warnings(program, array)


@pytest.mark.parametrize("eager_size", [0, SMALL])
def test_conversions_in_writes_warn_at_the_users_line(eager_size: int) -> None:
    """Of numbers too large for the memory, and of complex ones in real memory."""
    complex_ones = host.arange(3) * 1j
    with oracle.options(eager_size=eager_size):
        for put in (
            lambda np, a, x: x.__setitem__(slice(None), a),
            lambda np, a, x: x.__setitem__(slice(None), a + 1),
            lambda np, a, x: x.__setitem__(0, a[1]),
            lambda np, a, x: x.__setitem__([0, 1, 2], a + 1),
            lambda np, a, x: x.__setitem__(x < 5, a),
            lambda np, a, x: x.flat.__setitem__(slice(None), a),
            lambda np, a, x: x.fill(a[0]),
            lambda np, a, x: np.copyto(x, a, casting="unsafe"),
            lambda np, a, x: x.put([1], a),
            lambda np, a, x: np.add(a, 1, out=x, casting="unsafe"),
            lambda np, a, x: (x.__setitem__(1, 1e300), x.__setitem__(slice(2), 1e300)),
            lambda np, a, x: x.__setitem__(1, host.complex64(1)),
        ):
            for dtype in ("f8", "f4", "i8", "?"):
                try:
                    put(host, complex_ones, host.zeros(3, dtype))
                except OverflowError:
                    continue
                check_warnings(put, complex_ones, host.zeros(3, dtype))
        check_warnings(  # of NumPy's own line there
            lambda np, a, x: np.put(x, [1], a), complex_ones, host.zeros(3), lines=False
        )


# ---- small arrays

OPERATORS = ("__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__",
             "__iadd__", "__imul__", "__itruediv__", "__rtruediv__", "__lt__", "__neg__",
             "__abs__")  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i1", "u1"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_small_arrays(name: str, dtype: str) -> None:
    """They run at once, and warn as NumPy at the user's line."""
    is_unary = name in ("__neg__", "__abs__")
    with oracle.options(eager_size=SMALL):
        for x, y in itertools.product(
            specials(dtype)[::2], specials(dtype)[: 1 if is_unary else 9]
        ):
            arrays = [host.full(3, x), host.full(3, y)]
            if name == "__itruediv__" and dtype[0] in "iu" or name == "__pow__" and y < 0:
                continue
            check_warnings(lambda np, a, *b: getattr(a, name)(*b), *arrays[: 1 if is_unary else 2])


def test_programs_of_small_arrays() -> None:
    """Functions, methods, reductions, nested states and writes; a small array beside a large."""

    def functions(np: Any, a: Any) -> Any:
        np.divide(a, 0)
        np.sqrt(-a)
        (a * 1e308).sum()
        a.astype("f2") * 1e300
        np.add.reduce(a * 1e308)
        return np.interp(a, a, a) / 0, a**-1, np.cumsum(a * 1e308)

    def nested(np: Any, a: Any) -> Any:
        with np.errstate(divide="ignore"):
            silent = a / 0
            with np.errstate(divide="warn", invalid="ignore"):
                return silent, a / 0, (a - a) / 0

    def beside(np: Any, a: Any) -> Any:
        return a / 0, np.ones(SMALL + 1) / a.min()

    values = host.arange(0.0, 9.0)
    with oracle.options(eager_size=SMALL):
        for program in (several, nested, beside):
            check_warnings(program, values + 1)
            check_warnings(program, values)
        check_warnings(functions, values, lines=False)


def test_filters_see_the_module_of_the_user() -> None:
    """Small arrays as well: filters by module, and errors."""
    with lf.options(eager_size=SMALL), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", category=RuntimeWarning, module=__name__)
        x = lf.ones(5)
        x / 0, lf.divide(x, 0)
        assert [w.filename for w in caught] == [__file__] * 1
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            x / 0
        with host.errstate(all="raise"), pytest.raises(FloatingPointError):
            x /= 0
        assert host.isinf(host.asarray(x)).all()


# ---- errstate


def test_raise_comes_at_the_call() -> None:
    """And an operation in place has written by then, as in NumPy."""
    for np in (host, lf):
        a = np.array([1.0, 2.0, 3.0])
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as error:
            a / 0
        assert str(error.value) == "divide by zero encountered in divide"
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            a /= 0
        assert host.isinf(host.asarray(a)).all()
        with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="in reduce"):
            np.full(5, 1e308).sum()
        with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
            np.full(5, 1e-300) * 1e-300


@pytest.mark.parametrize("eager_size", [0, SMALL])
@pytest.mark.parametrize("category", ["divide", "over", "under", "invalid"])
@pytest.mark.parametrize("mode", ["ignore", "warn", "raise", "call", "print", "log"])
def test_every_mode(
    category: str, mode: str, eager_size: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """All modes of all categories do the same in both modules."""
    outcomes = []
    for np in (host, lf):
        handler = _Handler()
        with oracle.options(eager_size=eager_size):
            warned = heard(np, _everything, host.arange(1.0, 9.0), category, mode, handler)
        outcomes.append((sorted(map(str, warned)), handler.told, capfd.readouterr().err))
    assert outcomes[0] == outcomes[1]


class _Handler:
    """What `call` and `log` are given."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def __call__(self, *given: object) -> None:
        self.told.append(given)

    def write(self, text: str) -> None:
        self.told.append(text)


def _everything(np: Any, a: Any, category: str, mode: str, handler: _Handler) -> Any:
    """All four conditions, under one mode of one category."""
    with np.errstate(**{"all": "ignore", category: mode}, call=handler):
        try:
            return a / (a - 2), a * 1e308, a * 1e-308 * 1e-10, np.sqrt(-a)
        except FloatingPointError as error:
            return handler.write(str(error))


def test_state_of_the_recording_counts() -> None:
    """Not the one at materialization; nested states, seterr and decorators as NumPy."""

    def nested(np: Any, a: Any) -> Any:
        with np.errstate(divide="ignore"):
            silent = a / 0
            with np.errstate(divide="warn", invalid="ignore"):
                loud = a / 0 + np.log(-a)
        return silent, loud

    def old(np: Any, a: Any) -> Any:
        before = np.seterr(all="ignore")
        silent = a / 0
        np.seterr(**before)
        return silent, np.log(a - 1)

    @host.errstate(divide="ignore")
    def decorated(np: Any, a: Any) -> Any:
        return a / 0

    for program in (nested, old, decorated):
        check_warnings(program, host.arange(1.0, 20.0))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        x = lf.ones(5) / 0
    with warnings.catch_warnings(record=True) as caught, host.errstate(all="ignore"):
        warnings.simplefilter("default")
        lf.materialize(x)
    assert len(caught) == 1


def test_errors_of_the_filter_come_at_the_call() -> None:
    """`-W error` and `catch_warnings(action="error")`: the line that divides raises."""
    x = lf.ones(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            x / 0
        with pytest.raises(RuntimeWarning, match="invalid value"):
            lf.log(-x)
        lf.materialize(x + 1)


def test_threads_have_states_of_their_own() -> None:
    """Recording in many threads under different states."""
    failures = []

    def work(number: int) -> None:
        for _ in range(20):
            with host.errstate(divide="raise" if number % 2 else "ignore"):
                try:
                    lf.materialize(lf.ones(50 + number) / 0)
                    raised = False
                except FloatingPointError:
                    raised = True
                if raised != bool(number % 2):
                    failures.append(number)

    concurrently(work, [(number,) for number in range(8)])
    assert not failures


def test_the_module_of_the_line_is_the_warnings_module() -> None:
    """Filters by module see the user's module."""
    x = lf.ones(5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", category=RuntimeWarning, module=__name__)
        lf.materialize(x / 0)
    assert [w.filename for w in caught] == [sys.modules[__name__].__file__]


def test_calls_of_numpy_warn_at_the_users_line() -> None:
    """What the engine leaves to NumPy."""
    check_warnings(lambda np, a: np.interp(a, a, a) / 0, host.arange(5.0))
    check_warnings(lambda np, a: np.nanmean(a), host.full(5, host.nan))
    check_warnings(lambda np, a: np.sqrt(a), host.array([-1.0, 1.0]).astype("g"))
    check_warnings(lambda np, a: np.lcm.reduce(a) // np.zeros(3, int), host.arange(1, 5))
    check_warnings(lambda np, a: np.tan(a), host.array([host.inf + 1j]))
    check_warnings(lambda np, a: np.exp(a), host.array([1000.0 + 1j]))


def test_empty_slices() -> None:
    """mean, var and std of nothing; the division that follows is NumPy's own line."""
    for name, shape in itertools.product(("mean", "var", "std"), ((0,), (3, 0))):
        texts = [
            sorted(str(w[1]) for w in heard(np, lambda np, a, n: getattr(np, n)(a), empty, name))
            for np in (host, lf)
            for empty in [host.empty(shape)]
        ]
        assert texts[0] and texts[0] == texts[1], name


# ---- the checking mode


def test_checking_needs_no_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """options(float_errors="check") finds the same on a backend that reports nothing."""
    from lazyfuse.backends.cpu import launch

    run = launch.Launch.__call__
    monkeypatch.setattr(launch.Launch, "__call__", lambda *a, **k: run(*a, **k) and 0)
    values = host.arange(1.0, 50.0)
    with lf.options(native=False):  # machine code calls kernels itself
        assert not heard(lf, several, values)
    with lf.options(float_errors="check"):
        check_warnings(several, values)


def test_switched_off() -> None:
    """options(float_errors="off") never warns."""
    with lf.options(float_errors="off"):
        assert not heard(lf, several, host.arange(1.0, 50.0))


def test_lines_of_long_scripts_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flush walked the lines of a script for all its operations: a third of its time."""
    code = compile("x = 1\n" * 500 + "y = 2\n", "script", "exec")
    last = max(start for start, _, number in code.co_lines() if number == 501)
    place = (code, last, current_modes())
    assert line_of(place) == ("script", 501)
    monkeypatch.delattr("lazyfuse.ir.origin._line")
    assert line_of(place) == ("script", 501)
    with pytest.raises(NameError):
        line_of((code, 0, current_modes()))
