"""The attributes of classes that have slots, to copy objects and to write them down."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple


class Slots(NamedTuple):
    """The names of the attributes, those of the class itself first, and what gets all values."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]


def slots_of(kind: type) -> Slots:
    """The attributes of objects of a class."""
    found = _KNOWN.get(kind)
    if found is None:
        slots = [slot for base in kind.__mro__ for slot in getattr(base, "__slots__", ())]
        names = tuple([slot for slot in slots if slot != "__weakref__"])
        found = _KNOWN[kind] = Slots(names, attrgetter(*names))
    return found


_KNOWN: dict[type, Slots] = {}
