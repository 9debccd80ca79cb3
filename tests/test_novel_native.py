"""What is new to a line is computed at once in machine code: as Python does it, and no reference
lost."""

from __future__ import annotations

import gc
import sys

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_novel import *  # noqa: E402, F403 - again, in machine code
from tests.test_novel import EXPRESSIONS, VALUES, WRITES, evaluated, made  # noqa: E402


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away."""
    ours = {name: made(value) for name, value in VALUES.items()}
    kept = (lf.LazyArray, host.dtype("f8"), host.dtype("i8"), type(ours["x"]._storage.node.buffer))

    def run() -> None:
        for source in EXPRESSIONS:
            evaluated(source, lf, ours)
        for write in WRITES.values():
            write(made(VALUES["x"]), ours["y"])
        for length in range(4_000, 4_020):  # of no known shape
            ours["line"][:length] * 2.0

    def counts(times: int) -> list[int]:
        for _ in range(times):
            run()
        gc.collect()
        return [sys.getrefcount(each) for each in kept] + [len(gc.get_objects())]

    counts(3)
    before = counts(2)
    after = counts(2)
    assert all(abs(now - then) < 25 for now, then in zip(after, before, strict=True)), (
        before,
        after,
    )
