"""Arguments of functions under `fuse` that are containers of arrays: lists, tuples, named tuples
and dicts, in one another.

A call is taken apart into its structure and its leaves. For each structure there is a function of
the leaves (`Spread`), which puts new containers together and calls the user's: that one is
recorded. So a model's parameters in a dict cost what they would one by one.

    step({"w": w, "b": b}, (x, y), rate=0.1)    ->    Spread(step, ...)(w, b, x, y, 0.1)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.recording import UnfitError, is_named
from lazyfuse.frontend.registry import Itself
from lazyfuse.frontend.signature import NUMBERS, plain_mark
from lazyfuse.frontend.small import KNOWN

#: Objects in a call, and containers in one another; calls with more are left to the function.
_MOST, _DEEPEST = 256, 6


class Again(NamedTuple):
    """A container, or a leaf, that has come before: the function may ask which is which."""

    is_leaf: bool
    number: int


class Structure(NamedTuple):
    """A container without its leaves, which are None in `items`. `keys` are a dict's, and `marks`
    tell those apart that are equal."""

    kind: type
    keys: tuple[Any, ...]
    marks: Any
    items: tuple[Structure | Again | None, ...]


def taken_apart(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Structure, list[Any]] | None:
    """The structure and the leaves of a call; None where no container holds arrays, for what is
    too much, and where one holds objects that are more than arrays and numbers.
    """
    given = (*args, *kwargs.values())
    if not any(map(_is_container, given)):
        return None
    looking = _Looking()
    try:
        items = tuple([looking.argument(value) for value in given])
    except _LeftAloneError:
        return None
    if not any(isinstance(item, Structure) for item in items):
        return None
    return Structure(tuple, tuple(kwargs), None, items), looking.leaves


class _LeftAloneError(Exception):
    """A call is not taken apart."""


class _Looking:
    """A walk through the arguments of a call, of which some may hold themselves."""

    __slots__ = ("leaves", "_seen", "_containers", "_arrays", "_left")

    def __init__(self) -> None:
        self.leaves: list[Any] = []
        self._seen: dict[int, Again] = {}
        self._containers = self._arrays = 0
        self._left = _MOST

    def argument(self, value: Any) -> Structure | Again | None:
        """An argument: a container without arrays is a leaf. Raises: _LeftAloneError."""
        if not _is_container(value):
            return self._leaf(value)
        before = len(self.leaves), dict(self._seen), self._containers, self._arrays
        found = self._apart(value, 0)
        if self._arrays > before[-1]:
            return found
        count, self._seen, self._containers, self._arrays = before
        self.leaves[count:] = [value]
        return None

    def _leaf(self, value: Any) -> Again | None:
        if not isinstance(value, Handle | np.ndarray):
            self.leaves.append(value)
            return None
        self._arrays += 1
        again = self._seen.setdefault(id(value), Again(True, len(self.leaves)))
        if again.number < len(self.leaves):
            return again
        self.leaves.append(value)
        return None

    def _apart(self, value: Any, depth: int) -> Structure | Again | None:
        """The structure of a container, whose leaves are added. Raises: _LeftAloneError."""
        self._left -= 1
        if self._left < 0:
            raise _LeftAloneError
        if not _is_container(value):
            if not _is_plain(value):
                raise _LeftAloneError
            return self._leaf(value)
        if id(value) in self._seen:
            self._arrays += 1  # it is in what holds some
            return self._seen[id(value)]
        if depth == _DEEPEST or len(value) > _MOST:
            raise _LeftAloneError
        kind = type(value)
        held: Any = value.copy() if kind is dict else tuple(value)  # others may change it
        keys, each = (tuple(held), held.values()) if kind is dict else ((), held)
        marks = () if all(type(key) is str for key in keys) else plain_mark(keys)
        if marks is None:
            raise _LeftAloneError
        items = tuple([self._apart(item, depth + 1) for item in each])
        self._seen[id(value)] = Again(False, self._containers)
        self._containers += 1
        return Structure(kind, keys, marks, items)


def _is_container(value: Any) -> bool:
    kind = type(value)
    return kind is dict or kind is list or kind is tuple or is_named(value)


def _is_plain(value: Any) -> bool:
    """Whether an object in a container is no more than what is known of it."""
    if isinstance(value, Handle | np.ndarray | np.generic | np.dtype | np.ufunc | Itself):
        return True
    return value is None or type(value) in NUMBERS or isinstance(value, type) and value in _TYPES


#: Types that stay what they are.
_TYPES = frozenset((bool, int, float, complex, *(dtype.type for dtype in KNOWN)))


class Spread:
    """A function as one of the leaves of calls with a structure. `instead` is called where `skip`
    is, with the containers of the call."""

    __slots__ = ("_function", "_structure", "_instead", "_calls")

    def __init__(
        self, function: Callable[..., Any], structure: Structure, instead: Callable[..., Any]
    ) -> None:
        self._function, self._structure, self._instead = function, structure, instead
        self._calls = threading.local()  # the user's own arguments of calls under way

    def call(
        self, fused: Callable[..., Any], leaves: Sequence[Any], args: Any, kwargs: Any
    ) -> Any:
        """Call `fused`, which is this function, with the leaves of these arguments."""
        before = getattr(self._calls, "own", None)
        self._calls.own = args, kwargs
        try:
            return fused(*leaves)
        finally:
            self._calls.own = before

    def skip(self, *_leaves: Any) -> Any:
        """What is called where the function would be, with the user's own containers."""
        args, kwargs = self._calls.own
        return self._instead(*args, **kwargs)

    def __call__(self, *leaves: Any) -> Any:
        """The function's result. Raises: UnfitError where it changes a container or gives one
        back, and what the function raises."""
        building = _Building(leaves)
        given = [building.together(item) for item in self._structure.items]
        names = self._structure.keys
        count = len(given) - len(names)
        words = dict(zip(names, given[count:], strict=True))
        result = self._function(*given[:count], **words)
        if not all(_is_as_it_was(each, before) for each, before in building.made):
            raise UnfitError("it changes a list or a dict that it is given")
        if _holds(result, {id(each) for each, _ in building.made}):
            raise UnfitError("it gives a container back that it is given")
        return result


class _Building:
    """New containers of leaves; `made` has each with what is in it."""

    __slots__ = ("made", "_leaves", "_next")

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.made: list[tuple[Any, list[Any]]] = []
        self._leaves, self._next = leaves, 0

    def together(self, item: Structure | Again | None) -> Any:
        """The next leaf, or the next container of leaves."""
        if item is None:
            self._next += 1
            return self._leaves[self._next - 1]
        if isinstance(item, Again):
            return self._leaves[item.number] if item.is_leaf else self.made[item.number][0]
        items = [self.together(each) for each in item.items]
        kind: Any = item.kind
        if kind is dict:
            value: Any = dict(zip(item.keys, items, strict=True))
            self.made.append((value, [*item.keys, *items]))
        else:
            value = kind(items) if kind in (list, tuple) else kind._make(items)
            self.made.append((value, items))
        return value


def _is_as_it_was(value: Any, before: Sequence[Any]) -> bool:
    now = [*value, *value.values()] if type(value) is dict else list(value)
    return len(now) == len(before) and all(map(_is, now, before))


def _is(one: Any, other: Any) -> bool:
    return one is other


def _holds(value: Any, made: set[int]) -> bool:
    """Whether a result is, or holds, one of the containers with these identities."""
    if id(value) in made:
        return True
    if isinstance(value, dict):
        return any(_holds(item, made) for item in value.values())
    return isinstance(value, list | tuple) and any(_holds(item, made) for item in value)
