"""Time steps of a stencil in turn on one band of rows, while the band is in the cache.

    write A from u                 rows 0:100 of u -> A, rows 0:99 of A -> B, rows 0:98 of B -> A
    write B from A         ->      rows 100:200 ...
    write A from B                 and then the rows that are missing between the bands

A wave is a run of steps that write the same region of arrays of one shape, each from what the ones
before have written some rows away at most. Every element is computed once, by the same kernel from
the same operands as step by step, so the bits are the same; but memory is read and written once a
wave instead of once a step, and threads meet twice a wave.

Two launches that touch the same memory, one of them to write, may not pass each other. From the
distance of their accesses follows how many rows the later one must stay behind: its lag. Results
take turns in as few memories, *rooms*, as are alive at a time. A room is the memory of the array
that a write changes in place, or gets what the region leaves of that array before the wave begins;
no write of the wave changes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from lazyfuse.ir.kernel import Role
from lazyfuse.ir.node import Update
from lazyfuse.ir.plan import Launch, Operand, Renew, Step, Wave
from lazyfuse.ops.shapes import size_of

#: Rows of a band per row of lag, at the least: the rest of the work is left for between the bands.
ROWS_PER_LAG = 4
#: Launches of a wave: memory is moved so much less often that more would not show.
MOST_LAUNCHES = 64
#: Parts of an array of which a wave writes more than one: it may copy what it leaves.
PIECES = 8


def find_waves(steps: Sequence[Step], most_bytes: int) -> dict[int, Wave]:
    """The waves of a plan by their first steps. The smallest bands take up to `most_bytes`; 0 is
    for devices that have no use for bands."""
    found: dict[int, Wave] = {}
    start = 0 if most_bytes else len(steps)
    while start < len(steps):
        builder = _Builder(most_bytes)
        end = start
        while builder.take(steps[end : end + 2]):
            end += 2
        if len(builder.lags) > 1:
            found[start] = builder.wave(end)
        start = max(end, start + 1)
    return found


class _Touch(NamedTuple):
    """What a launch touches of a memory: for each of its rows, those from `low` to `high` on.
    `is_near` is False where the distance is not the same for all elements."""

    low: int
    high: int
    writes: bool = False
    is_near: bool = True

    def joined(self, other: _Touch) -> _Touch:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return _Touch(low, high, self.writes or other.writes, self.is_near and other.is_near)


#: What a launch touches, by the number of the memory.
Touches: TypeAlias = dict[int, _Touch]


@dataclass
class _Builder:
    """A wave that takes steps.

    memory: where each slot is that has been met and may be read on. rooms: the memories that are
    written, with the slots whose arrays they begin as; origins: the same for each slot. own: rooms
    that are the memory of that slot.
    """

    most_bytes: int
    first: tuple[Renew, Launch] | None = None
    count: int = 0
    memory: dict[int, int] = field(default_factory=dict)
    rooms: dict[int, int] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    origins: dict[int, int] = field(default_factory=dict)
    results: list[int] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    touched: list[Touches] = field(default_factory=list)

    def take(self, pair: Sequence[Step]) -> bool:
        """Take the renewal and the launch of a write, if they fit."""
        if len(self.lags) == MOST_LAUNCHES:
            return False
        match pair:
            case [Renew() as renew, Launch() as launch] if _is_plain(renew, launch):
                self.first = self.first or (renew, launch)
                return _is_like(self.first, (renew, launch)) and self._add(renew, launch)
        return False

    def wave(self, last: int) -> Wave:
        """The wave of the steps before `last`."""
        assert self.first is not None
        numbers = {room: number for number, room in enumerate(self.rooms)}
        return Wave(
            last,
            tuple(self.lags),
            tuple(numbers[room] for room in self.results),
            tuple((slot, room in self.own) for room, slot in self.rooms.items()),
            self.count * _row_bytes(*self.first),
        )

    def _add(self, renew: Renew, launch: Launch) -> bool:
        assert renew.base is not None
        count, memory = self.count, dict(self.memory)
        for slot in (renew.base, *(launch.operands[n].slot for n in launch.kernel.inputs)):
            if slot not in memory:
                memory[slot], count = count, count + 1
        touches = _touches(launch, memory)
        room = self._room(renew, memory, count)
        written = {*self.rooms, room}
        if not all(touch.is_near for place, touch in touches.items() if place in written):
            return False
        read = (touches[room] for touches in self.touched if room in touches)
        if not all(touch.is_near for touch in read):
            return False
        here = _Touch(0, 0, writes=True)
        touches[room] = touches[room].joined(here) if room in touches else here
        lag = max((self._behind(number, touches) for number in range(len(self.lags))), default=0)
        count = max(count, room + 1)
        if ROWS_PER_LAG * lag * count * _row_bytes(renew, launch) > self.most_bytes:
            return False
        origin = self.origins.get(renew.base, renew.base)
        self.count, self.memory = count, memory
        if room not in self.rooms and room == memory[renew.base]:
            self.own.add(room)
        self.rooms.setdefault(room, origin)
        self.origins[renew.target], self.memory[renew.target] = origin, room
        for slot in (*renew.frees, *launch.frees):
            self.memory.pop(slot, None)
        self.results.append(room)
        self.lags.append(lag)
        self.touched.append(touches)
        return True

    def _room(self, renew: Renew, memory: dict[int, int], count: int) -> int:
        """The memory of a result: its base's, else one of the same array that nobody reads any
        more, else a new one, `count`."""
        base = renew.base
        assert base is not None
        origin = self.origins.get(base, base)
        if renew.in_place and renew.base_dies:
            return memory[base]
        taken = set(memory.values())
        free = (room for room, own in self.rooms.items() if own == origin and room not in taken)
        return next(free, count)

    def _behind(self, number: int, touches: Touches) -> int:
        """The lag of a launch that comes after launch `number`."""
        apart = [
            max(0, later.high - earlier.low, earlier.high - later.low)
            for memory, later in touches.items()
            if (earlier := self.touched[number].get(memory)) and earlier.writes | later.writes
        ]
        return self.lags[number] + max(apart) if apart else 0


def _touches(launch: Launch, memory: dict[int, int]) -> Touches:
    """What a launch reads."""
    found: Touches = {}
    store = _store(launch)
    span = sum(
        step * (extent - 1)
        for step, extent in zip(store.strides[1:], launch.extents[1:], strict=True)
    )
    for number in launch.kernel.inputs:
        operand, row = launch.operands[number], store.strides[0]
        is_near = operand.strides == store.strides and number not in launch.kernel.gathered
        distance = operand.offset - store.offset
        touch = _Touch(-((span - distance) // row), (distance + span) // row, is_near=is_near)
        place = memory[operand.slot]
        found[place] = found[place].joined(touch) if place in found else touch
    return found


def _is_plain(renew: Renew, launch: Launch) -> bool:
    """Whether a write is elementwise, into a region whose rows follow each other in memory, and
    that is no small part of its array."""
    kernel, node = launch.kernel, renew.node
    return (
        isinstance(node, Update)
        and node.index is None
        and renew.base is not None
        and not kernel.inner
        and kernel.joined == 1
        and all(arg.role is not Role.SCRATCH for arg in kernel.args)
        and bool(launch.extents)
        and size_of(node.shape) < PIECES * size_of(launch.extents)
        and all(step > 0 for step in _store(launch).strides)
        and _store(launch).slot == renew.target
    )


def _is_like(first: tuple[Renew, Launch], other: tuple[Renew, Launch]) -> bool:
    """Whether two writes go to the same region of arrays of one kind, row by row."""
    one, two = (renew.node for renew, _ in (first, other))
    assert isinstance(one, Update) and isinstance(two, Update)
    stores = [_store(launch) for _, launch in (first, other)]
    return (
        (one.shape, one.dtype, one.strides, one.layout)
        == (two.shape, two.dtype, two.strides, two.layout)
        and first[1].extents == other[1].extents
        and stores[0].strides == stores[1].strides
    )


def _store(launch: Launch) -> Operand:
    return launch.operands[launch.kernel.outputs[0]]


def _row_bytes(renew: Renew, launch: Launch) -> int:
    return _store(launch).strides[0] * int(renew.dtype[1:])
