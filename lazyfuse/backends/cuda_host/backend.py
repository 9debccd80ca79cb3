"""CudaHostBackend: the CUDA text of every kernel, compiled by g++ and run on the CPU.

A complete Backend with device "cuda-host", so that the whole engine can be tested on the CUDA
renderers without a GPU. Own texts only. It stands for the GPU's text, indexing,
barriers and launch geometry; not for its speed, nor for what hardware does where C++ leaves it
open, nor for libdevice (functions are the host's libm).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lazyfuse.backends.cuda.backend import RENDER_VERSION, wanted
from lazyfuse.backends.cuda.executable import OwnExecutable, entries, pack_binary
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.program import Program
from lazyfuse.backends.cuda.simulator import SimulatedBackend, merged
from lazyfuse.backends.cuda_host import compiler
from lazyfuse.backends.cuda_host.runtime import HostBuffer, HostRuntime
from lazyfuse.locks import Lock

#: Few small blocks: several of each still take part in every reduction, and fibers stay cheap.
HOST_TARGET = Target(processors=2, block=64)


class CudaHostBackend(SimulatedBackend):
    """The CUDA backend on the CPU, for tests. `order` sets the thread order (see HostRuntime),
    `level` that of optimization.
    """

    name = "cuda-host"
    device = "cuda-host"
    runtime: HostRuntime

    def __init__(
        self,
        target: Target = HOST_TARGET,
        *,
        order: int = 0,
        directory: Path | None = None,
        level: int = compiler.LEVEL,
    ) -> None:
        self.level = level
        self.runtime = HostRuntime(target, order)
        self.directory = compiler.default_directory() if directory is None else directory
        # The shim keeps the running block in thread-local memory, but g++ runs are worth doing
        # once.
        self._lock = Lock()

    @staticmethod
    def available() -> tuple[bool, str]:
        """Say whether g++ is here, on a machine whose fibers the shim can switch."""
        if os.uname().machine != "x86_64":
            return False, "the host shim switches fibers on x86-64 only"
        found = compiler.find_compiler()
        return (True, found) if found else (False, "g++ is not installed")

    @property
    def fingerprint(self) -> str:
        """The renderer, the strategy asked for and the shim decide the code."""
        asked = wanted().value
        return f"cuda-host {compiler.fingerprint(self.level)} render {RENDER_VERSION} {asked}"

    def build(self, programs: Sequence[Program]) -> list[OwnExecutable]:
        """Compile programs whose entries have distinct names."""
        names = [entry for program in programs for entry in entries(program)]
        with self._lock:
            library = compiler.build_library(merged(programs), names, self.directory, self.level)
        return [self._executable(program, library) for program in programs]

    def _executable(self, program: Program, code: bytes) -> OwnExecutable:
        loaded = compiler.load_library(code, self.directory)
        functions = self.runtime.functions(loaded, entries(program), program.source)
        return OwnExecutable(program, self.runtime, functions, pack_binary(program.name, code))

    def allocate(self, nbytes: int) -> HostBuffer:
        """Uninitialized memory between guards, aligned to 64 bytes."""
        return HostBuffer(nbytes)
