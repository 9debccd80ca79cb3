"""Kernels on the memory of a call, in words: what `lf_perform` and `lf_replay` run.

`Words` keeps the tables that machine code reads, and what they refer to, alive; they live as long
as it does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.backends.base import LONG_NS
from lazyfuse.runtime.arithmetic import NO_NUMBERS, Numbers
from lazyfuse.runtime.replay_code import copy_address, layout
from lazyfuse.runtime.replay_numbers import registers_of, scalars_of, values_of
from lazyfuse.runtime.sequence import Sequence

#: More calls than will ever run at one time.
MANY = 1 << 40

#: Bytes up to which new memory of NumPy's is cheap: of more, its pages are new each time.
MOST_NUMPY = 240_000
_ALIGNMENT = 64


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
    flags; None where who runs it asks. numbers: those that differ from call to call, each an
    argument.
    """

    sequence: Sequence
    launches: Items[Any]
    arguments: Items[int]
    results: Items[Result]
    rebuild: Callable[[tuple[Any, ...]], Any] | None
    is_single: bool
    is_told: Callable[[int], bool] | None
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


class Words:
    """See the module."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def zeros(self, count: int) -> np.ndarray:
        words = np.zeros(count, np.int64)
        self.kept.append(words)
        return words

    def table(self, rows: Items[Items[int]]) -> int:
        """The address of rows, one after the other."""
        flat = [word for row in rows for word in row]
        words = self.zeros(len(flat))
        words[:] = flat
        return int(words.ctypes.data)

    def filled(self, codes: dict[str, int], words: dict[str, int]) -> np.ndarray:
        """A record with these words at the places that `codes` says, and 0 elsewhere."""
        record = self.zeros(len(codes))
        for name, word in words.items():
            record[codes[name]] = word
        return record

    def run(self, run: Run, is_memory: Callable[[int], bool]) -> dict[str, int]:
        """The words of an entry that runs kernels; `is_memory(argument)`: whether the memory of
        an argument is the engine's."""
        sequence = run.sequence
        between = sequence.between
        memory = [_memory(sequence.memory[piece]) for piece in between]
        self.kept += [run, memory]
        rows = [item.row for item in (*run.results, *memory)]
        order = {piece: number for number, piece in enumerate((*sequence.made, *between))}

        def operand(place: int) -> tuple[int, int]:
            """What machine code calls an operand: its role, and its number."""
            codes = layout()
            if place >= 0:
                number = run.arguments[place]
                return codes.OF_MEMORY * is_memory(number), number
            number = order[~place]
            return codes.OF_RESULT | codes.OF_MEMORY * (rows[number][1] == 0), number

        numbers = NO_NUMBERS if run.numbers is None else run.numbers
        steps = [
            self._step(
                launch,
                [operand(place) for place in step.operands],
                values_of(step.constants, launch.scalars, numbers),
            )
            for launch, step in zip(run.launches, sequence.steps, strict=True)
        ]
        registers, scalars = registers_of(numbers, self.kept), scalars_of(numbers)
        rebuild = 0 if run.is_single else 1 if run.rebuild is None else id(run.rebuild)
        return {
            "TURNS": 1 if any(launch.job for launch in run.launches) else MANY,
            "OUTPUT_COUNT": len(run.results),
            "MEMORY_COUNT": len(rows),
            "OUTPUTS": self.table(rows),
            "STEP_COUNT": len(steps),
            "STEPS": self.table(steps),
            "HELPERS": run.helpers,
            "WHOLE": rebuild,
            "TOLD": id(run.is_told),
            "REGISTER_COUNT": len(registers),
            "REGISTERS": self.table(registers),
            "SCALAR_COUNT": len(scalars),
            "SCALARS": self.table(scalars),
            "NUMBER_COUNT": len(numbers.results),
            "NUMBERS": self.table([numbers.results]),
            "LAUNCHES": sequence.launches,
            "COPIES": sequence.copies,
            "DONATIONS": sequence.donations,
            "READS": sequence.read,
            "WRITES": sequence.written,
        }

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
            "OPERANDS": self.table(rows),
            "KERNEL": launch.kernel,
            "END": launch.end,
            "GRAIN": launch.grain,
            "STEP_HELPERS": launch.helpers,
            "STEP_WAKES": launch.wakes,
            "PARTICIPANTS": launch.helpers + 1 if scratch and not launch.job else 1,
            "SCRATCH_BYTES": scratch,
            "IS_LONG": int(launch.work_ns > LONG_NS),
            "VALUE_COUNT": len(values),
            "VALUES": self.table(values),
        }
        return [words[name] for name in list(codes.STEP)[:-1]]


def _memory(nbytes: int) -> Result:
    """Memory between two kernels: as an array while that is cheaper."""
    if nbytes <= MOST_NUMPY:
        return Result((nbytes,), np.dtype(np.uint8), False, nbytes)
    return Result((), None, False, nbytes)
