"""What Numba takes LazyArrays and our functions for, in functions that it compiles; imported where
Numba asks (`numba.py`).

Numba's own functions for arrays have the type of a LazyArray, too, which differs in how a value is
had from Python: as `numpy.asarray(x)`. What is computed there gives NumPy's arrays. Numba keeps
compiled functions with their types, by name: so the type stands in a module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof
from numba.core import cgutils, types
from numba.core.boxing import unbox_array
from numba.core.registry import cpu_target
from numba.extending import NativeValue, lower_cast, models, register_model, unbox


def type_of_function(theirs: Any) -> Any:
    """Numba's type of a function of NumPy's. Raises: ValueError where it has none."""
    return cpu_target.typing_context.resolve_value_type(theirs)


def type_of_array(values: np.ndarray, *, is_scalar: bool) -> Any:
    """Numba's type of a LazyArray with these values. Raises: ValueError for a dtype that Numba
    does not have."""
    if is_scalar:
        return typeof(values[()])
    found = typeof(values)
    return LazyArrayType(found.dtype, found.ndim, found.layout, readonly=not found.mutable)


class LazyArrayType(types.Array):  # type: ignore[misc]  # Numba has no types for mypy
    """Arrays that Python has as LazyArrays."""

    def __init__(self, dtype: Any, ndim: int, layout: str, *, readonly: bool) -> None:
        access = "readonly " if readonly else ""
        name = f"LazyArray({access}{dtype}, {ndim}d, {layout})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=name)


register_model(LazyArrayType)(models.ArrayModel)


@lower_cast(LazyArrayType, types.Array)  # type: ignore[untyped-decorator]
def as_array(context: Any, builder: Any, own: Any, wanted: Any, value: Any) -> Any:
    """A variable that may be one of them or an array that was made there is the latter."""
    return value


@unbox(LazyArrayType)  # type: ignore[untyped-decorator]
def from_python(kind: Any, array: Any, c: Any) -> Any:
    """Have the memory of a LazyArray, as `numpy.asarray` gives it."""
    convert = c.pyapi.unserialize(c.pyapi.serialize_object(np.asarray))
    values = c.pyapi.call_function_objargs(convert, (array,))
    c.pyapi.decref(convert)
    place = cgutils.alloca_once(c.builder, c.context.get_value_type(kind))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    with c.builder.if_then(cgutils.is_not_null(c.builder, values)):
        found = unbox_array(kind, values, c)  # with a reference of its own
        c.builder.store(found.value, place)
        c.builder.store(found.is_error, failed)
        c.pyapi.decref(values)
    return NativeValue(c.builder.load(place), is_error=c.builder.load(failed))
