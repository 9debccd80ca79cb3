"""Builds kernels by hand and runs them on a backend with NumPy arrays.

    run = KernelRunner(CpuBackend())
    body = Body(); x = body.emit("load", "f8", attr=0)
    kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: x * x})
    (y,) = run(kernel, (n,), [a, np.empty(n)])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lazyfuse.backends.cpu import CpuBackend, CpuExecutable
from lazyfuse.ir.kernel import Accumulator, Arg, Kernel, Lanes, Level, Phase, Role, Store
from lazyfuse.ops.body import Body, Value


def code_of(dtype: np.dtype) -> str:
    """NumPy's dtype as letter and size."""
    return f"{dtype.kind}{dtype.itemsize}"


def load(body: Body, dtype: str, number: int) -> Value:
    return body.emit("load", dtype, attr=number)


def fold(op: str, value: Value, **fields: object) -> Accumulator:
    return Accumulator(op, value.dtype, value.index, **fields)


def inner(body: Body, folds: Sequence[Accumulator], stores: Mapping[int, Value] = {}) -> Phase:
    """A phase over the inner axes."""
    writes = tuple(Store(arg, value.index) for arg, value in stores.items())
    return Phase(Level.INNER, tuple(body.instrs), tuple(folds), writes)


def outer(body: Body, stores: Mapping[int, Value]) -> Phase:
    """A phase that runs once per outer index."""
    writes = tuple(Store(arg, value.index) for arg, value in stores.items())
    return Phase(Level.OUTER, tuple(body.instrs), (), writes)


def elementwise(
    body: Body,
    args: Sequence[tuple[str, str, str]],
    stores: Mapping[int, Value],
    scalars: Sequence[str] = (),
) -> Kernel:
    """A kernel without inner axes; an argument is (role, dtype, access letters)."""
    return Kernel(
        outer=len(args[0][2]),
        inner=0,
        lanes=Lanes.OUTER,
        args=arguments(args),
        scalars=tuple(scalars),
        phases=(outer(body, stores),),
    )


def arguments(args: Sequence[tuple[str, str, str]]) -> tuple[Arg, ...]:
    return tuple(Arg(Role(role), dtype, tuple(access)) for role, dtype, access in args)


class KernelRunner:
    """Compiles each kernel once and launches it on the memory of NumPy arrays."""

    def __init__(self, backend: CpuBackend) -> None:
        self.backend = backend
        self._compiled: dict[str, CpuExecutable] = {}

    def __call__(
        self,
        kernel: Kernel,
        extents: tuple[int, ...],
        arrays: Sequence[np.ndarray],
        scalars: Sequence[object] = (),
        *,
        threads: int = 1,
    ) -> Sequence[np.ndarray]:
        """Run on `arrays`, one per argument that is not scratch, already broadcast to the axes by their strides."""
        if kernel.text not in self._compiled:
            self._compiled[kernel.text] = self.backend.compile(kernel, "test")
        args = [arg for arg in kernel.args if arg.role is not Role.SCRATCH]
        strides = [self._strides(array, arg) for array, arg in zip(arrays, args, strict=True)]
        launch = self._compiled[kernel.text].bind(extents, tuple(strides), (0,) * len(args))
        buffers = [Memory(array) for array in arrays]
        launch(buffers, scalars, threads=threads)
        return arrays

    def _strides(self, array: np.ndarray, arg: Arg) -> tuple[int, ...]:
        """One stride per axis: those of the array where the argument moves, else 0."""
        steps = iter(stride // array.itemsize for stride in array.strides)
        return tuple(0 if kind == "0" else next(steps) for kind in arg.access)


class Memory:
    """The memory of any array, strided or not, as a buffer."""

    device = "cpu"
    exclusive = False

    def __init__(self, array: np.ndarray) -> None:
        self.pointer = array.ctypes.data
        self.nbytes = array.nbytes
