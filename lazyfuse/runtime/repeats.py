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
from typing import Any, NamedTuple

from lazyfuse import events
from lazyfuse.backends.base import Buffer
from lazyfuse.config import Options
from lazyfuse.ir.plan import Launch
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.sequence import Sequence, sequence
from lazyfuse.runtime.session import kernels

#: Launches and copies from which a graph may pay: it takes the host some 6 us, one of them 3.
LEAST_QUEUED = 3
#: Bytes that the kernels of a plan move at most. An H200 moves them in 7 us: of more, the GPU is
#: behind the host anyhow.
MOST_BYTES = 32 << 20
#: Runs of a plan by the executor, and then of one set of addresses, before anything is captured:
#: capturing takes as long as some thirty launches.
RUNS, TIMES = 8, 8
#: Graphs that a plan keeps, the least recently used go first; each takes the driver some 64 KiB.
MOST_GRAPHS = 8
#: Sets of addresses that are counted at a time, and runs without a graph after which a plan is
#: left to the executor, which reuses dead inputs.
MOST_SETS, MOST_RUNS = 64, 1024
#: Alignment of memory between two kernels, as of the pool's.
_ALIGNMENT = 512


class _Part(NamedTuple):
    """Memory between two kernels: a part of a buffer, which it keeps."""

    pointer: int
    nbytes: int
    whole: Buffer


class Repeats:
    """A plan as kernels on memory that is known beforehand; `run` is what an executor's does.
    `backend` is also Captures; `epoch` is that of the kernel cache. Calls are made under the lock
    of a flush."""

    def __init__(self, found: Sequence, backend: Any) -> None:
        self.epoch = kernels.epoch
        self.backend = backend
        self.is_over = False
        self._sequence = found
        self._between, self._between_bytes = _places(found)
        self._launches = len(found.steps) - found.copies
        self._met: Counter[Hashable] = Counter()
        self._graphs: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._runs = 0

    def run(self, leaves: Items[Buffer], constants: Items[Any]) -> list[Buffer]:
        """The buffers of the outputs. Raises: MemoryError, before anything is launched."""
        found, allocate = self._sequence, self.backend.allocate
        results = [allocate(found.memory[piece]) for piece in found.outputs]
        memory: dict[int, Any] = dict(zip(found.outputs, results, strict=True))
        if self._between:
            whole = allocate(self._between_bytes)
            for piece, start in self._between.items():
                memory[piece] = _Part(whole.pointer + start, found.memory[piece], whole)

        def launch() -> None:
            self._launch(leaves, memory, constants)

        used = [buffer.pointer for buffer in (*leaves, *results)]
        used += [whole.pointer] if self._between else []
        self._run((self.backend.queue(), *used, *map(_told_apart, constants)), launch)
        events.add_launches(self._launches, self._launches, found.read, found.written)
        events.add(copies=found.copies)
        kernels.count_hits(self._launches)
        return results

    def _run(self, key: Hashable, launch: Callable[[], None]) -> None:
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._captured(key, launch)
            if graph is None:
                launch()
                return
        graph()
        self._graphs.move_to_end(key)
        events.add(graph_launches=1)

    def _captured(self, key: Hashable, launch: Callable[[], None]) -> Callable[[], None] | None:
        """The graph of a run that has come often enough; None for others."""
        self._runs += 1
        self._met[key] += 1
        if self._met[key] <= TIMES:
            if len(self._met) > MOST_SETS:
                self._met.clear()
            self.is_over = self._runs > MOST_RUNS
            return None
        graph: Callable[[], None] | None = self.backend.capture(launch)
        self.is_over = graph is None
        if graph is not None:
            self._graphs[key] = graph
            del self._met[key]
            self._runs = 0
            if len(self._graphs) > MOST_GRAPHS:
                self._graphs.popitem(last=False)
        return graph

    def _launch(
        self, leaves: Items[Buffer], memory: dict[int, Any], constants: Items[Any]
    ) -> None:
        """Launch the kernels one by one."""
        for launch, operands, of, *_ in self._sequence.steps:
            buffers = [leaves[place] if place >= 0 else memory[~place] for place in operands]
            if isinstance(of, Launch):
                launch(buffers, of.scalars_of(constants), threads=1)
            else:
                self.backend.copy_regions(buffers[1], buffers[0], of.node.dtype, of.kept)


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
        known.repeats = found + 1
        if found >= RUNS:
            known.repeats = _found(known, backend, options)
        return None
    if found is None or (not found.is_over and found.epoch == kernels.epoch):
        return found  # type: ignore[no-any-return]  # a Repeats
    known.repeats = None if found.is_over else 0
    return None


def _found(known: Known, backend: Any, options: Options) -> Repeats | None:
    """None where graphs are not wanted or would not pay, and for what no graph can do."""
    plan = known.plan
    steps = [step for step in plan.steps if isinstance(step, Launch)]
    moved = sum(step.bytes_read + step.bytes_written for step in steps)
    if not options.cuda_graphs or moved > MOST_BYTES or not hasattr(backend, "capture"):
        return None
    found = sequence(plan, backend, None)
    if found is None or not all(_is_plain(step.launch) for step in found.steps):
        return None
    queued = sum(1 if step.launch is None else step.launch.queued for step in found.steps)
    return Repeats(found, backend) if queued >= LEAST_QUEUED else None


def _is_plain(launch: Any) -> bool:
    """Whether a launch, or a copy, asks nothing of the host but to queue work on given memory."""
    return launch is None or bool(getattr(launch, "is_capturable", False))
