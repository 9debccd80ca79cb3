"""Time steps that run together, band by band: found where they are safe, with NumPy's bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import launch_bands
from lazyfuse.ir import kept
from lazyfuse.ir.plan import Wave
from lazyfuse.runtime import engine, executor, session
from tests.oracle import check

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def narrow(monkeypatch: Any) -> None:
    """Bands as narrow as they may be, on two threads."""
    monkeypatch.setattr(launch_bands, "BAND_BYTES", 1)
    monkeypatch.setattr(launch_bands, "NS_PER_THREAD", 1.0)
    session.plans.clear()


def waves(*arrays: Any) -> list[Wave]:
    """The waves of the plan of pending arrays."""
    plan = engine.plan_for([array._storage.current() for array in arrays], "cpu")
    return list(plan.waves.values())


def grid(*shape: int, dtype: str = "f8", seed: int = 0) -> Any:
    return host.random.default_rng(seed).random(shape).astype(dtype)


def heat(np: Any, u: Any) -> Any:
    for _ in range(5):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return u


def rod(np: Any, u: Any) -> Any:
    """One axis, upwind and two elements away."""
    for _ in range(4):
        u[2:-1] -= 0.3 * (u[2:-1] - u[:-3]) + 0.1 * u[3:]
    return u


def reaction(np: Any, u: Any, v: Any) -> Any:
    """Two arrays that read each other."""
    for _ in range(4):
        product = u[1:-1, 1:-1] * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.1 * u[2:, 1:-1] - product
        v[1:-1, 1:-1] += 0.1 * v[:-2, 1:-1] + product * u[1:-1, 2:]
    return u, v


def leapfrog(np: Any, old: Any, now: Any) -> Any:
    """Each step reads the two before it, and one array turns into the other."""
    for _ in range(4):
        old[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + 0.1 * now[2:, 1:-1]
        old, now = now, old
    return old, now


def damped(np: Any, u: Any, w: Any) -> Any:
    """In place between steps; another array is read elsewhere and turned."""
    for _ in range(3):
        u[1:-1, 1:-1] = u[:-2, 1:-1] - u[2:, 2:] * w.T[:-2, 2:]
        u[1:-1, 1:-1] *= 0.5
        u[1:-1, 1:-1] += w[::-1, ::-1][1:-1, 1:-1]
    return u


def brick(np: Any, u: Any) -> Any:
    """Three axes, far away along the first."""
    for _ in range(3):
        u[3:-3, 1:-1, :] = 0.5 * (u[6:, 1:-1, :] - u[:-6, 2:, :]) + u[3:-3, :-2, :]
    return u


def reshaped(np: Any, u: Any) -> Any:
    """Rows of an array that has others; then what a write leaves is not told apart."""
    v = u.reshape(-1, 30)
    for _ in range(3):
        v[1:-1, 1:-1] *= 0.5 + v[1:-1, 1:-1]
    return u


def every_second(np: Any, u: Any) -> Any:
    """Of more pieces than are worth a table."""
    for _ in range(3):
        u[1:-1, 1:-1:2] += 0.5 * (u[:-2, :-2:2] - u[2:, 2::2])
    return u


SQUARES = (grid(60, 37), grid(60, 37, seed=1))
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = {
    "heat": (heat, SQUARES[:1], (0, 1, 2, 3, 4)),
    "heat f4": (heat, (grid(70, 51, dtype="f4"),), (0, 1, 2, 3, 4)),
    "heat F": (heat, (host.asfortranarray(SQUARES[0]),), (0, 1, 2, 3, 4)),
    "rod": (rod, (grid(700),), (0, 2, 4, 6)),
    "reaction": (reaction, SQUARES, (0, 0, 1, 1, 2, 2, 3, 3)),
    "leapfrog": (leapfrog, SQUARES, (0, 1, 2, 3)),
    "damped": (damped, (grid(61, 61), grid(61, 61, seed=1)), (0, 0, 0, 1, 1, 1, 2, 2, 2)),
    "brick": (brick, (grid(90, 7, 9),), (0, 3, 6)),
    "reshaped": (reshaped, (grid(60, 40),), (0, 0, 0)),
    "every second": (every_second, (grid(61, 32),), (0, 2, 4)),
}


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("name", CASES)
def test_answers_of_copied_pieces(name: str, threads: int, monkeypatch: Any) -> None:
    """Where all that is kept is copied before the wave."""
    monkeypatch.setattr(kept, "MOST_PIECES", 0)
    program, arrays, _ = CASES[name]
    with lf.options(threads=threads):
        check(program, *arrays)
        check(program, *arrays)


@pytest.mark.cpu("steps that run band by band")
@pytest.mark.parametrize("name", CASES)
def test_steps_run_together(name: str) -> None:
    """All steps are one wave whose later launches stay behind as far as they must."""
    program, arrays, lags = CASES[name]
    results = program(lf, *map(lf.array, arrays))
    results = results if isinstance(results, tuple) else (results,)
    (wave,) = waves(*results)
    assert wave.lags == lags
    assert "band by band" in lf.explain(*results)
    assert len(wave.sources) <= 2 * len(results)


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, threads: int) -> None:
    """NumPy's bits, from bands of every width that the rows allow."""
    program, arrays, _ = CASES[name]
    with lf.options(threads=threads):
        check(program, *arrays)
        check(program, *arrays)
    check(program, *(array[:9] for array in arrays))


def test_order_between_bands() -> None:
    """The bands cover every row of every launch once, edges after the bands that they need."""
    bands = object.__new__(launch_bands.Bands)
    bands._lags, bands._rows, bands._row_bytes = (0, 2, 3), 100, 8
    edges = bands._edges(0)
    assert len(edges) > 3
    inner, between = bands._spans(edges)
    for number in range(3):
        rows = [row for spans in (*inner, *between) for row in spans[number]]
        assert sorted(rows) == list(range(100))
    for low, high in zip(between, between[1:], strict=False):
        assert max(low[2]) + 3 < min(high[2])


def test_what_is_in_place_stays_there() -> None:
    """An array that nobody holds is not copied for a wave, one that somebody holds is."""

    def program(np: Any, u: Any) -> Any:
        v = u * 2.0
        v[1:-1, 1:-1] *= u[2:, 1:-1]
        v[1:-1, 1:-1] += 1.0
        u[1:-1, 1:-1] -= 0.5 * v[1:-1, 1:-1]
        u[1:-1, 1:-1] *= v[:-2, 1:-1]
        return v

    data = grid(300, 300)  # more than what the engine keeps to tell conditions apart
    for held in (False, True):
        u = lf.array(data)
        lf.materialize(u)
        old = u * 1.0 if held else None
        v = program(lf, u)
        (wave,) = waves(u, v)
        assert wave.lags == (0, 0, 1, 1)
        lf.reset_stats()
        lf.materialize(u, v)
        assert lf.stats().copies == held
        if held:
            assert (lf.asnumpy(old) == data).all()
    check(program, data)


def test_what_is_no_wave() -> None:
    """Another region, a whole array between, a read of what lies turned: the steps run in turn."""

    def regions(u: Any) -> Any:
        u[1:-1, 1:-1] = u[:-2, 1:-1] * 2
        u[2:-1, 1:-1] = u[:-3, 1:-1] * 2
        return u

    def turned(u: Any) -> Any:
        u[1:-1, 1:-1] = u[:-2, 1:-1] * 2
        u[1:-1, 1:-1] = u.T[:-2, 1:-1] * 2
        return u

    def indexed(u: Any) -> Any:
        u[1:-1] = u[:-2] * 2
        u[1:-1] = u[host.arange(58) % 5] * 2
        return u

    for program in (regions, turned, indexed):
        assert not waves(program(lf.array(grid(60, 60)))), program.__name__
        check(lambda np, u, program=program: program(u), grid(60, 60))


def test_old_versions_are_kept() -> None:
    """A version that somebody reads later, or that is asked for, keeps its memory."""

    def program(np: Any, u: Any) -> Any:
        kept = []
        for _ in range(4):
            u[1:-1, 1:-1] = u[:-2, 1:-1] * 0.5 + u[2:, 1:-1]
            kept.append(u[2:5, 1:-1] * 2.0)
        return [u, *kept]

    def copied(np: Any, u: Any) -> Any:
        old = u.copy()
        for _ in range(3):
            u[1:-1, 1:-1] = u[:-2, 1:-1] * 0.5 + old[2:, 1:-1]
            old = u.copy()
            u[1:-1, 1:-1] -= old[1:-1, 2:]
        return u, old

    check(program, SQUARES[0])
    check(copied, SQUARES[0])


@pytest.mark.cpu("floating point flags")
def test_conditions_of_all_steps_are_met() -> None:
    """A division by zero in a late step of a wave warns."""
    u = lf.array(host.ones((60, 60)))
    for _ in range(3):
        u[1:-1, 1:-1] -= 0.5 * u[:-2, 1:-1]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        u[1:-1, 1:-1] = u[2:, 1:-1] / (u[:-2, 1:-1] * 0.0)
    assert waves(u)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        lf.materialize(u)


def test_a_kernel_that_cannot_be_built_runs_in_turn(monkeypatch: Any) -> None:
    """Steps of which one has no kernel run one after the other."""
    real = executor.bound_launch
    seen: list[Any] = []

    def bound(step: Any, backend: Any) -> Any:
        seen.append(step)
        return None if step is seen[0] else real(step, backend)

    monkeypatch.setattr(executor, "bound_launch", bound)
    check(heat, SQUARES[0])


@pytest.mark.parametrize("seed", range(30))
def test_random_steps(seed: int) -> None:
    """Several arrays, distances and reads of arrays that are written, in any order."""
    draw = host.random.default_rng(seed)
    axes = int(draw.integers(1, 4))
    shape = tuple(int(n) for n in draw.integers((60, 6, 6)[:axes], (90, 12, 9)[:axes]))
    count, far = int(draw.integers(1, 4)), int(draw.integers(1, 3))
    steps = [
        (int(draw.integers(count)), draw.integers(-far, far + 1, (3, axes)).tolist(),
         draw.integers(0, count, 3).tolist())
        for _ in range(int(draw.integers(2, 8)))
    ]  # fmt: skip

    def part(extent: int, offset: int) -> slice:
        return slice(far + offset, extent - far + offset)

    def program(np: Any, *arrays: Any) -> Any:
        inside = tuple(part(extent, 0) for extent in shape)
        for target, offsets, read in steps:
            values = [
                arrays[number][tuple(map(part, shape, offset))]
                for number, offset in zip(read, offsets, strict=True)
            ]
            arrays[target][inside] = 0.5 * values[0] - 0.25 * values[1] + 0.125 * values[2]
        return arrays

    arrays = [draw.random(shape) for _ in range(count)]
    for threads in (1, 2):
        with lf.options(threads=threads):
            check(program, *arrays)
