"""The same in machine code, and no reference lost."""

from __future__ import annotations

from typing import Any

import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_middling_writes import *  # noqa: E402, F403 - again, in machine code
from tests.test_middling_writes import JOINED, PIECES, WRITES, pair  # noqa: E402
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away: of memory, lists and what is in them."""
    x, y = pair(lf)
    items = PIECES["pairs"](lf)
    middle = PIECES["one in the middle"](lf)
    span = range(5)

    def run() -> None:
        for name in ("...", ":", "inside", "copyto", "copyto where", "putmask", "place"):
            WRITES[name](lf, x, y)
        for given in (items, middle, span):
            JOINED["array"](lf, given)
            JOINED["asarray"](lf, given)
        with pytest.raises(ValueError):
            lf.concatenate([*items[:2], *middle])
        lf.materialize(x, y)

    lf.cache_clear()
    kept: list[Any] = [x, y, x._storage, y._storage, items, items[0], items[-1], middle, span]
    assert_nothing_is_lost(run, kept, known=40, rounds=6)
