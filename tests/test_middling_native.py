"""Arrays that are larger than small ones, in computed memory, in machine code: as in Python."""

from __future__ import annotations

import gc
import weakref

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import adopting  # noqa: E402
from lazyfuse.frontend.function import Function  # noqa: E402
from tests.test_found_defects_fuzz import (  # noqa: E402 - again, in machine code
    test_shapes_with_more_axes_than_elements as test_shapes_with_more_axes,  # noqa: F401
)
from tests.test_middling import *  # noqa: E402, F403 - again, in machine code
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("by", ("position", "name"))
def test_results_that_others_keep(by: str) -> None:
    """An array that a function gives, and that somebody else has, too, is copied."""
    kept = host.arange(5_000.0)
    function = Function("draw", lambda size: None, lambda size: kept)
    for _ in range(3):
        lf.materialize(lf.roll(lf.asarray(kept.copy()), 3))  # machine code knows what it is like
        found = lf.asarray(function(0) if by == "position" else function(size=0))
        kept[0] += 1.0
        assert float(found[0]) == kept[0] - 1.0


@pytest.mark.cpu("results at once")
def test_prototypes_that_somebody_refers_to() -> None:
    """Weak references to a prototype were those of each copy: an endless loop when one went."""
    array = lf.array(host.arange(5_000.0))
    lf.materialize(array)
    adopting.PROTOTYPES.clear()  # else those of any shape are enough
    for _ in range(3):
        lf.roll(array, 3)
    known = adopting.PROTOTYPES[array.dtype, array.shape][:3]
    references = [weakref.ref(prototype) for prototype in known]
    copies = [lf.roll(array, 3) for _ in range(3)]
    own = [weakref.ref(copy) for copy in copies]
    del copies
    gc.collect()
    assert [each() for each in own] == [None] * 3
    assert [each() is prototype for each, prototype in zip(references, known, strict=True)]
