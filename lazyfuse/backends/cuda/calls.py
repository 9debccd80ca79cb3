"""Runs the rows of `library.py`: buffers in, a buffer out, in the order of the current stream.

Operands are CuPy's views of the buffers, with the nodes' strides; what a library cannot take, CuPy
copies on the device. A result that does not lie as its node does is copied there once more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import cupy
import numpy as np

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cuda import buffers
from lazyfuse.backends.cuda.buffers import CudaBuffer
from lazyfuse.backends.cuda.faults import is_cudas
from lazyfuse.backends.cuda.library import Row
from lazyfuse.errors import UnfusedWarning
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.library import Elements, Request

#: What says that a library is not installed, or that this CuPy has no such function.
_MISSING = (ImportError, AttributeError)


class Library:
    """CuPy's functions on one GPU. `missing` has, by name, what cannot be called here, and why."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.missing: dict[str, str] = {}

    def run(
        self,
        row: Row,
        request: Request,
        operands: Sequence[tuple[Elements, Buffer | Scalar]],
        result: Elements,
    ) -> CudaBuffer | None:
        """The memory of the result, or None where the library does not answer.
        Raises: MemoryError; errors of CUDA, as CuPy raises them."""
        if 0 in result.layout.shape:
            return buffers.allocate(0, self.device)

        def call() -> CudaBuffer | None:
            arrays = [_operand(item, value) for item, value in operands]
            found = row.runs(cupy, request, arrays, result)
            return None if found is None else self._laid_out(found, result, arrays)

        made: CudaBuffer | None = self.attempt(request.name, call)
        return made

    def attempt(self, name: str, call: Callable[[], Any]) -> Any:
        """What a call of CuPy gives, inside a range of that name for profilers; None, with a
        warning, where it cannot be called. Raises: as `run`."""
        cupy.cuda.nvtx.RangePush(f"cupy.{name}")
        try:
            return call()
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryError(
                f"{self.device} has no memory left for cupy.{name}: {error} What was recorded is "
                "kept: delete arrays and ask again"
            ) from error
        except Exception as error:  # libraries fail in many ways; NumPy still has the answer
            if is_cudas(error) or isinstance(error, MemoryError) or is_interrupt(error):
                raise
            self._leave(name, error)
            return None
        finally:
            cupy.cuda.nvtx.RangePop()

    def _leave(self, name: str, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, _MISSING):
            self.missing[name] = reason
        cure = ""
        if isinstance(error, ImportError):
            cure = '; pip install "cupy-cuda13x[ctk]" brings NVIDIA\'s libraries'
        warnings.warn(
            f"cupy.{name} cannot be called on {self.device}, so it runs in NumPy on the host "
            f"({reason}){cure}",
            UnfusedWarning,
            stacklevel=2,
        )

    def _laid_out(self, found: Any, result: Elements, operands: Sequence[Any]) -> CudaBuffer:
        """The memory of an array where it lies as the result does and is no operand's; else a
        copy that does."""
        dtype, layout = np.dtype(result.dtype), result.layout
        nbytes = found.size * dtype.itemsize
        steps = tuple(stride * dtype.itemsize for stride in layout.strides)
        lies = all(
            own == step
            for own, step, extent in zip(found.strides, steps, layout.shape, strict=True)
            if extent != 1
        )
        if found.dtype == dtype and lies and not any(_share(found, item) for item in operands):
            return CudaBuffer(found.data, nbytes, self.device)
        buffer = buffers.allocate(nbytes, self.device)
        _view(result, buffer)[...] = found
        return buffer


def _operand(item: Elements, value: Buffer | Scalar) -> Any:
    if item.is_scalar:
        return np.dtype(item.dtype).type(value)
    return _view(item, cast(Buffer, value))


def _view(item: Elements, buffer: Buffer) -> Any:
    dtype, (shape, strides, offset) = np.dtype(item.dtype), item.layout
    size = dtype.itemsize
    steps = tuple(stride * size for stride in strides)
    return buffers.as_cupy(buffer, dtype, shape, steps, offset * size)


def _share(found: Any, operand: Any) -> bool:
    """Whether a result may be an operand's own memory: no function copies a part of it only."""
    return not isinstance(operand, np.generic) and bool(found.data.ptr == operand.data.ptr)
