"""Device memory: Buffers over cupy's pool, which reuses memory in the order of the stream that
freed it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import cupy
import numpy as np

from lazyfuse.backends.base import Buffer


class CudaBuffer:
    """Flat memory on one GPU; `memory` keeps it from returning to the pool."""

    __slots__ = ("pointer", "nbytes", "device", "exclusive", "memory")

    def __init__(self, memory: cupy.cuda.MemoryPointer, nbytes: int, device: str) -> None:
        self.pointer = int(memory.ptr)
        self.nbytes = nbytes
        self.device = device
        self.exclusive = True
        self.memory = memory


def allocate(nbytes: int, device: str) -> CudaBuffer:
    """Take uninitialized memory from the pool (aligned to 512 bytes).

    Raises: MemoryError when the device has none left, after the pool gave back what it held.
    """
    try:
        memory = cupy.cuda.alloc(max(nbytes, 1))
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise MemoryError(
            f"{device} has no {nbytes} bytes left: {error} What was recorded is kept: delete "
            "arrays and ask again"
        ) from error
    return CudaBuffer(memory, nbytes, device)


def upload(array: np.ndarray, device: str) -> CudaBuffer:
    """Copy a C-contiguous host array; the host memory may change once this returns."""
    buffer = allocate(array.nbytes, device)
    if array.nbytes:
        stream = cupy.cuda.get_current_stream()
        buffer.memory.copy_from_host_async(
            ctypes.c_void_p(array.ctypes.data), array.nbytes, stream
        )
        stream.synchronize()
    return buffer


def download(buffer: Buffer) -> np.ndarray:
    """Copy the bytes to the host, after everything queued on the current stream."""
    result = np.empty(buffer.nbytes, np.uint8)
    if buffer.nbytes:
        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyAsync(
            result.ctypes.data,
            buffer.pointer,
            buffer.nbytes,
            cupy.cuda.runtime.memcpyDeviceToHost,
            stream.ptr,
        )
        stream.synchronize()
    return result


def adopt(array: Any, device: str, *, borrow: bool) -> tuple[CudaBuffer, Any]:
    """Take an array that another library exports through DLPack: the buffer, and the cupy array
    over it, C- or F-contiguous.

    Aliasing: with `borrow`, the buffer is the array's own memory, which it keeps alive; else a
    copy, queued on the current stream. Raises: BufferError for a borrowed array with gaps.
    """
    found = cupy.from_dlpack(array)
    is_dense = found.flags.c_contiguous or found.flags.f_contiguous
    if borrow and not is_dense:
        raise BufferError("the array is not contiguous: it cannot be shared without a copy")
    taken = found if borrow else found.copy(order="A")
    buffer = CudaBuffer(taken.data, taken.nbytes, device)
    buffer.exclusive = not borrow
    return buffer, taken


def as_cupy(
    buffer: Buffer, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> cupy.ndarray:
    """View device memory as a cupy array; strides and offset in bytes. Shares memory."""
    memory = getattr(buffer, "memory", None)
    if memory is None:
        unowned = cupy.cuda.UnownedMemory(buffer.pointer, buffer.nbytes, buffer)
        memory = cupy.cuda.MemoryPointer(unowned, 0)
    return cupy.ndarray(shape, dtype, memory + offset, strides=strides)
