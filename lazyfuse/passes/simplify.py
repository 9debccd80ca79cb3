"""Rewrites that never change a bit: each rule says why it is exact.

    n1 = positive f8[4] n0                   n2 = negative f8[4] n0
    n2 = negative f8[4] n1         ->

A rule may look at structure and dtypes only; values of scalars are not part of a plan.
x*0, x-x and x/x are not rules: NaN and infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lazyfuse.ir.graph import Graph, rebuilt
from lazyfuse.ir.node import Const, Map, Node, View


class Rule(NamedTuple):
    """`apply` gives a simpler node or None."""

    name: str
    why_exact: str
    apply: Callable[[Map], Node | None]


def _same_value(node: Map) -> Node | None:
    """astype to the dtype it has, +x: the operand itself, when it lies in memory as the result
    would."""
    src = node.srcs[0]
    same = (src.dtype, src.shape, src.strides) == (node.dtype, node.shape, node.strides)
    owns_memory = not isinstance(src, View | Const)  # what stands on this node may be written
    return src if node.op.name in ("astype", "positive") and same and owns_memory else None


def _inverse_pair(node: Map) -> Node | None:
    src = node.srcs[0]
    if (
        node.op.name not in _INVOLUTIONS
        or not isinstance(src, Map)
        or src.op is not node.op
        or not src.srcs
    ):
        return None
    below = src.srcs[0]
    same = (below.dtype, below.shape, below.strides) == (node.dtype, node.shape, node.strides)
    return below if same and not isinstance(below, View | Const) else None


_INVOLUTIONS = ("negative", "invert", "logical_not", "conjugate")

#: Operations at which a rule can begin.
_REWRITTEN = frozenset({"astype", "positive", *_INVOLUTIONS})

RULES: tuple[Rule, ...] = (
    Rule("same_value", "no operation happens", _same_value),
    Rule(
        "inverse_pair",
        "flips the same bits twice; logical_not only on bool operands",
        _inverse_pair,
    ),
)


def simplify(graph: Graph) -> Graph:
    """Apply the rules bottom up, each node once."""
    if not any(isinstance(node, Map) and node.op.name in _REWRITTEN for node in graph.nodes):
        return graph
    outputs = set(graph.outputs)

    def apply(node: Node, srcs: tuple[Node, ...]) -> Node:
        is_output = node in outputs  # an output needs memory of its own
        node = rebuilt(node, srcs)
        if isinstance(node, Map) and node.srcs and node.buffer is None and not is_output:
            for rule in RULES:
                simpler = rule.apply(node)
                if simpler is not None:
                    return simpler
        return node

    return graph.rewrite(apply)
