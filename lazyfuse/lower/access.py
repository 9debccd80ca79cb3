"""Loop order and collapsing: a group's space becomes the fewest loops that all its accesses can be
walked by.

space (4, 5, 6), every access C-contiguous        -> one loop of 120
space (4, 5), one operand broadcast along axis 0  -> two loops, the faster of 5
space (400, 5), the same                          -> two loops that can be walked as one of 2000
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lazyfuse.ir.group import Group
from lazyfuse.ir.kernel import FIXED, PERIOD, ROW, STRIDED, UNIT, Lanes
from lazyfuse.ir.node import Gather, Reduce, Scan, Update
from lazyfuse.ops.shapes import Shape


class Loops(NamedTuple):
    """Loops outer first, slowest first; each is a run of space axes (slowest first) walked as one.
    `joined` as in `ir/kernel.py`."""

    outer: tuple[tuple[int, ...], ...]
    inner: tuple[tuple[int, ...], ...]
    lanes: Lanes
    joined: int = 1

    @property
    def all(self) -> tuple[tuple[int, ...], ...]:
        return self.outer + self.inner

    def extents(self, shape: Shape) -> tuple[int, ...]:
        return tuple(_extent(run, shape) for run in self.all)

    def strides(self, per_axis: tuple[int, ...]) -> tuple[int, ...]:
        """Strides per loop of an access with strides per space axis:
        those of each run's fastest axis."""
        return tuple(per_axis[run[-1]] if run else 0 for run in self.all)

    def classes(self, strides: tuple[int, ...], extents: tuple[int, ...]) -> tuple[str, ...]:
        """The access class per loop; UNIT only along the lanes, where it decides the code, or
        along dense rows."""
        lane = len(self.all) - 1 if self.lanes is Lanes.INNER else len(self.outer) - 1
        if self.lanes is Lanes.ROWS and strides[-2:] == (extents[-1], 1):
            lane = len(self.outer)
        return tuple(
            FIXED if stride == 0 else UNIT if stride == 1 and loop == lane else STRIDED
            for loop, stride in enumerate(strides)
        )


def _extent(run: tuple[int, ...], shape: Shape) -> int:
    total = 1
    for axis in run:
        total *= shape[axis]
    return total


def plan_loops(
    group: Group, accesses: Sequence[tuple[int, ...]], *, fixed_axes: set[int]
) -> Loops:
    """Order and collapse the axes of a group.
    `fixed_axes` are read as an index and stay loops of their own."""
    shape = group.shape
    outer = [axis for axis in group.kept if shape[axis] != 1]
    reference = reference_strides(group)
    in_order = _scatters(group)
    if not in_order:
        outer.sort(key=lambda axis: -abs(reference[axis]))
    inner = _inner_axes(group)
    outer_runs = _collapse(outer, accesses, shape, fixed_axes)
    inner_runs = [
        run
        for axes in _spans(group, inner)
        for run in _collapse(axes, accesses, shape, fixed_axes)
    ]
    pairwise = (group.order is not None and group.order.pairwise) or _scans_along_memory(group)
    has_folds = bool(group.axes)
    if has_folds and not inner_runs:
        inner_runs = [()]
    lanes = Lanes.INNER if has_folds and (pairwise or not outer_runs) else Lanes.OUTER
    if not outer_runs and not has_folds:
        outer_runs = [()]
    joined = 1
    if not has_folds and not in_order:
        joined = _joined(group, outer_runs, accesses, fixed_axes)
        outer_runs = outer_runs if joined > 1 else _wide_lanes(outer_runs, shape)
    return Loops(tuple(outer_runs), tuple(inner_runs), lanes, joined)


#: Extents below which the fastest axis would leave most lanes of a vector empty.
NARROW = 8


def _wide_lanes(
    runs: list[tuple[int, ...]], shape: Shape, narrow: int = NARROW
) -> list[tuple[int, ...]]:
    """Put an axis that fills the lanes last:
    the fastest one that is long enough, when the last is narrow."""
    if not runs or _extent(runs[-1], shape) >= narrow:
        return runs
    for number in range(len(runs) - 2, -1, -1):
        if _extent(runs[number], shape) >= 2 * narrow:
            return [*runs[:number], *runs[number + 1 :], runs[number]]
    return runs


#: Rows that are worth a vector of them.
FEWEST_ROWS = 32
#: Bytes of a row up to which a lane takes it. Measured with sums, norms, softmax and argmax of
#: floats: rows of 16 doubles gain 4 to 100 percent, sums of 32 lose.
ROW_BYTES = 128


def take_rows(
    group: Group,
    loops: Loops,
    accesses: Sequence[tuple[int, ...]],
    stores: Sequence[tuple[int, ...]],
) -> Loops:
    """The loops with a row per lane, where rows are short: see ROWS in `ir/kernel.py`. `accesses`
    are all, `stores` those of what is written."""
    rows = _with_rows(group, loops)
    if rows is None or not _are_short(group, rows):
        return loops
    row = _extent(rows.inner[0], group.shape)
    is_dense = [rows.strides(access)[-2:] == (row, 1) for access in stores]
    if not group.axes:
        return rows if row < NARROW and all(is_dense) else loops
    steps = {rows.strides(access)[-2:] for access in accesses}
    is_simple = all(0 in pair or pair == (row, 1) for pair in steps)
    return rows if row < NARROW or is_simple else loops


def _with_rows(group: Group, loops: Loops) -> Loops | None:
    """The loops with the last axis as rows, and a long one along the lanes."""
    if _scatters(group) or any(isinstance(root, Scan) for root in group.roots):
        return None
    if group.axes:
        outer = tuple(_wide_lanes([*loops.outer], group.shape, narrow=FEWEST_ROWS))
        is_along = loops.lanes is Lanes.INNER
        return Loops(outer, loops.inner, Lanes.ROWS) if is_along else None
    if loops.joined > 1 or loops.outer == ((),):
        return None
    reference = reference_strides(group)
    runs = sorted(loops.outer, key=lambda run: -abs(reference[run[-1]]))
    return Loops(tuple(runs[:-1]), tuple(runs[-1:]), Lanes.ROWS)


def _are_short(group: Group, loops: Loops) -> bool:
    """Whether there are many rows, of few elements that a vector can hold."""
    if len(loops.inner) != 1 or not loops.outer:
        return False
    row, rows = (_extent(run, group.shape) for run in (loops.inner[0], loops.outer[-1]))
    nodes = group.nodes | group.reads
    widest = max((int(node.dtype[1:]) for node in nodes), default=8)
    if any(isinstance(node, Gather) or node.dtype[0] == "c" for node in nodes):
        return False
    return 1 < row <= min(ROW, ROW_BYTES // widest) and rows >= FEWEST_ROWS


#: Periods that joined axes should repeat at least: they are set up first.
FEWEST_PERIODS = 8


def _joined(
    group: Group,
    runs: Sequence[tuple[int, ...]],
    accesses: Sequence[tuple[int, ...]],
    fixed_axes: set[int],
) -> int:
    """How many of the last loops can be walked as one: as many as possible."""
    if any(isinstance(node, Gather) for node in group.nodes):
        return 1
    joined, period = 1, 1
    for number in range(2, len(runs) + 1):
        first, *tiny = runs[-number:]
        period *= _extent(tiny[0], group.shape)
        if period > PERIOD:
            break
        is_long = _extent(first, group.shape) >= FEWEST_PERIODS and not fixed_axes & set(first)
        if is_long and all(_repeats(s, runs[-number:], group.shape) for s in accesses):
            joined = number
    return joined


def _repeats(strides: tuple[int, ...], runs: Sequence[tuple[int, ...]], shape: Shape) -> bool:
    """Whether an access stays along the first of some loops, or moves along all as along one."""
    steps = [strides[run[-1]] for run in runs]
    extents = [_extent(run, shape) for run in runs[1:]]
    moves = zip(steps, steps[1:], extents, strict=False)
    return steps[0] == 0 or all(slow == fast * extent for slow, fast, extent in moves)


def reference_strides(group: Group) -> tuple[int, ...]:
    """The memory order that decides the order of the kept loops:
    the folded operand's, or the result's."""
    for root in group.roots:
        if isinstance(root, Reduce):
            return root.srcs[0].strides
    first = next(iter(group.roots))
    return first.layout.strides if isinstance(first, Update) else first.strides


def _inner_axes(group: Group) -> list[int]:
    """The scanned axis, or reduced axes as NumPy walks them; empty ones count, those of length 1
    do not."""
    if not group.axes:
        return []
    if group.order is None:
        return [axis for axis in group.axes if group.shape[axis] != 1]
    walked = [axis for axis in group.order.axes if group.shape[axis] != 1]
    missing = [
        axis for axis in sorted(group.axes) if group.shape[axis] != 1 and axis not in walked
    ]
    return missing + walked


def _scatters(group: Group) -> bool:
    """Whether a write is moved by an index: the last of several values for an element stays."""
    root = next(iter(group.roots))
    return isinstance(root, Update) and root.index is not None


def _scans_along_memory(group: Group) -> bool:
    """Whether a scan walks neighbours in memory."""
    root = next(iter(group.roots))
    return isinstance(root, Scan) and root.strides[root.axis] == 1


def _spans(group: Group, inner: list[int]) -> list[list[int]]:
    """The axes that repeat a pairwise run apart from its own: where elements overlap, as in
    windows, they could go on in memory where the run ends, and would make it longer."""
    order = group.order
    if order is None or not order.pairwise or order.run_axes == len(order.axes):
        return [inner]
    run = order.axes[-order.run_axes :]
    return [[axis for axis in inner if axis not in run], [axis for axis in inner if axis in run]]


def _collapse(
    axes: Sequence[int], accesses: Sequence[tuple[int, ...]], shape: Shape, fixed: set[int]
) -> list[tuple[int, ...]]:
    runs: list[tuple[int, ...]] = []
    for axis in axes:
        joins = runs and axis not in fixed and runs[-1][-1] not in fixed
        if joins and all(s[runs[-1][-1]] == s[axis] * shape[axis] for s in accesses):
            runs[-1] += (axis,)
        else:
            runs.append((axis,))
    return runs
