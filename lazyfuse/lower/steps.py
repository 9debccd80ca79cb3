"""Steps of few elements become part of the kernel: a CPU reads what lies so as whole vectors, from
which it picks, instead of one element for each lane.

    arg 0 in u1 [s]      ->      arg 0 in u1 [s] step 3             (one colour of a picture)

A kernel is made for each step; programs have few.
"""

from __future__ import annotations

from dataclasses import replace

from lazyfuse.ir.kernel import STEPS, Arg, Role
from lazyfuse.lower.canonical import Binding, Lowered

#: Bytes from lane to lane up to which that pays. Measured with steps of 2, 3 and 4: bytes take a
#: fifth to a third of the time, float32 half, doubles 0.8 (a step of 2) to 1.06.
STEP_BYTES = 16


def with_steps(lowered: Lowered) -> Lowered:
    """The kernel with the steps of what it reads; the same object where there are none."""
    kernel = lowered.kernel
    lane = kernel.lane_axis
    if lane is None or kernel.gathered or kernel.scattered or any(p.scan for p in kernel.phases):
        return lowered
    pairs = zip(kernel.args, lowered.bindings, strict=False)
    args = tuple(_with_step(arg, binding, lane) for arg, binding in pairs)
    if args == kernel.args[: len(args)]:
        return lowered
    return replace(lowered, kernel=replace(kernel, args=args + kernel.args[len(args) :]))


def _with_step(arg: Arg, binding: Binding, lane: int) -> Arg:
    step = binding.strides[lane]
    is_read = arg.role is Role.IN and arg.dtype[0] != "c"
    is_near = step in STEPS and step * int(arg.dtype[1:]) <= STEP_BYTES
    return arg._replace(step=step) if is_read and is_near else arg
