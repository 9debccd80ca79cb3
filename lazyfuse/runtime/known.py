"""What is kept of a structure that has been planned, and of its memory what a run may reuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazyfuse import events
from lazyfuse.collecting import uncollected
from lazyfuse.config import Options
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Node
from lazyfuse.ir.plan import Plan
from lazyfuse.runtime import session
from lazyfuse.runtime.alike import Alike, verify_alike
from lazyfuse.runtime.plans import make_plan
from lazyfuse.runtime.shape_class import ShapeClass, shape_class
from lazyfuse.runtime.trace import Trace

#: Structures of a class that are remembered.
_MOST_ASKED = 256


@dataclass(slots=True, eq=False)
class Known:
    """A plan, and where in a trace of its structure its leaves and scalars stand.

    runs: by Python. ready: what machine code runs (`ready.py`), None as long as there is nothing,
    for ever where `is_unfit`. repeats: what runs on a GPU instead of the executor (`repeats.py`),
    None for nothing; before that is known, the number of runs. queued: what replays it there
    (`queued.py`), empty for nothing, None before that is known. numpys_ns: the least that NumPy
    takes, None before that is asked. follows: from the plans of others of its shape class.
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
    numpys_ns: float | None = None
    follows: bool = False


def known_plan(pending: Trace, options: Options, device: str) -> Known | None:
    """The plan of this structure: a known one, else made now. None as for `planned`."""
    key = (pending.structure, options, device)
    found: Known | None = session.plans.get(key)
    if found is not None:
        events.add_plan_hit()
        return found
    return planned(pending, key)


def planned(pending: Trace, key: tuple[object, Options, str]) -> Known | None:
    """The plan of a structure that has none: it follows from others of its shape class, or is made
    now. It is kept under the key; of those that follow, which are soon had again, what is asked
    for a second time. None for a trace that is stale, whose graph is another one by now."""
    structure, options, device = key
    own = shape_class(pending)
    if own is None:
        made = _made(pending, options, device)
        return None if made is None else kept(made, key)
    relatives = _relatives(own, options, device)
    found = relatives.known(own)
    if found is not None and not options.check:
        return kept(found, key) if relatives.is_second(structure) else found
    made = _made(pending, options, device)
    if made is None:
        return None
    if found is None:
        relatives.add(made, own)
    else:
        verify_alike(found.plan, made.plan)
    return kept(made, key)


def kept(found: Known, key: tuple[object, Options, str]) -> Known:
    """Keep a plan under a key."""
    if len(session.plans) >= session.PLANS:
        session.plans.clear()
        session.ready.clear()
    session.plans[key] = found
    return found


def _made(pending: Trace, options: Options, device: str) -> Known | None:
    """A plan that is made, or read from disk; None for a trace that is stale."""
    try:
        made = uncollected(make_plan, pending, options, session.backend(device))
    except Exception as error:
        if pending.is_stale and not is_interrupt(error):
            return None
        raise
    # code of the user may have run: what was a leaf before may not be one now
    return None if pending.is_stale else Known(*made, device)


class _Relatives:
    """The plans of a shape class."""

    __slots__ = ("_first", "_alike", "_asked")

    def __init__(self) -> None:
        self._first: Known | None = None
        self._alike: Alike | None = None
        self._asked: set[int] = set()

    def known(self, own: ShapeClass) -> Known | None:
        """The plan of one more trace of the class, where it follows from others."""
        first, alike = self._first, self._alike
        plan = None if alike is None else alike.plan(own.numbers)
        if plan is None or first is None:
            return None
        events.add(plans_alike=1)
        return Known(plan, first.leaves, first.constants, first.device, follows=True)

    def is_second(self, structure: object) -> bool:
        """Whether a structure has been asked for before."""
        mark = hash(structure)
        if mark in self._asked:
            return True
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        self._asked.add(mark)
        return False

    def add(self, made: Known, own: ShapeClass) -> None:
        """A plan of the class has been made."""
        if self._alike is None:
            self._first, self._alike = made, Alike(made.plan, own.numbers, own.sizes)
        else:
            self._alike.add(made.plan, own.numbers)


def _relatives(own: ShapeClass, options: Options, device: str) -> _Relatives:
    key = (own.key, options, device)
    found: _Relatives | None = session.relatives.get(key)
    if found is None:
        if len(session.relatives) >= session.PLANS:
            session.relatives.clear()
        found = session.relatives.setdefault(key, _Relatives())
    return found


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
