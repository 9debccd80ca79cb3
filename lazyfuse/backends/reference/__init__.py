"""The reference backend: host memory and no compiler.
Every kernel is refused, so plans run op by op through NumPy.

It stands in where llvmlite cannot be used (no wheel for the platform, or an import error),
and in tests as an oracle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyfuse.backends.base import Buffer, Executable, Unsupported
from lazyfuse.ir.interp import copy_elements
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout


class HostBuffer:
    """NumPy memory."""

    __slots__ = ("array", "pointer", "nbytes", "device", "exclusive", "__weakref__")

    def __init__(self, array: np.ndarray, *, exclusive: bool) -> None:
        self.array = array
        self.pointer = array.ctypes.data
        self.nbytes = array.nbytes
        self.device = "cpu"
        self.exclusive = exclusive


class ReferenceBackend:
    """See the module."""

    name = "reference"
    device = "cpu"
    exact_order = True
    fingerprint = "reference"

    def supports(self, op: str, dtype: str) -> bool:
        return False

    def compile(self, kernel: Kernel, name: str) -> Executable:
        raise Unsupported("kernel", name, "the reference backend has no compiler")

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        raise Unsupported("kernel", name, "the reference backend has no compiler")

    def allocate(self, nbytes: int) -> HostBuffer:
        return HostBuffer(np.empty(nbytes, np.uint8), exclusive=True)

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> HostBuffer:
        flat = array.reshape(-1).view(np.uint8)
        return HostBuffer(flat if borrow else flat.copy(), exclusive=not borrow)

    def copy(self, source: Buffer, target: Buffer) -> None:
        self.to_host(target)[...] = self.to_host(source)

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[Layout]
    ) -> None:
        copy_elements(self.to_host(source), self.to_host(target), dtype, regions)

    def to_host(self, buffer: Buffer) -> np.ndarray:
        assert isinstance(buffer, HostBuffer)
        return buffer.array[:]

    def synchronize(self) -> None:
        """Nothing runs in the background."""
