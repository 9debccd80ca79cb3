"""Plans of several kernels that run again and again on the same memory of a GPU: captured once,
then launched by one call of the driver.

A kernel costs the host some 3 us to launch, whatever it does. A loop of a program takes the same
few addresses in turn, because a pool gives memory back that has just been let go. So runs of a
plan are told apart by the addresses and numbers that they work on; those that come often enough
are captured (a CUDA graph), which has the same kernels do the same.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from collections.abc import Sequence as Items
from typing import Any

from lazyfuse import events
from lazyfuse.backends.base import Buffer, Queue
from lazyfuse.config import Options
from lazyfuse.ir.plan import Launch, Plan, Renew
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.sequence import Sequence, sequence
from lazyfuse.runtime.session import kernels

#: Kernels from which a graph may pay: it takes the host some 6 us, one of them 3.
LEAST_QUEUED = 3
#: Bytes that kernels and copies of a plan move at most. An H200 moves them in 7 us: of more, the
#: GPU is behind the host anyhow.
MOST_BYTES = 32 << 20
#: Runs of a plan by the executor, and then of one set of addresses, before anything is captured.
RUNS, TIMES = 8, 8
#: Graphs that a plan keeps, the least recently used go first; each takes the driver some 64 KiB.
MOST_GRAPHS = 8
#: Sets of addresses that are counted at a time.
MOST_SETS = 64
#: What a plan starts with and has at most; it is left to the executor, which reuses dead inputs,
#: when it has lost that: a run without a graph loses one, a capture as many launches as it takes
#: as long as, a run by a graph wins one.
CREDIT, CAPTURE_COST = 1024, 30
#: Alignment of memory between two kernels, as of the pool's.
_ALIGNMENT = 512


class _Part:
    """Memory between two kernels: a part of a buffer."""

    __slots__ = ("pointer", "nbytes", "memory")

    def __init__(self, whole: Any, start: int, nbytes: int) -> None:
        self.pointer, self.nbytes = whole.pointer + start, nbytes
        self.memory = whole.memory + start


class Repeats:
    """A plan as kernels on memory that is known beforehand; `run` is what an executor's does.
    `backend` is also Captures. Calls are made under the lock of a flush."""

    def __init__(self, found: Sequence, backend: Any, name: str) -> None:
        self.backend, self.name = backend, name
        self._sequence = found
        self._between, self._between_bytes = _places(found)
        self._launches = len(found.steps) - found.copies
        self._met: Counter[Hashable] = Counter()
        self._graphs: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._credit = CREDIT

    @property
    def is_over(self) -> bool:
        """Whether graphs do not pay."""
        return self._credit <= 0

    def run(self, leaves: Items[Buffer], constants: Items[Any]) -> list[Buffer] | None:
        """The buffers of the outputs; None where there is no memory for them: the executor may
        need less. Nothing has run then."""
        found, allocate = self._sequence, self.backend.allocate
        try:
            results = [allocate(found.memory[piece]) for piece in found.outputs]
            whole = allocate(self._between_bytes) if self._between else None
        except MemoryError:
            self._credit = 0
            self._graphs.clear()
            return None
        memory: dict[int, Any] = dict(zip(found.outputs, results, strict=True))
        for piece, start in self._between.items():
            memory[piece] = _Part(whole, start, found.memory[piece])

        def queue(target: Queue) -> None:
            self._queue(target, leaves, memory, constants)

        used = [buffer.pointer for buffer in (*leaves, *results)]
        used += [] if whole is None else [whole.pointer]
        self._run((self.backend.queue(), *used, *map(_told_apart, constants)), queue)
        events.add_launches(self._launches, self._launches, found.read, found.written)
        events.add(copies=found.copies)
        kernels.count_hits(self._launches)
        return results

    def _run(self, key: Hashable, queue: Callable[[Queue], None]) -> None:
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._captured(key, queue)
            if graph is None:
                queue(self.backend)
                return
        graph()
        self._credit = min(self._credit + 1, CREDIT)
        self._graphs[key] = graph
        self._graphs.move_to_end(key)
        if len(self._graphs) > MOST_GRAPHS:
            self._graphs.popitem(last=False)
        events.add(graph_launches=1)

    def _captured(
        self, key: Hashable, queue: Callable[[Queue], None]
    ) -> Callable[[], None] | None:
        """The graph of a run that has come often enough; None for others."""
        self._credit -= 1
        self._met[key] += 1
        if self._met[key] <= TIMES:
            if len(self._met) > MOST_SETS:
                self._met.clear()
            return None
        self._met.pop(key, None)
        self._credit -= CAPTURE_COST
        try:
            graph: Callable[[], None] | None = self.backend.capture(queue, self.name)
        except MemoryError:
            return None
        if graph is None:
            self._credit = 0
        return graph

    def _queue(
        self, target: Queue, leaves: Items[Buffer], memory: dict[int, Any], constants: Items[Any]
    ) -> None:
        """Queue the kernels one by one."""
        for launch, operands, of, *_ in self._sequence.steps:
            buffers = [leaves[place] if place >= 0 else memory[~place] for place in operands]
            if isinstance(of, Launch):
                target.launch(launch, buffers, of.scalars_of(constants))
            else:
                assert isinstance(of, Renew), of
                target.copy_regions(buffers[1], buffers[0], of.dtype, of.kept)


def _places(found: Sequence) -> tuple[dict[int, int], int]:
    """Where each piece of memory that is no result lies in one buffer, and the bytes of that."""
    places, nbytes = {}, 0
    for piece, size in enumerate(found.memory):
        if piece not in found.outputs:
            places[piece] = nbytes
            nbytes += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places, nbytes


def _told_apart(number: Any) -> Hashable:
    """Equal for numbers that a kernel does not tell apart only: zeros have signs, also as parts of
    complex numbers."""
    if isinstance(number, complex) or not number:
        return type(number), repr(number)
    return type(number), number


def repeats(known: Known, backend: Any, options: Options) -> Repeats | None:
    """What runs a plan from its RUNS-th run on; None for the executor."""
    found = known.repeats
    if type(found) is int:
        known.repeats = found + 1 if found < RUNS else _found(known, backend, options)
        return None
    if found is not None and found.is_over:
        known.repeats = None
    return known.repeats  # type: ignore[no-any-return]  # a Repeats


def may_pay(launches: Items[Any], moved: int, backend: Any, options: Options) -> bool:
    """Whether launches that move so many bytes together should be graphs: they are wanted, can be
    captured, and there is something to win."""
    return (
        options.cuda_graphs
        and moved <= MOST_BYTES
        and hasattr(backend, "capture")
        and all(getattr(launch, "is_capturable", False) for launch in launches)
        and sum(launch.queued for launch in launches) >= LEAST_QUEUED
    )


def _found(known: Known, backend: Any, options: Options) -> Repeats | None:
    """None where graphs would not pay, and for plans that write into an input if it is dead."""
    plan = known.plan
    if may_stay(plan):
        return None
    found = sequence(plan, backend, None)
    if found is None:
        return None
    launches = [step.launch for step in found.steps if step.launch is not None]
    if not may_pay(launches, found.read + found.written, backend, options):
        return None
    names = [step.of.name for step in found.steps if isinstance(step.of, Launch)]
    return Repeats(found, backend, f"graph of {', '.join(names)}")


def may_stay(plan: Plan) -> bool:
    """Whether the executor may write into the memory of an input."""
    return any(
        isinstance(step, Renew)
        and step.in_place
        and step.base_dies
        and step.base is not None
        and step.base < plan.leaves
        for step in plan.steps
    )
