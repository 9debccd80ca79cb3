"""Selects both sides of which raise their floating point flags, as those of NumPy's `where` do.

LLVM folds arithmetic into the select that reads it, as one masked instruction, which raises no
flags in the lanes that are dropped. An `llvm.arithmetic.fence` costs no instruction and keeps them
apart. But it is a line to write, to order and to compile: in Mandelbrot's body, every third was
one. So there is none where no arithmetic is: behind what is read, and behind another select, whose
sides have theirs. Except under the same condition, or one that may turn out to be the opposite:
what computes one side of it would be dead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter

#: What floats are made of that have flags.
_PARTS = {"f4": "f4", "f8": "f8", "c8": "f4", "c16": "f8"}


class Sources:
    """Where values come from, by their names: `read` from memory or arguments; `chosen` by a
    select of this module, with its condition; and conditions that are `negated` others."""

    __slots__ = ("read", "chosen", "negated")

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.chosen: dict[str, str] = {}
        self.negated: set[str] = set()


def heard_select(
    writer: VectorWriter, condition: Operand, left: Operand, right: Operand
) -> Operand:
    """Write a select of values that are computed in every lane."""
    sides = [_in_all_lanes(writer, condition.name, side) for side in (left, right)]
    found = writer.select(condition, *sides)
    if condition.name not in writer.sources.negated:
        writer.sources.chosen.update(dict.fromkeys(found.names, condition.name))
    return found


def _in_all_lanes(writer: VectorWriter, condition: str, side: Operand) -> Operand:
    part = _PARTS.get(side.dtype)
    if part is None:
        return side
    names = [
        writer.intrinsic("llvm.arithmetic.fence", part, [side._replace(dtype=part, names=(name,))])
        .name
        if _is_computed(writer.sources, condition, name)
        else name
        for name in side.names
    ]  # fmt: skip
    return side._replace(names=tuple(names))


def _is_computed(sources: Sources, condition: str, name: str) -> bool:
    """Whether a side of a select may be arithmetic, or what makes some dead."""
    if not name.startswith("%") or name in sources.read:
        return False
    other = sources.chosen.get(name, condition)
    return other == condition or condition in sources.negated
