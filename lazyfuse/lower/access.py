"""Loop order and collapsing: a group's space becomes the fewest loops that all its accesses can be
walked by.

space (4, 5, 6), every access C-contiguous        -> one loop of 120
space (4, 5), one operand broadcast along axis 0  -> two loops, the faster of 5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyfuse.ir.group import Group
from lazyfuse.ir.kernel import FIXED, STRIDED, UNIT, Lanes
from lazyfuse.ir.node import Reduce, Scan, Update
from lazyfuse.ops.shapes import Shape


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops outer first, slowest first;
    each is a run of space axes (slowest first) walked as one."""

    outer: tuple[tuple[int, ...], ...]
    inner: tuple[tuple[int, ...], ...]
    lanes: Lanes

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
        """The access class per loop; UNIT only along the lanes, where it decides the code."""
        lane = len(self.all) - 1 if self.lanes is Lanes.INNER else len(self.outer) - 1
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
    inner_runs = _collapse(inner, accesses, shape, fixed_axes)
    pairwise = (group.order is not None and group.order.pairwise) or _scans_along_memory(group)
    has_folds = bool(group.axes)
    if has_folds and not inner_runs:
        inner_runs = [()]
    lanes = Lanes.INNER if has_folds and (pairwise or not outer_runs) else Lanes.OUTER
    if not outer_runs and not has_folds:
        outer_runs = [()]
    if not has_folds and not in_order:
        outer_runs = _wide_lanes(outer_runs, shape)
    return Loops(tuple(outer_runs), tuple(inner_runs), lanes)


#: Extents below which the fastest axis would leave most lanes of a vector empty.
NARROW = 8


def _wide_lanes(runs: list[tuple[int, ...]], shape: Shape) -> list[tuple[int, ...]]:
    """Put an axis that fills the lanes last:
    the fastest one that is long enough, when the last is narrow."""
    if not runs or _extent(runs[-1], shape) >= NARROW:
        return runs
    for number in range(len(runs) - 2, -1, -1):
        if _extent(runs[number], shape) >= 2 * NARROW:
            return [*runs[:number], *runs[number + 1 :], runs[number]]
    return runs


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
