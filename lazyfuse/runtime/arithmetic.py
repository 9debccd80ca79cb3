"""Arithmetic on the numbers of a call, done again whenever a recording is replayed.

What a function under `fuse` computes of a number before it meets an array (`0.5 * dt`) was done by
Python when the function was recorded, and a replay does the same, in Python or by the same calls
from machine code: so the bits and the exceptions are Python's. Each register holds one object:

    r0 = argument 2      r1 = 0.5      r2 = operator.mul(r1, r0), a float
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias


class Given(NamedTuple):
    """An argument of the call: its number."""

    argument: int


class Literal(NamedTuple):
    """An object that is the same in each call."""

    value: Any


class Step(NamedTuple):
    """What `function` gives of one or two registers, if it is of this type."""

    function: Callable[..., Any]
    operands: tuple[int, ...]
    kind: type


Row: TypeAlias = Given | Literal | Step
#: The number of a register, for which see the module.
Register: TypeAlias = int


class Scalar(NamedTuple):
    """A scalar of a plan: the register whose value it is, as a dtype."""

    register: Register
    dtype: str


class Numbers(NamedTuple):
    """Numbers that differ from call to call: what is computed of the arguments; the scalars of the
    plan that follow, by their number; and the registers of those that are results, the last one
    first."""

    rows: tuple[Row, ...]
    scalars: dict[int, Scalar]
    results: tuple[Register, ...]


NO_NUMBERS = Numbers((), {}, ())


def computed(rows: Sequence[Row], given: Sequence[Any]) -> list[Any] | None:
    """The values of all registers; None where Python raises, or gives another type than it did:
    a power may be complex."""
    registers: list[Any] = []
    for row in rows:
        if type(row) is Given:
            registers.append(given[row.argument])
        elif type(row) is Literal:
            registers.append(row.value)
        else:
            assert type(row) is Step
            try:
                made = row.function(*[registers[place] for place in row.operands])
            except (ArithmeticError, LookupError, ValueError, MemoryError):
                return None
            if type(made) is not row.kind:
                return None
            registers.append(made)
    return registers
