"""What the backends without a GPU share: own texts only, on memory from NumPy.

`backends/cuda_host` compiles the text with g++, `backends/cuda_ptx` interprets what NVRTC makes of
it; both are complete Backends, so that the engine and its tests run on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from lazyfuse.backends.base import Buffer, Executable
from lazyfuse.backends.cuda.backend import MAX_ARGS, explained, wanted
from lazyfuse.backends.cuda.executable import OwnExecutable, symbol, unpack_binary
from lazyfuse.backends.cuda.launch import Layout, Runtime
from lazyfuse.backends.cuda.program import Program, Strategy
from lazyfuse.backends.cuda.render_body import supports
from lazyfuse.backends.cuda.strategy import check_supported, choose, render_own
from lazyfuse.ir.interp import copy_elements
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout as ArrayLayout


@runtime_checkable
class SimulatedBuffer(Buffer, Protocol):
    """A buffer whose bytes are a NumPy array."""

    @property
    def memory(self) -> np.ndarray: ...

    def check(self) -> None:
        """Raise when a kernel wrote outside the buffer and that was not noticed at once."""


class SimulatedBackend(ABC):
    """The CUDA backend on the CPU, for tests."""

    name: str
    device: str
    runtime: Runtime
    exact_order = False
    max_args = MAX_ARGS
    narrow_index = True

    @staticmethod
    @abstractmethod
    def available() -> tuple[bool, str]:
        """Say whether what the backend needs is installed, and what is found or missing."""

    @abstractmethod
    def build(self, programs: Sequence[Program]) -> list[OwnExecutable]:
        """Compile programs whose entries have distinct names, all in one source."""

    @abstractmethod
    def _executable(self, program: Program, code: bytes) -> OwnExecutable: ...

    @abstractmethod
    def allocate(self, nbytes: int) -> SimulatedBuffer:
        """Uninitialized memory, aligned to 64 bytes at least."""

    def supports(self, op: str, dtype: str) -> bool:
        """Whether primitive `op` producing or reading `dtype` can be spelled here."""
        return supports(op, dtype)

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """Compile one kernel; `compile_many` is far cheaper per kernel."""
        return self.compile_many([(kernel, name)])[0]

    def compile_many(self, kernels: Sequence[tuple[Kernel, str]]) -> list[OwnExecutable]:
        """Compile many kernels in one translation unit, each in a namespace of its own.

        Raises: Unsupported, as CudaBackend.compile does.
        """
        programs = []
        for number, (kernel, name) in enumerate(kernels):
            check_supported(kernel)
            suffix = f"_{number}" if len(kernels) > 1 else ""
            programs.append(render_own(kernel, symbol(name) + suffix, own_strategy(kernel)))
        return self.build(programs)

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        """Make the executable of `kernel` from an earlier `binary` of the same fingerprint."""
        word, code = unpack_binary(binary)
        return self._executable(render_own(kernel, word, own_strategy(kernel)), code)

    def strategy(
        self,
        kernel: Kernel,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> str:
        """Say how a kernel would run with these extents and layouts on this make-believe GPU."""
        layout = Layout.of(kernel, extents, strides, offsets)
        return explained(kernel, self.runtime, layout, has_cupy=False)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> Buffer:
        """Copy a C-contiguous host array in: a device does not share host memory."""
        buffer = self.allocate(array.nbytes)
        buffer.memory[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return buffer

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes between two buffers."""
        _own(target).memory[:] = _own(source).memory

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[ArrayLayout]
    ) -> None:
        """Copy the elements at these layouts."""
        copy_elements(_own(source).memory, _own(target).memory, dtype, regions)

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """Copy the bytes out as uint8; raises when a kernel wrote past their ends."""
        own = _own(buffer)
        own.check()
        return own.memory.copy()

    def synchronize(self) -> None:
        """Return at once: nothing runs behind the caller's back here."""
        return None


def own_strategy(kernel: Kernel) -> Strategy:
    """The strategy of a kernel where cupy cannot run."""
    return choose(kernel, wanted(), has_cupy=False)


def merged(programs: Sequence[Program]) -> str:
    """Many programs in one source, each in a namespace of its own."""
    if len(programs) == 1:
        return programs[0].source
    return "".join(
        f"namespace scope{number} {{\n{program.source}}}\nusing namespace scope{number};\n"
        for number, program in enumerate(programs)
    )


def _own(buffer: Buffer) -> SimulatedBuffer:
    assert isinstance(buffer, SimulatedBuffer), buffer
    return buffer
