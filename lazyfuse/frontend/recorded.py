"""Folds and ufuncs that kernels do not compute, as recorded calls: their neighbours still fuse.

A call is recorded when its shape, dtype and errors are known at once; `None` says that it is not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.convert import ForeignError, operands_of, scalar
from lazyfuse.frontend.elementwise import OutputOf, common_device
from lazyfuse.frontend.handle import Handle, result
from lazyfuse.frontend.library import Call, record
from lazyfuse.ir.node import Opaque
from lazyfuse.ir.order import result_strides
from lazyfuse.ops.shapes import broadcast
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code, resolve_reduction

_SCALARS = (bool, int, float, complex, np.generic)


def reduction(
    ufunc: np.ufunc,
    array: Any,
    *,
    axis: Any,
    dtype: Any,
    like: str | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """The recorded `ufunc.reduce` of a LazyArray, or None; `like` is the dtype of an output that
    the caller writes. Raises: what NumPy raises for these shapes and dtypes."""
    has_values = initial is np._NoValue or initial is None or isinstance(initial, _SCALARS)
    if not has_values or not _is_mask(where) or _may_raise(ufunc, array._code):
        return None
    asked = None if dtype is None else code(np.dtype(dtype))
    if like is not None:
        loop = resolve_reduction(ufunc, array._code, asked, like)
        asked = None if loop is None else loop.operands[0]
    if asked is not None and asked not in DTYPES:
        return None
    options = {"axis": axis, "dtype": asked and np.dtype(asked), "keepdims": keepdims}
    options |= {} if initial is np._NoValue else {"initial": initial}
    named = tuple(options.items())
    try:
        if where is True:
            return record(Call(ufunc.reduce, options=named), (array,), reason=_REASON)
        return record(
            Call(_masked, (ufunc,), named, ufunc.__name__), (array, where), reason=_REASON
        )
    except ForeignError:
        return None


def elementwise(ufunc: np.ufunc, values: Sequence[Any]) -> Any:
    """The recorded call of a ufunc of scipy.special, whose loops cannot fail; None for others.
    Raises: TypeError for dtypes that it refuses."""
    special = getattr(sys.modules.get("scipy.special"), ufunc.__name__, None)
    if special is not ufunc or ufunc.nout != 1 or len(values) != ufunc.nin:
        return None
    try:
        operands = operands_of(values)
    except ForeignError:
        return None
    asked = [np.dtype(i.type) if isinstance(i.type, str) else i.type for i in operands]
    types = tuple(code(dtype) for dtype in ufunc.resolve_dtypes((*asked, None)))
    if not set(types) <= set(DTYPES):
        return None
    nodes = tuple(
        item.node or scalar(item.value, dtype)  # type: ignore[arg-type]  # no node: a scalar
        for item, dtype in zip(operands, types, strict=False)
    )
    memory = [(node.shape, node.strides) for node in nodes]
    shape = broadcast([own for own, _ in memory])
    node = Opaque(
        ufunc.__name__,
        OutputOf(ufunc, 0, types[:-1]),
        "scipy.special computes it",
        shape=shape,
        dtype=types[-1],
        strides=result_strides(memory, shape),
        srcs=nodes,
    )
    return result(node, common_device(operands))


_REASON = "kernels do not fold in this way"


def _masked(ufunc: np.ufunc, array: Any, mask: Any, **options: Any) -> Any:
    return ufunc.reduce(array, where=mask, **options)


def _is_mask(where: Any) -> bool:
    return where is True or isinstance(where, Handle | np.ndarray) and where.dtype == bool  # type: ignore[union-attr]  # every Handle is a LazyArray


def _may_raise(ufunc: np.ufunc, dtype: str) -> bool:
    """Whether values can make a fold raise: integers to negative powers."""
    return ufunc in (np.power, np.float_power) and dtype[0] in "iub"
