"""Shapes: reshape, transpose, joining and copying. Views share memory exactly when NumPy's do."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazyfuse.frontend import fallback, methods
from lazyfuse.frontend.convert import ForeignError, to_array, warn_of_setting
from lazyfuse.frontend.handle import Handle, new, view
from lazyfuse.frontend.memory import is_settled
from lazyfuse.frontend.relayout import remembered
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill
from lazyfuse.ir.order import c_strides, f_strides, is_contiguous, is_dense
from lazyfuse.ops.shapes import Shape, integer, integers, normalize_axis, size_of


def asarray(value: Any, device: str | None = None) -> Any:
    """A LazyArray of anything array-like, on the default device or this one; the object itself
    when it is one, wherever it lives."""
    return value if isinstance(value, Handle) else to_array(value, device=device)


# ---- reshape


@remembered
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Give a new shape. Aliasing: a view when the memory allows it,
    else a copy (as NumPy decides).

    Raises: ValueError when the sizes differ, or with copy=False when a copy is needed.
    """
    if not isinstance(a, Handle):
        try:
            a = asarray(a)
        except ForeignError:
            return fallback.call(np.reshape, a, shape, order, copy=copy)
    target = a.shape if shape is None else _target_shape(shape, a.size)
    order = methods.order_letter(order, "C")
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if order == "A":
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    layout = None if copy else reshaped_layout(a._layout, target, order)
    if layout is not None:
        return view(a, layout)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if not a._is_scalar and is_settled(a):  # copied at once, and small as a rule
        if order == "C":
            return a.flatten().reshape(target)
        return transpose(a).flatten().reshape(target[::-1]).T
    dense = methods.converted(a, a._code, order)
    fresh = reshaped_layout(dense._layout, target, order)
    assert fresh is not None
    return view(dense, fresh)


@remembered
def reshape_method(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    options = {} if copy is None else {"copy": copy}
    return reshape(self, shape[0] if len(shape) == 1 else shape, order, **options)


def _target_shape(shape: Any, size: int) -> Shape:
    extents = integers(shape if _are_several(shape) else (shape,))
    if any(not -(2**63) <= extent < 2**63 for extent in extents):
        raise ValueError("Maximum allowed dimension exceeded")
    unknown = [position for position, extent in enumerate(extents) if extent < 0]
    known = math.prod(extent for extent in extents if extent >= 0)
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if (known == 0 or size % known) if unknown else known != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {_shown(extents)}")
    if unknown:
        extents[unknown[0]] = size // known
    return tuple(extents)


def _are_several(extents: Any) -> bool:
    """Whether NumPy takes an object for a sequence of integers, not for one."""
    return isinstance(extents, Sequence) or bool(getattr(extents, "ndim", 0))


def _shown(extents: Sequence[int]) -> str:
    """A shape in NumPy's words, which leave out an unknown extent that leads."""
    known = list(dropwhile(lambda extent: extent < 0, extents))
    inside = ",".join("newaxis" if extent < 0 else str(extent) for extent in known)
    return f"({inside},)" if len(extents) == 1 else f"({inside})"


def reshaped_layout(layout: Layout, shape: Shape, order: str = "C") -> Layout | None:
    """The view of the same elements in another shape, or None when they need a copy
    (_attempt_nocopy_reshape in NumPy's shape.c)."""
    if order == "F":
        reverse = reshaped_layout(
            Layout(layout.shape[::-1], layout.strides[::-1], layout.offset), shape[::-1]
        )
        return reverse and Layout(shape, reverse.strides[::-1], reverse.offset)
    if shape == layout.shape:
        return layout
    if size_of(shape) == 0 or is_contiguous(layout.shape, layout.strides):
        return Layout(shape, c_strides(tuple([n or 1 for n in shape])), layout.offset)
    old = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if n != 1]
    strides = [0] * len(shape)
    position = taken = 0
    while position < len(shape) and taken < len(old):
        stop, span, have = position + 1, shape[position], old[taken][0]
        last = taken + 1
        while span != have:
            if span < have:
                span, stop = span * shape[stop], stop + 1
            else:
                have, last = have * old[last][0], last + 1
        for (_, slow), (extent, fast) in zip(old[taken:last], old[taken + 1 : last], strict=False):
            if slow != fast * extent:
                return None
        step = old[last - 1][1]
        for axis in range(stop - 1, position - 1, -1):
            strides[axis] = step
            step *= shape[axis]
        position, taken = stop, last
    last_stride = strides[position - 1] if position else 1
    strides[position:] = [last_stride] * (len(shape) - position)
    return Layout(shape, tuple(strides), layout.offset)


def reshaped_in_place(array: Any, shape: Any) -> Layout:
    """The layout of `array.shape = shape`. Raises: AttributeError, ValueError."""
    warn_of_setting("shape")
    layout = reshaped_layout(array._layout, _target_shape(shape, array.size))
    if layout is None:
        raise AttributeError(
            "Incompatible shape for in-place modification. "
            "Use `.reshape()` to make a copy with the desired shape."
        )
    return layout


@remembered
def ravel(a: Any, order: str = "C") -> Any:
    """One axis. Aliasing: a view when the elements lie in this order."""
    if type(a) is Handle._concrete and order == "C":
        return a.ravel()  # type: ignore[attr-defined]  # a LazyArray, whose method is machine code
    return _raveled(a, order)


def _raveled(a: Any, order: str) -> Any:
    order = methods.order_letter(order, "C")
    if order == "K":
        a = asarray(a)
        dense = a if is_dense(*a._layout[:2]) else methods.walked(a)
        axes = sorted(range(a.ndim), key=lambda axis: -dense._layout.strides[axis])
        found = reshape(transpose(dense, axes), (-1,))
        return found if dense is a else owning(found)
    a = asarray(a)
    flags = a.flags
    if order == "A":
        order = "F" if flags.fnc else "C"
    if flags.c_contiguous if order == "C" else flags.f_contiguous:
        return reshape(a, (a.size,), order)
    if order == "C" and not a._is_scalar and is_settled(a):
        return a.flatten()
    return owning(reshape(methods.converted(a, a._code, order), (a.size,), order))


def owning(array: Any) -> Any:
    """The one view of a new array, as an array with memory of its own."""
    array._owner = None
    return array


@remembered
def ravel_method(self: Any, order: str = "C") -> Any:
    return _raveled(self, order)


def flatten(self: Any, order: str = "C") -> Any:
    """One axis, always a copy."""
    is_line = order == "C" and not self._is_scalar and self.flags.c_contiguous
    if is_line:
        return reshape(self, (self.size,)).copy()  # both recorded by a recipe
    is_walked = methods.order_letter(order, "C") == "K"
    copy = methods.walked(self) if is_walked else methods.converted(self, self._code, order)
    return owning(ravel(copy, order))


# ---- axes


@remembered
def transpose(a: Any, axes: Any = None) -> Any:
    """Permute the axes. Aliasing: a view."""
    a = asarray(a)
    if axes is None:
        order = tuple(reversed(range(a.ndim)))
    else:
        given = integers(axes if _are_several(axes) else (axes,))
        if len(given) != a.ndim:
            raise ValueError("axes don't match array")
        order = tuple(normalize_axis(axis, a.ndim) for axis in given)
        if len(set(order)) != a.ndim:
            raise ValueError("repeated axis in transpose")
    return _permuted(a, order)


def _permuted(a: Any, order: Sequence[int]) -> Any:
    layout = a._layout
    shape = tuple(layout.shape[axis] for axis in order)
    return view(a, Layout(shape, tuple(layout.strides[axis] for axis in order), layout.offset))


@remembered
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0])):
        return transpose(self, axes[0])
    return transpose(self, axes or None)


def transposed(self: Any) -> Any:
    layout = self._layout
    return view(self, Layout(layout.shape[::-1], layout.strides[::-1], layout.offset))


def matrix_transposed(self: Any) -> Any:
    if self.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return swapaxes(self, -1, -2)


def matrix_transpose(x: Any, /) -> Any:
    return matrix_transposed(asarray(x))


@remembered
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes. Aliasing: a view."""
    a = asarray(a)
    order = list(range(a.ndim))
    first = normalize_axis(axis1, a.ndim, "axis1")
    second = normalize_axis(axis2, a.ndim, "axis2")
    order[first], order[second] = order[second], order[first]
    return _permuted(a, order)


@remembered
def swapaxes_method(self: Any, axis1: int, axis2: int) -> Any:
    return swapaxes(self, axis1, axis2)


@remembered
def squeeze(a: Any, axis: Any = None) -> Any:
    """Drop axes of length 1. Aliasing: a view; the array itself when nothing is dropped. Raises:
    ValueError when a named axis is longer."""
    a = asarray(a)
    if axis is None:
        dropped = {number for number, extent in enumerate(a.shape) if extent == 1}
    else:
        given = [integer(x) for x in (axis if isinstance(axis, tuple) else (axis,))]
        dropped = {normalize_axis(x, a.ndim) for x in given}
        if len(dropped) < len(given):
            raise ValueError("duplicate value in 'axis'")
    if any(a.shape[number] != 1 for number in dropped):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not dropped:
        return a
    kept = [number for number in range(a.ndim) if number not in dropped]
    return _permuted(a, kept)


@remembered
def squeeze_method(self: Any, axis: Any = None) -> Any:
    return squeeze(self, axis)


@remembered
def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of length 1. Aliasing: a view."""
    a = asarray(a)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = a.ndim + len(axes)
    places = normalize_axis_tuple(axes, ndim)
    rest = iter(a.shape)
    return reshape(a, tuple([1 if number in places else next(rest) for number in range(ndim)]))


def atleast_1d(*arys: Any) -> Any:
    """At least one axis. Aliasing: a view, or the array itself."""
    return _each(arys, lambda a: a if a.ndim else reshape(a, (1,)))


def atleast_2d(*arys: Any) -> Any:
    return _each(
        arys, lambda a: a if a.ndim >= 2 else reshape(a, (1, 1)) if a.ndim == 0 else a[None]
    )


def atleast_3d(*arys: Any) -> Any:
    def grown(a: Any) -> Any:
        match a.ndim:
            case 0:
                return reshape(a, (1, 1, 1))
            case 1:
                return a[None, :, None]
            case 2:
                return a[:, :, None]
        return a

    return _each(arys, grown)


def _each(arrays: Sequence[Any], function: Any) -> Any:
    results = tuple(function(asarray(array)) for array in arrays)
    return results[0] if len(results) == 1 else results


# ---- copies


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat each element. Recorded when all are repeated as often; a copy in C order.

    Raises: ValueError for a negative number, AxisError.
    """
    try:
        a = asarray(a)
    except ForeignError:
        return fallback.call(np.repeat, a, repeats, axis)
    if not isinstance(repeats, int | np.integer) or repeats < 0:
        return fallback.call(np.repeat, a, repeats, axis)
    if axis is None:
        a, axis = ravel(a), 0
    if not a.ndim:  # NumPy takes it for an array of one axis
        a = ravel(a)
    place = normalize_axis(operator.index(axis), a.ndim)
    inner = view(a, _repeated(a._layout, place, int(repeats)))
    shape = (*a.shape[:place], a.shape[place] * int(repeats), *a.shape[place + 1 :])
    return reshape(methods.converted(inner, a._code, "C"), shape)


def _repeated(layout: Layout, axis: int, repeats: int) -> Layout:
    """A layout with an axis of equal elements behind `axis`."""
    shape = (*layout.shape[: axis + 1], repeats, *layout.shape[axis + 1 :])
    strides = (*layout.strides[: axis + 1], 0, *layout.strides[axis + 1 :])
    return Layout(shape, strides, layout.offset)


def repeat_method(self: Any, repeats: Any, axis: int | None = None) -> Any:
    return repeat(self, repeats, axis)


def copy_method(self: Any, order: str = "C") -> Any:
    """A copy that shares nothing."""
    return methods.converted(self, self._code, order)


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy of anything array-like; of a scalar, a 0-d array."""
    array = methods.as_array(asarray(a))
    return methods.converted(array, array._code, order)


def resize_method(self: Any, *new_shape: Any, refcheck: bool = True) -> None:
    """Change shape and size in place: the memory keeps its order, what is added is zero.

    Raises: ValueError for a view, whose memory is another array's, unless the size stays, and for
    an array whose memory is neither in C nor in F order. Views of this array keep the memory that
    it had.
    """
    given = new_shape[0] if len(new_shape) == 1 else new_shape
    operator.index(refcheck)
    if given is None or not new_shape:
        return
    if not self.flags.forc:
        raise ValueError("resize only works on single-segment arrays")
    target = tuple(operator.index(n) for n in (given if np.ndim(given) else (given,)))
    if any(extent < 0 for extent in target):
        raise ValueError("all elements of 'new_shape' must be non-negative")
    strides = f_strides(target) if self.flags.fnc else c_strides(target)
    if size_of(target) == self.size:
        self._layout = Layout(target, strides, self._layout.offset)
        return
    if self._owner is not None:
        raise ValueError("cannot resize this array: it does not own its data")
    zeros = Fill(target, self._code, strides, (Const(0, self._code),))
    resized = new(zeros, self._storage.device)
    memory, kept = ravel(resized, "K"), min(self.size, resized.size)
    memory[:kept] = ravel(self, "K")[:kept]
    self._storage, self._layout = resized._storage, resized._layout
