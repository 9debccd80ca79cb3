"""CudaHostBackend: the CUDA text of every kernel, compiled by g++ and run on the CPU.

A complete Backend with device "cuda-host", so that the whole engine can be tested on the CUDA
renderers without a GPU. Own texts only (`Policy.OWN`). It stands for the GPU's text, indexing,
barriers and launch geometry; not for its speed, nor for what hardware does where C++ leaves it
open, nor for libdevice (functions are the host's libm).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lazyfuse.backends.base import Buffer, Executable
from lazyfuse.backends.cuda.backend import MAX_ARGS, RENDER_VERSION
from lazyfuse.backends.cuda.executable import (
    OwnExecutable,
    entries,
    pack_binary,
    symbol,
    unpack_binary,
)
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.program import Program
from lazyfuse.backends.cuda.render_body import supports
from lazyfuse.backends.cuda.strategy import check_supported, render_own
from lazyfuse.backends.cuda_host import compiler, runtime
from lazyfuse.ir.kernel import Kernel

#: Few small blocks: several of each still take part in every reduction, and fibers stay cheap.
HOST_TARGET = Target(processors=2, block=64)


class CudaHostBackend:
    """The CUDA backend on the CPU, for tests. `order` sets the thread order (see HostRuntime)."""

    name = "cuda-host"
    device = "cuda-host"
    exact_order = False
    max_args = MAX_ARGS

    def __init__(
        self,
        target: Target = HOST_TARGET,
        *,
        order: int = 0,
        directory: Path | None = None,
    ) -> None:
        self.runtime = runtime.HostRuntime(target, order)
        self.directory = compiler.default_directory() if directory is None else directory
        # The shim keeps the running block in thread-local memory, but g++ runs are worth doing
        # once.
        self._lock = threading.Lock()

    @staticmethod
    def available() -> tuple[bool, str]:
        """Say whether g++ is here, on a machine whose fibers the shim can switch."""
        if os.uname().machine != "x86_64":
            return False, "the host shim switches fibers on x86-64 only"
        found = compiler.find_compiler()
        return (True, found) if found else (False, "g++ is not installed")

    @property
    def fingerprint(self) -> str:
        """The renderer and the shim decide the code."""
        return f"cuda-host {compiler.fingerprint()} render {RENDER_VERSION}"

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
            programs.append(render_own(kernel, symbol(name) + suffix))
        return self.build(programs)

    def build(self, programs: Sequence[Program]) -> list[OwnExecutable]:
        """Compile programs whose entries have distinct names."""
        source = "".join(
            f"namespace scope{number} {{\n{program.source}}}\nusing namespace scope{number};\n"
            if len(programs) > 1
            else program.source
            for number, program in enumerate(programs)
        )
        names = [entry for program in programs for entry in entries(program)]
        with self._lock:
            library = compiler.build_library(source, names, self.directory)
        return [self._executable(program, library) for program in programs]

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        """Make the executable of `kernel` from an earlier `binary` of the same fingerprint."""
        word, library = unpack_binary(binary)
        return self._executable(render_own(kernel, word), library)

    def _executable(self, program: Program, library: bytes) -> OwnExecutable:
        loaded = compiler.load_library(library, self.directory)
        functions = self.runtime.functions(loaded, entries(program), program.source)
        binary = pack_binary(program.name, library)
        return OwnExecutable(program, self.runtime, functions, binary)

    def allocate(self, nbytes: int) -> Buffer:
        """Uninitialized memory, aligned to 64 bytes."""
        return runtime.HostBuffer(nbytes)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> Buffer:
        """Copy a C-contiguous host array in: a device does not share host memory."""
        buffer = runtime.HostBuffer(array.nbytes)
        buffer.memory[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return buffer

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes between two buffers."""
        assert isinstance(source, runtime.HostBuffer) and isinstance(target, runtime.HostBuffer)
        target.memory[:] = source.memory

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """Copy the bytes out as uint8; HostMemoryError when a kernel wrote past their ends."""
        assert isinstance(buffer, runtime.HostBuffer), buffer
        buffer.check()
        return buffer.memory.copy()

    def synchronize(self) -> None:
        """Nothing runs behind the caller's back here."""
