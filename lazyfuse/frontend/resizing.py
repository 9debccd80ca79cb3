"""`x.resize(shape)`: in place for small arrays, which are NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lazyfuse.runtime.caller import call_as_user


def resize(engine: Callable[..., Any]) -> Callable[..., Any]:
    """`x.resize(shape)`: NumPy resizes a copy, in whose memory the array is from then on; views
    keep the memory that it had."""

    def call(self: Any, *new_shape: Any, refcheck: Any = True) -> None:
        host = self._host
        if host is None:
            engine(self, *new_shape, refcheck=refcheck)
            return
        operator.index(refcheck)
        is_own = host.flags.owndata and host.flags.forc and self._owner is None
        resized = host.copy(order="K") if is_own else host  # NumPy refuses, or it stays
        call_as_user(resized.resize, *new_shape, refcheck=False)
        if resized.size == host.size:
            call_as_user(host.resize, *new_shape, refcheck=False)
        else:
            self._host = resized

    return call
