"""What stands between the functions of the namespace and the engine's: NumPy's at once, where
operands are parts of the engine's memory (`windows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend import small
from lazyfuse.frontend.array_likes import is_asked
from lazyfuse.frontend.convert import is_for_numpy
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.opened import called, limit_of
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import LARGE
from lazyfuse.frontend.windows import largest
from lazyfuse.ops.rules import LOOKED_AT, SMALL, Middling, Rule
from lazyfuse.ops.shapes import size_of

Method = Callable[..., Any]

#: What machine code saves of an operation here (`rerecord.count`).
_SAVED = 5


def beside(
    engine: Method,
    plain: Method,
    rule: Rule,
    larger: Middling = SMALL,
    announce: Callable[[], None] | None = None,
) -> Method:
    """`engine`, a function of the namespace, with NumPy's beside it; `rule`, `larger` and
    `announce` as in `called`."""
    if rule in (Rule.NONE, Rule.PLACES, Rule.INTO):
        return engine

    is_maker = plain in _MAKERS  # which give what they ask the dtype and whether to copy

    @wraps(engine)
    def function(*args: Any, **kwargs: Any) -> Any:
        found = LARGE
        if is_maker and args and is_asked(type(args[0])):
            return engine(*args, **kwargs)
        if any(map(_is_for_numpy, args[:2])):
            count(_SAVED)
            found = small.at_once(plain, args, kwargs) if largest() else LARGE
        elif _may_be_at_hand(args, larger):
            found = called(plain, args, kwargs, rule, larger=larger, announce=announce)
        return engine(*args, **kwargs) if found is LARGE else found

    return function


_MAKERS = frozenset((np.array, np.asarray, np.asanyarray))


def _is_for_numpy(value: Any) -> bool:
    """Whether an argument, or an item of a short list, is one that NumPy knows best."""
    if type(value) in (list, tuple):
        return len(value) <= LOOKED_AT and any(map(is_for_numpy, value))
    return is_for_numpy(value)


def _may_be_joined(items: Sequence[Any], larger: Middling) -> bool:
    """Whether there are arrays of the engine among items, and these are small together."""
    if are_numbers(items):
        return False
    shapes = [item._layout.shape for item in items if type(item) in ARRAYS and item._host is None]
    return bool(shapes) and sum(map(size_of, shapes)) <= limit_of(larger, 1)


def _may_be_at_hand(args: Sequence[Any], larger: Middling) -> bool:
    """Whether the first argument, where it is an array of the engine, is computed; or one is among
    its items."""
    first: Any = args[0] if args else None
    if type(first) in (list, tuple):
        return _may_be_joined(first, larger) or len(args) > 1
    if type(first) not in ARRAYS or first._host is not None:
        return True
    return first._storage.node.buffer is not None


def unless_given(asarray: Method) -> Method:
    """`asarray`, which gives an array of ours as it is where nothing else is asked for: what most
    functions begin with is then no work."""

    @wraps(asarray)
    def function(*args: Any, **kwargs: Any) -> Any:
        first: Any = args[0] if args else None
        if type(first) is Handle._concrete and _keeps(first, args[1:], kwargs):
            return first  # of a scalar it makes an array
        return asarray(*args, **kwargs)

    return function


def unless_same(astype: Method) -> Method:
    """The method `astype`, which gives an array as it is where it has the dtype and need not be
    copied."""

    @wraps(astype)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_asked = len(args) == len(kwargs) == 1 and kwargs.get("copy") is False
        if is_asked and args[0] is not None and type(self) is Handle._concrete:  # None is a dtype
            if _keeps(self, args, {}):
                return self
        return astype(self, *args, **kwargs)

    return method


def _keeps(array: Any, rest: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether further arguments of `asarray` are none, or the dtype of the array."""
    if not rest and not kwargs:
        return True
    asked = rest[0] if rest else kwargs.get("dtype")
    if len(rest) + len(kwargs) > 1 or not rest and "dtype" not in kwargs:
        return False
    is_type = isinstance(asked, np.dtype) or isinstance(asked, type) and asked in SCALARS
    is_known = is_type or isinstance(asked, str) and asked in _NAMES
    return asked is None or is_known and np.dtype(asked) == array.dtype


#: What dtypes are called.
_NAMES = frozenset(name for dtype in small.KNOWN for name in (dtype.name, dtype.str[1:]))
