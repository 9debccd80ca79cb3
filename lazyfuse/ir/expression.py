"""Expressions: what a kernel computes for one stored result, as pairs of a node and how it is indexed.

Walking from a result down to memory, every operand is met under an index map: an affine map from the axes of the
iteration space to the operand's axes. Views dissolve into the maps. Two meetings with equal maps are one computation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from lazyfuse.ir.graph import is_leaf
from lazyfuse.ir.layout import IndexMap, access, broadcast_map, compose, index_map
from lazyfuse.ir.node import Const, Fill, Node, View


class Term(NamedTuple):
    """A node where it is indexed by `map`."""

    node: Node
    map: IndexMap


class Read(NamedTuple):
    """Memory of `node` (a leaf or a stored result) read with these strides per axis of the space.

    `map` indexes the node's own axes; None when the view through which it is read is not affine in them.
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


class Expression:
    """`terms` in an order in which operands come first; `operands[term]` are a term's operands, Terms or Reads."""

    __slots__ = ("terms", "operands", "roots")

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.operands: dict[Term, tuple[Term | Read, ...]] = {}
        self.roots: list[Term | Read] = []

    @property
    def reads(self) -> list[Read]:
        """Each distinct read, in order of first use."""
        seen: dict[Read, None] = {}
        for term in self.terms:
            for operand in self.operands[term]:
                if isinstance(operand, Read):
                    seen[operand] = None
        for root in self.roots:
            if isinstance(root, Read):
                seen[root] = None
        return list(seen)


def walk(
    roots: Iterable[Term], axes: int, stored: Collection[Node], inline: Collection[Node] = ()
) -> Expression:
    """The expression of `roots` over a space of `axes` axes.

    Nodes in `stored` and leaves are read from memory, except those in `inline`, which are computed in place (their
    results are at hand in the same kernel). Raises NotAffineError when a view of an unstored node cannot dissolve.
    """
    expression = Expression()

    def is_memory(node: Node) -> bool:
        return (
            node not in inline
            and (is_leaf(node) or node in stored)
            and not isinstance(node, Const)
        )

    stack: list[tuple[Term, bool]] = []
    for root in roots:
        resolved = _resolve(root, axes, is_memory)
        expression.roots.append(resolved)
        if isinstance(resolved, Term):
            stack.append((resolved, False))
    stack.reverse()
    while stack:
        term, done = stack.pop()
        if done:
            expression.terms.append(term)
        elif term not in expression.operands:
            expression.operands[term] = operands = _operands(term, axes, is_memory)
            stack.append((term, True))
            stack.extend(
                (operand, False) for operand in reversed(operands) if isinstance(operand, Term)
            )
    return expression


def _operands(term: Term, axes: int, is_memory) -> tuple[Term | Read, ...]:  # type: ignore[no-untyped-def]
    node = term.node
    if node.kind == "reduce" or isinstance(node, Fill):
        return ()
    return tuple(
        _resolve(Term(src, broadcast_map(term.map, src.shape, node.shape)), axes, is_memory)
        for src in node.srcs
    )


def _resolve(term: Term, axes: int, is_memory) -> Term | Read:  # type: ignore[no-untyped-def]
    node, outer = term
    while isinstance(node, View):
        src = node.srcs[0]
        inner = index_map(node.layout, src.shape, src.strides)
        if is_memory(src):
            strides, offset = access(outer, node.layout.strides, axes)
            through = None if inner is None else compose(inner, outer)
            return Read(src, strides, offset + node.layout.offset, through)
        if inner is None:
            raise NotAffineError(src)
        node, outer = src, compose(inner, outer)
    if is_memory(node):
        strides, offset = access(outer, node.strides, axes)
        return Read(node, strides, offset, outer)
    return Term(node, outer)
