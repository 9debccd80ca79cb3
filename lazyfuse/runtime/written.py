"""What is computed with a value because a loop writes it: arrays that read each other.

    for k in range(n):
        b = 1 - w[:, k]                     when b is too much to wait for, c and d are computed
        d[:, k] = d[:, k - 1] * b           with it
        c[:, k] = c[:, k - 1] + d[:, k]

An array that is left pending keeps memory alive that the run writes into, which has to be copied,
and what is inside is computed again. So does a small value that the program still has.
"""

from __future__ import annotations

from lazyfuse import config
from lazyfuse.ir.graph import is_leaf, topological
from lazyfuse.ir.node import Node
from lazyfuse.ir.storage import RECENT, WRITTEN, Storage
from lazyfuse.runtime import under_way
from lazyfuse.runtime.budget import asked_again
from lazyfuse.runtime.shared import is_free

#: How many times larger an array is than values that are stored for it.
_TIMES = 4


def beside(storage: Storage) -> list[Node]:
    """What is computed with an array that is too much to wait for: others that have been written,
    or made of each other, and few elements that these would ask for again."""
    found = written_with(storage)
    if storage.device == "cpu" and config.current().cold_size:
        found += [node for node in made_with(storage) if node not in found]
    return [*asked_again([storage.node, *found]), *found]


def made_with(storage: Storage) -> list[Node]:
    """The last arrays that have been made of something pending under this one, or are under it:
    the state of a loop. Left pending, they would be cut elsewhere, each time with something else,
    and what they read of this one would be stored for them, turn by turn. What is not half as deep
    was made before the loop, and there is a limit for their bytes."""
    if under_way.recordings:
        return []
    root = storage.node
    under = {node for node in topological([root]) if not is_leaf(node)}
    found: set[Node] = set()
    for handle in RECENT:
        other: Storage | None = None if handle is None else handle()
        node = None if other is None else other.node
        if other is None or node is None or node.buffer is not None or is_free(node):
            continue
        if other is storage or other.device != storage.device or not other.is_own:
            continue
        if node in under or (2 * node.depth >= root.depth and _reads(node, under)):
            found.add(node)
    left, kept = config.current().max_pending_bytes, []
    for node in sorted(found, key=_place):
        left -= node.nbytes
        if left >= 0:
            kept.append(node)
    return kept


def _reads(node: Node, others: set[Node]) -> bool:
    """Whether a node is computed from one of others."""
    return any(not others.isdisjoint(each.srcs) for each in topological([node], stop=others))


def _place(node: Node) -> tuple[int, int]:
    """What tells the arrays of a loop apart, turn by turn."""
    return node.depth, -1 if node.origin is None else node.origin[1]


def written_with(storage: Storage) -> list[Node]:
    """The pending versions of other arrays that have been written, and what is under them and
    held, where that is small beside them; none while something is recorded."""
    if under_way.recordings:
        return []
    arrays = _arrays(storage)
    if not arrays:
        return []
    most = max(array.nbytes for array in arrays) // _TIMES
    inside = [
        node
        for node in topological([storage.node, *arrays])
        if node.buffer is None and node.nbytes <= most and node.is_held and not is_free(node)
    ]
    return [node for node in dict.fromkeys([*arrays, *inside]) if node is not storage.node]


def _arrays(storage: Storage) -> list[Node]:
    """Those that this thread has written on the device of another one; those that are computed are
    forgotten."""
    found = []
    for handle in list(WRITTEN):
        other: Storage | None = handle()
        if other is None or other.node.buffer is not None:
            WRITTEN.pop(handle, None)
        elif other is not storage and other.device == storage.device and other.is_own:
            found.append(other.node)
    return found
