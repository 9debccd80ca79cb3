"""Launches as a CUDA graph: recorded from a stream that does nothing else, launched on others.

cupy's graphs cannot be given other addresses, so a graph is for one set of them. What its kernels
need besides the caller's memory, workspaces, is of the stream for which it was captured: there it
is used and given back in the order of that stream, as in ordinary launches. So a graph is for one
stream as well. The driver orders launches of one graph, and lets a graph that is dropped finish;
threads have to take turns with it (CUDA runtime API, cudaGraphLaunch, cudaGraphExecDestroy).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any

import cupy

from lazyfuse.backends.cuda.buffers import CudaBuffer
from lazyfuse.backends.cuda.device import Device

#: cudaStreamPerThread: as many streams as there are threads.
_PER_THREAD = 2


def queue() -> Hashable:
    """The current stream."""
    pointer: int = cupy.cuda.get_current_stream().ptr
    return (pointer, threading.get_ident()) if pointer == _PER_THREAD else pointer


class Graph:
    """Launches, to be done again on the current stream; `kept` is their own memory."""

    __slots__ = ("gpu", "graph", "kept", "name")

    def __init__(self, gpu: Device, graph: Any, kept: Sequence[CudaBuffer], name: str) -> None:
        self.gpu, self.graph, self.kept, self.name = gpu, graph, kept, name

    def __call__(self) -> None:
        cupy.cuda.nvtx.RangePush(self.name)
        try:
            with self.gpu.reported, self.gpu.use():
                self.graph.launch(cupy.cuda.get_current_stream())
        finally:
            cupy.cuda.nvtx.RangePop()


def capture(gpu: Device, run: Callable[[], None]) -> Graph | None:
    """What `run` launches; None where CUDA refuses, or anything else fails: run as usual, it tells
    what is wrong."""
    try:
        with gpu.capturing() as capture:
            graph = _captured(capture.stream, run)
    except Exception:
        return None
    return Graph(gpu, graph, capture.kept, f"graph of {', '.join(capture.names)}")


def _captured(stream: Any, run: Callable[[], None]) -> Any:
    """cupy's graph. CUDA does not let a stream go on before its capture has ended."""
    stream.begin_capture()
    try:
        run()
    except BaseException:
        with suppress(Exception):  # what has failed is told already
            stream.end_capture()
        raise
    return stream.end_capture()
