"""Arrays of other libraries on a GPU -> Buffers, by sharing their memory or copying it there.

CuPy's own arrays are taken as they are, others through DLPack, and what has only a
`__cuda_array_interface__` by that. Nothing waits on the host: work that is queued on the current
stream afterwards waits on the GPU for the stream that the other library names.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from lazyfuse.backends.cuda.buffers import CudaBuffer
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.order import c_strides


def adopt(array: Any, device: str, *, borrow: bool) -> tuple[CudaBuffer, np.dtype, Layout]:
    """The memory of an array, its dtype, and where its elements lie in that memory.

    Aliasing: with `borrow`, the buffer is the array's own memory, from its first to its last
    element, which it keeps alive; else a copy in the order K, queued on the current stream.
    Raises: BufferError for a mask, and for borrowed elements that do not lie at whole multiples of
    their size.
    """
    found = _shared(array, int(device.partition(":")[2]))
    taken = found if borrow else found.copy(order="K")
    size, itemsize = math.prod(taken.shape), taken.dtype.itemsize
    if any(stride % itemsize for stride in taken.strides):
        raise BufferError("the array's strides are no multiples of its itemsize: it needs a copy")
    reach = [(n - 1) * s for n, s in zip(taken.shape, taken.strides, strict=True)] if size else []
    first = sum(step for step in reach if step < 0)
    nbytes = sum(abs(step) for step in reach) + itemsize if size else 0
    buffer = CudaBuffer(taken.data + first, nbytes, device)
    buffer.exclusive = not borrow
    strides = tuple(stride // itemsize for stride in taken.strides)
    return buffer, taken.dtype, Layout(taken.shape, strides, -first // itemsize)


def device_number(interface: dict[str, Any]) -> int:
    """The GPU on which the memory of a `__cuda_array_interface__` lies."""
    pointer = interface["data"][0]
    if not pointer:  # an array without elements
        return int(cupy.cuda.runtime.getDevice())
    return int(cupy.cuda.runtime.pointerGetAttributes(pointer).device)


def _shared(array: Any, number: int) -> cupy.ndarray:
    """A CuPy array over the same memory."""
    if isinstance(array, cupy.ndarray):
        return array
    if hasattr(array, "__dlpack_device__"):
        return cupy.from_dlpack(array)
    return _by_interface(array, number)


def _by_interface(array: Any, number: int) -> cupy.ndarray:
    """Read the CUDA Array Interface, version 3. `cupy.asarray` does, but waits for the stream."""
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise BufferError("the array has a mask, which cannot be shared")
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is None:
        strides = tuple(step * dtype.itemsize for step in c_strides(shape))
    _wait_for(interface.get("stream"))
    pointer = interface["data"][0]
    memory = cupy.cuda.UnownedMemory(pointer, math.prod(shape) * dtype.itemsize, array, number)
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0), strides=tuple(strides))


def _wait_for(stream: int | None) -> None:
    """Let the current stream wait for what has been queued on another: None is none, 1 the legacy
    default stream, 2 that of the thread. Raises: BufferError for 0, which could be either."""
    if stream == 0:
        raise BufferError("stream 0 of a __cuda_array_interface__ is ambiguous")
    current = cupy.cuda.get_current_stream()
    if stream is not None and stream != (current.ptr or 1):
        current.wait_event(cupy.cuda.ExternalStream(stream).record())
