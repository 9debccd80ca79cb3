"""The order in which operations are evaluated one by one, so that few values are there at a time.

    for day in range(250):
        price = price * np.exp(noise[day])
        highest = np.maximum(highest, price)

A depth-first walk from `price` computes all prices, of which each has to wait for its `highest`:
250 arrays. What is chosen here is about the order in which the program says it.

Source: list scheduling, Graham (1969); to choose by what is live, Goodman and Hsu (1988), "Code
Scheduling and Register Allocation in Large Basic Blocks".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from lazyfuse.ir.graph import is_leaf
from lazyfuse.ir.node import Node, View


def frugal(order: Sequence[Node], kept: Collection[Node]) -> list[Node]:
    """The same nodes, operands before users: next of those that can be is what takes least more
    memory than it frees, of several one that reads what has been computed, and of these what is
    needed the soonest. `kept`: what is not freed."""
    schedule = _Schedule(order, kept)
    found: dict[Node, None] = {}
    while schedule.ready:
        node = order[heappop(schedule.ready)[-1]]
        if node not in found:  # else it has come to free more since it was there first
            found[node] = None
            schedule.take(node)
    return list(found)


class _Schedule:
    """What can be evaluated next, by what makes it the next one. A view takes no memory and frees
    none: who reads it reads the memory that it is of, which is free when nobody does any more."""

    def __init__(self, order: Sequence[Node], kept: Collection[Node]) -> None:
        self._place = {node: number for number, node in enumerate(order)}
        self._srcs = {node: self._operands(node) for node in order}
        self._users = _turned(self._srcs)
        memory = self._memories(order)
        self._nbytes = {node: _own_bytes(node) for node in order}
        self._nbytes.update((memory[node], 0) for node in kept)
        self._reads: dict[Node, set[Node]] = {}
        for node, srcs in self._srcs.items():
            read = () if isinstance(node, View) else map(memory.__getitem__, srcs)
            self._reads[node] = set(filter(self._nbytes.__getitem__, read))
        self._readers = _turned(self._reads)
        self._needed = self._levels(order)
        self._waiting = {node: len(srcs) for node, srcs in self._srcs.items()}
        self.ready = [self._entry(node) for node in order if not self._waiting[node]]
        heapify(self.ready)

    def take(self, node: Node) -> None:
        """A node is evaluated."""
        for user in self._users[node]:
            self._waiting[user] -= 1
            if not self._waiting[user]:
                heappush(self.ready, self._entry(user))
        for src in self._reads[node]:
            left = self._readers[src]
            left.discard(node)
            if len(left) == 1:
                (last,) = left
                if not self._waiting[last]:
                    heappush(self.ready, self._entry(last))

    def _operands(self, node: Node) -> set[Node]:
        return set() if node.buffer is not None else set(node.srcs) & self._place.keys()

    def _memories(self, order: Sequence[Node]) -> dict[Node, Node]:
        """In whose memory each lies."""
        memory: dict[Node, Node] = {}
        for node in order:
            srcs = self._srcs[node] if isinstance(node, View) else ()
            memory[node] = next((memory[src] for src in srcs), node)
        return memory

    def _levels(self, order: Sequence[Node]) -> dict[Node, int]:
        """When each is needed at the latest, as far below a result as the longest way is."""
        levels: dict[Node, int] = {}
        for node in order:
            levels[node] = 1 + max([levels[src] for src in self._srcs[node]], default=0)
        for node in reversed(order):
            levels[node] = min([levels[user] - 1 for user in self._users[node]] or [levels[node]])
        return levels

    def _entry(self, node: Node) -> tuple[int, bool, int, int]:
        read = self._reads[node]
        freed = sum([self._nbytes[src] for src in read if len(self._readers[src]) == 1])
        return self._nbytes[node] - freed, not read, self._needed[node], self._place[node]


def _turned(srcs: Mapping[Node, Collection[Node]]) -> dict[Node, set[Node]]:
    """Who reads each node, of what each reads."""
    users: dict[Node, set[Node]] = {node: set() for node in srcs}
    for node, each in srcs.items():
        for src in each:
            users[src].add(node)
    return users


def _own_bytes(node: Node) -> int:
    """Bytes of memory that a value takes; views and what is there take none."""
    return 0 if is_leaf(node) or isinstance(node, View) else node.nbytes
