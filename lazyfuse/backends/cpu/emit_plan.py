"""Where the instructions of a body run: each at the outermost loop that it needs.

An instruction depends on the axes that its loads and indices move along. From that follows its
place:

* ENTRY: on none: once per call;
* NEST: in a column reduction, on outer axes other than the lane axis: once per such index;
* BLOCK: in a column reduction, on the lane axis but on no inner axis: once per block of columns,
  kept on the stack; over joined axes, on tiny ones only: once, kept in a table of one period;
* ROW: not on the lane axis: once per row, before the loop over its vectors, in all lanes;
* LANE: for every vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from lazyfuse.backends.cpu.emit_params import is_staged
from lazyfuse.ir.kernel import FIXED, Accumulator, Kernel, Level, Phase, Role, Scan, Store
from lazyfuse.ops.body import Instr


class Place(IntEnum):
    """The loop level at which an instruction runs, outermost first."""

    ENTRY = 0
    NEST = 1
    BLOCK = 2
    ROW = 3
    LANE = 4


#: What may differ from index to index although its operands do not.
_MOVED = frozenset(("load", "gather", "index", "carry", "acc"))
_NOWHERE: frozenset[int] = frozenset()
#: Read again rather than kept on the stack: a load costs the same.
_READS = ("load", "acc", "const")


class PhasePlan(NamedTuple):
    """A phase with the numbers of its folds and the place of each instruction (None: unused)."""

    level: Level
    body: tuple[Instr, ...]
    folds: tuple[tuple[int, Accumulator], ...]
    stores: tuple[Store, ...]
    places: tuple[Place | None, ...]
    scan: Scan | None = None

    def is_uniform(self, index: int) -> bool:
        """Whether a body value is the same in all lanes of a row."""
        return self.places[index] in (Place.ENTRY, Place.NEST, Place.ROW)

    @property
    def spilled(self) -> list[int]:
        """BLOCK values that are kept, and not read again."""
        return [index for index in self.crossing if self.body[index].op not in _READS]

    @property
    def crossing(self) -> list[int]:
        """BLOCK values that a LANE instruction, a fold or a store uses."""
        used = {index for index in self.results if self.places[index] is Place.BLOCK}
        for instr, place in zip(self.body, self.places, strict=True):
            if place is Place.LANE:
                used.update(arg for arg in instr.args if self.places[arg] is Place.BLOCK)
        return sorted(used)

    @property
    def results(self) -> list[int]:
        """The values that leave the body."""
        return _results(self.folds, self.stores)


def plan_phases(kernel: Kernel) -> list[PhasePlan]:
    """Place the instructions of each phase; sums over another tree get a phase of their own."""
    plans = []
    first = 0
    for phase in kernel.phases:
        folds = tuple(enumerate(phase.accumulators, first))
        first += len(folds)
        for group, stores in _split(kernel, phase, folds):
            results = _results(group, stores)
            if phase.scan is not None:
                results = [phase.scan.first, phase.scan.next]
            places = _places(kernel, phase, results)
            plans.append(PhasePlan(phase.level, phase.body, group, stores, places, phase.scan))
    return plans


def tree_class(acc: Accumulator) -> tuple[bool, int] | None:
    """Which tree a pairwise sum adds along: (is it complex, run length); None for other folds."""
    if acc.op != "add" or acc.dtype[0] not in "fc":
        return None
    return acc.dtype[0] == "c", acc.chunk


def leaf_length(is_complex: bool) -> int:
    """The longest run that is a leaf, in elements."""
    return 64 if is_complex else 128


def left_length(length: int, is_complex: bool) -> int:
    """The length of the left half of a longer run, in elements."""
    if is_complex:
        return (length & -8) // 2
    return (length // 2) & -8


def is_ordered(acc: Accumulator) -> bool:
    """Whether values must be taken one by one: NumPy multiplies floats so."""
    return acc.op == "mul" and acc.dtype[0] in "fc"


def is_in_order(kernel: Kernel, plan: PhasePlan, acc: Accumulator) -> bool:
    """Whether the index of an argmax grows from step to step: the only inner axis is its index,
    counted from a number on."""
    if acc.index is None or kernel.inner != 1:
        return False
    instr = plan.body[acc.index]
    parts = [plan.body[place] for place in instr.args] if instr.op == "add" else [instr]
    counted = [part for part in parts if part.op == "index" and part.attr == kernel.outer]
    return len(counted) == 1 and all(part.op in ("index", "scalar", "const") for part in parts)


def exports(kernel: Kernel, plans: Sequence[PhasePlan]) -> list[str]:
    """The names of the exported functions."""
    if not is_staged(kernel):
        return ["lf_kernel"]
    return ["lf_kernel", "lf_fold", *(f"lf_phase{number}" for number in range(len(plans)))]


Folds = tuple[tuple[int, Accumulator], ...]


def _split(kernel: Kernel, phase: Phase, folds: Folds) -> list[tuple[Folds, tuple[Store, ...]]]:
    """Stores go last: they may overwrite what the folds read."""
    if not kernel.folds_lanes:
        return [(folds, phase.stores)]
    classes = {tree_class(acc) for _, acc in folds} - {None}
    if len(classes) < 2:
        return [(folds, phase.stores)]
    groups: dict[tuple[bool, int] | None, list[tuple[int, Accumulator]]] = {}
    some = next(iter(tree_class(acc) for _, acc in folds if tree_class(acc)))
    for number, acc in folds:
        groups.setdefault(tree_class(acc) or some, []).append((number, acc))
    parts = [tuple(group) for group in groups.values()]
    return [(part, ()) for part in parts[:-1]] + [(parts[-1], phase.stores)]


def _results(folds: Folds, stores: tuple[Store, ...]) -> list[int]:
    results = {value for store in stores for value in store.values}
    results |= {acc.value for _, acc in folds}
    results |= {acc.index for _, acc in folds if acc.index is not None}
    return sorted(results)


def _places(kernel: Kernel, phase: Phase, results: list[int]) -> tuple[Place | None, ...]:
    needed = set(results)
    for index in range(len(phase.body) - 1, -1, -1):
        if index in needed:
            needed.update(phase.body[index].args)
    axes: list[frozenset[int]] = []
    places: dict[frozenset[int], Place] = {}
    for instr in phase.body:
        moved = _moves_along(kernel, instr) if instr.op in _MOVED else _NOWHERE
        for arg in instr.args:
            other = axes[arg]
            if other is not moved and not other <= moved:
                moved = moved | other if moved else other
        axes.append(moved)
        if moved not in places:
            places[moved] = _place(kernel, phase.level, moved)
    return tuple([places[moved] if index in needed else None for index, moved in enumerate(axes)])


def _moves_along(kernel: Kernel, instr: Instr) -> frozenset[int]:
    """The axes along which the value of a structural instruction changes."""
    axes = range(kernel.outer + kernel.inner)
    match instr.op:
        case "load" | "gather":
            assert isinstance(instr.attr, int)
            arg = kernel.args[instr.attr]
            if arg.role is Role.SCRATCH:
                return frozenset(axes)
            return frozenset(axis for axis in axes if arg.access[axis] != FIXED)
        case "index":
            assert isinstance(instr.attr, int)
            return frozenset((instr.attr,))
        case "carry":
            return frozenset(axes)
        case "acc":
            # also with no outer axis an accumulator is not known at entry
            return frozenset(axes[: kernel.outer]) or frozenset((-1,))
        case _:
            return _NOWHERE


def _place(kernel: Kernel, level: Level, moved: frozenset[int]) -> Place:
    lane = kernel.lane_axis
    if lane is None or (level is Level.OUTER and kernel.folds_lanes):
        return Place.LANE
    if not moved:
        return Place.ENTRY
    if kernel.joined > 1:
        return _joined_place(kernel, moved)
    is_column = level is Level.INNER and not kernel.folds_lanes
    if is_column and all(axis < kernel.outer for axis in moved):
        return Place.BLOCK if lane in moved else Place.NEST
    return Place.LANE if lane in moved else Place.ROW


def _joined_place(kernel: Kernel, moved: frozenset[int]) -> Place:
    if kernel.tiny[0] - 1 in moved:
        return Place.LANE
    return Place.BLOCK if moved.intersection(kernel.tiny) else Place.ROW
