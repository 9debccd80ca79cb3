"""Apart: small parts of memory that a write changes while its value reads them become copies.

    n1 = view f8[699,1] n0                   n1 = view f8[699,1] n0
    n2 = multiply f8[699,700] n1 ...   ->    n2 = astype f8[699,1] n1
    n3 = update f8[700,700] n0 n2            n3 = multiply f8[699,700] n2 ...
                                             n4 = update f8[700,700] n0 n3

The scheduler stores those, so that the write changes the memory in place (`ir/torn.py`).
"""

from __future__ import annotations

from lazyfuse.ir.graph import Graph, memory_of, rebuilt
from lazyfuse.ir.node import Map, Node, Update
from lazyfuse.ir.order import copy_strides
from lazyfuse.ir.torn import small_reads
from lazyfuse.ops.table import OPS


def apart(graph: Graph) -> Graph:
    """Copy what is read as it is; operations on it can be stored themselves."""
    wanted = {
        node
        for write in graph.nodes
        if isinstance(write, Update) and write.buffer is None
        for node in small_reads(write)
        if memory_of(node) is write.srcs[0]
    }
    if not wanted:
        return graph
    copies: dict[Node, Node] = {}

    def read(node: Node, srcs: tuple[Node, ...]) -> Node:
        if isinstance(node, Map) and node.buffer is None:
            pairs = zip(node.srcs, srcs, strict=True)
            srcs = tuple([copies.get(old, new) for old, new in pairs])
        made = rebuilt(node, srcs)
        if node in wanted:
            strides = copy_strides(made.shape, made.strides)
            copy = Map(OPS["astype"], (made.dtype,), made.dtype, made.shape, strides, (made,))
            copy.origin = made.origin
            copies[node] = copy
        return made

    return graph.rewrite(read)
