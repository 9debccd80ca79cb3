"""One GPU: its cubins, launches and workspaces.

The Runtime that `launch.py` asks for, through cupy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import function as cupy_function
from cupy_backends.cuda.api import driver

from lazyfuse.backends.base import Buffer
from lazyfuse.backends.cuda.buffers import CudaBuffer, allocate, tell_lack
from lazyfuse.backends.cuda.faults import Reported
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.launch import Function, Value
from lazyfuse.backends.cuda.program import PARAMETER_BYTES, WIDE_PARAMETER_BYTES

#: Of the shared memory of a block: what the system takes, and variables of a kernel.
RESERVED_BYTES = 4096
#: Shared memory that a launch may ask for without telling the driver before: 48 KiB, of which
#: 64 outputs take 32 for what warps exchange.
PLAIN_SHARED_BYTES = 16 * 1024
#: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MOST_SHARED = 8
#: The context of a device that is current already.
_HERE = nullcontext()


class Device:
    """GPU `number`. Memory and modules belong to it, whichever device is current at the call."""

    def __init__(self, number: int) -> None:
        gpu = cupy.cuda.Device(number)
        self.number = number
        self.name = f"cuda:{number}"
        self.reported = Reported(self.name)
        #: As `buffers.allocate`, on this GPU.
        self.allocate: Callable[[int], CudaBuffer] = self._allocator()
        self.architecture: str = gpu.compute_capability
        modern = cupy.cuda.runtime.driverGetVersion() >= 12010 and int(self.architecture) >= 70
        self.parameter_bytes = WIDE_PARAMETER_BYTES if modern else PARAMETER_BYTES
        self.target = Target(
            processors=int(gpu.attributes["MultiProcessorCount"]),
            shared=int(gpu.attributes["MaxSharedMemoryPerMultiprocessor"]) // 2 - RESERVED_BYTES,
        )
        #: CuPy takes it as it is; of an int it makes one in each launch, by way of NumPy's.
        self.word: Callable[[int], Any] = cupy_function.CIntptr

    def use(self) -> AbstractContextManager[object]:
        """Make this GPU current; costs next to nothing when it is."""
        if cupy.cuda.runtime.getDevice() == self.number:
            return _HERE
        device: AbstractContextManager[object] = cupy.cuda.Device(self.number)
        return device

    def _allocator(self) -> Callable[[int], CudaBuffer]:
        """What takes memory; written out, since every result pays for it."""
        number, name, reported = self.number, self.name, self.reported
        device_now, alloc = cupy.cuda.runtime.getDevice, cupy.cuda.alloc

        def allocate(nbytes: int) -> CudaBuffer:
            try:
                if device_now() == number:
                    return CudaBuffer(alloc(nbytes or 1), nbytes, name)
                with cupy.cuda.Device(number):
                    return CudaBuffer(alloc(nbytes or 1), nbytes, name)
            except Exception as error:
                tell_lack(error, nbytes, name)
                reported.tell(error)
                raise

        return allocate

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Pool memory: a later allocation on this stream reuses it only after the kernels queued
        so far.
        """
        buffer = self.allocate(nbytes)
        if zeroed:
            with self.reported, self.use():
                buffer.memory.memset_async(0, nbytes, cupy.cuda.get_current_stream())
        return buffer

    def table(self, words: np.ndarray) -> Buffer:
        """The driver takes the words before this returns: few bytes of pageable memory."""
        with self.reported, self.use():
            buffer = allocate(words.nbytes, self.name)
            source = ctypes.c_void_p(words.ctypes.data)
            stream = cupy.cuda.get_current_stream()
            buffer.memory.copy_from_host_async(source, words.nbytes, stream)
        return buffer

    def load(self, cubin: bytes, names: Sequence[str]) -> dict[str, Function]:
        """Load a cubin and look its functions up; they keep the module alive."""
        module = cupy_function.Module()
        with self.reported, self.use():
            module.load(cubin)
            return {name: self._launcher(name, module.get_function(name)) for name in names}

    def _launcher(self, name: str, function: cupy_function.Function) -> Function:
        device_now, number = cupy.cuda.runtime.getDevice, self.number
        linear = function.linear_launch
        most = PLAIN_SHARED_BYTES

        def launch(
            grid: tuple[int, int],
            block: tuple[int, int],
            values: Sequence[Value],
            shared: int = 0,
            stream: Any = None,
        ) -> None:
            nonlocal most
            try:
                if shared > most:
                    driver.funcSetAttribute(function.ptr, _MOST_SHARED, shared)
                    most = shared
                if device_now() != number:
                    with cupy.cuda.Device(number):
                        function(grid, block, values, shared, stream)
                elif grid[1] == block[1] == 1:  # in less time
                    linear(grid[0] * block[0], values, shared, block[0], stream)
                else:
                    function(grid, block, values, shared, stream)
            except Exception as error:
                self.reported.tell(error)
                raise

        if is_profiled():
            return _ranged(name, launch)
        launch.straight = self._straight(launch, linear)  # type: ignore[attr-defined]  # as any
        return launch

    def _straight(self, launch: Function, linear: Callable[..., None]) -> Callable[..., Any]:
        """Of a grid and a block, a launch of them as a function of values."""
        device_now, number, reported = cupy.cuda.runtime.getDevice, self.number, self.reported

        def straight(grid: tuple[int, int], block: tuple[int, int]) -> Callable[..., None]:
            if grid[1] != 1 or block[1] != 1:
                return partial(launch, grid, block)
            size, threads = grid[0] * block[0], block[0]

            def launch_linear(values: Sequence[Value]) -> None:
                try:
                    if device_now() == number:
                        return linear(size, values, 0, threads, None)
                except Exception as error:
                    reported.tell(error)
                    raise
                return launch(grid, block, values)

            return launch_linear

        return straight


def is_profiled() -> bool:
    """Whether a profiler hears of ranges. NVTX looks for one where this does, before its first
    range and never again (nvtxInitDefs.h of CUDA); without one, a range costs 0.2 us."""
    there = "NVTX_INJECTION64_PATH" in os.environ
    return there or hasattr(ctypes.CDLL(None), "InitializeInjectionNvtx2")


def _ranged(name: str, launch: Function) -> Function:
    """A launch inside a range, for profilers."""
    push, pop = cupy.cuda.nvtx.RangePush, cupy.cuda.nvtx.RangePop

    def ranged(*given: Any, **options: Any) -> None:
        push(name)
        try:
            launch(*given, **options)
        finally:
            pop()

    return ranged
