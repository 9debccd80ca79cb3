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
from lazyfuse.ops.body import Body, Value, cast


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


RNG = np.random.default_rng(7)


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
        """Run on `arrays`, one per argument that is not scratch; 0-stride axes are left out."""
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


def values(dtype: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Random values that round when added."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(RNG.random(shape) < 0.5)
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(RNG.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    real_part = np.asarray(RNG.standard_normal(shape))
    if kind == "c":
        return np.asarray(real_part + 1j * RNG.standard_normal(shape)).astype(dtype)
    return real_part.astype(dtype)


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bit for bit, but for the bits of a NaN."""
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype.kind == "c":
        part = f"f{actual.itemsize // 2}"
        actual, expected = (np.atleast_1d(x).copy().view(part) for x in (actual, expected))
    if actual.dtype.kind == "f":
        equal = (actual == expected) & (np.signbit(actual) == np.signbit(expected))
        return bool(np.all(equal | (np.isnan(actual) & np.isnan(expected))))
    return bool(np.array_equal(actual, expected))


def full_sum(dtype: str, access: str, acc_dtype: str | None = None, chunk: int = 0) -> Kernel:
    body = Body()
    value = cast(load(body, dtype, 0), acc_dtype or dtype)
    return reduction(body, [("in", dtype, access), ("out", value.dtype, "0")], "add", value, chunk)


def reduction(
    body: Body, args: list[tuple[str, str, str]], op: str, value: Value, chunk: int = 0
) -> Kernel:
    """Fold `value` over one inner axis, lanes inside, to argument 1."""
    finish = Body()
    result = finish.emit("acc", value.dtype, attr=0)
    phases = (inner(body, [fold(op, value, chunk=chunk)]), outer(finish, {1: result}))
    return Kernel(len(args[0][2]) - 1, 1, Lanes.INNER, arguments(args), (), phases)


def column_kernel(dtype: str, op: str, access: str = "1s") -> Kernel:
    """Fold over the rows, lanes along columns: out[j] = fold over i of in[i, j]."""
    body, finish = Body(), Body()
    value = load(body, dtype, 0)
    phases = (
        inner(body, [fold(op, value)]),
        outer(finish, {1: finish.emit("acc", dtype, attr=0)}),
    )
    args = arguments([("in", dtype, access), ("out", dtype, "10")])
    return Kernel(1, 1, Lanes.OUTER, args, (), phases)


def run_columns(
    run: KernelRunner, kernel: Kernel, x: np.ndarray, threads: int
) -> list[np.ndarray]:
    rows, columns = x.shape
    out = np.zeros(columns, x.dtype)
    return list(run(kernel, (columns, rows), [x.T, out], threads=threads))


def spread(array: np.ndarray, access: str) -> np.ndarray:
    """The same values, laid out for an access letter: reversed with gaps where it is strided."""
    if access != "s" or array.ndim == 0:
        return array
    memory = np.zeros(3 * len(array) + 1, array.dtype)
    view = memory[::-1][: 3 * len(array) : 3]
    view[...] = array
    return view
