"""The CPU backend: Kernel IR in, machine code and host memory out.

`emit` writes the text of an LLVM module with explicit vectors (`vector`, `vecmath` for single
instructions; `emit_*` for loops, memory and accumulators), `jit` compiles it, `loader` links it,
`launch` runs it on `threads`, `buffers` recycles memory. Floats are never contracted nor
reordered: the bits are NumPy's, and the same on one thread as on many.

`emit` and `jit`, and with it LLVM, are imported when a kernel is not on disk.

    >>> backend = CpuBackend()
    >>> executable = backend.compile(kernel, "double_it")            # doctest: +SKIP
    >>> launch = executable.bind((1000,), ((1,), (1,)), (0, 0))      # doctest: +SKIP
    >>> launch([source, target], [], threads=2)                      # doctest: +SKIP
"""

from __future__ import annotations

import ctypes
import marshal
from collections.abc import Sequence
from functools import cached_property, partial
from importlib import import_module

import numpy as np

from lazyfuse.backends.base import Buffer, Coder, Executable
from lazyfuse.backends.cpu.buffers import BufferPool, CpuBuffer, allocate, copy_in, share, zeros
from lazyfuse.backends.cpu.compiler import FOLDER, Compiler
from lazyfuse.backends.cpu.emit_params import is_staged
from lazyfuse.backends.cpu.emit_plan import exports, plan_phases
from lazyfuse.backends.cpu.features import loads_together, stream_bytes, supports
from lazyfuse.backends.cpu.host import Kept, not_kept
from lazyfuse.backends.cpu.launch import Launch, Program
from lazyfuse.backends.cpu.launch_bands import BAND_BYTES, Bands
from lazyfuse.backends.cpu.launch_cut import Measures, measures
from lazyfuse.backends.cpu.loader import dumped
from lazyfuse.backends.cpu.masks import Masks
from lazyfuse.backends.cpu.threads import Workers
from lazyfuse.collecting import uncollected
from lazyfuse.digests import digest
from lazyfuse.interrupts import attempted, is_interrupt
from lazyfuse.ir.interp import copy_elements
from lazyfuse.ir.kept import Rooms
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout
from lazyfuse.ops.primitives import PRIMITIVES
from lazyfuse.sources import sources

__all__ = ["CpuBackend", "CpuBuffer", "CpuExecutable"]

_READS = {"load", "gather", "scalar", "const", "acc", "carry", "cast", "select"}
_STRUCTURAL = _READS | {"index", "bitcast", "libm", "rare", "flag", "scale", "truncate"}
_COMPLEX = _READS | {"complex", "real", "imag"}
_HALF = _READS | {"bitcast"}


class CpuExecutable:
    """A compiled kernel; see `backends.base.Executable`. Its launches keep its code loaded."""

    def __init__(self, backend: CpuBackend, kernel: Kernel, name: str, binary: bytes) -> None:
        self.kernel = kernel
        self.name = name
        self.binary = binary
        self._backend = backend
        *found, content = marshal.loads(binary)
        plans = plan_phases(kernel) if is_staged(kernel) else ()
        code = backend.compiler.link(content, exports(kernel, plans))
        self._program = Program(
            kernel, plans, Measures(*found), code, memory=backend.memory, workers=backend.workers
        )

    @cached_property
    def source(self) -> str:
        """The LLVM text; written again for a kernel that came from its binary."""
        return _emitted(self.kernel, self._backend.compiler)

    def bind(
        self,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Launch:
        """Fix extents, and strides and offsets in elements of what is not scratch."""
        return Launch(self._program, extents, strides, offsets)


class CpuBackend:
    """Compiles for the host, or for another CPU of its kind (`cpu`, `features`: LLVM's names).
    Level 0 compiles faster and runs slower, for tests. `kept` keeps code that all kernels need."""

    name = "cpu"
    device = "cpu"
    exact_order = True
    picks_lanes = True
    band_bytes = BAND_BYTES
    keeps_plans = True  # on disk: the fingerprint covers all of this folder

    def __init__(
        self,
        *,
        cpu: str | None = None,
        features: str | None = None,
        level: int = 2,
        kept: Kept = not_kept,
    ) -> None:
        self.compiler = Compiler(cpu=cpu, features=features, level=level, kept=kept)
        self.memory = BufferPool()
        self.workers = Workers(self.compiler)
        self.masks = Masks(self.compiler)

    @cached_property
    def loads_together(self) -> bool:
        """Whether kernels know which arguments lie beside each other (`emit_neighbours.py`)."""
        return loads_together(self.compiler.features)

    @cached_property
    def fingerprint(self) -> str:
        """Everything besides the kernel text that decides the compiled bits, as a digest."""
        decisive = [f"{self.compiler.version} {stream_bytes()} {sources(FOLDER)}"]
        for row in PRIMITIVES.values():
            decisive.append(f"{row.name} {row.arity} {sorted(row.llvm.items())}")
        return digest("".join(decisive))

    def supports(self, op: str, dtype: str) -> bool:
        """Whether primitive `op` producing or reading `dtype` can be spelled here."""
        row = PRIMITIVES.get(op)
        if row is None or not supports(dtype, self.compiler.features):
            return False
        if dtype[0] == "c":
            return op in _COMPLEX
        if dtype == "f2":
            return op in _HALF
        if op in _STRUCTURAL or op in ("real", "imag", "complex"):
            return True
        if op in ("not", "neg") and dtype[0] in "biu":
            return op == "not" or dtype[0] in "iu"
        return dtype[0] in row.llvm

    def compile(self, kernel: Kernel, name: str) -> CpuExecutable:
        """Turn a kernel into code. Raises: Unsupported."""
        return self._linked(kernel, name, *self._made(kernel))

    def compile_briefly(self, kernel: Kernel, name: str) -> CpuExecutable:
        """The same bits from code that is there in half the time or less and takes up to a quarter
        longer to run. Raises: Unsupported."""
        return self._linked(kernel, name, *self._made(kernel, brief=True))

    def compile_together(
        self, kernels: Sequence[tuple[Kernel, str]], threads: int, *, brief: bool = False
    ) -> list[Executable | None]:
        """`compile`, or `compile_briefly`, in several threads, but for linking; None where it
        would raise."""
        try:
            _import_compiler()
        except Exception as error:  # there is no LLVM, or no room for it
            if is_interrupt(error):
                raise
            return [None] * len(kernels)
        made = attempted(
            [partial(self._made, kernel, brief=brief) for kernel, _ in kernels], threads
        )
        return [
            None if isinstance(each, Exception) else self._linked_if_possible(kernel, name, *each)
            for (kernel, name), each in zip(kernels, made, strict=True)
        ]

    def _linked_if_possible(
        self, kernel: Kernel, name: str, source: str, binary: bytes
    ) -> CpuExecutable | None:
        try:
            return self._linked(kernel, name, source, binary)
        except Exception as error:  # `compile` says why, or has room for one
            if is_interrupt(error):
                raise
            return None

    def aside(self) -> Coder:
        """What compiles for a thread that nobody waits for."""
        return _Aside(self.compiler.aside(is_alone=False))

    def _made(self, kernel: Kernel, *, brief: bool = False) -> tuple[str, bytes]:
        """The text of a kernel and its code, with its measures. Raises: Unsupported."""
        return _made(kernel, self.compiler, brief=brief)

    def _linked(self, kernel: Kernel, name: str, source: str, binary: bytes) -> CpuExecutable:
        executable = CpuExecutable(self, kernel, name, binary)
        executable.__dict__["source"] = source  # what cached_property would compute
        return executable

    def load(self, kernel: Kernel, name: str, binary: bytes) -> CpuExecutable:
        """Link code that was compiled earlier under the same fingerprint."""
        return CpuExecutable(self, kernel, name, binary)

    def zeros(self, nbytes: int) -> CpuBuffer:
        """Zeros that take no memory before they are touched. Raises: MemoryError."""
        return zeros(self.memory, nbytes)

    def allocate(self, nbytes: int) -> CpuBuffer:
        """Uninitialized memory, aligned to 64 bytes. Raises: MemoryError."""
        return allocate(self.memory, nbytes)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> CpuBuffer:
        """Copy a C-contiguous array in; `borrow` shares its memory if its elements are aligned."""
        if borrow and array.flags.aligned:
            return share(array)
        return copy_in(self.memory, array)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes of `source` to the beginning of `target`."""
        ctypes.memmove(target.pointer, source.pointer, source.nbytes)

    def bands(
        self, launches: Sequence[Launch], lags: Sequence[int], row_bytes: int, rooms: Rooms
    ) -> Bands:
        """Launches that run together, band by band of the rows of their first axis."""
        return Bands(launches, lags, row_bytes, rooms)

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[Layout]
    ) -> None:
        """Copy the elements at these layouts."""
        copy_elements(self.to_host(source), self.to_host(target), dtype, regions)

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """The bytes of a buffer of this backend as uint8, sharing memory."""
        assert isinstance(buffer, CpuBuffer)
        return buffer.array

    def synchronize(self) -> None:
        """Nothing to wait for: launches return when they are done."""


def _import_compiler() -> None:
    """Import what compiles, before threads need it, which shall not (see interrupts.py)."""
    for module in ("emit", "jit"):
        import_module(f"{__name__}.{module}")


class _Aside:
    """See Coder."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def code(self, kernel: Kernel) -> bytes:
        return _made(kernel, self._compiler)[1]


def _made(kernel: Kernel, compiler: Compiler, *, brief: bool = False) -> tuple[str, bytes]:
    source = uncollected(_emitted, kernel, compiler, brief=brief)
    code = dumped(compiler.compile(source, level=0 if brief else None))
    return source, marshal.dumps((*measures(kernel, plan_phases(kernel)), code))


def _emitted(kernel: Kernel, compiler: Compiler, *, brief: bool = False) -> str:
    """The LLVM text of a kernel. Raises: Unsupported."""
    from lazyfuse.backends.cpu.emit import emit

    return emit(kernel, compiler.features, brief=brief)
