"""What is pending under some nodes, found in one walk: the structure that decides the plan, and
whether more than the nodes themselves has to be stored.

This runs for every result that is asked for, so it is one flat loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.graph import Graph, is_leaf
from lazyfuse.ir.node import Const, Fill, Map, Node, View
from lazyfuse.runtime import session

#: Pending operations under an array from which it is stored when a run passes it: about the cost
#: of a store and a load (schedule/cost.py).
DEEP = 32


Walk = tuple[list[Node], tuple[object, ...], bool]


def walk(nodes: list[Node]) -> Walk:
    """The nodes, structure and plainness of the trace of outputs, whose list is taken."""
    outputs = len(nodes)
    is_plain = True
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
    return nodes, tuple(lines), is_plain


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
    inside = kept(wanted)
    if found.is_stale:  # code of the user has run in the middle
        return trace(pending_of(wanted))
    return Trace([*wanted, *inside], asked=len(wanted)) if inside else found


def pending_of(nodes: Iterable[Node]) -> list[Node]:
    """Those that are not computed."""
    return [node for node in nodes if node.buffer is None]


def kept(wanted: Sequence[Node]) -> list[Node]:
    """Operations inside that are stored as well: dear ones whose array is still held, and those
    that are computed again (they were inside an earlier run): the topmost of these."""
    graph = Graph(wanted)
    found: dict[Node, None] = {}
    for node in graph.nodes:
        if not node.seen:
            found.update((src, None) for src in node.srcs if src.seen and not _is_free(src))
        if node.is_held and not _is_free(node) and _is_dear(node):
            found[node] = None
    return [node for node in found if node not in graph.outputs]


def _is_free(node: Node) -> bool:
    """Whether a node needs no computation of its own."""
    return is_leaf(node) or isinstance(node, View | Fill)


def _is_dear(node: Node) -> bool:
    """Whether recomputing a node costs more than keeping it."""
    return node.depth > DEEP or node.is_costly
