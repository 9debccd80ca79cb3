"""The handle under LazyArray: Storage and Layout, reading and writing as nodes.

Front-end modules take and make Handles; the class that users see, with all its methods, is built
on top of them in `array.py`, so that those modules need not import it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Map, Node, Update, View
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.ops.table import OPS
from lazyfuse.runtime import engine


class Handle:
    """See the module.

    `_writeable` is False for broadcast views and others that NumPy makes read-only. `_is_scalar`
    marks what NumPy gives as a scalar (an element, a 0-d result): a value of its own that in-place
    operators replace, not write.
    """

    __slots__ = ("_storage", "_layout", "_writeable", "_is_scalar", "__weakref__")
    _concrete: ClassVar[type[Handle]]

    def __init_subclass__(cls) -> None:
        Handle._concrete = cls

    def __init__(
        self, storage: Storage, layout: Layout | None = None, *, writeable: bool = True
    ) -> None:
        self._storage = storage
        self._layout = layout if layout is not None else storage.layout
        self._writeable = writeable
        self._is_scalar = False

    @property
    def _is_whole(self) -> bool:
        node = self._storage.node
        return self._layout == (node.shape, node.strides, 0)

    @property
    def _code(self) -> str:
        return self._storage.node.dtype

    def _read(self) -> Node:
        """The node of the array's value now."""
        node = self._storage.node
        layout = self._layout
        if layout.strides == node.strides and layout.shape == node.shape and layout.offset == 0:
            return node
        return View(node, layout)

    def _flush(self) -> None:
        engine.flush([self._storage.node], self._storage.device)

    def _write(self, value: Node) -> None:
        """Replace the elements by `value`, of this dtype and broadcast to this shape.

        Raises: ValueError when the array is read-only.
        """
        self._check_writeable()
        storage = self._storage
        base = storage.node
        if self._is_whole:
            engine.write(storage, _version(value, base))
        elif size_of(self._layout.shape):
            engine.write(storage, Update(base, self._layout, value))

    def _check_writeable(self) -> None:
        if self._is_scalar and self._layout.shape:
            raise TypeError(
                "the parts of a complex array are copies here; "
                "assign to z.real or z.imag as a whole"
            )
        if self._is_scalar:
            raise TypeError(
                f"'numpy.{np.dtype(self._code).name}' object does not support item assignment"
            )
        if not self._writeable:
            raise ValueError("assignment destination is read-only")


def _version(value: Node, base: Node) -> Node:
    """A new node in the base's memory order: the value itself when it was recorded for this."""
    fresh = (
        isinstance(value, Map)
        and value.handle is None
        and value.users == 0
        and value.buffer is None
        and value.shape == base.shape
    )
    if fresh:
        value.strides = base.strides
        return value
    return Map(OPS["astype"], (value.dtype,), base.dtype, base.shape, base.strides, (value,))


def new(node: Node, device: str) -> Any:
    """A new array of its own memory whose value is `node`."""
    if isinstance(node, View):
        raise AssertionError("a view has no memory of its own")
    return Handle._concrete(engine.new_storage(node, device))


def result(node: Node, device: str) -> Any:
    """The result of an operation: an array, or a scalar where NumPy gives one."""
    array = new(node, device)
    array._is_scalar = not node.shape
    return array


def view(array: Handle, layout: Layout, *, writeable: bool | None = None) -> Any:
    """An array that shares memory with `array`; of a scalar, which is a value, a copy."""
    if array._is_scalar and not array._layout.shape:
        value = array._read()
        copied = Map(OPS["astype"], (value.dtype,), value.dtype, (), (), (value,))
        array = new(copied, array._storage.device)
    allowed = array._writeable if writeable is None else writeable
    return Handle._concrete(array._storage, layout, writeable=allowed)


def whole(shape: Shape) -> Layout:
    """The layout of a new C-contiguous array."""
    return Layout(shape, c_strides(shape), 0)
