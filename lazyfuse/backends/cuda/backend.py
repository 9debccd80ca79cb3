"""CudaBackend: Kernel IR in, kernels on a GPU out. cupy is imported only when a backend is made.

>>> CudaBackend.available()[0] in (True, False)
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lazyfuse import config
from lazyfuse.backends.base import (
    Buffer,
    Executable,
    Launch,
    LibraryCall,
    Queue,
    Scalar,
    Unsupported,
)
from lazyfuse.backends.cuda import at_once, library
from lazyfuse.backends.cuda.executable import (
    OwnExecutable,
    entries,
    pack_binary,
    symbol,
    unpack_binary,
)
from lazyfuse.backends.cuda.faults import Reported, advice
from lazyfuse.backends.cuda.launch import Layout, Runtime, bind
from lazyfuse.backends.cuda.program import Program, Strategy
from lazyfuse.backends.cuda.render_body import supports
from lazyfuse.backends.cuda.strategy import (
    CUPY,
    WANTED,
    Wanted,
    check_supported,
    choose,
    describe,
    render_own,
)
from lazyfuse.backends.driver import has_driver
from lazyfuse.errors import DeviceUnavailableError
from lazyfuse.interrupts import attempted
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout as ArrayLayout
from lazyfuse.ir.library import Elements, Request

if TYPE_CHECKING:
    from lazyfuse.backends.cuda.calls import Library
    from lazyfuse.backends.cuda.device import Device

#: Counts up whenever a renderer writes other text for the same kernel: cached binaries of older
#: text are not loaded.
RENDER_VERSION = 7
#: Buffers of one kernel, beyond which the scheduler splits groups: compile time grows past 100.
MAX_ARGS = 64


class CudaBackend:
    """One GPU as a Backend. Sums add in a tree that depends on shape and device only, not in
    NumPy's order.

    Work goes to cupy's current stream of the device.
    """

    name = "cuda"
    exact_order = False
    max_args = MAX_ARGS
    #: Whether kernels should count in 32 bits where that is enough.
    narrow_index = True

    def __init__(self, number: int = 0) -> None:
        from lazyfuse.backends.cuda import build
        from lazyfuse.backends.cuda.calls import Library
        from lazyfuse.backends.cuda.device import Device

        with Reported(f"cuda:{number}"):
            self.gpu: Device = Device(number)
        self.device = self.gpu.name
        #: Uninitialized memory, aligned to 512 bytes; MemoryError when there is none.
        self.allocate: Callable[[int], Buffer] = self.gpu.allocate
        self.library: Library = Library(self.device)
        self.reported = Reported(self.device)
        try:
            self._compiler = build.nvrtc_version()
        except Exception as error:  # what is missing, or of another version, fails in many ways
            raise DeviceUnavailableError(
                f"{self.device} cannot be used: NVRTC does not load ({error}). What to do: "
                "install lazyfuse[cuda13], or lazyfuse[cuda12] for a driver of CUDA 12"
            ) from error

    @staticmethod
    def available() -> tuple[bool, str]:
        """Say whether a GPU can be used, and why not."""
        try:
            import cupy
        except Exception as error:  # a broken CUDA installation fails in many ways while importing
            return False, f"cupy cannot be imported: {error}; install lazyfuse[cuda13]"
        if not has_driver():
            return False, "no NVIDIA driver is installed on this machine"
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return False, f"no usable GPU: {error}; {advice(error)}"
        return count > 0, f"{count} GPU{'s' * (count != 1)}"

    @property
    def fingerprint(self) -> str:
        """Compute capability, compiler, renderer, the strategy asked for and the parameter space:
        what besides the kernel text decides the code.
        """
        arch, asked = self.gpu.architecture, wanted().value
        limit = self.gpu.parameter_bytes
        return f"cuda sm_{arch} nvrtc {self._compiler} render {RENDER_VERSION} {asked} {limit}"

    def supports(self, op: str, dtype: str) -> bool:
        """Whether primitive `op` producing or reading `dtype` can be spelled here."""
        return supports(op, dtype)

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """Compile for this GPU.

        Raises: Unsupported for a kernel that has no CUDA text (see `max_args`); BuildError is a
        bug.
        """
        check_supported(kernel)
        strategy, word = choose(kernel, wanted()), symbol(name)
        if strategy in CUPY:
            return self._cupy(kernel, strategy, word)
        return self._own(kernel, strategy, word)

    def _own(self, kernel: Kernel, strategy: Strategy, name: str) -> Executable:
        from lazyfuse.backends.cuda import build

        program = render_own(kernel, name, strategy, self.gpu.parameter_bytes)
        cubin, _ = build.build_cubin(program.source, self.gpu.architecture)
        return self._loaded(program, cubin)

    def _loaded(self, program: Program, cubin: bytes) -> Executable:
        functions = self.gpu.load(cubin, entries(program))
        return OwnExecutable(program, self.gpu, functions, pack_binary(program.entry, cubin))

    def compile_together(
        self, kernels: Sequence[tuple[Kernel, str]], threads: int
    ) -> list[Executable | None]:
        """`compile` with NVRTC in several threads; None where it would raise, or takes CuPy's."""
        from lazyfuse.backends.cuda import build

        programs = [self._program(kernel, name) for kernel, name in kernels]
        own = [program for program in programs if program is not None]
        build_one = partial(build.build_cubin, architecture=self.gpu.architecture)
        built = iter(attempted([partial(build_one, each.source) for each in own], threads))
        made: list[Executable | None] = []
        for program in programs:
            found = None if program is None else next(built)
            if program is None or not isinstance(found, tuple):
                made.append(None)
            else:
                made.append(self._loaded(program, found[0]))
        return made

    def _program(self, kernel: Kernel, name: str) -> Program | None:
        """Own text of a kernel; None where there is none, or CuPy's kernels run it."""
        strategy = choose(kernel, wanted())
        try:
            check_supported(kernel)
        except Unsupported:
            return None
        if strategy in CUPY:
            return None
        return render_own(kernel, symbol(name), strategy, self.gpu.parameter_bytes)

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        """Make the executable of `kernel` from an earlier `binary` of the same fingerprint."""
        word, cubin = unpack_binary(binary)
        strategy = choose(kernel, wanted())
        if strategy in CUPY:
            return self._cupy(kernel, strategy, word)
        program = render_own(kernel, word, strategy, self.gpu.parameter_bytes)
        return OwnExecutable(program, self.gpu, self.gpu.load(cubin, entries(program)), binary)

    def _cupy(self, kernel: Kernel, strategy: Strategy, name: str) -> Executable:
        from lazyfuse.backends.cuda.cupy_kernels import CupyExecutable

        def own() -> Executable:
            return self._own(kernel, Strategy.OWN, name)

        return CupyExecutable(kernel, strategy, name, self.gpu, own)

    def strategy(
        self,
        kernel: Kernel,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> str:
        """Say how a kernel would run with these extents and layouts."""
        layout = Layout.of(kernel, extents, strides, offsets)
        return explained(kernel, self.gpu, layout, has_cupy=True)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> Buffer:
        """Copy a C-contiguous host array in; a GPU cannot share host memory, so `borrow` changes
        nothing.
        """
        from lazyfuse.backends.cuda import buffers

        with self.reported, self.gpu.use():
            return buffers.upload(array, self.device)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes between two buffers, in stream order."""
        self._copy_spans(source, target, [(0, source.nbytes)])

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[ArrayLayout]
    ) -> None:
        """Copy from the first to the last element of each region, in stream order."""
        from lazyfuse.backends.cuda import buffers

        self._copy_spans(source, target, buffers.spans(regions, int(dtype[1:])))

    def _copy_spans(
        self, source: Buffer, target: Buffer, spans: Sequence[tuple[int, int]]
    ) -> None:
        import cupy

        from lazyfuse.backends.cuda import buffers

        with self.reported, self.gpu.use():
            buffers.copy_spans(source, target, spans, cupy.cuda.get_current_stream().ptr)

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """Copy the bytes out as uint8, after everything queued."""
        from lazyfuse.backends.cuda import buffers

        with self.reported, self.gpu.use():
            return buffers.download(buffer)

    def adopt(self, array: Any, *, borrow: bool) -> tuple[Buffer, np.dtype, ArrayLayout]:
        """Take another library's array on this GPU: its memory, or a copy of it, its dtype, and
        where its elements lie there. Raises: BufferError, see adoption.py.
        """
        from lazyfuse.backends.cuda import adoption

        with self.reported, self.gpu.use():
            return adoption.adopt(array, self.device, borrow=borrow)

    def device_number(self, interface: dict[str, Any]) -> int:
        """The GPU on which the memory of a `__cuda_array_interface__` lies."""
        from lazyfuse.backends.cuda import adoption

        with self.reported:
            return adoption.device_number(interface)

    def as_array(
        self,
        buffer: Buffer,
        dtype: np.dtype,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        """View memory as a cupy array; strides and offset in bytes."""
        from lazyfuse.backends.cuda import buffers

        with self.gpu.use():
            return buffers.as_cupy(buffer, dtype, shape, strides, offset)

    def library_call(
        self, request: Request, operands: Sequence[Elements], result: Elements
    ) -> LibraryCall:
        """What CuPy has for a recorded call."""
        row = library.TABLE.get(request.name)
        if row is None:
            return LibraryCall(f"CuPy's {request.name} is not known to be NumPy's")
        missing = self.library.missing.get(request.name)
        refused = missing or library.refusal(row, request, operands, result)
        if refused:
            return LibraryCall(refused)

        def run(memory: Sequence[Buffer | Scalar]) -> Buffer | None:
            if request.name in self.library.missing:
                return None
            given = list(zip(operands, memory, strict=True))
            with self.reported, self.gpu.use():
                return self.library.run(row, request, given, result)

        return LibraryCall(f"cupy.{row.calls[0]}", run)

    def compute(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """What CuPy computes at once, of cupy arrays: an array or a tuple of arrays, which nobody
        else has; None where NumPy has to compute it, or to raise. Waits for the GPU."""
        import cupy

        row = at_once.TABLE.get(name)
        if row is None or name in self.library.missing:
            return None
        if at_once.refusal(row, arguments, options):
            return None

        def call() -> Any:
            try:
                return at_once.run(cupy, row, arguments, options)
            except (np.linalg.LinAlgError, TypeError, ValueError):
                return None

        with self.reported, self.gpu.use():
            return self.library.attempt(name, call)

    @staticmethod
    def computes(name: str) -> int:
        """How many leading arguments of a function `compute` takes as arrays; 0 when it knows
        nothing of the function."""
        row = at_once.TABLE.get(name)
        return 0 if row is None else row.arrays

    def queue(self) -> Hashable:
        """The current stream of this GPU."""
        from lazyfuse.backends.cuda import graphs

        with self.gpu.use():
            return graphs.queue()

    def launch(self, bound: Launch, buffers: Sequence[Buffer], scalars: Sequence[Scalar]) -> None:
        """Queue a launch."""
        bound(buffers, scalars, threads=1)

    def capture(self, run: Callable[[Queue], None], name: str) -> Callable[[], None] | None:
        """What `run` queues as a CUDA graph; None where CUDA refuses. Raises: MemoryError."""
        from lazyfuse.backends.cuda import graphs

        return graphs.capture(self.gpu, run, name)

    def synchronize(self) -> None:
        """Wait for the current stream."""
        import cupy

        with self.reported, self.gpu.use():
            cupy.cuda.get_current_stream().synchronize()


def wanted() -> Wanted:
    """What option `cuda_strategy` asks for."""
    return WANTED[config.current().cuda_strategy]


def explained(kernel: Kernel, runtime: Runtime, layout: Layout, *, has_cupy: bool) -> str:
    """The strategy of a kernel on a device, for people."""
    asked = wanted()
    try:
        chosen = choose(kernel, asked, has_cupy=has_cupy)
        if chosen in CUPY:
            return describe(kernel, asked, [chosen], has_cupy=has_cupy)
        launch = bind(render_own(kernel, "lf_explained", chosen), runtime, {}, layout)
    except Unsupported as error:
        return f"op by op ({error})"
    return describe(kernel, asked, launch.strategy, has_cupy=has_cupy)


def device_count() -> int:
    """How many GPUs can be used."""
    if not CudaBackend.available()[0]:
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())
