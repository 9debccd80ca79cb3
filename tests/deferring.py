"""Operations on small arrays that are put off from the first time on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lazyfuse as lf
from lazyfuse.frontend import deferred, fused, native_methods, tapes


@contextmanager
def deferring(
    *, smallest: int = 1, hot: int = 0, worth: int = 1, filters: bool = True
) -> Iterator[None]:
    """Put off what can be, on arrays of any size, with `filters` under any filters of warnings;
    one call does it from the third time on.
    """
    native_methods.make_native(lf.LazyArray)
    normal = tapes.WORTH, deferred.PATIENCE, fused.CALLS_OF_FEW
    tapes.WORTH, deferred.PATIENCE, fused.CALLS_OF_FEW = worth, 1 << 40, 0
    deferred.tune(smallest, hot)
    deferred.look_at_all(filters=filters)
    try:
        yield
    finally:
        deferred.settle()
        tapes.WORTH, deferred.PATIENCE, fused.CALLS_OF_FEW = normal
        deferred.tune(deferred.SMALLEST, deferred.HOT)


def is_deferred(array: Any) -> bool:
    """Whether an array has no contents so far; asking does not give it any."""
    try:
        deferred.own_host(array)
    except AttributeError:
        return True
    return False


def replays() -> int:
    """How many tapes have been one call so far."""
    return sum(program.replays for program in deferred.programs())
