"""Arrays of other libraries on a GPU (CuPy, PyTorch, JAX, Numba): where they are, and their memory
as leaves of the graph. None of these libraries is imported here.
"""

from __future__ import annotations

import sys
from typing import Any

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Source
from lazyfuse.ir.order import copy_strides
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code
from lazyfuse.runtime import session

#: DLPack's numbers of CUDA memory, and of such that the host can read as well.
ON_CUDA = (2, 13)


def device_of(array: Any) -> str | None:
    """The GPU on which another library's array is; None for what is on the host, or no array.
    Raises: DeviceUnavailableError where that cannot be found out."""
    kind = type(array)
    if hasattr(kind, "__dlpack_device__"):
        try:
            where, number = array.__dlpack_device__()
        except Exception:  # as libraries say that DLPack has no number for where the array is
            return None
        return f"cuda:{int(number)}" if where in ON_CUDA else None
    interface = None
    if hasattr(kind, "__cuda_array_interface__"):
        interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return None
    gpu: Any = session.backend("cuda:0")  # only GPUs have `device_number`
    return f"cuda:{gpu.device_number(interface)}"


def is_cupy(value: Any) -> bool:
    """Whether a value is CuPy's own array, which on a GPU is what NumPy's is on the CPU. Classes
    derived from it know better."""
    return type(value) is getattr(sys.modules.get("cupy"), "ndarray", None)


def leaf(array: Any, device: str, *, borrow: bool) -> tuple[Source, Layout | None]:
    """The memory of an array on that GPU, and the array as a view of it; None when it is the
    whole, in its own order.

    Aliasing: with `borrow` the memory is the array's own, which is never written; else a copy on
    the GPU. Raises: DeviceUnavailableError; BufferError for memory or dtypes that cannot be read.
    """
    gpu: Any = session.backend(device)  # only GPUs have `adopt`
    buffer, kind, layout = gpu.adopt(array, borrow=borrow)
    dtype = code(kind)
    if dtype not in DTYPES or kind.kind not in "?biufc" or not kind.isnative:
        raise BufferError(f"arrays of {kind} cannot be used on a GPU")
    strides = copy_strides(layout.shape, layout.strides)
    size = buffer.nbytes // kind.itemsize
    if _is_dense(layout, strides) or not size:
        return Source(layout.shape, dtype, strides, buffer), None
    return Source((size,), dtype, (1,), buffer), layout


def _is_dense(layout: Layout, strides: tuple[int, ...]) -> bool:
    """Whether strides are those of the order K; along axes of length 1 they say nothing."""
    given = zip(layout.shape, layout.strides, strides, strict=True)
    return all(own == dense for extent, own, dense in given if extent != 1)
