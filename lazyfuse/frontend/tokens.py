"""Names for Dask."""

from __future__ import annotations

from typing import Any

from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Const, Fill, Map, Node, Reduce, Source, Update, View
from lazyfuse.runtime import engine, session

#: Node kinds whose signature says all about them.
_PLAIN = (Source, Const, Fill, Map, Reduce, Update, View)


def dask_tokenize(self: Any) -> tuple[object, ...]:
    """What Dask hashes to name the array: its recorded operations and the values under them.
    Computes only what is not plain operations (library calls)."""
    with session.flush_lock:
        root = self._storage.node
        graph = Graph([root])
        if not all(node.buffer is not None or type(node) in _PLAIN for node in graph.nodes):
            engine.flush([root], self._storage.device)
            graph = Graph([root])
        number = {node: place for place, node in enumerate(graph.nodes)}
        lines = [_line(node, number, self._storage.device) for node in graph.nodes]
    return ("lazyfuse", self._code, tuple(self._layout), *lines)


def _line(node: Node, number: dict[Node, int], device: str) -> tuple[object, ...]:
    """One node: its memory, or its operation and operands."""
    if node.buffer is not None:
        flat = session.backend(device).to_host(node.buffer)
        return (node.shape, node.dtype, node.strides, flat[: node.nbytes])
    value = repr(node.value) if isinstance(node, Const) else ""
    return (repr(node.signature), value, *(number[src] for src in node.srcs))
