"""Pending arrays of which many small parts are read: they are computed once, not a part at a time,
by recipes in Python and in machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

pytestmark = [pytest.mark.engine, pytest.mark.cpu("results at once")]

GRID = host.linspace(-3.0, 5.0, 60 * 80).reshape(60, 80)
READS: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda np, tile: tile[3, 4],
    "a range": lambda np, tile: tile.max() - tile.min(),
    "a diagonal": lambda np, tile: tile.diagonal().sum(),
    "a mean": lambda np, tile: tile.mean(),
    "a ufunc": lambda np, tile: np.maximum(tile[0], tile[1]),
    "an operator": lambda np, tile: tile[0] * tile[1] + 2,
    "a comparison": lambda np, tile: tile > 0.5,
    "a copy": lambda np, tile: tile.copy(),
    "a sum along an axis": lambda np, tile: tile.sum(axis=0),
}


@pytest.fixture(autouse=True)
def sizes() -> Any:
    with lf.options(eager_size=40, cold_size=0):
        yield


def tiles(np: Any, read: Callable[[Any, Any], Any]) -> list[Any]:
    """Of each tile of an array that is pending, and is written afterwards."""
    grid = np.array(GRID)
    grid = np.sqrt(grid * grid + 0.1)
    found = [read(np, grid[i : i + 10, j : j + 10]) for i in range(0, 60, 10)
             for j in range(0, 80, 10)]  # fmt: skip
    grid += 1
    return [*found, grid]


@pytest.mark.parametrize("name", READS)
def test_values(name: str) -> None:
    """What was read before a write is as it was."""
    for _ in range(4):
        oracle.check(lambda np: tiles(np, READS[name]))


@pytest.mark.parametrize("name", ("an element", "a range", "a ufunc"))
def test_few_runs(name: str) -> None:
    """Parts that were read before take a run each, the others none."""
    tiles(lf, READS[name])
    lf.reset_stats()
    lf.materialize(*tiles(lf, READS[name]))
    assert lf.stats().kernels_launched <= 16


def test_what_is_large_or_recorded_stays_pending() -> None:
    """Shifted slices, as those of a stencil, and what `fuse` records."""
    grid = lf.array(GRID) * 2
    parts = [grid[i : i + 40, j : j + 40] + 1 for i in range(0, 20, 2) for j in range(0, 40, 4)]
    lf.reset_stats()
    total = sum(parts)
    assert lf.stats().kernels_launched == 0
    wanted = GRID * 2
    expected = sum(
        wanted[i : i + 40, j : j + 40] + 1 for i in range(0, 20, 2) for j in range(0, 40, 4)
    )
    assert (host.asarray(total) == expected).all()

    @lf.fuse
    def rows(x: Any) -> Any:
        y = x * 2
        return sum(y[n] for n in range(30))

    for _ in range(4):
        assert (host.asarray(rows(lf.array(GRID))) == sum(wanted[n] for n in range(30))).all()
    assert not rows.reason


def standardized(np: Any) -> Any:
    """The columns of a pending table, each a sixteenth of it."""
    table = np.array(GRID.reshape(-1, 16)) * 2.0 + 1
    columns = [table[:, j] for j in range(16)]
    return [(column - column.mean()) / column.std() for column in columns]


@pytest.mark.parametrize("sizes", ({"eager_size": 40}, {"cold_size": 1000}))
def test_parts_that_are_not_small_and_large_arrays_stay_pending(sizes: dict[str, int]) -> None:
    """Columns that fuse with what comes before them, and parts of an array that is large."""
    with lf.options(**{"eager_size": 1000, "cold_size": 100_000, **sizes}):
        for _ in range(4):
            lf.reset_stats()
            found = standardized(lf)
            assert lf.stats().kernels_launched == 0
            oracle.check(standardized)
            lf.materialize(*found)


def test_without_small_arrays() -> None:
    with lf.options(eager_size=0):
        grid = lf.array(GRID) * 2
        parts = [grid[n, n] for n in range(30)]
        lf.reset_stats()
        parts.append(grid[31, 31])
        assert lf.stats().kernels_launched == 0
        assert [float(part) for part in parts[:3]] == (2 * GRID.diagonal())[:3].tolist()
