"""Device memory: Buffers over cupy's pool, which reuses memory in the order of the stream that
freed it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import cupy
import numpy as np

from lazyfuse.backends.base import Buffer
from lazyfuse.ir.layout import Layout


class CudaBuffer:
    """Flat memory on one GPU; `memory` keeps it from returning to the pool."""

    __slots__ = ("pointer", "nbytes", "device", "exclusive", "memory")

    def __init__(self, memory: cupy.cuda.MemoryPointer, nbytes: int, device: str) -> None:
        self.pointer: int = memory.ptr
        self.nbytes = nbytes
        self.device = device
        self.exclusive = True
        self.memory = memory


def allocate(nbytes: int, device: str) -> CudaBuffer:
    """Take uninitialized memory from the pool (aligned to 512 bytes).

    Raises: MemoryError when the device has none left, after the pool gave back what it held.
    """
    try:
        return CudaBuffer(cupy.cuda.alloc(nbytes or 1), nbytes, device)
    except cupy.cuda.memory.OutOfMemoryError as error:
        tell_lack(error, nbytes, device)
        raise


def tell_lack(error: BaseException, nbytes: int, device: str) -> None:
    """Raise MemoryError for CuPy's own; see `Reported.tell`."""
    if isinstance(error, cupy.cuda.memory.OutOfMemoryError):
        raise MemoryError(
            f"{device} has no {nbytes} bytes left: {error} What was recorded is kept: delete "
            "arrays and ask again"
        ) from error


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


def spans(regions: Sequence[Layout], itemsize: int) -> list[tuple[int, int]]:
    """The bytes from the first to the last element of each region; spans that meet are one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(_span(region, itemsize) for region in regions):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def copy_spans(
    source: Buffer, target: Buffer, found: Sequence[tuple[int, int]], stream: int
) -> None:
    """Copy these bytes, in the order of a stream."""
    runtime = cupy.cuda.runtime
    for start, stop in found:
        places = target.pointer + start, source.pointer + start
        runtime.memcpyAsync(*places, stop - start, runtime.memcpyDeviceToDevice, stream)


def _span(region: Layout, itemsize: int) -> tuple[int, int]:
    steps = [(n - 1) * step for n, step in zip(region.shape, region.strides, strict=True)]
    first = region.offset + sum(step for step in steps if step < 0)
    last = region.offset + sum(step for step in steps if step > 0)
    return first * itemsize, (last + 1) * itemsize


def as_cupy(
    buffer: Buffer, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> cupy.ndarray:
    """View device memory as a cupy array; strides and offset in bytes. Shares memory."""
    memory = getattr(buffer, "memory", None)
    if memory is None:
        unowned = cupy.cuda.UnownedMemory(buffer.pointer, buffer.nbytes, buffer)
        memory = cupy.cuda.MemoryPointer(unowned, 0)
    return cupy.ndarray(shape, dtype, memory + offset, strides=strides)
