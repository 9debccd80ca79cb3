"""Delivering a recorded result: through `out=` and `where=`, with NumPy's checks and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.convert import check_home, operand, scalar, to_array, warn_of_cast
from lazyfuse.frontend.handle import Handle, result
from lazyfuse.ir.node import Map, Masked, Node
from lazyfuse.ir.order import c_strides, f_strides, is_f_contiguous, result_strides
from lazyfuse.ops.shapes import Shape, broadcast, shape_text
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import can_cast


def deliver(
    name: str,
    node: Node,
    device: str,
    *,
    out: Any,
    where: Any,
    casting: str = "same_kind",
    order: str = "K",
    shapes: Sequence[Shape] = (),
) -> Any:
    """The result of op `name`: a new array, or `out`; only where the mask is true. `shapes` are
    those of the operands, for what is said of outputs and masks that do not fit.

    A new array holds zeros where the mask is false (NumPy: whatever the memory held).
    """
    if out is not None:
        check_output(name, node.dtype, out, casting)
        check_home(out.device, device)
    masks = [] if where is True else [mask_node(where, device)]
    around = [mask.shape for mask in masks]
    if out is None:
        shape = broadcast([*(shapes or [node.shape]), *around])
    else:
        _check_shape([*(shapes or [node.shape]), out.shape, *around], out)
        shape = out.shape
    dtype = node.dtype if out is None else out._code
    warn_of_cast(node.dtype, dtype)
    for mask in masks:
        old = scalar(0, dtype) if out is None else out._read()
        node = _chosen(mask, converted(node, dtype), old, shape, order)
    if out is None:
        return result(node, device)
    out._write(converted(node, dtype))
    return out


def check_output(name: str, dtype: str, out: Any, casting: str, number: int = 0) -> None:
    """Raises what NumPy raises when results of `dtype` cannot be written to `out`."""
    check_array(out)
    check_writeable(out)
    ufunc = OPS[name].ufunc if name in OPS else None
    check_cast(ufunc or np.positive, dtype, out._code, casting, number)


def check_writeable(out: Any) -> None:
    """Raises ValueError for an output that is read-only, in the words of ufuncs."""
    if not out._writeable:
        raise ValueError("output array is read-only")
    out._check_writeable()


def check_array(out: Any) -> None:
    """Raises TypeError for an element or another scalar: nothing can be written to a value."""
    if isinstance(out, Handle) and out._is_scalar:
        raise TypeError("return arrays must be of ArrayType")


def check_cast(ufunc: np.ufunc, source: str, target: str, casting: str, number: int = 0) -> None:
    """Raises NumPy's UFuncTypeError when result `number` may not be cast to its output."""
    if can_cast(source, target, casting):
        return
    from_dtype, to_dtype = np.dtype(source), np.dtype(target)
    error = np._core._exceptions._UFuncOutputCastingError  # type: ignore[attr-defined]  # private
    raise error(ufunc, casting, from_dtype, to_dtype, number)


def check_outputs(name: str, nodes: Sequence[Node], outs: Sequence[Any], casting: str) -> None:
    """Raises what NumPy raises before it writes any of several results."""
    for number, (node, out) in enumerate(zip(nodes, outs, strict=True)):
        if out is not None:
            check_output(name, node.dtype, out, casting, number)
            _check_shape([node.shape, out.shape], out)


def _check_shape(shapes: Sequence[Shape], out: Any) -> None:
    """Raises what NumPy raises when an output, whose shape is among `shapes`, does not fit."""
    check_array(out)
    wide = broadcast(shapes)
    if wide != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {shape_text(out.shape)} doesn't match "
            f"the broadcast shape {shape_text(wide)}"
        )


def mask_node(where: Any, device: str) -> Node:
    """What `where=` was given, on this device: numbers and sequences count as what bool makes of
    them. Raises: TypeError for an array that is not boolean."""
    if not isinstance(where, Handle | np.ndarray):
        where = np.asarray(where, bool)
    found = operand(where, device)
    check_home(found.device, device)
    if isinstance(where, Handle) and where._is_scalar and found.node is not None:
        return converted(found.node, "b1")
    if found.type != "b1":
        name = np.dtype(found.type)
        raise TypeError(
            f"Cannot cast array data from {name!r} to dtype('bool') according to the rule 'safe'"
        )
    return found.node if found.node is not None else scalar(found.value, "b1")  # type: ignore[arg-type]  # no node: a scalar


def _chosen(mask: Node, node: Node, old: Node, shape: Shape, order: str) -> Masked:
    """The new value where the mask is true, the old one elsewhere."""
    memory = [(item.shape, item.strides) for item in (node, mask)]
    strides = ordered_strides(memory, shape, order, trivial=False)
    return Masked(OPS["where"], ("b1", node.dtype, node.dtype), node.dtype, shape, strides,
                  (mask, node, old))  # fmt: skip


def ordered_strides(
    memory: Sequence[tuple[Shape, tuple[int, ...]]], shape: Shape, order: str, *, trivial: bool
) -> tuple[int, ...]:
    """The strides of a ufunc's new result in order C, F, A or K, from operands in memory."""
    if order == "K":
        return result_strides(memory, shape, trivial=trivial)
    is_fortran = all(is_f_contiguous(*item) for item in memory) if order == "A" else order == "F"
    return f_strides(shape) if is_fortran else c_strides(shape)


def converted(node: Node, dtype: str) -> Node:
    """The node, cast where its dtype is another."""
    if node.dtype == dtype:
        return node
    strides = result_strides([(node.shape, node.strides)], node.shape)
    return Map(OPS["astype"], (node.dtype,), dtype, node.shape, strides, (node,))


def counted(node: Node, dtype: str) -> Node:
    """An operand of a loop in `dtype`. A cast of floats to integers is a step of its own: it can
    be invalid, of which kernels tell by operation."""
    is_lossy = node.dtype[0] in "fc" and dtype[0] in "iu"
    return converted(node, dtype) if is_lossy else node


def is_swapped(dtype: Any) -> bool:
    """Whether a dtype that a fold is to be computed in has the other byte order: NumPy refuses
    it."""
    return dtype is not None and not np.dtype(dtype).isnative


def as_array(found: Any) -> Any:
    """A result as an array: what is computed at once is NumPy's scalar where it has no axes.

    Our pending scalars are instances of np.generic, too: they stay as they are."""
    return found if isinstance(found, Handle) else to_array(found)


def into(found: Any, out: Any) -> Any:
    """A result, which may have been computed at once, or the output that it is written to."""
    if out is None:
        return found
    found = as_array(found)
    return finished(found._read(), found._storage.device, out)


def finished(node: Node, device: str, out: Any) -> Any:
    """The result of a fold, or the output that it is written to; any cast is allowed here."""
    if out is None:
        return result(node, device)
    check_folded(node.shape, out)
    check_home(out.device, device)
    check_writeable(out)
    out._write(Map(OPS["astype"], (node.dtype,), out._code, node.shape, node.strides, (node,)))
    return out


def check_folded(shape: tuple[int, ...], out: Any) -> None:
    """Raises ValueError when `out` has not the shape of the folded result, TypeError when it is a
    scalar."""
    check_array(out)
    if out.shape != shape:
        raise ValueError(
            f"output parameter for reduction operation has the wrong shape {out.shape}; "
            f"expected {shape}"
        )
