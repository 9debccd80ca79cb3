"""How much may be pending: operations one upon the other, and memory that they keep alive.

What is computed from few elements alone gains nothing by waiting: recording an operation costs
what NumPy needs for it, and a loop over the means of columns would make one long kernel for each
of its turns. So chains of such operations are short, and what comes behind is computed at once.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence

from lazyfuse.config import Options
from lazyfuse.ir.form import UNKNOWN
from lazyfuse.ir.node import Node, Update
from lazyfuse.ir.orphans import BYTES, FEWEST
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.shared import is_free
from lazyfuse.runtime.turns import DEPTH, is_turn
from lazyfuse.runtime.under_way import is_recording

#: Operations on at most so many bytes are on few elements; and how many of them may be pending,
#: one upon the other. How many are looked at when they are computed.
FEW_BYTES, MOST_ON_FEW = 8_000, 16
_MOST_WALKED = 64


def is_over_budget(node: Node, options: Options) -> bool:
    """Whether what is pending under a node may be too much, at a glance."""
    if node.depth < 2:
        return False
    if node.depth > min(options.max_pending_nodes, DEPTH[0]):
        return True
    if node.depth > MOST_ON_FEW and node.shape and node.form.nbytes <= FEW_BYTES:
        return True
    return _may_hold_much(node, options) or is_pressed(options)


def _may_hold_much(node: Node, options: Options) -> bool:
    least = min(SMALL_HELD, options.max_pending_bytes)
    return node.held > least and BYTES[0] >= least


def is_too_much(node: Node, options: Options, device: str) -> bool:
    """Whether what is pending under a node is too much."""
    return (
        node.depth > options.max_pending_nodes
        or (node.depth > DEPTH[0] and is_turn(node, options, device))
        or (device == "cpu" and _is_long_for_few(node, options))
        or (_may_hold_much(node, options) and holds_too_much(node, options.max_pending_bytes))
    )


def _is_long_for_few(node: Node, options: Options) -> bool:
    """Whether the last operations are all on few elements, and nobody records them for later.
    Scalars are none of these: what follows them would be pending again."""
    if not options.eager_size or node.depth <= MOST_ON_FEW or not node.shape or is_recording():
        return False
    for _ in range(MOST_ON_FEW):  # asked at each operation
        form = node.form
        if (node.nbytes if form is UNKNOWN else form.nbytes) > FEW_BYTES:
            return False
        deepest, srcs = 0, node.srcs
        for src in srcs:
            if src.depth > deepest and src.srcs:
                deepest, node = src.depth, src
        if not deepest:
            return False
    return True


def is_read_in_parts(node: Node, shape: tuple[int, ...], options: Options) -> bool:
    """Whether many operations are on a pending array that is not large, and a small part of it, of
    this shape, is read next. Machine code asks for itself (`methods_parts_text.py`)."""
    if node.users < READERS or node.buffer is not None or not node.srcs:
        return False
    size, whole = size_of(shape), size_of(node.shape)
    is_part = 0 < PARTS * size <= whole <= options.cold_size and size <= options.eager_size
    return is_part and not is_free(node) and not is_recording()


def asked_again(nodes: Sequence[Node]) -> list[Node]:
    """What is on few elements under nodes that are, and an array holds or others read: computed
    with them, or they would compute it anew, and what it is computed from, perhaps from many."""
    walked = [node for node in nodes if node.nbytes <= FEW_BYTES]
    readers = dict.fromkeys(walked, 0)
    for current in walked:  # which grows
        for src in current.srcs:
            if src.buffer is not None or not src.srcs or src.nbytes > FEW_BYTES:
                continue
            if src not in readers and len(walked) < _MOST_WALKED:
                walked.append(src)
            readers[src] = readers.get(src, 0) + 1
    return [
        each
        for each, count in readers.items()
        if each not in nodes and (each.is_held or each.users > count) and not is_free(each)
    ]


#: Bytes under an operation from which it is worth asking how many of them nobody else needs.
SMALL_HELD = 3 << 20
#: Dead inputs, in units of the result, that pending operations may keep alive.
_HELD_RESULTS = 3
#: Pieces, at least, of which an array consists that a loop writes piece by piece; what is larger
#: is the step of a computation that fuses with others, as time steps write theirs. Pieces are
#: computed before long: each turn has another plan, which is like the last one if it is short.
PIECES = 4
#: How many operations are on a pending array, at least, before a part of it is read of which it
#: consists of so many: it is computed then. Each part would have a run of its own, with a plan of
#: its own, if they are asked for one by one; from memory NumPy has small ones at once.
READERS, PARTS = 8, 16
#: Nodes looked at in one question.
_HELD_WALK = 1024
#: Nodes that each recorded operation may add to the questions, on average: a program of stencils
#: reaches the bound, which counts every path, at each step.
_HELD_WALK_EACH = 32


class _Credit(threading.local):
    """Nodes that the next question of this thread may look at; below zero it is not asked."""

    nodes = 0


_credit = _Credit()


def holds_too_much(node: Node, limit: int) -> bool:
    """Whether pending operations alone keep inputs alive:
    more than the limit, or several times their result.

    The answer no resets the node's bound to the dead bytes found,
    so that the question is not asked at every step.
    """
    allowed = max(min(limit, _HELD_RESULTS * node.nbytes), min(SMALL_HELD, limit))
    if node.held <= allowed:
        return False
    _credit.nodes = min(_credit.nodes + _HELD_WALK_EACH, _HELD_WALK_EACH)
    if _credit.nodes < 0:
        return False
    dead, walked = _dead_under(node)
    _credit.nodes -= walked
    node.held = dead
    return dead >= allowed


def _dead_under(node: Node) -> tuple[int, int]:
    """The bytes of inputs that pending operations alone keep alive, and how many nodes were
    looked at."""
    stack, seen = [node], {node}
    leaves: list[Node] = []
    written: set[Node] = set()
    while stack and len(seen) < _HELD_WALK:
        current = stack.pop()
        srcs = current.srcs  # asked once, first: another thread may compute meanwhile
        if current.buffer is not None:
            leaves.append(current)
            continue
        if srcs and type(current) is Update and _stays(current):
            written.add(srcs[0])
        stack += [src for src in srcs if src not in seen]
        seen.update(srcs)
    dead = sum(leaf.nbytes for leaf in leaves if not leaf.is_held and leaf not in written)
    return dead, len(seen)


def _stays(write: Update) -> bool:
    """Whether a write changes most of the memory that it is to stay in."""
    return PIECES * size_of(write.layout.shape) > size_of(write.shape)


#: How many times what one pending array may keep alive all may.
_ALL = 2


def is_pressed(options: Options) -> bool:
    """Whether all that is pending keeps more dead bytes alive than may be, and so many more than
    have been left since it was last asked who does. Inputs may die long after the operations on
    them were recorded: of a list of sums each holds an array then, and of what a program writes at
    each step and never reads, the inputs of all steps."""
    limit = _ALL * max(options.max_pending_bytes, SMALL_HELD)
    return BYTES[0] - FEWEST[0] > limit and not is_recording()


def relieve(options: Options, run: Callable[[Storage], object]) -> None:
    """Run the pending arrays that keep many dead bytes alive, those with most first, until there
    are half as many as may be."""
    FEWEST[0] = BYTES[0]  # code of the user that hears warnings may record
    for storage in _hoarders():
        if BYTES[0] <= options.max_pending_bytes:
            break
        run(storage)
    FEWEST[0] = BYTES[0] if BYTES[0] > _ALL * options.max_pending_bytes else 0


def _hoarders() -> list[Storage]:
    """The pending arrays that keep many dead bytes alive, those with most first."""
    found: list[tuple[int, Storage]] = []
    nodes = [item for item in gc.get_objects() if issubclass(type(item), Node)]
    for node in nodes:  # no node knows who reads it
        handle = getattr(node, "handle", None)  # templates have none
        storage = None if handle is None else handle()
        if storage is not None and storage.node is node and node.buffer is None:
            dead, _ = _dead_under(node)
            if dead > _HELD_RESULTS * node.nbytes:
                found.append((dead, storage))
    found.sort(key=lambda pair: -pair[0])
    return [storage for _, storage in found]
