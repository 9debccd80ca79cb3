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
from lazyfuse.frontend.signature import plain_mark
from lazyfuse.frontend.small import KNOWN

#: Objects in a call, and containers in one another; calls with more are left to the function.
_MOST, _DEEPEST = 256, 6


class Structure(NamedTuple):
    """A container without its leaves, which are None in `items`. `keys` are a dict's, and `marks`
    tell those apart that are equal."""

    kind: type
    keys: tuple[Any, ...]
    marks: Any
    items: tuple[Structure | None, ...]


def taken_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]] | None:
    """The structure and the leaves of a call; None where no container holds arrays, for what is
    too much, and where a container holds code, which may read anything."""
    given = (*args, *kwargs.values())
    if not any(map(_is_container, given)):
        return None
    leaves: list[Any] = []
    looking = _Looking()
    try:
        items = tuple([looking.apart(value, leaves, 0) for value in given])
    except _LeftAloneError:
        return None
    return (Structure(tuple, tuple(kwargs), None, items), leaves) if any(items) else None


class _LeftAloneError(Exception):
    """A call is not taken apart."""


class _Looking:
    """A walk through the arguments of a call, of which some may hold themselves."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST

    def apart(self, value: Any, leaves: list[Any], depth: int) -> Structure | None:
        """The structure of a container of arrays, whose leaves are added; None for a leaf. Raises:
        _LeftAloneError."""
        self._left -= 1
        if self._left < 0 or depth and _is_code(value):
            raise _LeftAloneError
        if depth < _DEEPEST and _is_container(value) and len(value) <= _MOST:
            kind = type(value)
            held: Any = value.copy() if kind is dict else tuple(value)  # others may change it
            keys, each = (tuple(held), held.values()) if kind is dict else ((), held)
            marks = _marks(keys)
            inside: list[Any] = []
            items = tuple([self.apart(item, inside, depth + 1) for item in each])
            if marks is not None and (any(items) or any(map(_is_array, inside))):
                leaves += inside
                return Structure(kind, keys, marks, items)
        leaves.append(value)
        return None


def _is_container(value: Any) -> bool:
    kind = type(value)
    return kind is dict or kind is list or kind is tuple or is_named(value)


def _is_code(value: Any) -> bool:
    """Whether an object in a container is a function or the like, other than NumPy's and ours."""
    if not callable(value) or isinstance(value, Itself | np.ufunc | np.dtype | Handle):
        return False
    return not isinstance(value, type) or value not in _TYPES


#: Types that stay what they are.
_TYPES = frozenset((bool, int, float, complex, *(dtype.type for dtype in KNOWN)))


def _is_array(value: Any) -> bool:
    return isinstance(value, Handle | np.ndarray)


def _marks(keys: tuple[Any, ...]) -> Any:
    """What tells the keys of a dict from their equals (1 and True); None where nothing does."""
    return () if all(type(key) is str for key in keys) else plain_mark(keys)


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
        made: list[tuple[Any, list[Any]]] = []
        waiting = iter(leaves)
        given = [_together(item, waiting, made) for item in self._structure.items]
        names = self._structure.keys
        count = len(given) - len(names)
        words = dict(zip(names, given[count:], strict=True))
        result = self._function(*given[:count], **words)
        if not all(_is_as_it_was(each, before) for each, before in made):
            raise UnfitError("it changes a list or a dict that it is given")
        if _holds(result, {id(each) for each, _ in made}):
            raise UnfitError("it gives a container back that it is given")
        return result


def _together(structure: Structure | None, leaves: Any, made: list[tuple[Any, list[Any]]]) -> Any:
    """A new container of the next leaves, which is noted with what is in it."""
    if structure is None:
        return next(leaves)
    items = [_together(item, leaves, made) for item in structure.items]
    kind: Any = structure.kind
    if kind is dict:
        value: Any = dict(zip(structure.keys, items, strict=True))
        made.append((value, [*structure.keys, *items]))
        return value
    value = kind(items) if kind in (list, tuple) else kind._make(items)
    made.append((value, items))
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
