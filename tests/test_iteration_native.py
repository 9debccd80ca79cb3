"""Going through arrays in machine code: as Python does, and no reference lost."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend.walking import Steps  # noqa: E402 - when there is an engine
from tests.test_iteration import *  # noqa: E402, F403 - again, in machine code
from tests.test_iteration import GRID  # noqa: E402
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.mark.cpu("memory at hand")
def test_steps() -> None:
    """They are an iterator, and go on another way after a write that is recorded."""
    x = lf.array(host.arange(50_000.0)) + 1
    lf.materialize(x)
    steps = iter(x)
    assert type(steps) is Steps
    assert iter(steps) is steps
    assert (next(steps), steps.__next__(), type(next(steps))) == (1, 2, host.float64)
    pending = x * 2
    x[:] = 5
    assert (next(steps), len([*steps])) == (5, 49_996)
    assert [*steps] == []
    with pytest.raises(StopIteration):
        steps.__next__()
    assert float(pending[0]) == 2


@pytest.mark.cpu("memory at hand")
def test_rows_are_made_of_others() -> None:
    """A loop that keeps no row has two of them in turn; a row that is kept stays."""
    m = lf.array(host.arange(60_000.0).reshape(300, 200)) + 0
    lf.materialize(m)
    assert len({id(row) for row in m}) == 2
    assert len({id(row) for row in list(m)}) == 300
    assert [float(row[0]) for row in m] == [200.0 * n for n in range(300)]


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away: of memory, layouts, arrays and iterators."""
    x, m = lf.array(host.arange(40_000.0)) + 0, lf.array(host.arange(40_000.0)).reshape(400, 100)
    small = lf.array(GRID)
    lf.materialize(x, m)

    def run() -> None:
        for _ in x, *m, *small, *m.T[:3], *small.T:
            pass
        for array in (x, m, small, m[3], m.T):
            found = list(array)
            steps = iter(array)
            next(steps)
            _ = sum(1 for _ in array.flat)
            del found
        for row in m:
            for _ in row:
                break

    kept: tuple[Any, ...] = (x, m, x._storage, m._layout, host.dtype("f8"))
    assert_nothing_is_lost(run, kept, known=3, rounds=6)
