"""The parameter block of a compiled kernel: all that it gets besides a range, in 64-bit slots.

In order: the extent of each axis; `split`, the outer axis that the range [begin, end) restricts
(the last one stands for all that are joined);
`block` and `rows`, the lanes and the rows that a column reduction takes together; the address of
each argument (offset applied); the stride in bytes of each STRIDED axis of each argument that is
not scratch; the scalars as raw bits (a complex one takes two slots).

The layout follows from the kernel alone: emitter and launcher compute it separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from lazyfuse.ir.kernel import FIXED, STRIDED, Arg, Kernel, Phase, Role

#: Vectors of columns that a column reduction takes together at most, 4 KB of each row.
BLOCK_VECTORS = 64
#: Elements of a row up to which vectors of lanes are collected from all of memory's: a row of n
#: takes n * (n - 1) shuffles, a square of 8 takes 24.
COLLECTED = 4
#: Lanes of a scan along memory: the step is written out for each.
SCAN_LANES = 8
#: Bytes of the widest values that there are.
_WIDEST = 8
#: Bytes of a state block per accumulator; the second part is at half of it.
STATE_BYTES = 16
#: What `lf_fold` does with a state block.
START, CLEAR, MERGE = 0, 1, 2


class Params(NamedTuple):
    """Slot numbers. `strides[k]` maps an axis of argument k to its slot."""

    extents: tuple[int, ...]
    split: int
    block: int
    rows: int
    pointers: tuple[int, ...]
    strides: tuple[dict[int, int], ...]
    scalars: tuple[int, ...]
    size: int


def params(kernel: Kernel) -> Params:
    """Number the slots of a kernel."""
    rank = kernel.outer + kernel.inner
    first = rank + 3
    pointers = tuple(range(first, first + len(kernel.args)))
    slot = first + len(kernel.args)
    strides = []
    for arg in kernel.args:
        axes = [] if arg.role is Role.SCRATCH else strided_axes(arg.access)
        strides.append({axis: slot + place for place, axis in enumerate(axes)})
        slot += len(axes)
    scalars = []
    for dtype in kernel.scalars:
        scalars.append(slot)
        slot += 2 if dtype[0] == "c" else 1
    extents = tuple(range(rank))
    return Params(
        extents, rank, rank + 1, rank + 2, pointers, tuple(strides), tuple(scalars), slot
    )


def strided_axes(access: tuple[str, ...]) -> list[int]:
    return [axis for axis, kind in enumerate(access) if kind == STRIDED]


def lane_count(kernel: Kernel, *, picks_bytes: bool = False) -> int:
    """As many lanes as the widest value leaves in a 64-byte register; what is the same in all of
    them does not count.

    At most 16 where an argument is strided or indexed: its lanes are read one at a time, in code
    for each. 32 where they are picked from bytes.
    """
    dtypes = {arg.dtype for arg in kernel.args if not _is_number(arg)}
    dtypes |= {acc.dtype for acc in kernel.accumulators}
    if _WIDEST not in map(width, dtypes):
        dtypes |= {dtype for phase in kernel.phases for dtype in _varying(kernel, phase)}
    lanes = 64 // max(map(width, dtypes), default=_WIDEST)
    if kernel.scan is not None and kernel.folds_lanes:
        return min(lanes, SCAN_LANES)
    if not (is_strided(kernel) or kernel.gathered or kernel.scattered):
        return lanes
    return min(lanes, 32 if picks_bytes and _are_short_rows(kernel) else 16)


def _are_short_rows(kernel: Kernel) -> bool:
    """Whether lanes have short rows (ROWS), of which none lies apart from the others."""
    axis = kernel.lane_axis
    if axis is None or not 0 < kernel.row <= COLLECTED or kernel.gathered or kernel.scattered:
        return False
    args = enumerate(kernel.args)
    moved = [(n, a) for n, a in args if a.role is not Role.SCRATCH and a.access[axis] == STRIDED]
    return all(n in kernel.dense or arg.step for n, arg in moved)


def _varying(kernel: Kernel, phase: Phase) -> Iterator[str]:
    """The dtypes of values that do not follow from scalars alone."""
    fixed: list[bool] = []
    for instr in phase.body:
        if instr.op == "load":
            assert isinstance(instr.attr, int)
            fixed.append(_is_number(kernel.args[instr.attr]))
        elif instr.op in ("const", "scalar"):
            fixed.append(True)
        else:
            fixed.append(bool(instr.args) and False not in [fixed[arg] for arg in instr.args])
        if not fixed[-1]:
            yield instr.dtype


def _is_number(arg: Arg) -> bool:
    """Whether the same element is read at every point."""
    return arg.role is Role.IN and all(kind == FIXED for kind in arg.access)


def is_strided(kernel: Kernel) -> bool:
    """Whether the lanes of an argument are read or written one by one; what repeats is read in
    vectors anyway."""
    axis = kernel.lane_axis
    given = [arg for arg in kernel.args if arg.role is not Role.SCRATCH]
    if kernel.joined > 1:
        given = [arg for arg in given if arg.access[kernel.tiny[0] - 1] != FIXED]
    if axis is None:
        return False
    return any(arg.access[axis] == STRIDED and not arg.step for arg in given)


def has_steps(kernel: Kernel) -> bool:
    """Whether lanes are picked from vectors (`emit_near`)."""
    return any(arg.step for arg in kernel.args)


def walked(kernel: Kernel, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The extents of the outer axes as they are walked: joined ones as the last of them."""
    split = kernel.outer - kernel.joined
    if kernel.joined == 1:
        return extents[: kernel.outer]
    whole = math.prod(extents[split : kernel.outer])
    return (*extents[:split], *(1,) * (kernel.joined - 1), whole)


def width(dtype: str) -> int:
    """Bytes of (one component of) a value."""
    size = int(dtype[1:])
    return size // 2 if dtype[0] == "c" else size


def is_staged(kernel: Kernel) -> bool:
    """Whether each phase is a function of its own, so that threads can share the inner axis."""
    return kernel.outer == 0 and kernel.folds_lanes and kernel.scan is None
