"""References that are kept for ever or given away, found by repeating what may lose them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

WINDOWS = 5


def assert_nothing_is_lost(
    run: Callable[[], object], kept: Sequence[object], *, known: int, rounds: int
) -> None:
    """Neither of what is `kept` nor of other objects, once `known` rounds have been run.

    What is lost is lost in each round, so in each window of `rounds`; what plans, kernels and
    threads of other tests keep once is met by one window or another and passes.
    """

    def counts(times: int) -> list[int]:
        for _ in range(times):
            run()
        while gc.collect():  # what finalizers let go, too
            pass
        return [*map(sys.getrefcount, kept), len(gc.get_objects())]

    before = counts(known)
    for _ in range(WINDOWS):
        after = counts(rounds)
        grown = [now - then for now, then in zip(after, before, strict=True)]
        if all(abs(each) < rounds for each in grown):
            return
        before = after
    raise AssertionError(f"in {rounds} rounds {grown} references and objects more")
