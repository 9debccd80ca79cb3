"""CuPy's arrays and functions on a fake GPU: NumPy's, on the memory of the interpreter.

What CuPy does otherwise than NumPy is here as well, so that a test sees whoever relies on it: it
takes no NumPy arrays, sorts a single axis of floats by their bits and always stably, multiplies
what gives one element in the operands' dtype, and waits where a value is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class FakeArray:
    """cupy.ndarray: what it says about itself, and what it does with arrays of others."""

    __array_priority__ = 100.0

    def __init__(self, shape: Any, dtype: Any, memory: Any, strides: Any) -> None:
        self.shape, self.dtype, self.data, self.strides = shape, np.dtype(dtype), memory, strides

    def values(self) -> np.ndarray:
        """The elements where they are."""
        size = self.dtype.itemsize if 0 not in self.shape else 0
        first = self.data.fake.bytes_at(self.data.ptr, size).view(self.dtype)
        return np.lib.stride_tricks.as_strided(first, self.shape, self.strides)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def copy(self, order: str = "C") -> FakeArray:
        """On the GPU, in that order."""
        self.data.fake.call("copy")
        return made(self.data.fake, self.values().copy(order))

    def astype(self, dtype: Any, copy: bool = True) -> FakeArray:
        """On the GPU; itself where nothing changes and no copy is asked for."""
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return made(self.data.fake, self.values().astype(dtype))

    def __setitem__(self, key: Any, value: Any) -> None:
        assert isinstance(value, FakeArray | np.generic)
        self.data.fake.call("copy")
        self.values()[key] = value.values() if isinstance(value, FakeArray) else value

    def __imul__(self, factor: float) -> FakeArray:
        values = self.values()
        values *= factor
        return self

    def __bool__(self) -> bool:
        self.data.fake.call("sync")
        return bool(self.values())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """cupy computes at once where it comes first."""
        return ("cupy", ufunc.__name__)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data.ptr, False),
            "strides": self.strides,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return ("capsule", self.data.ptr, self, options)


def _method(name: str) -> Any:
    """A method of ndarray that gives a view, or a new array on the GPU."""

    def call(self: FakeArray, *args: Any, **options: Any) -> Any:
        lowered = [arg.values() if isinstance(arg, FakeArray) else arg for arg in args]
        found = getattr(self.values(), name)(*lowered, **options)
        return lifted(self.data.fake, found, [self])

    return call


_METHODS = "reshape transpose view conj all any __getitem__ __mod__ __floordiv__"
_BITS = "__and__ __or__ __xor__ __invert__ __add__ __sub__"
for _name in f"{_METHODS} {_BITS}".split():
    setattr(FakeArray, _name, _method(_name))


def made(fake: Any, values: Any) -> FakeArray:
    """A new array on the GPU, with these values and their order in memory."""
    dense = np.asarray(values).copy(order="K")
    memory = fake.cuda.alloc(dense.nbytes)
    fake.bytes_at(memory.ptr, dense.nbytes)[:] = dense.ravel("K").view(np.uint8)
    return FakeArray(dense.shape, dense.dtype, memory, dense.strides)


def lifted(fake: Any, value: Any, operands: list[FakeArray]) -> Any:
    """NumPy's result on the GPU: a view where it is a view of an operand."""
    if type(value) is tuple:
        return tuple(lifted(fake, item, operands) for item in value)
    for operand in operands:
        values = operand.values()
        if isinstance(value, np.ndarray) and np.may_share_memory(value, values):
            start = value.__array_interface__["data"][0] - values.__array_interface__["data"][0]
            return FakeArray(value.shape, value.dtype, operand.data + start, value.strides)
    return made(fake, value)


def functions(fake: Any, module: Any, names: str, prefix: str = "") -> dict[str, Any]:
    """Functions of NumPy as CuPy's."""
    return {name: _function(fake, getattr(module, name), prefix + name) for name in names.split()}


def _function(fake: Any, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        fake.call(name)
        fake.called.append((name, fake.stream.ptr))
        flat = [item for arg in args for item in (arg if type(arg) is list else [arg])]
        assert not any(isinstance(item, np.ndarray) for item in (*flat, *options.values()))
        arrays = [item for item in flat if isinstance(item, FakeArray)]
        assert all(fake.home(item.data.ptr) == fake.current for item in arrays if item.size), name
        lowered = [
            [item.values() for item in arg] if type(arg) is list else
            arg.values() if isinstance(arg, FakeArray) else arg
            for arg in args
        ]  # fmt: skip
        return lifted(fake, function(*lowered, **options), arrays)

    return call


def sort(a: np.ndarray, axis: int = -1) -> np.ndarray:
    """One axis of floats by their bits: a NaN with a sign is the least."""
    return np.take_along_axis(a, argsort(a, axis), axis)


def argsort(a: np.ndarray, axis: int = -1) -> np.ndarray:
    if a.ndim > 1 or a.dtype.kind != "f":
        return np.argsort(a, axis=axis, stable=True)
    bits = a.view(f"i{a.itemsize}")
    limit = np.iinfo(bits.dtype).min
    return np.argsort(np.where(bits < 0, ~bits + limit, bits), stable=True)


class Cublas:
    """`cupy.cuda.cublas`: with 16 in the math mode, parts of sums of float16 are float32."""

    def __init__(self) -> None:
        self.mode = 0

    def getMathMode(self, handle: int) -> int:  # noqa: N802 - CuPy's name
        return self.mode

    def setMathMode(self, handle: int, mode: int) -> None:  # noqa: N802 - CuPy's name
        self.mode = mode

    def matmul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """A product of one element is multiplied, rounded, and added. Two blocks share a sum."""
        assert a.dtype == b.dtype, "CuPy converts, and flushes denormals"
        if a.ndim == b.ndim == 2 and a.shape[0] == b.shape[1] == 1:
            return np.asarray((a[0] * b[:, 0]).sum(dtype=a.dtype)).reshape(1, 1)
        if a.dtype == np.float16 and not self.mode & 16:
            half = a.shape[-1] // 2
            parts = np.matmul(a[..., :half], b[..., :half, :]), a[..., half:] @ b[..., half:, :]
            return np.add(*parts)
        return np.matmul(a, b)


def svd(a: np.ndarray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return np.linalg.svd(a, full_matrices, compute_uv)


def unique(ar: np.ndarray, **options: Any) -> Any:
    """Sizes that depend on values are waited for."""
    return np.unique(ar, **options)


def namespace(fake: Any) -> dict[str, Any]:
    """The functions of CuPy that `backends/cuda` calls."""
    matmul = fake.cuda.cublas.matmul
    own = SimpleNamespace(sort=sort, argsort=argsort, matmul=matmul, unique=unique)
    linear = SimpleNamespace(svd=svd)
    names = "moveaxis ascontiguousarray lexsort searchsorted cumsum arange stack isfinite where"
    tests = "equal isnan take_along_axis"
    return {
        **functions(fake, np, f"{names} {tests}"),
        **functions(fake, own, "sort argsort matmul unique"),
        "fft": SimpleNamespace(**functions(fake, np.fft, "fft ifft rfft irfft", "fft.")),
        "linalg": SimpleNamespace(
            **functions(fake, np.linalg, "det inv solve cholesky eigvalsh", "linalg."),
            **functions(fake, linear, "svd", "linalg."),
        ),
    }


def cupyx(fake: Any) -> Any:
    """The module `cupyx`: under `errstate(linalg="raise")` functions wait for their status."""

    @contextmanager
    def errstate(linalg: str) -> Iterator[None]:
        assert linalg == "raise"
        yield
        fake.call("sync")

    return SimpleNamespace(errstate=errstate)
