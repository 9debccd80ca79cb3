"""The numbers of a plan, which are extents, strides, offsets and sizes, in one order; and the same
plan with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import topological
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Map, Node, Reduce, Scan, Update, View
from lazyfuse.ir.plan import Call, Launch, Operand, Plan, Renew, ScalarSlot, Step
from lazyfuse.runtime.memory import kept_by, traffic

_Number = Callable[[int], int]
_Nodes = Mapping[Node, Node]


class Numbered(NamedTuple):
    """A plan that launches kernels and renews what they write to, all its nodes, operands first,
    and its numbers. `rest` is what else it has: equal for plans that differ in numbers. But for
    what follows from them: `kept` by each renewal."""

    plan: Plan
    nodes: Sequence[Node]
    numbers: tuple[int, ...]
    rest: tuple[object, ...]
    kept: tuple[tuple[Layout, ...], ...]


def numbered(plan: Plan) -> Numbered | None:
    """A plan with its numbers; None where it calls libraries, or runs band by band."""
    if plan.waves or any(isinstance(step, Call) for step in plan.steps):
        return None
    inside = [node for step in plan.steps if isinstance(step, Launch) for node in step.nodes]
    refused = [node for refusal in plan.refusals for node in refusal[:2]]
    nodes = topological([*plan.slots, *inside, *refused])
    numbers: list[int] = []

    def noted(number: int) -> int:
        numbers.append(number)
        return number

    _copied(plan, nodes, noted)
    places = {node: place for place, node in enumerate(nodes)}
    rest = [_node_rest(node, places) for node in nodes]
    rest += [_step_rest(step, places) for step in plan.steps]
    rest += [(places[r.producer], places[r.consumer], r.why, r.detail) for r in plan.refusals]
    rest.append(
        (plan.leaves, [places[node] for node in plan.slots], plan.outputs, plan.kept_bytes)
    )
    kept = tuple([step.kept for step in plan.steps if isinstance(step, Renew)])
    return Numbered(plan, nodes, tuple(numbers), tuple(rest), kept)


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
        steps=tuple([_step(step, copies, slots, number) for step in plan.steps]),
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
    if isinstance(copy, View | Update):
        copy.layout = Layout(
            tuple([number(extent) for extent in copy.layout.shape]),
            tuple([number(step) for step in copy.layout.strides]),
            number(copy.layout.offset),
        )
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


def _step(step: Step, copies: _Nodes, slots: Sequence[Node], number: _Number) -> Step:
    if isinstance(step, Launch):
        return _launch(step, copies, slots, number)
    assert isinstance(step, Renew)
    node = copies[step.node]
    assert isinstance(node, Update)
    kept = step.kept and kept_by(node)
    return replace(step, nbytes=number(step.nbytes), kept=kept, writes=(node,))


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
            value = None if count_of(node) is not None else repr(node.value)
            return (*known, node.from_shape, value)
        case Map():
            return (*known, node.op.name, node.loop)
        case Reduce():
            return (*known, node.op.name, node.axes, node.accumulate, node.order)
        case Scan():
            return (*known, node.op.name, node.axis)
        case Update():
            return (*known, node.reach, node.unique)
    return known


def _step_rest(step: Step, places: Mapping[Node, int]) -> tuple[object, ...]:
    if isinstance(step, Renew):
        known = (step.target, step.base, step.in_place, step.base_dies, step.frees)
        return (*known, places[step.node])
    assert isinstance(step, Launch)
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
