"""Common subexpressions: equal operations on the same operands become one node.

    n2 = add f8[4] n0 n1                     n2 = add f8[4] n0 n1
    n3 = add f8[4] n0 n1           ->        n4 = multiply f8[4] n2 n2
    n4 = multiply f8[4] n2 n3

Scalars are told apart by identity, not by value: their values are not part of a plan, unless they
follow from shapes. (Those whose values are one object are one node by then: see `Const.identity`.)
"""

from __future__ import annotations

from lazyfuse.ir.graph import Graph, is_leaf, rebuilt
from lazyfuse.ir.node import Const, Node


def dedup(graph: Graph) -> Graph:
    """Merge equal nodes."""
    seen: dict[tuple[object, ...], Node] = {}

    def merge(node: Node, srcs: tuple[Node, ...]) -> Node:
        if is_leaf(node) and not (isinstance(node, Const) and node.from_shape):
            return node
        return seen.setdefault((node.signature, srcs), rebuilt(node, srcs))

    return graph.rewrite(merge, merges=True)
