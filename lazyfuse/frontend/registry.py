"""Names -> our functions, for `__array_function__`: those of submodules are dotted.
`namespace.py` fills it from its tables when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Itself:
    """Objects of which a recording depends on which one it is alone."""


NATIVE: dict[str, Any] = {}
#: What puts operations off (`deferred.py`), where there is machine code.
DEFER: list[Callable[..., Any]] = []
#: What settles what is put off; whether there was anything.
SETTLE: list[Callable[[], bool]] = []
#: What makes those that are made when they are asked for.
MADE_LATE: dict[str, Callable[[str], Any]] = {}


def find(name: str) -> Any:
    """Our function of a name, or None."""
    make = MADE_LATE.get(name)
    return NATIVE.get(name) if make is None else make(name)
