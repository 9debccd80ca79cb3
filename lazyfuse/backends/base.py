"""What the runtime asks of a backend: memory, and executables made from Kernel IR.

A Buffer is flat memory on one device. A backend compiles a Kernel once (`compile`), fixes extents,
strides and offsets once per plan (`bind`), and then launches with buffers and scalars only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.library import Elements, Request

Scalar = bool | int | float | complex | np.generic

#: Nanoseconds of a kernel from which other threads of Python may go on meanwhile. Below, none has
#: come before it ends; and whoever waits for Python is told each time that it is free, and never
#: has waited for so long that it has to be left to it.
LONG_NS = 20_000.0


class Buffer(Protocol):
    """Flat device memory. `pointer` is its address, `nbytes` its size,
    `device` where it lies ("cpu", "cuda:0").

    `exclusive` is False once memory is visible outside the engine (borrowed or exported):
    it is never reused then.
    """

    pointer: int
    nbytes: int
    device: str
    exclusive: bool


def mark_shared(buffers: Sequence[Buffer]) -> None:
    """Memory that two results have, being equal operations, is never written in place."""
    seen: set[int] = set()
    for buffer in buffers:
        if id(buffer) in seen:
            buffer.exclusive = False
        seen.add(id(buffer))


class Launch(Protocol):
    """A kernel with fixed extents and strides.
    `buffers` has one entry per non-scratch argument of the kernel.

    Returns the floating point conditions that it met, as bits of `ops/float_flags.py`: all that
    happened, possibly more (the engine then looks closer); 0 where the device has no flags.
    On a CPU, `ran` gets an entry with the end of the kernel: no interrupt comes between the two.
    """

    def __call__(
        self,
        buffers: Sequence[Buffer],
        scalars: Sequence[Scalar],
        *,
        threads: int,
        ran: list[object] | None = None,
    ) -> int: ...


class Executable(Protocol):
    """A compiled kernel. `source` is what was compiled, for people;
    `binary` is what the disk cache keeps of it."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def source(self) -> str: ...

    @property
    def binary(self) -> bytes: ...

    def bind(
        self,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Launch:
        """Fix the extents of all axes, and for each non-scratch argument its stride per axis and
        offset, in elements."""


class Unsupported(Exception):
    """A backend cannot spell a primitive on a dtype;
    the scheduler runs the op through NumPy instead."""

    def __init__(self, op: str, dtype: str, reason: str) -> None:
        super().__init__(f"{op} on {dtype}: {reason}")
        self.op, self.dtype, self.reason = op, dtype, reason


class LibraryCall(NamedTuple):
    """What a device has for a recorded library call: the function, or why NumPy runs it on the
    host. `run` takes the operands, buffers and scalars, and gives the buffer of the result, queued
    behind what was queued before; None after all means that NumPy has to run it.
    Raises: MemoryError."""

    described: str
    run: Callable[[Sequence[Buffer | Scalar]], Buffer | None] | None = None


class Libraries(Protocol):
    """What a backend offers beside kernels, if it has libraries of its own for what NumPy calls
    BLAS, LAPACK and pocketfft for. Answers are NumPy's, but for the order in which terms of sums
    are added."""

    def library_call(
        self, request: Request, operands: Sequence[Elements], result: Elements
    ) -> LibraryCall:
        """What the device has for this call, with operands and a result that lie so."""

    def computes(self, name: str) -> int:
        """How many leading arguments of NumPy's function `compute` takes as arrays, 0 for none."""

    def compute(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Compute at once what values may make fail: arrays on the device in and out; None where
        NumPy has to compute or to raise."""


class Queue(Protocol):
    """Where launches and copies go, in order."""

    def launch(
        self, bound: Launch, buffers: Sequence[Buffer], scalars: Sequence[Scalar]
    ) -> None: ...

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[Layout]
    ) -> None: ...


class Captures(Queue, Protocol):
    """What a backend offers beside kernels, if queueing much at once is cheaper than one by one.
    Launches that may be among them say `is_capturable`, and how many kernels are `queued`."""

    def queue(self) -> Hashable:
        """The stream to which work goes now: what is captured for one runs there only."""

    def capture(self, run: Callable[[Queue], None], name: str) -> Callable[[], None] | None:
        """What queues on this stream all that `run` puts into the queue that it is given, on the
        same memory, which the caller has to have for it; profilers see the name. None where that
        cannot be done. Raises: MemoryError."""


@runtime_checkable
class Compilers(Protocol):
    """What a backend offers beside `compile`, if its compiler runs in several threads."""

    def compile_together(
        self, kernels: Sequence[tuple[Kernel, str]], threads: int
    ) -> list[Executable | None]:
        """What `compile` gives for each kernel and name, made by so many threads; None where it
        would raise."""


class Coder(Protocol):
    """Compiles, and shares no lock with others who do."""

    def code(self, kernel: Kernel) -> bytes:
        """What `load` takes. Raises: Unsupported."""


@runtime_checkable
class Aside(Protocol):
    """What a backend offers, if kernels can be compiled while it runs others."""

    def aside(self) -> Coder:
        """What compiles for it, for a thread that nobody waits for."""


class Backend(Protocol):
    """One device kind. One with libraries of its own is also Libraries, one that can launch much
    at once Captures, one that can compile several kernels at once Compilers, one that can do so
    while others run Aside."""

    name: str
    device: str
    #: Whether float sums add in NumPy's order (on a CPU) or in a tree of the backend's own.
    exact_order: bool

    @property
    def fingerprint(self) -> str:
        """Everything besides the kernel text that decides the compiled bits (compiler, CPU or GPU
        features)."""

    def supports(self, op: str, dtype: str) -> bool:
        """Whether primitive `op` producing or reading `dtype` can be spelled here."""

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """Turn a kernel into code; `name` is a readable identifier for profilers."""

    def load(self, kernel: Kernel, name: str, binary: bytes) -> Executable:
        """Make the executable of `kernel` from an earlier `Executable.binary` of the same
        fingerprint."""

    def allocate(self, nbytes: int) -> Buffer:
        """Uninitialized memory, aligned to 64 bytes; MemoryError when there is none."""

    def from_host(self, array: np.ndarray, *, borrow: bool = False) -> Buffer:
        """Copy a C-contiguous host array in, or share its memory where `borrow` and the device
        allow it."""

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy all bytes between buffers of this device."""

    def copy_regions(
        self, source: Buffer, target: Buffer, dtype: str, regions: Sequence[Layout]
    ) -> None:
        """Copy the elements at these layouts, and others where that is faster, between buffers of
        this device that hold as many elements of a dtype."""

    def to_host(self, buffer: Buffer) -> np.ndarray:
        """The bytes as a uint8 array: shared on the CPU, a copy from a GPU."""

    def synchronize(self) -> None: ...
