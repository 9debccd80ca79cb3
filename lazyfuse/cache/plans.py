"""Plans as bytes: a process that meets a structure which another one has planned need not plan it
again, nor import the planner.

A plan is written as plain data (`marshal`): nothing that is read runs, and what is not in the
tables below is not written. An object is a list that begins with the number of its kind; tuples,
strings and numbers are themselves, so most of a plan is read as it is. Nodes are a table of their
own, operands first, so that nothing recurses however deep the graph is; they come without the
lines that recorded them.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lazyfuse.digests import digest
from lazyfuse.ir.blank import Blank
from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import topological
from lazyfuse.ir.kernel import Accumulator, Arg, Kernel, Lanes, Level, Phase, Role, Scan, Store
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import (
    Const,
    Fill,
    Gather,
    Map,
    Masked,
    Node,
    Reduce,
    Source,
    Update,
    View,
)
from lazyfuse.ir.node import Scan as ScanNode
from lazyfuse.ir.order import ReductionOrder
from lazyfuse.ir.plan import Call, Launch, Operand, Plan, Refusal, Renew, Wave, WhyNot
from lazyfuse.ir.slots import slots_of
from lazyfuse.ops.body import Instr
from lazyfuse.ops.opdef import OpDef
from lazyfuse.ops.table import OPS, REDUCTIONS
from lazyfuse.ops.table_reduce import ReduceDef
from lazyfuse.sources import sources

_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_ENUMS: tuple[type, ...] = (Lanes, Level, Role, WhyNot)
_RECORDS: tuple[type, ...] = (
    Accumulator, Arg, Call, Instr, Kernel, Launch, Layout, Operand, Phase, Plan, ReductionOrder,
    Refusal, Renew, Scan, Store, Wave,
)  # fmt: skip
_ROWS: Mapping[type, Mapping[str, Any]] = {OpDef: OPS, ReduceDef: REDUCTIONS}
#: What is written as a list; that of `list` itself is a tuple of records of one kind.
_KINDS: tuple[type, ...] = (*_ENUMS, *_RECORDS, *_ROWS, Node, tuple, dict, list)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
#: An Opaque is a function, which no other process has.
_NODES: tuple[type[Node], ...] = (
    Blank, Const, Fill, Gather, Map, Masked, Reduce, ScanNode, Source, Update, View,
)  # fmt: skip
#: What nodes of a plan have no use for, and operands, which are written apart.
_LEFT_OUT: Mapping[str, Any] = {
    "srcs": (), "origin": None, "handle": None, "form": UNKNOWN, "_mapkind": None, "seen": False,
    "users": 0, "held": 0, "depth": 0,
}  # fmt: skip
_FIELDS: Mapping[type, Sequence[str]] = {
    kind: [name for name in kind.__annotations__ if name != "bound"] for kind in _RECORDS
}
_SLOTS = {
    kind: [slot for slot in slots_of(kind).names if slot not in _LEFT_OUT] for kind in _NODES
}
_BLANK = {
    kind: [item for item in _LEFT_OUT.items() if item[0] in slots_of(kind).names]
    for kind in _NODES
}


class UnwritableError(TypeError):
    """A plan that has what is in no table."""


def plan_name(structure: Sequence[Hashable], *decisive: object) -> str:
    """What the plan of a structure (`runtime/trace.py`) is kept under: a digest of the structure,
    and of all else that decides the plan."""
    parts = {part: repr(part) for part in set(structure)}
    text = " ".join([parts[part] for part in structure])
    return digest(f"{_decisive(decisive)} {text}")


@lru_cache(maxsize=64)
def _decisive(given: tuple[object, ...]) -> str:
    """What decides all plans."""
    planner = sources("cache", "ir", "lower", "ops", "passes", "runtime", "schedule")
    return f"plan {sys.version} {planner} {given}"


def dumped(plan: Plan) -> bytes:
    """The bytes of a plan. Raises: UnwritableError."""
    inside = [node for step in plan.steps if isinstance(step, Launch) for node in step.nodes]
    refused = [node for refusal in plan.refusals for node in refusal[:2]]
    nodes = topological([*plan.slots, *inside, *refused])
    places = {node: place for place, node in enumerate(nodes)}
    return marshal.dumps(([_row(node, places) for node in nodes], _written(plan, places)))


def loaded(content: bytes) -> Plan:
    """The plan of such bytes. Raises: whatever bytes of another kind lead to."""
    rows, whole = marshal.loads(content)
    nodes: list[Node] = []
    for number, srcs, values in rows:
        nodes.append(_node(_NODES[number], tuple([nodes[src] for src in srcs]), values))
    plan = _read(whole, nodes)
    if not isinstance(plan, Plan):
        raise TypeError("no plan")
    return plan


def dumped_parts(*parts: Any) -> bytes:
    """The bytes of some parts of a plan that have no nodes in them. Raises: UnwritableError."""
    return marshal.dumps([_written(part, {}) for part in parts])


def loaded_parts(content: bytes) -> list[Any]:
    """The parts of such bytes. Raises: whatever bytes of another kind lead to."""
    return [_read(part, ()) for part in marshal.loads(content)]


def _row(node: Node, places: Mapping[Node, int]) -> Any:
    """The number of the node's class, the places of its operands, and what it is."""
    kind = type(node)
    if kind not in _SLOTS:
        raise UnwritableError(kind.__name__)
    values = [_written(getattr(node, slot), places) for slot in _SLOTS[kind]]
    return _NODES.index(kind), [places[src] for src in node.srcs], values


def _node(kind: type[Node], srcs: tuple[Node, ...], values: Sequence[Any]) -> Node:
    made = object.__new__(kind)
    for slot, value in _BLANK[kind]:
        setattr(made, slot, value)
    for slot, value in zip(_SLOTS[kind], values, strict=True):
        setattr(made, slot, value if type(value) is not list else _read(value, ()))
    made.srcs = srcs
    return made


def _written(value: Any, places: Mapping[Node, int]) -> Any:
    """A value as plain data."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, Node):
        return [_NUMBERS[Node], places[value]]
    if kind is tuple:
        return _written_tuple(value, places)
    if kind in _ENUMS:
        parts = [value.value]
    elif kind in _ROWS:
        parts = [value.name]
    elif kind is dict:
        parts = [_written(item, places) for item in value.items()]
    elif kind in _FIELDS:
        parts = [_written(getattr(value, name), places) for name in _FIELDS[kind]]
    else:
        raise UnwritableError(kind.__name__)
    return [_NUMBERS[kind], *parts]


def _written_tuple(value: tuple[Any, ...], places: Mapping[Node, int]) -> Any:
    """A tuple itself where it is plain; of records of a kind that are plain inside, these."""
    parts = [_written(part, places) for part in value]
    objects = [part for part in parts if type(part) is list]
    if not objects:
        return value
    kind = _KINDS[objects[0][0]]
    are_plain = not any(type(part) is list for item in objects for part in item)
    if hasattr(kind, "_make") and are_plain and {type(part) for part in value} == {kind}:
        return [_NUMBERS[list], _NUMBERS[kind], *[tuple(item[1:]) for item in objects]]
    return [_NUMBERS[tuple], *parts]


def _read(item: Any, nodes: Sequence[Node]) -> Any:
    """What was written as `item`."""
    if type(item) is not list:
        return item
    kind: Any = _KINDS[item[0]]
    if kind is Node:
        return nodes[item[1]]
    if kind is list:
        return tuple(map(_KINDS[item[1]]._make, item[2:]))  # type: ignore[attr-defined]  # of NamedTuples
    if kind in _ROWS:
        return _ROWS[kind][item[1]]
    parts = [part if type(part) is not list else _read(part, nodes) for part in item[1:]]
    return kind(parts) if kind in (tuple, dict) else kind(*parts)
