"""What is kept of a structure that has been planned, and of its memory what a run may reuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazyfuse import events
from lazyfuse.collecting import uncollected
from lazyfuse.config import Options
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Const, Node
from lazyfuse.ir.plan import Plan
from lazyfuse.runtime import session
from lazyfuse.runtime.plans import make_plan
from lazyfuse.runtime.trace import Trace


@dataclass(slots=True, eq=False)
class Known:
    """A plan, and where in a trace of its structure its leaves and scalars stand.

    runs: by Python. ready: what machine code runs (`ready.py`), None as long as there is nothing,
    for ever where `is_unfit`. repeats: what runs on a GPU instead of the executor (`repeats.py`),
    None for nothing; before that is known, the number of runs. queued: what replays it there
    (`queued.py`), empty for nothing, None before that is known.
    """

    plan: Plan
    leaves: tuple[int, ...]
    constants: tuple[int, ...]
    device: str
    runs: int = 0
    ready: Any = None
    is_unfit: bool = False
    repeats: Any = 0
    queued: Any = None


def known_plan(pending: Trace, options: Options, device: str) -> Known | None:
    """The plan of this structure: a known one, else made now. None as for `planned`."""
    key = (pending.structure, options, device)
    found: Known | None = session.plans.get(key)
    if found is not None:
        events.add_plan_hit()
        return found
    return planned(pending, key)


def planned(pending: Trace, key: tuple[object, Options, str]) -> Known | None:
    """The plan of a structure that has none, kept under its key; None for a trace that is stale,
    whose graph is another one by now."""
    _, options, device = key
    graph = pending.graph()
    try:
        plan = uncollected(make_plan, pending, options, session.backend(device))
    except Exception:
        if pending.is_stale:
            return None
        raise
    place = {_identity(node): number for number, node in enumerate(pending.nodes)}
    scalars = [_identity(node) for node in graph.nodes if isinstance(node, Const)]
    found = Known(
        plan,
        tuple(place[node] for node in graph.nodes if node.buffer is not None),
        tuple(place[scalar] for scalar in dict.fromkeys(scalars)),
        device,
    )
    if pending.is_stale:  # code of the user has run: what was a leaf above may not be one below
        return None
    if len(session.plans) >= session.PLANS:
        session.plans.clear()
        session.ready.clear()
    session.plans[key] = found
    return found


def _identity(node: Node) -> object:
    """What tells the nodes of a trace apart."""
    return node.identity if isinstance(node, Const) else node


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
