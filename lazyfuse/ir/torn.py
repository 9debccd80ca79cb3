"""What the value of a write reads of the memory that the write changes, at other places.

    m[1:] -= m[1:, :1] * m[:1]         the first column is changed while all columns read it

Where all of that is small beside what is written, it is set apart: stored first, by kernels of its
own, so that the write changes the memory in place.
"""

from __future__ import annotations

from enum import Enum

from lazyfuse.ir.graph import is_leaf, memory_of, topological
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Map, Node, Update, View
from lazyfuse.ir.region import are_apart
from lazyfuse.ops.shapes import size_of

#: How many times as large as what is set apart a write is, at least.
LARGER = 8
#: Elements of a write from which a kernel more costs less than to copy the memory: 32 KB.
LEAST = 1 << 12
#: Nodes of a value that are looked at.
_MOST_WALKED = 256


def stored_first(write: Update) -> list[Node]:
    """What has to be stored before a write whose value reads what it changes, so that it is done
    in place: small parts of the value, or all of it where the write is of a part of the memory.
    None of them where that is not known or not worth it; the memory is copied then."""
    small, value = small_reads(write), write.srcs[1]
    if small or 2 * size_of(write.layout.shape) > size_of(write.shape):
        return small
    return [] if is_leaf(value) or isinstance(value, View) else [value]


def small_reads(write: Update) -> list[Node]:
    """The operations that are to be stored, and the views of the memory as the value has them, of
    which copies are; none where the value reads nothing that is changed, or more than small parts
    of it."""
    if write.index is not None or size_of(write.layout.shape) < LEAST:
        return []
    found: dict[Node, None] = {}
    stack = [(write.srcs[1], write.srcs[1].shape == write.layout.shape)]
    seen = set(stack)
    while stack:
        node, is_here = stack.pop()
        own, part = memory_of(node), _part(node, write, is_here=is_here)
        if part is _Part.ALL or len(seen) > _MOST_WALKED:
            return []
        if part is _Part.SMALL:
            found[node if own is write.srcs[0] else own] = None
        if part is _Part.INSIDE:
            is_straight = is_here and node is own
            items = [(src, is_straight and src.shape == own.shape) for src in own.srcs]
            stack += [item for item in dict.fromkeys(items) if item not in seen]
            seen.update(items)
    return [*found]


class _Part(Enum):
    """What an operand reads of what is changed: nothing, parts that are small or are not, or what
    its own operands do."""

    NONE, SMALL, ALL, INSIDE = range(4)


def _part(node: Node, write: Update, *, is_here: bool) -> _Part:
    """What an operand reads; `is_here`: each of its elements for that of the region alone."""
    base, own = write.srcs[0], memory_of(node)
    if own is base:
        if is_here and _place(node) == write.layout or _is_apart(node, write):
            return _Part.NONE
    elif is_leaf(own) or not isinstance(own, Map | Gather):
        return _Part.NONE  # of a kernel of its own, if any
    if LARGER * size_of(node.shape) <= size_of(write.layout.shape):
        is_read = own is base or base in topological([own], stop=(base,))
        return _Part.SMALL if is_read else _Part.NONE
    return _Part.ALL if own is base or isinstance(own, Gather) else _Part.INSIDE


def _place(node: Node) -> Layout:
    """Where the elements lie in the memory that holds them."""
    if isinstance(node, View) and node.buffer is None:
        return node.layout
    return Layout(node.shape, node.strides, 0)


def _is_apart(node: Node, write: Update) -> bool:
    return are_apart(_place(node), write.layout, write.shape, write.strides)
