"""Group -> Kernel and its binding: loops, arguments, phases.

Phases follow the reductions: inner phase p computes the reductions and INNER results that read
reductions of phases before p only; one outer phase at the end computes what there is once per kept
index. A value that an inner phase computes and a later one needs again is kept in scratch memory
when it is costly and the row is short enough.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from lazyfuse.errors import VerifyError
from lazyfuse.ir.expression import Expression, Read, Term, walk
from lazyfuse.ir.group import Group, Level, body_terms
from lazyfuse.ir.kernel import Accumulator, Arg, Kernel, Lanes, Phase, Role, Store
from lazyfuse.ir.kernel import Level as PhaseLevel
from lazyfuse.ir.kernel import Scan as KernelScan
from lazyfuse.ir.layout import access
from lazyfuse.ir.node import Map, Node, Reduce, Scan, Update
from lazyfuse.lower.access import Loops, plan_loops, take_rows
from lazyfuse.lower.body import Arguments, PhaseBody
from lazyfuse.lower.canonical import Binding, Lowered, canonical
from lazyfuse.ops.body import Instr, Value
from lazyfuse.ops.composite import astype
from lazyfuse.ops.scan import ASSOCIATIVE, step
from lazyfuse.ops.shapes import size_of

#: Elements of a row up to which a value is kept in scratch between phases:
#: it stays in the L2 cache (perf/roofline.py).
SCRATCH_ELEMENTS = 1 << 16
#: Cost (cycles for 8 doubles) from which keeping a value is cheaper than computing it again, with
#: all that it is made of.
SCRATCH_COST = 10.0


def lower(
    group: Group, stored: Collection[Node], outputs: Collection[Node], *, exact_order: bool = True
) -> Lowered:
    """Lower a group; of its results those in `outputs` are written to memory.

    exact_order: whether sums keep NumPy's order, so that a pairwise run has to be one loop.
    """
    return _Lowering(group, stored, outputs, exact_order=exact_order).run()


class _Lowering:
    def __init__(
        self,
        group: Group,
        stored: Collection[Node],
        outputs: Collection[Node],
        *,
        exact_order: bool,
    ) -> None:
        self.group = group
        self.ndim = len(group.shape)
        self.stored = stored
        self.exact_order = exact_order
        self.outputs = [root for root in group.roots if root in outputs]
        self.expressions = group.expressions
        self.loops = self._plan_loops()
        self.arguments = Arguments()
        self.accumulators: dict[Node, int] = {}
        self.finished = 0  # accumulators of the phases so far
        self.scratch: dict[Term, int] = {}
        self.loop_of_axis = {
            axis: number for number, run in enumerate(self.loops.all) for axis in run
        }

    def _expression(self, roots: list[Node]) -> Expression:
        terms = [
            term
            for root in roots
            for term in body_terms(root, self.group.roots[root], self.group.shape, self.group.axes)
        ]
        return walk(terms, self.ndim, self.stored, self.group.roots)

    def _joint(self, roots: list[Node]) -> Expression:
        """The expression of several roots; of one it is known already."""
        return self.expressions[roots[0]] if len(roots) == 1 else self._expression(roots)

    def _plan_loops(self) -> Loops:
        accesses = [read.strides for e in self.expressions.values() for read in e.reads]
        stores = [self._store_access(root)[0] for root in self.outputs]
        accesses += stores
        indexed: set[int] = set()
        for expression in self.expressions.values():
            indexed.update(expression.counted)
        loops = plan_loops(self.group, accesses, fixed_axes=indexed)
        gives_index = any(root.op.gives_index for root in self.group.reductions)
        if gives_index and not _counts_in_c_order(loops):
            loops = plan_loops(self.group, accesses, fixed_axes=indexed | set(self.group.axes))
        self._check_runs(loops)
        return take_rows(self.group, loops, accesses, stores) if self.exact_order else loops

    def _check_runs(self, loops: Loops) -> None:
        """The scheduler has promised that the axes of a pairwise run are one loop."""
        order = self.group.order
        sums = [
            root for root in self.group.reductions
            if root.op.fold == "add" and root.accumulate[0] in "fc"
        ]  # fmt: skip
        if not sums or order is None or not self.exact_order or order.run_axes < 2:
            return
        separate = len(order.axes) - order.run_axes + 1
        if len(loops.inner) > separate and size_of(self.group.shape):
            raise VerifyError(f"the run of {sums[0]} is split into {loops.inner}")

    def _store_access(self, root: Node) -> tuple[tuple[int, ...], int]:
        if isinstance(root, Update):
            return root.layout.strides, root.layout.offset
        return access(self.group.map_of(root), root.strides, self.ndim)

    def run(self) -> Lowered:
        first = next(iter(self.group.roots))
        if isinstance(first, Scan):
            return self._assemble([self._scan_phase(first)])
        phases = [self._inner_phase(number) for number in range(self._inner_phases())]
        phases = [phase for phase in phases if phase.accumulators or phase.stores]
        outer = self._outer_phase()
        if outer is not None:
            phases.append(outer)
        return self._assemble(phases)

    def _scan_phase(self, root: Scan) -> Phase:
        phase = PhaseBody(self.arguments, self.accumulators, self.loop_of_axis, {})
        (value,) = phase.evaluate(self.expressions[root])
        first = astype(value, root.dtype)
        carry = phase.body.emit("carry", root.dtype)
        following = step(root.op, carry, first, steps=root.shape[root.axis] - 1)
        is_tree = root.op.name in ASSOCIATIVE
        scan = KernelScan(root, first.index, following.index, is_tree)  # type: ignore[arg-type]  # numbered later
        return Phase(PhaseLevel.INNER, tuple(phase.body.instrs), scan=scan)

    def _inner_phases(self) -> int:
        if not self.group.axes:
            return 0
        return max((number + 1 for number in self.group.phases.values()), default=0)

    def _inner_phase(self, number: int) -> Phase:
        group = self.group
        folds = [r for r in group.reductions if group.phases[r] == number]
        stores = [
            root
            for root in self.outputs
            if group.roots[root] is Level.INNER and group.phases[root] == number
        ]
        expression = self._joint([*folds, *stores])
        phase = PhaseBody(self.arguments, self.accumulators, self.loop_of_axis, self.scratch)
        values = phase.evaluate(expression)
        accumulators: dict[Accumulator, int] = {}  # equal folds are one
        numbers: dict[Node, int] = {}
        for node, value in zip(folds, values, strict=False):
            accumulator = self._accumulator(node, value, phase)
            number_of = self.finished + len(accumulators)
            numbers[node] = accumulators.setdefault(accumulator, number_of)
        written = [
            (root, astype(value, root.dtype).index)
            for root, value in zip(stores, values[len(folds) :], strict=True)
        ]
        kept = self._keep(expression, phase, number)
        self.accumulators.update(numbers)
        self.finished += len(accumulators)
        return _phase(PhaseLevel.INNER, phase, accumulators, written + kept)

    def _accumulator(self, node: Reduce, value: Value, phase: PhaseBody) -> Accumulator:
        folded = astype(value, node.accumulate)
        index = self._position(node, phase).index if node.op.gives_index else None
        init = None
        if len(node.srcs) > 1:
            init = self.arguments.scalar(node.srcs[1], node.accumulate)
        chunk = node.order.chunk if node.op.fold == "add" and node.accumulate[0] in "fc" else 0
        return Accumulator(node.op.fold, node.accumulate, folded.index, index, init, chunk)

    def _position(self, node: Reduce, phase: PhaseBody) -> Value:
        """The position among the folded elements, in C order."""
        if _counts_in_c_order(self.loops):
            last = self.loops.inner[-1]
            return phase.linear(0, ((last[-1], 1),) if last else ())
        step, terms = 1, []
        for axis in sorted(node.axes, reverse=True):
            if self.group.shape[axis] != 1:
                terms.append((axis, step))
            step *= self.group.shape[axis]
        return phase.linear(0, tuple(reversed(terms)))

    def _keep(
        self, expression: Expression, phase: PhaseBody, number: int
    ) -> list[tuple[Term, int]]:
        """Terms of this phase that a later inner phase computes again,
        and that are worth keeping."""
        inner = size_of(tuple(self.group.shape[axis] for axis in self.group.axes))
        if (
            self.loops.lanes is Lanes.OUTER
            or inner > SCRATCH_ELEMENTS
            or len(self.loops.inner) != 1
        ):
            return []
        later = [
            root
            for root in self.group.roots
            if self.group.phases[root] > number
            and (
                isinstance(root, Reduce)
                or (self.group.roots[root] is Level.INNER and root in self.outputs)
            )
        ]
        handed_on = self._handed_on(expression, later)
        kept: list[tuple[Term, int]] = []
        spent: dict[Term | Read, float] = {}
        for term in expression.terms:
            if term in self.scratch:
                continue
            spent[term] = self._cost(term) + sum(
                spent.get(operand, 0.0) for operand in expression.operands[term]
            )
            if term in handed_on and spent[term] >= SCRATCH_COST:
                self.scratch[term] = len(self.scratch)
                kept.append((term, phase.values[term].index))
                spent[term] = 0.0
        return kept

    def _handed_on(self, expression: Expression, later: Sequence[Node]) -> set[Term]:
        """The operations of this phase for each element whose values later phases read."""
        own = expression.operands
        found: set[Term] = set()
        for root in later:
            other = self.expressions[root]
            found.update(each for each in other.roots if isinstance(each, Term))
            for term, operands in other.operands.items():
                if term not in own:
                    found.update(each for each in operands if isinstance(each, Term))
        return {term for term in found if term in own and self._cost(term)}

    def _cost(self, term: Term) -> float:
        """What an operation costs for each element; nothing where it is one for a row."""
        node = term.node
        varies = any(axis in self.group.axes for affine in term.map for axis, _ in affine.terms)
        return node.op.cost(node.loop, node.dtype) if varies and isinstance(node, Map) else 0.0

    def _outer_phase(self) -> Phase | None:
        group = self.group
        roots = [
            root for root in self.outputs if group.roots[root] is Level.OUTER or not group.axes
        ]
        if not roots:
            return None
        phase = PhaseBody(self.arguments, self.accumulators, self.loop_of_axis, {})
        written = []
        for root in roots:
            if isinstance(root, Reduce):
                value, moved = phase.reduction(root), []
            else:
                value, *moved = phase.evaluate(self.expressions[root])
            moves = [astype(index, "i8").index for index in moved]
            written.append((root, astype(value, root.dtype).index, *moves))
        in_rows = not group.axes and self.loops.lanes is Lanes.ROWS
        level = PhaseLevel.INNER if in_rows else PhaseLevel.OUTER
        return _phase(level, phase, (), written)

    def _assemble(self, phases: list[Phase]) -> Lowered:
        extents = self.loops.extents(self.group.shape)
        args: list[Arg] = []
        bindings: list[Binding] = []
        for read in self.arguments.reads:
            strides = self.loops.strides(read.strides)
            args.append(Arg(Role.IN, read.node.dtype, self.loops.classes(strides, extents)))
            bindings.append(Binding(read.node, strides, read.offset))
        numbers: dict[object, int] = {}
        for root in self.outputs:
            per_axis, offset = self._store_access(root)
            strides = self.loops.strides(per_axis)
            numbers[root] = len(args)
            args.append(Arg(Role.OUT, root.dtype, self.loops.classes(strides, extents)))
            bindings.append(Binding(root, strides, offset))
        for term, number in self.scratch.items():
            numbers[term] = numbers[f"scratch{number}"] = len(args)
            access_classes = ("0",) * len(self.loops.outer) + ("1",) * len(self.loops.inner)
            args.append(Arg(Role.SCRATCH, term.node.dtype, access_classes))
        kernel = Kernel(
            len(self.loops.outer),
            len(self.loops.inner),
            self.loops.lanes,
            tuple(args),
            tuple(self.arguments.dtypes),
            tuple(_numbered(phase, numbers) for phase in phases),
            joined=self.loops.joined,
            row=extents[-1] if self.loops.lanes is Lanes.ROWS else 0,
        )
        return canonical(
            Lowered(
                kernel,
                extents,
                tuple(bindings),
                tuple(self.arguments.scalars),
                tuple(self.outputs),
            )
        )


def _counts_in_c_order(loops: Loops) -> bool:
    """Whether one inner loop walks the folded elements in C order: its index is their position."""
    return len(loops.inner) == 1 and list(loops.inner[0]) == sorted(loops.inner[0])


def _phase(
    level: PhaseLevel,
    phase: PhaseBody,
    accumulators: Collection[Accumulator],
    written: Collection[tuple[Any, ...]],  # targets are nodes and names until `_numbered`
) -> Phase:
    stores = tuple(Store(*each) for each in written)
    return Phase(level, tuple(phase.body.instrs), tuple(accumulators), stores)


def _numbered(phase: Phase, numbers: dict[object, int]) -> Phase:
    """Replace nodes and scratch names by argument numbers."""
    body = tuple(
        Instr(i.op, i.dtype, i.args, numbers[i.attr])
        if i.op == "load" and i.attr in numbers
        else i
        for i in phase.body
    )
    stores = tuple(replace(store, arg=numbers[store.arg]) for store in phase.stores)
    scan = phase.scan and phase.scan._replace(arg=numbers[phase.scan.arg])
    return Phase(phase.level, body, phase.accumulators, stores, scan)
