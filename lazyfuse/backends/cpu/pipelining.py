"""Software pipelining: a loop whose iteration computes each stage of a body for another vector.

    iteration   0     1     2     3     4
    stage 0     v0    v1    v2   (v2)  (v2)          a body in three stages, three vectors
    stage 1    (v0)   v0    v1    v2   (v2)
    stage 2    (v0)  (v0)   v0    v1    v2           stores; those in brackets go to a room

Vector math is one long chain of steps that wait for each other. A core reaches some 250
instructions ahead, which is about one vector of a long body, so most of its units wait. In the
loop above the stages are independent of each other. The body is written once: before the first
vector and after the last one, stages compute a vector again, and what they store is not kept.
Loads are repeated in each stage that reads them, other values are carried.

Which stage a step belongs to: `stages.py`. What comes before: `emit_rounds.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.scheduling import (
    DEFINED,
    VALUE,
    Line,
    latency,
    line_of,
    ordered,
    steps_of,
    without_unread,
)
from lazyfuse.backends.cpu.stages import OF_32, Choice, staged

_VALUES = re.compile(f"({VALUE.pattern})")
_BRANCH = re.compile(r"br i1 %[\w.]+, label (%[\w.]+), label (%[\w.]+)")
_PHI = re.compile(r"(.* = phi .* \[ .*), %[\w.]+ \], (\[ .* \])")
#: What is repeated in each stage that reads it.
_REPEATED = frozenset(("getelementptr", "load"))
_TYPE = r"(<\d+ x \w+>|\w+)"
#: Where the type of a value stands behind its name, by operation; elsewhere it is the first one.
_TYPES = {
    "branch": re.compile(rf"phi {_TYPE} "),
    "call": re.compile(rf"call {_TYPE} @"),
    "select": re.compile(rf"select .*?, {_TYPE} "),
} | dict.fromkeys(
    "bitcast fpext fptrunc fptosi fptoui sitofp uitofp zext sext trunc".split(),
    re.compile(rf".* to {_TYPE}$"),
)
_FIRST = re.compile(rf"\w+ (?:nsw |nuw )*{_TYPE}[ ,]")
_COMPARED = re.compile(r"[fi]cmp \w+ (?:<(\d+) x )?")
_SHUFFLED = re.compile(r"shufflevector <\d+ x (\w+)> .*, <(\d+) x i32> ")


class Pipeline:
    """The body of a loop, cut into `count` stages. `place` is how its lines name the place of the
    vector; `rooms`: where what is stored at an address goes that is not to be kept."""

    def __init__(
        self, lines: Sequence[str], place: str, rooms: Mapping[str, str], choice: Choice = OF_32
    ) -> None:
        self.place, self.rooms = place, rooms
        self.lines = _read(lines)
        self.where = {line.name: number for number, line in enumerate(self.lines) if line.name}
        self.repeated: set[str] = set()
        for line in self.lines:
            known = [name for name in line.reads if name in self.where]
            if line.operation in _REPEATED and self.repeated.issuperset(known):
                self.repeated.add(line.name)
        #: The stage of each line, 0 for what is repeated.
        places = [k for k, line in enumerate(self.lines) if line.name not in self.repeated]
        self.stages = self._stages(places, choice)
        self.count = max(self.stages) + 1
        #: Its instructions but the repeated ones.
        self.length = sum(latency(self.lines[place]) > 0 for place in places)

    def _stages(self, places: Sequence[int], choice: Choice) -> list[int]:
        steps = [self.lines[place] for place in places]
        numbers = {line.name: number for number, line in enumerate(steps) if line.name}
        before = [[numbers[name] for name in line.reads if name in numbers] for line in steps]
        lasts = [number for number, line in enumerate(steps) if line.operation == "store"]
        stages = [0] * len(self.lines)
        cut = staged([latency(line) for line in steps], before, lasts, choice)
        for place, stage in zip(places, cut, strict=True):
            stages[place] = stage
        return stages

    def write(self, writer: FunctionWriter, position: str, end: str) -> None:
        """Write one iteration: stage 0 of the vector at `position`, or the last before `end`."""
        _Iteration(self, writer, position, end).write()


class _Iteration:
    """One iteration of the loop on its way into a writer."""

    def __init__(
        self, pipeline: Pipeline, writer: FunctionWriter, position: str, end: str
    ) -> None:
        self.pipeline, self.writer = pipeline, writer
        self.places = [self._place(position, end, stage) for stage in range(pipeline.count)]
        behind = (pipeline.count - 1) * writer.lanes
        self.is_kept = writer.value(f"icmp sge i64 {position}, {behind}")
        self.lines: list[Line] = []
        self.made: set[str] = set()  # names of what is repeated or carried

    def _place(self, position: str, end: str, stage: int) -> str:
        """Where the vector of a stage lies."""
        writer, place = self.writer, position
        if stage:
            place = writer.i64("sub", position, str(stage * writer.lanes))
            is_there = writer.value(f"icmp sgt i64 {place}, 0")
            place = writer.value(f"select i1 {is_there}, i64 {place}, i64 0")
        if stage == self.pipeline.count - 1:
            return place
        return writer.least(place, writer.i64("sub", end, str(writer.lanes)))

    def write(self) -> None:
        pipeline = self.pipeline
        steps = [
            (line, stage)
            for line, stage in zip(pipeline.lines, pipeline.stages, strict=True)
            if line.name not in pipeline.repeated
        ]
        name, made = self._name, {line.name: stage for line, stage in steps}
        # loads come before all stores, which may be in place
        named = [
            [read if made.get(read) == stage else name(read, stage) for read in line.reads]
            for line, stage in steps
        ]
        for (line, _), reads in zip(steps, named, strict=True):
            self._add(line, line.name, reads)
        for number in ordered(steps_of(self.lines), self.writer.registers):
            line = self.lines[number]
            if line.operation == "branch":
                self._put(line)
            elif line.operation != "phi":  # the loop begins with these
                self.writer.lines.append(line.text)

    def _put(self, line: Line) -> None:
        """A branch in its place; what comes from before it now comes from this block."""
        writer = self.writer
        before = writer.block
        for text in line.text.split("\n"):
            if text.endswith(":"):
                writer.label(text[:-1])
            elif found := _PHI.match(text):
                start, other = found.groups()
                writer.line(f"{start}, %{before} ], {other}")
            else:
                writer.line(text)

    def _add(self, line: Line, name: str, reads: list[str]) -> None:
        """Add a line under a name, with other names for what it reads."""
        if name == line.name and reads == line.reads and line.operation != "store":
            self.lines.append(line)
            return
        names = dict(zip(line.reads, reads, strict=True))
        if line.operation == "store":
            address = line.reads[-1]
            names[address] = self._kept(address, reads[-1])
            reads = [*reads, names[address]]
        names[line.name] = name
        parts = _VALUES.split(line.text)  # each other one is a name
        parts[1::2] = [names.get(part, part) for part in parts[1::2]]
        self.lines.append(Line("".join(parts), name, line.operation, reads))

    def _kept(self, address: str, there: str) -> str:
        """Where to store: there, or in the room of an address."""
        chosen, room = self.writer.fresh(), self.pipeline.rooms[address]
        text = f"{chosen} = select i1 {self.is_kept}, ptr {there}, ptr {room}"
        self.lines.append(Line(text, chosen, "getelementptr", [there]))
        return chosen

    def _name(self, read: str, stage: int) -> str:
        """How a stage names what a line reads."""
        pipeline = self.pipeline
        if read == pipeline.place:
            return self.places[stage]
        if read not in pipeline.where:
            return read
        place = pipeline.where[read]
        line = pipeline.lines[place]
        if read not in pipeline.repeated:
            return self._carried(line, stage - pipeline.stages[place])
        again = f"{read}.s{stage}"
        if again not in self.made:
            self.made.add(again)
            self._add(line, again, [self._name(each, stage) for each in line.reads])
        return again

    def _carried(self, line: Line, iterations: int) -> str:
        """What a line gave some iterations ago."""
        name = line.name
        if iterations and (last := f"{name}.c{iterations}") in self.made:
            return last
        for iteration in range(1, iterations + 1):
            before, name = name, f"{line.name}.c{iteration}"
            if name not in self.made:
                self.made.add(name)
                self._carry(before, name, _type(line))
        return name

    def _carry(self, before: str, name: str, kind: str) -> None:
        """Give a value another name in the next iteration, in the next round, too."""
        self.writer.carry(kind, name, _one(kind), before)
        self.lines.insert(0, Line(f"{name} = phi {kind}", name, "phi", []))


def _read(texts: Sequence[str]) -> list[Line]:
    """Lines that somebody reads; branches around calls (`lanes.py`) are lines of their own."""
    lines: list[Line] = []
    rest = iter(texts)
    for text in rest:
        branch = _BRANCH.match(text)
        if branch is not None:
            end = f"{branch[2][1:]}:"
            inside = [text, *takewhile(end.__ne__, rest), end]
            lines.append(_branch(inside, branch.groups()))
        elif phi := _PHI.match(text):
            name, *reads = VALUE.findall(phi[1])
            before = lines.pop()
            lines.append(Line(f"{before.text}\n{text}", name, "branch", [*before.reads, *reads]))
        else:
            lines.append(line_of(text))
    return without_unread(lines)


def _branch(inside: Sequence[str], labels: Sequence[str]) -> Line:
    own = {found[1] for text in inside if (found := DEFINED.match(text))}
    reads = dict.fromkeys(VALUE.findall(" ".join(inside)))
    return Line("\n".join(inside), "", "branch", [n for n in reads if n not in {*own, *labels}])


def _type(line: Line) -> str:
    """The LLVM type of what a line gives."""
    text = line.text.rpartition("\n")[2].partition(" = ")[2]
    if found := _COMPARED.match(text):
        return f"<{found[1]} x i1>" if found[1] else "i1"
    if found := _SHUFFLED.match(text):
        return f"<{found[2]} x {found[1]}>"
    found = _TYPES.get(line.operation, _FIRST).match(text)
    assert found is not None, text
    is_element = line.operation == "extractelement"
    return found[1].rpartition(" ")[2].rstrip(">") if is_element else found[1]


def _one(kind: str) -> str:
    """Any number of a type that is no condition: 1; of conditions, false."""
    if kind.endswith(("i1", "i1>")):
        return "false" if kind == "i1" else "zeroinitializer"
    scalar = kind.rpartition(" ")[2].rstrip(">")
    one = "1" if scalar[0] == "i" else "0xH3C00" if scalar == "half" else "1.0"
    return one if kind == scalar else f"splat ({scalar} {one})"
