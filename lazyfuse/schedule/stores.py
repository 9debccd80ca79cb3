"""Chooses which nodes are stored before grouping: those that no kernel could hand on otherwise.

stored = outputs, reductions, scans, updates, library calls and their operands, nodes under views
         that are not affine, steps of loops that several kernels would compute, expensive nodes
         that a broadcast would repeat, values read at other places inside of each other, and cuts
         through expressions that grow too large
"""

from __future__ import annotations

from lazyfuse.ir.blank import Blank
from lazyfuse.ir.graph import Graph, is_leaf, memory_of, topological
from lazyfuse.ir.layout import index_map
from lazyfuse.ir.node import Const, Fill, Gather, Map, Node, Opaque, Reduce, Scan, Update, View
from lazyfuse.ops.shapes import size_of
from lazyfuse.schedule import cost


def required_stores(
    graph: Graph, extra: set[Node], *, fusion: bool, max_ops: int, max_args: int
) -> dict[Node, None]:
    """The nodes that must be stored, in topological order; `extra` are asked for by the caller."""
    stored = {memory_of(node) for node in (*graph.outputs, *extra)}
    for node in graph.nodes:
        if is_leaf(node) or fusion and type(node) is Map:  # which most nodes are
            continue
        if isinstance(node, Reduce | Scan | Update | Opaque) or (
            not fusion and isinstance(node, Map | Fill | Gather)
        ):
            stored.add(node)
        if isinstance(node, Opaque):
            stored.update(memory_of(src) for src in node.srcs)
        if isinstance(node, View) and _is_not_affine(node):
            stored.add(memory_of(node))
        if isinstance(node, Update | Gather):
            stored.add(memory_of(node.srcs[0]))
    if fusion:
        _store_steps(graph, stored)
    if any(_reads_elsewhere(node) for node in graph.nodes):
        _store_broadcasts(graph, stored)
        _store_nested(graph, stored)
    _cut_large(graph, stored, max_ops, max_args)
    return {
        node: None
        for node in graph.nodes
        if node in stored and not is_leaf(node) and not isinstance(node, View | Blank)
    }


def _is_not_affine(view: View) -> bool:
    src = view.srcs[0]
    return not is_leaf(src) and index_map(view.layout, src.shape, src.strides) is None


def _store_steps(graph: Graph, stored: set[Node]) -> None:
    """Store what several kernels would compute, each from the beginning, where that is expensive:
    steps of a loop that each need a reduction of the step before. Grouping finds the same
    (`schedule._repeated`), after it has looked at all steps in each kernel, again and again."""
    reductions = sum(isinstance(node, Reduce) for node in stored)
    several = _in_several_kernels(graph, stored) if reductions > cost.FEW_STEPS else None
    if not several:
        return
    #: What computes a node from memory; None for what is expensive.
    inside: dict[Node, frozenset[Node] | None] = {}
    for node in graph.nodes:
        if is_leaf(node) or node in stored:
            inside[node] = frozenset()
            continue
        below = [inside[src] for src in node.srcs]
        whole = frozenset((node,)).union(*(each for each in below if each is not None))
        is_expensive = None in below or cost.is_expensive_step(sum(map(cost.map_cost, whole)))
        inside[node] = None if is_expensive else whole
        if is_expensive and node in several and isinstance(node, Map):
            stored.add(node)
            inside[node] = frozenset()


def _in_several_kernels(graph: Graph, stored: set[Node]) -> set[Node]:
    """The values of more than one element that a kernel needs, and a later one needs beside what
    was not there before, if `stored` is all that is stored."""
    kernel = _kernels(graph)
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}  # of those that read a node, itself or by what no earlier one needs
    for node in reversed(graph.nodes):
        if is_leaf(node):
            continue
        own = kernel[node]
        if node in stored:
            first[node] = own
        elif node not in first:
            continue  # a part of one that is stored
        elif isinstance(node, View) or first[node] > own:
            own = last[node]
        for src in node.srcs:
            first[src] = min(first.get(src, first[node]), first[node])
            last[src] = max(last.get(src, own), own)
    return {
        node
        for node, number in last.items()
        if number > kernel[node]
        and number > first[node]
        and node not in stored
        and size_of(node.shape) > 1
    }


def _kernels(graph: Graph) -> dict[Node, int]:
    """How many kernels have to be done before the one that computes a node."""
    kernel: dict[Node, int] = {}
    ready: dict[Node, int] = {}  # phases before it can be read, counted through all kernels
    along: dict[Node, tuple[int, ...]] = {}  # the axes of reductions before it in its kernel
    for node in graph.nodes:
        begin = 0 if is_leaf(node) else max((ready[src] for src in node.srcs), default=0)
        own = kernel[node] = begin // cost.MOST_PHASES
        found = {along[src] for src in node.srcs if src in along and kernel[src] == own}
        if isinstance(node, Reduce) and not is_leaf(node):
            found.add(node.axes)
        if len(found) > 1:  # kernels fold along the same axes
            begin = (own + 1) * cost.MOST_PHASES
            own = kernel[node] = own + 1
            found = {node.axes} if isinstance(node, Reduce) else set()
        along.update((node, axes) for axes in found)
        ready[node] = begin
        if is_leaf(node):
            continue
        if isinstance(node, Reduce) and _shares_phases(node):
            most = cost.most_phases(node.axes, node.srcs[0].shape)
            ready[node] = begin + cost.MOST_PHASES // most
        elif isinstance(node, Reduce | Scan | Opaque | Update):
            ready[node] = (own + 1) * cost.MOST_PHASES
    return kernel


def _shares_phases(node: Reduce) -> bool:
    outer = size_of(node.shape)
    return cost.may_share_phases(outer, size_of(node.srcs[0].shape) // max(outer, 1))


def _reads_elsewhere(node: Node) -> bool:
    """Whether a node reads what is pending at other places than its own."""
    for src in node.srcs:
        if (src.shape != node.shape or isinstance(src, View)) and not is_leaf(memory_of(src)):
            return not is_leaf(node)
    return False


def _store_broadcasts(graph: Graph, stored: set[Node]) -> None:
    """Store expensive expressions of memory alone that a broadcast would repeat for every element
    of the result."""
    costs: dict[Node, float] = {}
    for node in graph.nodes:
        costs[node] = 0.0
        if is_leaf(node) or node in stored:
            continue
        below = [costs[src] for src in node.srcs]
        costs[node] = cost.map_cost(node) + sum(below)
        for src in node.srcs:
            if src.shape == node.shape and not isinstance(src, View):
                continue  # nothing is repeated
            own = memory_of(src)
            if own in stored or is_leaf(own) or not isinstance(own, Map):
                continue
            if cost.is_broadcast_waste(own, node, costs[own]) and not _reads_reduction(own):
                stored.add(own)


def _store_nested(graph: Graph, stored: set[Node]) -> None:
    """Store values that are read at other places than their reader's, and do so themselves, and so
    on: stencils of stencils, or the steps of Floyd and Warshall. A kernel would compute each of
    them at every place that is met, of which there are more with each step."""
    depth: dict[Node, int] = {}  # of what computes a node
    for node in graph.nodes:
        depth[node] = 0
        if is_leaf(node):
            continue
        for src in node.srcs:
            own = memory_of(src)
            if own in stored or is_leaf(own) or size_of(own.shape) <= 1:
                continue
            moves = isinstance(src, View) or src.shape != node.shape
            if moves and depth[own] >= cost.MOST_NESTED and isinstance(own, Map):
                stored.add(own)
            else:
                depth[node] = max(depth[node], depth[own] + moves)


def _reads_reduction(node: Node) -> bool:
    """Whether a pending reduction lies under a node: then it is cheap per kept index."""
    return any(isinstance(each, Reduce) and not is_leaf(each) for each in topological([node]))


def _cut_large(graph: Graph, stored: set[Node], max_ops: int, max_args: int) -> None:
    """Store a node where the expression above the last stores would exceed `max_ops` operations,
    or touch more than `max_args` arrays, its result among them."""
    leaves = sum(is_leaf(node) and not isinstance(node, Const) for node in graph.nodes)
    if cost.body_size(graph.nodes) <= max_ops and leaves < max_args:
        return
    nothing: frozenset[Node] = frozenset()
    inside: dict[Node, frozenset[Node]] = {}
    heavy: dict[Node, frozenset[Node]] = {}  # those of `inside` that count for several
    reads: dict[Node, frozenset[Node]] = {}

    def size(node: Node) -> int:
        return len(inside[node]) + (cost.HEAVY - 1) * len(heavy[node])

    def cut(node: Node) -> None:
        inside[node] = heavy[node] = nothing
        reads[node] = frozenset((node,))

    for node in graph.nodes:
        if is_leaf(node) or isinstance(node, Const):
            cut(node)
            reads[node] = nothing if isinstance(node, Const) else reads[node]
            continue
        own = frozenset((node,))
        while True:
            inside[node] = nothing.union(*(inside[src] for src in node.srcs), own)
            heavy[node] = nothing.union(
                *(heavy[src] for src in node.srcs), own if cost.is_heavy(node) else nothing
            )
            reads[node] = nothing.union(*(reads[src] for src in node.srcs))
            cuttable = [src for src in node.srcs if inside[src]]
            is_large = size(node) > max_ops or len(reads[node]) >= max_args
            if not is_large or not cuttable or not isinstance(node, Map):
                break
            largest = max(cuttable, key=lambda src: size(src) + len(reads[src]))
            stored.add(memory_of(largest))
            cut(largest)
        if node in stored:
            cut(node)
