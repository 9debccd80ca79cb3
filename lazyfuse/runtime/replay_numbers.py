"""The words by which machine code computes with the numbers of a call; see `replay.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from lazyfuse.runtime.arithmetic import Given, Literal, Numbers, Row, Scalar, Step
from lazyfuse.runtime.replay_code import layout

#: Registers that are on the stack.
MOST_REGISTERS = 1024

Words: TypeAlias = tuple[int, ...]


def is_written(numbers: Numbers) -> bool:
    """Whether machine code has room for what is computed of numbers, and writes all scalars that
    follow from them."""
    return len(numbers.rows) <= MOST_REGISTERS and all(
        scalar.dtype != "f2" for scalar in numbers.scalars.values()
    )


def registers_of(numbers: Numbers, kept: list[Any]) -> list[Words]:
    """The words of all registers; what they refer to is added to `kept`."""
    kept.append(numbers)
    return [_register(row) for row in numbers.rows]


def _register(row: Row) -> Words:
    codes = layout()
    match row:
        case Given(argument):
            return codes.OF_ARGUMENT_ROW, argument, -1, 0
        case Literal(value):
            return codes.OF_OBJECT_ROW, id(value), -1, 0
        case Step(function, operands, kind):
            left, right = (*operands, -1)[:2]
            return id(function), left, right, id(kind)


def scalars_of(numbers: Numbers) -> list[Words]:
    """The words of the scalars that follow from numbers; a complex one has two rows."""
    return [words for scalar in numbers.scalars.values() for words in _scalar(scalar)]


def _scalar(scalar: Scalar) -> list[Words]:
    codes, dtype = layout(), np.dtype(scalar.dtype)
    if dtype.kind == "b":
        return [(scalar.register, codes.SIGNED, 0, 1, 0)]
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if bounds.max >= 1 << 63:
            return [(scalar.register, codes.UNSIGNED, 0, 0, 0)]
        return [(scalar.register, codes.SIGNED, int(bounds.min), int(bounds.max), 0)]
    parts = _parts(scalar.dtype)
    kind = codes.SINGLE if dtype.itemsize == 4 * parts else codes.DOUBLE
    return [(scalar.register, kind, 0, 0, part) for part in range(parts)]


def _parts(dtype: str) -> int:
    """The slots that a scalar takes."""
    return 2 if dtype[0] == "c" else 1


def values_of(
    constants: Sequence[int | None], slots: Sequence[tuple[int, str]], numbers: Numbers
) -> list[Words]:
    """The words of the scalars of one kernel that follow from numbers: the slot of each, and which
    it is."""
    first, count = {}, 0
    for constant, scalar in numbers.scalars.items():
        first[constant] = count
        count += _parts(scalar.dtype)
    return [
        (slot + part, first[constant] + part)
        for constant, (slot, dtype) in zip(constants, slots, strict=True)
        if constant in first
        for part in range(_parts(dtype))
    ]
