"""The order of instructions in long stretches of LLVM text.

Vector math is written operation by operation, and each is a chain whose steps wait for each other.
A core reaches some hundred instructions ahead, so two independent functions of three hundred
instructions each would run one after the other. Here a stretch without branches is written in the
order in which a core with latencies could run it, while no more values are alive than there are
registers for. LLVM's own scheduler would undo some of that for fewer registers, and is left out
for long bodies (`jit.py`).

Source: list scheduling by the longest path, e.g. Cooper and Torczon, Engineering a Compiler, 2nd
edition, 12.3.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

#: Stretches of fewer instructions are in reach as they are.
_LEAST = 100
#: Ready instructions that are looked at where registers are short.
_LOOKED_AT = 8

VALUE = re.compile(r"%[\w.]+")
DEFINED = re.compile(r"(%[\w.]+) = (\w+)")
_FIXED = frozenset(("br", "ret", "switch", "unreachable", "phi"))
#: What does no more than give a value; what else there may be keeps its place among others of it.
_PURE = frozenset(
    "load getelementptr bitcast select freeze fneg fadd fsub fmul fdiv frem fcmp icmp add sub mul "
    "udiv sdiv urem srem and or xor shl lshr ashr trunc zext sext fptrunc fpext fptosi fptoui "
    "sitofp uitofp ptrtoint inttoptr insertelement extractelement shufflevector insertvalue "
    "extractvalue phi branch".split()
)
#: What is renamed by the compiler, and takes no time.
_FREE = frozenset(("bitcast", "getelementptr", "shufflevector", "phi"))
#: Cycles until a result is there. Source: Fog, Instruction tables, Skylake-X and Zen 4.
_LATENCY, _LOAD, _DIVISION = 4, 7, 26
#: Instructions from one division or square root to the next: their unit takes 16 to 24 cycles for
#: each, in which a core does two others a cycle. Side by side they wait for each other, and what
#: waits for them fills what a core holds. Measured on Emerald Rapids: Black-Scholes, which has
#: four and a root, takes 0.96 of the time with 20 to 40.
_APART = 24
#: Of what has the same in all lines; and what touches no memory.
_LATENCIES = dict.fromkeys(_PURE, _LATENCY) | dict.fromkeys(_FREE, 0)
_LATENCIES |= {"load": _LOAD, "fdiv": _DIVISION}
_CALM = _PURE - {"load"}


class Line(NamedTuple):
    """An instruction or label: the value it defines, what it does, and the values it reads."""

    text: str
    name: str
    operation: str
    reads: list[str]

    @property
    def is_fixed(self) -> bool:
        """Whether it stays where it is."""
        return self.operation in _FIXED or self.text.endswith(":")

    @property
    def writes(self) -> bool:
        """Whether it does more than give a value, for all that is known here."""
        if self.operation == "call":
            return not self.name or "@llvm." not in self.text
        if self.operation == "load":
            return " volatile " in self.text or " atomic " in self.text
        return self.operation not in _PURE


class Step(NamedTuple):
    """An instruction: what it waits for; its latency; whether its result takes a register."""

    before: tuple[int, ...]
    latency: int
    is_vector: bool


def scheduled(lines: Sequence[str], registers: int) -> list[str]:
    """The lines of a function in an order that keeps a core busy; `registers`: values that may be
    alive at once. What nobody reads is left out."""
    result: list[str] = []
    for stretch in _stretches(without_unread([line_of(text) for text in lines])):
        order: Sequence[int] = range(len(stretch))
        if len(stretch) >= _LEAST:
            order = ordered(steps_of(stretch), registers)
        result += [stretch[place].text for place in order]
    return result


def line_of(text: str) -> Line:
    """A line of LLVM text."""
    found = DEFINED.match(text)
    if found:
        return Line(text, found[1], found[2], VALUE.findall(text, found.end()))
    return Line(text, "", text.partition(" ")[0], VALUE.findall(text))


def without_unread(lines: Sequence[Line]) -> list[Line]:
    """The lines but those whose values nobody reads."""
    wanted = {name for line in lines if line.is_fixed for name in line.reads}
    kept = []
    for line in reversed(lines):
        if not line.name or line.name in wanted or line.is_fixed or line.writes:
            wanted.update(line.reads)
            kept.append(line)
    return kept[::-1]


def _stretches(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of instructions that may change places; what may not, labels and such, one by one."""
    stretch: list[Line] = []
    for line in lines:
        if line.is_fixed:
            yield stretch
            yield [line]
            stretch = []
        else:
            stretch.append(line)
    yield stretch


def steps_of(lines: Sequence[Line]) -> list[Step]:
    steps: list[Step] = []
    places: dict[str, int] = {}
    reads: list[int] = []
    written: list[int] = []  # the last write
    for place, line in enumerate(lines):
        before = {places[name] for name in line.reads if name in places}
        if line.operation not in _CALM:
            if line.writes:
                before.update(reads, written)
                reads, written = [], [place]
            elif line.operation == "load" or "@llvm.masked" in line.text:
                before.update(written)
                reads.append(place)
        if line.name:
            places[line.name] = place
        steps.append(Step(tuple(before), latency(line), bool(line.name) and " x " in line.text))
    return steps


def latency(line: Line) -> int:
    known = _LATENCIES.get(line.operation)
    if known is None:
        return _DIVISION if "@llvm.sqrt" in line.text else _LATENCY
    return known


def _users(steps: Sequence[Step]) -> list[list[int]]:
    """The instructions that wait for each."""
    after: list[list[int]] = [[] for _ in steps]
    for place, step in enumerate(steps):
        for each in step.before:
            after[each].append(place)
    return after


def _paths(steps: Sequence[Step], after: Sequence[Sequence[int]]) -> list[int]:
    """How long it takes from each instruction to the end."""
    paths = [0] * len(steps)
    for place in range(len(steps) - 1, -1, -1):
        readers = after[place]
        rest = max([paths[each] for each in readers]) if readers else 0
        paths[place] = steps[place].latency + rest
    return paths


def ordered(steps: Sequence[Step], registers: int) -> list[int]:
    """The places of instructions in their new order."""
    after = _users(steps)
    paths = _paths(steps, after)
    waits = [len(step.before) for step in steps]
    registers_of = _Registers(steps, after)
    divides = {place for place, step in enumerate(steps) if step.latency == _DIVISION}
    starts, order, now, alive, divided = [0] * len(steps), [], 0, 0, 0
    ready = [(-paths[place], place) for place, count in enumerate(waits) if not count]
    ready.sort()
    later: list[tuple[int, int]] = []  # when the operands are there
    while ready or later:
        while later and (later[0][0] <= now or not ready):
            place = heappop(later)[1]
            insort(ready, (-paths[place], place))
        found = _taken(
            ready,
            registers_of.growth,
            registers - alive,
            divides if now < divided else (),
            may_wait=bool(later),
        )
        if found is None:  # for the next result, which may free a register
            now = later[0][0]
            continue
        place = found
        alive += registers_of.growth[place]
        order.append(place)
        registers_of.take(place)
        taken = steps[place].latency
        now = max(now, starts[place])
        done = now + taken
        if place in divides:
            divided = now + _APART
        now += taken > 0
        for each in after[place]:
            waits[each] -= 1
            if starts[each] < done:
                starts[each] = done
            if not waits[each]:
                heappush(later, (starts[each], each))
    return order


class _Registers:
    """`growth`: how many more values are alive after each instruction."""

    def __init__(self, steps: Sequence[Step], after: Sequence[Sequence[int]]) -> None:
        self.steps, self.after = steps, after
        self.unread = [len(users) for users in after]
        self.takes = [
            step.is_vector and bool(users) for step, users in zip(steps, after, strict=True)
        ]
        self.is_taken = [False] * len(steps)
        self.growth = [int(takes) for takes in self.takes]
        for value, users in enumerate(after):
            if len(users) == 1 and self.takes[value]:
                self.growth[users[0]] -= 1

    def take(self, place: int) -> None:
        """Take an instruction: of what it reads, others may be the last readers now."""
        is_taken, unread = self.is_taken, self.unread
        is_taken[place] = True
        for value in self.steps[place].before:
            unread[value] = left = unread[value] - 1
            if left == 1 and self.takes[value]:
                for each in self.after[value]:
                    if not is_taken[each]:
                        self.growth[each] -= 1
                        break


def _taken(
    ready: list[tuple[int, int]],
    growth: Sequence[int],
    free: int,
    late: Collection[int],
    *,
    may_wait: bool,
) -> int | None:
    """Take the instruction of the longest path that is not one of the `late`; where registers are
    short, one of those after it that needs none, or none if it may wait."""
    for number, (_, place) in enumerate(ready[:_LOOKED_AT]):
        if (free > 0 or growth[place] <= 0) and place not in late:
            del ready[number]
            return place
    if not ready or (free <= 0 and may_wait):
        return None
    return ready.pop(0)[1]
