"""The loop of elementwise kernels whose joined axes are walked as one (see `ir/kernel.py`).

What depends on tiny axes only repeats itself with the period. It is computed once, lane by lane,
into tables of one period and a vector more; a vector of the walk reads its part from the place
where it stands in the period, whatever the period and the number of lanes:

    period 3, 4 lanes    table  a b c a b c a    vectors read at 0, 1, 2, 0, 1, 2 ...
"""

from __future__ import annotations

from contextlib import ExitStack

from lazyfuse.backends.cpu.emit_memory import load_scalar, load_vector, store_vector
from lazyfuse.backends.cpu.emit_params import is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.emit_site import (
    Site,
    Values,
    each_vector,
    enter_axes,
    first_lanes,
    outer_bounds,
)
from lazyfuse.backends.cpu.emit_stream import each_streamed, is_streamed
from lazyfuse.ir.kernel import FIXED, PERIOD, UNIT


def emit_joined(site: Site, plan: PhasePlan, entry: Values) -> None:
    """Write the nest of the only phase. `entry` has its ENTRY values."""
    kernel, writer = site.kernel, site.writer
    outer = range(kernel.tiny[0] - 1)
    tables = _Tables(site, plan)
    is_once = _is_periodic_once(site, plan)
    if is_once:
        tables.fill(site, entry)
    with ExitStack() as stack:
        site = enter_axes(site, outer, stack)
        whole = writer.i64("mul", site.extent(outer.stop), tables.period)
        low, high = outer_bounds(site, kernel.outer - 1, whole)
        row = dict(entry)
        site.evaluate(plan, Place.ROW, row)
        if not is_once:
            tables.fill(site, row)
        tables.start(low)
        _walk(site, plan, row, tables, (low, high))


def _is_periodic_once(site: Site, plan: PhasePlan) -> bool:
    """Whether what repeats is the same at every index of the axes outside."""
    outer = range(site.kernel.tiny[0] - 1)
    for instr, place in zip(plan.body, plan.places, strict=True):
        if place is not Place.BLOCK:
            continue
        if any(plan.places[arg] is Place.ROW for arg in instr.args):
            return False
        if instr.op == "load":
            assert isinstance(instr.attr, int)
            access = site.kernel.args[instr.attr].access
            if any(access[axis] != FIXED for axis in outer):
                return False
    return True


def _walk(
    site: Site, plan: PhasePlan, row: Values, tables: _Tables, span: tuple[str, str]
) -> None:
    def run(at: Site, row: Values = row) -> None:
        values = dict(row)
        tables.read(at, values)
        at.evaluate(plan, Place.LANE, values)
        at.store(plan, values)

    if is_streamed(site, plan):
        each_streamed(site, plan, span, run)
        return
    if not is_strided(site.kernel):
        each_vector(site, *span, run)
        return
    single = first_lanes(site.writer, row)
    each_vector(site, *span, run, single=lambda at: run(at, single))


class _Tables:
    """One period of each value that repeats, and the place in it of the next vector."""

    def __init__(self, site: Site, plan: PhasePlan) -> None:
        self.writer, self.plan = site.writer, plan
        self.dtypes = {index: plan.body[index].dtype for index in plan.crossing}
        entries = PERIOD + self.writer.lanes
        self.tables = {
            index: self.writer.slot("i8", entries * int(dtype[1:]))
            for index, dtype in self.dtypes.items()
        }
        self.place = self.writer.slot("i64")
        self.period = "1"
        for axis in site.kernel.tiny:
            self.period = self.writer.i64("mul", self.period, site.extent(axis))
        self.step = self.writer.i64("urem", str(self.writer.lanes), self.period)

    def fill(self, site: Site, values: Values) -> None:
        """Compute one period, then repeat it for vectors that reach beyond its end."""
        writer, lanes = self.writer, self.writer.lanes
        values = first_lanes(writer, values)
        with writer.with_lanes(1):
            with ExitStack() as stack:
                place = "0"
                for axis in site.kernel.tiny:
                    extent = site.extent(axis)
                    index = stack.enter_context(writer.loop("0", extent))
                    place = writer.add(writer.i64("mul", place, extent), index)
                    site = site.enter(axis, index)
                site.evaluate(self.plan, Place.BLOCK, values)
                for number in self.tables:
                    address = self._address(number, place)
                    store_vector(writer, values[number], address, stride=UNIT, tail=None)
            self._repeat(writer.add(self.period, str(lanes)))

    def _repeat(self, end: str) -> None:
        with self.writer.loop(self.period, end) as place:
            before = self.writer.i64("sub", place, self.period)
            for number, dtype in self.dtypes.items():
                value = load_scalar(self.writer, dtype, self._address(number, before))
                target = self._address(number, place)
                store_vector(self.writer, value, target, stride=UNIT, tail=None)

    def start(self, low: str) -> None:
        """Stand at `low` of the joined axes."""
        place = self.writer.i64("urem", low, self.period)
        self.writer.line(f"store i64 {place}, ptr {self.place}")

    def read(self, at: Site, values: Values) -> None:
        """Add what repeats, for one vector, to `values`, and go on to the next one."""
        if not self.tables:
            return
        writer = self.writer
        place = writer.value(f"load i64, ptr {self.place}")
        for number, dtype in self.dtypes.items():
            address = self._address(number, place)
            values[number] = load_vector(writer, dtype, address, stride=UNIT, tail=at.tail)
        moved = writer.add(place, self.step if writer.lanes > 1 else "1")
        wraps = writer.value(f"icmp uge i64 {moved}, {self.period}")
        back = writer.i64("sub", moved, self.period)
        following = writer.value(f"select i1 {wraps}, i64 {back}, i64 {moved}")
        writer.line(f"store i64 {following}, ptr {self.place}")

    def _address(self, number: int, place: str) -> str:
        return self.writer.offset(self.tables[number], place, int(self.dtypes[number][1:]))
