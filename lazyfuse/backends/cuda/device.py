"""One GPU: its cubins, launches and workspaces.

The Runtime that `launch.py` asks for, through cupy.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import cupy
from cupy.cuda import function as cupy_function

from lazyfuse.backends.base import Buffer
from lazyfuse.backends.cuda.buffers import allocate
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.launch import Function, Value


class Device:
    """GPU `number`. Memory and modules belong to it, whichever device is current at the call."""

    def __init__(self, number: int) -> None:
        gpu = cupy.cuda.Device(number)
        self.number = number
        self.name = f"cuda:{number}"
        self.architecture: str = gpu.compute_capability
        self.target = Target(processors=int(gpu.attributes["MultiProcessorCount"]))

    def use(self) -> AbstractContextManager[object]:
        """Make this GPU current; costs next to nothing when it is."""
        if cupy.cuda.runtime.getDevice() == self.number:
            return nullcontext()
        device: AbstractContextManager[object] = cupy.cuda.Device(self.number)
        return device

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Pool memory: a later allocation on this stream reuses it only after the kernels queued
        so far.
        """
        with self.use():
            buffer = allocate(nbytes, self.name)
            if zeroed:
                buffer.memory.memset_async(0, nbytes, cupy.cuda.get_current_stream())
        return buffer

    def load(self, cubin: bytes, names: Sequence[str]) -> dict[str, Function]:
        """Load a cubin and look its functions up; they keep the module alive."""
        module = cupy_function.Module()
        with self.use():
            module.load(cubin)
            return {name: self._launcher(module.get_function(name)) for name in names}

    def _launcher(self, function: cupy_function.Function) -> Function:
        def launch(grid: tuple[int, int], block: tuple[int, int], values: Sequence[Value]) -> None:
            with self.use():
                stream = cupy.cuda.get_current_stream()
                function((*grid, 1), (*block, 1), tuple(values), 0, stream)

        return launch
