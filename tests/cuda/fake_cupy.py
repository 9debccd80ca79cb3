"""cupy without a GPU: what `backends/cuda` asks of cupy, over the PTX interpreter.

Memory is the interpreter's, modules are PTX instead of cubins, and every call is written down with
what it does to the host: `sync` calls are those that wait for the GPU; `waits` are streams that
wait for others. Faults are planted by name:
`fake.faults["alloc"] = error` makes the next call raise. Errors are cupy's own.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from fake_arrays import Cublas, FakeArray, cupyx, namespace

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
        return FakeMemory(self.fake, self, self.ptr + offset, self.nbytes - offset)

    def memset_async(self, value: int, nbytes: int, stream: Any) -> None:
        def fill() -> None:
            self.fake.bytes_at(self.ptr, nbytes)[:] = value

        self.fake.queue("memset_async", stream, fill)

    def copy_from_host_async(self, source: ctypes.c_void_p, nbytes: int, stream: Any) -> None:
        assert not stream.is_recording, "the words may be gone when the graph runs"
        self.fake.call("upload")
        assert source.value is not None
        self.fake.bytes_at(self.ptr, nbytes)[:] = host_bytes(source.value, nbytes)


class FakeStream:
    """cupy.cuda.Stream: current inside `with`. While it records a graph, nothing runs on it, and
    nobody may wait for it."""

    def __init__(self, fake: FakeCupy, ptr: int = 0) -> None:
        self.fake, self.ptr = fake, ptr
        self.recorded: list[Callable[[], None]] = []
        self.is_recording = False
        self.before: list[Any] = []

    def __enter__(self) -> None:
        self.before.append(self.fake.stream)
        self.fake.stream = self

    def __exit__(self, *error: object) -> None:
        self.fake.stream = self.before.pop()

    def begin_capture(self) -> None:
        assert self.ptr > 2, "the default streams record nothing"
        self.is_recording = True
        self.fake.call("capture")

    def is_capturing(self) -> bool:
        return self.is_recording

    def end_capture(self) -> FakeGraph:
        assert self.is_recording
        self.is_recording = False
        self.fake.call("captured")
        return FakeGraph(self.fake, self.recorded)

    def synchronize(self) -> None:
        assert not self.is_recording
        self.fake.call("sync")

    def record(self) -> Any:
        """An event, of which it is enough to know the stream."""
        return self

    def wait_event(self, event: Any) -> None:
        self.fake.waits.append((self.ptr, event.ptr))


class FakeGraph:
    """cupy.cuda.Graph: the same again, on the same memory, in the order of a stream."""

    def __init__(self, fake: FakeCupy, recorded: list[Callable[[], None]]) -> None:
        self.fake, self.recorded = fake, recorded
        self.device = fake.current
        self.streams: set[int] = set()

    def upload(self, stream: FakeStream) -> None:
        self.fake.call("upload graph")

    def launch(self, stream: FakeStream) -> None:
        self.fake.call("graph")
        assert self.device == self.fake.current
        self.streams.add(stream.ptr)
        assert len(self.streams) == 1, "its workspaces are of one stream"
        for run in self.recorded:
            run()


class FakeDevice:
    """cupy.cuda.Device: current inside `with`."""

    compute_capability = "90"
    attributes: ClassVar[dict[str, int]] = {
        "MultiProcessorCount": 2,
        "MaxSharedMemoryPerMultiprocessor": 100 * 1024,
    }

    def __init__(self, fake: FakeCupy, number: int) -> None:
        self.fake, self.number = fake, number
        self.before: list[int] = []

    def __enter__(self) -> None:
        self.before.append(self.fake.current)
        self.fake.current = self.number

    def __exit__(self, *error: object) -> None:
        self.fake.current = self.before.pop()


class FakeFunction:
    """cupy.cuda.function.Function: an entry of a module."""

    def __init__(self, fake: FakeCupy, module: PtxModule, name: str) -> None:
        self.fake, self.module, self.name = fake, module, name
        self.device = fake.current
        variables = module.code(name).function.variables.values()
        inside = [*variables, *module.parsed.variables.values()]
        own = sum(variable.nbytes for variable in inside if variable.space == "shared")
        self.most_shared = 48 * 1024 - own
        self.ptr = len(fake.functions)
        fake.functions.append(self)

    def __call__(self, grid: Any, block: Any, values: Any, shared: int, stream: Any) -> None:
        assert not any(type(value) is int for value in values), "CuPy takes words sooner"
        grid, block = ((*each, 1, 1)[:3] for each in (grid, block))
        stream = stream or self.fake.stream
        assert self.device == self.fake.current, "a module belongs to one GPU"
        assert shared <= self.most_shared, "the driver was not told"
        given = [(np.int64(v) if isinstance(v, int) else v).tobytes() for v in values]

        def run() -> None:
            regions = [buffer.region for buffer in self.fake.alive()]
            self.module.launch(self.name, grid, block, given, regions, shared=shared)

        self.fake.queue("launch", stream, run)
        self.fake.launched.append((self.name, stream.ptr))

    def linear_launch(self, size: int, values: Any, shared: int, block: int, stream: Any) -> None:
        assert size % block == 0
        self((size // block,), (block,), values, shared, stream)


class FakeCupy:
    """The module `cupy`. `calls` lists what was called, `places` on which GPU, `launched` the
    kernels and `called` CuPy's functions with the address of their stream; `limit` bounds the
    bytes on the GPU. With `pool`, memory that is let go is what the next call of as many bytes
    on the same stream gets; without, no address comes twice.
    """

    def __init__(self, gpus: int = 1) -> None:
        self.calls: list[str] = []
        self.launched: list[tuple[str, int]] = []
        self.called: list[tuple[str, int]] = []
        self.homes: list[tuple[int, int, int]] = []
        self.ranges: list[str] = []
        self.waits: list[tuple[int, int]] = []
        self.faults: dict[str, Exception] = {}
        self.functions: list[FakeFunction] = []
        self.cuda_driver = SimpleNamespace(funcSetAttribute=self.set_attribute)
        self.listener: Callable[[str], None] | None = None
        self.limit: int | None = None
        self.pool: dict[tuple[int, int], list[PtxBuffer]] | None = None
        self.driver = 13000
        self.runtime = PtxRuntime(Target(processors=2, block=64))
        self.stream = FakeStream(self)
        self.streams = itertools.count(0x100)
        self.gpus, self.current = gpus, 0
        self.places: list[int] = []
        self.ndarray = FakeArray
        real = cupy.cuda
        self.cuda = SimpleNamespace(
            Device=self._device,
            alloc=self._alloc,
            get_current_stream=lambda: self.stream,
            cublas=Cublas(),
            get_cublas_handle=lambda: 1,
            Stream=self._new_stream,
            memory=SimpleNamespace(OutOfMemoryError=real.memory.OutOfMemoryError),
            MemoryPointer=lambda unowned, offset: FakeMemory(
                self, unowned, unowned.ptr + offset, unowned.size - offset
            ),
            UnownedMemory=lambda ptr, size, owner, device=-1: SimpleNamespace(
                ptr=ptr, size=size, owner=owner
            ),
            ExternalStream=lambda ptr: FakeStream(self, ptr),
            nvtx=SimpleNamespace(RangePush=self.ranges.append, RangePop=lambda: None),
            runtime=SimpleNamespace(
                CUDARuntimeError=real.runtime.CUDARuntimeError,
                getDeviceCount=self._count,
                getDevice=lambda: self.current,
                pointerGetAttributes=lambda pointer: SimpleNamespace(device=0),
                driverGetVersion=lambda: self.driver,
                memcpyAsync=self._memcpy,
                memcpyDeviceToHost=real.runtime.memcpyDeviceToHost,
                memcpyDeviceToDevice=real.runtime.memcpyDeviceToDevice,
            ),
        )
        self.function = SimpleNamespace(Module=lambda: FakeModule(self), CIntptr=np.int64)
        self.__dict__.update(namespace(self))

    def set_attribute(self, function: int, attribute: int, value: int) -> None:
        """cuFuncSetAttribute of CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
        assert attribute == 8
        self.functions[function].most_shared = value

    def call(self, name: str) -> None:
        """Write a call down; raise the fault that is planted for it. `listener` may do something
        in the middle, as a finalizer would."""
        self.calls.append(name)
        if self.listener is not None:
            self.listener(name)
        self.places.append(self.current)
        error = self.faults.pop(name, None)
        if error is not None:
            raise error

    def queue(self, name: str, stream: Any, run: Callable[[], None]) -> None:
        """Do something in the order of a stream, which may be recording."""
        if getattr(stream, "is_recording", False):
            self.call(f"recorded {name}")
            stream.recorded.append(run)
        else:
            self.call(name)
            run()

    def from_dlpack(self, array: Any) -> FakeArray:
        """cupy asks the producer to order its work before the current stream."""
        capsule = array.__dlpack__(stream=self.stream.ptr or 1, max_version=(1, 0), copy=None)
        theirs: FakeArray = capsule[2]
        return theirs

    def alive(self) -> list[PtxBuffer]:
        """The buffers that have not been let go: nobody may touch others."""
        pooled = {id(buffer) for free in (self.pool or {}).values() for buffer in free}
        return [buffer for buffer in list(self.runtime._buffers) if id(buffer) not in pooled]

    @property
    def used(self) -> int:
        """Bytes of buffers that are alive."""
        return sum(buffer.nbytes for buffer in self.alive())

    def bytes_at(self, pointer: int, nbytes: int) -> np.ndarray:
        """The bytes at an address of the GPU."""
        for buffer in self.alive():
            start = pointer - buffer.pointer
            if 0 <= start and start + nbytes <= buffer.nbytes:
                return buffer.memory[start : start + nbytes]
        raise AssertionError(f"{nbytes} bytes at {pointer:#x} are nobody's")

    def home(self, pointer: int) -> int:
        """The GPU on which an address lies."""
        return next(
            number
            for start, nbytes, number in reversed(self.homes)
            if 0 <= pointer - start < nbytes
        )

    def _count(self) -> int:
        self.call("getDeviceCount")
        return self.gpus

    def _device(self, number: int) -> Any:
        if number >= self.gpus:
            raise cupy.cuda.runtime.CUDARuntimeError(101)
        return FakeDevice(self, number)

    def _alloc(self, nbytes: int) -> FakeMemory:
        self.call("alloc")
        if self.limit is not None and self.used + nbytes > self.limit:
            raise cupy.cuda.memory.OutOfMemoryError(nbytes, self.used, self.limit)
        free = [] if self.pool is None else self.pool.setdefault((nbytes, self.stream.ptr), [])
        buffer: PtxBuffer = free.pop() if free else self.runtime.allocate(nbytes)
        self.homes.append((buffer.pointer, nbytes, self.current))
        memory = FakeMemory(self, buffer, buffer.pointer, nbytes)
        if self.pool is not None:
            weakref.finalize(memory, free.append, buffer)
        return memory

    def _new_stream(self, non_blocking: bool) -> FakeStream:
        assert non_blocking, "the default stream would wait for it"
        return FakeStream(self, next(self.streams))

    def _memcpy(self, target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        def copy() -> None:
            into = host_bytes(target, nbytes) if to_host else self.bytes_at(target, nbytes)
            into[:] = self.bytes_at(source, nbytes)

        to_host = kind == cupy.cuda.runtime.memcpyDeviceToHost
        current = self.stream if self.stream.ptr == stream else FakeStream(self, stream)
        assert not (to_host and current.is_recording)
        self.queue("download" if to_host else "copy", current, copy)


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
    from lazyfuse.backends.cuda import (
        adoption,
        backend,
        buffers,
        build,
        calls,
        cupy_kernels,
        device,
        graphs,
    )

    fake = FakeCupy(gpus)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cupy", fake)
        patch.setitem(sys.modules, "cupyx", cupyx(fake))
        patch.setattr(adoption, "cupy", fake)
        patch.setattr(buffers, "cupy", fake)
        patch.setattr(calls, "cupy", fake)
        patch.setattr(device, "cupy", fake)
        patch.setattr(graphs, "cupy", fake)
        patch.setattr(cupy_kernels, "cupy", fake)
        patch.setattr(device, "cupy_function", fake.function)
        patch.setattr(device, "driver", fake.cuda_driver)
        patch.setattr(device, "Target", lambda **attributes: fake.runtime.target)
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
    session.backends.clear()
    lf.cache_clear()
