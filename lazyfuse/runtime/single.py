"""Plans of one kernel, called without the executor: on memory wherever it lies, values fixed.

`fuse` and small transcendental functions run the same kernel again and again on new memory. For
them a launch is prepared once; a call then costs what the kernel's own call costs, some 3 us.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config, events
from lazyfuse.ir.plan import Launch, Plan
from lazyfuse.runtime import session
from lazyfuse.runtime.executor import bound_launch
from lazyfuse.runtime.repeats import may_pay


class Address:
    """Memory of a NumPy array, as a launch takes it."""

    __slots__ = ("pointer", "array")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        try:
            self.pointer = ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # arrays are buffers
        except (TypeError, ValueError, BufferError):  # read-only
            self.pointer = array.__array_interface__["data"][0]


class Single(NamedTuple):
    """A plan of one launch. `operands`: of each argument of the kernel the number of the leaf, or
    ~number of the output. `step` and `scalars` are what `launch` was made of."""

    launch: Any
    operands: tuple[int, ...]
    step: Launch
    scalars: tuple[Any, ...]

    def __call__(self, leaves: Sequence[Any], outputs: Sequence[Any], threads: int) -> int:
        """Run on objects that have a `pointer`; returns the conditions that were met."""
        memory = [leaves[n] if n >= 0 else outputs[~n] for n in self.operands]
        met: int = self.launch(memory, self.scalars, threads=threads)
        events.add_launch(self.step.bytes_read, self.step.bytes_written)
        return met

    def with_constants(self, constants: Sequence[Any]) -> Single:
        """The same launch, which was not fixed, with these scalars."""
        return self._replace(scalars=tuple(self.step.scalars_of(constants)))


def single(
    plan: Plan, device: str, constants: Sequence[Any], *, is_fixed: bool = True
) -> Single | None:
    """A plan's only launch with the scalars fixed, or as they are; None for other plans, and where
    it is so many kernels that they should be a graph (`repeats.py`)."""
    if len(plan.steps) != 1 or not isinstance(plan.steps[0], Launch):
        return None
    step = plan.steps[0]
    backend = session.backend(device)
    found = bound_launch(step, backend)
    moved = step.bytes_read + step.bytes_written
    if found is None or may_pay([found], moved, backend, config.current()):
        return None
    place = {slot: ~number for number, slot in enumerate(plan.outputs)}
    if len(place) < len(plan.outputs) or any(slot < plan.leaves for slot in plan.outputs):
        return None
    operands = tuple(
        operand.slot if operand.slot < plan.leaves else place.get(operand.slot, None)
        for operand in step.operands
    )
    if None in operands:
        return None
    scalars = tuple(step.scalars_of(constants))
    fixed = getattr(found, "fixed", None)
    if is_fixed and fixed is not None:
        return Single(fixed(scalars), operands, step, ())  # type: ignore[arg-type]  # no None in it
    return Single(found, operands, step, scalars)  # type: ignore[arg-type]  # no None in it
