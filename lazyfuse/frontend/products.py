"""Ufuncs over whole vectors and matrices, with every keyword: recorded library calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import ForeignError, check_home
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.library import Call, record
from lazyfuse.frontend.outputs import as_array, check_cast, converted

NAMES = ("matmul", "vecdot", "matvec", "vecmat")


def call(ufunc: np.ufunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Record a call of `ufunc`, or leave it to NumPy: what it refuses, and foreign outputs.

    Shapes: by the ufunc's signature; `axes`, `axis` and `keepdims` as in NumPy.
    Raises: ValueError when the core axes do not match, TypeError for refused dtypes.
    """
    values, positional = args[: ufunc.nin], args[ufunc.nin :]
    options = dict(kwargs)
    out = options.pop("out", None) if not positional else positional[0]
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else ()
    is_known = len(values) == ufunc.nin and len(positional) <= 1
    if positional and "out" in kwargs or not (out is None or isinstance(out, Handle)):
        is_known = False
    if is_known:
        try:
            return _recorded(ufunc, values, options, out)
        except ForeignError:
            pass
    return fallback.call(ufunc, *args, **kwargs)


def _recorded(ufunc: np.ufunc, values: Sequence[Any], options: dict[str, Any], out: Any) -> Any:
    axes = options.pop("axes", None)
    try:
        hash(frozen := tuple(sorted(options.items())))
    except TypeError:  # a keyword that only NumPy understands
        raise ForeignError("options") from None
    asked = Call(ufunc, (), frozen)
    if axes is not None:
        asked = Call(_along, (ufunc, _frozen(axes)), frozen, ufunc.__name__)
    found = record(asked, values, reason="matrix products run in BLAS")
    return found if out is None else _into(ufunc, out, found, options)


def _along(ufunc: np.ufunc, axes: Any, *arrays: Any, **options: Any) -> Any:
    return ufunc(*arrays, axes=list(axes), **options)


def _frozen(axes: Any) -> tuple[Any, ...]:
    """A list of axes that can be compared. Raises: ForeignError for what NumPy refuses."""
    if not isinstance(axes, list):
        raise ForeignError("axes")
    return tuple(tuple(item) if isinstance(item, list) else item for item in axes)


def _into(ufunc: np.ufunc, out: Any, found: Any, options: Mapping[str, Any]) -> Any:
    """Write a product into `out`, which has to have its shape."""
    found = as_array(found)
    if out.shape != found.shape:
        raise ForeignError("an output that is broadcast or wrong")
    check_cast(ufunc, found._code, out._code, options.get("casting", "same_kind"))
    check_home(out.device, found.device)
    out._write(converted(found._read(), out._code))
    return out
