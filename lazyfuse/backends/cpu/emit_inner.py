"""The loop nest of kernels whose lanes run along the last reduced axis: row and full reductions.

For each outer index the phases run in order. The state of an accumulator lives at addresses
(`Places`): stack slots, or slots of a state block where each phase is a function of its own. A
phase reads it (it must have been started), folds its range in, and writes it back; so ranges can
be folded apart and merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import MappingProxyType

from lazyfuse.backends.cpu.chains import size_of
from lazyfuse.backends.cpu.emit_ahead import Ahead, ahead_of, read_ahead
from lazyfuse.backends.cpu.emit_blocks import Blocks, has_blocks
from lazyfuse.backends.cpu.emit_fold import (
    Parts,
    combine,
    fold_lanes,
    identity,
    is_extreme,
    is_float,
    part_dtypes,
    start,
    value_parts,
)
from lazyfuse.backends.cpu.emit_memory import Tail
from lazyfuse.backends.cpu.emit_pairwise import PairwiseSums
from lazyfuse.backends.cpu.emit_params import has_steps, is_strided
from lazyfuse.backends.cpu.emit_plan import (
    Folds,
    PhasePlan,
    Place,
    is_in_order,
    is_ordered,
    tree_class,
)
from lazyfuse.backends.cpu.emit_site import Site, Values, each_vector, enter_axes
from lazyfuse.backends.cpu.emit_stream import each_streamed, is_streamed
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand, vector_type
from lazyfuse.ir.kernel import Accumulator, Level
from lazyfuse.ops.body import Instr

#: Vectors that a phase takes at a time where its folds wait for each other, if its body has no
#: more than SHORT instructions. Measured with 400,000 doubles in one row to 4,000: one takes 0.9
#: to 1.5 times as long, four 1.2 to 1.5 times. INDEXED: likewise where the fold is an index, which
#: waits longer (not measured apart from the comparison in order).
WIDE, INDEXED, SHORT = 2, 4, 12

#: The addresses of the parts of each accumulator.
Places = dict[int, tuple[str, ...]]


def emit_rows(site: Site, plans: Sequence[PhasePlan], entries: Sequence[Values]) -> None:
    """Write the whole nest: all outer indices, all phases."""
    writer, kernel = site.writer, site.kernel
    places = stack_places(writer, kernel.accumulators)
    site = site.with_finished(lambda at, number: read_finished(at, number, places))
    ahead = ahead_of(site, plans)
    last = max(place for place, plan in enumerate(plans) if plan.level is Level.INNER)
    with ExitStack() as stack:
        site = enter_axes(site, range(kernel.outer), stack)
        for place, (plan, entry) in enumerate(zip(plans, entries, strict=True)):
            start_folds(site, plan.folds, places)
            extent = site.extent(kernel.outer + kernel.inner - 1)
            run_phase(site, plan, entry, ("0", extent), places, ahead if place == last else {})


def run_phase(
    site: Site,
    plan: PhasePlan,
    entry: Values,
    span: tuple[str, str],
    places: Places,
    ahead: Ahead = MappingProxyType({}),
) -> None:
    """One phase at one outer index, over `span` of the lane axis; what is read `ahead` in it."""
    if plan.level is Level.OUTER:
        with site.writer.with_lanes(1):
            values: Values = {}
            site.evaluate(plan, Place.LANE, values)
            site.store(plan, values)
        return
    with site.writer.with_lanes(_phase_lanes(site, plan)):
        _Phase(site, plan, entry, places, ahead).run(span)


def _phase_lanes(site: Site, plan: PhasePlan) -> int:
    """Several vectors at a time where folds wait: the extreme of two floats takes three cycles
    until the next can start, its index eight."""
    lanes, kernel = site.writer.lanes, site.kernel
    indexed = [acc for _, acc in plan.folds if is_in_order(kernel, plan, acc)]
    folds = [acc for _, acc in plan.folds if is_extreme(acc) and is_float(acc)] or indexed
    is_one_by_one = is_strided(kernel) or kernel.gathered or has_steps(kernel)
    has_others = len(folds) < len(plan.folds) or any(
        acc.index is not None and acc not in indexed for acc in folds
    )
    if not folds or has_others or plan.stores or is_one_by_one:
        return lanes
    pairs = zip(plan.body, plan.places, strict=True)
    if any(place not in (Place.LANE, None) and instr.op != "const" for instr, place in pairs):
        return lanes  # values of a row are there in `lanes` lanes
    wide = INDEXED if indexed else WIDE
    return lanes if size_of(plan.body).total > SHORT else min(wide * lanes, max(lanes, 64))


def stack_places(writer: FunctionWriter, accumulators: Sequence[Accumulator]) -> Places:
    return {
        number: tuple(writer.slot(vector_type(dtype, 1)) for dtype in part_dtypes(acc))
        for number, acc in enumerate(accumulators)
    }


def start_folds(site: Site, folds: Folds, places: Places) -> None:
    """Write what each fold starts from."""
    with site.writer.with_lanes(1):
        for number, acc in folds:
            init = None if acc.init is None else site.scalar(acc.init)
            write_parts(site.writer, places[number], start(site.writer, acc, init))


def clear_folds(writer: FunctionWriter, folds: Folds, places: Places) -> None:
    """Write what a part of a fold starts from: it changes nothing when merged."""
    with writer.with_lanes(1):
        for number, acc in folds:
            values = zip(identity(acc, of_partial=True), part_dtypes(acc), strict=True)
            write_parts(writer, places[number], tuple(writer.number(v, d) for v, d in values))


def merge_folds(writer: FunctionWriter, folds: Folds, left: Places, right: Places) -> None:
    """Fold `right` into `left`, but for folds that are never taken in parts."""
    for number, acc in folds:
        if not is_ordered(acc):
            pair = [read_parts(writer, acc, places[number]) for places in (left, right)]
            write_parts(writer, left[number], combine(writer, acc, *pair))


def read_finished(site: Site, number: int, places: Places) -> Operand:
    """A finished accumulator in all lanes; of an argmax, the index."""
    writer, acc = site.writer, site.kernel.accumulators[number]
    with writer.with_lanes(1):
        parts = read_parts(writer, acc, places[number])
    if acc.index is not None:
        return writer.splats(parts[1])
    return writer.splats(Operand(acc.dtype, tuple(part.name for part in parts)))


def read_parts(writer: FunctionWriter, acc: Accumulator, places: tuple[str, ...]) -> Parts:
    pairs = zip(places, part_dtypes(acc), strict=True)
    return tuple(writer.fetch(place, dtype) for place, dtype in pairs)


def write_parts(writer: FunctionWriter, places: tuple[str, ...], parts: Parts) -> None:
    for place, part in zip(places, parts, strict=True):
        writer.keep(place, part)


class _Phase:
    """An inner phase: pairwise sums along a tree, the other folds in its leaves."""

    def __init__(
        self, site: Site, plan: PhasePlan, entry: Values, places: Places, ahead: Ahead
    ) -> None:
        self.site, self.plan, self.entry, self.places = site, plan, entry, places
        self.ahead = ahead
        self.blocks: Blocks | None = None
        self.running: dict[int, tuple[str, ...]] = {}
        self.writer = site.writer
        self.sums = [(n, acc) for n, acc in plan.folds if tree_class(acc)]
        self.others = [(n, acc) for n, acc in plan.folds if not tree_class(acc)]
        self.vectors = {
            n: self._start_vector(acc) for n, acc in self.others if not is_ordered(acc)
        }

    def run(self, span: tuple[str, str]) -> None:
        kernel = self.site.kernel
        self.running = {
            n: self._start_running(n, acc) for n, acc in self.others if is_ordered(acc)
        }
        with ExitStack() as stack:
            axes = range(kernel.outer, kernel.outer + kernel.inner - 1)
            site = enter_axes(self.site, axes, stack)
            row = dict(self.entry)
            site.evaluate(self.plan, Place.ROW, row)
            if self.writer.pipelined and has_blocks(kernel, self.plan):
                self.blocks = Blocks(site, self.plan, row)
            if self.sums:
                self._run_sums(site, row, span)
            elif self.blocks is not None:
                self._run_blocks(site, row, span, self.blocks)
            elif is_streamed(site, self.plan):
                each_streamed(site, self.plan, span, lambda at: self._vector(at, row))
            else:
                each_vector(site, *span, lambda at: self._vector(at, row))
        for number, acc in self.others:
            if number in self.vectors:
                self._finish_vector(number, acc)
            else:
                self._move(acc, self.running[number], self.places[number])

    def _run_sums(self, site: Site, row: Values, span: tuple[str, str]) -> None:
        chunk = self.sums[0][1].chunk
        if not chunk:
            self._run_tree(site, row, span)
            return
        with self.writer.loop(*span, str(chunk)) as low:
            high = self.writer.least(self.writer.add(low, str(chunk)), span[1])
            self._run_tree(site, row, (low, high))

    def _run_tree(self, site: Site, row: Values, span: tuple[str, str]) -> None:
        """Add the pairwise sums of one run to the accumulators."""
        tree = PairwiseSums(self.writer, [part_dtypes(acc) for _, acc in self.sums])

        def vector(low: str, tail: Tail | None) -> list[Parts]:
            return self._vector(site.at_vector(low, tail), row)

        if self.blocks is None:
            sums = tree.run(*span, vector)
        else:
            blocks = self.blocks
            sums = tree.run(*span, vector, lambda low, count: blocks.reach(low, count, span[1]))
        with self.writer.with_lanes(1):
            for (number, acc), run in zip(self.sums, sums, strict=True):
                self._fold_into(self.places[number], acc, run)

    def _run_blocks(self, site: Site, row: Values, span: tuple[str, str], blocks: Blocks) -> None:
        """Fold block by block."""
        with self.writer.loop(*span, str(blocks.length)) as low:
            high = self.writer.least(self.writer.add(low, str(blocks.length)), span[1])
            blocks.reach(low, self.writer.i64("sub", high, low), high)
            each_vector(site, low, high, lambda at: self._vector(at, row))

    def _vector(self, at: Site, row: Values) -> list[Parts]:
        """Evaluate a vector, fold and store it; return the values of the pairwise sums."""
        values = dict(row)
        read_ahead(at, self.ahead)
        if self.blocks is None:
            at.evaluate(self.plan, Place.LANE, values)
        else:
            values |= self.blocks.read(at)
        for number, acc in self.others:
            if number in self.vectors:
                self._fold_vector(number, acc, _taken(acc, values), at.tail)
            else:
                self._fold_in_order(number, acc, _taken(acc, values), at.tail)
        at.store(self.plan, values)
        return [self._summands(_taken(acc, values)) for _, acc in self.sums]

    def _summands(self, parts: Parts) -> Parts:
        """Float16 is added in float32."""
        return tuple(
            self.writer.write(Instr("cast", "f4"), (part,)) if part.dtype == "f2" else part
            for part in parts
        )

    def _start_vector(self, acc: Accumulator) -> tuple[str, ...]:
        dtypes = part_dtypes(acc)
        slots = tuple(self.writer.slot(self.writer.type(dtype)) for dtype in dtypes)
        values = zip(identity(acc, of_partial=True), dtypes, strict=True)
        write_parts(self.writer, slots, tuple(self.writer.number(v, d) for v, d in values))
        return slots

    def _start_running(self, number: int, acc: Accumulator) -> tuple[str, ...]:
        """Slots for a fold in order: the places may be memory, through which each step would wait
        for the one before."""
        slots = tuple(self.writer.slot(vector_type(dtype, 1)) for dtype in part_dtypes(acc))
        self._move(acc, self.places[number], slots)
        return slots

    def _move(self, acc: Accumulator, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        with self.writer.with_lanes(1):
            write_parts(self.writer, new, read_parts(self.writer, acc, old))

    def _fold_vector(self, number: int, acc: Accumulator, new: Parts, tail: Tail | None) -> None:
        slots = self.vectors[number]
        old = read_parts(self.writer, acc, slots)
        in_order = is_in_order(self.site.kernel, self.plan, acc)
        folded = combine(self.writer, acc, old, new, in_order=in_order)
        if tail:
            exists = Operand("b1", (tail.mask(),))
            pairs = zip(folded, old, strict=True)
            folded = tuple(self.writer.select(exists, *pair) for pair in pairs)
        write_parts(self.writer, slots, folded)

    def _fold_in_order(self, number: int, acc: Accumulator, new: Parts, tail: Tail | None) -> None:
        """Fold lane by lane, as NumPy multiplies floats."""
        writer = self.writer
        for lane in range(writer.lanes):
            element = tuple(writer.extract(part, lane) for part in new)
            with ExitStack() as stack:
                if tail:
                    is_inside = writer.value(f"icmp slt i64 {lane}, {tail.count}")
                    stack.enter_context(writer.when(is_inside))
                stack.enter_context(writer.with_lanes(1))
                self._fold_into(self.running[number], acc, element)

    def _finish_vector(self, number: int, acc: Accumulator) -> None:
        parts = fold_lanes(self.writer, acc, read_parts(self.writer, acc, self.vectors[number]))
        with self.writer.with_lanes(1):
            self._fold_into(self.places[number], acc, parts)

    def _fold_into(self, places: tuple[str, ...], acc: Accumulator, new: Parts) -> None:
        old = read_parts(self.writer, acc, places)
        write_parts(self.writer, places, combine(self.writer, acc, old, new))


def _taken(acc: Accumulator, values: Values) -> Parts:
    indexes = (acc.value,) if acc.index is None else (acc.value, acc.index)
    return value_parts(acc, [values[index] for index in indexes])
