"""Runs: a pairwise sum over several axes as one needs memory that can be walked as one loop.

    n1 = view f8[9,1000] n0                  n1 = view f8[9,1000] n0
    n2 = reduce.add[0,1] f8[] n1    ->       n2 = astype f8[9,1000] n1        (a dense copy)
                                             n3 = reduce.add[0,1] f8[] n2

NumPy does the same: it copies such rows into a buffer and sums the buffer as one run.
"""

from __future__ import annotations

from lazyfuse.ir.graph import Graph, is_leaf, rebuilt
from lazyfuse.ir.group import collapses
from lazyfuse.ir.node import Map, Node, Reduce, View
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import OPS


def runs(graph: Graph) -> Graph:
    """Put a dense copy under every sum whose run would jump in memory."""
    if not any(isinstance(node, Reduce) for node in graph.nodes):
        return graph

    def insert(node: Node, srcs: tuple[Node, ...]) -> Node:
        node = rebuilt(node, srcs)
        if not isinstance(node, Reduce) or node.buffer is not None or not _jumps(node):
            return node
        return node.with_srcs((_dense_copy(node), *node.srcs[1:]))

    return graph.rewrite(insert)


def _jumps(node: Reduce) -> bool:
    src = node.srcs[0]
    if node.op.fold != "add" or node.accumulate[0] not in "fc" or node.order.run_axes < 2:
        return False
    if size_of(src.shape) == 0 or (not is_leaf(src) and not isinstance(src, View)):
        return False
    return not collapses([src.strides], src.shape, node.order.axes[-node.order.run_axes :])


def _dense_copy(node: Reduce) -> Map:
    """The operand in dense memory whose fastest axes are the run."""
    src = node.srcs[0]
    fast = [*node.order.axes]
    slow = [axis for axis in range(len(src.shape)) if axis not in fast]
    strides = [0] * len(src.shape)
    step = 1
    for axis in reversed([*slow, *fast]):
        strides[axis] = step
        step *= max(src.shape[axis], 1)
    assert step == max(size_of(src.shape), 1)
    copy = Map(OPS["astype"], (src.dtype,), src.dtype, src.shape, tuple(strides), (src,))
    copy.origin = node.origin
    return copy
