"""Groups: stored results that one kernel computes, over one iteration space."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from lazyfuse.ir.expression import Expression, Term
from lazyfuse.ir.layout import Affine, IndexMap, broadcast_map, identity
from lazyfuse.ir.node import Node, Reduce, Scan, Update
from lazyfuse.ir.order import ReductionOrder
from lazyfuse.ir.plan import WhyNot
from lazyfuse.ops.shapes import Shape


class Level(Enum):
    """Whether a result has one element per index of the space, or one per kept index."""

    INNER = "inner"
    OUTER = "outer"


@dataclass(eq=False)
class Group:
    """Results computed together.

    shape: the full iteration space. axes: those that its reductions fold; empty when it has none.
    roots: the results in topological order, with their level; a Reduce has level OUTER.
    order: how NumPy walks the reduced axes, equal for all reductions of the group.
    phases: of each reduction and INNER result, the inner phase that computes it: one more than the
    last reduction that it reads. reads: memory that its results need. terms: everything computed
    inside, results included.
    nodes: the operations among them. accesses: strides per axis of everything read and stored.
    expressions: what is computed for each result, results before it in place.
    """

    shape: Shape
    axes: frozenset[int] = frozenset()
    roots: dict[Node, Level] = field(default_factory=dict)
    order: ReductionOrder | None = None
    phases: dict[Node, int] = field(default_factory=dict)
    reads: set[Node] = field(default_factory=set)
    terms: set[Term] = field(default_factory=set)
    nodes: set[Node] = field(default_factory=set)
    accesses: set[tuple[int, ...]] = field(default_factory=set)
    expressions: dict[Node, Expression] = field(default_factory=dict)

    @property
    def reductions(self) -> list[Reduce]:
        return [root for root in self.roots if isinstance(root, Reduce)]

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.axes)

    @property
    def operations(self) -> list[Node]:
        """The operations that the body holds, as often as it does; scalars are arguments."""
        return [term.node for term in self.terms if term.node in self.nodes]

    def map_of(self, root: Node) -> IndexMap:
        """How the space's axes index the result `root`."""
        return result_map(root.shape, self.roots[root], self.shape, self.axes)


def outer_shapes(shape: Shape, axes: frozenset[int]) -> tuple[Shape, Shape]:
    """The shapes of a per-kept-index result: without and with the reduced axes."""
    without = tuple(extent for axis, extent in enumerate(shape) if axis not in axes)
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return without, kept


def result_map(result: Shape, level: Level, shape: Shape, axes: frozenset[int]) -> IndexMap:
    """How the axes of a space index a result of one of its levels."""
    if level is Level.INNER or len(result) == len(shape):
        whole = identity(shape)
        if level is Level.INNER:
            return whole
        return tuple(Affine(0) if axis in axes else whole[axis] for axis in range(len(shape)))
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    return tuple(Affine(0, ((axis, 1),)) if shape[axis] != 1 else Affine(0) for axis in kept)


def home(root: Node) -> tuple[Shape, frozenset[int]]:
    """The space in which a result is computed by itself, and the axes that it folds or scans."""
    if isinstance(root, Reduce):
        return root.srcs[0].shape, frozenset(root.axes)
    if isinstance(root, Scan):
        return root.shape, frozenset((root.axis,))
    return (root.layout.shape if isinstance(root, Update) else root.shape), frozenset()


def place_in_space(root: Node, group: Group) -> tuple[Shape, frozenset[int], Level] | WhyNot:
    """In which space, with which folded axes and at which level a result would be computed in a
    group; or why it cannot be."""
    shape, axes = home(root)
    if isinstance(root, Reduce):
        if shape != group.shape:
            return WhyNot.DIFFERENT_SPACE
        if group.axes and group.axes != axes:
            return WhyNot.MIXED_OUTPUT_SPACES
        return shape, axes, Level.OUTER
    if shape == group.shape:
        return shape, group.axes, Level.INNER
    if group.axes and shape in outer_shapes(group.shape, group.axes):
        return group.shape, group.axes, Level.OUTER
    return WhyNot.DIFFERENT_SPACE


def body_terms(root: Node, level: Level, shape: Shape, axes: frozenset[int]) -> list[Term]:
    """What is evaluated for a result: the folded or scanned operand, the written value (and the
    index that moves it), or the result itself."""
    if isinstance(root, Reduce | Scan):
        return [Term(root.srcs[0], identity(shape))]
    if isinstance(root, Update):
        whole = identity(shape)
        return [Term(src, broadcast_map(whole, src.shape, shape)) for src in root.srcs[1:]]
    return [Term(root, result_map(root.shape, level, shape, axes))]


def collapses(accesses: list[tuple[int, ...]], shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether `axes` (slowest first) can be walked as one loop:
    every access moves on by whole lower axes."""
    return all(
        strides[slow] == strides[fast] * shape[fast]
        for strides in accesses
        for slow, fast in zip(axes, axes[1:], strict=False)
    )
