"""Records nodes and runs what is pending.

`record_*` build nodes and return at once; `flush(nodes)` computes nodes and everything under them.
The exact-shape plan cache is in front: its key is the structure of the pending graph, without
values and memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyfuse import config, events
from lazyfuse.backends.base import Buffer
from lazyfuse.config import Options
from lazyfuse.ir.graph import Graph, is_leaf
from lazyfuse.ir.node import Const, Fill, Map, Node, Opaque, Origin, Reduce, Scan, Update, View
from lazyfuse.ir.plan import Plan
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.float_flags import ALL
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import user_frame
from lazyfuse.runtime.conditions import Finding, can_meet, find
from lazyfuse.runtime.error_modes import current_modes, tell
from lazyfuse.runtime.executor import Executor, host_array
from lazyfuse.runtime.planner import make_plan


def origin() -> Origin | None:
    """The user's code and instruction, and the errstate in force."""
    frame = user_frame(_INNER_FRAMES)
    return None if frame is None else (frame.f_code, frame.f_lasti, current_modes())


#: Frames of this package between `origin` and whatever public function or operator called it.
_INNER_FRAMES = 4


def new_storage(node: Node, device: str) -> Storage:
    """A new array whose first version is `node`;
    runs it when the pending trace is over its budget."""
    storage = Storage(node, device)
    if node.buffer is None:
        node.origin = place = origin()
        if place is not None and place[2].is_immediate and _says_something(node):
            flush([node], device)
        else:
            enforce_budget(storage)
    return storage


def _says_something(node: Node) -> bool:
    """Whether computing a node can meet a condition: itself, or a step recorded with it."""
    return bool(can_meet(node)) or any(
        src.origin is None and src.buffer is None and _says_something(src) for src in node.srcs
    )


def write(storage: Storage, version: Callable[[Node], Node]) -> None:
    """Make `version(current node)` what readers of `storage` see from now on. Threads that write
    different parts of one array at once lose nothing.

    The budget is asked of the version before: the written value is still in the caller's hands
    here, and running the write now would have to keep the old memory for it.
    """
    place = origin()
    if storage.node.buffer is None:
        enforce_budget(storage)
    with session.flush_lock:
        node = version(storage.current())
        node.origin = place
        storage.replace(node)
    if place is not None and place[2].is_immediate:
        flush([node], storage.device)


def enforce_budget(storage: Storage) -> None:
    """Cut the trace: run what is pending when it is too deep or keeps too much dead memory
    alive."""
    node = storage.node
    if node.depth < 2:
        return
    options = config.current()
    if node.depth > options.max_pending_nodes:
        flush([node], storage.device)
    elif node.held > min(_SMALL, options.max_pending_bytes) and _holds_too_much(
        node, options.max_pending_bytes
    ):
        flush([node], storage.device)


#: Bytes under an operation from which it is worth asking how many of them nobody else needs.
_SMALL = 3 << 20
#: Dead inputs, in units of the result, that pending operations may keep alive.
_HELD_RESULTS = 3
#: Nodes looked at in one question.
_HELD_WALK = 1024
#: Nodes that each recorded operation may add to the questions, on average: a program of stencils
#: reaches the bound, which counts every path, at each step.
_HELD_WALK_EACH = 32


class _Credit(threading.local):
    """Nodes that the next question of this thread may look at; below zero it is not asked."""

    nodes = 0


_credit = _Credit()


def _holds_too_much(node: Node, limit: int) -> bool:
    """Whether pending operations alone keep inputs alive:
    more than the limit, or several times their result.

    The answer no resets the node's bound to the dead bytes found,
    so that the question is not asked at every step.
    """
    allowed = max(min(limit, _HELD_RESULTS * node.nbytes), min(_SMALL, limit))
    if node.held <= allowed:
        return False
    _credit.nodes = min(_credit.nodes + _HELD_WALK_EACH, _HELD_WALK_EACH)
    if _credit.nodes < 0:
        return False
    dead, stack = 0, [node]
    seen: set[Node] = set()
    while stack and len(seen) < _HELD_WALK:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.buffer is not None:
            dead += 0 if current.is_held else current.nbytes
        else:
            stack.extend(current.srcs)
    _credit.nodes -= len(seen)
    node.held = dead
    return dead >= allowed


def flush(nodes: Sequence[Node], device: str) -> None:
    """Compute nodes: afterwards each has its buffer.
    Nodes that live on and are dear are stored as well.

    Raises MemoryError when there is no memory; the trace is kept then. Gives the warnings of
    floating point conditions that operations met, at the lines that recorded them, or raises
    FloatingPointError, as `np.errstate` said there: the nodes have their buffers then, too.
    """
    with session.flush_lock:
        wanted = [node for node in dict.fromkeys(nodes) if node.buffer is None]
        if not wanted:
            return
        graph = Graph(wanted)
        kept = _kept(graph)
        if kept:
            graph = Graph([*wanted, *kept])
        findings = _run(graph, device)
    for finding in findings:
        tell(*finding)


def _kept(graph: Graph) -> list[Node]:
    """Operations inside that are stored as well: dear ones whose array is still held, and those
    that are computed again (they were inside an earlier run): the topmost of these."""
    kept: dict[Node, None] = {}
    for node in graph.nodes:
        if not node.seen:
            kept.update((src, None) for src in node.srcs if src.seen and not _is_free(src))
        if node.is_held and not _is_free(node) and _is_dear(node):
            kept[node] = None
    return [node for node in kept if node not in graph.outputs]


def _is_free(node: Node) -> bool:
    """Whether a node needs no computation of its own."""
    return is_leaf(node) or isinstance(node, View | Fill)


#: Pending operations under an array from which it is stored when a run passes it: about the cost
#: of a store and a load (schedule/cost.py).
_DEEP = 32


def _is_dear(node: Node) -> bool:
    """Whether recomputing a node costs more than keeping it."""
    if node.depth > _DEEP:
        return True
    return isinstance(node, Reduce | Scan | Opaque | Update) or (
        isinstance(node, Map) and node.op.ulp > 0
    )


def _run(graph: Graph, device: str) -> list[Finding]:
    options = config.current()
    backend = session.backend(device)
    leaves = [node for node in graph.nodes if node.buffer is not None]
    constants = [node for node in graph.nodes if isinstance(node, Const)]
    plan = plan_for(graph, options, device)
    buffers: list[Buffer] = [node.buffer for node in leaves]
    scalars: list[Any] = [node.value for node in constants]
    dying: set[Node] | None = None

    def is_dead(leaf: int) -> bool:
        nonlocal dying
        if leaves[leaf].is_held:
            return False
        if dying is None:
            dying = dead_leaves(graph)
        return leaves[leaf] in dying

    executor = Executor(plan, backend, options, scalars, is_dead)
    results = executor.run(buffers)
    findings = _findings(graph, leaves, results, executor)
    _mark_shared(results)
    for node in graph.nodes:
        node.seen = True
    for node, buffer in zip(graph.outputs, results, strict=True):
        node.attach(buffer)
    return findings


def _findings(
    graph: Graph, leaves: list[Node], results: list[Buffer], executor: Executor
) -> list[Finding]:
    """What a run that is over has to say about floating point conditions."""
    mode = executor.options.float_errors
    met = ALL if mode == "check" else executor.conditions
    if not met or mode == "off":
        return []
    backend = executor.backend

    def memory() -> dict[Node, np.ndarray]:
        known = {leaf: leaf.buffer for leaf in leaves}
        known.update(zip(graph.outputs, results, strict=True))
        return {node: host_array(node, buffer, backend) for node, buffer in known.items()}

    lost = {leaves[slot] for slot in executor.overwritten if slot < len(leaves)}
    return find(graph, met, memory=memory, lost=lost)


def _mark_shared(buffers: Sequence[Buffer]) -> None:
    """Memory that two results have, because they are equal operations,
    is never written in place."""
    seen: set[int] = set()
    for buffer in buffers:
        if id(buffer) in seen:
            buffer.exclusive = False
        seen.add(id(buffer))


def plan_for(graph: Graph, options: Options, device: str) -> Plan:
    """The plan of a graph: a known one of this structure, else made now."""
    key = plan_key(graph, options, device)
    found = session.plans.get(key)
    if found is not None:
        events.add(plan_hits=1)
        return found
    made = make_plan(graph, options, session.backend(device))
    events.add(plans_built=1)
    session.plans.put(key, made, session.PLANS)
    return made


def plan_key(graph: Graph, options: Options, device: str) -> tuple[object, ...]:
    """The structure of a graph: two graphs of one key run by one plan.
    Library calls are equal by their function."""
    number = {node: position for position, node in enumerate(graph.nodes)}
    lines = tuple(
        [
            (node.signature, *[number[src] for src in node.srcs])
            if node.buffer is None
            else (node.shape, node.dtype, node.strides)
            for node in graph.nodes
        ]
    )
    return lines, tuple(number[node] for node in graph.outputs), options, device


def dead_leaves(graph: Graph) -> set[Node]:
    """Memory leaves that nobody can read after this run:
    no array holds them, and every reader goes away.

    A reader goes away when it is computed now, or when nobody holds it and its own readers all go
    away.
    """
    readers = graph.users()
    outputs = set(graph.outputs)
    survives: dict[Node, bool] = {}
    for node in reversed(graph.nodes):
        known = readers[node]
        held = node.is_held or node.users > len(known)
        stays = held or any(survives[reader] for reader in known if reader not in outputs)
        survives[node] = stays
    return {node for node in graph.nodes if node.buffer is not None and not survives[node]}
