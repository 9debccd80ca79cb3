"""What deep bodies give to a full reduction, computed block by block.

A fold takes its values leaf by leaf, 128 at a time: too few for a loop that runs in stages
(`pipelining.py`). So a block of values is computed in stages, kept in the first cache, and folded
from there: in the same order, and to the same bits. The loop in stages takes a block for one more
result. It may have fewer lanes than the fold, which needs eight for NumPy's order.
"""

from __future__ import annotations

from dataclasses import replace

from lazyfuse.backends.cpu.emit_memory import load_vector, parts_of
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place, is_ordered
from lazyfuse.backends.cpu.emit_rounds import (
    could_trap,
    each_in_rounds,
    is_copied,
    is_deep,
    stage_lanes,
)
from lazyfuse.backends.cpu.emit_site import Site, Values
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import FIXED, UNIT, Arg, Kernel, Level, Role, Store

#: Bytes of a block of one value: the round before and the stages after are some ten vectors.
BLOCK_BYTES = 16 << 10
#: Values of a body that are folded, at most: what a thread's stack and the first cache hold.
MOST_VALUES = 2


def has_blocks(kernel: Kernel, plan: PhasePlan) -> bool:
    """Whether a phase folds what a deep body gives, from first to last."""
    is_full = kernel.folds_lanes and not kernel.outer and kernel.inner == 1
    if not is_full or plan.level is not Level.INNER or plan.stores or kernel.scan is not None:
        return False
    folds = [acc for _, acc in plan.folds]
    if any(acc.index is not None or is_ordered(acc) or acc.dtype[0] == "c" for acc in folds):
        return False
    if any(arg.role is Role.SCRATCH for arg in kernel.args) or not is_copied(kernel, plan):
        return False
    is_safe = not any(map(could_trap, plan.body))
    return is_safe and 0 < len(_values(plan)) <= MOST_VALUES and is_deep(plan)


class Blocks:
    """The values that a phase folds, of a block that begins where it is asked for first."""

    def __init__(self, site: Site, plan: PhasePlan, row: Values) -> None:
        self.site, self.plan = site, plan
        writer = site.writer
        self.lanes = stage_lanes(writer.lanes, writer.features)
        self.row = {index: self._narrowed(value) for index, value in row.items()}
        self.values = _values(plan)
        self.dtypes = [plan.body[value].dtype for value in self.values]
        self.length = BLOCK_BYTES // max(int(dtype[1:]) for dtype in self.dtypes)
        self.memory = [
            writer.slot("i8", (self.length + writer.lanes) * int(dtype[1:]))
            for dtype in self.dtypes
        ]
        self.first, self.end = writer.slot("i64"), writer.slot("i64")
        writer.line(f"store i64 0, ptr {self.end}")

    def reach(self, low: str, count: str, high: str) -> None:
        """Have `count` values from `low` on there; a new block ends at `high` at the latest."""
        writer = self.site.writer
        end = writer.value(f"load i64, ptr {self.end}")
        is_short = writer.value(f"icmp sgt i64 {writer.add(low, count)}, {end}")
        with writer.when(is_short):
            end = writer.least(writer.add(low, str(self.length)), high)
            writer.line(f"store i64 {low}, ptr {self.first}")
            writer.line(f"store i64 {end}, ptr {self.end}")
            with writer.with_lanes(self.lanes):
                self._compute(low, end)

    def read(self, at: Site) -> Values:
        """The values of the vector at a site."""
        writer = at.writer
        assert at.vector is not None
        first = writer.value(f"load i64, ptr {self.first}")
        place = writer.i64("sub", at.vector, first)
        found: Values = {}
        for value, dtype, memory in zip(self.values, self.dtypes, self.memory, strict=True):
            address = writer.offset(memory, place, int(dtype[1:]))
            found[value] = load_vector(writer, dtype, address, stride=UNIT, tail=at.tail)
        return found

    def _narrowed(self, value: Operand) -> Operand:
        """A value that is the same in all lanes, in those of the stages."""
        writer = self.site.writer
        if self.lanes == writer.lanes:
            return value
        parts = [writer.shuffle(part, range(self.lanes)) for part in parts_of(value)]
        return Operand(value.dtype, tuple(part.name for part in parts))

    def _compute(self, low: str, end: str) -> None:
        """Compute [low, end) into the memory, as results of a kernel without folds."""
        site, plan, kernel = self.site, self.plan, self.site.kernel
        axis = kernel.lane_axis
        back = site.writer.i64("sub", "0", low)
        access = tuple(UNIT if each == axis else FIXED for each in range(kernel.inner))
        args, cursor, stores = list(kernel.args), dict(site.cursor), []
        for value, dtype, memory in zip(self.values, self.dtypes, self.memory, strict=True):
            cursor[len(args)] = site.writer.offset(memory, back, int(dtype[1:]))
            stores.append(Store(len(args), value))
            args.append(Arg(Role.OUT, dtype, access))
        plan = plan._replace(stores=tuple(stores))

        def run(at: Site) -> None:
            values = dict(self.row)
            at.evaluate(plan, Place.LANE, values)
            at.store(plan, values)

        here = replace(site, kernel=replace(kernel, args=tuple(args)), cursor=cursor)
        each_in_rounds(here, plan, (low, end), run)


def _values(plan: PhasePlan) -> list[int]:
    """The values of the lanes that are folded."""
    return sorted({acc.value for _, acc in plan.folds if plan.places[acc.value] is Place.LANE})
