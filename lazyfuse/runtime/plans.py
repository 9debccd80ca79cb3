"""Making plans, by a planner that is imported when the first one is made: programs on small arrays
make none, and the planner with its passes and schedules is a fifth of what there is to import."""

from __future__ import annotations

from lazyfuse.backends.base import Backend
from lazyfuse.config import Options
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.plan import Plan


def make_plan(graph: Graph, options: Options, backend: Backend) -> Plan:
    """Plan the evaluation of `graph.outputs`.
    Leaf slots follow the graph's order of memory leaves."""
    from lazyfuse.runtime import planner

    return planner.make_plan(graph, options, backend)
