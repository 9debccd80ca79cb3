"""The first run of a structure on few elements: NumPy, operation by operation.

A plan and a kernel take milliseconds; what a program computes once, on less than a hundred
thousand elements, NumPy has done by then. So a structure that has not been met before is
interpreted, with the same bits, and planned when it comes again. Transcendental functions are the
kernels' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse import events
from lazyfuse.backends.base import Backend, Buffer
from lazyfuse.config import Options
from lazyfuse.ir.graph import topological
from lazyfuse.ir.interp import result_memory, value_of, view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Map, Node
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.conditions import collect
from lazyfuse.runtime.executor import host_array
from lazyfuse.runtime.trace import Trace


def is_cold(pending: Trace, options: Options, device: str) -> bool:
    """Whether interpreting a structure costs less than planning it, with the same bits."""
    limit = options.cold_size
    if not limit or device != "cpu":
        return False
    return all(size_of(node.shape) <= limit and _is_numpys(node) for node in pending.nodes)


def _is_numpys(node: Node) -> bool:
    """Whether kernels give NumPy's bits; the modulus of complex numbers has their own."""
    if not isinstance(node, Map) or not node.is_costly:
        return True
    return node.op.name == "absolute" and node.loop[0][0] != "c"


class Interpreter:
    """One run of pending nodes; for the engine what an Executor is."""

    def __init__(self, pending: Trace, backend: Backend, options: Options) -> None:
        self.pending = pending
        self.backend = backend
        self.options = options
        self.buffers: list[Buffer | None] = []
        self.conditions = 0
        self.overwritten: set[int] = set()
        self._rooms: dict[Node, Buffer] = {}
        self._viewed: set[Node] = set()
        self._inputs: list[np.ndarray] = []

    def run(self) -> list[Buffer]:
        """The buffers of the outputs."""
        values, self.conditions = collect(self._evaluate)
        events.add(cold_runs=1)
        return [self._kept(node, values[node]) for node in self.pending.outputs]

    def _evaluate(self) -> dict[Node, Any]:
        """The values of the outputs, and of what nothing lets go before."""
        order = topological(self.pending.outputs)
        values: dict[Node, Any] = {}
        scalars: dict[Node, Any] = {node: node.value for node in order if isinstance(node, Const)}
        last = {src: node for node in order if node.buffer is None for src in node.srcs}
        kept = set(self.pending.outputs)
        for node in order:
            if node.buffer is not None:
                values[node] = host_array(node, node.buffer, self.backend)
                self._inputs.append(values[node])
                continue
            dying = [src for src in set(node.srcs) if last[src] is node and src not in kept]
            room = self._room(node, values, dying)
            if room is None:
                values[node] = value_of(node, values, scalars)
                self._note_views(node, values)
            else:
                values[node] = room
            for src in dying:
                del values[src]
                self._rooms.pop(src, None)
        return values

    def _note_views(self, node: Node, values: dict[Node, Any]) -> None:
        """Remember whose memory a value shares: that is not recycled any more."""
        self._viewed.update(
            src
            for src in node.srcs
            if src in self._rooms and np.may_share_memory(values[node], values[src])
        )

    def _room(
        self, node: Node, values: dict[Node, Any], dying: Sequence[Node]
    ) -> np.ndarray | None:
        """The value of a plain ufunc in memory of ours, whose pages are mapped already; None for
        other nodes."""
        ufunc = node.op.ufunc if isinstance(node, Map) else None
        if ufunc is None or ufunc.nout != 1 or type(node) is not Map:
            return None
        if any(src.dtype != dtype for src, dtype in zip(node.srcs, node.loop, strict=True)):
            return None
        if not size_of(node.shape):
            return None
        buffer = self._recycled(node, dying) or self.backend.allocate(node.nbytes)
        flat = self.backend.to_host(buffer).view(np.dtype(node.dtype))
        room = view_of(flat, Layout(node.shape, node.strides, 0))
        operands = [np.asarray(values[src]) for src in node.srcs]
        ufunc(*operands, out=room, casting="unsafe")
        self._rooms[node] = buffer
        return room

    def _recycled(self, node: Node, dying: Sequence[Node]) -> Buffer | None:
        """The memory of an operand that nobody needs any more, laid out as the result is: as
        NumPy does with its temporaries, each element is read before it is written."""
        for src in dying:
            same = (src.dtype, src.shape, src.strides) == (node.dtype, node.shape, node.strides)
            if same and src in self._rooms and src not in self._viewed:
                return self._rooms[src]
        return None

    def _kept(self, node: Node, value: np.ndarray) -> Buffer:
        """The memory of an output."""
        if node in self._rooms:
            return self._rooms.pop(node)
        flat = result_memory(value, node, self._inputs)
        buffer = self.backend.from_host(flat, borrow=True)
        buffer.exclusive = True  # made for this node alone
        return buffer

    def go_on(self) -> list[Buffer]:
        """The whole again: it overwrites nothing."""
        return self.run()
