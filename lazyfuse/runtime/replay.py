"""Recordings of `fuse` for machine code: what `backends/cpu/replay.py` reads is written here.

A fused function owns `Entries`. Each entry says for which calls it stands, by what was *seen* of
one of them, and what is done for such a call: a kernel is run, or an object is called. Entries are
added and never taken away; what they refer to lives as long as they do. Where machine code cannot
be had, `install` says so, and the Python method does the same as ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.config import Options
from lazyfuse.forks import guarded
from lazyfuse.ir.form import Form
from lazyfuse.locks import RLock
from lazyfuse.runtime.replay_code import hire, layout
from lazyfuse.runtime.replay_run import Run, Words

ARGUMENT, NAME, CELL = range(3)
#: What a name stands for that a module has not (one of Python's own), and a cell without content.
MISSING = object()


class Small(NamedTuple):
    """What NumPy's arrays are like, and small arrays: `strides` in bytes, None where they are
    C-contiguous. The arrays themselves are not kept."""

    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...] | None = None


class Large(NamedTuple):
    """What arrays of the engine are like."""

    form: Form
    device: str


class Seen(NamedTuple):
    """One value that a call depends on, and where it was found.

    source, where: ARGUMENT and its number; NAME, and a dict and the name in it; CELL and the cell.
    value: what an array is like, else the object.
    mark: what is equal for values that do as well, as `marker` gives it (None: as usual).
    is_fixed: the object itself always does. names: of an object that does while its attributes do,
    which are seen by themselves, their dict. is_any: all others of its type do.
    """

    source: int
    where: Any
    value: Any
    mark: Any = None
    is_fixed: bool = False
    names: dict[str, Any] | None = None
    is_any: bool = False
    marker: Callable[[Any], Any] | None = None


def own_names(value: Any) -> dict[str, Any] | None:
    """A dict of names, or that of an object's attributes; None for others, and where machine code
    would not find the same one."""
    names = value if type(value) is dict else getattr(value, "__dict__", None)
    if type(names) is not dict or any(type(name) is not str for name in names):
        return None
    try:
        return names if names is value or _dict_of(value) is names else None
    except AttributeError:
        return None


_dict_of = ctypes.pythonapi.PyObject_GenericGetDict
_dict_of.restype, _dict_of.argtypes = ctypes.py_object, (ctypes.py_object,)


class Call(NamedTuple):
    """The calls that an entry stands for: so many arguments by position, names of the others,
    options, and what was seen."""

    positional: int
    names: tuple[str, ...]
    options: Options
    seen: Items[Seen]

    @property
    def may_be_pending(self) -> bool:
        """Whether there are arrays of the engine among the arguments."""
        return any(type(seen.value) is Large for seen in self.seen)

    def is_memory(self, number: int) -> bool:
        """Whether an argument is an array of the engine."""
        value = next(seen.value for seen in self.seen if seen[:2] == (ARGUMENT, number))
        return type(value) is Large


_adding = guarded(RLock())


class Entries:
    """The entries of one function; `head` is what the code looks for in the function."""

    def __init__(self) -> None:
        self.head = np.zeros(1, np.int64)
        self._entries: list[np.ndarray] = []
        self._crews: dict[Hashable, int] = {}
        self._words = Words()
        self._last = self.head

    @property
    def replays(self) -> int:
        """Kernels that the code has run."""
        return sum(int(entry[layout().ENTRY["REPLAYS"]]) for entry in self._entries)

    def add(self, key: Hashable, call: Call, does: Run | Callable[..., Any]) -> None:
        """Let calls like this one be done so."""
        codes = layout()
        read = set(does.arguments) if isinstance(does, Run) else set()
        checks = [_check(seen, read) for seen in call.seen]
        pairs = list(zip(checks, call.seen, strict=True))
        pairs.sort(key=lambda pair: pair[0] == codes.MARK)  # dear ones last
        guards = [_guard(seen, check, self._words.kept) for check, seen in pairs]
        words = {
            "OPTIONS": id(call.options),
            "POSITIONAL": call.positional,
            "NAMES": id(call.names) if call.names else 0,
            "GUARD_COUNT": len(guards),
            "GUARDS": self._words.table(guards),
        }
        if isinstance(does, Run):
            words |= self._words.run(does, call.is_memory)
            if does.helpers:
                self._crews[key] = does.helpers
                hire(does.helpers)
        else:
            words["CALLABLE"] = id(does)
        entry = self._words.filled(codes.ENTRY, words)
        self._words.kept += [call, does]
        with _adding:
            self._entries.append(entry)
            self._last[0], self._last = entry.ctypes.data, entry  # NEXT is the first word

    def hire(self, key: Hashable) -> None:
        """Have the workers of a call, which a forked child has not."""
        if key in self._crews:
            hire(self._crews[key])


def _guard(seen: Seen, check: int, kept: list[Any]) -> tuple[int, ...]:
    """The words of a guard; what they refer to is added to `kept`."""
    codes, value = layout(), seen.value
    where, space, expected, extents, shape, strides = seen.where, 0, value, 0, 0, 0
    if seen.source == NAME:
        names, where = seen.where
        space = id(names)
    if check == codes.SMALL:
        expected, extents = value.dtype, len(value.shape)
        words = np.array((value.shape, value.strides or value.shape), np.int64)
        shape = int(words.ctypes.data)
        strides = 0 if value.strides is None else shape + 8 * extents
        kept.append(words)
    elif check in (codes.LARGE, codes.READY):
        expected, extents = value.form, id(value.device)
        shape = id(expected.layout)
        kept.append(value.device)
    elif check == codes.OWN:
        assert seen.names is not None
        order = list(seen.names)
        extents, shape = id(order), id(seen.names)
        kept += [order, seen.names]
    elif check == codes.MARK:
        expected, extents = seen.mark, id(seen.marker) if seen.marker else 0
    kept += [seen, expected]
    place = where if seen.source == ARGUMENT else id(where)
    what = 0 if expected is MISSING else id(expected)
    fixed, kind = int(seen.is_fixed), id(type(value))
    return seen.source, place, space, check, what, fixed, extents, shape, kind, strides


def _check(seen: Seen, read: set[int]) -> int:
    """How machine code looks at a value; `read` are the arguments that a kernel reads."""
    codes, kind = layout(), type(seen.value)
    if kind is Small:
        return int(codes.SMALL)
    if kind is Large:
        return int(codes.READY if seen.where in read else codes.LARGE)
    if seen.is_any:
        return int(codes.ANY)
    if not seen.is_fixed:
        return int(codes.MARK if seen.names is None else codes.OWN)
    if kind in (float, np.float64):
        return int(codes.BITS)
    return int(codes.EQUAL if kind in _COMPARED else codes.SAME)


#: Types whose equal objects do the same, and which compare without running Python.
_COMPARED = frozenset((int, str, bytes, *(np.dtype(code).type for code in "bhilBHIL")))
