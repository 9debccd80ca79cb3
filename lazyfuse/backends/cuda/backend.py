"""CudaBackend: Kernel IR in, kernels on a GPU out. cupy is imported only when a backend is made.

>>> CudaBackend.available()[0] in (True, False)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyfuse.backends.base import Buffer, Executable
from lazyfuse.backends.cuda.executable import (
    OwnExecutable,
    entries,
    pack_binary,
    symbol,
    unpack_binary,
)
from lazyfuse.backends.cuda.render_body import supports
from lazyfuse.backends.cuda.strategy import (
    Policy,
    Strategy,
    check_supported,
    choose,
    render_own,
)
from lazyfuse.ir.kernel import Kernel

if TYPE_CHECKING:
    from lazyfuse.backends.cuda.device import Device

#: Counts up whenever a renderer writes other text for the same kernel: cached binaries of older
#: text are not loaded.
RENDER_VERSION = 3
#: Buffers of one kernel. 64 with 6 strides each still fit the parameter space; compile time grows
#: past 100.
MAX_ARGS = 64


class CudaBackend:
    """One GPU as a Backend. Sums add in a tree that depends on shape and device only, not in
    NumPy's order.

    Work goes to cupy's current stream of the device.
    """

    name = "cuda"
    exact_order = False
    max_args = MAX_ARGS

    def __init__(self, number: int = 0, policy: Policy = Policy.AUTO) -> None:
        from lazyfuse.backends.cuda import build
        from lazyfuse.backends.cuda.device import Device

        self.gpu: Device = Device(number)
        self.device = self.gpu.name
        self.policy = policy
        self._compiler = build.nvrtc_version()

    @staticmethod
    def available() -> tuple[bool, str]:
        """Say whether a GPU can be used, and why not."""
        try:
            import cupy
        except Exception as error:  # a broken CUDA installation fails in many ways while importing
            return False, f"cupy cannot be imported: {error}"
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return False, f"no usable GPU: {error}"
        return count > 0, f"{count} GPU{'s' * (count != 1)}"

    @property
    def fingerprint(self) -> str:
        """Compute capability, compiler, renderer and policy: what besides the kernel text decides
        the code.
        """
        arch, policy = self.gpu.architecture, self.policy.value
        return f"cuda sm_{arch} nvrtc {self._compiler} render {RENDER_VERSION} {policy}"

    def supports(self, op: str, dtype: str) -> bool:
        """Whether primitive `op` producing or reading `dtype` can be spelled here."""
        return supports(op, dtype)

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """Compile for this GPU.

        Raises: Unsupported for a kernel that has no CUDA text (see `max_args`); BuildError is a
        bug.
        """
        from lazyfuse.backends.cuda import build

        check_supported(kernel)
        strategy, word = choose(kernel, self.policy), symbol(name)
        if strategy is not Strategy.OWN:
            return self._cupy(kernel, strategy, word)
        program = render_own(kernel, word)
        cubin, _ = build.build_cubin(program.source, self.gpu.architecture)
        functions = self.gpu.load(cubin, entries(program))
        return OwnExecutable(program, self.gpu, functions, pack_binary(word, cubin))

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        """Make the executable of `kernel` from an earlier `binary` of the same fingerprint."""
        word, cubin = unpack_binary(binary)
        strategy = choose(kernel, self.policy)
        if strategy is not Strategy.OWN:
            return self._cupy(kernel, strategy, word)
        program = render_own(kernel, word)
        return OwnExecutable(program, self.gpu, self.gpu.load(cubin, entries(program)), binary)

    def _cupy(self, kernel: Kernel, strategy: Strategy, name: str) -> Executable:
        from lazyfuse.backends.cuda.cupy_kernels import CupyExecutable

        return CupyExecutable(kernel, strategy, name, self.gpu)

    def allocate(self, nbytes: int) -> Buffer:
        """Uninitialized memory, aligned to 512 bytes; MemoryError when there is none."""
        from lazyfuse.backends.cuda import buffers

        with self.gpu.use():
            return buffers.allocate(nbytes, self.device)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> Buffer:
        """Copy a C-contiguous host array in; a GPU cannot share host memory, so `borrow` changes
        nothing.
        """
        from lazyfuse.backends.cuda import buffers

        with self.gpu.use():
            return buffers.upload(array, self.device)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes between two buffers, in stream order."""
        import cupy

        cupy.cuda.runtime.memcpyAsync(
            target.pointer,
            source.pointer,
            source.nbytes,
            cupy.cuda.runtime.memcpyDeviceToDevice,
            cupy.cuda.get_current_stream().ptr,
        )

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """Copy the bytes out as uint8, after everything queued."""
        from lazyfuse.backends.cuda import buffers

        with self.gpu.use():
            return buffers.download(buffer)

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

    def synchronize(self) -> None:
        """Wait for the current stream."""
        import cupy

        with self.gpu.use():
            cupy.cuda.get_current_stream().synchronize()


def device_count() -> int:
    """How many GPUs can be used."""
    if not CudaBackend.available()[0]:
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())
