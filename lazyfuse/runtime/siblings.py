"""Results that are computed along with one that is asked for, since they read what it computes.

    call, put = black_scholes(...)
    numpy.asarray(call)              the distribution functions are inside
    numpy.asarray(put)               and here

What both have in common would be stored for the second one (`shared.py`). Where the other readers
are known, and take no more memory and a few cheap operations, they are computed in the same kernel
instead: the program has them, so it is going to ask.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from threading import get_ident

from lazyfuse.ir.graph import is_leaf
from lazyfuse.ir.node import Map, Node
from lazyfuse.ir.storage import RECENT

#: Operations between what is shared and a result, at most.
_MOST = 16


def siblings(nodes: Sequence[Node], readers: Mapping[Node, int]) -> list[Node]:
    """Pending results of this thread that read these operations of a trace, each of which has so
    many other readers: all of those are among them; else nothing. `nodes`: of the trace."""
    holder = nodes[0].handle() if nodes[0].handle is not None else None
    if holder is None or _are_errors():
        return []
    trace, left = set(nodes), Counter(readers)
    found: list[Node] = []
    nbytes = sum(node.nbytes for node in readers)
    for node in sorted(_recent(holder.device), key=lambda node: node.depth):
        more = _between(node, trace) if node.shape == nodes[0].shape else ()
        reads = Counter(src for each in more for src in each.srcs if src in readers)
        nbytes -= node.nbytes if reads else 0
        if not reads or nbytes < 0:
            continue
        found.append(node)
        trace.update(more)
        left -= reads
    return [] if +left or nbytes < 0 else found


def _are_errors() -> bool:
    """Whether warnings of conditions may be errors: the first would end what tells the others."""
    found = (category for action, _, category, *_ in warnings.filters if action == "error")
    return any(issubclass(RuntimeWarning, category) for category in found)


def _recent(device: str) -> Iterator[Node]:
    """The last arrays that are pending, of this thread alone, on a device."""
    thread = get_ident()
    for handle in RECENT:
        storage = None if handle is None else handle()
        if storage is None or storage.device != device or storage.is_shared:
            continue
        if storage._thread == thread and storage.node.buffer is None:
            yield storage.node


def _between(node: Node, trace: Set[Node]) -> list[Node]:
    """The operations of a result that are not in the trace; none where they are many or dear,
    other than elementwise, or somebody has one of them."""
    if node in trace:
        return []
    found, stack = {node: None}, [node]
    while stack:
        current = stack.pop()
        is_other = current is not node and current.is_held
        if type(current) is not Map or current.is_costly or is_other or len(found) > _MOST:
            return []
        new = [src for src in current.srcs if not is_leaf(src) and src not in trace]
        stack += [src for src in new if src not in found]
        found.update(dict.fromkeys(new))
    return list(found)
