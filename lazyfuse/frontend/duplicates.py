"""Elements that a key picks several times, written on a device that writes in any order.

    x[[1, 1, 2]] = [5, 6, 7]      becomes      x[[1, 1, 2]] = [6, 6, 7]

NumPy keeps the last value. A CPU kernel writes in order; the threads of a GPU do not, so there
every write of an element gets the value of its last one.
"""

from __future__ import annotations

import numpy as np

from lazyfuse.frontend.convert import source
from lazyfuse.frontend.handle import new
from lazyfuse.frontend.memory import look
from lazyfuse.ir.interp import places
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Map, Node
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.ops.table import OPS
from lazyfuse.runtime import session


def last_values(layout: Layout, value: Node, index: Node, device: str) -> tuple[Node, Node]:
    """The value of a write at `layout` moved by `index`, and the index, such that the order of
    writes does not matter."""
    if session.backend(device).exact_order:
        return value, index
    computed = new(_dense(index, index.shape), device)
    offsets = look(computed, np.copy)
    found, which = np.unique(places(layout, offsets), return_inverse=True)
    size = size_of(layout.shape)
    if found.size == size:
        return value, computed._read()
    last = np.empty(found.size, np.int64)
    last[which.ravel()] = np.arange(size)
    winners = source(last[which].reshape(layout.shape), device)
    chosen = Gather(
        _dense(value, layout.shape),
        Layout(layout.shape, (0,) * len(layout.shape), 0),
        winners,
        reach=(0, size - 1),
        strides=c_strides(layout.shape),
    )
    return chosen, computed._read()


def _dense(node: Node, shape: Shape) -> Map:
    """A copy in C order, broadcast to a shape."""
    return Map(OPS["astype"], (node.dtype,), node.dtype, shape, c_strides(shape), (node,))
