"""Writes whose value reads the memory that they change.

    x[1:] += x[:-1]        the value is stored first, then written: x changes in place

Executed as it stands, the kernel would read elements that it has changed already. A write of a
small part stores its value first; a write of most of the array goes into new memory instead, which
the planner sees to.
"""

from __future__ import annotations

from lazyfuse.ir.expression import Expression, Read, Term
from lazyfuse.ir.graph import is_leaf
from lazyfuse.ir.node import Gather, Node, Update, View
from lazyfuse.ops.shapes import size_of
from lazyfuse.schedule.fusion import Limits, join_alone
from lazyfuse.schedule.stores import memory_of


def torn_values(stored: dict[Node, None], limits: Limits) -> set[Node]:
    """Values of writes that read the memory they are written to at other places, where storing
    the value first costs less than a copy of the memory."""
    found: set[Node] = set()
    for root in stored:
        if not isinstance(root, Update) or 2 * size_of(root.layout.shape) > size_of(root.shape):
            continue
        value = memory_of(root.srcs[1])
        if value in stored or is_leaf(value) or isinstance(root.srcs[1], View):
            continue
        if _reads_elsewhere(root, join_alone(root, stored, limits).expression):
            found.add(value)
    return found


def _reads_elsewhere(root: Update, expression: Expression) -> bool:
    """Whether the value of a write reads the memory that is written at other places than the one
    that is written next."""
    base, index = root.srcs[0], expression.roots[1] if root.index is not None else None
    moving = [axis for axis, extent in enumerate(root.layout.shape) if extent > 1]

    def is_here(read: Read, moved: Term | Read | None) -> bool:
        same = all(read.strides[axis] == root.layout.strides[axis] for axis in moving)
        return same and read.offset == root.layout.offset and moved == index

    pairs: list[tuple[Term | Read, Term | Read | None]] = [(expression.roots[0], None)]
    for term in expression.terms:
        operands = expression.operands[term]
        moved = operands[1] if isinstance(term.node, Gather) else None
        pairs += [(operand, moved) for operand in operands]
    reads = [(read, moved) for read, moved in pairs if isinstance(read, Read)]
    own = [(read, moved) for read, moved in reads if read.node is base]
    if own and index is not None and not root.unique:
        return True
    return not all(is_here(read, moved) for read, moved in own)
