"""Arrays that are larger than small ones, in computed memory, in machine code: as in Python."""

from __future__ import annotations

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend.function import Function  # noqa: E402
from tests.test_middling import *  # noqa: E402, F403 - again, in machine code
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


def test_results_that_others_keep() -> None:
    """An array that a function gives, and that somebody else has, too, is copied."""
    kept = host.arange(5_000.0)
    function = Function("draw", lambda size: None, lambda size: kept)
    for _ in range(3):
        lf.materialize(lf.roll(lf.asarray(kept.copy()), 3))  # machine code knows what it is like
        found = lf.asarray(function(0))
        kept[0] += 1.0
        assert float(found[0]) == kept[0] - 1.0
