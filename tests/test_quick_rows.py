"""Operators on small arrays whose rows do not follow each other, or are broadcast, by loops of
machine code: the bits, dtypes, layouts, warnings and errors of NumPy."""

from __future__ import annotations

import ctypes
import platform
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu.rows_text import WORDS  # noqa: E402 - with an engine
from lazyfuse.frontend import deferred  # noqa: E402 - likewise
from tests.deferring import deferring, is_deferred  # noqa: E402 - likewise
from tests.test_quick import _DIVIDED, BINARY, UNARY, same, small, values  # noqa: E402 - likewise

pytestmark = [
    pytest.mark.engine,
    pytest.mark.usefixtures(small.__name__),
    pytest.mark.cpu("machine code for small arrays"),
]
DTYPES = ("f8", "f4", "i8")
Pair = Callable[[Any, Any, Any], tuple[Any, Any]]


def matrix(dtype: str, *shape: int, seed: int = 1) -> host.ndarray:
    return values(dtype, int(host.prod(shape)), seed).reshape(shape)


def of(np: Any, dtype: str, *shape: int, seed: int = 1) -> Any:
    return np.array(matrix(dtype, *shape, seed=seed))


#: What a dtype and two libraries' arrays give; those that NumPy is not asked about come first.
PAIRS: dict[str, Callable[[Any, str], tuple[Any, Any]]] = {
    "two windows": lambda np, t: (
        of(np, t, 60, 60)[:-2, 1:-1], of(np, t, 60, 60, seed=2)[2:, :-2]
    ),
    "windows of one array": lambda np, t: (lambda a: (a[1:], a[:-1]))(of(np, t, 40, 50)[:, 1:-1]),
    "a window and an array": lambda np, t: (of(np, t, 50, 41)[:, :40], of(np, t, 50, 40)),
    "an array and a window": lambda np, t: (of(np, t, 50, 40), of(np, t, 50, 41)[:, 1:]),
    "a window and a row": lambda np, t: (of(np, t, 30, 60)[:, 2:], of(np, t, 58)),
    "a window and a column": lambda np, t: (of(np, t, 30, 60)[:, 2:], of(np, t, 30, 1)),
    "a column and a row": lambda np, t: (of(np, t, 60, 1), of(np, t, 50)),
    "a row and a column": lambda np, t: (of(np, t, 50), of(np, t, 60, 1)),
    "a short row": lambda np, t: (of(np, t, 700, 3), of(np, t, 3)),
    "a short row first": lambda np, t: (of(np, t, 3), of(np, t, 700, 3)),
    "a row that fits often": lambda np, t: (of(np, t, 400, 17), of(np, t, 1, 17)),
    "a row that fits once": lambda np, t: (of(np, t, 30, 600), of(np, t, 600)),
    "a row that is as long as there is room": lambda np, t: (of(np, t, 50, 256), of(np, t, 256)),
    "pairs": lambda np, t: (of(np, t, 19, 16)[:, None, :], of(np, t, 32, 16)[None, :, :]),
    "planes": lambda np, t: (of(np, t, 5, 20, 30), of(np, t, 20, 30)),
    "rows of planes": lambda np, t: (of(np, t, 5, 20, 30), of(np, t, 5, 1, 30)),
    "columns of planes": lambda np, t: (of(np, t, 5, 20, 30), of(np, t, 5, 20, 1)),
    "numbers of planes": lambda np, t: (of(np, t, 5, 20, 30), of(np, t, 5, 1, 1)),
    "inside of a box": lambda np, t: (of(np, t, 12, 13, 14)[1:-1, 1:-1, 1:-1], 3),
    "a window and a number": lambda np, t: (of(np, t, 60, 60)[1:-1, 1:-1], 2),
    "a number and a window": lambda np, t: (2, of(np, t, 60, 60)[1:-1, 1:-1]),
    "few elements": lambda np, t: (of(np, t, 4, 5)[1:, 1:], of(np, t, 3, 4)),
    "axes of one element": lambda np, t: (of(np, t, 1, 40, 1, 41)[..., :40], of(np, t, 40, 1, 40)),
    "a strip": lambda np, t: (of(np, t, 900, 9)[:, 4:6], of(np, t, 900, 2)),
    "planes apart": lambda np, t: (of(np, t, 9, 20, 30)[::2], of(np, t, 5, 20, 30)),
    "a row that is repeated": lambda np, t: (
        of(np, t, 40, 50), np.broadcast_to(of(np, t, 50), (40, 50))
    ),
    "eight axes": lambda np, t: (of(np, t, *[2] * 7, 9)[..., 1:], of(np, t, *[2] * 7, 8)),
}  # fmt: skip
#: Those that NumPy does.
OTHERS: dict[str, Callable[[Any, str], tuple[Any, Any]]] = {
    "transposed": lambda np, t: (of(np, t, 40, 50).T, of(np, t, 50, 40)),
    "both transposed": lambda np, t: (of(np, t, 40, 50).T, of(np, t, 40, 50, seed=2).T),
    "every second": lambda np, t: (of(np, t, 40, 50)[:, ::2], of(np, t, 40, 25)),
    "backwards": lambda np, t: (of(np, t, 40, 50)[::-1], of(np, t, 40, 50)),
    "a plane that lies apart": lambda np, t: (of(np, t, 40, 50, 3)[..., 1], of(np, t, 40, 50)),
    "a window of another dtype": lambda np, t: (of(np, t, 40, 50)[:, 1:], of(np, "i4", 40, 49)),
    "a window and a bool": lambda np, t: (of(np, t, 40, 50)[:, 1:], True),
    "a window and a huge int": lambda np, t: (of(np, t, 40, 50)[:, 1:], 2**70),
    "a window and complex": lambda np, t: (of(np, t, 40, 50)[:, 1:], 1j),
    "a window and 0-d": lambda np, t: (of(np, t, 40, 50)[:, 1:], np.array(2.0)),
    "of no rows": lambda np, t: (of(np, t, 40, 50)[:0, 1:], of(np, t, 49)),
    "of other shapes": lambda np, t: (of(np, t, 40, 50)[:, 1:], of(np, t, 48)),
    "nine axes": lambda np, t: (of(np, t, *[2] * 8, 9)[..., 1:], of(np, t, *[2] * 8, 8)),
    "diagonals": lambda np, t: (
        np.lib.stride_tricks.sliding_window_view(of(np, t, 60), 30), of(np, t, 31, 30)
    ),
    "columns that are one": lambda np, t: (
        np.broadcast_to(of(np, t, 40, 1), (40, 50)), of(np, t, 40, 50)
    ),
    "another order of bytes": lambda np, t: (
        np.array(matrix(t, 40, 50).astype(f">{t}"))[:, 1:], of(np, t, 49)
    ),
    "unaligned": lambda np, t: (
        np.frombuffer(b"\0" + matrix("f8", 2000).tobytes(), "f8", offset=1).reshape(40, 50)[:, 1:],
        of(np, t, 49),
    ),
    "too many": lambda np, t: (of(np, t, 200, 202)[:, 1:-1], of(np, t, 200, 200)),
}  # fmt: skip


def laid_out(value: Any, np: Any) -> Any:
    """A result, and how it lies."""
    array = host.asarray(value)
    return value, [*array.strides], array.flags.c_contiguous, value.base is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*PAIRS, *OTHERS))
def test_two_operands(name: str, dtype: str) -> None:
    pair = PAIRS.get(name) or OTHERS[name]
    for operation in BINARY.values():
        same(lambda np, f=operation: laid_out(f(np, *pair(np, dtype)), np))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_operand(dtype: str) -> None:
    for operation in UNARY.values():
        same(lambda np, f=operation: laid_out(f(np, of(np, dtype, 50, 60)[1:-1, 2:]), np))
        same(lambda np, f=operation: laid_out(f(np, of(np, dtype, 7, 8, 60)[1:, ::3, 2:]), np))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*PAIRS, *OTHERS))
def test_in_place(name: str, dtype: str) -> None:
    """All of the array below is looked at: nothing beside the rows is written."""
    pair = PAIRS.get(name) or OTHERS[name]

    def program(np: Any) -> Any:
        a, b = pair(np, dtype)
        if not hasattr(a, "base"):
            return None
        below = a.base
        for operation in ("__iadd__", "__isub__", "__imul__", "__itruediv__"):
            getattr(a, operation)(b)
        return a, below, b

    same(program)


def test_in_place_of_itself() -> None:
    """What is read is what was there before."""

    def program(np: Any) -> Any:
        a = of(np, "f8", 50, 60)
        a[1:, 1:-1] += a[:-1, 2:]
        a[:, 3:] *= a[:, :-3]
        a[2:-2, 2:-2] -= a[2:-2, 2:-2]
        a[:, 1:] += a[3, 1:]
        a[1:, 5:] -= a[1:, 7:8]
        return a

    same(program)


def test_what_may_not_be_written() -> None:
    def program(np: Any) -> Any:
        a = of(np, "f8", 50, 60)
        a.flags.writeable = False
        view = a[:, 1:]
        view += 1.0
        return a

    same(program)


def test_elements_that_are_in_two_places() -> None:
    """Written once for each, in NumPy's order."""

    def program(np: Any) -> Any:
        a = of(np, "f8", 3000)
        rows = np.lib.stride_tricks.as_strided(a, (40, 50), (160, 8))
        rows += of(np, "f8", 40, 50)
        return a

    same(program)


@pytest.mark.parametrize("kind", ("warn", "raise", "ignore"))
def test_conditions(kind: str) -> None:
    """Of one element of the last row; where they raise, nothing has been written."""

    def program(np: Any) -> Any:
        a = np.ones((50, 60))
        view, rows = a[:, 1:], np.ones((50, 1))
        a[49, 59] = rows[49, 0] = 0.0
        found = []
        for operation in (
            lambda: view / rows, lambda: 1.0 / view, lambda: view.__itruediv__(rows),
            lambda: np.sqrt(view - 1.0), lambda: (view * 1e-300) * 1e-300,
        ):  # fmt: skip
            with np.errstate(all=kind):
                try:
                    found.append(operation())
                except FloatingPointError as error:
                    found.append(str(error))
        return found, a

    same(program)


@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_special_values(dtype: str) -> None:
    special = host.array([0.0, -0.0, host.inf, -host.inf, host.nan, 1e30, -1e-40, 3.0], dtype)
    a = host.tile(special, (8, 9))
    b = host.repeat(special, 9)[:, None].reshape(8, 9)
    for operation in BINARY.values():
        same(lambda np, f=operation: f(np, np.array(a)[:, 1:], np.array(b)[:, 1:2]))
        same(lambda np, f=operation: f(np, np.array(a)[1:, :8], np.array(a)[:1, 8:16]))


def test_any_shapes() -> None:
    """Windows and broadcast axes at random, of two and three axes."""
    draw = random.Random(5)
    for _ in range(300):
        shape = [draw.choice((1, 2, 3, 5, 16, 17, 40)) for _ in range(draw.randint(1, 4))]
        operands = []
        for _ in range(2):
            own = [draw.choice((extent, extent, 1)) for extent in shape][draw.choice((0, 0, 1)) :]
            around = [(draw.choice((0, 0, 1, 3)), draw.choice((0, 0, 2))) for _ in own]
            whole = [extent + sum(more) for extent, more in zip(own, around, strict=True)]
            key = tuple(slice(low, low + n) for n, (low, _) in zip(own, around, strict=True))
            operands.append((values("f8", int(host.prod(whole))).reshape(whole), key))
        name = draw.choice([*BINARY])

        def program(np: Any, operands: Any = operands, name: str = name) -> Any:
            a, b = (np.array(array)[key] for array, key in operands)
            return laid_out(BINARY[name](np, a, b), np)

        same(program)


def test_sizes_of_other_options() -> None:
    """What is larger than small arrays are is no small array, whoever computes it."""
    a = lf.array(matrix("f8", 40, 50))
    with lf.options(eager_size=1500):
        found = a[:, :1] + a[0]
        assert found.tolist() == (matrix("f8", 40, 50)[:, :1] + matrix("f8", 40, 50)[0]).tolist()
        assert found._host is None
    assert (a[:, :1] + a[0])._host is not None


@pytest.mark.skipif(platform.platform()[:5] != "Linux", reason="of its libm")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="of SSE's flags")
@pytest.mark.parametrize("name", PAIRS)
def test_numpy_is_not_asked(name: str) -> None:
    """Its loops clear the flags of the processor; these leave them as they were."""
    library = ctypes.CDLL("libm.so.6")
    a, b = PAIRS[name](lf, "f8")
    rows = [each for each in (a, b) if not getattr(host.asarray(each).flags, "c_contiguous", True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a + b
        library.feraiseexcept(_DIVIDED)
        a - b, a <= b, [-each for each in rows if each.strides[-1]]  # noqa: B018
        if rows:  # else the ufunc is asked whether to put it off, then NumPy
            lf.multiply(a, b)
        is_asked = library.fetestexcept(_DIVIDED) != _DIVIDED
        library.feclearexcept(_DIVIDED)
    assert not is_asked


def test_what_is_put_off_is_left_alone() -> None:
    """Rows that are broadcast to dense arrays: several such operations are one kernel."""
    a, row = lf.array(matrix("f8", 40, 50)), lf.array(matrix("f8", 50))
    with deferring(smallest=1000, hot=0):
        deferred.allow()
        deferred.look_around()
        assert is_deferred(a + row)
        assert not is_deferred(a[:, 1:] + row[1:])


def test_there_is_room() -> None:
    """For the largest small arrays that are usual, and for rows that are repeated."""
    assert WORDS["WALK_MOST"] >= 100_000
    assert WORDS["LONG_ROW"] >= 2 * WORDS["SHORT_ROW"]
