"""The loop nest of a scan: one axis in order, the step of each element after the one before.

What does not read the carry is evaluated in vectors. Lanes along an outer axis (columns): each
lane carries its own value down a block of columns, row by row, so that C-ordered rows are read in
whole lines. Lanes along the scanned axis (rows): the vector is taken apart, stepped through lane
by lane, and put together again to be stored. No step is evaluated that NumPy does not evaluate.
"""

from __future__ import annotations

from contextlib import ExitStack

from lazyfuse.backends.cpu.emit_memory import parts_of
from lazyfuse.backends.cpu.emit_params import BLOCK_VECTORS
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.emit_site import (
    Site,
    Values,
    each_vector,
    enter_axes,
    first_lanes,
    outer_bounds,
)
from lazyfuse.backends.cpu.vector import Operand, part_dtype, vector_type
from lazyfuse.ir.kernel import Scan
from lazyfuse.ops.body import Instr


def emit_scan(site: Site, plan: PhasePlan, entry: Values) -> None:
    """Write the nest. `entry` has the ENTRY values of the plan."""
    assert plan.scan is not None
    nest = _Nest(site, plan, plan.scan)
    if site.kernel.folds_lanes:
        nest.rows(site, entry)
    else:
        nest.columns(site, entry)


class _Nest:
    """`before`: the instructions that do not read the carry; `after`: those that do."""

    def __init__(self, site: Site, plan: PhasePlan, scan: Scan) -> None:
        self.writer, self.kernel, self.scan = site.writer, site.kernel, scan
        self.dtype = site.kernel.args[scan.arg].dtype
        late = _late(plan)
        self.carries = [n for n in late if plan.body[n].op == "carry"]
        places = tuple(None if n in late else place for n, place in enumerate(plan.places))
        self.before = plan._replace(places=places)
        steps = [n for n in late if n not in self.carries and plan.places[n] is not None]
        self.after = plan._replace(
            places=tuple(Place.LANE if n in steps else None for n in range(len(plan.body)))
        )
        used = {arg for n in steps for arg in plan.body[n].args} | {scan.first}
        self.taken = sorted(used - late)
        self.addend = self._addend(plan, steps)

    def _addend(self, plan: PhasePlan, steps: list[int]) -> int | None:
        """What a scan adds to the value before, where that is all it does, and to integers, which
        may be added in any order; None for other scans."""
        instr = plan.body[self.scan.next]
        is_sum = steps == [self.scan.next] and instr.op == "add" and self.dtype[0] in "iu"
        if not is_sum or sorted(instr.args) != sorted((*self.carries, self.scan.first)):
            return None
        return self.scan.first

    def columns(self, site: Site, entry: Values) -> None:
        """Lanes along the last outer axis."""
        writer, kernel = self.writer, self.kernel
        state = self._state(BLOCK_VECTORS)
        with ExitStack() as stack:
            site = enter_axes(site, range(kernel.outer - 1), stack)
            low, high = outer_bounds(site, kernel.outer - 1)
            block = writer.parameter(site.params.block)
            start = stack.enter_context(writer.loop(low, high, block))
            end = writer.least(writer.add(start, block), high)
            nest = dict(entry)
            site.evaluate(self.before, Place.NEST, nest)
            index = stack.enter_context(writer.loop("0", site.extent(kernel.outer)))
            site = site.enter(kernel.outer, index)
            row = dict(nest)
            site.evaluate(self.before, Place.ROW, row)
            each_vector(site, start, end, lambda at: self._column(at, row, start, state))

    def _column(self, at: Site, row: Values, start: str, state: tuple[str, ...]) -> None:
        values = dict(row)
        at.evaluate(self.before, Place.BLOCK, values)
        at.evaluate(self.before, Place.LANE, values)
        assert at.vector is not None
        number = self.writer.i64("sub", at.vector, start)
        kind = vector_type(part_dtype(self.dtype), self.writer.lanes)
        number = self.writer.i64("lshr", number, str(self.writer.lanes.bit_length() - 1))
        places = tuple(
            self.writer.value(f"getelementptr {kind}, ptr {slot}, i64 {number}") for slot in state
        )
        self._advance(at, values, places, at.indexes[self.kernel.outer])
        at.write(self.scan.arg, self._fetch(places))

    def rows(self, site: Site, entry: Values) -> None:
        """Lanes along the scanned axis."""
        with self.writer.with_lanes(1):
            state = self._state(1)
        with ExitStack() as stack:
            site = enter_axes(site, range(self.kernel.outer), stack)
            row = dict(entry)
            site.evaluate(self.before, Place.ROW, row)
            single = first_lanes(self.writer, row)
            if self.addend is not None:
                with self.writer.with_lanes(1):
                    self._keep(state, self.writer.number(0, self.dtype))
            each_vector(
                site,
                "0",
                site.extent(self.kernel.outer),
                lambda at: self._vector(at, row, state),
                single=lambda at: self._vector(at, single, state),
            )

    def _vector(self, at: Site, row: Values, state: tuple[str, ...]) -> None:
        values = dict(row)
        at.evaluate(self.before, Place.LANE, values)
        assert at.vector is not None
        if self.addend is not None and self.writer.lanes > 1:
            at.write(self.scan.arg, self._sums(values[self.addend], state))
            return
        results = []
        for lane in range(self.writer.lanes):
            own = {n: self._lane(values[n], lane) for n in self.taken}
            with self.writer.with_lanes(1):
                self._advance(at, own, state, at.vector if lane == 0 else None)
                results.append(self._fetch(state))
        at.write(self.scan.arg, self._joined(results))

    def _sums(self, value: Operand, state: tuple[str, ...]) -> Operand:
        """The running sums of a vector, of twice as many lanes in each step; what waits for the
        vector before is one addition."""
        writer, lanes, add = self.writer, self.writer.lanes, Instr("add", self.dtype)
        nothing = writer.number(0, self.dtype)
        distance = 1
        while distance < lanes:
            order = [*range(lanes, lanes + distance), *range(lanes - distance)]
            value = writer.write(add, (value, writer.shuffle(value, order, nothing)))
            distance *= 2
        last = writer.extract(value, lanes - 1)
        with writer.with_lanes(1):
            before = self._fetch(state)
            self._keep(state, writer.write(add, (before, last)))
        return writer.write(add, (value, writer.splats(before)))

    def _advance(
        self, at: Site, values: Values, places: tuple[str, ...], index: str | None
    ) -> None:
        """Write the value at `index` into the state; without an index it is not the first."""
        if index is None:
            self._step(at, values, places)
            return
        with self.writer.when(self.writer.value(f"icmp eq i64 {index}, 0")):
            self._keep(places, values[self.scan.first])
        with self.writer.when(self.writer.value(f"icmp ne i64 {index}, 0")):
            self._step(at, dict(values), places)

    def _step(self, at: Site, values: Values, places: tuple[str, ...]) -> None:
        values.update((number, self._fetch(places)) for number in self.carries)
        at.evaluate(self.after, Place.LANE, values)
        self._keep(places, values[self.scan.next])

    def _state(self, vectors: int) -> tuple[str, ...]:
        """Stack slots for the carry of so many vectors, one per part."""
        kind = vector_type(part_dtype(self.dtype), self.writer.lanes)
        parts = 2 if self.dtype[0] == "c" else 1
        return tuple(self.writer.slot(kind, vectors) for _ in range(parts))

    def _fetch(self, places: tuple[str, ...]) -> Operand:
        part = part_dtype(self.dtype)
        names = tuple(self.writer.fetch(place, part).name for place in places)
        return Operand(self.dtype, names)

    def _keep(self, places: tuple[str, ...], value: Operand) -> None:
        for place, part in zip(places, parts_of(value), strict=True):
            self.writer.keep(place, part)

    def _lane(self, value: Operand, lane: int) -> Operand:
        names = tuple(self.writer.extract(part, lane).name for part in parts_of(value))
        return Operand(value.dtype, names)

    def _joined(self, lanes: list[Operand]) -> Operand:
        """One value from its lanes."""
        if len(lanes) == 1:
            return lanes[0]
        parts = zip(*(value.names for value in lanes), strict=True)
        return Operand(
            self.dtype, tuple(self.writer.join(n, part_dtype(self.dtype)) for n in parts)
        )


def _late(plan: PhasePlan) -> set[int]:
    """The instructions that read the carry, directly or not."""
    late: set[int] = set()
    for number, instr in enumerate(plan.body):
        if instr.op == "carry" or not late.isdisjoint(instr.args):
            late.add(number)
    return late
