"""Counting runs that are too short for counters with a lock: who runs a plan counts that it ran,
and what that means is added up when somebody looks at the totals.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from sys import getrefcount

from lazyfuse import events
from lazyfuse.forks import guarded
from lazyfuse.locks import RLock
from lazyfuse.runtime.session import kernels

#: Tallies beyond which those that nobody counts with any more are looked for.
_MANY = 4096


class _Tally:
    """What one run adds to the totals. `number` counts the runs, and the looks at it; `seen` of
    both are known."""

    __slots__ = ("number", "amounts", "seen")

    def __init__(self, amounts: Mapping[str, int]) -> None:
        self.number, self.amounts, self.seen = itertools.count(), amounts, 0

    def runs(self) -> int:
        """The runs since this was asked last."""
        now = next(self.number)
        before, self.seen = self.seen, now + 1
        return now - before

    def holders(self) -> int:
        """References to what counts, as this function sees them."""
        return getrefcount(self.number)


#: Where nobody counts with it.
_ALONE = _Tally({}).holders()
_tallies: list[_Tally] = []
_lock = guarded(RLock())


def tally(**amounts: int) -> Callable[[], object]:
    """What counts a run, which adds these amounts to the totals: from any thread, at any time."""
    made = _Tally(amounts)
    count = made.number.__next__
    with _lock:
        _tallies.append(made)
    if len(_tallies) > _MANY:
        events.collect()
    return count


def _counted() -> dict[str, int]:
    """What has been counted since this was asked last."""
    found: Counter[str] = Counter()
    with _lock:
        over = {each for each in _tallies if each.holders() == _ALONE}
        for each in _tallies:
            runs = each.runs()
            if runs:
                found.update({name: runs * amount for name, amount in each.amounts.items()})
        if over:
            _tallies[:] = [each for each in _tallies if each not in over]
    kernels.count_hits(found["cache_hits"])
    return dict(found)


events.count_elsewhere(_counted)
