"""Graph -> Schedule: what is stored, and which stored results share a kernel.

    schedule(graph, limits) -> Schedule(groups in running order, refusals)

Grouping is repeated while it shows that a value is computed in several kernels and would be
cheaper to store.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from lazyfuse.ir.expression import Read, Term
from lazyfuse.ir.graph import Graph, is_leaf, memory_of, topological
from lazyfuse.ir.group import Group, collapses
from lazyfuse.ir.node import Map, Node, Reduce
from lazyfuse.ir.plan import Refusal, WhyNot
from lazyfuse.ops.shapes import size_of
from lazyfuse.schedule import cost
from lazyfuse.schedule.fusion import Limits, fuse, has_run, join_alone
from lazyfuse.schedule.hazards import torn_values
from lazyfuse.schedule.stores import required_stores

#: Rounds of grouping; each stores what the round before would have computed several times.
ROUNDS = 4


class Schedule(NamedTuple):
    """`outputs` are the stored results that somebody outside their own kernel reads."""

    groups: list[Group]
    refusals: list[Refusal]
    outputs: frozenset[Node]


def schedule(graph: Graph, limits: Limits) -> Schedule:
    """Decide stores and groups."""
    extra: set[Node] = set()
    refusals: list[Refusal] = []
    for _ in range(ROUNDS):
        stored = required_stores(
            graph,
            extra,
            fusion=limits.fusion,
            max_ops=limits.max_ops,
            max_args=limits.max_args,
        )
        if limits.exact_order:
            scattered = [
                node
                for node in stored
                if isinstance(node, Reduce) and _is_scattered(node, stored, limits)
            ]
            if scattered:
                refusals += [Refusal(node.srcs[0], node, WhyNot.ORDER_CLASS) for node in scattered]
                extra |= {memory_of(node.srcs[0]) for node in scattered}
                continue
        torn = torn_values(stored, limits) - extra
        if torn:
            refusals += [
                Refusal(node, node, WhyNot.HAZARD) for node in graph.nodes if node in torn
            ]
            extra |= torn
            continue
        groups, refused = fuse(stored, limits)
        repeated = _repeated(graph, groups, stored) | _broadcast(groups, stored, limits)
        if not repeated - extra:
            break
        extra |= repeated
        refusals += [
            Refusal(node, node, WhyNot.RECOMPUTE_COST) for node in graph.nodes if node in repeated
        ]
    return Schedule(groups, refusals + refused, _outputs(graph, groups))


def _is_scattered(node: Reduce, stored: dict[Node, None], limits: Limits) -> bool:
    """Whether the run of a pairwise sum would jump: its operand has to be stored densely first."""
    src = memory_of(node.srcs[0])
    if not has_run(node) or src in stored or is_leaf(src):
        return False
    alone = join_alone(node, stored, limits)
    runs = node.order.axes[-node.order.run_axes :]
    return not collapses(list(alone.expression.accesses), alone.shape, runs)


def _repeated(graph: Graph, groups: list[Group], stored: dict[Node, None]) -> set[Node]:
    """Unstored nodes that are computed several times, in several kernels or at several places of
    one, although storing them is cheaper. Those that are only inside of such go with them.

    The lowest are looked at first, so that the others cost what they cost then: in a loop of time
    steps each step is such a node, and computes those before it.
    """
    counts = [Counter(term.node for term in group.terms) for group in groups]
    places = Counter(term.node for group in groups for term in group.terms)
    shared: set[Node] = {
        node
        for node, count in places.items()
        if count > 1 and isinstance(node, Map) and node not in stored
    }
    if not shared:
        return set()
    wanted = _not_inside(groups, shared, places)
    several: dict[Node, list[Group]] = {node: [] for node in wanted}
    for group, count in zip(groups, counts, strict=True):
        for node in wanted & count.keys():
            if count[node] > 1:
                several[node].append(group)
    known: set[Node] = set(stored)
    found: set[Node] = set()
    for node in graph.nodes:
        if node in wanted:
            each = _tree_cost(node, known)
            if cost.is_expensive(each) or any(
                cost.is_expensive(_waste(node, group, each)) for group in several[node]
            ):
                found.add(node)
                known.add(node)
    return found


def _broadcast(groups: list[Group], stored: dict[Node, None], limits: Limits) -> set[Node]:
    """What follows from reductions (a mean from a sum), in kernels of more elements that are not
    the reductions' own: those can compute it once, the others would for every element."""
    found: set[Node] = set()
    for group in groups:
        inside = {term.node for term in group.terms}
        pairs = ((memory_of(src), reader) for reader in inside for src in reader.srcs)
        for own, reader in pairs:
            is_kept = own in stored or own in found or own not in inside
            if is_kept or not isinstance(own, Map) or size_of(own.shape) >= size_of(reader.shape):
                continue
            below = topological([own], stop=stored)
            apart = [
                node for node in below if isinstance(node, Reduce) and node not in group.roots
            ]
            each = sum(cost.map_cost(node) for node in below if node not in stored)
            if apart and cost.is_repeated_result(
                own, reader, each, last=apart[-1], hoists_scalars=limits.exact_order
            ):
                found.add(own)
    return found


def _not_inside(groups: list[Group], nodes: set[Node], places: Counter[Node]) -> set[Node]:
    """Those nodes that are not only read by others of them, each at its own places: what is read
    besides, and what is computed at more places than any of its readers, as in stencils."""
    found: set[Node] = set()
    most: Counter[Node] = Counter()
    for group in groups:
        for expression in group.expressions.values():
            found.update(root.node for root in expression.roots if isinstance(root, Term))
            for term, operands in expression.operands.items():
                inside = [each.node for each in operands if isinstance(each, Term)]
                if term.node not in nodes:
                    found.update(inside)
                for node in inside:
                    most[node] = max(most[node], places[term.node])
    return {node for node in nodes if node in found or places[node] > most[node]}


def _waste(node: Node, group: Group, tree_cost: float) -> float:
    """What a kernel that computes a node at several places computes and loads more than one that
    reads it there: a filter of a filter, which is better run in two passes."""
    operands = {t: own for each in group.expressions.values() for t, own in each.operands.items()}
    loads: list[set[Read]] = []
    for place in (term for term in group.terms if term.node is node):
        seen: set[Term | Read] = set()
        stack: list[Term | Read] = [place]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(operands.get(current, ()) if isinstance(current, Term) else ())
        loads.append({each for each in seen if isinstance(each, Read)})
    more = len(set().union(*loads)) - max(map(len, loads)) - len(loads)
    return tree_cost * (len(loads) - 1) + cost.LOAD_COST * max(more, 0)


def _tree_cost(node: Node, stored: set[Node]) -> float:
    """Cost of computing a node from memory once."""
    below = topological([node], stop=stored)
    return sum(cost.map_cost(each) for each in below if each not in stored)


def _outputs(graph: Graph, groups: list[Group]) -> frozenset[Node]:
    """Results that must reach memory: outputs of the graph and operands of other groups."""
    read = {node for group in groups for node in group.reads if node not in group.roots}
    wanted = read | set(graph.outputs)
    written = {
        root for group in groups for root in group.roots if root.kind in ("update", "opaque")
    }
    return frozenset(
        root for group in groups for root in group.roots if root in wanted or root in written
    )
