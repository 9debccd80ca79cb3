"""Elements along one axis that lie apart, changed in place, written and copied by machine code:
the bits, dtypes, layouts, warnings and errors of NumPy."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_quick import same, small, values  # noqa: E402 - with an engine

pytestmark = [
    pytest.mark.engine,
    pytest.mark.usefixtures(small.__name__),
    pytest.mark.cpu("machine code for small arrays"),
]
DTYPES = ("f8", "f4", "i8", "i4", "u1", "i2", "?", "c16", "c8", "f2")
#: Of a small table, and of a large one, which is the engine's.
TABLES = ((60, 50), (300, 200))
#: Lines of a table.
LINES: dict[str, Callable[[Any], Any]] = {
    "a column": lambda a: a[:, 3],
    "a column backwards": lambda a: a[::-1, -1],
    "a part of a column": lambda a: a[5:-7:3, 0],
    "a diagonal": lambda a: a.reshape(-1)[:: len(a[0]) + 1],
    "a row backwards": lambda a: a[2, ::-1],
    "every second of a row": lambda a: a[-1, 1::2],
    "a row": lambda a: a[4],
    "one element": lambda a: a[4:5, 2],
    "none": lambda a: a[4:4, 2],
    "a broadcast element": lambda a: a[1:2, 1],
}
CHANGES = ("__iadd__", "__isub__", "__imul__", "__itruediv__")


def table(np: Any, dtype: str, shape: tuple[int, int]) -> Any:
    return np.array(values(dtype, shape[0] * shape[1]).reshape(shape))


@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("line", LINES)
def test_in_place(line: str, dtype: str, shape: tuple[int, int]) -> None:
    """By a number, a row, another line and themselves: nothing beside the line is written."""
    others: tuple[Callable[[Any, Any, Any], Any], ...] = (
        lambda np, a, part: 2,
        lambda np, a, part: 1.5,
        lambda np, a, part: np.array(values(dtype, max(len(part), 1), 5))[: len(part)],
        lambda np, a, part: np.array(values("f8", max(len(part), 1), 5))[: len(part)],
        lambda np, a, part: part[::-1],
        lambda np, a, part: part,
        lambda np, a, part: np.array(values(dtype, 1)),
        lambda np, a, part: np.array(values(dtype, 5)),
    )

    def program(np: Any, change: str, number: int) -> Any:
        a = table(np, dtype, shape)
        part = LINES[line](a)
        getattr(part, change)(others[number](np, a, part))
        return a, part

    for change in CHANGES:
        for number in range(len(others)):
            same(lambda np, c=change, n=number: program(np, c, n))


@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("line", LINES)
def test_written(line: str, dtype: str, shape: tuple[int, int]) -> None:
    """A number, a row, a line of another table and one of the same."""

    def program(np: Any) -> Any:
        a, b = table(np, dtype, shape), table(np, dtype, shape) * 1
        before = a.copy()
        LINES[line](a)[:] = 1
        count = len(LINES[line](a))
        row = np.array(values(dtype, max(count, 1), 3))[:count]
        LINES[line](b)[:] = row
        third, fourth = b.copy(), b.copy()
        LINES[line](third)[:] = LINES[line](a)
        LINES[line](fourth)[...] = LINES[line](fourth)
        return before, a, b, third, fourth

    same(program)


@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("line", LINES)
def test_copied(line: str, dtype: str, shape: tuple[int, int]) -> None:
    """A copy shares nothing and lies in C order."""

    def program(np: Any) -> Any:
        a = table(np, dtype, shape)
        parts = [LINES[line](a), a.T, a[::2, 3:9], a, (a + a)[0], a[3:4, None, 5:6]]
        copies = [part.copy() for part in parts]
        strides = [copy.strides for copy in copies]
        a[...] = 0
        for copy in copies:
            copy += copy
        return a, copies, strides, [copy.base is None for copy in copies], a.copy("F").strides

    same(program)


@pytest.mark.parametrize("size", (511, 512, 513, 1023, 1024, 1025, 3000))
def test_long_columns(size: int) -> None:
    """On both sides of what is packed at most."""

    def program(np: Any) -> Any:
        a = table(np, "f8", (size, 31))
        a[:, 3] += a[:, 4]
        a[:, 5] *= 2.0
        a[:, 6] = a[:, 7].copy()
        return a

    same(program)


@pytest.mark.parametrize("kind", ("warn", "raise", "ignore"))
@pytest.mark.parametrize("shape", TABLES)
def test_conditions(kind: str, shape: tuple[int, int]) -> None:
    """Of one element; where they raise, NumPy has written what came before."""

    def program(np: Any) -> Any:
        a = np.ones(shape)
        a[7, 3] = 0.0
        with np.errstate(all=kind):
            try:
                a[:, 2] /= a[:, 3]
            except FloatingPointError as error:
                return str(error)
        return a

    same(program)


@pytest.mark.parametrize("shape", TABLES)
def test_what_may_not_be_written(shape: tuple[int, int]) -> None:
    def program(np: Any) -> Any:
        a = table(np, "f8", shape)
        a.flags.writeable = False
        column = a[:, 3]
        column += 1.0
        return a

    same(program)


def test_elements_that_are_in_two_places() -> None:
    """Lines whose elements overlap are NumPy's."""

    def program(np: Any) -> Any:
        a = np.array(values("f8", 100))
        for step in (0, 8, 16):
            part = np.lib.stride_tricks.as_strided(a, (20,), (step,))
            part += 1.0
        return a

    same(program)


@pytest.mark.parametrize("shape", TABLES)
def test_other_sizes_of_small_arrays(shape: tuple[int, int]) -> None:
    """A copy is small where arrays of its size are."""
    for size in (0, 10, 100, 70_000):
        with lf.options(eager_size=size):
            a = lf.array(values("f8", shape[0] * shape[1]).reshape(shape))
            for part in (a, a[:, 2], a[0, :9]):
                copy = part.copy()
                assert copy.base is None
                host.testing.assert_array_equal(host.asarray(copy), host.asarray(part))
                assert (copy._host is not None) == (copy.size <= size)


def test_rows_and_columns_in_turns() -> None:
    """What is cut of one array's shape and strides is not taken for another's."""

    def program(np: Any) -> Any:
        a = np.arange(80_000.0).reshape(400, 200) * 1
        b = np.arange(90_000.0).reshape(300, 300) * 1
        boxes = np.arange(120_000.0).reshape(40, 50, 60) * 1
        arrays = [a, b, a.T, a[5:, 3:], b[::-1, ::2], boxes, boxes.transpose(2, 0, 1), a[None], b]
        found, shapes = [], []
        for turn in range(4):
            for array in arrays:
                for part in (array[turn], array[:, turn], array[-1 - turn], array[:, -1]):
                    shapes.append((part.shape, part.strides, part.base is not None))
                    found.append(part.sum())
        return host.array([float(number) for number in found]), shapes

    def refused(np: Any) -> Any:
        a, told = np.arange(80_000.0).reshape(400, 200) * 1, []
        for key in (400, -401, (slice(None), 200), (slice(None), -201)):
            try:
                told.append(a[key].shape)
            except IndexError as error:
                told.append(str(error))
        return told, a[:, True].shape, a[::, 3].shape, a[:, host.int64(3)].shape

    with lf.options(eager_size=100):
        same(program)
        same(refused)


def test_what_is_cut_of_layouts_does_not_pile_up() -> None:
    """One shape and one tuple of strides of rows, and of columns, stay."""
    a = lf.arange(80_000.0).reshape(400, 200) * 1
    host.asarray(a)
    layout = a._layout
    for _ in range(3):
        a[3], a[:, 3]
    before = [sys.getrefcount(part) for part in (layout, *layout[:2])]
    for _ in range(100):
        a[3], a[:, 3]
    assert [sys.getrefcount(part) for part in (layout, *layout[:2])] == before


def drawn_key(draw: random.Random, axes: int) -> Any:
    """Some of what machine code knows of keys."""

    def bound() -> int | None:
        return draw.choice((None, 0, 1, 2, 5, -1, -2, 40, -40, 2**62, -(2**62)))

    items = [
        slice(bound(), bound(), draw.choice((None, None, 1, 2, -1, -3)))
        if draw.random() < 0.7
        else draw.choice((0, 1, -1, 7))
        for _ in range(draw.randrange(1, axes + 1))
    ]
    for other in (None, ...):
        if draw.random() < 0.2:
            items.insert(draw.randrange(len(items) + 1), other)
    return tuple(items) if len(items) > 1 or draw.random() < 0.5 else items[0]


def test_parts_that_come_again() -> None:
    """Layouts of parts are known from the third time on, each by a layout and a key."""
    draw = random.Random(5)
    shapes = ((70_000,), (300, 300), (30, 50, 60), (300, 300), (20, 10, 30, 20))
    ours = [lf.arange(float(host.prod(shape))).reshape(shape) * 1 for shape in shapes]
    theirs = [host.arange(float(host.prod(shape))).reshape(shape) for shape in shapes]
    ours += [ours[1].T, ours[2][1:, ::2], ours[2].transpose(2, 0, 1)]
    theirs += [theirs[1].T, theirs[2][1:, ::2], theirs[2].transpose(2, 0, 1)]
    keys = [[drawn_key(draw, array.ndim) for _ in range(150)] for array in theirs]
    with lf.options(eager_size=100):
        for turn in range(4):
            for mine, other, some in zip(ours, theirs, keys, strict=True):
                for key in some:
                    wanted = other[key]
                    for found in (mine[key], mine[key]) if turn else (mine[key],):
                        assert found.shape == wanted.shape, (turn, key)
                        if wanted.size:
                            assert found.strides == wanted.strides, (turn, key)
                            place = (0,) * wanted.ndim, (-1,) * wanted.ndim
                            assert all(found[at] == wanted[at] for at in place), (turn, key)


def test_parts_that_are_written_to_themselves() -> None:
    """What comes after `u[key] += x` is nothing, also of pending arrays; all else is written."""

    def program(np: Any) -> Any:
        found = []
        for _ in range(4):
            u, other = np.arange(90_000.0).reshape(300, 300) * 1, np.ones((300, 300)) * 2
            for _ in range(3):
                u[1:-1, 1:-1] += 0.5 * (u[:-2, 1:-1] - u[2:, 1:-1])
                u[1:-1, 1:-1] = u[1:-1, 1:-1]
                u[1:-1, 1:-1] = u[:-2, 1:-1]
                u[1:-1, 1:-1] = other[1:-1, 1:-1] + u[1:-1, 1:-1]
                other[1:-1, 1:-1] = u[1:-1, 1:-1]
                u[2:, ...] *= 0.5
                u[None, 3:9] -= 1.0
            z = np.ones((300, 300)) * (2 - 1j)
            z.real[1:-1, 2:] += 1.0
            z.imag[1:-1, 2:] = z.real[1:-1, 2:]
            z[1:-1, 2:] = z[1:-1, 2:]
            found += [u, other, z]
        return found

    def refused(np: Any) -> Any:
        u = np.arange(90_000.0).reshape(300, 300) * 1
        part = u[1:-1, 1:-1]
        for _ in range(3):
            u[1:-1, 1:-1] = part
        u.flags.writeable = False
        u[1:-1, 1:-1] = part

    with lf.options(eager_size=100):
        same(program)
        same(refused)


def test_a_part_that_is_written_to_itself_is_not_recorded() -> None:
    u = lf.array(host.arange(90_000.0).reshape(300, 300)) * 2.0
    for _ in range(3):
        part = u[1:-1, 1:-1]
        part += 1.0
        before = u._storage.node
        u[1:-1, 1:-1] = part
        assert u._storage.node is before


COLLECTING = """
import gc, numpy, lazyfuse as lf
from lazyfuse.frontend import native_methods
assert native_methods.make_native(lf.LazyArray)
sizes = (400, 200), (300, 300), (200, 500)
a, b, c = (lf.arange(1.0 * m * n).reshape(m, n) * 1 for m, n in sizes)
used_up = [(i,) for i in range(5000)]  # a tuple of one element is new memory from here on

class Viewing:
    def __init__(self):
        self.itself = self
    def __del__(self):
        used_up.append(c[1])

gc.collect()
gc.disable()
gc.set_threshold(1)
for turn in range(40):
    b[3]
    Viewing()
    gc.enable()
    a[3]
    gc.disable()
assert (a[3].shape, b[3].shape, c[3].shape) == ((200,), (300,), (500,))
assert float(b[3][1]) == 901.0
"""


def test_views_in_the_middle_of_a_view() -> None:
    """A collection began while a row was made, and a finalizer made one of another array."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", COLLECTING], capture_output=True, text=True,
        cwd=Path(__file__).resolve().parents[1], check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


class Alternating:
    """An index that is another one each time."""

    def __init__(self, *numbers: int) -> None:
        self.numbers, self.asked = numbers, 0

    def __index__(self) -> int:
        self.asked += 1
        return self.numbers[(self.asked - 1) % len(self.numbers)]


def test_slices_up_to_what_changes() -> None:
    """The layout of the second answer was kept for the first."""

    def program(np: Any) -> Any:
        u, begin = np.arange(90_000.0) * 1, Alternating(2, 5)
        found = [u[begin:].shape for _ in range(7)]
        found += [u[2:].shape, u[5:].shape, (np.arange(90_000.0) * 1)[2:].shape, (begin.asked,)]
        part = slice(Alternating(2, 5), Alternating(10, 13))
        found += [u[part].shape for _ in range(4)]
        u[2:10] = u[5:13]
        return found, u

    with lf.options(eager_size=100):
        same(program)
