"""Full reductions on several threads: each phase is split along the inner axis, and the parts are
merged.

A pairwise sum is split where its tree splits, and the parts are merged up the same tree: the same
bits as one thread. Other folds give the same result however they are split. Products of floats,
buffered sums (`chunk`) and sums over several rows are sequential by definition and stay on one
thread.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import NamedTuple

from lazyfuse.backends.cpu.compiler import Code
from lazyfuse.backends.cpu.emit_params import CLEAR, MERGE, START, STATE_BYTES
from lazyfuse.backends.cpu.emit_plan import (
    PhasePlan,
    is_ordered,
    leaf_length,
    left_length,
    tree_class,
)
from lazyfuse.backends.cpu.launch_run import Job
from lazyfuse.ir.kernel import Accumulator, Kernel, Level

#: Parts per thread, as a power of two.
PARTS_DEPTH = 2
#: Elements that a part without a tree is a multiple of.
PART_UNIT = 64

Span = tuple[int, int]
Merges = list[tuple[int, int]]
#: A function of the kernel and what it is called with, as `lf_calls` reads it.
Row = tuple[int, ...]


class _Turn(NamedTuple):
    """Calls: all in order if `grain` is 0, else so many in order, and others at the same time."""

    rows: list[Row]
    grain: int


class StagedProgram:
    """The functions of a kernel without outer axes."""

    def __init__(self, kernel: Kernel, plans: Sequence[PhasePlan], code: Code) -> None:
        self.calls = code.compiler.calls.addresses["lf_calls"]
        self.fold = code.address("lf_fold")
        self.stages = [Stage(plan, code, k) for k, plan in enumerate(plans)]
        self.state_size = STATE_BYTES * max(1, len(kernel.accumulators))


class StagedCalls:
    """What a thread and `helpers` more do for a kernel of these extents, as `jobs`. `params` is
    the address of the parameters; the jobs use memory of this object."""

    def __init__(
        self,
        program: StagedProgram,
        params: int,
        extents: tuple[int, ...],
        *,
        helpers: int,
        wakes: int,
    ) -> None:
        self._program, self._params = program, params
        self._helpers, self._wakes = helpers, wakes
        depth = (helpers + 1).bit_length() - 1 + PARTS_DEPTH
        self._memory = ctypes.create_string_buffer(program.state_size * ((1 << depth) + 1))
        self._state = self._address(0)
        rows = math.prod(extents[:-1])
        self._turns = [_Turn([self._fold(self._state, self._state, START)], 0)]
        for stage in program.stages:
            if stage.is_splittable(rows):
                self._split(stage, extents[-1], depth)
            else:
                self._in_order([self._phase(stage, (0, extents[-1]), self._state)])
        self._rows = [_memory_of(turn.rows) for turn in self._turns]

    @property
    def jobs(self) -> list[Job]:
        """One after the other."""
        return [
            self._job(turn, ctypes.addressof(memory))
            for turn, memory in zip(self._turns, self._rows, strict=True)
        ]

    def _job(self, turn: _Turn, rows: int) -> Job:
        end = len(turn.rows)
        if not turn.grain:
            return Job(self._program.calls, rows, end, end, helpers=0, wakes=0)
        helpers = min(self._helpers, end // turn.grain - 1)
        wakes = min(self._wakes, helpers)
        return Job(self._program.calls, rows, end, turn.grain, helpers, wakes)

    def _address(self, number: int) -> int:
        """The address of a state: 0 is that of the whole, the others are of parts."""
        return ctypes.addressof(self._memory) + self._program.state_size * number

    def _split(self, stage: Stage, extent: int, depth: int) -> None:
        spans, merges = stage.parts(extent, depth)
        outs = [self._address(number + 1) for number in range(len(spans))]
        rows: list[Row] = []
        for span, out in zip(spans, outs, strict=True):
            rows += [self._fold(out, out, CLEAR), self._phase(stage, span, out)]
        self._turns.append(_Turn(rows, 2))
        if stage.plan.folds:
            pairs = [(outs[left], outs[right]) for left, right in merges]
            pairs.append((self._state, outs[0]))
            self._in_order([self._fold(*pair, MERGE) for pair in pairs])

    def _in_order(self, rows: list[Row]) -> None:
        if self._turns[-1].grain:
            self._turns.append(_Turn([], 0))
        self._turns[-1].rows.extend(rows)

    def _fold(self, left: int, right: int, role: int) -> Row:
        return (self._program.fold, self._params, left, right, role, 0)

    def _phase(self, stage: Stage, span: Span, out: int) -> Row:
        return (stage.phase, self._params, self._state, *span, out)


def _memory_of(rows: Sequence[Row]) -> ctypes.Array[ctypes.c_int64]:
    words = [word for row in rows for word in row]
    return (ctypes.c_int64 * len(words))(*words)


class Stage:
    """One phase: its function, and how it may be split."""

    def __init__(self, plan: PhasePlan, code: Code, number: int) -> None:
        self.plan = plan
        self.phase = code.address(f"lf_phase{number}")
        trees = {tree_class(acc) for _, acc in plan.folds} - {None}
        self.tree = trees.pop() if trees else None

    def parts(self, extent: int, depth: int) -> tuple[list[Span], Merges]:
        """Ranges of the inner axis, and the pairs to merge, in order; part 0 gets the result."""
        if self.tree is None:
            return _even_parts(extent, 1 << depth)
        return _tree_parts(extent, depth, is_complex=self.tree[0])

    def is_splittable(self, rows: int) -> bool:
        """Whether parts of the inner axis, of `rows` rows, can be folded apart."""
        if self.plan.level is Level.OUTER:
            return False
        return all(_is_associative(acc, rows) for _, acc in self.plan.folds)


def _is_associative(acc: Accumulator, rows: int) -> bool:
    """Whether a fold of parts, merged along the tree, is the fold of the whole."""
    if acc.dtype[0] not in "fc":
        return True
    if acc.op == "add":
        return not acc.chunk and rows == 1 and acc.dtype != "f2"
    return not is_ordered(acc)


def _even_parts(extent: int, count: int) -> tuple[list[Span], Merges]:
    length = -(-extent // (count * PART_UNIT)) * PART_UNIT
    spans = [(low, min(low + length, extent)) for low in range(0, extent, length or 1)]
    spans = spans or [(0, 0)]
    return spans, [(0, number) for number in range(1, len(spans))]


def _tree_parts(extent: int, depth: int, *, is_complex: bool) -> tuple[list[Span], Merges]:
    """The nodes of the pairwise tree at `depth`, and the order in which the tree adds them."""
    spans: list[Span] = []
    merges: Merges = []

    def split(low: int, length: int, depth: int) -> int:
        if depth == 0 or length <= leaf_length(is_complex):
            spans.append((low, low + length))
            return len(spans) - 1
        left = left_length(length, is_complex)
        pair = split(low, left, depth - 1), split(low + left, length - left, depth - 1)
        merges.append(pair)
        return pair[0]

    split(0, extent, depth)
    return spans, merges
