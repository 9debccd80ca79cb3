"""CudaPtxBackend: the PTX that NVRTC makes of every kernel, interpreted with NumPy.

A complete Backend with device "cuda-ptx". It stands for what the compiler really made of the text
(contraction, libdevice, conversions, vector accesses), and notices accesses out of bounds, data
races and missing barriers. It does not stand for speed, nor for the last bits of the hardware's
approximate instructions.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence

from lazyfuse.backends.cuda.backend import RENDER_VERSION, wanted
from lazyfuse.backends.cuda.executable import OwnExecutable, entries, pack_binary
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.program import Program
from lazyfuse.backends.cuda.simulator import SimulatedBackend, merged
from lazyfuse.backends.cuda_ptx.launch import PtxModule
from lazyfuse.backends.cuda_ptx.runtime import PtxBuffer, PtxRuntime
from lazyfuse.locks import Lock

#: Few small blocks, as on the host shim: each instruction is a NumPy call on all threads at once.
PTX_TARGET = Target(processors=2, block=64)
#: The architecture whose PTX is interpreted by default: H100 and H200.
ARCHITECTURE = "90"


class CudaPtxBackend(SimulatedBackend):
    """The CUDA backend on an interpreter, for tests. `order` above 0 shuffles blocks and
    atomics.
    """

    name = "cuda-ptx"
    device = "cuda-ptx"
    runtime: PtxRuntime

    def __init__(
        self, target: Target = PTX_TARGET, *, order: int = 0, architecture: str = ARCHITECTURE
    ) -> None:
        self.runtime = PtxRuntime(target, order)
        self.architecture = architecture
        # Equal texts are parsed once, as long as somebody holds an executable of them.
        self._modules: weakref.WeakValueDictionary[bytes, PtxModule] = (
            weakref.WeakValueDictionary()
        )
        self._lock = Lock()

    @staticmethod
    def available() -> tuple[bool, str]:
        """Say whether NVRTC can be loaded; it needs no GPU and no driver."""
        try:
            from lazyfuse.backends.cuda import build

            return True, f"NVRTC {build.nvrtc_version()}"
        except Exception as error:  # a broken CUDA installation fails in many ways while importing
            return False, f"NVRTC does not load: {error}"

    @property
    def fingerprint(self) -> str:
        """Compiler, architecture, renderer and the strategy asked for decide the code."""
        from lazyfuse.backends.cuda import build

        version = build.nvrtc_version()
        options = f"render {RENDER_VERSION} {wanted().value}"
        return f"cuda-ptx compute_{self.architecture} nvrtc {version} {options}"

    def build(self, programs: Sequence[Program]) -> list[OwnExecutable]:
        """Compile programs whose entries have distinct names."""
        code = self.compiled(merged(programs)).encode()
        return [self._executable(program, code) for program in programs]

    def compiled(self, source: str) -> str:
        """The PTX of a source."""
        from lazyfuse.backends.cuda import build

        return build.build_ptx(source, self.architecture)

    def _executable(self, program: Program, code: bytes) -> OwnExecutable:
        functions = self.runtime.functions(self._module(code), entries(program))
        return OwnExecutable(program, self.runtime, functions, pack_binary(program.name, code))

    def _module(self, code: bytes) -> PtxModule:
        with self._lock:
            module = self._modules.get(code)
            if module is None:
                module = self._modules[code] = PtxModule(code.decode())
            return module

    def counts(self) -> Counter[str]:
        """How many threads executed each instruction of the kernels that are in use."""
        return sum((module.counts for module in self._modules.values()), Counter())

    def allocate(self, nbytes: int) -> PtxBuffer:
        """Memory at an address of its own, aligned to 512 bytes as cupy's pool."""
        return self.runtime.allocate(nbytes)
