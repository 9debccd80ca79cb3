"""A plan as kernels on memory that is known beforehand: for machine code, which replays it.

The executor asks at each step who needs a buffer. When a plan is replayed, which never reuses its
leaves, the answers are always the same; so each slot is given its memory once, here: a leaf, or a
piece of new memory, which later slots of the same size take over when it is free.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.backends.base import Backend
from lazyfuse.ir.kept import pieces_of, rooms_of
from lazyfuse.ir.plan import Launch, Plan, Renew, Wave
from lazyfuse.runtime.executor import bound_launch


class Step(NamedTuple):
    """A launch, and of each of its operands the number of the leaf, or ~number of new memory; and
    which of the plan's constants its scalars are. Or the launches of a wave, with the operands and
    scalars of all. Or a copy, from the second operand to the first, of these pieces: offset and
    length in bytes. `of`: what it is in the plan."""

    launch: Any
    operands: tuple[int, ...]
    of: Launch | Wave | Renew
    pieces: np.ndarray | None = None
    constants: tuple[int | None, ...] = ()


class Sequence(NamedTuple):
    """`memory`: the bytes of each piece of new memory. `outputs`: the pieces of the results, or
    ~number of the leaf whose memory one takes. `read`, `written`: bytes. `donations`: operands
    whose memory a result takes. `taken`: the bytes of leaves that are overwritten."""

    steps: tuple[Step, ...]
    memory: tuple[int, ...]
    outputs: tuple[int, ...]
    read: int
    written: int
    donations: int
    taken: Mapping[int, int]

    @property
    def copies(self) -> int:
        return sum(step.pieces is not None for step in self.steps)

    @property
    def made(self) -> list[int]:
        """The pieces of the results that have new memory."""
        return [piece for piece in self.outputs if piece >= 0]

    @property
    def between(self) -> list[int]:
        """The pieces that are no result's."""
        return sorted(set(range(len(self.memory))) - set(self.outputs))

    @property
    def launches(self) -> int:
        waves = [len(step.of.lags) for step in self.steps if isinstance(step.of, Wave)]
        return len(self.steps) - self.copies - len(waves) + sum(waves)


class UnknownError(Exception):
    """A plan that is no such sequence."""


def sequence(
    plan: Plan, backend: Backend, constants: Items[Any] | None, taken: Container[int] = ()
) -> Sequence | None:
    """The kernels of a plan with the scalars fixed, or as they are (None); None for plans with
    other steps, and for backends that fix no scalars. Waves run step by step where all memory fits
    in a cache. `taken`: leaves whose memory may be taken, as the plan says."""
    try:
        found = _Builder(plan, backend, constants, taken, {}).built()
        written = sum(found.memory) + sum(found.taken.values())
        if plan.waves and written > getattr(backend, "band_bytes", 0):
            found = _Builder(plan, backend, constants, taken, plan.waves).built()
    except UnknownError:
        return None
    outputs = found.outputs
    is_known = all(piece >= 0 or ~piece in taken for piece in outputs)
    return found if is_known and len(set(outputs)) == len(outputs) else None


class _Memory:
    """Where each slot lies: `places` has the number of a leaf, or ~number of new memory. `given`:
    the bytes of leaves that results may take."""

    def __init__(self, leaves: int, given: Mapping[int, int]) -> None:
        self.places = {slot: slot for slot in range(leaves)}
        self._given = given
        self.taken: dict[int, int] = {}
        self.sizes: list[int] = []
        self.donations = 0
        self._free: dict[int, list[int]] = defaultdict(list)
        self._users = Counter(range(leaves))

    def take(self, nbytes: int) -> int:
        """Memory that nobody needs."""
        if not self._free[nbytes]:
            self._free[nbytes].append(~len(self.sizes))
            self.sizes.append(nbytes)
        return self._free[nbytes].pop()

    def may_reuse(self, slot: int, nbytes: int) -> bool:
        """Whether memory of so many bytes, and no leaf's that is not given, is needed by this slot
        alone."""
        place = self.places[slot]
        size = self.sizes[~place] if place < 0 else self._given.get(place)
        return size == nbytes and self._users[place] == 1

    def share(self, slot: int, place: int) -> None:
        """A slot lies there; a leaf is overwritten."""
        self.places[slot] = place
        self._users[place] += 1
        if place >= 0:
            self.taken[place] = self._given[place]

    def free(self, slots: Items[int]) -> None:
        """Slots that are not read again."""
        for place in [self.places[slot] for slot in slots]:
            self._users[place] -= 1
            if place < 0 and not self._users[place]:
                self._free[self.sizes[~place]].append(place)


class _Builder:
    """What is known of a sequence, step after step. Raises: UnknownError."""

    def __init__(
        self,
        plan: Plan,
        backend: Backend,
        constants: Items[Any] | None,
        taken: Container[int],
        waves: Mapping[int, Wave],
    ) -> None:
        self._plan, self._backend, self._constants = plan, backend, constants
        self._waves = waves
        given = {leaf: plan.slots[leaf].nbytes for leaf in range(plan.leaves) if leaf in taken}
        self._memory = _Memory(plan.leaves, given)
        self._steps: list[Step] = []
        self._read = self._written = 0

    def built(self) -> Sequence:
        """The whole sequence; also with leaves that are outputs as they are."""
        done, memory = 0, self._memory
        while done < len(self._plan.steps):
            wave = self._waves.get(done)
            steps = self._plan.steps[done : done + 1 if wave is None else wave.last]
            if wave is not None:
                self._wave(steps, wave)
            elif isinstance(steps[0], Launch):
                self._launch(steps[0])
            elif isinstance(steps[0], Renew):
                self._renew(steps[0])
            else:
                raise UnknownError
            for step in steps:
                memory.free(step.frees)
            done += len(steps)
        outputs = tuple(~memory.places[slot] for slot in self._plan.outputs)
        return Sequence(
            tuple(self._steps), tuple(memory.sizes), outputs, self._read, self._written,
            memory.donations, memory.taken,
        )  # fmt: skip

    def _launch(self, step: Launch) -> None:
        memory, given = self._memory, dict(step.donors)
        for slot, nbytes in step.allocates:
            donor = given.get(slot)
            if donor is not None and donor in step.frees and memory.may_reuse(donor, nbytes):
                memory.share(slot, memory.places[donor])
                memory.donations += 1
            else:
                memory.share(slot, memory.take(nbytes))
        self._add([step], self._fixed(step), step)

    def _wave(self, steps: Items[Any], wave: Wave) -> None:
        """All launches as one step, after what the wave leaves of its arrays is in its rooms."""
        launches = [step for step in steps if isinstance(step, Launch)]
        renewals = [step for step in steps if isinstance(step, Renew)]
        first, memory = renewals[0], self._memory
        rooms = rooms_of(first, launches[0], len(wave.sources))
        places: list[tuple[int, int]] = []
        for slot, own in wave.sources:
            source = memory.places[slot]
            stays = own and memory.may_reuse(slot, first.nbytes)
            places.append((source if stays else memory.take(first.nbytes), source))
            if rooms.pieces is None and not stays:
                self._copy(first, *places[-1])
            self._count_copied(0 if stays else first.kept_bytes)
        for renewal, room in zip(renewals, wave.rooms, strict=True):
            memory.share(renewal.target, places[room][0])
        fixed = [self._fixed(step) for step in launches]
        bands = self._backend.bands(fixed, wave.lags, wave.row_bytes, rooms)  # type: ignore[attr-defined]  # of backends with `band_bytes`
        copied = [place for pair in places for place in pair]
        self._add(launches, bands, wave, copied)

    def _fixed(self, step: Launch) -> Any:
        """The bound kernel of a step."""
        launch = bound_launch(step, self._backend)
        fix = getattr(launch, "fixed", None)
        if launch is None or (fix is None and self._constants is not None):
            raise UnknownError
        if fix is None or self._constants is None:
            return launch
        return fix(step.scalars_of(self._constants))

    def _add(
        self, launches: Items[Launch], does: Any, of: Launch | Wave, others: Items[int] = ()
    ) -> None:
        """A step that runs these launches; it has other operands, too."""
        scalars = [pair for step in launches for pair in step.scalars]
        known = tuple([item if kind == "const" else None for kind, item in scalars])
        operands = [operand for step in launches for operand in step.operands]
        places = [self._memory.places[operand.slot] for operand in operands]
        self._steps.append(Step(does, (*places, *others), of, constants=known))
        self._read += sum(step.bytes_read for step in launches)
        self._written += sum(step.bytes_written for step in launches)

    def _renew(self, step: Renew) -> None:
        """As the executor does: the memory of the base, if it stays there and nobody else needs
        it; else new memory, after a step that copies what the write leaves."""
        base, memory = step.base, self._memory
        if base is not None and step.in_place and step.base_dies:
            if memory.may_reuse(base, step.nbytes):
                memory.share(step.target, memory.places[base])
                return
        memory.share(step.target, memory.take(step.nbytes))
        if base is not None and step.kept:
            self._copy(step, memory.places[step.target], memory.places[base])
            self._count_copied(step.kept_bytes)

    def _copy(self, step: Renew, target: int, source: int) -> None:
        """Add a step that copies what a write leaves."""
        pieces = pieces_of(step.kept, int(step.dtype[1:]))
        if pieces is None:
            raise UnknownError
        if len(pieces):
            self._steps.append(Step(None, (target, source), step, pieces))

    def _count_copied(self, nbytes: int) -> None:
        self._read, self._written = self._read + nbytes, self._written + nbytes
