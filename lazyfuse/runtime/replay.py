"""Recordings of `fuse` for machine code: what `backends/cpu/replay.py` reads is written here.

A fused function owns `Entries`. Each entry says for which calls it stands, by what was *seen* of
one of them, and what is done for such a call: a kernel is run, or an object is called. Entries are
added and never taken away; what they refer to lives as long as they do. Where machine code cannot
be had, `install` says so, and the Python method does the same as ever.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.config import Options
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime.arithmetic import NO_NUMBERS, Numbers
from lazyfuse.runtime.replay_code import copy_address, hire, layout
from lazyfuse.runtime.replay_numbers import registers_of, scalars_of, values_of
from lazyfuse.runtime.sequence import Sequence

#: Nanoseconds of a kernel from which other threads of Python may go on meanwhile.
LONG_NS = 20_000.0

#: More calls than will ever run at one time.
MANY = 1 << 40

ARGUMENT, NAME, CELL = range(3)
#: What a name stands for that a module has not (one of Python's own), and a cell without content.
MISSING = object()


class Seen(NamedTuple):
    """One value that a call depends on, and where it was found.

    source, where: ARGUMENT and its number; NAME, and a dict and the name in it; CELL and the cell.
    value: NumPy's array of a small array, the Storage of an array of the engine, else the object.
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
        return any(type(seen.value) is Storage for seen in self.seen)


class Result(NamedTuple):
    """What a kernel gives: a C-contiguous array of NumPy's, or its only element (is_scalar); or,
    where `dtype` is None, what `make` makes of `nbytes` bytes of the engine's memory."""

    shape: tuple[int, ...]
    dtype: np.dtype | None
    is_scalar: bool
    nbytes: int
    make: Callable[[Any], Any] | None = None

    @property
    def row(self) -> tuple[int, int, int]:
        """The words for machine code."""
        if self.dtype is None:
            return id(self.nbytes), 0, id(self.make)
        return id(self.shape), id(self.dtype), int(self.is_scalar)


class Run(NamedTuple):
    """Kernels for the arguments of a call.

    sequence, launches: what is run, and each step prepared. arguments: the number of the argument
    that each leaf is. rebuild: makes what the call gives of the tuple of all results; None for the
    tuple itself, or the only one (is_single). is_told: whether somebody wants to hear of the CPU's
    flags. numbers: those that differ from call to call, each an argument.
    """

    sequence: Sequence
    launches: Items[Any]
    arguments: Items[int]
    results: Items[Result]
    rebuild: Callable[[tuple[Any, ...]], Any] | None
    is_single: bool
    is_told: Callable[[int], bool]
    numbers: Numbers | None = None

    @property
    def helpers(self) -> int:
        """How many workers take part at most."""
        return max(int(launch.helpers) for launch in self.launches)


def prepare(sequence: Sequence, threads: int) -> list[Any] | None:
    """The launches of a sequence, for machine code; None when one needs Python."""
    found = []
    for step in sequence.steps:
        if step.pieces is not None:
            found.append(layout().copying(copy_address(), step.pieces))
        else:
            found.append(step.launch.prepared(threads))
    return found if found and None not in found else None


_adding = threading.Lock()


class Entries:
    """The entries of one function; `head` is what the code looks for in the function."""

    def __init__(self) -> None:
        self.head = np.zeros(1, np.int64)
        self._entries: list[np.ndarray] = []
        self._crews: dict[Hashable, int] = {}
        self._kept: list[Any] = []
        self._last = self.head

    @property
    def replays(self) -> int:
        """Kernels that the code has run."""
        return sum(int(entry[layout().ENTRY["REPLAYS"]]) for entry in self._entries)

    def add(self, key: Hashable, call: Call, does: Run | Callable[..., Any]) -> None:
        """Let calls like this one be done so."""
        codes = layout()
        entry = self._words(len(codes.ENTRY))
        read = set(does.arguments) if isinstance(does, Run) else set()
        checks = [_check(seen, read) for seen in call.seen]
        pairs = list(zip(checks, call.seen, strict=True))
        pairs.sort(key=lambda pair: pair[0] == codes.MARK)  # dear ones last
        guards = [_guard(seen, check, self._kept) for check, seen in pairs]
        words = {
            "OPTIONS": id(call.options),
            "POSITIONAL": call.positional,
            "NAMES": id(call.names) if call.names else 0,
            "GUARD_COUNT": len(guards),
            "GUARDS": self._table(guards),
        }
        words |= self._run(does, call) if isinstance(does, Run) else {"CALLABLE": id(does)}
        for name, word in words.items():
            entry[codes.ENTRY[name]] = word
        if isinstance(does, Run) and does.helpers:
            self._crews[key] = does.helpers
            hire(does.helpers)
        self._kept += [call, does]
        with _adding:
            self._entries.append(entry)
            self._last[0], self._last = entry.ctypes.data, entry  # NEXT is the first word

    def hire(self, key: Hashable) -> None:
        """Have the workers of a call, which a forked child has not."""
        if key in self._crews:
            hire(self._crews[key])

    def _words(self, count: int) -> np.ndarray:
        words = np.zeros(count, np.int64)
        self._kept.append(words)
        return words

    def _table(self, rows: Items[Items[int]]) -> int:
        """The address of rows, one after the other."""
        flat = [word for row in rows for word in row]
        words = self._words(len(flat))
        words[:] = flat
        return int(words.ctypes.data)

    def _run(self, run: Run, call: Call) -> dict[str, int]:
        """The words of an entry that runs kernels."""
        sequence = run.sequence
        between = sorted(set(range(len(sequence.memory))) - set(sequence.outputs))
        rows = [item.row for item in run.results]
        for piece in between:
            memory = _memory(sequence.memory[piece])
            self._kept.append(memory)
            rows.append(memory.row)
        order = {piece: number for number, piece in enumerate((*sequence.outputs, *between))}
        numbers = NO_NUMBERS if run.numbers is None else run.numbers
        steps = [
            self._step(
                launch,
                [self._operand(place, run, call, rows, order) for place in step.operands],
                values_of(step.constants, launch.scalars, numbers),
            )
            for launch, step in zip(run.launches, sequence.steps, strict=True)
        ]
        registers, scalars = registers_of(numbers, self._kept), scalars_of(numbers)
        rebuild = 0 if run.is_single else 1 if run.rebuild is None else id(run.rebuild)
        return {
            "TURNS": 1 if any(launch.job for launch in run.launches) else MANY,
            "OUTPUT_COUNT": len(run.results),
            "MEMORY_COUNT": len(rows),
            "OUTPUTS": self._table(rows),
            "STEP_COUNT": len(steps),
            "STEPS": self._table(steps),
            "HELPERS": run.helpers,
            "WHOLE": rebuild,
            "TOLD": id(run.is_told),
            "REGISTER_COUNT": len(registers),
            "REGISTERS": self._table(registers),
            "SCALAR_COUNT": len(scalars),
            "SCALARS": self._table(scalars),
            "NUMBER_COUNT": len(numbers.results),
            "NUMBERS": self._table([numbers.results]),
            "LAUNCHES": len(steps) - sequence.copies,
            "COPIES": sequence.copies,
            "READS": sequence.read,
            "WRITES": sequence.written,
        }

    def _operand(
        self, place: int, run: Run, call: Call, rows: Items[Items[int]], order: dict[int, int]
    ) -> tuple[int, int]:
        """What machine code calls an operand: its role, and its number."""
        codes = layout()
        if place >= 0:
            number = run.arguments[place]
            value = next(seen.value for seen in call.seen if seen[:2] == (ARGUMENT, number))
            return codes.OF_MEMORY * (type(value) is Storage), number
        number = order[~place]
        return codes.OF_RESULT | codes.OF_MEMORY * (rows[number][1] == 0), number

    def _step(
        self, launch: Any, operands: Items[tuple[int, int]], values: Items[Items[int]]
    ) -> Items[int]:
        """The words of a kernel; `values` are those of scalars that differ from call to call."""
        codes, scratch = layout(), 0
        rows = [
            (slot, *operand, offset)
            for (slot, offset), operand in zip(launch.pointers, operands, strict=True)
        ]
        for slot, nbytes in launch.scratch:
            rows.append((slot, codes.OF_SCRATCH, 0, scratch))
            scratch += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        words = {
            "JOB": launch.job,
            "BLOCK_WORDS": 0 if launch.job else len(launch.block),
            "BLOCK": ctypes.addressof(launch.block),
            "OPERAND_COUNT": len(rows),
            "OPERANDS": self._table(rows),
            "KERNEL": launch.kernel,
            "END": launch.end,
            "GRAIN": launch.grain,
            "STEP_HELPERS": launch.helpers,
            "STEP_WAKES": launch.wakes,
            "PARTICIPANTS": launch.helpers + 1 if scratch and not launch.job else 1,
            "SCRATCH_BYTES": scratch,
            "IS_LONG": int(launch.work_ns > LONG_NS),
            "VALUE_COUNT": len(values),
            "VALUES": self._table(values),
        }
        return [words[name] for name in list(codes.STEP)[:-1]]


def _memory(nbytes: int) -> Result:
    """Memory between two kernels: as an array while that is cheaper."""
    if nbytes <= MOST_NUMPY:
        return Result((nbytes,), np.dtype(np.uint8), False, nbytes)
    return Result((), None, False, nbytes)


#: Bytes up to which new memory of NumPy's is cheap: of more, its pages are new each time.
MOST_NUMPY = 240_000
_ALIGNMENT = 64


def _guard(seen: Seen, check: int, kept: list[Any]) -> tuple[int, ...]:
    """The words of a guard; what they refer to is added to `kept`."""
    codes, value = layout(), seen.value
    where, space, expected, extents, shape = seen.where, 0, value, 0, 0
    if seen.source == NAME:
        names, where = seen.where
        space = id(names)
    if check == codes.SMALL:
        expected, extents = value.dtype, value.ndim
        words = np.array(value.shape, np.int64)
        shape = int(words.ctypes.data)
        kept.append(words)
    elif check in (codes.LARGE, codes.READY):
        expected, extents = value.node.formed(), id(value.device)
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
    return seen.source, place, space, check, what, fixed, extents, shape, kind


def _check(seen: Seen, read: set[int]) -> int:
    """How machine code looks at a value; `read` are the arguments that a kernel reads."""
    codes, kind = layout(), type(seen.value)
    if kind is np.ndarray:
        return int(codes.SMALL)
    if kind is Storage:
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
