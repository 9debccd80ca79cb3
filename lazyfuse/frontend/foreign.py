"""Small arrays of other libraries (pandas, xarray, pint) among arguments: NumPy is asked at once.

What their classes make of a ufunc is theirs. Functions that only read, and give small results, get
the objects as they are, since NumPy makes arrays of them in less time than is needed to know them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend import fallback, others, small
from lazyfuse.frontend.array_likes import MET, is_foreign
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.references import alone, is_base_alone
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.small import KNOWN, LARGE
from lazyfuse.frontend.windows import largest
from lazyfuse.ops.rules import Rule
from lazyfuse.runtime import under_way

Method = Callable[..., Any]

#: Functions whose result is as large as the first argument; others of their rule have larger ones.
_LIKE = (np.empty_like, np.zeros_like, np.ones_like, np.full_like)
#: Rules of functions that write, or whose results are larger than what they are given.
_OTHERS = (Rule.NONE, Rule.PLACES, Rule.INTO, Rule.OUTER)


def of_ufunc(ufunc: np.ufunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a ufunc is by the class of an operand that overrides it, for the user; LARGE where none
    does, arrays of ours are among the operands, or `fuse` records, whose numbers are of such a
    class. Raises: what it does."""
    if not any(map(others.overrides, args)) or under_way.is_recording():
        return LARGE
    if _has_ours((*args, *kwargs.values())):
        return LARGE
    fallback.announce(ufunc.__name__, "NumPy")
    found = fallback.called(ufunc, list(args), dict(kwargs))
    if isinstance(found, np.ndarray | tuple | list):
        return fallback.Results({}, args, alone(found)).of(found)
    return found


def _has_ours(values: Sequence[Any]) -> bool:
    return any(
        _has_ours(value) if type(value) in (tuple, list) else isinstance(value, Handle)
        for value in values
    )


class _Given(small.Lowering):
    """Arguments for NumPy, with small arrays of other libraries among them. `sizes`: of those."""

    def __init__(self, allowed: int) -> None:
        super().__init__(allowed)
        self.sizes: set[int] = set()

    def all_sizes(self) -> set[int]:
        """The sizes of all arrays, ours and NumPy's among them."""
        return self.sizes | {each.size for each in self.arrays}

    def other(self, value: Any) -> Any:
        kind = type(value)
        if not is_foreign(kind) or kind in MET:
            return super().other(value)
        shape = getattr(value, "shape", None)
        if type(shape) is not tuple or not all(type(count) is int for count in shape):
            raise small.Large
        size = math.prod(shape)
        if size > self.allowed:
            raise small.Large
        self.sizes.add(size)
        return value


def with_foreign(engine: Method, plain: Method, rule: Rule) -> Method:
    """`engine`, a function of the namespace, with NumPy's beside it for such arrays; `rule` as in
    `ops/rules.py`."""
    is_like, asks_others = plain in _LIKE, getattr(engine, "asks_others", False)
    if rule in _OTHERS or rule is Rule.TIMES and not is_like:
        return engine

    @wraps(engine)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not any(map(_is_given, args[:3])) or is_like and "shape" in kwargs:
            return engine(*args, **kwargs)
        is_decided = others.decide(plain, args, kwargs)
        if is_decided and asks_others and small.OWN_WORDS.isdisjoint(kwargs):
            return others.call(plain, args, kwargs)
        if is_decided:
            return engine(*args, **kwargs)
        found = _computed(plain, rule, args, kwargs)
        return engine(*args, **kwargs) if found is LARGE else found

    return function


def _is_given(value: Any) -> bool:
    """Whether an argument, or the first item of a list, is an array of another library's."""
    kind = type(value)
    if kind is list or kind is tuple:
        return bool(value) and is_foreign(type(value[0]))
    return is_foreign(kind)


def _computed(plain: Method, rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy's gives for small arrays, some of which are of other libraries;
    LARGE where others decide on it, or the result may be large. Raises: what it does."""
    limit = largest()
    if not limit or "out" in kwargs or not small.OWN_WORDS.isdisjoint(kwargs):
        return LARGE
    if config.current().fallback != "silent":
        return LARGE
    lowering = _Given(limit)
    try:
        given = [lowering.lower(arg) for arg in args]
        named = {key: lowering.lower(value) for key, value in kwargs.items()}
    except small.Large:
        return LARGE
    if rule in _BROADCAST and len(lowering.all_sizes()) > 1:
        return LARGE
    found = fallback.called(plain, given, named)
    if type(found) in SCALARS:
        return found
    kept = alone(found)
    if type(found) is np.ndarray and found.dtype in KNOWN and found.size <= limit:
        if id(found) in kept and found.base is None and found.flags.owndata:
            return small_array(found)
        if not lowering.arrays and not _is_view_of_new(found):
            return small_array(found.copy(order="K"))  # memory of an operand's
    ours = {id(each._host): each for each in lowering.arrays if isinstance(each, Handle)}
    return fallback.Results(ours, given, kept).of(found)


#: Rules of results that are larger than the operands where these are of several sizes.
_BROADCAST = (Rule.SPREAD, Rule.PAIR)


def _is_view_of_new(array: np.ndarray) -> bool:
    """Whether a new array is one view of an array that nobody else has."""
    base = type(array.base) is np.ndarray and array.base.flags.owndata
    return base and is_base_alone(array, 1)
