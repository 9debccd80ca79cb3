"""The first runs of a structure on few elements: NumPy, operation by operation.

A plan and a kernel take milliseconds; what a program computes once or twice, on less than a
hundred thousand elements, NumPy has done by then. So a structure is interpreted, with the same
bits, until that has taken as long as compiling it takes. Transcendental functions, whose bits are
the kernels' own, are kernels of single operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, cast

import numpy as np

from lazyfuse import events
from lazyfuse.backends.base import Backend, Buffer
from lazyfuse.config import Options
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.evaluation import frugal
from lazyfuse.ir.graph import topological
from lazyfuse.ir.interp import array_at, result_memory, value_of, view_of, write
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Map, Node, Update
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.conditions import collect
from lazyfuse.runtime.met import Met, has_own_bits
from lazyfuse.runtime.op_kernels import OpKernel, op_kernel
from lazyfuse.runtime.single import Address
from lazyfuse.runtime.trace import Trace

#: Operations, and bytes of all their values, from which it is worth finding an order that takes
#: little memory: that takes 5 us for each, and what caches hold gains nothing by it.
_LONG, _MUCH = 64, 1 << 25
#: Products that NumPy rounds otherwise where the result lies in an operand's memory: its loops of
#: vectors have fused multiplications, those for what overlaps have not.
_ROUNDED_IN_PLACE = frozenset(("multiply", "square"))


class Way(Enum):
    """How a node is evaluated: memory that is there, a call of a ufunc, the kernel of its
    operation, a write into memory of its base's, or otherwise."""

    LEAF, UFUNC, KERNEL, WRITE, VALUE = range(5)


class Step(NamedTuple):
    """The evaluation of a node.

    place: in the trace. what: the ufunc, or the kernel. taken: the place of the operand whose
    memory the result is in, -1 for memory of its own. dying: the places of what is not needed any
    more afterwards.
    """

    place: int
    way: Way
    what: Any
    taken: int
    dying: tuple[int, ...]


class OvertakenError(Exception):
    """Code of the user that ran in the middle, a finalizer or a handler of a signal, has asked for
    values: nodes of the trace may have theirs, and no operands any more."""


class Interpreter:
    """One run of pending nodes; for the engine what an Executor is."""

    def __init__(self, pending: Trace, backend: Backend, options: Options, known: Met) -> None:
        self.pending = pending
        self.backend = backend
        self.options = options
        self.known = known
        self.buffers: list[Buffer | None] = []
        self.conditions = self._flags = 0
        self.overwritten: set[int] = set()
        self._values: dict[Node, Any] = {}
        self._rooms: dict[Node, Buffer] = {}
        self._inputs: list[np.ndarray] = []

    def run(self) -> list[Buffer]:
        """The buffers of the outputs. Raises: OvertakenError."""
        try:
            _, flags = collect(self._evaluate)
            self.conditions = flags | self._flags
            events.add(cold_runs=1)
            return [self._kept(node, self._values[node]) for node in self.pending.outputs]
        except Exception as error:
            if self.pending.is_stale and not is_interrupt(error):
                raise OvertakenError from error
            raise
        finally:  # a traceback that is kept would keep their memory
            self._values.clear()
            self._rooms.clear()
            self._inputs.clear()

    def _evaluate(self) -> None:
        """Evaluate the outputs, and what nothing lets go before."""
        nodes = self.pending.nodes
        steps = self.known.steps
        if steps is None:
            steps = self._taken_first(nodes)
        else:
            for step in steps:
                self._take(step, nodes)
                self._drop(step, nodes)
        if self.pending.is_stale:
            raise OvertakenError
        self.known.steps = steps

    def _taken_first(self, nodes: Sequence[Node]) -> list[Step]:
        """The steps of the first run, which are taken."""
        steps: list[Step] = []
        for step in _steps(self.pending, self._values, self.backend.device):
            if steps:  # its values have been looked at
                self._drop(steps[-1], nodes)
            self._take(step, nodes)
            steps.append(step)
        self._drop(steps[-1], nodes)
        return steps

    def _drop(self, step: Step, nodes: Sequence[Node]) -> None:
        """Let go what is not needed any more after a step."""
        for place in step.dying:
            del self._values[nodes[place]]
            self._rooms.pop(nodes[place], None)

    def _take(self, step: Step, nodes: Sequence[Node]) -> None:
        """Take a step."""
        node, values = nodes[step.place], self._values
        if step.way is Way.LEAF:
            values[node] = array_at(node, node.buffer)
            self._inputs.append(values[node])
            return
        for src in node.srcs:
            if type(src) is Const and src not in values:
                values[src] = _number(src)
        if step.way is Way.VALUE:
            values[node] = value_of(node, values, {})
        else:
            values[node] = self._computed(step, node, nodes)

    def _computed(self, step: Step, node: Node, nodes: Sequence[Node]) -> np.ndarray:
        """The value of an elementwise operation or a write in memory of ours, whose pages are
        mapped already."""
        taken = self._rooms[nodes[step.taken]] if step.taken >= 0 else None
        room = taken or self.backend.allocate(node.nbytes)
        self._rooms[node] = room
        array, operands = array_at(node, room), [self._values[src] for src in node.srcs]
        if step.way is Way.UFUNC:
            step.what(*operands, out=array, casting="unsafe")
        elif step.way is Way.KERNEL:
            self._launch(step.what, node, operands, array)
        else:
            if taken is None:
                array[...] = operands[0]
            write(array, cast(Update, node), operands)
        return array

    def _launch(
        self, kernel: OpKernel, node: Node, operands: Sequence[Any], room: np.ndarray
    ) -> None:
        """Compute a node into `room` by the kernel of its operation."""
        hosts: list[Any] = [
            src.value if isinstance(src, Const) else _lying_as(node, np.asarray(value))
            for src, value in zip(node.srcs, operands, strict=True)
        ]
        hosts.append(room)
        arrays = [hosts[place] for place in kernel.arrays]
        scalars = [hosts[place] for place, _ in kernel.numbers]
        launch = kernel.launch(room.size)
        self._flags |= launch([*map(Address, arrays)], scalars, threads=self.options.threads)
        events.add_launch(sum(array.nbytes for array in arrays) - room.nbytes, room.nbytes)

    def _kept(self, node: Node, value: np.ndarray) -> Buffer:
        """The memory of an output."""
        if node in self._rooms:
            return self._rooms.pop(node)
        flat = result_memory(value, node, self._inputs)
        buffer = self.backend.from_host(flat, borrow=True)
        buffer.exclusive = True  # made for this node alone
        return buffer

    def may_go_on(self, error: BaseException) -> bool:
        """Whether `go_on` does what is left to do."""
        return True

    def go_on(self) -> list[Buffer]:
        """The whole again: it overwrites nothing."""
        return self.run()


def _number(scalar: Const) -> Any:
    """A scalar as NumPy takes it, of its dtype."""
    if scalar.dtype == "f8":
        return np.float64(scalar.value)  # type: ignore[arg-type]  # a real number
    return np.asarray(scalar.value).astype(np.dtype(scalar.dtype))


# ---- the first run


def _steps(pending: Trace, values: Mapping[Node, Any], device: str) -> Iterator[Step]:
    """The steps of a run, each asked for when those before have been taken: `values` is what there
    is then. They hold for all traces of the structure."""
    rooms = _Rooms()
    order = [node for node in topological(pending.outputs) if not isinstance(node, Const)]
    if len(order) > _LONG and sum([node.nbytes for node in order]) > _MUCH:
        order = frugal(order, set(pending.outputs))
    place = {node: number for number, node in enumerate(pending.nodes)}
    last = {src: node for node in order if node.buffer is None for src in node.srcs}
    kept = set(pending.outputs)
    for node in order:
        if node.buffer is not None:
            yield Step(place[node], Way.LEAF, None, -1, ())
            continue
        arrays = [src for src in dict.fromkeys(node.srcs) if not isinstance(src, Const)]
        dying = [src for src in arrays if last[src] is node and src not in kept]
        way, what = _way(node, device)
        taken = None
        if way is not Way.VALUE:
            taken = rooms.recycled(node, _recyclable(node, way, dying))
            rooms.take(node, taken)
        yield Step(
            place[node], way, what, -1 if taken is None else place[taken],
            tuple(place[src] for src in dying),
        )  # fmt: skip
        if way is Way.VALUE:
            rooms.note_views(node, values)
        rooms.release(dying)


def _way(node: Node, device: str) -> tuple[Way, Any]:
    """How a node is evaluated, and by what."""
    if not size_of(node.shape):
        return Way.VALUE, None
    if isinstance(node, Update):
        return Way.WRITE, None
    if not isinstance(node, Map):
        return Way.VALUE, None
    kernel = op_kernel(node, device) if has_own_bits(node) else None
    if kernel is not None:
        return Way.KERNEL, kernel
    return (Way.UFUNC, node.op.ufunc) if _is_plain(node) else (Way.VALUE, None)


def _recyclable(node: Node, way: Way, dying: Sequence[Node]) -> Sequence[Node]:
    """The operands whose memory the result may be in."""
    if way is Way.WRITE:
        return [src for src in dying if src is node.srcs[0]]
    is_rounded = node.dtype[0] == "c" and cast(Map, node).op.name in _ROUNDED_IN_PLACE
    return () if is_rounded else dying


class _Rooms:
    """Which values lie in which memory of ours, a number for each; views of them, too."""

    def __init__(self) -> None:
        self._own: dict[Node, int] = {}
        self._lies_in: dict[Node, int] = {}
        self._users: Counter[int] = Counter()
        self._count = 0

    def recycled(self, node: Node, dying: Sequence[Node]) -> Node | None:
        """The operand whose memory nobody needs any more, nor any view of it, laid out as the
        result is: as NumPy does with its temporaries, each element is read before it is
        written."""
        for src in dying:
            same = (src.dtype, src.shape, src.strides) == (node.dtype, node.shape, node.strides)
            room = self._own.get(src) if same else None
            if room is not None and self._users[room] == 1:
                return src
        return None

    def take(self, node: Node, taken: Node | None) -> None:
        """Put the value of a node into the memory of another one's, or into more."""
        self._count += taken is None
        self._own[node] = self._count if taken is None else self._own[taken]
        self._note(node, self._own[node])

    def note_views(self, node: Node, values: Mapping[Node, Any]) -> None:
        """Remember in whose memory a value lies: that is not recycled while it lives. What makes a
        view once does so for all traces of a structure."""
        for src in node.srcs:
            room = self._lies_in.get(src)
            if room is not None and np.may_share_memory(values[node], values[src]):
                self._note(node, room)
                return

    def release(self, dying: Sequence[Node]) -> None:
        """Values are not needed any more."""
        for src in dying:
            self._own.pop(src, None)
            if src in self._lies_in:
                self._users[self._lies_in.pop(src)] -= 1

    def _note(self, node: Node, room: int) -> None:
        self._lies_in[node] = room
        self._users[room] += 1


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
