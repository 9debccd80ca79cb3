"""Small arrays of the engine that are at hand, in machine code: what Python does, and no reference
lost."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_windows import *  # noqa: E402, F403 - again, in machine code
from tests.test_windows import READ_ONLY, ROWS, VIEWS, WRITES, matrix  # noqa: E402


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away: of memory, dtypes, arrays and keys."""
    _, there = matrix()
    values = host.ones(400)
    tables = (ROWS, WRITES, VIEWS, READ_ONLY)

    def run() -> None:
        for table in tables:
            for name in table:
                table[name](lf, there if table in (ROWS, WRITES) else there[3])
        for fault in (lambda: there[400, 0], lambda: there[3] + values[:3]):
            with pytest.raises((IndexError, ValueError)):
                fault()
        lf.materialize(there)

    def numpy_loses_dtypes() -> bool:
        """NumPy 2.5.5 for Python 3.12 does, in `dot`."""
        before = sys.getrefcount(host.dtype("f8"))
        for _ in range(100):
            host.dot(values, values)
        return sys.getrefcount(host.dtype("f8")) - before >= 50

    lf.cache_clear()  # else plans of other tests go while those of this one come
    kept: list[Any] = [there, there._storage, there._layout]
    if not numpy_loses_dtypes():
        kept.append(host.dtype("f8"))
    with host.errstate(all="ignore"):
        assert_nothing_is_lost(run, kept, known=40, rounds=40)


@pytest.mark.cpu("results at once")
def test_an_element_costs_little() -> None:
    """Neither a node nor an array is made for it."""
    _, there = matrix()
    element = there[3, 4]
    assert type(element) is host.float64
    before = len(gc.get_objects())
    kept: list[Any] = [there[3, 5] for _ in range(100)]
    assert len(gc.get_objects()) - before < 50 and len(kept) == 100
