"""cupy without a GPU: what `backends/cuda` asks of cupy, over the PTX interpreter.

Memory is the interpreter's, modules are PTX instead of cubins, and every call is written down with
what it does to the host: `sync` calls are those that wait for the GPU. Faults are planted by name:
`fake.faults["alloc"] = error` makes the next call raise. Errors are cupy's own.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda_ptx.launch import PtxModule
from lazyfuse.backends.cuda_ptx.runtime import PtxBuffer, PtxRuntime
from lazyfuse.runtime import session

cupy = pytest.importorskip("cupy", reason="cupy is not installed")


class FakeMemory:
    """cupy.cuda.MemoryPointer: an address in a buffer that it keeps alive."""

    def __init__(self, fake: FakeCupy, owner: Any, pointer: int, nbytes: int) -> None:
        self.fake, self.owner, self.ptr, self.nbytes = fake, owner, pointer, nbytes

    def __add__(self, offset: int) -> FakeMemory:
        return FakeMemory(self.fake, self.owner, self.ptr + offset, self.nbytes - offset)

    def memset_async(self, value: int, nbytes: int, stream: Any) -> None:
        self.fake.call("memset_async")
        self.fake.bytes_at(self.ptr, nbytes)[:] = value

    def copy_from_host_async(self, source: ctypes.c_void_p, nbytes: int, stream: Any) -> None:
        self.fake.call("upload")
        assert source.value is not None
        self.fake.bytes_at(self.ptr, nbytes)[:] = host_bytes(source.value, nbytes)


class FakeArray:
    """cupy.ndarray: what it says about itself."""

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        return np.lib.stride_tricks.as_strided(
            np.zeros(1, self.dtype), self.shape, self.strides
        ).flags

    def copy(self, order: str) -> FakeArray:
        """On the GPU, in C or Fortran order."""
        fake = self.data.fake
        values = np.lib.stride_tricks.as_strided(
            fake.bytes_at(self.data.ptr, self.dtype.itemsize).view(self.dtype),
            self.shape,
            self.strides,
        ).copy(order)
        memory = fake.cuda.alloc(values.nbytes)
        fake.call("copy")
        flat = values.ravel("K").view(np.uint8)
        fake.bytes_at(memory.ptr, values.nbytes)[:] = flat
        return FakeArray(self.shape, self.dtype, memory, values.strides)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __init__(self, shape: Any, dtype: Any, memory: FakeMemory, strides: Any) -> None:
        self.shape, self.dtype, self.data, self.strides = shape, np.dtype(dtype), memory, strides

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data.ptr, False),
            "strides": self.strides,
            "version": 3,
        }

    def __dlpack__(self, **options: Any) -> Any:
        return ("capsule", self.data.ptr, self.shape, options)


class FakeStream:
    """cupy.cuda.Stream."""

    def __init__(self, fake: FakeCupy, ptr: int = 0) -> None:
        self.fake, self.ptr = fake, ptr

    def synchronize(self) -> None:
        self.fake.call("sync")


class FakeFunction:
    """cupy.cuda.function.Function: an entry of a module."""

    def __init__(self, fake: FakeCupy, module: PtxModule, name: str) -> None:
        self.fake, self.module, self.name = fake, module, name

    def __call__(self, grid: Any, block: Any, values: Any, shared: int, stream: Any) -> None:
        self.fake.call("launch")
        self.fake.launched.append((self.name, stream.ptr))
        given = [(np.int64(v) if isinstance(v, int) else v).tobytes() for v in values]
        regions = [buffer.region for buffer in list(self.fake.runtime._buffers)]
        self.module.launch(self.name, grid, block, given, regions)


class FakeCupy:
    """The module `cupy`. `calls` lists what was called, `launched` the kernels with the address of
    their stream; `limit` bounds the bytes on the GPU.
    """

    def __init__(self, gpus: int = 1) -> None:
        self.calls: list[str] = []
        self.launched: list[tuple[str, int]] = []
        self.ranges: list[str] = []
        self.faults: dict[str, Exception] = {}
        self.limit: int | None = None
        self.driver = 13000
        self.runtime = PtxRuntime(Target(processors=2, block=64))
        self.stream = FakeStream(self)
        self.gpus = gpus
        self.ndarray = lambda shape, dtype, memory, strides: FakeArray(
            shape, dtype, memory, strides
        )
        real = cupy.cuda
        self.cuda = SimpleNamespace(
            Device=self._device,
            alloc=self._alloc,
            get_current_stream=lambda: self.stream,
            memory=SimpleNamespace(OutOfMemoryError=real.memory.OutOfMemoryError),
            MemoryPointer=lambda unowned, offset: FakeMemory(
                self, unowned, unowned.ptr + offset, unowned.size - offset
            ),
            UnownedMemory=lambda ptr, size, owner: SimpleNamespace(
                ptr=ptr, size=size, owner=owner
            ),
            nvtx=SimpleNamespace(RangePush=self.ranges.append, RangePop=lambda: None),
            runtime=SimpleNamespace(
                CUDARuntimeError=real.runtime.CUDARuntimeError,
                getDeviceCount=self._count,
                getDevice=lambda: 0,
                driverGetVersion=lambda: self.driver,
                memcpyAsync=self._memcpy,
                memcpyDeviceToHost=real.runtime.memcpyDeviceToHost,
                memcpyDeviceToDevice=real.runtime.memcpyDeviceToDevice,
            ),
        )
        self.from_dlpack = lambda array: array
        self.function = SimpleNamespace(Module=lambda: FakeModule(self))

    def call(self, name: str) -> None:
        """Write a call down; raise the fault that is planted for it."""
        self.calls.append(name)
        error = self.faults.pop(name, None)
        if error is not None:
            raise error

    @property
    def used(self) -> int:
        """Bytes of buffers that are alive."""
        return sum(buffer.nbytes for buffer in list(self.runtime._buffers))

    def bytes_at(self, pointer: int, nbytes: int) -> np.ndarray:
        """The bytes at an address of the GPU."""
        for buffer in list(self.runtime._buffers):
            start = pointer - buffer.pointer
            if 0 <= start and start + nbytes <= buffer.nbytes:
                return buffer.memory[start : start + nbytes]
        raise AssertionError(f"{nbytes} bytes at {pointer:#x} are nobody's")

    def _count(self) -> int:
        self.call("getDeviceCount")
        return self.gpus

    def _device(self, number: int) -> Any:
        if number >= self.gpus:
            raise cupy.cuda.runtime.CUDARuntimeError(101)
        return SimpleNamespace(
            compute_capability="90",
            attributes={"MultiProcessorCount": 2},
        )

    def _alloc(self, nbytes: int) -> FakeMemory:
        self.call("alloc")
        if self.limit is not None and self.used + nbytes > self.limit:
            raise cupy.cuda.memory.OutOfMemoryError(nbytes, self.used, self.limit)
        buffer: PtxBuffer = self.runtime.allocate(nbytes)
        return FakeMemory(self, buffer, buffer.pointer, nbytes)

    def _memcpy(self, target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        to_host = kind == cupy.cuda.runtime.memcpyDeviceToHost
        self.call("download" if to_host else "copy")
        into = host_bytes(target, nbytes) if to_host else self.bytes_at(target, nbytes)
        into[:] = self.bytes_at(source, nbytes)


class FakeModule:
    """cupy.cuda.function.Module: PTX in place of a cubin."""

    def __init__(self, fake: FakeCupy) -> None:
        self.fake = fake

    def load(self, code: bytes) -> None:
        self.fake.call("load")
        self.module = PtxModule(code.decode())

    def get_function(self, name: str) -> FakeFunction:
        return FakeFunction(self.fake, self.module, name)


def host_bytes(address: int, nbytes: int) -> np.ndarray:
    """The bytes at an address of the host."""
    return np.ctypeslib.as_array((ctypes.c_ubyte * nbytes).from_address(address))


@contextmanager
def fake_gpu(monkeypatch: pytest.MonkeyPatch, gpus: int = 1) -> Iterator[FakeCupy]:
    """A machine with GPUs that are fakes; new arrays live on the first. The backend is the real
    one, and so is NVRTC.
    """
    from lazyfuse.backends.cuda import backend, buffers, build, cupy_kernels, device

    fake = FakeCupy(gpus)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake)
        patch.setattr(buffers, "cupy", fake)
        patch.setattr(device, "cupy", fake)
        patch.setattr(cupy_kernels, "cupy", fake)
        patch.setattr(device, "cupy_function", fake.function)
        patch.setattr(device, "Target", lambda processors: fake.runtime.target)
        patch.setattr(backend, "has_driver", lambda: True)
        patch.setattr(build, "build_cubin", ptx_for_cubin(build.build_ptx))
        forget()
        try:
            with lf.options(device="cuda:0", disk_cache=False, cuda_strategy="own", eager_size=0):
                yield fake
        finally:
            forget()


def ptx_for_cubin(build_ptx: Callable[[str, str], str]) -> Callable[..., tuple[bytes, str]]:
    """`build_cubin`, with PTX for the cubin."""
    return lambda source, architecture: (build_ptx(source, architecture).encode(), "")


def forget() -> None:
    """Drop the backends and kernels of another machine."""
    session.backend.cache_clear()
    lf.cache_clear()
