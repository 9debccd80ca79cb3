"""A plan as kernels on memory that is known beforehand: for machine code, which replays it.

The executor asks at each step who needs a buffer. When a plan is replayed, which never reuses its
leaves, the answers are always the same; so each slot is given its memory once, here: a leaf, or a
piece of new memory, which later slots of the same size take over when it is free.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence as Items
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.backends.base import Backend
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.plan import Launch, Plan, Renew
from lazyfuse.runtime.executor import bound_launch

#: Pieces that a copy may have; a column of a large array has one for each element.
MOST_PIECES = 1 << 14


class Step(NamedTuple):
    """A launch, and of each of its operands the number of the leaf, or ~number of new memory; and
    which of the plan's constants its scalars are. Or a copy, from the second operand to the first,
    of these pieces: offset and length in bytes. `of`: the plan's step."""

    launch: Any
    operands: tuple[int, ...]
    of: Launch | Renew
    pieces: np.ndarray | None = None
    constants: tuple[int | None, ...] = ()


class Sequence(NamedTuple):
    """`memory`: the bytes of each piece of new memory. `outputs`: the pieces of the results.
    `read`, `written`: bytes. `donations`: operands whose memory a result takes."""

    steps: tuple[Step, ...]
    memory: tuple[int, ...]
    outputs: tuple[int, ...]
    read: int
    written: int
    donations: int

    @property
    def copies(self) -> int:
        return sum(step.pieces is not None for step in self.steps)


class UnknownError(Exception):
    """A plan that is no such sequence."""


def sequence(plan: Plan, backend: Backend, constants: Items[Any] | None) -> Sequence | None:
    """The kernels of a plan with the scalars fixed, or as they are (None); None for plans with
    other steps, or with waves over more memory than a cache holds, and for backends that fix no
    scalars."""
    memory, steps, read, written = _Memory(plan.leaves), [], 0, 0
    try:
        for step in plan.steps:
            if isinstance(step, Launch):
                steps.append(_launch(step, backend, constants, memory))
                read, written = read + step.bytes_read, written + step.bytes_written
            elif isinstance(step, Renew):
                copied = step.kept_bytes if _renew(step, memory, steps) else 0
                read, written = read + copied, written + copied
            else:
                return None
            memory.free(step.frees)
    except UnknownError:
        return None
    if plan.waves and sum(memory.sizes) > getattr(backend, "band_bytes", 0):
        return None
    outputs = [memory.places[slot] for slot in plan.outputs]
    if len(set(outputs)) < len(outputs) or any(place >= 0 for place in outputs):
        return None
    pieces = tuple(~place for place in outputs)
    return Sequence(tuple(steps), tuple(memory.sizes), pieces, read, written, memory.donations)


class _Memory:
    """Where each slot lies: `places` has the number of a leaf, or ~number of new memory."""

    def __init__(self, leaves: int) -> None:
        self.places = {slot: slot for slot in range(leaves)}
        self.sizes: list[int] = []
        self.donations = 0
        self._free: dict[int, list[int]] = defaultdict(list)
        self._users: Counter[int] = Counter()

    def take(self, slot: int, nbytes: int) -> None:
        """Give a slot memory that nobody needs."""
        if not self._free[nbytes]:
            self._free[nbytes].append(~len(self.sizes))
            self.sizes.append(nbytes)
        self.share(slot, self._free[nbytes].pop())

    def may_reuse(self, slot: int, nbytes: int) -> bool:
        """Whether memory of so many bytes, and no leaf's, is needed by this slot alone."""
        place = self.places[slot]
        return place < 0 and self.sizes[~place] == nbytes and self._users[place] == 1

    def share(self, slot: int, place: int) -> None:
        self.places[slot] = place
        self._users[place] += 1

    def free(self, slots: Items[int]) -> None:
        """Slots that are not read again."""
        for place in [self.places[slot] for slot in slots]:
            self._users[place] -= 1
            if place < 0 and not self._users[place]:
                self._free[self.sizes[~place]].append(place)


def _launch(step: Launch, backend: Backend, constants: Items[Any] | None, memory: _Memory) -> Step:
    launch = bound_launch(step, backend)
    fix = getattr(launch, "fixed", None)
    if launch is None or (fix is None and constants is not None):
        raise UnknownError
    given = dict(step.donors)
    for slot, nbytes in step.allocates:
        donor = given.get(slot)
        if donor is not None and donor in step.frees and memory.may_reuse(donor, nbytes):
            memory.share(slot, memory.places[donor])
            memory.donations += 1
        else:
            memory.take(slot, nbytes)
    known = tuple([item if kind == "const" else None for kind, item in step.scalars])
    places = tuple([memory.places[item.slot] for item in step.operands])
    if fix is not None and constants is not None:
        launch = fix(step.scalars_of(constants))
    return Step(launch, places, step, constants=known)


def _renew(step: Renew, memory: _Memory, steps: list[Step]) -> bool:
    """Whether there is something to copy, for which a step is added."""
    base = step.base
    if base is not None and step.in_place and step.base_dies:
        if memory.may_reuse(base, step.nbytes):
            memory.share(step.target, memory.places[base])
            return False
    memory.take(step.target, step.nbytes)
    itemsize = int(step.dtype[1:])
    pieces = [piece for part in step.kept for piece in pieces_of(part, itemsize)]
    if base is None or not pieces:
        return False
    if len(pieces) > MOST_PIECES:
        raise UnknownError
    table = np.array(pieces, np.int64)
    steps.append(Step(None, (memory.places[step.target], memory.places[base]), step, table))
    return True


def pieces_of(layout: Layout, itemsize: int) -> list[tuple[int, int]]:
    """Offset and length in bytes of the pieces of memory that a layout covers."""
    axes = sorted(zip(layout.strides, layout.shape, strict=True), key=lambda axis: abs(axis[0]))
    if 0 in layout.shape:
        return []
    length = 1
    outer: list[list[int]] = []
    for stride, extent in axes:
        if stride == length and not outer:
            length *= extent
        elif extent != 1:
            outer.append([stride * index for index in range(extent)])
    if np.prod([len(steps) for steps in outer], dtype=float) > MOST_PIECES:
        raise UnknownError
    return [
        ((layout.offset + sum(steps)) * itemsize, length * itemsize) for steps in product(*outer)
    ]
