"""Graph -> Plan: passes, schedule and lowering in turn, and the steps with their memory.

The plan is made from a template of the graph:
nodes without buffers and handles, so a cached plan keeps no memory.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from lazyfuse.backends.base import Backend
from lazyfuse.config import Options
from lazyfuse.ir.blank import Blank
from lazyfuse.ir.graph import Graph, is_leaf, label, topological
from lazyfuse.ir.group import Group
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.node import Const, Node, Opaque, Source, Update
from lazyfuse.ir.plan import Call, Launch, Operand, Plan, Refusal, Renew, Step, WhyNot
from lazyfuse.ir.verify import verify_graph, verify_kernel, verify_plan
from lazyfuse.lower.canonical import Lowered, canonical
from lazyfuse.lower.contract import contract
from lazyfuse.lower.lower import lower
from lazyfuse.lower.narrow import narrow
from lazyfuse.lower.neighbours import with_neighbours
from lazyfuse.lower.steps import with_steps
from lazyfuse.ops.shapes import size_of
from lazyfuse.passes import run_passes
from lazyfuse.runtime.conditions import kept_bytes
from lazyfuse.runtime.memory import donors, kept_by, traffic, with_frees
from lazyfuse.runtime.waves import find_waves
from lazyfuse.schedule.fusion import Limits
from lazyfuse.schedule.hazards import reads_elsewhere
from lazyfuse.schedule.schedule import Schedule, schedule


def make_plan(graph: Graph, options: Options, backend: Backend) -> Plan:
    """Plan the evaluation of `graph.outputs`.
    Leaf slots follow the graph's order of memory leaves."""
    started = time.perf_counter()
    copied, leaves = template(graph)
    if options.check:
        verify_graph(copied)
    prepared = run_passes(copied, options.passes)
    limits = Limits(
        fusion=options.fusion,
        max_ops=options.max_kernel_ops,
        max_args=min(
            options.max_kernel_args, getattr(backend, "max_args", options.max_kernel_args)
        ),
        exact_order=backend.exact_order,
    )
    if options.check:
        verify_graph(prepared)
    plan = _Planner(prepared, leaves, schedule(prepared, limits), backend, options).run()
    if options.check:
        verify_plan(plan)
    return replace(plan, seconds=time.perf_counter() - started)


def template(graph: Graph) -> tuple[Graph, list[Node]]:
    """A copy of the graph without buffers, handles and values; and its leaves and scalars in the
    graph's order, each scalar once."""
    leaves: list[Node] = []
    scalars: dict[object, Node] = {}

    def copy(node: Node, srcs: tuple[Node, ...]) -> Node:
        if isinstance(node, Const):
            known = scalars.get(node.identity)
            if known is not None:
                return known
            value = node.value if node.from_shape else 0
            new: Node = Const(value, node.dtype, from_shape=node.from_shape)
            scalars[node.identity] = new
        elif is_leaf(node):
            new = Source(node.shape, node.dtype, node.strides, "placeholder")
        else:
            return node.with_srcs(srcs)
        leaves.append(new)
        return new

    return graph.rewrite(copy, merges=True), leaves


class _Planner:
    def __init__(
        self,
        graph: Graph,
        leaves: list[Node],
        decided: Schedule,
        backend: Backend,
        options: Options,
    ) -> None:
        self.graph = graph
        self.backend = backend
        self.options = options
        self.schedule = decided
        memory = [leaf for leaf in leaves if not isinstance(leaf, Const)]
        self.constants: dict[Node, int] = {
            leaf: number for number, leaf in enumerate(x for x in leaves if isinstance(x, Const))
        }
        self.slots: dict[Node, int] = {leaf: number for number, leaf in enumerate(memory)}
        self.leaves = len(memory)
        self.steps: list[Step] = []
        self.refusals = list(decided.refusals)
        self.stored = {root for group in decided.groups for root in group.roots}

    def run(self) -> Plan:
        for group in self.schedule.groups:
            self._add_group(group)
        outputs = tuple(self.slots[node] for node in self.graph.outputs)
        steps = with_frees(self.steps, outputs)
        return Plan(
            self.leaves,
            tuple(self.slots),
            steps,
            outputs,
            tuple(self.refusals),
            find_waves(steps, getattr(self.backend, "band_bytes", 0)),
            kept_bytes=kept_bytes(self.graph.nodes, self.options.float_errors),
        )

    def _slot(self, node: Node) -> int:
        return self.slots.setdefault(node, len(self.slots))

    def _add_group(self, group: Group) -> None:
        first = next(iter(group.roots))
        if isinstance(first, Opaque):
            self._call(first, WhyNot.OPAQUE)
            return
        lowered = lower(
            group,
            self.stored,
            self.schedule.outputs,
            exact_order=self.backend.exact_order,
        )
        if self.options.fastmath:
            lowered = canonical(replace(lowered, kernel=contract(lowered.kernel)))
        if getattr(self.backend, "narrow_index", False):
            lowered = narrow(lowered)
        if getattr(self.backend, "picks_lanes", False):
            lowered = with_steps(lowered)
        if getattr(self.backend, "loads_together", False):
            lowered = with_neighbours(lowered)
        unsupported = self._unsupported(lowered.kernel)
        if unsupported:
            self.refusals.append(Refusal(first, first, WhyNot.UNSUPPORTED, unsupported))
            for root in group.roots:
                self._call(root, WhyNot.UNSUPPORTED)
            return
        if self.options.check:
            verify_kernel(lowered.kernel)
        if isinstance(first, Update):
            self._renew(first, group)
        self._launch(group, lowered)

    def _unsupported(self, kernel: Kernel) -> str:
        """The first primitive that the backend has no code for; empty when it has all."""
        asked: dict[tuple[str, str], None] = {}
        for phase in kernel.phases:
            dtypes = [instr.dtype for instr in phase.body]
            kinds = {(instr.op, instr.dtype, *[dtypes[arg] for arg in instr.args]): None
                     for instr in phase.body}  # fmt: skip
            for op, *known in kinds:
                asked.update([((op, dtype), None) for dtype in known])
        missing = (each for each in asked if not self.backend.supports(*each))
        return " on ".join(next(missing, ()))

    def _call(self, node: Node, why: WhyNot) -> None:
        reads, scalars = _needs(node, self.stored)
        self.steps.append(
            Call(
                node,
                tuple((src, self.slots[src]) for src in reads),
                tuple((src, self.constants[src]) for src in scalars),
                self._slot(node),
                why,
            )
        )

    def _renew(self, node: Update, group: Group) -> None:
        """The memory that an update writes into:
        its base in place where no read would see the new values."""
        base = node.srcs[0]
        hazard = reads_elsewhere(node, group.expressions[node])
        if hazard:
            self.refusals.append(Refusal(base, node, WhyNot.HAZARD, "it is written to new memory"))
        nbytes = size_of(node.shape) * int(node.dtype[1:])
        old = None if isinstance(base, Blank) else self.slots[base]
        kept = () if old is None else kept_by(node)
        renew = Renew(self._slot(node), old, nbytes, not hazard, kept, (node,), node.dtype)
        self.steps.append(renew)

    def _launch(self, group: Group, lowered: Lowered) -> None:
        operands = tuple(
            Operand(self._slot(b.node), b.strides, b.offset) for b in lowered.bindings
        )
        scalars = tuple(
            ("const", self.constants[key]) if isinstance(key, Node) else key
            for key in lowered.scalars
        )
        written = [node for node in lowered.outputs if not isinstance(node, Update)]
        slots = {number: node for node, number in self.slots.items()}
        read, wrote = traffic(lowered.kernel, lowered.extents, operands, slots)
        members = _members(group, self.stored)
        launch = Launch(
            kernel=lowered.kernel,
            name=kernel_name(members),
            extents=lowered.extents,
            operands=operands,
            scalars=scalars,
            allocates=tuple(
                (self._slot(node), size_of(node.shape) * int(node.dtype[1:])) for node in written
            ),
            donors=(),
            stores=tuple((self._slot(node), node) for node in lowered.outputs),
            nodes=tuple(members),
            calls=tuple(self._as_call(node, group) for node in lowered.outputs),
            bytes_read=read,
            bytes_written=wrote,
        )
        self.steps.append(replace(launch, donors=donors(launch)))

    def _as_call(self, node: Node, group: Group) -> Call:
        """How to compute one output of a launch without its kernel."""
        own = self.stored - set(group.roots)
        reads, scalars = _needs(node, own)
        return Call(
            node,
            tuple((src, self.slots[src]) for src in reads),
            tuple((src, self.constants[src]) for src in scalars),
            self._slot(node),
            WhyNot.UNSUPPORTED,
        )


def _needs(node: Node, stored: set[Node]) -> tuple[list[Node], list[Const]]:
    """The memory and the scalars that computing `node` op by op reads."""
    below = topological(node.srcs, stop=stored)
    reads = [
        src for src in below if not isinstance(src, Const) and (is_leaf(src) or src in stored)
    ]
    return reads, [src for src in below if isinstance(src, Const)]


def _members(group: Group, stored: set[Node]) -> list[Node]:
    """All operations of a group, operands first."""
    foreign = stored - set(group.roots)
    inside = topological(group.roots, stop=foreign)
    return [node for node in inside if node not in foreign and not is_leaf(node)]


def kernel_name(nodes: Sequence[Node]) -> str:
    """A readable C identifier from the operations inside."""
    shown = [node for node in nodes if node.kind not in ("view", "const", "blank")]
    few = shown if len(shown) <= 5 else [*shown[:2], *shown[-2:]]
    names = [label(node).split("[")[0].replace(".", "_") for node in few]
    if few is not shown:
        names.insert(2, f"{len(shown) - 4}_more")
    return "lf_" + "_".join(names)
