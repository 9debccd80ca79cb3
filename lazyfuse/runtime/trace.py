"""What is pending under some nodes, found in one walk: the structure that decides the plan, and
whether more than the nodes themselves has to be stored.

This runs for every result that is asked for, so it is one flat loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Const, Map, Node
from lazyfuse.runtime import session
from lazyfuse.runtime.shared import is_free, remembered, shared

#: Pending operations under an array from which it is stored when a run passes it: about the cost
#: of a store and a load (schedule/cost.py).
DEEP = 32
#: The nodes, what decides the plan, and whether nothing inside is worth keeping; None where only
#: what others read may be.
Walk = tuple[list[Node], tuple[object, ...], bool | None]


def walk(nodes: list[Node]) -> Walk:
    """The nodes, structure and plainness of the trace of outputs, whose list is taken. `others`:
    pending readers of what is inside, but those in the trace."""
    outputs = len(nodes)
    is_plain, is_dear, others = True, False, 0
    number = {node: place for place, node in enumerate(nodes)}
    scalars: dict[object, int] = {}
    lines: list[object] = [outputs]
    add = lines.append
    for position, node in enumerate(nodes):  # which grows
        if node.buffer is not None:
            form = node.form
            add(form if form is not UNKNOWN else node.formed())
            continue
        known = node._mapkind if type(node) is Map else None  # signature, written out
        add(known if known is not None and known.form is node.form else node.signature)
        is_plain = is_plain and not node.seen
        if position >= outputs and type(node) is not Const:
            others += node.users
            if node.is_costly or node.depth > DEEP:
                is_dear = True
                is_plain = is_plain and not node.is_held
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


def as_before(
    nodes: Sequence[Node], sources: Iterable[tuple[Node, ...]], count: int
) -> list[Node]:
    """Copies of the nodes of a trace as they were before the first ones had memory, so many:
    with their operands."""
    made = {node: node if type(node) is Const else node.with_srcs(()) for node in nodes}
    for node, srcs in zip(nodes, sources, strict=True):
        if type(node) is not Const:
            made[node].srcs = tuple([made.get(src, src) for src in srcs])
    for node in nodes[:count]:
        made[node].buffer = None
    return list(made.values())


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
    nodes, structure, is_plain = walked
    held = [] if is_plain is None else _places_held(wanted, nodes, structure)
    read = shared(nodes, structure, held)  # first: it counts who refers to the nodes
    return [*(nodes[place] for place in held), *read]


#: By the structure of a trace and what is known of each of its nodes: the places of those that are
#: stored, since loops ask for the same again and again.
_places: dict[object, list[int]] = {}
session.on_clear(_places.clear)


def _places_held(
    wanted: Sequence[Node], nodes: Sequence[Node], structure: tuple[object, ...]
) -> list[int]:
    """Where the nodes are that `_held` gives."""
    key = structure, bytes(map(_state, nodes))
    places = _places.get(key)
    if places is None:
        places = remembered(_places, key, [nodes.index(node) for node in _held(wanted)])
    return places


def _state(node: Node) -> int:
    """What is known of a node besides its structure: of one that is computed, nothing is asked."""
    if node.buffer is not None:
        return 0
    return 1 | node.seen << 1 | node.is_held << 2 | (node.depth > DEEP) << 3


def _held(wanted: Sequence[Node]) -> list[Node]:
    """Dear operations whose array is still held, and those that are computed again (they were
    inside an earlier run): the topmost of these."""
    graph = Graph(wanted)
    found: dict[Node, None] = {}
    for node in graph.nodes:
        if not node.seen:
            found.update((src, None) for src in node.srcs if src.seen and not is_free(src))
        if node.is_held and not is_free(node) and is_dear(node):
            found[node] = None
    return [node for node in found if node not in graph.outputs]


def is_dear(node: Node) -> bool:
    """Whether recomputing a node costs more than keeping it."""
    return node.depth > DEEP or node.is_costly
