"""NumPy's and the ecosystem's protocols:
ufuncs and functions called on arrays, DLPack, pickle, copy."""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

import numpy as np

from lazyfuse.frontend import elementwise, fallback, methods, reductions, registry
from lazyfuse.frontend.convert import to_array
from lazyfuse.frontend.handle import Handle
from lazyfuse.ops.table import MULTIPLE, OPS, REDUCTIONS


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy ufunc called on a LazyArray is recorded when the engine knows it,
    else runs through NumPy.

    `out=` arrays are written and returned themselves, NumPy arrays among them.
    """
    if any(_is_foreign(value) for value in (*inputs, *(kwargs.get("out") or ()))):
        return NotImplemented
    out = kwargs.pop("out", None)
    target = out[0] if out is not None and len(out) == 1 else out
    native_out = out is None or all(item is None or isinstance(item, Handle) for item in out)
    name = ufunc.__name__
    if native_out and not set(kwargs) - {
        "where",
        "dtype",
        "casting",
        "axis",
        "keepdims",
        "initial",
    }:
        if method == "__call__" and OPS.get(name) is not None and OPS[name].ufunc is ufunc:
            return elementwise.apply(name, inputs, out=target, **kwargs)
        if method == "__call__" and name in MULTIPLE and not kwargs:
            return elementwise.multiple(name, inputs, out=out)
        if method == "reduce":
            if name in REDUCTIONS and name in OPS:
                return reductions.reduce(name, *inputs, out=target, **{"axis": 0, **kwargs})
    if out is not None:
        kwargs["out"] = out
    return fallback.call(
        getattr(ufunc, method) if method != "__call__" else ufunc, *inputs, **kwargs
    )


def _is_foreign(value: Any) -> bool:
    """Whether an operand overrides ufuncs itself and should decide."""
    if isinstance(value, Handle | np.ndarray | np.generic):
        return False
    override = getattr(type(value), "__array_ufunc__", None)
    return override is not None


def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function called on a LazyArray:
    our own of that name, else NumPy's on materialized arrays."""
    if not all(issubclass(kind, Handle | np.ndarray) for kind in types):
        return NotImplemented
    own = registry.NATIVE.get(func.__name__) if func.__module__ == "numpy" else None
    return own(*args, **kwargs) if own is not None else fallback.call(func, *args, **kwargs)


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The module `lazyfuse`. Raises: ValueError for an unknown version of the Array API
    standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"unknown Array API version {api_version!r}")
    return sys.modules["lazyfuse"]


def dlpack(
    self: Any,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """Export through DLPack; the memory is shared and read-only, as `np.asarray` gives it."""
    values = np.asarray(self)
    return values.__dlpack__(
        stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    )


def dlpack_device(self: Any) -> tuple[int, int]:
    """(1, 0) for the CPU, (2, number) for CUDA."""
    device = self._storage.device
    return (2, int(device.partition(":")[2] or 0)) if device.startswith("cuda:") else (1, 0)


def rebuild(values: np.ndarray) -> Any:
    """The array of pickled values."""
    return to_array(values, owned=values.base is None)


def reduce_ex(self: Any, protocol: SupportsIndex) -> tuple[Any, ...]:
    """Pickle as the values; protocol 5 sends them out of band."""
    return rebuild, (np.array(self, order="K"),)


def shallow_copy(self: Any) -> Any:
    return methods.converted(self, self._code)


def deep_copy(self: Any, memo: Any) -> Any:
    return methods.converted(self, self._code)


def contains(self: Any, value: Any) -> bool:
    return bool(reductions.any(elementwise.apply("equal", (self, value))))


def sizeof(self: Any) -> int:
    """A constant: pending arrays are not computed to be measured."""
    return 128


def fallback_attribute(self: Any, name: str) -> Any:
    """A method of ndarray that is not native. Raises: AttributeError for everything else."""
    if name.startswith("_") or name not in _METHODS:
        raise AttributeError(f"'LazyArray' object has no attribute '{name}'")
    if name in _IN_PLACE:
        return lambda *args, **kwargs: _change(self, name, args, kwargs)
    return lambda *args, **kwargs: fallback.call_method(self, name, *args, **kwargs)


_METHODS = frozenset(
    "argpartition argsort choose compress cumprod cumsum nonzero partition put repeat resize "
    "searchsorted sort take tofile dump dumps byteswap itemset".split()
)
_IN_PLACE = frozenset({"sort", "partition", "put"})


def _change(self: Any, name: str, args: Any, kwargs: Any) -> None:
    """A method that writes into the array: on a copy, which is written back."""
    self._check_writeable()
    values = np.array(self)
    getattr(values, name)(*fallback.lower(args), **fallback.lower(kwargs))
    self[...] = values
