"""Where numbers stand among the arguments of a call: by themselves, in tuples, lists and
dicts; and which of them a signature of `fuse` leaves open.

A path is the number of an argument, then an index or a key for each container on the way:

    step(u, (0.1, {"by": 2}))    ->    {(1, 0): 0.1, (1, 1, "by"): 2}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.registry import Itself
from lazyfuse.frontend.signature import DEEPEST, MOST_INSIDE, plain_mark, seen_plain
from lazyfuse.frontend.varying import KINDS
from lazyfuse.runtime.replay import ARGUMENT, Large, Seen, Small

Path: TypeAlias = tuple[Any, ...]


class AnyNumber(Itself):
    """What stands in a signature for a number of any value."""


ANY: Mapping[type, AnyNumber] = {kind: AnyNumber() for kind in KINDS}


def numbers_in(given: Sequence[Any]) -> dict[Path, Any]:
    """The numbers among arguments; none where there are very many."""
    found: dict[Path, Any] = {}
    waiting: list[tuple[Path, Any]] = [((place,), value) for place, value in enumerate(given)]
    for path, value in waiting:  # which grows
        kind = type(value)
        if kind in ANY:
            found[path] = value
        elif kind in _CONTAINERS and len(path) <= DEEPEST and len(value) <= MOST_INSIDE:
            items = value.items() if kind is dict else enumerate(value)
            waiting += [((*path, key), item) for key, item in items]
            if len(waiting) > _MOST_LOOKED_AT:
                return {}
    return found


#: Items of all containers together; of more, all numbers belong to the signature.
_MOST_LOOKED_AT = 256


_CONTAINERS = frozenset((tuple, list, dict))


def replaced(given: Sequence[Any], by: Mapping[Path, Any]) -> list[Any]:
    """Arguments with others in some places, in new containers."""
    inside = {path[:length] for path in by for length in range(1, len(path))}
    if not inside:
        return [by.get((place,), value) for place, value in enumerate(given)]
    return [_replaced((place,), value, by, inside) for place, value in enumerate(given)]


def _replaced(path: Path, value: Any, by: Mapping[Path, Any], inside: set[Path]) -> Any:
    if path not in inside:
        return by.get(path, value)
    items = value.items() if type(value) is dict else enumerate(value)
    made = {key: _replaced((*path, key), item, by, inside) for key, item in items}
    return made if type(value) is dict else type(value)(made.values())


class OpenMark:
    """The mark of an argument, in which numbers at some paths may be others of their type."""

    def __init__(self, paths: Collection[Path]) -> None:
        self._paths = [(0, *path[1:]) for path in paths]

    def __call__(self, value: Any) -> Any:
        found = numbers_in((value,))
        by = {path: ANY[type(found[path])] for path in self._paths if path in found}
        return plain_mark(*replaced((value,), by))


class Family:
    """Calls that differ in the values of numbers alone.

    varying: the places where they have been seen to differ; fixed: those of which the function
    wants to know the value, so that it remains part of the signature.
    """

    __slots__ = ("varying", "fixed", "_last")

    def __init__(self, numbers: Mapping[Path, Any]) -> None:
        self.varying: frozenset[Path] = frozenset()
        self.fixed: frozenset[Path] = frozenset()
        self._last = _marks(numbers)

    def key(self, numbers: Mapping[Path, Any]) -> tuple[Any, ...]:
        """What tells a call from others with the same signature but for numbers."""
        marks = _marks(numbers)
        if marks != self._last:
            differing = [path for path in marks if marks[path] != self._last[path]]
            self.varying |= frozenset(differing) - self.fixed
            self._last = marks
        return tuple([None if path in self.varying else mark for path, mark in marks.items()])

    def fix(self, places: frozenset[Path]) -> None:
        """The function asks for the values of numbers at these places."""
        self.fixed |= places
        self.varying -= places


def _marks(numbers: Mapping[Path, Any]) -> dict[Path, Any]:
    return {path: plain_mark(value) for path, value in numbers.items()}


def seen_arguments(values: Sequence[Any], varying: Collection[Path]) -> list[Seen]:
    """The arguments of a call, for machine code; numbers at the paths `varying` may be others of
    their type."""
    found: list[Seen] = []
    for number, value in enumerate(values):
        inside = [path for path in varying if path[0] == number]
        if isinstance(value, Handle):
            found.append(Seen(ARGUMENT, number, _large(value) or _small(value._host)))
        elif isinstance(value, np.ndarray):
            found.append(Seen(ARGUMENT, number, _small(value)))
        elif inside == [(number,)]:
            found.append(Seen(ARGUMENT, number, value, is_any=True))
        elif inside:
            marker = OpenMark(inside)
            found.append(Seen(ARGUMENT, number, value, marker(value), marker=marker))
        else:
            found += seen_plain(ARGUMENT, number, value)
    return found


def _small(array: np.ndarray) -> Small:
    strides = None if array.flags.c_contiguous else array.strides
    return Small(array.shape, array.dtype, strides)


def _large(array: Handle) -> Large | None:
    """What an array of the engine is like; None for a small one."""
    if array._host is not None:
        return None
    return Large(array._storage.node.formed(), array._storage.device)
