"""NumPy's `_array_converter`, which its Python code uses to take and give array-likes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import creation, fallback, functions
from lazyfuse.frontend.convert import is_subclass
from lazyfuse.frontend.handle import Handle, result

_WEAK = (int, float, complex)


class ArrayConverter:
    """Arguments as arrays, and results in their kind: scalars where only scalars came in."""

    def __init__(self, *values: Any) -> None:
        self._values = values
        self._arrays = tuple(creation.asanyarray(value) for value in values)
        self.scalar_input = tuple(
            not isinstance(value, Handle | np.ndarray) and array.ndim == 0
            for value, array in zip(values, self._arrays, strict=True)
        )

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: Any) -> Any:
        return self._arrays[index]

    def as_arrays(
        self, *, subok: bool = True, pyscalars: str = "convert_if_no_array"
    ) -> tuple[Any, ...]:
        """All as arrays; Python scalars stay when `pyscalars` is "preserve", or beside an array
        unless it is "convert"."""
        keep = pyscalars == "preserve" or (
            pyscalars == "convert_if_no_array" and not all(self.scalar_input)
        )
        arrays = self._arrays if subok else map(creation.asarray, self._arrays)
        return tuple(
            value if keep and type(value) in _WEAK else array
            for value, array in zip(self._values, arrays, strict=True)
        )

    def result_type(self, extra_dtype: Any = None, *, ensure_inexact: bool = False) -> np.dtype:
        """The common dtype; Python scalars are weak."""
        parts = [
            value if type(value) in _WEAK else array
            for value, array in zip(self._values, self._arrays, strict=True)
        ]
        extra = [] if extra_dtype is None else [extra_dtype]
        inexact = [1.0] if ensure_inexact else []
        return functions.result_type(*parts, *extra, *inexact)

    def wrap(self, array: Any, /, *, to_scalar: bool | None = None) -> Any:
        """A result; a scalar when it has no axes and only scalars came in, or when asked. Of a
        class derived from NumPy's, where one came in, as that makes it."""
        wanted = all(self.scalar_input) if to_scalar is None else to_scalar
        derived = [value for value in self._values if is_subclass(value)]
        if derived and isinstance(array, Handle):
            kind = max(derived, key=lambda value: value.__array_priority__)
            return kind.__array_wrap__(fallback.lower(array), None, wanted)
        if not isinstance(array, Handle):
            return array[()] if wanted and isinstance(array, np.ndarray) else array
        if wanted and not array._layout.shape and not array._is_scalar:
            return result(array._read(), array._storage.device)
        return array
