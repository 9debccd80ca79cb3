"""The loop nest of reductions along short rows (ROWS of `ir/kernel.py`): a lane has a row.

A vector of rows goes through all phases: its dense arguments are turned into tiles, an inner phase
walks the elements of the rows with its accumulators in registers, and dense results are turned
back. Rows that do not fill a vector run one by one.

A float sum keeps NumPy's order within its lane: 8 partial sums take turns over whole groups of 8,
are added as `emit_pairwise` says, and what is left over follows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from lazyfuse.backends.cpu.emit_fold import (
    Parts,
    Slots,
    add,
    combine,
    is_float,
    part_dtypes,
    start,
    value_parts,
)
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place, is_in_order
from lazyfuse.backends.cpu.emit_site import (
    Site,
    Values,
    each_vector,
    enter_axes,
    first_lanes,
    outer_bounds,
)
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.emit_tile import Tile
from lazyfuse.backends.cpu.vector import Operand, vector_type
from lazyfuse.ir.kernel import Accumulator, Level, Role
from lazyfuse.ops.body import Instr
from lazyfuse.ops.primitives import PRIMITIVES

#: Partial sums of a row, as in `emit_pairwise`.
PARTIALS = 8
#: Instructions of a phase that are written out for each element of a row, rather than in a loop.
WRITTEN_OUT = 48


def emit_rows_in_lanes(site: Site, plans: Sequence[PhasePlan], entries: Sequence[Values]) -> None:
    """Write the whole nest. `entries` has the ENTRY values of each plan."""
    writer, lane = site.writer, site.kernel.outer - 1
    with ExitStack() as stack:
        site = enter_axes(site, range(lane), stack)
        nests = [dict(entry) for entry in entries]
        for plan, nest in zip(plans, nests, strict=True):
            site.evaluate(plan, Place.NEST, nest)
            if plan.level is Level.OUTER:
                site.evaluate(plan, Place.ROW, nest)
        single = [first_lanes(writer, nest) for nest in nests]
        each_vector(
            site,
            *outer_bounds(site, lane),
            lambda at: _Rows(at, plans).run(nests),
            single=lambda at: _Rows(at, plans).run(single),
        )


class _Rows:
    """A vector of rows (or one row, with one lane) on its way through the phases."""

    def __init__(self, at: Site, plans: Sequence[PhasePlan]) -> None:
        self.writer, self.kernel, self.plans = at.writer, at.kernel, plans
        self.dense = at.kernel.dense if at.writer.lanes > 1 else ()
        scratch = [n for n, arg in enumerate(at.kernel.args) if arg.role is Role.SCRATCH]
        tiles = {
            number: Tile(self.writer, at.kernel.args[number].dtype, at.kernel.row)
            for number in (*self.dense, *scratch)
        }
        self.accumulators = [Slots(self.writer, part_dtypes(a)) for a in at.kernel.accumulators]
        self.at = replace(at, tiles=tiles).with_finished(self._finished)

    def run(self, nests: Sequence[Values]) -> None:
        """All phases; `nests` has what each plan knows before its rows."""
        for number in self.dense:
            if self.kernel.args[number].role is Role.IN:
                self.at.tiles[number].read(self.at.cursor[number])
        for plan, nest in zip(self.plans, nests, strict=True):
            values = dict(nest)
            if plan.level is Level.OUTER:
                self.at.evaluate(plan, Place.LANE, values)
                self.at.store(plan, values)
            else:
                self.at.evaluate(plan, Place.BLOCK, values)
                self._fold(plan, values)
        for number in self.dense:
            if self.kernel.args[number].role is Role.OUT:
                self.at.tiles[number].write(self.at.cursor[number])

    def _fold(self, plan: PhasePlan, values: Values) -> None:
        """Take the rows through an inner phase."""
        for number, acc in plan.folds:
            init = None
            if acc.init is not None:
                with self.writer.with_lanes(1):
                    init = self.at.scalar(acc.init)
            self.accumulators[number].write(start(self.writer, acc, init))
        sums = [_RowSum(self.writer, acc) for _, acc in plan.folds if _is_sum(acc)]
        row = self.kernel.row
        whole = row - row % PARTIALS if sums else row

        def step(index: str) -> list[Operand]:
            return self._step(plan, values, index)

        def grouped(index: str) -> None:
            for total, value in zip(sums, step(index), strict=True):
                total.add_to_partial(index, value)

        def loose(index: str) -> None:
            for total, value in zip(sums, step(index), strict=True):
                total.add(value)

        self._each(plan, 0, whole, grouped)
        for total in sums:
            total.join()
        self._each(plan, whole, row, loose)
        numbers = [number for number, acc in plan.folds if _is_sum(acc)]
        for number, total in zip(numbers, sums, strict=True):
            self._combine(plan, number, total.total.read())

    def _each(self, plan: PhasePlan, low: int, high: int, run: Callable[[str], None]) -> None:
        """Run at every index, written out where that is little."""
        if low == high:
            return
        if (high - low) * _size(plan) <= WRITTEN_OUT:
            for index in range(low, high):
                run(str(index))
            return
        with self.writer.loop(str(low), str(high)) as place:
            run(place)

    def _step(self, plan: PhasePlan, values: Values, index: str) -> list[Operand]:
        """Evaluate, fold and store at one element of each row; the values of its sums."""
        at = self.at.enter(self.kernel.outer, index)
        values = dict(values)
        at.evaluate(plan, Place.ROW, values)
        at.evaluate(plan, Place.LANE, values)
        summands = []
        for number, acc in plan.folds:
            taken = (acc.value,) if acc.index is None else (acc.value, acc.index)
            parts = value_parts(acc, [values[place] for place in taken])
            if _is_sum(acc):
                summands.append(_wide(self.writer, parts[0]))
            else:
                self._combine(plan, number, parts)
        at.store(plan, values)
        return summands

    def _combine(self, plan: PhasePlan, number: int, new: Parts) -> None:
        acc, slots = self.kernel.accumulators[number], self.accumulators[number]
        in_order = is_in_order(self.kernel, plan, acc)
        slots.write(combine(self.writer, acc, slots.read(), new, in_order=in_order))

    def _finished(self, _at: Site, number: int) -> Operand:
        parts = self.accumulators[number].read()
        return parts[-1]  # of an argmax, the index


class _RowSum:
    """The pairwise sum of a row in each lane. Sums start from -0.0, which changes nothing."""

    def __init__(self, writer: FunctionWriter, acc: Accumulator) -> None:
        self.writer = writer
        self.dtype = "f4" if acc.dtype == "f2" else acc.dtype
        self.kind = vector_type(self.dtype, writer.lanes)
        self.partials = writer.slot(f"[{PARTIALS} x {self.kind}]")
        self.total = Slots(writer, (self.dtype,))
        for place in range(PARTIALS):
            writer.keep(self._at(str(place)), writer.number(-0.0, self.dtype))

    def add_to_partial(self, index: str, value: Operand) -> None:
        """Add element `index` of each row."""
        place = self._at(index)
        self.writer.keep(place, add(self.writer, self.writer.fetch(place, self.dtype), value))

    def join(self) -> None:
        """Add the partial sums: neighbours, then pairs, then halves."""
        sums = [self.writer.fetch(self._at(str(n)), self.dtype) for n in range(PARTIALS)]
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=True)
            sums = [add(self.writer, *pair) for pair in pairs]
        self.total.write((sums[0],))

    def add(self, value: Operand) -> None:
        """Add an element that is left over."""
        (before,) = self.total.read()
        self.total.write((add(self.writer, before, value),))

    def _at(self, index: str) -> str:
        if index.isdigit():
            place = str(int(index) % PARTIALS)
        else:
            place = self.writer.i64("and", index, str(PARTIALS - 1))
        return self.writer.value(f"getelementptr {self.kind}, ptr {self.partials}, i64 {place}")


def _is_sum(acc: Accumulator) -> bool:
    return acc.op == "add" and is_float(acc)


def _wide(writer: FunctionWriter, value: Operand) -> Operand:
    """Float16 is added in float32."""
    return writer.write(Instr("cast", "f4"), (value,)) if value.dtype == "f2" else value


def _size(plan: PhasePlan) -> float:
    """The instructions of a phase for one element; transcendental functions are many."""
    pairs = zip(plan.body, plan.places, strict=True)
    here = [instr for instr, place in pairs if place in (Place.ROW, Place.LANE)]
    heavy = sum(PRIMITIVES[instr.op].transcendental for instr in here)
    return len(here) + len(plan.folds) + WRITTEN_OUT * heavy
