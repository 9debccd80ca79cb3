"""Graph -> Graph: the passes, in the order in which they run.

Each is one function of its file's name; it returns the same graph when it changes nothing, and
runs on any verified graph. `options(passes="none")` leaves all out, `"-simplify,-dedup"` some;
`runs` is not optional on a CPU, since the scheduler relies on it.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyfuse.ir.graph import Graph
from lazyfuse.passes.apart import apart
from lazyfuse.passes.dedup import dedup
from lazyfuse.passes.fills import fills
from lazyfuse.passes.pieces import pieces
from lazyfuse.passes.runs import runs
from lazyfuse.passes.simplify import simplify
from lazyfuse.passes.views import views

GRAPH_PASSES: tuple[Callable[[Graph], Graph], ...] = (
    fills,
    pieces,
    dedup,
    simplify,
    views,
    apart,
    runs,
)


def run_passes(graph: Graph, selection: str) -> Graph:
    """Run the selected passes. Raises ValueError for a name that is no pass."""
    skipped = _skipped(selection)
    for function in GRAPH_PASSES:
        if function.__name__ not in skipped:
            graph = function(graph)
    return graph


def _skipped(selection: str) -> set[str]:
    names = {function.__name__ for function in GRAPH_PASSES} - {"runs"}
    if selection == "all":
        return set()
    if selection == "none":
        return names
    skipped = {item.strip().removeprefix("-") for item in selection.split(",")}
    if not skipped <= names or not all(
        item.strip().startswith("-") for item in selection.split(",")
    ):
        raise ValueError(
            f"option passes: {selection!r}; write all, none, or -name of {sorted(names)}"
        )
    return skipped
