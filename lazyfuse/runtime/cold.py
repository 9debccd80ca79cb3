"""The first runs of a structure on few elements: NumPy, operation by operation.

A plan and a kernel take milliseconds; what a program computes once or twice, on less than a
hundred thousand elements, NumPy has done by then. So a structure is interpreted, with the same
bits, until that has taken as long as compiling it takes. Transcendental functions, whose bits are
the kernels' own, are kernels of single operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from lazyfuse import events
from lazyfuse.backends.base import Backend, Buffer
from lazyfuse.config import Options
from lazyfuse.ir.graph import topological
from lazyfuse.ir.interp import result_memory, value_of, view_of, write
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Map, Node, Update
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.conditions import collect
from lazyfuse.runtime.executor import host_array
from lazyfuse.runtime.op_kernels import OpKernel, op_kernel
from lazyfuse.runtime.single import Address
from lazyfuse.runtime.trace import Trace

#: Nanoseconds of interpreting after which a structure is planned: what compiling it takes.
PLAN_NS = 20e6
#: Estimated nanoseconds of a run, of an operation, and of each of its elements; of a
#: transcendental function's.
_RUN_NS, _OPERATION_NS, _ELEMENT_NS, _FUNCTION_NS = 50_000.0, 15_000.0, 0.7, 4.0


def is_cold(pending: Trace, options: Options, device: str, spent: float) -> bool:
    """Whether interpreting a structure costs less than planning it, with the same bits; so many
    nanoseconds went into it before."""
    limit = options.cold_size
    if not limit or device != "cpu" or spent >= PLAN_NS:
        return False
    return all(
        size_of(node.shape) <= limit
        and (not _has_own_bits(node) or op_kernel(node, device) is not None)
        for node in pending.nodes
    )


def cost_ns(pending: Trace) -> float:
    """Estimated nanoseconds of interpreting."""
    return _RUN_NS + sum(
        _OPERATION_NS + _elements(node) * (_FUNCTION_NS if _has_own_bits(node) else _ELEMENT_NS)
        for node in pending.nodes
        if node.buffer is None
    )


def _elements(node: Node) -> int:
    """How many elements an operation computes or reads."""
    return max(size_of(each.shape) for each in (node, *node.srcs))


def _has_own_bits(node: Node) -> TypeGuard[Map]:
    """Whether kernels give other bits than NumPy: of complex numbers' modulus, too."""
    if not isinstance(node, Map) or not node.is_costly:
        return False
    return node.op.name != "absolute" or node.loop[0][0] == "c"


#: Products that NumPy rounds otherwise where the result lies in an operand's memory: its loops of
#: vectors have fused multiplications, those for what overlaps have not.
_ROUNDED_IN_PLACE = frozenset(("multiply", "square"))


class Interpreter:
    """One run of pending nodes; for the engine what an Executor is."""

    def __init__(self, pending: Trace, backend: Backend, options: Options) -> None:
        self.pending = pending
        self.backend = backend
        self.options = options
        self.buffers: list[Buffer | None] = []
        self.conditions = self._met = 0
        self.overwritten: set[int] = set()
        self._rooms: dict[Node, Buffer] = {}
        self._lies_in: dict[Node, Buffer] = {}  # rooms, and views of them
        self._values: Counter[Buffer] = Counter()  # in each room, now
        self._inputs: list[np.ndarray] = []

    def run(self) -> list[Buffer]:
        """The buffers of the outputs."""
        values, met = collect(self._evaluate)
        self.conditions = met | self._met
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
                if src in self._lies_in:
                    self._values[self._lies_in.pop(src)] -= 1
        return values

    def _note_views(self, node: Node, values: dict[Node, Any]) -> None:
        """Remember in whose memory a value lies: that is not recycled while it lives."""
        for src in node.srcs:
            buffer = self._lies_in.get(src)
            if buffer is not None and np.may_share_memory(values[node], values[src]):
                self._note(node, buffer)
                return

    def _note(self, node: Node, buffer: Buffer) -> None:
        self._lies_in[node] = buffer
        self._values[buffer] += 1

    def _room(
        self, node: Node, values: dict[Node, Any], dying: Sequence[Node]
    ) -> np.ndarray | None:
        """The value of an elementwise operation or a write in memory of ours, whose pages are
        mapped already; None for nodes that are evaluated otherwise."""
        if not size_of(node.shape):
            return None
        if isinstance(node, Update):
            return self._updated(node, values, dying)
        if not isinstance(node, Map):
            return None
        kernel = op_kernel(node, self.backend.device) if _has_own_bits(node) else None
        if kernel is None and not _is_plain(node):
            return None
        is_rounded = node.dtype[0] == "c" and node.op.name in _ROUNDED_IN_PLACE
        room = self._taken(node, None if is_rounded else self._recycled(node, dying))
        if kernel is None:
            operands = [np.asarray(values[src]) for src in node.srcs]
            node.op.ufunc(*operands, out=room, casting="unsafe")  # type: ignore[misc]  # is plain
        else:
            self._launch(kernel, node, values, room)
        return room

    def _updated(self, node: Update, values: dict[Node, Any], dying: Sequence[Node]) -> np.ndarray:
        """The value of a write: in the memory of its base where nobody else needs that."""
        base = node.srcs[0]
        buffer = self._recycled(node, [base] if base in dying else [])
        room = self._taken(node, buffer)
        if buffer is None:
            room[...] = values[base]
        write(room, node, [values[src] for src in node.srcs])
        return room

    def _taken(self, node: Node, buffer: Buffer | None) -> np.ndarray:
        """Memory for the value of a node: that which is recycled, if any, or more."""
        room = buffer or self.backend.allocate(node.nbytes)
        self._rooms[node] = room
        self._note(node, room)
        return host_array(node, room, self.backend)

    def _launch(
        self, kernel: OpKernel, node: Map, values: dict[Node, Any], room: np.ndarray
    ) -> None:
        """Compute a node into `room` by the kernel of its operation."""
        hosts: list[Any] = [
            src.value if isinstance(src, Const) else _lying_as(node, np.asarray(values[src]))
            for src in node.srcs
        ]
        hosts.append(room)
        arrays = [hosts[place] for place in kernel.arrays]
        scalars = [hosts[place] for place, _ in kernel.numbers]
        launch = kernel.launch(room.size)
        self._met |= launch([*map(Address, arrays)], scalars, threads=self.options.threads)
        events.add_launch(sum(array.nbytes for array in arrays) - room.nbytes, room.nbytes)

    def _recycled(self, node: Node, dying: Sequence[Node]) -> Buffer | None:
        """The memory of an operand that nobody needs any more, nor any view of it, laid out as the
        result is: as NumPy does with its temporaries, each element is read before it is
        written."""
        for src in dying:
            same = (src.dtype, src.shape, src.strides) == (node.dtype, node.shape, node.strides)
            buffer = self._rooms.get(src) if same else None
            if buffer is not None and self._values[buffer] == 1:
                return buffer
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


def _is_plain(node: Map) -> bool:
    """Whether a node is one call of a ufunc on its operands as they are."""
    ufunc = node.op.ufunc
    if ufunc is None or ufunc.nout != 1 or type(node) is not Map:
        return False
    return all(src.dtype == dtype for src, dtype in zip(node.srcs, node.loop, strict=True))


def _lying_as(node: Node, value: np.ndarray) -> np.ndarray:
    """A value in the shape and memory order of a node: a copy where it lies otherwise."""
    strides = tuple(stride * value.itemsize for stride in node.strides)
    if value.shape == node.shape and value.strides == strides:
        return value
    flat = np.empty(size_of(node.shape), value.dtype)
    copy = view_of(flat, Layout(node.shape, node.strides, 0))
    copy[...] = value
    return copy
