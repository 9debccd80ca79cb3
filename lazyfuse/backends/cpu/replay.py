"""Calls of recorded functions in machine code.

Python takes ten microseconds to find out that the arguments of a function under `fuse` are those
of a recording, and to give them to its kernel; this code takes less than one. `lf_replay(self,
args...)` is the call of such a function, through CPython's C interface. It walks the *entries* of
`self`, each a recording as 64-bit words, and for the first whose *guards* all pass

    makes memory for the results, runs the kernels on that of both, and makes arrays; or
    calls an object, where Python has to run the recording or the function itself.

Whatever fits no entry is given to the Python method, and so is a call that has met conditions
which somebody wants told. Entries and the table of what the code refers to are filled in by
`runtime/replay.py`. Sources of the layouts: as in `methods.py`.

`lf_perform` runs the kernels of one entry for other machine code, which has found the memory and
the numbers by itself (`record_flush_text.py`).

The text has two short forms, `get` and `put` (`short_forms.py`); names are those from below.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

from lazyfuse.backends.cpu import (
    replay_arrays_text,
    replay_calls_text,
    replay_numbers_text,
    replay_results_text,
    replay_text,
)
from lazyfuse.backends.cpu.launch import Prepared
from lazyfuse.backends.cpu.launch_text import JOB
from lazyfuse.backends.cpu.short_forms import expanded, numbered
from lazyfuse.backends.cpu.tuples_text import TUPLES

#: Words of objects: of all, of dicts, and of NumPy's arrays.
_OBJECTS = {
    "TYPE": 1, "USED": 2, "DATA": 2, "ND": 3, "DIMENSIONS": 4, "STRIDES": 5, "DESCR": 7, "FLAGS": 8
}  # fmt: skip

#: The table. First where objects keep their parts, in bytes; then objects and addresses; then the
#: conditions that count among the CPU's flags, the workers there are, the dict of the recordings
#: under way, which have to see all that is run; and what the code has done.
TABLE = numbered(
    "HOST", "OWNER", "STORAGE", "LAYOUT", "NODE", "DEVICE", "THREAD", "IS_SHARED", "FORM",
    "BUFFER", "POINTER", "ENTRIES", "VECTOR",
    "CLASS", "NDARRAY", "MEMORY", "NONE", "TRUE", "NO_KEY", "EMPTY", "ALLOCATE", "MARKER",
    "METHOD", "VARIABLE", "EXCEPTION", "LAUNCHER",
    "CONDITIONS", "WORKERS", "RECORDINGS",
    "ALL_LAUNCHES", "ALL_COPIES", "ALL_DONATIONS", "ALL_READS", "ALL_WRITES", "ALL_HITS",
    "ALL_PLANS",
)  # fmt: skip

#: An entry. CALLABLE is null for one that runs kernels; TURNS, how many calls may run them at one
#: time; MEMORY_COUNT is that of the results (OUTPUT_COUNT) and of what is needed between kernels;
#: HELPERS, how many workers must be there; REGISTERS, SCALARS and NUMBERS are of numbers that
#: differ from call to call: what is computed of them, what kernels take, and the registers of
#: those that are results; WHOLE is 0 for one array, 1 for a tuple of them, else what gives the
#: result for such a tuple; TOLD says whether somebody wants to hear of flags; LAUNCHES and the
#: rest, what is counted.
ENTRY = numbered(
    "NEXT", "REPLAYS", "OPTIONS", "POSITIONAL", "NAMES", "GUARD_COUNT", "GUARDS", "CALLABLE",
    "TURNS", "OUTPUT_COUNT", "MEMORY_COUNT", "OUTPUTS", "STEP_COUNT", "STEPS", "HELPERS", "WHOLE",
    "TOLD", "REGISTER_COUNT", "REGISTERS", "SCALAR_COUNT", "SCALARS", "NUMBER_COUNT", "NUMBERS",
    "LAUNCHES", "COPIES", "DONATIONS", "READS", "WRITES", "HITS", "PLANS",
)  # fmt: skip
COUNTERS = 7

#: A kernel. JOB is one that uses BLOCK as it is, which then has no words to copy; PARTICIPANTS
#: have parameters of their own, and each SCRATCH_BYTES; IS_LONG: other threads of Python go on
#: meanwhile.
STEP = numbered(
    "JOB", "BLOCK_WORDS", "BLOCK", "OPERAND_COUNT", "OPERANDS", "KERNEL", "END", "GRAIN",
    "STEP_HELPERS", "STEP_WAKES", "PARTICIPANTS", "SCRATCH_BYTES", "IS_LONG", "VALUE_COUNT",
    "VALUES", "STEP_WORDS",
)  # fmt: skip

#: A guard: what it looks at (the number of an argument; a name in the dict SPACE; a cell), how,
#: and what passes. IS_FIXED: the very object does. Of arrays, EXPECTED is the dtype or the form,
#: and EXTENTS and SHAPE are the axes and the address of their extents, or the device and the
#: layout; GUARD_STRIDES is the address of their strides, 0 where they are C-contiguous. Of
#: attributes, EXTENTS and SHAPE are the list of their names and the dict; of a mark, EXTENTS is
#: what makes it, 0 for what does so by default. KIND is the class of what was seen.
GUARD = numbered(
    "SOURCE", "WHERE", "SPACE", "CHECK", "EXPECTED", "IS_FIXED", "EXTENTS", "SHAPE", "KIND",
    "GUARD_STRIDES", "GUARD_WORDS",
)  # fmt: skip
OF_ARGUMENT, OF_NAME, OF_CELL = range(3)
#: A float of the same bits; an equal object of the same type; one that is marked alike; NumPy's
#: array, or one that wraps it; an array of the engine; one that is computed; an object with
#: attributes of these names; any object of the same type.
SAME, BITS, EQUAL, MARK, SMALL, LARGE, READY, OWN, ANY = range(9)

#: NumPy's array of a shape and dtype, or memory of so many bytes (then the dtype is null); and
#: what is made of it: 0 for an array around it, 1 for its element, else what an object makes.
OUTPUT = numbered("OUTPUT_SHAPE", "OUTPUT_DTYPE", "OUTPUT_KIND", "OUTPUT_WORDS")

#: What a slot of the parameter block points to: an argument, a result (OF_MEMORY: of the engine),
#: or scratch memory, and how many bytes after its begin.
OPERAND = numbered(
    "OPERAND_SLOT", "OPERAND_ROLE", "OPERAND_NUMBER", "OPERAND_OFFSET", "OPERAND_WORDS"
)
OF_RESULT, OF_MEMORY, OF_SCRATCH = 1, 2, 4

#: A register: the argument LEFT (the function is then 0), the object LEFT (1), or what a function
#: gives of the registers LEFT and RIGHT (-1: of one alone), if it has this type.
REGISTER = numbered("FUNCTION", "LEFT", "RIGHT", "RESULT_TYPE", "REGISTER_WORDS")
OF_ARGUMENT_ROW, OF_OBJECT_ROW = 0, 1

#: A scalar of kernels: the register, how it is written, and between which integers it lies; or
#: whether it is the imaginary part. And the slot of the parameter block that one goes to.
SCALAR = numbered("SOURCE_REGISTER", "FORMAT", "LOW", "HIGH", "IMAGINARY", "SCALAR_WORDS")
DOUBLE, SINGLE, SIGNED, UNSIGNED = range(4)
VALUE = numbered("VALUE_SLOT", "VALUE_SCALAR", "VALUE_WORDS")

_VALUES = {
    "OF_NAME": OF_NAME, "OF_CELL": OF_CELL, "OF_RESULT": OF_RESULT, "OF_MEMORY": OF_MEMORY,
    "OF_SCRATCH": OF_SCRATCH, "BITS": BITS, "EQUAL": EQUAL, "MARK": MARK, "SMALL": SMALL,
    "LARGE": LARGE, "READY": READY, "OWN": OWN, "ANY": ANY, "COUNTERS": COUNTERS,
    "OF_ARGUMENT_ROW": OF_ARGUMENT_ROW, "OF_OBJECT_ROW": OF_OBJECT_ROW, "DOUBLE": DOUBLE,
    "SINGLE": SINGLE, "SIGNED": SIGNED, "UNSIGNED": UNSIGNED,
}  # fmt: skip
_JOB = {f"JOB_{name.upper()}": number for number, name in enumerate((*JOB, "words"))}
_NAMES: Mapping[str, int] = {
    **_JOB,
    **_OBJECTS,
    **TABLE,
    **ENTRY,
    **STEP,
    **GUARD,
    **OUTPUT,
    **OPERAND,
    **REGISTER,
    **SCALAR,
    **VALUE,
    **_VALUES,
}


def copying(address: int, pieces: np.ndarray) -> Prepared:
    """The launch of `lf_copy`, from the second operand to the first: pieces are rows of offset and
    length in bytes."""
    table = np.ascontiguousarray(pieces, np.int64)
    block = (ctypes.c_int64 * 3)(0, 0, table.ctypes.data)
    work = float(table[:, 1].sum()) / BYTES_PER_NS
    return Prepared(
        owner=table, kernel=address, block=block, end=len(table), grain=len(table), helpers=0,
        wakes=0, pointers=((0, 0), (1, 0)), scratch=(), work_ns=work,
    )  # fmt: skip


#: What a copy moves at least.
BYTES_PER_NS = 4.0


def text() -> str:
    """The module, for LLVM."""
    parts = (
        replay_text.HEAD, TUPLES, replay_arrays_text.ARRAYS, replay_calls_text.GUARDS,
        replay_text.LAUNCH, replay_numbers_text.NUMBERS, replay_results_text.RUN,
        replay_results_text.PERFORM, replay_calls_text.CALL,
    )  # fmt: skip
    source = "\n".join(parts).replace("TABLE_WORDS", str(len(TABLE)))
    return expanded(source, _NAMES)
