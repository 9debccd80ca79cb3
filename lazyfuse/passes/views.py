"""Views: compose views of views, and move reshapes above elementwise operations.

    n2 = add f8[2,3] n0 n1                   n2 = view f8[6] n0
    n3 = view f8[6] n2             ->        n3 = view f8[6] n1
                                             n4 = add f8[6] n2 n3

A reshape that merges axes is not affine in them, so the operation under it could not be fused with
what follows; when all its operands are contiguous they can be reshaped instead. Only for
operations that nothing else reads.
"""

from __future__ import annotations

from lazyfuse.ir.graph import Graph, is_leaf, rebuilt
from lazyfuse.ir.layout import Layout, index_map
from lazyfuse.ir.node import Const, Map, Node, View
from lazyfuse.ir.order import c_strides, is_contiguous
from lazyfuse.ops.shapes import Shape, size_of


def views(graph: Graph) -> Graph:
    """Compose and move views."""
    if not any(isinstance(node, View) for node in graph.nodes):
        return graph
    users = graph.users()
    outputs = set(graph.outputs)

    def move(node: Node, srcs: tuple[Node, ...]) -> Node:
        shared = isinstance(node, View) and (
            len(users[node.srcs[0]]) > 1 or node.srcs[0] in outputs
        )
        node = rebuilt(node, srcs)
        if not isinstance(node, View) or node.buffer is not None:
            return node
        src = node.srcs[0]
        if isinstance(src, View) and src.buffer is None:
            return View(src.srcs[0], node.layout)
        if not shared and _merges_axes(node):
            return _reshape_operands(src, node.shape)
        return node

    return graph.rewrite(move)


def _merges_axes(view: View) -> bool:
    src = view.srcs[0]
    return (
        is_whole(view.layout, src)
        and not is_leaf(src)
        and index_map(view.layout, src.shape, src.strides) is None
        and _can_reshape(src)
    )


def is_whole(layout: Layout, src: Node) -> bool:
    """Whether a view is a C-order reshape of a C-contiguous source."""
    return (
        layout.offset == 0
        and size_of(layout.shape) == size_of(src.shape)
        and is_contiguous(layout.shape, layout.strides)
        and is_contiguous(src.shape, src.strides)
    )


def _can_reshape(src: Node) -> bool:
    """Whether every operand of an elementwise node is a scalar or a C-contiguous array of its
    shape."""
    return isinstance(src, Map) and all(
        isinstance(operand, Const)
        or (
            operand.shape == src.shape
            and is_contiguous(operand.shape, operand.strides)
            and _owns(operand)
        )
        for operand in src.srcs
    )


def _owns(node: Node) -> bool:
    """Whether a node has memory of its own: a view of a view is one view."""
    return not isinstance(node, View) or node.buffer is not None


def _reshape_operands(src: Node, shape: Shape) -> Node:
    assert isinstance(src, Map)
    layout = Layout(shape, c_strides(shape), 0)
    operands = tuple(
        operand if isinstance(operand, Const) else View(operand, layout) for operand in src.srcs
    )
    moved = Map(src.op, src.loop, src.dtype, shape, c_strides(shape), operands)
    moved.origin = src.origin
    return moved
