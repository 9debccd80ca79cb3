"""What pending arrays share: which operations inside a trace are stored because others that are
pending read them, too.

Two results of one function have a common part that nobody holds. When the first is asked for, the
second is not known, but that something outside reads the part is. `Node.users` counts readers that
have gone; references do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from sys import getrefcount
from typing import Any

from lazyfuse.ir.graph import Graph, is_leaf
from lazyfuse.ir.node import Fill, Node, View
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import session
from lazyfuse.runtime.siblings import siblings

#: Elements times costly operations below from which a value that others read is stored: a second
#: result costs 20 us, a function some nanosecond an element. Measured with exp, exp and sin, and
#: sums of both, of 30,000 to a million doubles.
WORTH = 200_000
#: Costly operations below a value that are counted, at most.
_MOST_BELOW = 16
#: Operands or results whose bytes all that is stored for others may have.
_MOST_STORED = 4
#: A node's references beside those of readers: the list's, and that of who asks.
_ALONE = 2
#: Structures that are known at most.
_MOST_KNOWN = 256

#: By the structure of a trace: operations inside that may be stored for others, as their places
#: and how many readers each has in the trace; by it, the places of what is stored anyway and of
#: those that others read: which of them are stored.
_inside: dict[object, list[tuple[int, int]]] = {}
_stored: dict[object, list[int]] = {}


def shared(nodes: list[Node], structure: tuple[object, ...], held: Sequence[int]) -> list[Node]:
    """The operations of a trace that are stored for others, or these others where they are known
    and computed along (`siblings.py`); `nodes` and `structure` as a walk
    gives them, those in the places `held` are stored anyway, as the outputs are. Nobody else may
    have a list of the nodes: that counts as a reader."""
    inside = _inside.get(structure)
    if inside is None:
        inside = remembered(_inside, structure, _candidates(nodes, structure))
    read: dict[int, int] = {}
    for place, own in inside:
        more = getrefcount(nodes[place]) - own - _ALONE
        if more > 0 and more > nodes[place].is_held:
            read[place] = more - nodes[place].is_held
    if not read:
        return []
    key = structure, tuple(held), *read
    places = _stored.get(key)
    if places is None:
        places = remembered(_stored, key, _chosen(nodes, structure, [*read], held))
    if held:
        return [nodes[place] for place in places]
    chosen = {nodes[place]: read[place] for place in places}
    return siblings(nodes, chosen) or list(chosen) if chosen else []


def forget() -> None:
    """Forget structures, and with them the functions of library calls."""
    _inside.clear()
    _stored.clear()


session.on_clear(forget)


def is_free(node: Node) -> bool:
    """Whether a node needs no computation of its own."""
    return is_leaf(node) or isinstance(node, View | Fill)


def remembered(found: dict[object, Any], key: object, value: Any) -> Any:
    """Keep a value, and give it."""
    if len(found) >= _MOST_KNOWN:
        found.clear()
    found[key] = value
    return value


def _outputs(nodes: Sequence[Node], structure: tuple[object, ...]) -> dict[Node, None]:
    """The outputs of a trace, which come first: how many is the first of its structure."""
    count = structure[0]
    assert isinstance(count, int)
    return dict.fromkeys(nodes[:count])


def _candidates(nodes: Sequence[Node], structure: tuple[object, ...]) -> list[tuple[int, int]]:
    """The operations that may be stored, and their readers in the trace: large enough for the most
    that is counted below, and of no more memory than an operand or a result. None where nothing is
    costly: long loops of arithmetic."""
    if not any(node.is_costly and node.buffer is None for node in nodes):
        return []
    outputs = _outputs(nodes, structure)
    readers = Counter(src for node in nodes for src in node.srcs)
    most = _most_bytes(nodes, outputs)
    return [
        (place, readers[node])
        for place, node in enumerate(nodes)
        if node not in outputs
        and not is_free(node)
        and _MOST_BELOW * size_of(node.shape) >= WORTH
        and node.nbytes <= most
    ]


def _most_bytes(nodes: Sequence[Node], outputs: Container[Node]) -> int:
    """The bytes of the largest operand or result."""
    return max(node.nbytes for node in nodes if is_leaf(node) or node in outputs)


def _chosen(
    nodes: Sequence[Node], structure: tuple[object, ...], read: Sequence[int], held: Sequence[int]
) -> list[int]:
    """Those of the places that others read that are worth it, from the lowest up: where costly
    operations are below that nothing else has that is stored, while there are few bytes."""
    outputs = _outputs(nodes, structure)
    places = {nodes[place]: place for place in read}
    there = {*outputs, *(nodes[place] for place in held)}
    left = _MOST_STORED * _most_bytes(nodes, outputs)
    chosen: list[int] = []
    below: dict[Node, int] = {}
    for node in Graph(tuple(outputs)).nodes:
        if is_leaf(node) or node in there:
            continue
        count = min(sum(below.get(src, 0) for src in node.srcs) + node.is_costly, _MOST_BELOW)
        if node in places and count * size_of(node.shape) >= WORTH and node.nbytes <= left:
            chosen.append(places[node])
            left -= node.nbytes
        else:
            below[node] = count
    return chosen
