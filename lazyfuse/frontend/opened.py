"""Functions and methods of any arguments, where some of these are small parts of the engine's
memory (`windows.py`): NumPy computes them at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend import small
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.references import root
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import KNOWN, LARGE
from lazyfuse.frontend.windows import SAVED, largest, put, reach, spread_size, window
from lazyfuse.ops.rules import SMALL, Middling, Rule
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.caller import call_as_user

Method = Callable[..., Any]


class _Opened(small.Lowering):
    """Arguments for NumPy, with windows in place of small arrays of the engine."""

    def __init__(self, allowed: int, *, writeable: bool) -> None:
        super().__init__(allowed)
        self.windows: list[Any] = []
        self.opens = False
        self._writeable = writeable

    def of_engine(self, array: Handle) -> Any:
        found = window(array, self.allowed) if self.opens else None
        if found is None or found.size > largest() and found.dtype == np.float16:
            raise small.Large
        if self._writeable and type(found) is np.ndarray:
            found.flags.writeable = True
        self.windows.append(found)
        return found

    def lowered(self, args: Sequence[Any], rule: Rule, most: int) -> list[Any]:
        """Arguments by position, of which the first `most` may have windows. Raises: Large."""
        given = []
        for number, arg in enumerate(args[:most]):
            may_be_list = rule in (Rule.FIRST, Rule.ANY, Rule.LISTED)
            is_opened = number < _OPENED.get(rule, most)
            self.opens = is_opened and (may_be_list or type(arg) not in (list, tuple))
            given.append(self.lower(arg))
        self.opens = False
        return given + [self.lower(arg) for arg in args[most:]]

    def by_name(self, key: str, value: Any) -> Any:
        """An argument by name. Raises: Large."""
        self.opens = key in _READ
        return self.lower(value)


#: Keywords of arrays that all functions only read, and that do not make a result larger.
_READ = frozenset(("weights",))
#: How many arguments by position may have windows: what stands behind may be written.
_OPENED = {Rule.FIRST: 1, Rule.SPREAD: 3, Rule.PAIR: 2, Rule.TIMES: 2, Rule.ANY: 3,
           Rule.FEW: 1, Rule.LISTED: 2, Rule.OUTER: 2}  # fmt: skip
#: Where reductions are told the dtype.
_DTYPE_PLACE = 3
#: Arguments by position of functions that may overwrite the first, where that is not said.
_MOST_OF_FEW = 3
#: Keywords that say how large a result is.
_SIZES = frozenset(("shape", "n", "repeats", "reps"))


def called(
    plain: Method,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    rule: Rule,
    most: int = 64,
    larger: Middling = SMALL,
    announce: Callable[[], None] | None = None,
) -> Any:
    """What a function of NumPy's gives for arguments some of which are small arrays of the engine,
    as the user's; LARGE where the engine is to be asked. `most`: the arguments by position of
    which some may be those. `larger`: where they may have more elements than a small array has;
    `announce` is told of those. Raises: what it does, and `announce`."""
    limit = limit_of(larger, len(args) + len(kwargs))
    if not limit or rule is Rule.NONE or not small.OWN_WORDS.isdisjoint(kwargs):
        return LARGE
    if rule is Rule.FIRST and _is_like_result(kwargs.get("out"), args, kwargs):
        without = {key: value for key, value in kwargs.items() if key != "out"}
        found = called(plain, args, without, rule, most, larger, announce)
        out = kwargs["out"]
        return out if type(found) in ARRAYS and put(found, out) else LARGE
    limit = reach(args[:most], limit)
    if args and _is_beyond(args[0], limit) or rule is Rule.FEW and len(args) > _MOST_OF_FEW:
        return LARGE
    opened = _Opened(limit, writeable=larger.writes)
    try:
        given = opened.lowered(args, rule, most)
        named = {key: opened.by_name(key, value) for key, value in kwargs.items()}
    except small.Large:
        return LARGE
    if not opened.windows or not _is_small(rule, [*given[:most], *named.values()], limit):
        return LARGE
    if rule in (Rule.TIMES, Rule.OUTER) and not _SIZES.isdisjoint(kwargs):
        return LARGE
    if announce is not None and any(np.size(each) > largest() for each in opened.windows):
        announce()
    count(SAVED)
    found = call_as_user(plain, *given, **named)
    if small.is_output(found, args[1:]):
        return found
    memory = [id(root(each)) for each in opened.windows]
    if not _is_new(found, memory) and not _is_converted(plain, found, memory):
        return LARGE
    return small.answer(small.lift(found, opened.arrays), kwargs)


def _is_like_result(out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an output is a small part of the engine's memory, into which a result is copied that
    likely has its dtype: else it would be computed for a second time, and warn twice. Products
    want it as they lie."""
    if type(out) not in ARRAYS or out._host is not None or size_of(out._layout.shape) > largest():
        return False
    first: Any = args[0] if args else None
    if type(first) in (list, tuple):
        return True
    is_alike = type(first) in ARRAYS and first._code == out._code
    return is_alike and len(args) < _DTYPE_PLACE and "dtype" not in kwargs


def _is_beyond(first: Any, limit: int) -> bool:
    """Whether a first argument is an array of the engine with too many elements, which
    `_Opened` would find out as well, in twice the time."""
    is_engines = type(first) in ARRAYS and first._host is None
    return is_engines and size_of(first._layout.shape) > limit


def limit_of(larger: Middling, arguments: int) -> int:
    """The largest size of operands of a function of so many arguments; 0 where nothing is to be
    computed at once."""
    small_size = largest()
    is_small = not small_size or larger.alone and arguments > 1
    return small_size if is_small else max(small_size, larger.most)


def _is_small(rule: Rule, given: Sequence[Any], limit: int) -> bool:
    """Whether a result is small that is as large as these arguments together make it."""
    first: Any = given[0]
    if rule is Rule.FIRST and type(first) in (list, tuple):
        return sum(map(np.size, first)) <= limit
    if rule is Rule.TIMES:
        return np.size(first) * math.prod(map(_factor, given[1:])) <= limit
    if rule is Rule.OUTER:
        return np.size(first) * math.prod(map(_values, given[1:])) <= limit
    if rule is Rule.PAIR and max(map(np.ndim, given[:2])) > 2:
        return False
    return rule not in (Rule.SPREAD, Rule.PAIR) or spread_size(given) <= limit


def _values(value: Any) -> float:
    """How many times as large an argument makes a result whose arrays and lists are values."""
    if isinstance(value, np.ndarray):
        return value.size
    if type(value) in (list, tuple):
        return sum(_values(each) if type(each) in (list, tuple) else 1 for each in value)
    return _factor(value)


def _factor(value: Any) -> float:
    """How many times as large an argument may make a result; infinitely many for one that may be
    an array of counts."""
    if isinstance(value, np.ndarray):
        return math.inf if value.dtype.kind in "iu" else value.size
    if type(value) in (list, tuple):
        return math.prod(map(_factor, value))
    return max(int(value), 1) if isinstance(value, int | np.integer) else 1


def _is_converted(plain: Method, found: Any, memory: Sequence[int]) -> bool:
    """Whether a result is numbers as strings, objects and the like, in memory of its own: to make
    these a second time would take as long again, and warn again."""
    return plain is np.ndarray.astype and id(root(found)) not in memory


def _is_new(found: Any, memory: Sequence[int]) -> bool:
    """Whether a result is known all through, and none of it lies in the engine's memory."""
    if type(found) is np.ndarray:
        return found.dtype in KNOWN and id(root(found)) not in memory
    if isinstance(found, tuple | list):
        is_plain = type(found) is list and are_numbers(found)
        return is_plain or all(_is_new(each, memory) for each in found)
    return found is None or type(found) in SCALARS or type(found) in (str, bytes)
