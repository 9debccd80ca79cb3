"""Fills under writes: what is written anyway is not filled before.

    n1 = fill f8[9,9]                        n1 = blank f8[9,9]
    n2 = update f8[9,9] n1 v       ->        n2 = update f8[9,9] n1 v     (where v is all of it)

`np.empty_like`, `np.zeros` and what NumPy builds from them (`roll`, `pad`, `concatenate`,
`gradient`) begin with a fill that later writes cover, altogether or but for a border; a border is
filled by writes of its own. Versions between may be read where they are written already.
"""

from __future__ import annotations

from lazyfuse.ir.blank import Blank
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Fill, Node, Update, View
from lazyfuse.ir.region import Box, are_apart, box_of, layout_of, whole, without
from lazyfuse.ops.shapes import size_of

#: Bytes of a fill from which it costs more than the launches that fill a border (perf/roofline.py:
#: 1 MB takes 50 us to write, a launch 5).
LARGE_FILL = 1 << 20
#: Boxes of a border that are worth it: an interior in three dimensions leaves six.
MOST_BOXES = 6
#: Boxes that are followed through writes.
MOST_FOLLOWED = 64


def fills(graph: Graph) -> Graph:
    """Fill only what no write covers."""
    if not any(isinstance(node, Update) for node in graph.nodes):
        return graph
    users = graph.users()
    outputs = set(graph.outputs)

    def fill(node: Node, srcs: tuple[Node, ...]) -> Node:
        if isinstance(node, Fill) and len(srcs) == 1 and node not in outputs:
            left = _uncovered(node, users, outputs)
            if not left or _is_border(left, node):
                return _filled(node, left, srcs[0])
        return node if srcs == node.srcs else node.with_srcs(srcs)

    return graph.rewrite(fill)


def _uncovered(fill: Fill, users: dict[Node, list[Node]], outputs: set[Node]) -> list[Box]:
    """What remains to be seen of a fill after the writes that follow it."""
    left = [whole(fill.shape)]
    version: Node = fill
    while left and len(left) <= MOST_FOLLOWED:
        writes = [user for user in users[version] if isinstance(user, Update)]
        views = [user for user in users[version] if isinstance(user, View)]
        if len(writes) != 1 or len(writes) + len(views) != len(users[version]):
            break
        (write,) = writes
        if write.srcs[0] is not version or any(_meets(view, left, fill) for view in views):
            break
        box = None if write.index else box_of(write.layout, fill.shape, fill.strides)
        if box is None or any(src is version for src in write.srcs[1:]):
            break
        left = [part for old in left for part in without(old, box)]
        version = write
        if version in outputs:
            break
    return left


def _meets(view: View, boxes: list[Box], fill: Fill) -> bool:
    """Whether a view may read what is in some boxes; one of nothing is still a reader."""
    if not size_of(view.layout.shape):
        return True
    regions = (layout_of(box, fill.strides) for box in boxes)
    return not all(are_apart(view.layout, each, fill.shape, fill.strides) for each in regions)


def _is_border(left: list[Box], fill: Fill) -> bool:
    count = sum(size_of(tuple(map(len, box))) for box in left)
    few = len(left) <= MOST_BOXES and 2 * count <= size_of(fill.shape)
    return few and fill.nbytes >= LARGE_FILL


def _filled(fill: Fill, left: list[Box], value: Node) -> Node:
    """Memory in which only some boxes are filled."""
    version: Node = Blank(fill.shape, fill.dtype, fill.strides)
    for box in left:
        version = Update(version, layout_of(box, fill.strides), value)
        version.origin = fill.origin
    return version
