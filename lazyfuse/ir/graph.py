"""Graphs: the pending nodes under some outputs, in an order in which operands come first.

All walks over user graphs are here, and none recurses:
a chain of 100,000 operations is an ordinary input.

    >>> print(graph_text(graph))                                   # doctest: +SKIP
    n0 = source f8[4]
    n1 = const f8[]
    n2 = multiply f8[4] n0 n1
    return n2
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from lazyfuse.ir.node import Const, Node, Scan, Update, View


class Graph:
    """`nodes` in topological order, leaves included; `outputs` are to be stored.

    A leaf has no operands to compute: memory (a buffer is attached) or a Const.
    """

    __slots__ = ("nodes", "outputs")

    def __init__(self, outputs: Sequence[Node]) -> None:
        self.outputs = tuple(outputs)
        self.nodes = topological(outputs)

    def users(self) -> dict[Node, list[Node]]:
        """Which nodes read each node, once per operand."""
        users: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for src in operands_of(node):
                users[src].append(node)
        return users

    def rewrite(
        self, function: Callable[[Node, tuple[Node, ...]], Node], *, merges: bool = False
    ) -> Graph:
        """Rebuild bottom up: `function(node, new operands)` gives the new node.
        The same graph if nothing changed. `merges`: new nodes are copies, or one of several that
        are equal, so that all of them are in the new graph, in the order of these."""
        new: dict[Node, Node] = {}
        changed = False
        for node in self.nodes:
            srcs = tuple([new[src] for src in operands_of(node)])
            new[node] = made = function(node, srcs)
            changed = changed or made is not node
        if not changed:
            return self
        outputs = [new[node] for node in self.outputs]
        return _ordered(outputs, [*dict.fromkeys(new.values())]) if merges else Graph(outputs)


def _ordered(outputs: Sequence[Node], nodes: list[Node]) -> Graph:
    """The graph of outputs whose nodes are in order."""
    made = object.__new__(Graph)
    made.outputs, made.nodes = tuple(outputs), nodes
    return made


def operands_of(node: Node) -> tuple[Node, ...]:
    """What computing a node needs. One that has its memory may still have operands, where an
    interrupt came before it let them go."""
    return node.srcs if node.buffer is None else ()


def memory_of(node: Node) -> Node:
    """The node whose memory holds this one: views own none."""
    while isinstance(node, View) and node.buffer is None:
        node = node.srcs[0]
    return node


def is_leaf(node: Node) -> bool:
    """Memory that exists, or a scalar."""
    return node.buffer is not None or isinstance(node, Const)


def topological(outputs: Iterable[Node], stop: Collection[Node] = ()) -> list[Node]:
    """Operands before users, each node once, in the order of a depth-first walk;
    nothing below `stop`."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[Node | None] = [*outputs]
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:  # the operands of the node below are done
            order.append(stack.pop())  # type: ignore[arg-type]  # None stands above a node
            continue
        if node in seen:
            continue
        seen.add(node)
        if not node.srcs or node.buffer is not None or node in stop:
            order.append(node)
            continue
        stack += (node, None)
        stack += node.srcs[::-1]
    return order


def rebuilt(node: Node, srcs: tuple[Node, ...]) -> Node:
    """The node itself when its operands are unchanged, else the same operation on the new ones."""
    return node if srcs == node.srcs else node.with_srcs(srcs)  # nodes are equal by identity


def graph_text(graph: Graph) -> str:
    """The graph for people and golden tests."""
    names = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = []
    for node in graph.nodes:
        operands = "".join(f" {names[src]}" for src in node.srcs) if node.buffer is None else ""
        kind = "source" if node.buffer is not None else label(node)
        shape = ",".join(map(str, node.shape))
        lines.append(f"{names[node]} = {kind} {node.dtype}[{shape}]{operands}")
    lines.append("return " + " ".join(names[node] for node in graph.outputs))
    return "\n".join(lines)


def label(node: Node) -> str:
    """The name of what a node does."""
    op = getattr(node, "op", None)
    if isinstance(node, Scan):
        return f"scan.{node.op.name}[{node.axis}]"
    if op is not None:
        axes = getattr(node, "axes", None)
        return f"{op.name}" if axes is None else f"reduce.{op.name}{list(axes)}"
    if isinstance(node, Update) and node.index is not None:
        return "scatter"
    return getattr(node, "name", node.kind)
