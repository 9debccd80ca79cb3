"""Full reductions on several threads: each phase is split along the inner axis, and the parts are
merged.

A pairwise sum is split where its tree splits, and the parts are merged up the same tree: the same
bits as one thread. Other folds give the same result however they are split. Products of floats,
buffered sums (`chunk`) and sums over several rows are sequential by definition and stay on one
thread.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Iterator
from functools import partial

from lazyfuse.backends.cpu.emit_fold import is_ordered
from lazyfuse.backends.cpu.emit_pairwise import leaf_length, left_length
from lazyfuse.backends.cpu.emit_params import CLEAR, MERGE, START, STATE_BYTES
from lazyfuse.backends.cpu.emit_plan import PhasePlan, plan_phases, tree_class
from lazyfuse.backends.cpu.jit import Code
from lazyfuse.backends.cpu.threads import Workers
from lazyfuse.ir.kernel import Accumulator, Kernel, Level

#: Parts per thread, as a power of two; each costs three calls from Python, 1 us apiece.
PARTS_DEPTH = 1
#: Elements that a part without a tree is a multiple of.
PART_UNIT = 64

Span = tuple[int, int]
Merges = list[tuple[int, int]]


class StagedProgram:
    """The functions of a kernel without outer axes."""

    def __init__(self, kernel: Kernel, code: Code) -> None:
        self.guard = code.compiler.calls.guard
        self.fold = code.address("lf_fold")
        self.stages = [Stage(plan, code, k) for k, plan in enumerate(plan_phases(kernel))]
        self.state_size = STATE_BYTES * max(1, len(kernel.accumulators))


class StagedLaunch:
    """One launch with `helpers` more threads."""

    def __init__(self, program: StagedProgram, workers: Workers, helpers: int) -> None:
        self._program, self._workers, self._helpers = program, workers, helpers
        self._flags = 0

    def run(self, block: int, extents: tuple[int, ...], flags: int) -> None:
        """Run all phases on the parameter block at address `block`; `flags` is where the floating
        point flags are collected."""
        self._flags = flags
        rows = math.prod(extents[:-1])
        memory = ctypes.create_string_buffer(self._program.state_size)
        state = ctypes.addressof(memory)
        self._fold(block, state, state, START)
        for stage in self._program.stages:
            if stage.is_splittable(rows):
                self._run_split(stage, block, state, extents[-1])
            else:
                self._phase(stage, block, state, (0, extents[-1]), state)

    def _fold(self, block: int, left: int, right: int, role: int) -> None:
        program = self._program
        program.guard(program.fold, block, left, right, role, 0, self._flags)

    def _phase(self, stage: Stage, block: int, state: int, span: Span, out: int) -> None:
        self._program.guard(stage.phase, block, state, *span, out, self._flags)

    def _run_split(self, stage: Stage, block: int, state: int, extent: int) -> None:
        depth = (self._helpers + 1).bit_length() - 1 + PARTS_DEPTH
        spans, merges = stage.parts(extent, depth)
        size = self._program.state_size
        memory = ctypes.create_string_buffer(size * len(spans))
        outs = [ctypes.addressof(memory) + size * number for number in range(len(spans))]
        claims = _Claims(list(zip(spans, outs, strict=True)))
        work = partial(self._fold_parts, stage, block, state, claims)
        self._workers.run(work, min(self._helpers, len(spans) - 1))
        if not stage.plan.folds:
            return
        for left, right in merges:
            self._fold(block, outs[left], outs[right], MERGE)
        self._fold(block, state, outs[0], MERGE)

    def _fold_parts(self, stage: Stage, block: int, state: int, claims: _Claims) -> None:
        """Fold parts until none is left; on every thread."""
        for span, out in claims:
            self._fold(block, out, out, CLEAR)
            self._phase(stage, block, state, span, out)


class _Claims:
    """Items that threads share; each is given to one of them."""

    def __init__(self, items: list[tuple[Span, int]]) -> None:
        self._items = items
        self._numbers = itertools.count()

    def __iter__(self) -> Iterator[tuple[Span, int]]:
        for number in self._numbers:  # advanced by one thread at a time
            if number >= len(self._items):
                return
            yield self._items[number]


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
