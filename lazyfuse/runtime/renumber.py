"""The numbers of a plan, which are extents, strides, offsets and sizes, in one order; and the same
plan with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import topological
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Map, Node, Reduce, Scan, View
from lazyfuse.ir.plan import Call, Launch, Operand, Plan, ScalarSlot
from lazyfuse.runtime.memory import traffic

_Number = Callable[[int], int]
_Nodes = Mapping[Node, Node]


class Numbered(NamedTuple):
    """A plan that does nothing but launch, all its nodes, operands first, and its numbers. `rest`
    is what else it has: equal for plans that differ in numbers."""

    plan: Plan
    nodes: Sequence[Node]
    numbers: tuple[int, ...]
    rest: tuple[object, ...]


def numbered(plan: Plan) -> Numbered | None:
    """A plan with its numbers; None where it does more than launch."""
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    if plan.waves or len(launches) < len(plan.steps):
        return None
    inside = [node for step in launches for node in step.nodes]
    refused = [node for refusal in plan.refusals for node in refusal[:2]]
    nodes = topological([*plan.slots, *inside, *refused])
    numbers: list[int] = []

    def noted(number: int) -> int:
        numbers.append(number)
        return number

    _copied(plan, nodes, noted)
    places = {node: place for place, node in enumerate(nodes)}
    rest = [_node_rest(node, places) for node in nodes]
    rest += [_launch_rest(step, places) for step in launches]
    rest += [(places[r.producer], places[r.consumer], r.why, r.detail) for r in plan.refusals]
    rest.append(
        (plan.leaves, [places[node] for node in plan.slots], plan.outputs, plan.kept_bytes)
    )
    return Numbered(plan, nodes, tuple(numbers), tuple(rest))


def renumbered(whole: Numbered, numbers: Iterable[int]) -> Plan:
    """The plan with other numbers, in the order of its own."""
    others = iter(numbers)
    return _copied(whole.plan, whole.nodes, lambda _: next(others))


def _copied(plan: Plan, nodes: Sequence[Node], number: _Number) -> Plan:
    """A copy of a plan each of whose numbers is what `number` makes of it."""
    copies: dict[Node, Node] = {}
    for node in nodes:
        copies[node] = _node(node, tuple([copies[src] for src in node.srcs]), number)
    slots = tuple([copies[node] for node in plan.slots])
    return replace(
        plan,
        slots=slots,
        steps=tuple([
            _launch(step, copies, slots, number) for step in plan.steps if isinstance(step, Launch)
        ]),
        refusals=tuple(
            [r._replace(producer=copies[r[0]], consumer=copies[r[1]]) for r in plan.refusals]
        ),
        seconds=0.0,
    )  # fmt: skip


def _node(node: Node, srcs: tuple[Node, ...], number: _Number) -> Node:
    copy = node.with_srcs(srcs)
    copy.form = UNKNOWN
    copy.shape = tuple([number(extent) for extent in node.shape])
    copy.strides = tuple([number(step) for step in node.strides])
    if isinstance(copy, View):
        copy.layout = Layout(copy.shape, copy.strides, number(copy.layout.offset))
    elif isinstance(copy, Const):
        count = count_of(copy)
        if count is not None:
            copy.value = type(copy.value)(number(count))
    return copy


def count_of(node: Const) -> int | None:
    """The value of a scalar that follows from shapes, as the divisor of a mean, if it is whole."""
    value = node.value if node.from_shape else None
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole else None  # type: ignore[arg-type]  # a real number


def _launch(step: Launch, copies: _Nodes, slots: Sequence[Node], number: _Number) -> Launch:
    extents = tuple([number(extent) for extent in step.extents])
    operands = tuple([
        Operand(slot, tuple([number(stride) for stride in strides]), number(offset))
        for slot, strides, offset in step.operands
    ])  # fmt: skip
    read, written = traffic(step.kernel, extents, operands, slots)
    return Launch(
        step.kernel, step.name, extents, operands,
        scalars=tuple([_scalar(item, number) for item in step.scalars]),
        allocates=tuple([(slot, number(nbytes)) for slot, nbytes in step.allocates]),
        donors=step.donors,
        stores=tuple([(slot, copies[node]) for slot, node in step.stores]),
        nodes=tuple([copies[node] for node in step.nodes]),
        calls=tuple([_call(call, copies) for call in step.calls]),
        bytes_read=read, bytes_written=written, frees=step.frees,
    )  # fmt: skip


def _scalar(item: ScalarSlot, number: _Number) -> ScalarSlot:
    kind, value = item
    return item if kind == "const" else (kind, number(value))


def _call(call: Call, copies: _Nodes) -> Call:
    reads = tuple([(copies[node], slot) for node, slot in call.reads])
    scalars = tuple([(copies[node], place) for node, place in call.scalars])
    return Call(copies[call.node], reads, scalars, call.target, call.why, call.frees)


def _node_rest(node: Node, places: Mapping[Node, int]) -> tuple[object, ...]:
    known = (type(node), node.dtype, node.is_scalar, *[places[src] for src in node.srcs])
    match node:
        case Const():
            return (
                *known,
                node.from_shape,
                None if count_of(node) is not None else repr(node.value),
            )
        case Map():
            return (*known, node.op.name, node.loop)
        case Reduce():
            return (*known, node.op.name, node.axes, node.accumulate, node.order)
        case Scan():
            return (*known, node.op.name, node.axis)
    return known


def _launch_rest(step: Launch, places: Mapping[Node, int]) -> tuple[object, ...]:
    return (
        step.kernel.text,
        step.name,
        [operand.slot for operand in step.operands],
        [item if item[0] == "const" else None for item in step.scalars],
        [slot for slot, _ in step.allocates],
        step.donors,
        [(slot, places[node]) for slot, node in step.stores],
        [places[node] for node in step.nodes],
        [_call_rest(call, places) for call in step.calls],
        step.frees,
    )


def _call_rest(call: Call, places: Mapping[Node, int]) -> tuple[object, ...]:
    reads = [(places[node], slot) for node, slot in call.reads]
    scalars = [(places[node], number) for node, number in call.scalars]
    return places[call.node], reads, scalars, call.target, call.why
