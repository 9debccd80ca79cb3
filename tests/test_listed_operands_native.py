"""The same in machine code, and no reference lost."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_listed_operands import *  # noqa: E402, F403 - again, in machine code
from tests.test_listed_operands import ARRAYS, IN_PLACE, LISTED, OPERATORS  # noqa: E402
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


def test_no_reference_is_lost() -> None:
    arrays = [ARRAYS[name](lf) for name in ("integers", "floats", "rows", "column")]
    lists = [make(lf) for name, make in LISTED.items()]

    def run() -> None:
        for x in arrays:
            for y in lists:
                for apply in (*OPERATORS.values(), *IN_PLACE.values()):
                    with contextlib.suppress(Exception):
                        apply(x, y)

    kept: list[Any] = [*arrays, *lists, *(x._host for x in arrays)]
    with host.errstate(all="ignore"):
        assert_nothing_is_lost(run, kept, known=20, rounds=20)
