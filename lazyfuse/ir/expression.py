"""Expressions: what a kernel computes for one stored result,
as pairs of a node and how it is indexed.

Walking from a result down to memory, every operand is met under an index map: an affine map from
the axes of the iteration space to the operand's axes. Views dissolve into the maps. Two meetings
with equal maps are one computation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from lazyfuse.ir.layout import IndexMap, access, broadcast_map, compose, index_map
from lazyfuse.ir.node import Const, Fill, Gather, Node, Reduce, View


class Term(NamedTuple):
    """A node where it is indexed by `map`."""

    node: Node
    map: IndexMap


class Read(NamedTuple):
    """Memory of `node` (a leaf or a stored result) read with these strides per axis of the space.

    `map` indexes the node's own axes; None when the view through which it is read is not affine in
    them.
    """

    node: Node
    strides: tuple[int, ...]
    offset: int
    map: IndexMap | None


class NotAffineError(Exception):
    """A view cannot be dissolved: the node under it has to be stored."""

    def __init__(self, node: Node) -> None:
        super().__init__(repr(node))
        self.node = node


class NotStoredError(NotAffineError):
    """A node is read through an index: all of it has to be stored."""


class Expression:
    """`terms` in an order in which operands come first;
    `operands[term]` are a term's operands, Terms or Reads."""

    def __init__(self, axes: int) -> None:
        self.axes = axes
        self.terms: list[Term] = []
        self.operands: dict[Term, tuple[Term | Read, ...]] = {}
        self.roots: list[Term | Read] = []

    @cached_property
    def reads(self) -> list[Read]:
        """Each distinct read, in order of first use; to be asked of a finished expression."""
        seen: dict[Read, None] = {}
        for term in self.terms:
            for operand in self.operands[term]:
                if isinstance(operand, Read):
                    seen[operand] = None
        for root in self.roots:
            if isinstance(root, Read):
                seen[root] = None
        return list(seen)

    @cached_property
    def counted(self) -> frozenset[int]:
        """The axes whose index is a value (`arange`): each is a loop of its own."""
        fills = [t for t in self.terms if isinstance(t.node, Fill) and len(t.node.srcs) > 1]
        return frozenset(axis for t in fills for affine in t.map for axis, _ in affine.terms)

    @cached_property
    def accesses(self) -> frozenset[tuple[int, ...]]:
        """Strides per axis of all that is read; a counted axis stands as a read along it alone."""
        counts = [tuple(int(axis == one) for axis in range(self.axes)) for one in self.counted]
        return frozenset([*(read.strides for read in self.reads), *counts])

    @cached_property
    def operations(self) -> frozenset[Node]:
        """The nodes that are computed; scalars are arguments."""
        return frozenset(term.node for term in self.terms if not isinstance(term.node, Const))


def walk(
    roots: Iterable[Term], axes: int, stored: Collection[Node], inline: Collection[Node] = ()
) -> Expression:
    """The expression of `roots` over a space of `axes` axes.

    Nodes in `stored` and leaves are read from memory, except those in `inline`, which are computed
    in place (their results are at hand in the same kernel). Raises NotAffineError when a view of
    an unstored node cannot dissolve.
    """
    expression = Expression(axes)
    walker = _Walker(axes, stored, inline)
    stack: list[tuple[Term, bool]] = []
    for root in roots:
        resolved = walker.resolve(root.node, root.map)
        expression.roots.append(resolved)
        if isinstance(resolved, Term):
            stack.append((resolved, False))
    stack.reverse()
    known, terms = expression.operands, expression.terms
    while stack:
        term, done = stack.pop()
        if done:
            terms.append(term)
        elif term not in known:
            known[term] = operands = walker.operands(term)
            stack.append((term, True))
            for operand in reversed(operands):
                if type(operand) is Term:
                    stack.append((operand, False))
    return expression


class _Walker:
    """Where a walk stops: at memory that is not computed in place."""

    __slots__ = ("axes", "stored", "inline")

    def __init__(self, axes: int, stored: Collection[Node], inline: Collection[Node]) -> None:
        self.axes, self.stored, self.inline = axes, stored, inline

    def is_memory(self, node: Node) -> bool:
        if node in self.inline or isinstance(node, Const):
            return False
        return node.buffer is not None or node in self.stored

    def operands(self, term: Term) -> tuple[Term | Read, ...]:
        node, outer = term
        if isinstance(node, Reduce | Fill):
            return ()
        shape = node.shape
        if isinstance(node, Gather):
            base, index = node.srcs
            moved = self.resolve(index, broadcast_map(outer, index.shape, shape))
            return self._indexed(node, base, outer), moved
        resolve, found = self.resolve, []
        for src in node.srcs:
            own = src.shape
            found.append(resolve(src, outer if own == shape else broadcast_map(outer, own, shape)))
        return tuple(found)

    def _indexed(self, node: Gather, base: Node, outer: IndexMap) -> Read:
        """The memory that a gather reads, where its index is 0."""
        if not self.is_memory(base):
            raise NotStoredError(base)
        strides, offset = access(outer, node.layout.strides, self.axes)
        return Read(base, strides, offset + node.layout.offset, None)

    def resolve(self, node: Node, outer: IndexMap) -> Term | Read:
        """Dissolve views until an operation or memory is met."""
        while isinstance(node, View):
            src = node.srcs[0]
            inner = index_map(node.layout, src.shape, src.strides)
            if self.is_memory(src):
                strides, offset = access(outer, node.layout.strides, self.axes)
                through = None if inner is None else compose(inner, outer)
                return Read(src, strides, offset + node.layout.offset, through)
            if inner is None:
                raise NotAffineError(src)
            node, outer = src, compose(inner, outer)
        if self.is_memory(node):
            strides, offset = access(outer, node.strides, self.axes)
            return Read(node, strides, offset, outer)
        return Term(node, outer)
