"""Functions run where their arrays live: what they make on the way is there, too.

NumPy's code makes arrays of numbers and lists, and from nothing; those would be on the default
device, and meet its operands, which may live on another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from lazyfuse import config
from lazyfuse.frontend.handle import Handle
from lazyfuse.runtime import session

Function = Callable[..., Any]

#: Lists inside lists that are looked into: an array has no more axes.
_DEPTH = 64


def at_home(function: Function) -> Function:
    """The function, with the device of its arrays as the default one while it runs, if all live on
    one device."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        home = other_home((*args, *kwargs.values()))
        if home is None:
            return function(*args, **kwargs)
        with config.options(device=home):
            return function(*args, **kwargs)

    return call


def other_home(values: Iterable[Any]) -> str | None:
    """The device on which all arrays among arguments live, where it is not the default one."""
    found = set(_devices(values))
    home = found.pop() if len(found) == 1 else None
    return home if home != session.default_device() else None


def _devices(values: Iterable[Any]) -> Iterator[str]:
    """Those of the arrays of the engine among values, and in lists and tuples that begin with one:
    small ones are nowhere yet."""
    for value in values:
        if isinstance(value, Handle):
            if value._host is None:
                yield value._storage.device
        elif isinstance(value, list | tuple) and _leads_to_array(value):
            yield from _devices(value)


def _leads_to_array(value: Any) -> bool:
    """Whether the first of the first... is an array of ours; lists of numbers are not walked."""
    for _ in range(_DEPTH):
        if not isinstance(value, list | tuple) or not value:
            break
        value = value[0]
    return isinstance(value, Handle)
