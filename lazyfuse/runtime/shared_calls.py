"""Ufuncs that NumPy computes: large ones into memory that is there, by several threads.

NumPy computes by one thread, and what it allocates costs a fault for each page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lazyfuse.interrupts import side_by_side
from lazyfuse.processors import default_threads
from lazyfuse.runtime.conditions import collect

#: Bytes from which NumPy's results go to memory of the pool: a fault costs 2.5 us.
POOLED = 1 << 17
#: Elements that are worth a thread, whose start takes 50 us; an element 2 ns at least.
_EACH = 1 << 16


def compute(
    ufunc: np.ufunc, operands: Sequence[np.ndarray], target: np.ndarray, *, threads: int
) -> int:
    """Write what an elementwise ufunc gives, and return the conditions that it met. Operands have
    the dtypes of its loop and broadcast to the shape of `target`, which has an axis; 0 of
    `threads` stands for all there are."""
    axis = int(np.argmax(target.shape))
    length = target.shape[axis]
    count = min(threads or default_threads(), target.size // _EACH, length) or 1
    cuts = [length * part // count for part in range(count + 1)]

    def part(start: int, stop: int) -> Callable[[], int]:
        key = (*[slice(None)] * axis, slice(start, stop))
        own = [np.broadcast_to(operand, target.shape)[key] for operand in operands]
        return lambda: collect(lambda: ufunc(*own, out=target[key]))[1]

    met = 0
    for bits in side_by_side([part(*ends) for ends in zip(cuts, cuts[1:], strict=False)]):
        met |= bits
    return met
