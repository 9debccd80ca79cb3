"""The ufuncs of the namespace: callable as NumPy's, with reduce, accumulate, outer,
at and reduceat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lazyfuse.frontend import elementwise, fallback, reductions
from lazyfuse.frontend.handle import Handle
from lazyfuse.ops.table import MULTIPLE, OPS, REDUCTIONS


class Ufunc:
    """A NumPy ufunc that records.
    Attributes that are not calls (nin, types, identity...) are NumPy's."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        values, given = self._split(args, out)
        if len(values) != self._ufunc.nin:
            raise TypeError(
                f"{self.__name__}() takes from {self._ufunc.nin} to {self._ufunc.nargs} "
                f"positional arguments but {len(args)} were given"
            )
        if set(kwargs) - {"where", "dtype", "casting"} or kwargs.get("where", True) is None:
            return fallback.call(
                self._ufunc, *values, **({"out": given} if given else {}), **kwargs
            )
        if self._ufunc.nout > 1:
            return self._several(values, given, kwargs)
        return elementwise.apply(self.__name__, values, out=given[0] if given else None, **kwargs)

    def _split(
        self, args: tuple[Any, ...], out: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        """Operands, and outputs given by position or keyword."""
        values, positional = args[: self._ufunc.nin], args[self._ufunc.nin :]
        given = positional or (out if isinstance(out, tuple) else None if out is None else (out,))
        return values, given

    def _several(
        self, values: tuple[Any, ...], given: Any, kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        outs = tuple(given) + (None,) * (self._ufunc.nout - len(given)) if given else None
        return elementwise.multiple(self.__name__, values, out=outs, **kwargs)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
               keepdims: bool = False, initial: Any = np._NoValue,
               where: Any = True) -> Any:  # fmt: skip
        """Fold over axes; by default the first."""
        if isinstance(out, tuple):
            (out,) = out
        if self.__name__ not in REDUCTIONS:
            options = {} if initial is np._NoValue else {"initial": initial}
            if where is not True:
                options["where"] = where
            return fallback.call(self._ufunc.reduce, array, axis, dtype, out, keepdims, **options)
        return reductions.reduce(
            self.__name__,
            array,
            axis=axis,
            dtype=dtype,
            out=out,
            keepdims=keepdims,
            initial=initial,
            where=where,
        )

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return fallback.call(self._ufunc.accumulate, array, axis, dtype, out=out)

    def reduceat(
        self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        return fallback.call(self._ufunc.reduceat, array, indices, axis, dtype, out=out)

    def outer(self, a: Any, b: Any, /, **kwargs: Any) -> Any:
        """The op on all pairs: recorded through broadcasting."""
        if not isinstance(a, Handle) or not isinstance(b, Handle):
            return fallback.call(self._ufunc.outer, a, b, **kwargs)
        left = a[(..., *(None,) * len(b._layout.shape))]  # type: ignore[index]  # every Handle is a LazyArray
        return self(left, b, **kwargs)

    def at(self, a: Any, indices: Any, *values: Any) -> None:
        """Unbuffered in-place operation on indexed elements."""
        if not isinstance(a, Handle):
            self._ufunc.at(a, fallback.lower(indices), *fallback.lower(values))
            return
        a._check_writeable()
        copy = np.array(a)
        self._ufunc.at(copy, fallback.lower(indices), *fallback.lower(values))
        a[...] = copy  # type: ignore[index]  # every Handle is a LazyArray

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"


def _elementwise_ufuncs() -> dict[str, np.ufunc]:
    """Every ufunc of the table by its public name."""
    found: dict[str, np.ufunc] = {}
    for name, op in OPS.items():
        ufunc = op.ufunc
        public: object = getattr(np, name, None)
        if ufunc is not None and ufunc.nout == 1 and public is ufunc:
            found[name] = ufunc
    for name in MULTIPLE:
        found[name] = getattr(np, name)
    return found


UFUNCS: Mapping[str, Ufunc] = {name: Ufunc(ufunc) for name, ufunc in _elementwise_ufuncs().items()}
