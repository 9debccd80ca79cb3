"""What lies a few elements after what is read anyway becomes part of the kernel: a CPU loads the
vectors of both once.

    arg 0 in f8 [s,1]            arg 0 in f8 [s,1]
    arg 1 in f8 [s,1]     ->     arg 1 in f8 [s,1] near 0+1         (x[:, :-2], x[:, 1:-1])

It is how things are as a rule: launches of the kernel may have them otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from lazyfuse.ir.kernel import NEAR, UNIT, Arg, Role
from lazyfuse.lower.canonical import Lowered

#: Bytes of an element from which loads wait for each other; smaller ones fill parts of lines.
LEAST_BYTES = 4


def with_neighbours(lowered: Lowered) -> Lowered:
    """The kernel with what each argument lies beside; the same object where there is nothing."""
    kernel = lowered.kernel
    lane = kernel.lane_axis
    if lane is None or kernel.inner or kernel.joined > 1:
        return lowered
    bindings, args = lowered.bindings, list(kernel.args)
    numbers = [n for n, arg in enumerate(args) if n not in kernel.gathered and _can(arg, lane)]
    firsts: dict[object, int] = {}
    for number in sorted(numbers, key=lambda n: bindings[n].offset):
        node, strides, offset = bindings[number]
        first = firsts.get((node, strides))
        if first is None or offset - bindings[first].offset > NEAR:
            firsts[node, strides] = number
        else:
            near = first, offset - bindings[first].offset
            args[number] = args[number]._replace(near=near)
    if tuple(args) == kernel.args:
        return lowered
    return replace(lowered, kernel=replace(kernel, args=tuple(args)))


def _can(arg: Arg, lane: int) -> bool:
    is_plain = arg.role is Role.IN and arg.access[lane] == UNIT and arg.dtype[0] in "fiu"
    return is_plain and int(arg.dtype[1:]) >= LEAST_BYTES
