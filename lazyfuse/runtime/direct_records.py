"""Kernels of single operations for machine code that calls them on small arrays
(`backends/cpu/methods_direct_text.py`), as records that it reads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.runtime.op_kernels import OpKernel

#: Elements of a launch that stands for those of any size.
_SAMPLE = 64
#: The records and what they refer to: machine code may ask for them at any time.
_kept: list[Any] = []


def chained(chain: int, op: OpKernel, marks: Sequence[Any], result: np.dtype) -> int:
    """The address of a record of a kernel before others; these alone where machine code cannot
    call it. `marks`: the dtype of each operand, of a number its Python type; `result`: that of
    what it gives."""
    from lazyfuse.backends.cpu.methods_direct_text import DIRECT, FORMS  # there are kernels

    arrays = [mark for mark in marks if isinstance(mark, np.dtype)]
    form = FORMS[_form(marks)]
    op.improve()
    launch = op.launch(_SAMPLE)
    prepared = launch.prepared(1) if hasattr(launch, "prepared") else None
    if prepared is None or prepared.scratch or not prepared.kernel or len(set(arrays)) != 1:
        return chain
    pointers = zip(op.arrays, prepared.pointers, strict=True)
    slots = {operand: slot for operand, (slot, _) in pointers}
    slots |= {
        operand: slot for (operand, _), (slot, _) in zip(op.numbers, prepared.scalars, strict=True)
    }
    extents = launch.program.params.extents
    numbers = [dtype for _, dtype in op.numbers]
    if len(slots) != len(marks) + 1 or len(extents) != 1 or numbers not in ([], ["f4"], ["f8"]):
        return chain
    first = next(place for place, mark in enumerate(marks) if isinstance(mark, np.dtype))
    second = 1 - first if len(marks) == 2 else first
    values = {
        "NEXT_RECORD": chain, "OF_DTYPE": id(arrays[0]), "RESULT_DTYPE": id(result),
        "FORM": form, "KERNEL": prepared.kernel,
        "BLOCK": ctypes.addressof(prepared.block), "BLOCK_BYTES": ctypes.sizeof(prepared.block),
        "EXTENT_SLOT": extents[0], "FIRST_SLOT": slots[first], "SECOND_SLOT": slots[second],
        "RESULT_SLOT": slots[len(marks)],
        "PICOSECONDS": max(1, int(1000 * launch.program.ns_per_point)),
        "NUMBER_BYTES": int(numbers[0][1:]) if numbers else 0,
    }  # fmt: skip
    record = (ctypes.c_int64 * DIRECT["DIRECT_WORDS"])()
    for name, value in values.items():
        record[DIRECT[name]] = value
    _kept.append((record, prepared, arrays[0], result))
    return ctypes.addressof(record)


def _form(marks: Sequence[Any]) -> str:
    if len(marks) == 1:
        return "ALONE"
    if all(isinstance(mark, np.dtype) for mark in marks):
        return "PAIR"
    return "NUMBER_SECOND" if isinstance(marks[0], np.dtype) else "NUMBER_FIRST"
