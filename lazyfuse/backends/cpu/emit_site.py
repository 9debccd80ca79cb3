"""A point of the loop nest, and a body evaluated there.

A `Site` knows where each argument stands at the current indices. `enter` moves it along one axis,
`at_vector` along the lane axis to the first lane of a vector. `evaluate` runs the instructions of
one place (see `emit_plan`) at a site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from lazyfuse.backends.cpu.emit_indexed import load_indexed, store_indexed
from lazyfuse.backends.cpu.emit_memory import (
    Tail,
    load_scalar,
    load_vector,
    parts_of,
    store_past_caches,
    store_vector,
)
from lazyfuse.backends.cpu.emit_near import load_near
from lazyfuse.backends.cpu.emit_params import Params, width
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.emit_tile import Tile
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import FIXED, UNIT, Kernel, Role
from lazyfuse.ops.body import Instr

Values = dict[int, Operand]
#: Reads a finished accumulator in the lanes that the writer has now.
Finished = Callable[["Site", int], Operand]
Single = Callable[["Site"], object]


@dataclass(frozen=True, slots=True)
class Site:
    """`cursor`: the address of each argument; `vector`: the position of lane 0, if any;
    `streams`, `past_caches`: see `emit_stream`; `tiles`: arguments at hand as a vector for each
    index along the last inner axis; `together`, `neighbours`, `at_hand`: see `emit_neighbours`."""

    writer: FunctionWriter
    kernel: Kernel
    params: Params
    cursor: Mapping[int, str]
    indexes: Mapping[int, str]
    finished: Finished
    vector: str | None = None
    tail: Tail | None = None
    streams: str | None = None
    past_caches: bool = False
    tiles: Mapping[int, Tile] = field(default_factory=dict)
    together: str | None = None
    neighbours: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    at_hand: Mapping[int, Operand] = field(default_factory=dict)

    def enter(self, axis: int, index: str) -> Site:
        """Move to `index` along `axis`."""
        cursor = {arg: self._moved(arg, axis, index) for arg in self.cursor}
        return replace(self, cursor=cursor, indexes={**self.indexes, axis: index})

    def at_vector(self, position: str, tail: Tail | None) -> Site:
        """Move to a vector that starts at `position` of the lane axis."""
        axis = self.kernel.lane_axis
        assert axis is not None
        return replace(self.enter(axis, position), vector=position, tail=tail)

    def at_block(self, first: str) -> Site:
        """Make scratch memory, which holds one block of columns, start at column `first`."""
        back = self.writer.i64("sub", "0", first)
        cursor = dict(self.cursor)
        for number, arg in enumerate(self.kernel.args):
            if arg.role is Role.SCRATCH:
                cursor[number] = self.writer.offset(cursor[number], back, int(arg.dtype[1:]))
        return replace(self, cursor=cursor)

    def with_finished(self, finished: Finished) -> Site:
        return replace(self, finished=finished)

    def extent(self, axis: int) -> str:
        return self.writer.parameter(self.params.extents[axis])

    def evaluate(self, plan: PhasePlan, place: Place, values: Values) -> None:
        """Add the values of `place` to `values`."""
        for index, instr in enumerate(plan.body):
            if plan.places[index] is not place:
                continue
            if instr.op == "gather":
                values[index] = self._gather(plan, instr, values)
            else:
                values[index] = self._run(instr, values)

    def reread(self, plan: PhasePlan, values: Values) -> None:
        """Add the BLOCK values that are read again where they are used."""
        for index in plan.crossing:
            if index not in values:
                values[index] = self._run(plan.body[index], values)

    def _gather(self, plan: PhasePlan, instr: Instr, values: Values) -> Operand:
        arg, index = instr.attr, instr.args[0]
        assert isinstance(arg, int)
        return load_indexed(
            self.writer,
            instr.dtype,
            self.cursor[arg],
            values[index],
            stride=self._lane_stride(arg),
            tail=self.tail,
            is_uniform=plan.is_uniform(index),
        )

    def store(self, plan: PhasePlan, values: Values) -> None:
        """Write the stores of a phase."""
        for store in plan.stores:
            if store.index is None:
                self.write(store.arg, values[store.value])
                continue
            store_indexed(
                self.writer,
                values[store.value],
                self.cursor[store.arg],
                values[store.index],
                stride=self._lane_stride(store.arg),
                tail=self.tail,
                is_uniform=plan.is_uniform(store.index),
            )

    def write(self, arg: int, value: Operand) -> None:
        """Write a value to an argument."""
        if arg in self.tiles:
            self.tiles[arg].store(self._place_in_row(), value)
            return
        pointer, stride = self.cursor[arg], self._lane_stride(arg)
        if self.past_caches:
            store_past_caches(self.writer, value, pointer)
            return
        store_vector(self.writer, value, pointer, stride=stride, tail=self.tail)

    def scalar(self, number: int) -> Operand:
        """A scalar argument, one lane."""
        slot, dtype = self.params.scalars[number], self.kernel.scalars[number]
        if dtype[0] != "c":
            return load_scalar(self.writer, dtype, self._slot_address(slot))
        part = f"f{width(dtype)}"
        places = [self._slot_address(slot + place) for place in (0, 1)]
        names = [load_scalar(self.writer, part, place).name for place in places]
        return Operand(dtype, tuple(names))

    def _slot_address(self, slot: int) -> str:
        return self.writer.value(f"getelementptr i64, ptr %params, i64 {slot}")

    def _run(self, instr: Instr, values: Values) -> Operand:
        match instr.op:
            case "load":
                assert isinstance(instr.attr, int)
                return self._read(self._load(instr.attr, instr.dtype))
            case "scalar":
                assert isinstance(instr.attr, int)
                return self._read(self.writer.splats(self.scalar(instr.attr)))
            case "index":
                assert isinstance(instr.attr, int)
                return self._index(instr.attr)
            case "acc":
                assert isinstance(instr.attr, int)
                return self.finished(self, instr.attr)
            case _:
                return self.writer.write(instr, [values[arg] for arg in instr.args])

    def _read(self, value: Operand) -> Operand:
        """A value that no arithmetic gives."""
        self.writer.sources.read.update(value.names)
        return value

    def _load(self, arg: int, dtype: str) -> Operand:
        if arg in self.at_hand:
            return self.at_hand[arg]
        if arg in self.tiles:
            return self.tiles[arg].load(self._place_in_row())
        pointer, stride = self.cursor[arg], self._lane_stride(arg)
        step = self.kernel.args[arg].step
        if step and stride != FIXED:
            return load_near(self.writer, dtype, pointer, step=step, tail=self.tail)
        return load_vector(self.writer, dtype, pointer, stride=stride, tail=self.tail)

    def _place_in_row(self) -> str:
        return self.indexes[self.kernel.outer + self.kernel.inner - 1]

    def _index(self, axis: int) -> Operand:
        writer = self.writer
        name = writer.splat(self.indexes[axis], "i8")
        if self.vector is not None and axis == self.kernel.lane_axis and writer.lanes > 1:
            steps = ", ".join(f"i64 {lane}" for lane in range(writer.lanes))
            name = writer.value(f"add {writer.type('i8')} {name}, <{steps}>")
            if self.tail is not None:
                name = self._at_most(name, writer.add(self.indexes[axis], self.tail.last))
        return Operand("i8", (name,))

    def _at_most(self, index: str, last: str) -> str:
        """Lanes past the end repeat the last index."""
        writer = self.writer
        kind, limit = writer.type("i8"), writer.splat(last, "i8")
        exists = writer.value(f"icmp slt {kind} {index}, {limit}")
        return writer.value(f"select {writer.type('b1')} {exists}, {kind} {index}, {kind} {limit}")

    def _lane_stride(self, arg: int) -> str:
        """How `load_vector` names the step from lane to lane."""
        axis = self.kernel.lane_axis
        if self.vector is None or axis is None:
            return FIXED
        if self.kernel.args[arg].role is Role.SCRATCH:
            return UNIT
        kind = self.kernel.args[arg].access[axis]
        return kind if kind in (FIXED, UNIT) else self.stride(arg, axis)

    def stride(self, arg: int, axis: int) -> str:
        """The stride in bytes of a STRIDED axis."""
        return self.writer.parameter(self.params.strides[arg][axis])

    def _moved(self, number: int, axis: int, index: str) -> str:
        arg, pointer = self.kernel.args[number], self.cursor[number]
        size = int(arg.dtype[1:])
        if arg.role is Role.SCRATCH:
            return self._moved_scratch(number, axis, index)
        kind = arg.access[axis]
        if kind == FIXED:
            return pointer
        if kind == UNIT:
            return self.writer.offset(pointer, index, size)
        distance = self.writer.i64("mul", index, self.stride(number, axis))
        return self.writer.offset(pointer, distance)

    def _moved_scratch(self, number: int, axis: int, index: str) -> str:
        """Scratch is C-ordered over the inner axes, with a block of columns (if any) inside."""
        writer, pointer = self.writer, self.cursor[number]
        size = int(self.kernel.args[number].dtype[1:])
        if axis == self.kernel.lane_axis:
            return writer.offset(pointer, index, size)
        if axis < self.kernel.outer:
            return pointer
        inside = [self.extent(k) for k in range(axis + 1, self.kernel.outer + self.kernel.inner)]
        if not self.kernel.folds_lanes:
            inside.append(writer.parameter(self.params.block))
        for extent in inside:
            index = writer.i64("mul", index, extent)
        return writer.offset(pointer, index, size)


def first_site(writer: FunctionWriter, kernel: Kernel, params: Params, finished: Finished) -> Site:
    """Where every index is 0."""
    cursor = {number: writer.parameter(slot, "ptr") for number, slot in enumerate(params.pointers)}
    return Site(writer, kernel, params, cursor, {}, finished)


def each_vector(
    site: Site, low: str, high: str, run: Callable[[Site], object], *, single: Single | None = None
) -> None:
    """Run at every vector of [low, high) along the lane axis.

    What is left runs as a tail with a mask, or one by one through `single`, with one lane.
    """
    writer = site.writer
    length = writer.i64("sub", high, low)
    whole = writer.i64("and", length, str(-writer.lanes))
    full = writer.add(low, whole)
    with writer.loop(low, full, str(writer.lanes)) as position:
        run(site.at_vector(position, None))
    if single is not None:
        with writer.with_lanes(1), writer.loop(full, high) as position:
            single(site.at_vector(position, None))
        return
    count = writer.i64("sub", length, whole)
    with writer.when(writer.value(f"icmp sgt i64 {count}, 0")):
        run(site.at_vector(full, Tail(writer, count)))


def first_lanes(writer: FunctionWriter, values: Values) -> Values:
    """Lane 0 of each value."""
    return {
        index: Operand(value.dtype, tuple(writer.extract(p, 0).name for p in parts_of(value)))
        for index, value in values.items()
    }


def enter_axes(site: Site, axes: Iterable[int], stack: ExitStack) -> Site:
    """Open a loop over each axis; they close with the stack."""
    for axis in axes:
        if axis < site.kernel.outer:
            bounds = outer_bounds(site, axis)
        else:
            bounds = ("0", site.extent(axis))
        site = site.enter(axis, stack.enter_context(site.writer.loop(*bounds)))
    return site


def outer_bounds(site: Site, axis: int, extent: str | None = None) -> tuple[str, str]:
    """The range of an outer axis: [begin, end) if threads share it, else all of it."""
    writer = site.writer
    extent = extent or site.extent(axis)
    is_split = writer.value(f"icmp eq i64 {writer.parameter(site.params.split)}, {axis}")
    low = writer.value(f"select i1 {is_split}, i64 %begin, i64 0")
    return low, writer.value(f"select i1 {is_split}, i64 %end, i64 {extent}")
