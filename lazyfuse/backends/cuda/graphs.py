"""Launches as a CUDA graph: recorded from a stream that does nothing else, launched on others.

cupy's graphs cannot be given other addresses, so a graph is for one set of them. What its kernels
need besides the caller's memory, workspaces, is of the stream for which it was captured: there it
is used and given back in the order of that stream, as in ordinary launches. So a graph is for one
stream as well. The driver orders launches of one graph, and lets a graph that is dropped finish;
threads have to take turns with it (CUDA runtime API, cudaGraphLaunch, cudaGraphExecDestroy).

The stream that records is nobody's current one: code that runs in the middle, a finalizer say,
queues its work where it always does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import cupy
import numpy as np

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cuda import buffers as memory
from lazyfuse.backends.cuda.device import Device
from lazyfuse.backends.cuda.launch import Function
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.layout import Layout

#: cudaStreamPerThread: as many streams as there are threads.
_PER_THREAD = 2


def queue() -> Hashable:
    """The current stream."""
    pointer: int = cupy.cuda.get_current_stream().ptr
    return (pointer, threading.get_ident()) if pointer == _PER_THREAD else pointer


class Graph:
    """Launches, to be done again on the current stream; `kept` is their own memory."""

    __slots__ = ("gpu", "graph", "kept", "name")

    def __init__(self, gpu: Device, graph: Any, kept: Sequence[Buffer], name: str) -> None:
        self.gpu, self.graph, self.kept, self.name = gpu, graph, kept, name

    def __call__(self) -> None:
        cupy.cuda.nvtx.RangePush(self.name)
        try:
            with self.gpu.reported, self.gpu.use():
                self.graph.launch(cupy.cuda.get_current_stream())
        finally:
            cupy.cuda.nvtx.RangePop()


class Recorder:
    """The Runtime of launches that a stream records, and where copies go; `kept` is the memory
    that they need for themselves, of the current stream."""

    def __init__(self, gpu: Device, stream: Any) -> None:
        self.gpu, self.stream, self.target, self.word = gpu, stream, gpu.target, gpu.word
        self.kept: list[Buffer] = []

    def launch(self, bound: Any, buffers: Sequence[Buffer], scalars: Sequence[Scalar]) -> None:
        """Record a launch that is capturable."""
        bound.on(self)(buffers, scalars, threads=1)

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[Layout]
    ) -> None:
        """Record a copy, as of CudaBackend."""
        memory.copy_spans(source, target, memory.spans(regions, int(dtype[1:])), self.stream.ptr)

    def functions(self, functions: dict[str, Function]) -> dict[str, Function]:
        """The same functions, recorded."""
        given: dict[str, Any] = dict(functions)  # of `Device.load`
        return {name: partial(each, stream=self.stream) for name, each in given.items()}

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Memory of the graph; it is zeroed each time."""
        buffer = self.gpu.allocate(nbytes)
        self.kept.append(buffer)
        if zeroed:
            buffer.memory.memset_async(0, nbytes, self.stream)
        return buffer

    def table(self, words: np.ndarray) -> Buffer:
        """Words that do not change: no part of the graph, but before it in the current stream."""
        buffer = self.gpu.table(words)
        self.kept.append(buffer)
        return buffer


def capture(gpu: Device, run: Callable[[Recorder], None], name: str) -> Graph | None:
    """What `run` queues, for the current stream; None where CUDA refuses. Raises: MemoryError."""
    try:
        with gpu.use():
            current = cupy.cuda.get_current_stream()
            if current.is_capturing():  # the user's own graph would get what this one needs first
                return None
            recorder = Recorder(gpu, cupy.cuda.Stream(non_blocking=True))
            graph = _captured(recorder, run)
            graph.upload(current)
            return Graph(gpu, graph, recorder.kept, name)
    except MemoryError:
        raise
    except Exception as error:  # whatever it is: run as usual, it tells what is wrong
        if is_interrupt(error):
            raise
        return None


def _captured(recorder: Recorder, run: Callable[[Recorder], None]) -> Any:
    """cupy's graph."""
    try:
        recorder.stream.begin_capture()
        run(recorder)
    except BaseException:
        with suppress(Exception):  # what has failed is told already
            recorder.stream.end_capture()
        raise
    return recorder.stream.end_capture()
