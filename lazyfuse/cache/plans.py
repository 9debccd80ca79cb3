"""Plans as bytes: a process that meets a structure which another one has planned need not plan it
again, nor import the planner.

A plan is written as plain data (`marshal`): nothing that is read runs, and what is not in the
tables below is not written. An object is a list that begins with the number of its kind; tuples,
strings and numbers are themselves, so most of a plan is read as it is. Nodes are a table of their
own, operands first, so that nothing recurses however deep the graph is; they come without the
lines that recorded them. Most are for people and for shapes alike: they are read when somebody
asks. Kernels are a table, too, each once, with its digest, for which its text would be written.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
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
#: What is written as a list; that of `list` itself is a tuple of records of one kind, that of
#: `int` a place in the table of kernels.
_KINDS: tuple[type, ...] = (*_ENUMS, *_RECORDS, *_ROWS, Node, tuple, dict, list, int)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
#: What is read when it is asked for, where nodes are in it.
_SELDOM: Mapping[type, Sequence[str]] = {
    Launch: ("stores", "nodes", "calls"), Plan: ("slots", "refusals"), Renew: ("writes",),
}  # fmt: skip
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
_LATE = {kind: [_FIELDS[kind].index(name) for name in names] for kind, names in _SELDOM.items()}
_SLOTS = {
    kind: [slot for slot in slots_of(kind).names if slot not in _LEFT_OUT] for kind in _NODES
}
_VALUES = {kind: attrgetter(*slots) for kind, slots in _SLOTS.items()}
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
    places: dict[object, int] = {node: place for place, node in enumerate(nodes)}
    kernels = {step.kernel.text: step.kernel for step in plan.steps if isinstance(step, Launch)}
    places |= {text: place for place, text in enumerate(kernels)}
    written = [(kernel.digest, _written(kernel, {})) for kernel in kernels.values()]
    rows = marshal.dumps([_row(node, places) for node in nodes])
    return marshal.dumps((rows, written, _written(plan, places)))


def loaded(content: bytes) -> Plan:
    """The plan of such bytes. Raises: whatever bytes of another kind lead to; those of its nodes
    may do so later."""
    rows, kernels, whole = marshal.loads(content)
    plan = _read(whole, _Tables(rows, [_kernel(*each) for each in kernels]))
    if not isinstance(plan, Plan):
        raise TypeError("no plan")
    return plan


class _Tables:
    """The nodes and the kernels of a plan."""

    __slots__ = ("_rows", "_nodes", "kernels")

    def __init__(self, rows: bytes, kernels: Sequence[Kernel]) -> None:
        self._rows = rows
        self._nodes: dict[bytes, Sequence[Node]] = {}
        self.kernels = kernels

    @property
    def nodes(self) -> Sequence[Node]:
        """The same for all who ask, in whatever thread."""
        known = self._nodes.get(self._rows)
        return self._nodes.setdefault(self._rows, _nodes(self._rows)) if known is None else known


class _Late(Sequence[Any]):
    """A tuple that is read when it is asked for."""

    __slots__ = ("_item", "_tables", "_parts")

    def __init__(self, item: list[Any], tables: _Tables) -> None:
        self._item = item
        self._tables = tables
        self._parts: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self._item) - 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __getitem__(self, place: Any) -> Any:
        return self._read()[place]

    def _read(self) -> tuple[Any, ...]:
        if self._parts is None:
            self._parts = _read(self._item, self._tables)
        return self._parts


def _nodes(rows: bytes) -> list[Node]:
    nodes: list[Node] = []
    for number, srcs, values in marshal.loads(rows):
        nodes.append(_node(_NODES[number], tuple([nodes[src] for src in srcs]), values))
    return nodes


def _kernel(digest: str, item: Any) -> Kernel:
    kernel: Kernel = _read(item, None)
    kernel.__dict__["digest"] = digest  # what cached_property would compute
    return kernel


def dumped_parts(*parts: Any) -> bytes:
    """The bytes of some parts of a plan that have no nodes in them. Raises: UnwritableError."""
    return marshal.dumps([_written(part, {}) for part in parts])


def loaded_parts(content: bytes) -> list[Any]:
    """The parts of such bytes. Raises: whatever bytes of another kind lead to."""
    return [_read(part, None) for part in marshal.loads(content)]


def _row(node: Node, places: Mapping[object, int]) -> Any:
    """The number of the node's class, the places of its operands, and what it is."""
    kind = type(node)
    if kind not in _SLOTS:
        raise UnwritableError(kind.__name__)
    values = [
        value if type(value) in _PLAIN else _written(value, places)
        for value in _VALUES[kind](node)
    ]
    return _NODES.index(kind), [places[src] for src in node.srcs], values


def _node(kind: type[Node], srcs: tuple[Node, ...], values: Sequence[Any]) -> Node:
    made = object.__new__(kind)
    for slot, value in _BLANK[kind]:
        setattr(made, slot, value)
    for slot, value in zip(_SLOTS[kind], values, strict=True):
        setattr(made, slot, value if type(value) is not list else _read(value, None))
    made.srcs = srcs
    return made


def _written(value: Any, places: Mapping[object, int]) -> Any:
    """A value as plain data; nodes and texts of kernels have places, if those are in tables."""
    if _is_plain(value):
        return value
    kind = type(value)
    if kind in _SLOTS:
        return [_NUMBERS[Node], places[value]]
    if kind is tuple or kind is _Late:
        return _written_tuple(tuple(value), places)
    if kind is Kernel and places:
        return [_NUMBERS[int], places[value.text]]
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


def _written_tuple(value: tuple[Any, ...], places: Mapping[object, int]) -> Any:
    """A tuple that is not plain; of records of a kind that are plain inside, these."""
    kind = type(value[0]) if value else tuple
    if hasattr(kind, "_make") and kind in _FIELDS and {*map(type, value)} == {kind}:
        parts = [tuple(part) for part in value]
        if _is_plain(tuple(parts)):
            return [_NUMBERS[list], _NUMBERS[kind], *parts]
    return [_NUMBERS[tuple], *[_written(part, places) for part in value]]


def _is_plain(value: Any) -> bool:
    """Whether it is written as it is."""
    kind = type(value)
    if kind is not tuple:
        return kind in _PLAIN
    return _PLAIN.issuperset(map(type, value)) or all(map(_is_plain, value))


def _read(item: Any, tables: _Tables | None) -> Any:
    """What was written as `item`; of what refers to no table, without."""
    if type(item) is not list:
        return item
    kind: Any = _KINDS[item[0]]
    if tables is not None:
        if kind is Node:
            return tables.nodes[item[1]]
        if kind is int:
            return tables.kernels[item[1]]
        if kind in _LATE:
            return kind(*_record(kind, item, tables))
    if kind is list:
        # of NamedTuples, whose own ways are functions of Python's
        return tuple(map(tuple.__new__, repeat(_KINDS[item[1]]), item[2:]))
    if kind in _ROWS:
        return _ROWS[kind][item[1]]
    parts = [part if type(part) is not list else _read(part, tables) for part in item[1:]]
    return kind(parts) if kind in (tuple, dict) else kind(*parts)


def _record(kind: type, item: list[Any], tables: _Tables) -> list[Any]:
    """The fields of a record some of which are seldom asked for."""
    late = _LATE[kind]
    return [
        _Late(part, tables)
        if place in late and type(part) is list and part[0] == _NUMBERS[tuple]
        else _read(part, tables)
        for place, part in enumerate(item[1:])
    ]
