"""Counting runs without a lock."""

from __future__ import annotations

import gc

import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

if not oracle.IS_ENGINE:
    pytest.skip("the engine counts", allow_module_level=True)

from lazyfuse.runtime import tallies  # noqa: E402 - when there is an engine


def test_tallies() -> None:
    """Counts from many threads come in once, also those of a tally that is gone."""
    gc.collect()
    lf.reset_stats()
    counts = [tallies.tally(plan_hits=1, bytes_read=10)]
    known = len(tallies._tallies)

    def work(number: int) -> None:
        for _ in range(100):
            counts[0]()
            lf.stats()

    concurrently(work, [(number,) for number in range(4)])
    assert (lf.stats().plan_hits, lf.stats().bytes_read) == (400, 4000)
    assert len(tallies._tallies) == known
    counts.pop()()
    assert lf.stats().plan_hits == 401 and len(tallies._tallies) == known - 1
    lf.reset_stats()
    assert lf.stats().plan_hits == 0
