"""Writes whose value reads the memory that they change.

    x[1:] += x[:-1]        the value is stored first, then written: x changes in place

Executed as it stands, the kernel would read elements that it has changed already. Small parts of
the value that read them are stored first, or all of it where the write is of a part of the array
(`ir/torn.py`); other writes go into new memory, into which the planner has the rest copied.
`p[0] = p[1]` and `x[::2] += x[1::2]` read what they do not write: they change the memory in place.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyfuse.ir.expression import Expression, Read, Term
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Node, Update, View
from lazyfuse.ir.region import are_apart
from lazyfuse.ir.torn import stored_first
from lazyfuse.schedule.fusion import Limits, join_alone


def torn_values(stored: dict[Node, None], limits: Limits) -> set[Node]:
    """Values of writes that read the memory they are written to at other places, or small parts of
    them, where storing these first costs less than a copy of the memory."""
    found: set[Node] = set()
    for root in stored:
        if isinstance(root, Update):
            first = {node for node in stored_first(root) if not isinstance(node, View)}
            if first - stored.keys() and reads_elsewhere(
                root, join_alone(root, stored, limits).expression
            ):
                found |= first
    return found


def reads_elsewhere(root: Update, expression: Expression) -> bool:
    """Whether the kernel of a write would read elements of the memory that it has changed already:
    safe are reads of the place that is written next, by the index by which it is written, and of
    places that are never written."""
    base, index = root.srcs[0], expression.roots[1] if root.index is not None else None
    own = [(read, moved) for read, moved in _reads(expression) if read.node is base]
    if own and index is not None and not root.unique:
        return True
    return not all(
        _is_here(root, read) and moved == index or index is moved is None and _is_apart(root, read)
        for read, moved in own
    )


def _reads(expression: Expression) -> Iterator[tuple[Read, Term | Read | None]]:
    """Each read with the index that moves it, if any does."""
    pairs: list[tuple[Term | Read, Term | Read | None]]
    pairs = [(operand, None) for operand in expression.roots]
    for term in expression.terms:
        operands = expression.operands[term]
        if isinstance(term.node, Gather):
            pairs += [(operands[0], operands[1]), (operands[1], None)]
        else:
            pairs += [(operand, None) for operand in operands]
    return ((read, moved) for read, moved in pairs if isinstance(read, Read))


def _is_here(root: Update, read: Read) -> bool:
    """Whether a read without its index is where the write without its index is."""
    moving = [axis for axis, extent in enumerate(root.layout.shape) if extent > 1]
    same = all(read.strides[axis] == root.layout.strides[axis] for axis in moving)
    return same and read.offset == root.layout.offset


def _is_apart(root: Update, read: Read) -> bool:
    """Whether a read meets nothing that is written."""
    place = Layout(root.layout.shape, read.strides, read.offset)
    return are_apart(place, root.layout, root.shape, root.strides)
