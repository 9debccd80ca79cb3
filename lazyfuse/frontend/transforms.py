"""The transforms under `np.fft`: recorded calls of pocketfft.

NumPy's Python code chooses lengths, norm and the memory of the result; `recorded(ufunc)` stands in
it for the C function, so a chain of transforms and what is computed between them is one graph.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.creation import arange, empty
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.library import node_of, opaque
from lazyfuse.ir.interp import view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.library import Request
from lazyfuse.ir.order import c_strides, copy_strides
from lazyfuse.ops.shapes import Shape


@dataclass(frozen=True)
class Transform:
    """A transform with all but its operand fixed; it makes its result in the recorded memory
    order. `kind` is the type of the factor, which takes part in choosing the loop."""

    ufunc: np.ufunc
    factor: Any
    kind: type
    axes: tuple[tuple[int, ...], ...]
    shape: Shape
    dtype: str
    strides: tuple[int, ...]

    @property
    def __name__(self) -> str:
        return self.ufunc.__name__

    @property
    def request(self) -> Request:
        """The transform, by the name under `np.fft`, as it is without a factor: `n` is the number
        of samples that it takes, or gives."""
        inner, _, parity = self.ufunc.__name__.partition("_n_")
        (axis,) = self.axes[0]
        n = self.shape[axis]
        if inner == "rfft":
            n = 2 * (n - 1) + (parity == "odd")
        return Request(f"fft.{inner}", {"axis": axis, "n": n, "factor": self.factor})

    def __call__(self, array: np.ndarray) -> np.ndarray:
        out = np.empty(self.shape, np.dtype(self.dtype))
        if self.strides != c_strides(self.shape):
            out = view_of(out, Layout(self.shape, self.strides, 0))
        found: np.ndarray = self.ufunc(array, self.factor, axes=list(self.axes), out=out)
        return found


def recorded(ufunc: np.ufunc) -> Callable[..., Any]:
    """A transform that records, called as NumPy's code calls the C function: with `out`."""

    def transform(a: Any, factor: Any, *, axes: Any, out: Any) -> Any:
        if not isinstance(a, Handle) or not isinstance(out, Handle) or out._code[0] not in "fc":
            return fallback.call(ufunc, a, factor, axes=axes, out=out)
        out._check_writeable("output array")
        _check_loop(ufunc, a.dtype, factor, out.dtype)  # type: ignore[attr-defined]  # every Handle is a LazyArray
        device = out._storage.device
        strides = copy_strides(out._layout.shape, out._layout.strides)
        call = Transform(
            ufunc, factor, type(factor), tuple(axes), out._layout.shape, out._code, strides
        )
        node = opaque(
            call, (node_of(a, device),), call.shape, call.dtype, strides,
            "transforms run in pocketfft",
        )  # fmt: skip
        out._write(node)
        return out

    return transform


def fftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: Any = None) -> Any:
    """The frequencies of the bins of a transform of `n` samples, `d` apart. Dtypes: float64, or
    `dtype` (Array API). Raises: ValueError when `n` is no integer."""
    positive = (_count(n) - 1) // 2 + 1
    bins = empty(n, int, device=device)
    bins[:positive] = arange(positive, device=device)
    bins[positive:] = arange(-(n // 2), 0, device=device)
    return _scaled(bins, 1.0 / (n * d), dtype)


def rfftfreq(n: int, d: float = 1.0, device: str | None = None, *, dtype: Any = None) -> Any:
    """As `fftfreq`, of the bins that `rfft` gives."""
    return _scaled(arange(_count(n) // 2 + 1, dtype=int, device=device), 1.0 / (n * d), dtype)


def _count(n: Any) -> Any:
    if not isinstance(n, int | np.integer):
        raise ValueError("n should be an integer")
    return n


def _scaled(bins: Any, step: float, dtype: Any) -> Any:
    found = bins * step
    return found if dtype is None else found.astype(dtype, copy=False)


def _check_loop(ufunc: np.ufunc, operand: np.dtype, factor: Any, out: np.dtype) -> None:
    """Raise NumPy's TypeError where no transform takes the operand."""
    kind = type(factor) if type(factor) in (int, float) else factor.dtype
    ufunc.resolve_dtypes((operand, kind, out))


TRANSFORMS: Mapping[int, Any] = {
    id(ufunc): recorded(ufunc)
    for ufunc in vars(importlib.import_module("numpy.fft._pocketfft_umath")).values()
    if isinstance(ufunc, np.ufunc)
}
