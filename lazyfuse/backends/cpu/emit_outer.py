"""The loop nest of elementwise kernels and column reductions: lanes along the last outer axis.

A column reduction takes a block of columns (a few vectors) through all phases. In an inner phase
it walks the inner axes once, a block of rows at a time: each vector of columns goes down the rows
with its accumulators in registers, which are kept on the stack between blocks. A block of rows is
small enough for the first cache, so memory is read in whole lines, and every column adds its
values one by one, in index order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from lazyfuse.backends.cpu.emit_fold import (
    Parts,
    Slots,
    combine,
    part_dtypes,
    start,
    value_parts,
    waits,
)
from lazyfuse.backends.cpu.emit_params import BLOCK_VECTORS, is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place, is_in_order
from lazyfuse.backends.cpu.emit_rounds import each_in_rounds, is_in_rounds
from lazyfuse.backends.cpu.emit_site import (
    Site,
    Values,
    each_vector,
    enter_axes,
    first_lanes,
    outer_bounds,
)
from lazyfuse.backends.cpu.emit_stream import each_streamed, is_streamed
from lazyfuse.backends.cpu.vector import Operand, part_dtype, vector_type
from lazyfuse.ir.kernel import Level
from lazyfuse.ops.primitives import PRIMITIVES

#: Vectors of columns from which a comparison, which takes ten cycles until the next can start, is
#: better made along rows.
WIDE_VECTORS = 3
#: Cost of a row (cycles for 8 doubles) up to which it is computed again for each vector.
ROW_COST = 4.0

#: A range of an axis: from, to.
Span = tuple[str, str]
#: One value of an accumulator or of a body, for every vector of a block: a stack array per part.
Arrays = tuple[str, ...]


def emit_columns(site: Site, plans: Sequence[PhasePlan], entries: Sequence[Values]) -> None:
    """Write the nest. `entries` has the ENTRY values of each plan."""
    writer, kernel = site.writer, site.kernel
    lane = kernel.outer - 1
    with ExitStack() as stack:
        site = enter_axes(site, range(lane), stack)
        low, high = outer_bounds(site, lane)
        if not kernel.inner:
            for plan, entry in zip(plans, entries, strict=True):
                _each(site, plan, entry, (low, high))
            return
        block = writer.parameter(site.params.block)
        first = stack.enter_context(writer.loop(low, high, block))
        last = writer.least(writer.add(first, block), high)
        columns = _Block(site.at_block(first), first, last)
        for plan, entry in zip(plans, entries, strict=True):
            columns.run(plan, entry)


def emit_point(site: Site, plans: Sequence[PhasePlan]) -> None:
    """A kernel without axes: one lane, once."""
    with site.writer.with_lanes(1):
        for plan in plans:
            values: Values = {}
            site.evaluate(plan, Place.LANE, values)
            site.store(plan, values)


def _each(site: Site, plan: PhasePlan, entry: Values, span: tuple[str, str]) -> None:
    """Evaluate and store at every vector of a span."""
    writer, row = site.writer, dict(entry)
    site.evaluate(plan, Place.ROW, row)

    def run(at: Site, row: Values = row) -> None:
        values = dict(row)
        at.evaluate(plan, Place.LANE, values)
        at.store(plan, values)

    if is_in_rounds(site.kernel, plan, brief=writer.brief):
        each_in_rounds(site, plan, span, run)
        return
    if is_streamed(site, plan):
        each_streamed(site, plan, span, run)
        return
    if site.kernel.inner or not is_strided(site.kernel):
        each_vector(site, *span, run)
        return
    # a strided tail takes much code in vectors: it is read lane by lane anyway
    single = first_lanes(writer, row)
    each_vector(site, *span, run, single=lambda at: run(at, single))


class _Block:
    """The columns [first, last) on their way through the phases, with their accumulators."""

    def __init__(self, site: Site, first: str, last: str) -> None:
        self.writer = site.writer
        self.span = first, last
        self.accumulators = site.kernel.accumulators
        self.arrays = [self._arrays(part_dtypes(acc)) for acc in self.accumulators]
        self.site = site.with_finished(self._finished)

    def run(self, plan: PhasePlan, entry: Values) -> None:
        if plan.level is Level.OUTER:
            _each(self.site, plan, entry, self.span)
        else:
            self._reduce(plan, entry)

    def _reduce(self, plan: PhasePlan, entry: Values) -> None:
        nest = dict(entry)
        self.site.evaluate(plan, Place.NEST, nest)
        self._start(plan)
        kept = self._keep(plan, nest)
        kernel, writer = self.site.kernel, self.writer
        *slow, fast = range(kernel.outer, kernel.outer + kernel.inner)
        with ExitStack() as stack:
            site = enter_axes(self.site, slow, stack)
            extent = site.extent(fast)
            rows = self._rows(plan, extent)
            first = stack.enter_context(writer.loop("0", extent, rows))
            span = first, writer.least(writer.add(first, rows), extent)
            each_vector(site, *self.span, lambda at: self._descend(at, plan, nest, kept, span))

    def _descend(
        self, at: Site, plan: PhasePlan, nest: Values, kept: dict[int, Arrays], span: Span
    ) -> None:
        """Take a vector of columns down the rows of `span`."""
        values = dict(nest)
        for index, arrays in kept.items():
            values[index] = self._whole(at, arrays, plan.body[index].dtype)
        at.reread(plan, values)
        folds = [Slots(self.writer, part_dtypes(acc)) for _, acc in plan.folds]
        for fold, (number, acc) in zip(folds, plan.folds, strict=True):
            fold.write(self._read(at, self.arrays[number], part_dtypes(acc)))
        fast = at.kernel.outer + at.kernel.inner - 1
        with self.writer.loop(*span) as row:
            self._row(at.enter(fast, row), plan, values, folds)
        for fold, (number, _) in zip(folds, plan.folds, strict=True):
            self._write(at, self.arrays[number], fold.read())

    def _row(self, at: Site, plan: PhasePlan, values: Values, folds: Sequence[Slots]) -> None:
        values = dict(values)
        at.evaluate(plan, Place.ROW, values)
        at.evaluate(plan, Place.LANE, values)
        for fold, (_, acc) in zip(folds, plan.folds, strict=True):
            indexes = (acc.value,) if acc.index is None else (acc.value, acc.index)
            new = value_parts(acc, [values[index] for index in indexes])
            in_order = is_in_order(at.kernel, plan, acc)
            fold.write(combine(self.writer, acc, fold.read(), new, in_order=in_order))
        at.store(plan, values)

    def _rows(self, plan: PhasePlan, extent: str) -> str:
        """The rows to take at once: all, of one vector of columns; one, where a row costs, or
        where comparisons would wait."""
        if _has_costly_rows(plan):
            return "1"
        usual = self.writer.parameter(self.site.params.rows)
        columns = self.writer.i64("sub", self.span[1], self.span[0])
        if not any(waits(acc) for _, acc in plan.folds):
            is_one = self.writer.value(f"icmp sle i64 {columns}, {self.writer.lanes}")
            return self.writer.value(f"select i1 {is_one}, i64 {extent}, i64 {usual}")
        wide = (WIDE_VECTORS - 1) * self.writer.lanes
        is_wide = self.writer.value(f"icmp sgt i64 {columns}, {wide}")
        return self.writer.value(f"select i1 {is_wide}, i64 1, i64 {usual}")

    def _start(self, plan: PhasePlan) -> None:
        """Set the accumulators of all columns to what they start from."""
        if not plan.folds:
            return
        with self.writer.loop(*self.span, str(self.writer.lanes)) as position:
            at = self.site.at_vector(position, None)
            for number, acc in plan.folds:
                init = None if acc.init is None else self.site.scalar(acc.init)
                self._write(at, self.arrays[number], start(self.writer, acc, init))

    def _keep(self, plan: PhasePlan, nest: Values) -> dict[int, Arrays]:
        """Compute what no inner axis changes, once for each column."""
        kept = {index: self._arrays(_parts(plan.body[index].dtype)) for index in plan.spilled}
        if not kept:
            return kept

        def run(at: Site) -> None:
            values = dict(nest)
            at.evaluate(plan, Place.BLOCK, values)
            for index, arrays in kept.items():
                value = values[index]
                parts = zip(_parts(value.dtype), value.names, strict=True)
                self._write(at, arrays, tuple(Operand(dtype, (name,)) for dtype, name in parts))

        each_vector(self.site, *self.span, run)
        return kept

    def _finished(self, at: Site, number: int) -> Operand:
        acc = self.accumulators[number]
        if acc.index is not None:
            return self._read(at, self.arrays[number], part_dtypes(acc))[1]
        return self._whole(at, self.arrays[number], acc.dtype)

    def _whole(self, at: Site, arrays: Arrays, dtype: str) -> Operand:
        parts = self._read(at, arrays, _parts(dtype))
        return Operand(dtype, tuple(part.name for part in parts))

    def _arrays(self, dtypes: Sequence[str]) -> Arrays:
        kinds = (vector_type(dtype, self.writer.lanes) for dtype in dtypes)
        return tuple(self.writer.slot(kind, BLOCK_VECTORS) for kind in kinds)

    def _read(self, at: Site, arrays: Arrays, dtypes: Sequence[str]) -> Parts:
        pairs = zip(arrays, dtypes, strict=True)
        return tuple(self.writer.fetch(self._at(at, array, d), d) for array, d in pairs)

    def _write(self, at: Site, arrays: Arrays, parts: Parts) -> None:
        for array, part in zip(arrays, parts, strict=True):
            self.writer.keep(self._at(at, array, part.dtype), part)

    def _at(self, at: Site, array: str, dtype: str) -> str:
        assert at.vector is not None
        place = self.writer.i64("sub", at.vector, self.span[0])
        number = self.writer.i64("lshr", place, str(self.writer.lanes.bit_length() - 1))
        kind = vector_type(dtype, self.writer.lanes)
        return self.writer.value(f"getelementptr {kind}, ptr {array}, i64 {number}")


def _has_costly_rows(plan: PhasePlan) -> bool:
    """Whether what a row computes once should not be computed for each vector of it."""
    pairs = zip(plan.body, plan.places, strict=True)
    return sum(PRIMITIVES[i.op].cost for i, place in pairs if place is Place.ROW) > ROW_COST


def _parts(dtype: str) -> tuple[str, ...]:
    return (part_dtype(dtype),) * (2 if dtype[0] == "c" else 1)
