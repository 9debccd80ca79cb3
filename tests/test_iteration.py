"""Going through arrays: elements are read when they are reached, rows are views; what is written
meanwhile is seen, however it is written."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

LINE, GRID = host.arange(1.0, 41.0), host.arange(60.0).reshape(12, 5)
SIZES = pytest.mark.parametrize("eager_size", [0, 4096])


def seen(values: Any, write: Callable[[int], Any]) -> list[Any]:
    """The elements of something, each told before `write` is called with its number."""
    found = []
    for number, value in enumerate(values):
        found.append(value)
        write(number)
    return found


def writing(write: Callable[[Any, Any, int], Any], *, part: Any = slice(None)) -> oracle.Program:
    """A loop over a part of an array, which writes into the array."""

    def program(np: Any, x: Any) -> Any:
        found = seen(x[part], lambda number: write(np, x, number))
        return found, [type(value).__name__ for value in found], x

    return program


def add_one(np: Any, x: Any, number: int) -> None:
    x += 1


def now_and_then(write: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any, int], Any]:
    return lambda np, x, number: number % 7 == 3 and write(np, x, number)


def read_then_write(np: Any, x: Any) -> Any:
    """What is recorded on the old elements keeps them."""
    kept = []

    def write(number: int) -> None:
        kept.append(x * 2)
        x[number + 1 :] -= number

    return seen(x, write), kept[::5], x


def write_by_value(np: Any, x: Any) -> Any:
    for value in x:
        x += value
    return x


def nested(np: Any, x: Any) -> Any:
    found = []
    for a in x[:5]:
        for b in x[3:8]:
            found.append(a * b)
            x[2:6] += 1
    return found, x


def side_by_side(np: Any, x: Any) -> Any:
    return seen(zip(x, x[::-1], strict=True), lambda n: add_one(np, x, n)), x


def without_the_array(np: Any, x: Any) -> Any:
    steps = iter(x * 2)
    first, parts = next(steps), iter((x + 1)[3::4])
    gc.collect()
    x += 1
    others = [x * n for n in range(4)]  # might take memory that was let go
    return first, list(parts), list(steps), others


def begun_before(np: Any, x: Any) -> Any:
    """An iterator computes nothing, and reads nothing, before the first step."""
    steps = iter(x)
    x *= 3
    first = next(steps)
    x[:] = 7
    return first, *steps, *steps


def consumers(np: Any, x: Any) -> Any:
    a, b, c, *rest = x
    with pytest.raises(ValueError, match="too many values"):
        a, b = x
    return (
        a, b, c, rest, sum(x), max(x), min(x), sorted(x[::-1]), tuple(x), [*x], {*x}, list(x)[1],
        dict(zip(x, x[::-1], strict=True)), [v + 1 for v in x], list(map(float, x)),
        list(itertools.islice(x, 3, 9)), any(x > 3), list(reversed(x)), list(enumerate(x)),
    )  # fmt: skip


def typed(np: Any, x: Any) -> Any:
    whole = [[*x.astype(code)[:9]] for code in "? b B h H i I q Q e f d F D".split()]
    z = x + 1j * x
    seen(z.imag, lambda n: z.__setitem__(n, 0))
    return whole, [*x.view("i4")], [*z.real], [*z.imag], z, [*x.view("u1")[::9]]


def empty(np: Any, x: Any) -> Any:
    none, rows = x[:0], x.reshape(8, 5)[:, :0]
    return [*none], [*none.flat], [row.shape for row in rows], [*rows.flat], [*rows.T]


# fmt: off
LINES: dict[str, oracle.Program] = {
    "in place": writing(add_one), "in place, seldom": writing(now_and_then(add_one)),
    "an element": writing(lambda np, x, n: x.__setitem__(min(n + 1, 39), -n)),
    "an element, backwards": writing(lambda np, x, n: x.__setitem__(max(n - 1, 0), -n)),
    "all": writing(lambda np, x, n: x.__setitem__(..., n)),
    "out": writing(lambda np, x, n: np.multiply(x, 2, out=x)),
    "out, seldom": writing(now_and_then(lambda np, x, n: np.sqrt(x, out=x))),
    "slice": writing(lambda np, x, n: x[::2].__iadd__(x[1::2])),
    "mask": writing(lambda np, x, n: x.__setitem__(x > n, n + 0.5)),
    "places": writing(lambda np, x, n: x.__setitem__([1, 30, 2 - n], n)),
    "put": writing(lambda np, x, n: np.put(x, [n, 39 - n], n)),
    "add.at": writing(lambda np, x, n: np.add.at(x, [n, n, 39], 1)),
    "sort": writing(now_and_then(lambda np, x, n: x[n:].__setitem__(..., np.sort(-x[n:])))),
    "sort in place": writing(now_and_then(lambda np, x, n: x.sort())),
    "fill": writing(now_and_then(lambda np, x, n: x.fill(n))),
    "a view": writing(now_and_then(lambda np, x, n: x.reshape(8, 5).T.__imul__(2))),
    "backwards": writing(add_one, part=slice(None, None, -1)),
    "in steps": writing(now_and_then(add_one), part=slice(3, 33, 4)),
    "read only": lambda np, x: seen(np.broadcast_to(x[5:6], 9), lambda n: add_one(np, x, n)),
    "read then written": read_then_write, "by its elements": write_by_value, "nested": nested,
    "side by side": side_by_side, "without the array": without_the_array,
    "begun before": begun_before, "consumers": consumers, "typed": typed, "empty": empty,
    "no axes": lambda np, x: iter(x[3, ...]), "an element's": lambda np, x: iter(x[3]),
}
# fmt: on


@SIZES
@pytest.mark.parametrize("name", LINES)
def test_elements(name: str, eager_size: int) -> None:
    with oracle.options(eager_size=eager_size):
        oracle.check(LINES[name], LINE)


def rows_that_are_written(np: Any, m: Any) -> Any:
    for number, row in enumerate(m):
        row += number
        m[-1] += row
    return m


def rows_that_are_kept(np: Any, m: Any) -> Any:
    """Rows of which every second, or all, stay with somebody."""
    some = [row for number, row in enumerate(m) if number % 2]
    every, pairs = list(m), list(zip(m, m[::-1], strict=True))
    parts = [row[1:3] for row in m]
    before = None
    for row in m:
        if before is not None:
            row -= before
        before = row
    every[3] *= 10
    return some, every, pairs, parts, m, before


def rows_that_change(np: Any, m: Any) -> Any:
    """A row that somebody has changed is not another one."""
    found = []
    for row in m[:, :4]:
        found.append(row.shape)
        row.shape = (2, 2)
        found.append(row * 1)
    for row in m:
        found.append(row.flags.writeable)
        row.flags.writeable = False
    return found, m


def rows_are_views(np: Any, m: Any) -> Any:
    owners = [row.base is m for row in m + 0]
    own = m + 1
    owners += [row.base is own for row in own] + [row.base is own for row in own[2:]]
    return owners, [np.shares_memory(row, own) for row in own], [row.strides for row in own.T]


def rows_of_others(np: Any, m: Any) -> Any:
    """Other memory orders, more axes, none at all, and dtypes."""
    cube, repeated = m.reshape(3, 4, 5), np.broadcast_to(m[2], (4, 5))
    z = (m + 1j).astype("c8")
    return (
        list(m.T), list(m[::-2, ::-1]), [list(part) for part in cube], list(cube.T[1]),
        [(row, row.flags.writeable) for row in repeated], list(z.imag), list(m.view("i2")[:, ::3]),
        [(row.shape, row) for row in m[:, None, :2]], list(m[:0]), list(m.T[:, :0]),
    )  # fmt: skip


def rows_of_rows(np: Any, m: Any) -> Any:
    found = [(a, e) for a, b, c, d, e in m]
    for row in m:
        found.append([value for value in row])
        m += 1
    return found, max(max(row) for row in m), list(map(list, m)), [*zip(*m, strict=True)]


def rows_of_what_is_pending(np: Any, m: Any) -> Any:
    total = 0
    for row in m * 2:
        total = total + row
    return total, [row.sum() for row in m * 2 + 1]


ROWS: dict[str, oracle.Program] = {
    "written": rows_that_are_written, "kept": rows_that_are_kept, "changed": rows_that_change,
    "views": rows_are_views, "others": rows_of_others, "rows": rows_of_rows,
    "pending": rows_of_what_is_pending,
}  # fmt: skip


@SIZES
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, eager_size: int) -> None:
    with oracle.options(eager_size=eager_size):
        oracle.check(ROWS[name], GRID, strides=False)


def flat_position(np: Any, m: Any) -> Any:
    """Index and coordinates, in the middle and at the end; what is left goes on."""
    walk = m.T.flat
    places = [(walk.index, walk.coords)]
    for _, value in zip(range(17), walk, strict=False):
        places.append((value, walk.index, walk.coords))
    m += 1
    places.append((next(walk), walk.index))
    rest = list(walk)
    return places, rest, walk.index, walk.coords, list(walk), len(walk), iter(walk) is walk


def flat_and_writes(np: Any, m: Any) -> Any:
    own = m + 0
    views = [own, own.T, own[::2, 1:4], own[:, ::-1], own[None, :, 1], own.reshape(3, 4, 5).T]
    found = []
    for view in views:
        found.append(seen(view.flat, lambda n: n % 5 or own.__iadd__(n)))
        found.append(seen(view.flat, lambda n: own.__setitem__((n % 12, n % 5), -n)))
    return found, own


def flat_of_scalars(np: Any, m: Any) -> Any:
    one, value = m[1:2, 1:2], m.sum()
    return [*one.flat], [*m[1, 1, ...].flat], [*value.flat], [*np.float64(3).flat], one.flat[0]


def iterated(np: Any, m: Any) -> Any:
    for element in np.nditer(m[::2], op_flags=["readwrite"]):
        element[...] *= 2
    pairs = [(a + b, type(a).__name__) for a, b in np.nditer([m, m[0]])]
    read_only = np.broadcast_to(m[0], (3, 5))
    with pytest.raises(ValueError, match="read-only"):
        np.nditer(read_only, op_flags=["readwrite"])
    step = np.nditer(m, ["multi_index"])
    return pairs, m, [(*step.multi_index, v * 1) for v in step], isinstance(step, np.nditer)


FLAT: dict[str, oracle.Program] = {
    "position": flat_position, "writes": flat_and_writes, "scalars": flat_of_scalars,
    "nditer": iterated,
    "ndenumerate": lambda np, m: seen(np.ndenumerate(m.T), lambda n: None),
    "many axes": lambda np, m: [*m.reshape((1,) * 10 + (12, 5)).flat],
}  # fmt: skip


@SIZES
@pytest.mark.parametrize("name", FLAT)
def test_flat(name: str, eager_size: int) -> None:
    with oracle.options(eager_size=eager_size):
        oracle.check(FLAT[name], GRID)


@pytest.mark.engine
def test_what_is_pending_is_computed_once() -> None:
    """And at the first step."""
    lf = oracle.lf
    x = lf.array(host.arange(5000.0)) * 3
    lf.reset_stats()
    steps, rows = iter(x), iter((x + 1).reshape(50, 100))
    first = next(rows)
    assert not lf.stats().kernels_launched
    assert sum(steps) == 3 * 4999 * 2500
    assert lf.stats().kernels_launched == 1
    assert float(first[1]) == 4


@pytest.mark.engine
def test_nobody_is_left() -> None:
    """Iterators that end, or are let go, are told of nothing any more and keep nothing."""
    from lazyfuse.ir import orphans

    lf = oracle.lf
    x = lf.array(host.arange(5000.0)) + 1
    gone = weakref.ref(x)
    steps, half, walk = iter(x), iter(x), x.flat
    assert next(half) == next(walk) == 1
    assert sum(steps) == 5000 * 5001 // 2
    x[:] = 0
    assert next(half) == next(walk) == 0
    del x
    gc.collect()
    assert gone() is not None
    assert next(half) == 0
    del steps, half, walk
    gc.collect()
    assert gone() is None
    assert not orphans._followers


@pytest.mark.engine
def test_rows_keep_their_array() -> None:
    lf = oracle.lf
    m = lf.array(GRID) + 1
    gone, rows = weakref.ref(m), iter(m)
    row = next(rows)
    kept = weakref.ref(row)
    del m, row
    assert [float(row[0]) for row in rows] == [*(GRID[1:, 0] + 1)]
    del rows
    gc.collect()
    assert kept() is None
    assert gone() is None


@pytest.mark.engine
def test_threads_that_write() -> None:
    """No element is left out or comes twice while another thread writes."""
    lf = oracle.lf
    x = lf.array(host.arange(1000.0))
    lf.materialize(x)
    over = threading.Event()

    def write() -> None:
        nonlocal x
        while not over.is_set():
            x += 1000
            if float(x[0]) > 1e9:
                x -= float(x[0])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            places = [int(value) % 1000 for value in x]
            assert places == list(range(1000))
            assert [int(value) % 1000 for value in x.flat] == places
    finally:
        over.set()
        writer.join()


@pytest.mark.engine
def test_resized_in_a_loop() -> None:
    """A loop goes on over what the array was: no element outside memory is read or written."""
    x, line = lf.ones((100, 1_000)), lf.arange(1_000.0) * 1.0
    lf.materialize(x, line)
    rows, elements, flat = iter(x), iter(line), line.flat
    for _ in range(50):
        next(rows)
        next(elements)
        next(flat)
    x.resize((2, 1_000), refcheck=False)
    line.resize(10, refcheck=False)
    last = [*rows][-1]
    host.testing.assert_array_equal(host.asarray(last), host.ones(1_000))
    last[...] = 7.0
    host.testing.assert_array_equal(host.asarray(x), host.ones((2, 1_000)))
    assert len([*elements]) == len([*flat]) == 950
