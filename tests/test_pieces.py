"""Elementwise results of arrays that are put together: `roll`, `concatenate` and borders."""

from __future__ import annotations

import importlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.runtime import session
from tests.oracle import check, check_modes

pytestmark = pytest.mark.engine

pieces = importlib.import_module("lazyfuse.passes.pieces")  # the package has its function

SQUARE = host.random.default_rng(31).random((300, 301))
SMALL = host.random.default_rng(32).random((9, 11))


def periodic(np: Any, u: Any) -> Any:
    """Two steps of the heat equation with periodic borders."""
    for _ in range(2):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = u + 0.1 * (around - 4.0 * u)
    return u


def diagonal(np: Any, u: Any) -> Any:
    """Along both axes at once, further than one, and more than around."""
    return np.roll(u, (1, -2), (0, 1)) * 2.0 - np.roll(u, 40, 1), np.roll(u, -3, 0) - u


def wrapped(np: Any, u: Any) -> Any:
    """Borders put around by hand."""
    rows = np.concatenate([u[-1:], u, u[:1]])
    p = np.concatenate([rows[:, -1:], rows, rows[:, :1]], axis=1)
    return p[1:-1, 1:-1] * 0.5 + 0.125 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2])


def walled(np: Any, u: Any) -> Any:
    """Neighbours that are a constant outside; of another dtype."""
    left, right = np.full_like(u, 7), np.zeros(u.shape, "f4")
    left[:, 1:] = u[:, :-1]
    right[:, :-1] = 1
    return np.maximum(left, right) - np.where(right > 0, u, left), left + 1


def turned(np: Any, u: Any) -> Any:
    """Read transposed, backwards, in part and broadcast."""
    r, row = np.roll(u, 1, 0), np.roll(u[0], 2)
    whole = r + row
    return r.T * 2.0 + u.T, r[::-1] - u, (r - u)[2:-1], whole - row[:, None][:1] + r[:1]


def stored(np: Any, u: Any) -> Any:
    """Also folded, kept, written afterwards and given a place."""
    r = np.roll(u, 1, 0)
    y = r - u
    total, place = y.sum(axis=0), np.empty_like(u)
    np.multiply(r, np.roll(u, 1, 1), out=place)
    r[1:3] = 5
    u += np.roll(u, 1, 1) - r
    return total + 1.0, y, place, r, np.cumsum(np.roll(y, 2, 1) + y, axis=1)


def mixed(np: Any, u: Any) -> Any:
    """Complex, integers, an index and a value that counts."""
    z = np.roll(u + 1j * u, 1, 0) * np.roll(u, 1, 0)
    n = np.roll((u * 100).astype("i4"), 1, 1) // 7 + np.arange(u.shape[1])
    return z.real + u, n, np.roll(u, 1, 0)[:, np.arange(5)] + 1, np.sqrt(np.roll(np.sqrt(u), 1, 0))


def nested(np: Any, u: Any) -> Any:
    """Rolled one axis after the other, also by nothing; one that is read itself, too; parts, other
    dtypes and borders of what is rolled."""
    near = sum(np.roll(np.roll(u, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - u
    once = np.roll(u, 2, 0)
    ring = np.concatenate([once[-1:], once[::-1], once[:1] * 2.0, np.roll(once, 1, 1)[:3]])
    padded = np.pad(np.roll(once, -1, 1), 1, mode="edge")
    wide = np.pad(np.pad(u, 1), ((0, 1), (2, 0)), constant_values=3.0)
    return (
        near,
        once + np.roll(once, 1, 1),
        ring[4:] + u[:-1],
        padded[1:-1, 2:] - u,
        wide[2:, 2:-1] * u,
    )


PROGRAMS = (periodic, diagonal, wrapped, walled, turned, stored, mixed, nested)


@pytest.mark.parametrize("program", PROGRAMS)
def test_answers_at_size(program: Callable[..., Any]) -> None:
    """NumPy's bits where the result is large enough to be cut."""
    check(program, SQUARE, sums=True)
    check(program, host.asfortranarray(SQUARE), sums=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_answers_in_all_modes(program: Callable[..., Any], monkeypatch: Any) -> None:
    """Small arrays cut as large ones are."""
    monkeypatch.setattr(pieces, "LARGE", 0)
    session.plans.clear()
    check_modes(program, SMALL, sums=True)
    check_modes(program, SMALL.T, sums=True)
    session.plans.clear()


def test_a_periodic_step_writes_its_result_alone() -> None:
    """No rolled array is made: each step writes its result once, in nine boxes."""
    u = lf.array(SQUARE)
    lf.materialize(u)
    lf.reset_stats()
    lf.materialize(periodic(lf, u))
    stats = lf.stats()
    assert (stats.kernels_launched, stats.bytes_written) == (18, 2 * SQUARE.nbytes)


def test_what_is_rolled_twice_is_read_where_it_lies() -> None:
    """The first rolls were made, and copies of what is rolled by nothing."""

    def step(np: Any, u: Any) -> Any:
        return sum(np.roll(np.roll(u, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - u

    u = lf.array(SQUARE)
    lf.materialize(u)
    lf.reset_stats()
    lf.materialize(step(lf, u))
    assert (lf.stats().kernels_launched, lf.stats().bytes_written) == (9, SQUARE.nbytes)
    check(step, SQUARE)


def test_what_is_computed_for_a_piece_is_stored() -> None:
    """An interior that is read at three places is computed once."""

    def program(np: Any, u: Any) -> Any:
        c = np.zeros_like(u)
        c[1:-1, 1:-1] = np.exp(u[2:, 1:-1]) * u[:-2, 1:-1]
        return c + np.roll(c, 1, 0) + np.roll(c, -1, 0)

    x = host.random.default_rng(33).random((400, 400))
    u = lf.array(x)
    lf.materialize(u)
    lf.reset_stats()
    lf.materialize(program(lf, u))
    assert lf.stats().bytes_written < 2.1 * x.nbytes
    check(program, x, ulp=4)


def test_long_axes_are_not_listed() -> None:
    """All places of an axis were, to look for the cuts among them."""
    x = host.zeros(1 << 22, "u1")
    tracemalloc.start()
    try:
        lf.materialize(lf.roll(lf.asarray(x), 1) + x)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, monkeypatch: Any) -> None:
    """Rolls, joins, slices and arithmetic in any order."""
    monkeypatch.setattr(pieces, "LARGE", 0)
    draw = host.random.default_rng(seed)
    shape = tuple(int(n) for n in draw.integers(3, 9, draw.integers(1, 4)))
    steps = draw.integers(0, 1 << 30, (8, 4)).tolist()

    def program(np: Any, *given: Any) -> Any:
        known = list(given)
        for choice, first, second, amount in steps:
            x, y = known[first % len(known)], known[second % len(known)]
            axis = amount % x.ndim
            if choice % 5 == 0:
                known.append(np.roll(x, amount % 7 - 3, axis))
            elif choice % 5 == 1:
                cut = 1 + amount % (x.shape[axis] - 1)
                ahead = (slice(None),) * axis
                known.append(np.concatenate([x[(*ahead, slice(cut, None))],
                                             y[(*ahead, slice(None, cut))]], axis))  # fmt: skip
            elif choice % 5 == 2:
                z = np.full_like(x, 3.0)
                z[(slice(None),) * axis + (slice(1, None),)] = y[
                    (slice(None),) * axis + (slice(None, -1),)
                ]
                known.append(z)
            else:
                known.append(x * 0.5 - y if choice % 5 == 3 else np.maximum(x, y) + 1.0)
        return known[len(given) :: 2] if seed % 2 else known[-1]

    check(program, draw.random(shape), draw.random(shape))
