"""The same in machine code, and no reference lost."""

from __future__ import annotations

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_lines import *  # noqa: E402, F403 - again, in machine code
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.mark.cpu("results at once")
def test_no_reference_is_lost() -> None:
    x = lf.asarray(host.arange(90_000.0).reshape(300, 300)) * 1.0
    line, small = lf.arange(90_000.0), lf.arange(300.0)
    where = lf.asarray(host.arange(90_000) % 250)
    outside = lf.asarray(host.full(3, 400))

    def run() -> None:
        for part in (x[3:6, 4:7], x[:, 5][::2], x[::-1][2:4]):
            part.reshape(-1)
            part.ravel()
        line[where[3:60]], small[where[3:60]]
        with pytest.raises(IndexError):
            small[outside]
        lf.add(x[1], small, out=x[2])
        lf.add(x[1], small, out=small)
        lf.less(x[1], small, out=lf.zeros(300, bool))

    kept = (x, x._storage, line._storage, small, small._host, where._storage, x.dtype)
    assert_nothing_is_lost(run, kept, known=20, rounds=20)
