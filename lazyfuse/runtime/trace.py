"""What is pending under some nodes, found in one walk: the structure that decides the plan, and
whether more than the nodes themselves has to be stored.

This runs for every result that is asked for, so it is one flat loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from sys import getrefcount
from typing import Any

from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import Graph, is_leaf
from lazyfuse.ir.node import Const, Fill, Map, Node, View
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import session

#: Pending operations under an array from which it is stored when a run passes it: about the cost
#: of a store and a load (schedule/cost.py).
DEEP = 32


#: The nodes, what decides the plan, and whether nothing inside is worth keeping; None where only
#: what others read may be.
Walk = tuple[list[Node], tuple[object, ...], bool | None]
#: By the structure of a trace: operations inside that may be stored for others, as their places
#: and how many readers each has in the trace; by it and the places of those that others read:
#: which of them are stored.
_INSIDE: dict[object, list[tuple[int, int]]] = {}
_SHARED: dict[object, list[int]] = {}
_MOST_KNOWN = 256
#: Elements times costly operations below from which a value that others read is stored: a second
#: result costs 20 us, a function some nanosecond an element. Measured with exp, exp and sin, and
#: sums of both, of 30,000 to a million doubles.
_WORTH = 200_000
#: Costly operations below a value that are counted, at most.
_MOST_BELOW = 16
#: A node's references beside those of readers: the list's, and that of who asks.
_ALONE = 2


def walk(nodes: list[Node]) -> Walk:
    """The nodes, structure and plainness of the trace of outputs, whose list is taken. `others`:
    pending readers of what is inside, but those in the trace."""
    outputs = len(nodes)
    is_plain, is_dear, others = True, False, 0
    number = {node: position for position, node in enumerate(nodes)}
    scalars: dict[object, int] = {}
    lines: list[object] = [outputs]
    add = lines.append
    for node in nodes:  # which grows
        if node.buffer is not None:
            form = node.form
            add(form if form is not UNKNOWN else node.formed())
            continue
        known = node._mapkind if type(node) is Map else None  # signature, written out
        add(known if known is not None and known.form is node.form else node.signature)
        if node.seen or (node.is_costly or node.depth > DEEP) and node.is_held:
            is_plain = is_plain and not node.seen and number[node] < outputs
        if number[node] >= outputs and type(node) is not Const:
            others += node.users
            is_dear = is_dear or node.is_costly or node.depth > DEEP
        for src in node.srcs:
            place = number.get(src)
            if place is None:
                place = len(nodes)
                if type(src) is Const:
                    place = scalars.setdefault(src.identity, place)
                number[src] = place
                if place == len(nodes):
                    nodes.append(src)
            add(place)
            if place >= outputs and src.buffer is None and type(src) is not Const:
                others -= 1
    is_shared = is_plain and is_dear and others > 0
    return nodes, tuple(lines), None if is_shared else is_plain


#: The ways to walk, the one in use last: machine code gives None where it cannot.
walks: list[Callable[[list[Node]], Walk | None]] = [walk]


class Trace:
    """Pending nodes and their leaves: the outputs first, then the operands as they are met.

    `structure` is equal for two traces that one plan serves: values and memory are not part of it,
    library calls are equal by their function. Scalars that are one object, as a literal in a loop
    is, count as one node. `is_plain`: nothing inside is worth keeping.
    """

    __slots__ = ("outputs", "nodes", "structure", "is_plain", "asked", "_runs")

    def __init__(
        self,
        outputs: Sequence[Node],
        walked: Walk | None = None,
        walked_at: int = 0,
        asked: int | None = None,
    ) -> None:
        """`walked`: what a walk has found for these outputs already, after so many runs; `asked`:
        how many of them were asked for, the first ones, where that is not all."""
        self.outputs = outputs
        self.asked = len(outputs) if asked is None else asked
        self._runs = session.runs[0] if walked is None else walked_at
        found = walked or walks[-1](list(outputs)) or walk(list(outputs))
        self.nodes, self.structure, self.is_plain = found

    @property
    def is_stale(self) -> bool:
        """Whether there has been a run since, so that the nodes may not be pending any more."""
        return self._runs != session.runs[0]

    def graph(self) -> Graph:
        """The same nodes, operands before users."""
        return Graph(self.outputs)


def trace(
    wanted: Sequence[Node],
    walked: Walk | None = None,
    walked_at: int = 0,
    asked: int | None = None,
) -> Trace:
    """The trace of nodes; those inside that are better stored are outputs of it as well. `walked`,
    `walked_at` and `asked` as in Trace: with the last, they are there already."""
    found = Trace(wanted, walked, walked_at, asked)
    if found.is_plain or asked is not None:
        return found
    inside = kept(wanted, (found.nodes, found.structure, found.is_plain))
    if found.is_stale:  # code of the user has run in the middle
        return trace(pending_of(wanted))
    return Trace([*wanted, *inside], asked=len(wanted)) if inside else found


def pending_of(nodes: Iterable[Node]) -> list[Node]:
    """Those that are not computed."""
    return [node for node in nodes if node.buffer is None]


def kept(wanted: Sequence[Node], walked: Walk) -> list[Node]:
    """Operations inside that are stored as well; `walked` is what a walk has found."""
    held = [] if walked[2] is None else _held(wanted)
    return [*held, *_shared(walked, held)]


def _held(wanted: Sequence[Node]) -> list[Node]:
    """Dear operations whose array is still held, and those that are computed again (they were
    inside an earlier run): the topmost of these."""
    graph = Graph(wanted)
    found: dict[Node, None] = {}
    for node in graph.nodes:
        if not node.seen:
            found.update((src, None) for src in node.srcs if src.seen and not _is_free(src))
        if node.is_held and not _is_free(node) and _is_dear(node):
            found[node] = None
    return [node for node in found if node not in graph.outputs]


def _shared(walked: Walk, held: Sequence[Node]) -> list[Node]:
    """Operations that others that are pending read, too: two results of one function, of which the
    first is asked for; none that is stored already. `Node.users` counts readers that have gone;
    references do not."""
    nodes, structure, _ = walked
    inside = _INSIDE.get(structure)
    if inside is None:
        inside = _known(_INSIDE, structure, _inside(walked))
    several = [(place, own) for place, own in inside if getrefcount(nodes[place]) > own + _ALONE]
    read = [
        place
        for place, own in several
        if getrefcount(nodes[place]) > own + _ALONE + nodes[place].is_held
    ]
    if not read:
        return []
    if held:
        read = [place for place in read if nodes[place] not in held]
        return [nodes[place] for place in _stored(walked, read, held)]
    key = structure, *read
    places = _SHARED.get(key)
    if places is None:
        places = _known(_SHARED, key, _stored(walked, read, ()))
    return [nodes[place] for place in places]


def forget() -> None:
    """Forget structures, and with them the functions of library calls."""
    _INSIDE.clear()
    _SHARED.clear()


session.on_clear(forget)


def _known(found: dict[object, Any], key: object, value: Any) -> Any:
    """Keep a value, and give it."""
    if len(found) >= _MOST_KNOWN:
        found.clear()
    found[key] = value
    return value


def _outputs(walked: Walk) -> dict[Node, None]:
    """The outputs of a trace, which come first: how many is the first of its structure."""
    count = walked[1][0]
    assert isinstance(count, int)
    return dict.fromkeys(walked[0][:count])


def _inside(walked: Walk) -> list[tuple[int, int]]:
    """The operations that may be stored, and their readers in the trace: large enough for the most
    that is counted below, and of no more memory than an operand or a result."""
    nodes, outputs = walked[0], _outputs(walked)
    readers = Counter(src for node in nodes for src in node.srcs)
    most = _most_bytes(nodes, outputs)
    return [
        (place, readers[node])
        for place, node in enumerate(nodes)
        if node not in outputs
        and not _is_free(node)
        and _MOST_BELOW * size_of(node.shape) >= _WORTH
        and node.nbytes <= most
    ]


def _most_bytes(nodes: Sequence[Node], outputs: Container[Node]) -> int:
    """The bytes of the largest operand or result."""
    return max(node.nbytes for node in nodes if is_leaf(node) or node in outputs)


def _stored(walked: Walk, read: Sequence[int], held: Sequence[Node]) -> list[int]:
    """Those of the places that others read that are worth it, from the lowest up: where costly
    operations are below that nothing else has that is stored. All together have no more memory
    than four operands or results."""
    nodes, outputs = walked[0], _outputs(walked)
    places = {nodes[place]: place for place in read}
    there = {*outputs, *held}
    left = 4 * _most_bytes(nodes, outputs)
    stored: list[int] = []
    below: dict[Node, int] = {}
    for node in Graph(tuple(outputs)).nodes:
        if is_leaf(node):
            continue
        count = min(sum([below.get(src, 0) for src in node.srcs]) + node.is_costly, _MOST_BELOW)
        if node in places and count * size_of(node.shape) >= _WORTH and node.nbytes <= left:
            stored.append(places[node])
            left -= node.nbytes
            count = 0
        below[node] = 0 if node in there else count
    return stored


def _is_free(node: Node) -> bool:
    """Whether a node needs no computation of its own."""
    return is_leaf(node) or isinstance(node, View | Fill)


def _is_dear(node: Node) -> bool:
    """Whether recomputing a node costs more than keeping it."""
    return node.depth > DEEP or node.is_costly
