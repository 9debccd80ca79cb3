"""Programs that write regions of arrays from their neighbours: what is copied and filled, and that
the answers are NumPy's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.region import are_apart, left_by
from lazyfuse.runtime import executor
from tests.oracle import ON_GPU, check, check_modes

pytestmark = pytest.mark.engine

SIDE = 200
GRID = host.random.default_rng(21).random((SIDE, SIDE))
CUBE = host.random.default_rng(22).random((9, 11, 13))


def run(program: Callable[..., Any], *arrays: Any) -> lf.Stats:
    """What the engine does for a program, whose answer is NumPy's."""
    check(program, *arrays)
    lazy = [lf.array(array) for array in arrays]
    lf.materialize(*lazy)
    lf.reset_stats()
    result = program(lf, *lazy)
    lf.materialize(*(result if isinstance(result, tuple) else (result,)), *lazy)
    return lf.stats()


def heat(np: Any, u: Any) -> Any:
    for _ in range(5):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return u


def boundaries(np: Any, p: Any) -> Any:
    """One element outwards along each edge, and a corner that two of them write."""
    p += 1.0
    p[:, -1] = p[:, -2]
    p[0, :] = p[1, :]
    p[:, 0] = p[:, 1] * 2
    p[-1, :] = p[-3, ::-1]
    return p


def red_black(np: Any, u: Any) -> Any:
    """Points of one colour from their neighbours, which have the other."""
    for first in (1, 2):
        for rows, columns in ((slice(1, -1, 2), first), (slice(2, -1, 2), 3 - first)):
            c = slice(columns, -1, 2)
            up = u[slice(rows.start - 1, -2, 2), c] if rows.start == 2 else u[:-2:2, c]
            u[rows, c] += 0.25 * up[: u[rows, c].shape[0]]
    return u


def test_a_time_step_copies_its_border_alone() -> None:
    """Each step writes the interior once; the border is copied once to each of two memories."""
    stats = run(heat, GRID)
    border = 4 * (SIDE - 1)
    copies = 5 if ON_GPU else 2  # steps of a GPU do not run together
    assert (stats.kernels_launched, stats.copies) == (5, copies)
    assert stats.bytes_written == 8 * (5 * (SIDE - 2) ** 2 + copies * border)


@pytest.mark.parametrize(("program", "kernels"), ((boundaries, 5), (red_black, 4)))
def test_reads_of_other_places_are_in_place(program: Callable[..., Any], kernels: int) -> None:
    """What is read is not what is written: nothing is copied, and nothing is stored first."""
    stats = run(program, GRID)
    assert (stats.copies, stats.kernels_launched) == (0, kernels)
    assert stats.bytes_written <= 8 * SIDE * (SIDE + 4)


def test_what_lies_between_columns_is_copied_with_them() -> None:
    """Copying half a million pieces of two elements took four times as long as all of it."""

    def levels(np: Any, x: Any) -> Any:
        y = x.copy()
        y[:, :, 1] = x[:, :, 0] * 2.0
        return y

    array = host.random.default_rng(23).random((60, 70, 3))
    stats = run(levels, array)
    assert (stats.copies, stats.bytes_written) == (1, array.nbytes + array.nbytes // 3)


def test_a_flat_view_leaves_the_first_element() -> None:
    """A region that is none of the array's axes is one of its memory: `u.ravel()[1:]`."""

    def program(np: Any, u: Any) -> Any:
        flat = u.ravel()
        flat[1:] -= 0.3 * (flat[1:] - flat[:-1])
        return u

    stats = run(program, GRID)
    assert stats.bytes_written == 8 * SIDE * SIDE


@pytest.mark.parametrize("array", (GRID, GRID.T, host.asfortranarray(GRID), GRID[::2, ::-1]))
@pytest.mark.parametrize("program", (heat, boundaries, red_black))
def test_answers_in_all_modes(program: Callable[..., Any], array: Any) -> None:
    """Fused, unfused, cut short and on two threads; in either memory order."""
    check_modes(program, array[:20, :24])


REGIONS = (
    (slice(1, -1), slice(1, -1), slice(1, -1)),
    (slice(None), slice(2, 5), slice(None)),
    (slice(None, None, -1), slice(None), slice(3, None)),
    (slice(1, None, 2), slice(None), slice(None)),
    (slice(4, 5), 3, slice(2, 2)),
    (..., slice(1, None)),
    (2,),
)


@pytest.mark.parametrize("order", ("C", "F"))
@pytest.mark.parametrize("key", REGIONS, ids=str)
def test_regions_that_read_their_neighbours(key: Any, order: str) -> None:
    """A region shifted onto itself along each axis, also while the old version lives on."""

    def program(np: Any, x: Any) -> Any:
        held = x * 1
        for axis in range(3):
            old = x + 0
            other = x.copy()
            shifted = x[(slice(None),) * axis + (slice(None, None, -1),)]
            x[key] = shifted[key] - 0.5 * x[key]
            other[key] += old[key]
            held += other
        return held

    check_modes(program, host.array(CUBE, order=order))


def test_a_kernel_that_cannot_be_built_reads_the_old_version(monkeypatch: Any) -> None:
    """The new memory holds the border alone: what runs op by op instead reads the base."""
    with monkeypatch.context() as patch, warnings.catch_warnings():
        patch.setattr(executor, "bound_launch", lambda step, backend: None)
        check(heat, GRID)
        check(boundaries, GRID)
        check(lambda np, x: np.roll(np.zeros_like(x) + x, 3), GRID)


def fresh(np: Any, b: Any) -> Any:
    """The interior of new memory; its border stays zero."""
    c = np.zeros_like(b)
    c[1:-1, 1:-1] = b[2:, 1:-1] - b[:-2, 1:-1]
    return c


def padded(np: Any, x: Any) -> Any:
    """Edges read what was written before them, in memory that nothing filled."""
    return np.pad(x, 2, mode="edge") * 2.0


def joined(np: Any, x: Any) -> Any:
    return np.concatenate([x[:3] + 1, x[3:] * 2, x])


def rolled(np: Any, x: Any) -> Any:
    return np.roll(x, 1, 0), np.roll(x, -2, 1), np.roll(x, 7)


def gradient(np: Any, x: Any) -> Any:
    return tuple(np.gradient(x))


@pytest.mark.parametrize("program", (fresh, padded, joined, rolled, gradient))
def test_new_memory_is_written_once(program: Callable[..., Any]) -> None:
    """What writes cover is not filled before, and a border is filled alone."""
    x = host.random.default_rng(23).random((400, 400))
    results = program(host, x)
    results = results if isinstance(results, tuple) else (results,)
    most = sum(result.nbytes for result in results)
    if program is padded:
        most *= 2  # the padded array and its double
    assert run(program, x).bytes_written <= most * 1.01
    check_modes(program, x[:7, :9])


def test_a_fill_that_is_read_is_filled() -> None:
    """Before a write, beside it, or where no write reaches."""

    def program(np: Any, x: Any) -> Any:
        a, b, c, d = (np.full_like(x, 7.0) for _ in range(4))
        before = a.sum()
        a[:] = x
        view = b[:3]
        b[1:] = view[:1] + x[1:]
        c[::2] = x[::2]
        d[1:] = x[1:]
        d[0] = d[0] * d[1]
        e = np.ones_like(x)
        old = e + x
        e[...] = old * e
        return [before, a, b, c, d, e]

    check_modes(program, host.random.default_rng(24).random((400, 400)))


def smoothed(np: Any, x: Any) -> Any:
    """A filter down, then across: 25 loads in one pass, 5 + 5 in two."""
    down = (x[:-4] + x[4:] + 4.0 * (x[1:-3] + x[3:-1]) + 6.0 * x[2:-2]) * 0.0625
    ends, inner = down[:, :-4] + down[:, 4:], down[:, 1:-3] + down[:, 3:-1]
    return (ends + 4.0 * inner + 6.0 * down[:, 2:-2]) * 0.0625


@pytest.mark.parametrize(("program", "kernels"), ((smoothed, 2), (lambda np, x: np.diff(x, 2), 1)))
def test_filters_of_filters(program: Callable[..., Any], kernels: int) -> None:
    """What a second filter would compute and load again many times is stored, and else not."""
    assert run(program, GRID).kernels_launched == kernels
    check_modes(program, GRID[:20, :24])


def test_regions_of_memory() -> None:
    """What is said to be apart is, what a region leaves is the rest, each element once."""
    draw = host.random.default_rng(25)
    found = 0
    for _ in range(2000):
        shape = tuple(int(n) for n in draw.integers(1, 7, draw.integers(1, 4)))
        order = draw.permutation(len(shape))
        memory = host.arange(host.prod(shape)).reshape([shape[axis] for axis in order])
        array = memory.transpose(host.argsort(order))
        left, right = (_part(draw, array) for _ in range(2))
        strides = tuple(step // 8 for step in array.strides)
        layouts = [_layout(part) for part in (left, right)]
        if are_apart(*layouts, shape, strides):
            found += 1
            assert not set(left.flat) & set(right.flat)
        rest = [place for one in left_by(layouts[0], shape, strides) for place in _places(one)]
        assert len(rest) == len(set(rest))
        if len(rest) < memory.size:
            found += 1
            assert set(rest) == set(memory.flat) - set(left.flat)
    assert found > 1000


def _part(draw: host.random.Generator, array: Any) -> Any:
    keys = []
    for extent in array.shape:
        start, stop = sorted(int(n) for n in draw.integers(0, extent + 1, 2))
        step = int(draw.choice([1, 1, 1, 2, 3]))
        key = slice(start, stop, step)
        keys.append(key if draw.random() < 0.8 else slice(None, None, -1))
    part = array[tuple(keys)]
    return part.T if draw.random() < 0.3 else part


def _layout(part: Any) -> Layout:
    start = int(part.flat[0]) if part.size else 0
    return Layout(part.shape, tuple(step // 8 for step in part.strides), start)


def _places(layout: Layout) -> list[int]:
    found = host.array([layout.offset])
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        found = (found[:, None] + host.arange(extent) * stride).ravel()
    return [int(place) for place in found]


@pytest.mark.parametrize(
    "dtypes", ("f8 f8", "f4 f4", "u1 f4", "f4 u1", "c16 c16", "i2 i8", "f2 f2")
)
@pytest.mark.parametrize("threads", (1, 2))
def test_rows_that_begin_inside_a_line(dtypes: str, threads: int) -> None:
    """Of every length, from every place: what is beside them stays as it was."""
    read, written = dtypes.split()
    source = (host.arange(5 * 2100) % 97).reshape(5, 2100).astype(read)
    with lf.options(threads=threads):
        for begin in range(0, 70, 3 if threads == 1 else 23):
            for length in (1, 7, 64, 130, 255, 256, 257, 1027, 2011):

                def program(np: Any, x: Any, begin: int = begin, length: int = length) -> Any:
                    y = np.full(x.shape, 3, written)
                    y[1:-1, begin : begin + length] = (
                        x[1:-1, begin : begin + length] + x[2:, begin + 1 : begin + 1 + length]
                    )
                    return y

                check(program, source)
