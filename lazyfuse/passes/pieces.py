"""Pieces: what is computed from arrays that are put together reads their parts instead.

    r = np.roll(u, 1, 0)               r is never made: the rows of y after the first are computed
    y = u + r                ->        from rows of u, and so is the first row, by its own write

`roll`, `concatenate` and `pad` give arrays that are written piece by piece over nothing. An
elementwise result that reads such arrays is cut into boxes in which each read stays inside one
piece, and written box by box. In stencils with periodic borders one box is nearly everything. A
piece of an array that is put together itself, as in `np.roll(np.roll(u, 1, 0), 1, 1)`, is read
where its own pieces are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from lazyfuse.ir.blank import Blank
from lazyfuse.ir.expression import Expression, NotAffineError, Read, Term, walk
from lazyfuse.ir.graph import Graph, rebuilt
from lazyfuse.ir.layout import Affine, IndexMap, Layout, access, broadcast_map, identity
from lazyfuse.ir.node import Const, Fill, Gather, Map, Node, Update, View
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.region import Box, box_of, common, layout_of, whole
from lazyfuse.ops.shapes import broadcast, size_of

#: Bytes of a result from which a pass over memory costs more than the launches of the small boxes.
LARGE = 1 << 19
#: Boxes of a result: two borders in each of three dimensions.
MOST_BOXES = 27
#: Pieces of an array.
MOST_PIECES = 8


class Piece(NamedTuple):
    """Part of an array: `value` broadcast to a box."""

    box: Box
    value: Node


#: An array that is put together; where pieces overlap, the first counts.
Pieces = tuple[Piece, ...]


def pieces(graph: Graph) -> Graph:
    """Read the parts of arrays that are put together."""
    if not any(isinstance(node, Blank) for node in graph.nodes):
        return graph
    users = graph.users()
    outputs = set(graph.outputs)
    memory: set[Node] = set()
    together: set[Node] = set()
    joined: dict[Node, Pieces] = {}

    def split(node: Node, srcs: tuple[Node, ...]) -> Node:
        is_output = node in outputs
        new = rebuilt(node, srcs)
        if isinstance(node, Update) and not is_output and _is_joined(node, users, together):
            found = _pieces(new)
            if found:
                joined[new] = _opened(found, joined)
                together.add(node)
        if isinstance(node, Map) and (is_output or _is_top(node, users[node])):
            new = _Splitter(new, memory, joined).split(is_output=is_output)
            memory.add(new)
        elif not isinstance(node, Map | View | Const | Fill):
            memory.add(new)
        return new

    return graph.rewrite(split)


def _is_top(node: Node, users: Sequence[Node]) -> bool:
    """Whether a value is read by more than elementwise operations of its shape."""
    return any(not isinstance(user, Map) or user.shape != node.shape for user in users)


def _is_joined(node: Node, users: dict[Node, list[Node]], together: set[Node]) -> bool:
    """Whether a chain of writes over nothing puts together what is in memory, is put together
    itself, or would be computed again at any cost, and nothing reads it before it is complete."""
    version, count = node, 0
    while isinstance(version, Update):
        count += 1
        is_last = version is node or len(users[version]) == 1
        value = version.srcs[1]
        is_moved = value in together or _is_copied(value)
        if count > MOST_PIECES or not is_last or not is_moved:
            return False
        version = version.srcs[0]
    return isinstance(version, Blank)


def _is_copied(value: Node) -> bool:
    """Whether a written value is only moved there."""
    if isinstance(value, Map) and value.op.name == "astype" and value.loop == (value.dtype,):
        value = value.srcs[0]
    return isinstance(value, View | Const) or value.buffer is not None


def _pieces(node: Node) -> Pieces | None:
    """The pieces of a chain of writes over nothing, the last first; None if some are no boxes."""
    found: list[Piece] = []
    version = node
    while isinstance(version, Update):
        box = None if version.index is not None else _plain_box(version.layout, version)
        if box is None:
            return None
        found.append(Piece(box, version.srcs[1]))
        version = version.srcs[0]
    return tuple(found)


def _plain_box(region: Layout, array: Node) -> Box | None:
    """The box of a region of an array, if its axes are those of the array."""
    if len(region.shape) != len(array.shape):
        return None
    steps = zip(region.shape, region.strides, array.strides, strict=True)
    if any(extent > 1 and step != own for extent, step, own in steps):
        return None
    return box_of(region, array.shape, array.strides)


def _opened(pieces: Pieces, joined: dict[Node, Pieces]) -> Pieces:
    """The same, of which those that are put together themselves are their own pieces; as they are
    where those would be too many."""
    found = tuple([part for piece in pieces for part in _inside(piece, joined)])
    return found if len(found) <= MOST_BOXES else pieces


def _inside(piece: Piece, joined: dict[Node, Pieces]) -> list[Piece]:
    """A piece, or the pieces of the array that it is all of or a box of."""
    array, region = piece.value, whole(piece.value.shape)
    if isinstance(array, View) and array.buffer is None:
        found = _plain_box(array.layout, array.srcs[0])
        array, region = array.srcs[0], found or ()
    own = joined.get(array)
    if own is None or tuple(map(len, region)) != tuple(map(len, piece.box)):
        return [piece]
    parts = [_within(each, region, piece.box) for each in own]
    return [piece] if None in parts else [part for part in parts if part and all(part.box)]


def _within(piece: Piece, region: Box, place: Box) -> Piece | None:
    """What a region of an array has of one of its pieces, where the region is put in another
    array; None for a value that is broadcast."""
    shared = tuple(map(common, piece.box, region))
    triples = zip(shared, region, place, strict=True)
    box = tuple(
        range(each.start - own.start + to.start, each.stop - own.start + to.start)
        for each, own, to in triples
    )
    value = piece.value
    if isinstance(value, Const):
        return Piece(box, value)
    if value.shape != tuple(map(len, piece.box)):
        return None
    if not all(shared):
        return Piece(shared, value)
    inside = tuple(
        range(each.start - own.start, each.stop - own.start)
        for each, own in zip(shared, piece.box, strict=True)
    )
    if isinstance(value, View) and value.buffer is None:
        return Piece(box, _part(value.srcs[0], value.layout.strides, value.layout.offset, inside))
    return Piece(box, _part(value, value.strides, 0, inside))


class _Splitter:
    """One elementwise result, cut into boxes."""

    def __init__(self, node: Node, memory: set[Node], joined: dict[Node, Pieces]) -> None:
        self.node, self.memory, self.joined = node, memory, joined
        self.axes = len(node.shape)

    def split(self, *, is_output: bool) -> Node:
        """The result written box by box, or as it is where that does not pay."""
        expression = self._expression()
        if expression is None:
            return self.node
        parts = [read for read in expression.reads if read.node in self.joined]
        boxes = self._boxes(parts)
        if not boxes or len({read.node for read in parts}) + is_output < 2:
            return self.node
        version: Node = Blank(self.node.shape, self.node.dtype, self.node.strides)
        for box in boxes:
            value = self._value(expression, box)
            if value is None:
                return self.node
            version = Update(version, layout_of(box, self.node.strides), value)
            version.origin = self.node.origin
        return version

    def _expression(self) -> Expression | None:
        """What is computed, from memory and from arrays that are put together."""
        if self.node.nbytes < LARGE:
            return None
        root = Term(self.node, identity(self.node.shape))
        try:
            found = walk([root], self.axes, self.memory, (self.node,))
        except NotAffineError:
            return None
        if found.counted or any(isinstance(term.node, Gather) for term in found.terms):
            return None
        return found

    def _boxes(self, reads: Sequence[Read]) -> list[Box]:
        """The boxes in which every read stays inside one piece, largest first; none if that are
        too many, or too small ones."""
        cuts = [{0, extent} for extent in self.node.shape]
        for read in reads:
            for axis, affine in enumerate(read.map or ()):
                if any(step != 1 for _, step in affine.terms) or len(affine.terms) > 1:
                    return []
                for place, _ in affine.terms:
                    ends = {end for piece in self.joined[read.node] for end in _ends(piece, axis)}
                    cuts[place] |= {end - affine.start for end in ends}
            if read.map is None:
                return []
        runs = [
            [range(*ends) for ends in pairwise(sorted(end for end in cut if 0 <= end <= extent))]
            for cut, extent in zip(cuts, self.node.shape, strict=True)
        ]
        if not 1 < prod(map(len, runs)) <= MOST_BOXES:
            return []
        boxes = sorted(product(*runs), key=lambda box: -_count(box))
        return boxes if 2 * _count(boxes[0]) >= size_of(self.node.shape) else []

    def _value(self, expression: Expression, box: Box) -> Node | None:
        """What is computed in a box, from views of what is read."""
        nodes: dict[Term | Read, Node] = {}
        for term in expression.terms:
            for operand in expression.operands[term]:
                if isinstance(operand, Read) and operand not in nodes:
                    view = self._view(operand, box)
                    if view is None:
                        return None
                    nodes[operand] = view
            nodes[term] = _rebuilt(term.node, [nodes[op] for op in expression.operands[term]])
        return nodes[expression.roots[0]]

    def _view(self, read: Read, box: Box) -> Node | None:
        """What a box reads of memory, or of the piece that holds all of it."""
        if read.node not in self.joined:
            return _part(read.node, read.strides, read.offset, box)
        assert read.map is not None  # `_boxes` has looked
        places = [_moved(affine, box) for affine in read.map]
        for piece in self.joined[read.node]:
            pairs = zip(piece.box, places, strict=True)
            if all(own.start <= place.start and place.stop <= own.stop for own, place in pairs):
                return self._of_piece(piece, read.map, box)
        return None

    def _of_piece(self, piece: Piece, places: IndexMap, box: Box) -> Node:
        value = piece.value
        if isinstance(value, Const):
            return value
        pairs = zip(places, piece.box, strict=True)
        inside = tuple(Affine(affine.start - own.start, affine.terms) for affine, own in pairs)
        inside = broadcast_map(inside, value.shape, tuple(map(len, piece.box)))
        strides, offset = access(inside, value.strides, self.axes)
        if isinstance(value, View) and value.buffer is None:
            return _part(value.srcs[0], strides, offset + value.layout.offset, box)
        return _part(value, strides, offset, box)


def _count(box: Box) -> int:
    return size_of(tuple(map(len, box)))


def _ends(piece: Piece, axis: int) -> tuple[int, int]:
    return piece.box[axis].start, piece.box[axis].stop


def _moved(affine: Affine, box: Box) -> range:
    """Where along an axis of an array a box is read."""
    span = next((box[axis] for axis, _ in affine.terms), range(1))
    return range(span.start + affine.start, span.stop + affine.start)


def _part(memory: Node, strides: tuple[int, ...], offset: int, box: Box) -> View:
    """What the indices of a box read with these strides; axes that do not move have length 1."""
    shape = tuple(len(span) if step else 1 for span, step in zip(box, strides, strict=True))
    start = offset + sum(span.start * step for span, step in zip(box, strides, strict=True))
    return View(memory, Layout(shape, strides, start))


def _rebuilt(node: Node, operands: Sequence[Node]) -> Node:
    """The operation on parts of its operands."""
    if isinstance(node, Fill):
        return node.srcs[0]
    if not isinstance(node, Map):
        return node
    shape = broadcast([operand.shape for operand in operands])
    new = type(node)(node.op, node.loop, node.dtype, shape, c_strides(shape), tuple(operands))
    new.origin = node.origin
    return new
