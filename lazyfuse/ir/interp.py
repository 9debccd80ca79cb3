"""The meaning of a graph in NumPy, op by op:
the oracle of the compiled backends, and what runs without one.

`evaluate(node, memory, scalars)` gives the value of a node as an array,
from the arrays of the nodes in `memory`. What NumPy says about floating point conditions is the
caller's to hear or to silence.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from lazyfuse.ir.blank import Blank
from lazyfuse.ir.copies import copy_to
from lazyfuse.ir.graph import topological
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import (
    Const,
    Fill,
    Gather,
    Map,
    Node,
    Opaque,
    Reduce,
    Scan,
    Update,
    View,
)
from lazyfuse.ops.shapes import size_of


def evaluate(
    node: Node,
    memory: Mapping[Node, np.ndarray],
    scalars: Mapping[Node, Any],
) -> np.ndarray:
    """The value of `node`. `memory` holds arrays in each node's own strides;
    `scalars` the values of Consts."""
    return np.asarray(_values([node], memory, scalars)[node])


def _values(
    nodes: Iterable[Node], memory: Mapping[Node, np.ndarray], scalars: Mapping[Node, Any]
) -> dict[Node, Any]:
    """The values of `nodes`, and of all that they need."""
    values: dict[Node, Any] = dict(memory)
    for current in topological(nodes, stop=memory):
        if current not in values:
            values[current] = value_of(current, values, scalars)
    return values


def call_of(
    node: Node, memory: Mapping[Node, np.ndarray], scalars: Mapping[Node, Any]
) -> tuple[np.ufunc, list[np.ndarray]]:
    """The ufunc that writes the value of a node, and its operands: for what `writes_into` says."""
    values = _values(node.srcs, memory, scalars)
    ufunc, dtypes = _one_call(node)
    return ufunc, operands_in(dtypes, [values[src] for src in node.srcs])


def writes_into(node: Node) -> bool:
    """Whether the value of a node is what one call of a ufunc writes, in its dtype."""
    ufunc, dtypes = _one_call(node)
    if ufunc is None or ufunc.nout != 1:
        return False
    loop = tuple(map(np.dtype, dtypes))
    return bool(ufunc.resolve_dtypes((*loop, None)) == (*loop, np.dtype(node.dtype)))


def _one_call(node: Node) -> tuple[Any, tuple[str, ...]]:
    """The ufunc of an operation or of a recorded call, and the dtypes that it takes; None for
    others."""
    if isinstance(node, Map):
        return node.op.ufunc, node.loop
    call: Any = getattr(node, "call", None)
    return (call.ufunc, call.loop) if hasattr(call, "loop") else (None, ())


def walk(
    nodes: Sequence[Node],
    memory: Mapping[Node, np.ndarray],
    scalars: Mapping[Node, Any],
    masks: Mapping[Node, Node],
) -> Iterator[Node]:
    """Evaluate `nodes` and what they need; each node is yielded when its value is known.
    Values that nothing later reads are let go. Nodes in `masks` are computed where their mask is
    true alone."""
    values: dict[Node, Any] = dict(memory)
    walked = topological([*masks.values(), *nodes], stop=memory)
    order = [node for node in walked if node not in values]
    reads = {node: (*node.srcs, masks[node]) if node in masks else node.srcs for node in order}
    last = {src: node for node in order for src in reads[node]}
    for node in order:
        if isinstance(node, Map) and node in masks:
            values[node] = _masked(node, [values[src] for src in node.srcs], values[masks[node]])
        else:
            values[node] = value_of(node, values, scalars)
        yield node
        for src in reads[node]:
            if last[src] is node:
                values.pop(src, None)


def arrange(value: np.ndarray, node: Node) -> np.ndarray:
    """A dense copy of a value in the memory order of its node."""
    return view_of(dense_memory(value, node), Layout(node.shape, node.strides, 0))


def dense_memory(value: np.ndarray, node: Node) -> np.ndarray:
    """The memory of `arrange`, as one axis."""
    flat = np.empty(size_of(node.shape), np.dtype(node.dtype))
    view_of(flat, Layout(node.shape, node.strides, 0))[...] = value
    return flat


def result_memory(value: np.ndarray, node: Node, operands: Iterable[np.ndarray]) -> np.ndarray:
    """The memory of a new value as one axis, for its node alone: its own where it lies as the
    node does and is no operand's, else a copy."""
    strides = tuple(stride * value.itemsize for stride in node.strides)
    own = value.base is None and value.flags.owndata and value.flags.writeable
    laid_out = value.dtype == np.dtype(node.dtype) and value.strides == strides and value.size
    if own and laid_out and not any(np.may_share_memory(value, item) for item in operands):
        return flat_of(value)
    return dense_memory(value, node)


def view_of(memory: np.ndarray, layout: Layout) -> np.ndarray:
    """The elements of dense memory (of any shape) that a layout addresses, without a copy."""
    if 0 in layout.shape:
        return np.empty(layout.shape, memory.dtype)
    size = memory.itemsize
    strides = tuple(stride * size for stride in layout.strides)
    if memory.flags.c_contiguous:  # tens of times as fast as as_strided
        return np.ndarray(layout.shape, memory.dtype, memory, layout.offset * size, strides)
    return as_strided(flat_of(memory)[layout.offset :], layout.shape, strides)


def array_at(node: Node, buffer: Any) -> np.ndarray:
    """The memory of a node's value, in a buffer of the host, as an array of its shape and
    strides, which keeps the memory."""
    if 0 in node.shape:
        return np.empty(node.shape, np.dtype(node.dtype))
    return elements_at(buffer, node.dtype, Layout(node.shape, node.strides, 0))


def elements_at(buffer: Any, code: str, layout: Layout, shift: int = 0) -> np.ndarray:
    """Elements in a buffer of the host, at least one, counted from so many bytes on; the array
    keeps the memory."""
    dtype = np.dtype(code)
    size = dtype.itemsize
    memory: Any = (ctypes.c_char * buffer.nbytes).from_address(buffer.pointer)
    memory.owner = buffer  # whoever has it besides may let it go
    shape, strides, offset = layout
    steps = (strides[0] * size,) if len(strides) == 1 else tuple([each * size for each in strides])
    return np.ndarray(shape, dtype, memory, shift + offset * size, steps)


def copy_elements(
    source: np.ndarray, target: np.ndarray, dtype: str, layouts: Iterable[Layout]
) -> None:
    """Copy the elements at each layout from one memory of bytes to another."""
    old, new = source.view(np.dtype(dtype)), target.view(np.dtype(dtype))
    for layout in layouts:
        view_of(new, layout)[...] = view_of(old, layout)


def flat_of(memory: np.ndarray) -> np.ndarray:
    """Dense memory as one axis."""
    return as_strided(memory, (memory.size,), (memory.itemsize,))


def places(layout: Layout, index: np.ndarray) -> np.ndarray:
    """Where the elements of a layout lie in dense memory, moved by an index."""
    found = np.broadcast_to(index, layout.shape) + layout.offset
    for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        later = len(layout.shape) - axis - 1
        found = found + (np.arange(extent) * stride).reshape((extent,) + (1,) * later)
    return found


def value_of(node: Node, values: Mapping[Node, Any], scalars: Mapping[Node, Any]) -> Any:
    """The value of a node from those of its operands."""
    operands = [values[src] for src in node.srcs]
    match node:
        case Const():
            return np.asarray(scalars[node]).astype(np.dtype(node.dtype))
        case Fill() | Blank():
            return _fill(node, operands)
        case Map():
            return _map(node, operands)
        case Reduce() | Scan():
            return _reduce(node, operands) if isinstance(node, Reduce) else _scan(node, operands)
        case View():
            return view_of(_as_memory(operands[0], node.srcs[0]), node.layout)
        case Gather():
            memory = flat_of(_as_memory(operands[0], node.srcs[0]))
            return np.asarray(memory[places(node.layout, operands[1])])
        case Update():
            result = arrange(operands[0], node)
            write(result, node, operands)
            return result
        case Opaque():
            return np.asarray(node.call(*map(_as_argument, operands, node.srcs)))
    raise AssertionError(node)


def write(memory: np.ndarray, node: Update, operands: Sequence[Any]) -> None:
    """Put what an update writes into memory that lies as its base does."""
    if node.index is None:
        copy_to(view_of(memory, node.layout), operands[1])
    else:
        where = places(node.layout, operands[2])
        flat_of(memory)[where] = np.broadcast_to(operands[1], where.shape)


def _as_argument(value: Any, node: Node) -> Any:
    """An operand of a library call as NumPy would hold it: strides decide how BLAS adds."""
    return value if isinstance(node, View) else _as_memory(value, node)


def _as_memory(value: Any, node: Node) -> np.ndarray:
    """The value in its node's own memory order, which views address."""
    array = np.asarray(value)
    expected = tuple(stride * array.itemsize for stride in node.strides)
    return (
        array if array.strides == expected and array.shape == node.shape else arrange(array, node)
    )


def _fill(node: Fill | Blank, operands: list[Any]) -> np.ndarray:
    dtype = np.dtype(node.dtype)
    if isinstance(node, Blank):
        return np.empty(node.shape, dtype)
    if len(operands) == 1:
        return np.broadcast_to(np.asarray(operands[0], dtype), node.shape)
    wide = np.dtype("f4") if node.dtype == "f2" else dtype
    values = np.arange(node.shape[0]).astype(wide, copy=False)
    values *= operands[1].astype(wide)
    values += operands[0].astype(wide)
    return values.astype(dtype, copy=False)


def _map(node: Map, operands: list[Any]) -> np.ndarray:
    return np.broadcast_to(_elements(node, operands), node.shape)


def _masked(node: Map, operands: list[Any], mask: np.ndarray) -> np.ndarray:
    """The value where a mask that broadcasts with it is true, zero elsewhere."""
    wide = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, node.shape))
    extra = wide.ndim - len(node.shape)
    chosen = wide.any(axis=tuple(range(extra)))
    repeated = tuple(axis for axis, n in enumerate(node.shape) if n < chosen.shape[axis])
    chosen = np.any(chosen, axis=repeated, keepdims=True)
    picked = [np.broadcast_to(value, node.shape)[chosen] for value in operands]
    result = np.zeros(node.shape, np.dtype(node.dtype))
    result[chosen] = _elements(node, picked)
    return result


def _elements(node: Map, operands: list[Any]) -> np.ndarray:
    """An elementwise operation on operands of any shapes that broadcast."""
    loop = operands_in(node.loop, operands)
    if node.op.name == "where":
        result: np.ndarray | tuple[np.ndarray, ...] = np.where(*loop)
    elif node.op.name == "complex_of":
        result = np.empty(np.broadcast_shapes(*(x.shape for x in loop)), np.dtype(node.dtype))
        result.real, result.imag = loop
    elif node.op.ufunc is None:
        result = getattr(loop[0], node.op.name) if node.op.name in ("real", "imag") else loop[0]
    else:
        result = node.op.ufunc(*loop)
    if isinstance(result, tuple):
        result = result[node.op.output]
    if node.dtype == "b1" or np.dtype(node.dtype).kind != "c" and np.iscomplexobj(result):
        result = result != 0 if node.dtype == "b1" else np.real(result)
    is_fresh = node.op.ufunc is not None or node.op.name in ("where", "complex_of")
    return np.asarray(result).astype(np.dtype(node.dtype), copy=not is_fresh)


def operands_in(dtypes: Sequence[str], operands: Sequence[Any]) -> list[np.ndarray]:
    """Operands in the dtypes that an operation takes. Of complex ones for a real operation the
    warning has been given when that was recorded."""
    found = []
    for operand, dtype in zip(map(np.asarray, operands), dtypes, strict=True):
        is_halved = operand.dtype.kind == "c" and dtype[0] in "iuf"
        found.append((operand.real if is_halved else operand).astype(np.dtype(dtype), copy=False))
    return found


def _reduce(node: Reduce, operands: list[Any]) -> np.ndarray:
    source = _as_memory(operands[0], node.srcs[0]) if node.srcs[0].kind != "view" else operands[0]
    if node.op.gives_index:
        return _argument(node, source)
    assert node.op.ufunc is not None
    dtype = np.dtype(node.accumulate)
    initial = {"initial": operands[1]} if len(operands) > 1 else {}
    if dtype.kind == "b":
        source = source != 0
    if node.op.fold in ("maximum", "minimum", "fmax", "fmin") and source.dtype != dtype:
        source = source.astype(dtype)
    result = node.op.ufunc.reduce(source, axis=node.axes, dtype=dtype, **initial)
    return np.asarray(result).astype(np.dtype(node.dtype)).reshape(node.shape)


def _scan(node: Scan, operands: list[Any]) -> np.ndarray:
    (source,), ufunc, dtype = operands, node.op.ufunc, np.dtype(node.dtype)
    assert ufunc is not None
    result: np.ndarray = ufunc.accumulate(source.astype(dtype), axis=node.axis, dtype=dtype)
    return result


def _argument(node: Reduce, source: np.ndarray) -> np.ndarray:
    kept = [axis for axis in range(source.ndim) if axis not in node.axes]
    moved = np.transpose(source, (*kept, *sorted(node.axes)))
    folded = size_of(tuple(source.shape[axis] for axis in node.axes))
    flat = moved.reshape(*moved.shape[: len(kept)], folded)
    find = np.argmax if node.op.fold == "argmax" else np.argmin
    return np.asarray(find(flat, axis=-1)).reshape(node.shape)
