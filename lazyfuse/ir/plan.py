"""Plans: what is run for one graph of exact shapes, in terms of slots instead of nodes.

Slots number the memory of a plan: first the leaves of the graph in its order, then every node that
is stored. Steps run in order. Scalars of a launch are `("const", k)`, the k-th Const of the graph,
or `("value", number)`. A plan holds no buffers and no user values, so it serves every graph of the
same structure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node
from lazyfuse.ops.shapes import size_of

ScalarSlot: TypeAlias = tuple[str, Any]


class WhyNot(Enum):
    """Why two operations are not in one kernel; the value is the sentence for people."""

    OPAQUE = "a library call runs as a whole; nothing fuses into it"
    DIFFERENT_SPACE = "they run over different iteration spaces"
    REDUCE_THEN_BROADCAST = "the reduction must finish over all elements before its result is read"
    MIXED_OUTPUT_SPACES = "their results have shapes that one loop nest cannot store"
    CYCLE = "fusing them would make a group wait for its own result"
    HAZARD = "one writes memory that the other reads at other places"
    GATHER = "elements are picked by an index, so the whole must be stored first"
    NOT_AFFINE = "the view is not an affine re-indexing of the operation under it"
    RECOMPUTE_COST = "recomputing the value costs more than storing it once"
    TOO_MANY_ARGUMENTS = "the kernel would touch more arrays than the limit"
    TOO_LARGE_BODY = "the kernel would hold more operations than the limit"
    ORDER_CLASS = "they add in different orders, and the sums must keep NumPy's"
    DEVICE = "they live on different devices"
    UNSUPPORTED = "the backend has no code for the operation on this dtype"
    SCAN = "a scan walks one axis in order and is stored before it is read"
    BARRIER = "a barrier stands between them"
    DISABLED = "fusion is switched off"


class Refusal(NamedTuple):
    """Two stored results that were not put in one kernel, and why."""

    producer: Node
    consumer: Node
    why: WhyNot
    detail: str = ""


class Operand(NamedTuple):
    """An argument of a launch: its slot, stride per kernel axis and offset, in elements."""

    slot: int
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, eq=False)
class Launch:
    """Run a kernel. `allocates` are (slot, bytes);
    `donors` maps an allocated slot to a slot whose buffer it may take.

    `nodes` are the operations inside, operands first, for explain;
    `calls` computes each output without the kernel. `bound` is the executor's place for what it
    makes of the step once.
    """

    kernel: Kernel
    name: str
    extents: tuple[int, ...]
    operands: tuple[Operand, ...]
    scalars: tuple[ScalarSlot, ...]
    allocates: tuple[tuple[int, int], ...]
    donors: tuple[tuple[int, int], ...]
    stores: Sequence[tuple[int, Node]]
    nodes: Sequence[Node]
    calls: Sequence[Call]
    bytes_read: int
    bytes_written: int
    frees: tuple[int, ...] = ()
    bound: list[Any] = field(default_factory=lambda: [None], repr=False)

    def scalars_of(self, constants: Sequence[Any]) -> list[Any]:
        """The values of the scalars, where the graph's Consts have these."""
        return [constants[item] if kind == "const" else item for kind, item in self.scalars]


@dataclass(frozen=True)
class Renew:
    """Make slot `target` hold a version of `base` that may be written.

    The same buffer when nobody else needs it and `in_place` allows it, else new memory with a copy
    of the elements at `kept`: those of the base that the write leaves as they are. `base` is None
    where there are none. `base_dies`: no step after the launch that writes reads the base. The
    node that writes is alone in `writes`.
    """

    target: int
    base: int | None
    nbytes: int
    in_place: bool
    kept: tuple[Layout, ...]
    writes: Sequence[Node]
    dtype: str
    base_dies: bool = False
    frees: tuple[int, ...] = ()

    @property
    def node(self) -> Node:
        return self.writes[0]

    @cached_property
    def kept_bytes(self) -> int:
        """How much is copied into new memory."""
        return sum(size_of(part.shape) for part in self.kept) * int(self.dtype[1:])


@dataclass(frozen=True)
class Call:
    """Run a node op by op through NumPy:
    an Opaque node, or any node that the backend cannot spell.

    `reads` are the nodes in memory that it needs, with their slots;
    `scalars` its Consts, with their numbers. `bound` as in Launch.
    """

    node: Node
    reads: tuple[tuple[Node, int], ...]
    scalars: tuple[tuple[Node, int], ...]
    target: int
    why: WhyNot
    frees: tuple[int, ...] = ()
    bound: list[Any] = field(default_factory=lambda: [None], repr=False, compare=False)


Step: TypeAlias = Launch | Renew | Call


@dataclass(frozen=True, eq=False)
class Wave:
    """Renewals and launches, in turn, up to step `last`, that may run together, band by band of
    the rows of their first axis (`runtime/waves.py`).

    lags: rows by which each launch stays behind. rooms: the number of the memory that each result
    takes. sources: for each such memory the slot of the array that is copied to it, but for the
    region that is written, and whether it is that slot's own if that may be reused. row_bytes:
    what a row of all that is touched takes. `bound` as in Launch.
    """

    last: int
    lags: tuple[int, ...]
    rooms: tuple[int, ...]
    sources: tuple[tuple[int, bool], ...]
    row_bytes: int
    bound: list[Any] = field(default_factory=lambda: [None], repr=False)


@dataclass(frozen=True)
class Plan:
    """`leaves` slots are bound before the run; `outputs` are read after it.
    `stored` gives each slot's node. `waves` by their first steps. Leaves of up to `kept_bytes`
    bytes are not overwritten, also when they are dead: their values tell which operation met a
    floating point condition."""

    leaves: int
    slots: Sequence[Node]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    refusals: Sequence[Refusal] = ()
    waves: Mapping[int, Wave] = field(default_factory=dict)
    kept_bytes: int = 0
    seconds: float = field(default=0.0, compare=False)

    @property
    def kernels(self) -> int:
        return sum(isinstance(step, Launch) for step in self.steps)
