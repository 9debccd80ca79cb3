"""The same parts in machine code, and no reference lost."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.runtime import native_numbers
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_parts import *  # noqa: E402, F403 - again, in machine code
from tests.test_parts import CALLS, SHAPES, pair, random  # noqa: E402


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away: of layouts, codes, arrays and numbers."""
    _, there = pair("f8")
    row = lf.arange(24.0)

    def run() -> None:
        for name, program in SHAPES.items():
            for part in (there[2:6], there[2:6, 3:9], there[3]):
                with contextlib.suppress(ValueError, IndexError):  # of a line
                    program(lf, part, random.Random(name))
        for call in CALLS.values():
            with contextlib.suppress(ValueError):
                call(lf, there[2:6, 3:9])
        for value in (1.5, [1.0] * 24, (2,) * 24, there[:, 3], there[4], row, row[::-1]):
            there[3] = value
            there[:, 5] = value
        for fault in (lambda: there[3].reshape(7, -1), lambda: there.__setitem__(3, (1.0, 2.0))):
            with pytest.raises(ValueError):
                fault()
        lf.materialize(there)

    lf.cache_clear()
    kept: list[Any] = [there, there._storage, there._layout, row, row._host]
    with host.errstate(all="ignore"):
        assert_nothing_is_lost(run, kept, known=40, rounds=40)


def test_ints_are_where_the_code_reads_them() -> None:
    assert native_numbers.are_known()
