"""One GPU: its cubins, launches and workspaces.

The Runtime that `launch.py` asks for, through cupy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import cupy
import numpy as np
from cupy.cuda import function as cupy_function

from lazyfuse.backends.base import Buffer
from lazyfuse.backends.cuda.buffers import CudaBuffer, allocate
from lazyfuse.backends.cuda.faults import Reported
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.launch import Function, Value
from lazyfuse.backends.cuda.program import PARAMETER_BYTES, WIDE_PARAMETER_BYTES

#: The context of a device that is current already.
_HERE = nullcontext()


class Capture:
    """A graph in the making: the stream for which it is, the stream that records it, memory that
    its kernels need for themselves, and their names."""

    def __init__(self, outer: Any, stream: Any) -> None:
        self.outer, self.stream = outer, stream
        self.kept: list[CudaBuffer] = []
        self.names: list[str] = []


class Device:
    """GPU `number`. Memory and modules belong to it, whichever device is current at the call."""

    def __init__(self, number: int) -> None:
        gpu = cupy.cuda.Device(number)
        self.number = number
        self.name = f"cuda:{number}"
        self.reported = Reported(self.name)
        self.architecture: str = gpu.compute_capability
        modern = cupy.cuda.runtime.driverGetVersion() >= 12010 and int(self.architecture) >= 70
        self.parameter_bytes = WIDE_PARAMETER_BYTES if modern else PARAMETER_BYTES
        self.target = Target(processors=int(gpu.attributes["MultiProcessorCount"]))
        self._capture: Capture | None = None

    def use(self) -> AbstractContextManager[object]:
        """Make this GPU current; costs next to nothing when it is."""
        if cupy.cuda.runtime.getDevice() == self.number:
            return _HERE
        device: AbstractContextManager[object] = cupy.cuda.Device(self.number)
        return device

    def allocate(self, nbytes: int) -> CudaBuffer:
        """Uninitialized memory of the pool. Raises: MemoryError."""
        try:
            if cupy.cuda.runtime.getDevice() == self.number:
                return allocate(nbytes, self.name)
            with cupy.cuda.Device(self.number):
                return allocate(nbytes, self.name)
        except Exception as error:
            self.reported.tell(error)
            raise

    @contextmanager
    def capturing(self) -> Iterator[Capture]:
        """Within, launches and workspaces are of a stream of their own, for a graph."""
        with self.use():
            capture = Capture(cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True))
            with capture.stream:
                self._capture = capture
                try:
                    yield capture
                finally:
                    self._capture = None

    def _kept(self, nbytes: int) -> CudaBuffer:
        """Memory for the kernels that are launched now; a graph keeps its own."""
        capture = self._capture
        if capture is None:
            return self.allocate(nbytes)
        with capture.outer:
            buffer = self.allocate(nbytes)
        capture.kept.append(buffer)
        return buffer

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Pool memory: a later allocation on this stream reuses it only after the kernels queued
        so far.
        """
        buffer = self._kept(nbytes)
        if zeroed:
            with self.reported, self.use():
                buffer.memory.memset_async(0, nbytes, cupy.cuda.get_current_stream())
        return buffer

    def table(self, words: np.ndarray) -> Buffer:
        """The driver takes the words before this returns: few bytes of pageable memory. They are
        no part of a graph, whose values do not change."""
        with self.reported, self.use():
            buffer = self._kept(words.nbytes)
            source = ctypes.c_void_p(words.ctypes.data)
            capture = self._capture
            stream = cupy.cuda.get_current_stream() if capture is None else capture.outer
            buffer.memory.copy_from_host_async(source, words.nbytes, stream)
        return buffer

    def load(self, cubin: bytes, names: Sequence[str]) -> dict[str, Function]:
        """Load a cubin and look its functions up; they keep the module alive."""
        module = cupy_function.Module()
        with self.reported, self.use():
            module.load(cubin)
            return {name: self._launcher(name, module.get_function(name)) for name in names}

    def _launcher(self, name: str, function: cupy_function.Function) -> Function:
        nvtx, current = cupy.cuda.nvtx, cupy.cuda.get_current_stream
        device_now, number = cupy.cuda.runtime.getDevice, self.number

        def launch(grid: tuple[int, int], block: tuple[int, int], values: Sequence[Value]) -> None:
            if self._capture is not None:
                self._capture.names.append(name)
            nvtx.RangePush(name)  # for profilers; 0.2 us when none is there
            try:
                if device_now() == number:
                    function((*grid, 1), (*block, 1), tuple(values), 0, current())
                else:
                    with cupy.cuda.Device(number):
                        function((*grid, 1), (*block, 1), tuple(values), 0, current())
            except Exception as error:
                self.reported.tell(error)
                raise
            finally:
                nvtx.RangePop()

        return launch
