"""Arrays that a loop writes or reads piece by piece.

Each write of a few elements that is recorded takes as long as ten that NumPy does where the
elements lie. So after some in a row the array is computed, and those that follow are done at
once; after the write of the interior of a grid, where an edge of it is next.
Machine code asks before it records more of them (`is_loop` of `record_operators_text.py`).
Zeros, ones and ranges are written out when a part of them is wanted, which would be computed by
itself each time.
"""

from __future__ import annotations

from typing import Any

from lazyfuse.frontend.convert import eager_size
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.memory import MANY, give_zeros, is_filled, look
from lazyfuse.frontend.shortcuts import FEW
from lazyfuse.ir.node import Node, Update
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import under_way
from lazyfuse.runtime.budget import PIECES

#: Recorded writes in a row after which an array is computed: of few elements, and of more.
_IN_A_ROW, MANY_IN_A_ROW = 4, 8
#: Edges, at least, of which an array consists, as a grid of so many rows does.
_EDGES = 64


def is_written_piecewise(array: Any, size: int) -> bool:
    """Whether the last operations on an array are writes of small parts of it, as in a loop in
    which a part of `size` elements is written next."""
    if array._host is not None or array._storage.device != "cpu":
        return False
    node = array._storage.node
    most = size_of(node.shape) // PIECES
    if size > FEW and size > min(most, eager_size()):
        return False
    if size <= _edge(node) and _is_interior(node) and not node.users:
        return True  # others that read it, as fields do that step in turn, would compute it again
    for _ in range(_IN_A_ROW if size <= FEW else MANY_IN_A_ROW):
        srcs = node.srcs  # asked once: another thread may compute meanwhile
        if not isinstance(node, Update) or not srcs:
            return False
        if len(srcs) == 2 and size_of(node.layout.shape) > max(most, FEW):
            return False
        node = srcs[0]
    return True


def is_touched(node: Node) -> bool:
    """Whether a pending value is one of memory but for a few elements: a loop that reads elements
    between its writes, of which few follow each other. It has memory of its own once it is
    computed, in which they are written at once."""
    for _ in range(_IN_A_ROW):
        srcs = node.srcs  # asked once: another thread may compute meanwhile
        if not isinstance(node, Update) or len(srcs) != 2 or size_of(node.layout.shape) > FEW:
            return False
        node = srcs[0]
        if node.buffer is not None:
            return True
    return False


def _is_interior(node: Node) -> bool:
    """Whether a large part of an array is a pending write."""
    srcs = node.srcs
    is_region = isinstance(node, Update) and len(srcs) == 2
    return is_region and size_of(node.layout.shape) > size_of(node.shape) // PIECES  # type: ignore[attr-defined]  # of an Update


def _edge(node: Node) -> int:
    """How many elements the edge of an array may have; 0 where nothing is to happen at once."""
    at_once = eager_size()
    return min(at_once, max(FEW, size_of(node.shape) // _EDGES))


def compute(*values: Any) -> None:
    """Compute those that are arrays, and give nothing away."""
    for each in values:
        if isinstance(each, Handle):
            look(each, lambda values: None)


def write_out(array: Any, size: int | None = None) -> None:
    """Have such an array written where fewer elements are wanted than it has, the array itself or
    `size` of its elements, unless a recording has to see what is done to it.
    Raises: MemoryError."""
    if is_filled(array):
        wanted = size_of(array._layout.shape) if size is None else size
        total = size_of(array._storage.node.shape)
        if wanted >= total or under_way.is_recording():
            return
        give_zeros(array)
        if total <= MANY:
            compute(array)
