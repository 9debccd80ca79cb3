"""The plan of a trace: kept on disk by an earlier process, or made now.

The planner is imported when a plan is made: with its passes and schedules it is a fifth of what
there is to import, and many programs need none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from lazyfuse import events
from lazyfuse.backends.base import Backend
from lazyfuse.cache.disk import DiskCache
from lazyfuse.cache.plans import (
    UnwritableError,
    dumped,
    dumped_parts,
    loaded,
    loaded_parts,
    plan_name,
)
from lazyfuse.config import Options
from lazyfuse.interrupts import is_interrupt, meanwhile
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.node import Const, Node, Opaque
from lazyfuse.ir.plan import Launch, Plan
from lazyfuse.runtime import session
from lazyfuse.runtime.session import disk_cache, kernels, loaded_key
from lazyfuse.runtime.trace import Trace


class Placed(NamedTuple):
    """A plan, and where in a trace of its structure its leaves and scalars stand."""

    plan: Plan
    leaves: tuple[int, ...]
    constants: tuple[int, ...]


def make_plan(pending: Trace, options: Options, backend: Backend) -> Placed:
    """Plan the evaluation of the outputs of a trace.
    Leaf slots follow the order of memory leaves in its graph."""
    if not _is_kept(pending, options, backend):
        return _placed(pending, options, backend)
    disk = disk_cache(options.cache_dir)
    name = plan_name(pending.structure, options, backend.fingerprint)
    content = disk.read(name)
    if content is not None:
        try:
            leaves, constants, plan = loaded_parts(content)
            found = Placed(loaded(plan), leaves, constants)
        except Exception as error:  # whatever damaged content leads to: the plan is made anew
            if is_interrupt(error):
                raise
            disk.remove(name)
        else:
            events.add(plans_loaded=1)
            return found
    made = _placed(pending, options, backend)
    if _needs_kernels(made.plan, backend) and not pending.is_stale:
        meanwhile(lambda: _write(disk, name, made))  # at the latest when they are there
    return made


def _placed(pending: Trace, options: Options, backend: Backend) -> Placed:
    """The plan of a trace that is made now."""
    graph = pending.graph()
    plan = made_now(graph, options, backend)
    place = {_identity(node): number for number, node in enumerate(pending.nodes)}
    scalars = [_identity(node) for node in graph.nodes if isinstance(node, Const)]
    leaves = tuple([place[node] for node in graph.nodes if node.buffer is not None])
    return Placed(plan, leaves, tuple([place[scalar] for scalar in dict.fromkeys(scalars)]))


def _identity(node: Node) -> object:
    """What tells the nodes of a trace apart."""
    return node.identity if isinstance(node, Const) else node


def _write(disk: DiskCache, name: str, made: Placed) -> None:
    with suppress(UnwritableError):
        disk.write(name, dumped_parts(made.leaves, made.constants, dumped(made.plan)))


def is_on_disk(pending: Trace, options: Options, device: str) -> bool:
    """Whether an earlier process has left the plan of a trace."""
    backend = session.backend(device)
    if not _is_kept(pending, options, backend):
        return False
    name = plan_name(pending.structure, options, backend.fingerprint)
    return disk_cache(options.cache_dir).has(name)


def _needs_kernels(plan: Plan, backend: Backend) -> bool:
    """Whether kernels of a plan are not there yet. Plans of kernels that are there, as for ever
    new sizes, are made in less time than a file."""
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    return any(loaded_key(step.kernel, backend) not in kernels for step in launches)


def _is_kept(pending: Trace, options: Options, backend: Backend) -> bool:
    """Whether a plan is one for other processes: not where all stages are to be verified, nor
    where a function is part of the structure."""
    if not options.disk_cache or options.check or not getattr(backend, "keeps_plans", False):
        return False
    return not any(type(node) is Opaque and node.buffer is None for node in pending.nodes)


def made_now(graph: Graph, options: Options, backend: Backend) -> Plan:
    """The plan of a graph, whatever is kept."""
    from lazyfuse.runtime import planner

    events.add(plans_built=1)
    return planner.make_plan(graph, options, backend)
