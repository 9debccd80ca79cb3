"""The handle under LazyArray: Storage and Layout, reading and writing as nodes.

Front-end modules take and make Handles; the class that users see, with all its methods, is built
on top of them in `array.py`, so that those modules need not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lazyfuse import config
from lazyfuse.ir import recast
from lazyfuse.ir.interp import elements_at, view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Map, Node, Opaque, Update, View
from lazyfuse.ir.order import c_strides, copy_strides
from lazyfuse.ir.recast import Cast
from lazyfuse.ir.storage import Storage
from lazyfuse.ir.witness import WITNESSES, check, keep
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.ops.table import OPS
from lazyfuse.ops.types import code
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.budget import is_read_in_parts
from lazyfuse.runtime.caller import warn_here

#: `Handle._writeable` of what `broadcast_arrays` gives.
WARNS = 2
#: The same of what stays read-only whatever is asked: windows, and memory that nobody can write.
#: It is no more true than False, and told from that by identity.
SEALED = 0


class Handle:
    """See the module.

    `_writeable` is False for broadcast views and others that NumPy makes read-only, SEALED for
    what stays so, and WARNS for those that it lets be written with a warning, the first time.
    `_is_scalar` is true of the class of what NumPy gives as a scalar (an element, a 0-d result): a
    value of its own that in-place operators replace, not write. `_owner` is the array whose view
    this is, None for an array with memory of its own. `_cast` says how a view reads the memory as
    another dtype than the storage has; its layout counts in elements of that dtype. `_host` is the
    NumPy array of a small array (`small.py`), which has none of the others; it is missing where it
    is put off (`deferred.py`), until somebody asks. `_entered`: the copy of such an array, and of
    its views, that was an operand of the engine the last time, and the array of the engine in its
    memory; missing where there was none.
    """

    __slots__ = (
        "_storage", "_layout", "_writeable", "_owner", "_cast", "_host", "_entered",
        "__weakref__",
    )  # fmt: skip
    _is_scalar: ClassVar[bool] = False
    _concrete: ClassVar[type[Handle]]
    _scalar: ClassVar[type[Handle]]
    _node_of: ClassVar[Callable[[np.ndarray], Node]]
    _host_of: ClassVar[Callable[[Handle], np.ndarray]]
    _storage: Storage
    _layout: Layout
    _writeable: bool | int
    _owner: Handle | None
    _cast: Cast | None
    _host: Any
    _entered: tuple[np.ndarray | None, Handle]

    @property
    def _is_whole(self) -> bool:
        node = self._storage.node
        return self._cast is None and self._layout == (node.shape, node.strides, 0)

    @property
    def _code(self) -> str:
        if self._host is not None:
            return code(self._host.dtype)
        return self._storage.node.dtype if self._cast is None else self._cast.dtype

    @property
    def _reading(self) -> Cast:
        """How the memory is read."""
        return Cast(self._storage.node.dtype) if self._cast is None else self._cast

    def _read(self) -> Node:
        """The node of the array's value now; an array that is read in many small parts is computed
        before."""
        if self._host is not None:
            return Handle._node_of(self._host)
        if self._storage.is_lent and not self._is_whole and 0 not in self._layout.shape:
            with session.flush_lock:
                lent = self._lent()
                if lent is not None:
                    return Handle._node_of(lent)
        node = self._storage.current()
        layout = self._layout
        if node.users and is_read_in_parts(node, layout.shape, config.current()):
            self._flush()
            node = self._storage.current()
        if self._cast is not None:
            return recast.read(node, self._cast, layout)
        if layout.strides == node.strides and layout.shape == node.shape and layout.offset == 0:
            return node
        return View(node, layout)

    def _lent(self) -> np.ndarray | None:
        """The elements, of which there are some, in memory that is lent; None where it is not, any
        more: loans end in other threads, too. They begin with the lock of a flush, which the
        caller holds."""
        node, cast = self._storage.node, self._reading
        if not self._storage.is_lent:
            return None
        return elements_at(node.buffer, cast.dtype, self._layout, cast.shift)

    def _in_memory(self) -> Node:
        """As `_read`, with elements that lie as NumPy's do: the parts of complex numbers, too,
        of which a sum by BLAS depends on the stride."""
        if self._host is not None or self._cast is None:
            return self._read()
        return recast.viewed(self._storage.current(), self._cast, self._layout)

    def is_same_memory(self, other: Handle) -> bool:
        """Whether two arrays are the same elements in the same order."""
        mine = (self._storage, self._layout, self._code)
        return mine == (other._storage, other._layout, other._code)

    def _flush(self) -> None:
        if self._host is None:
            engine.flush([self._storage.now()], self._storage.device)

    def _write(self, value: Node) -> None:
        """Replace the elements by `value`, of this dtype and broadcast to this shape.

        Raises: ValueError when the array is read-only.
        """
        self._check_writeable()
        if self._host is not None:
            _compute_into(self._host, value, session.default_device())
        elif self._is_whole or size_of(self._layout.shape):
            while not engine.write(self._storage, lambda base: self._updated(base, value)):
                if self._written_through(value):
                    return

    def _written_through(self, value: Node) -> bool:
        """Whether elements in memory that is lent are replaced: not where the loan is over."""
        with session.flush_lock:
            lent = self._lent()
            if lent is not None:
                _compute_into(lent, value, "cpu")
        return lent is not None

    def _updated(self, base: Node, value: Node) -> Node:
        """The next version of the memory: this part of it replaced."""
        layout = self._layout
        if self._is_whole:
            return _version(value, base)
        if recast.repeats(layout):
            return recast.overwritten(base, self._reading, layout, value)
        if self._cast is not None:
            return recast.written(base, self._cast, layout, value)
        return Update(base, layout, value)

    def _check_writeable(self, what: str = "assignment destination") -> None:
        """Raises: ValueError, about `what`, of a read-only array; TypeError of a scalar;
        OutsideError of one that a recording has not made."""
        if WITNESSES:
            if self._host is None:
                check(self._storage)
            else:
                keep(self._host)
        if self._is_scalar:
            raise TypeError(
                f"'numpy.{np.dtype(self._code).name}' object does not support item assignment"
            )
        if not self._writeable:
            raise ValueError(f"{what} is read-only")
        if self._writeable is WARNS:
            self._writeable = True
            warn_here(
                "Numpy has detected that you (may be) writing to an array with\n"
                "overlapping memory from np.broadcast_arrays. If this is intentional\n"
                "set the WRITEABLE flag True or make a copy immediately before writing.",
                DeprecationWarning,
            )


def _version(value: Node, base: Node) -> Node:
    """A new node in the base's memory order: the value itself when it was recorded for this."""
    fresh = (
        isinstance(value, Map | Opaque)
        and value.dtype == base.dtype
        and value.handle is None
        and value.users == 0
        and value.buffer is None
        and value.shape == base.shape
    )
    if fresh:
        value.strides, value.form = base.strides, base.form
        return value
    return Map(OPS["astype"], (value.dtype,), base.dtype, base.shape, base.strides, (value,))


def _compute_into(host: np.ndarray, value: Node, device: str) -> None:
    """Write the values of a node, computed now, to an array of NumPy's: also where conditions that
    they met are errors, as in NumPy."""
    strides = copy_strides(value.shape, value.strides)
    copy = Map(OPS["astype"], (value.dtype,), value.dtype, value.shape, strides, (value,))
    copy.origin = engine.origin()
    try:
        engine.flush([copy], device)
    finally:
        if copy.buffer is not None:
            flat = session.backend(device).to_host(copy.buffer).view(np.dtype(copy.dtype))
            host[...] = view_of(flat, Layout(copy.shape, copy.strides, 0))


def new(node: Node, device: str) -> Any:
    """A new array of its own memory whose value is `node`."""
    if isinstance(node, View):
        raise AssertionError("a view has no memory of its own")
    return handle(Handle._concrete, engine.new_storage(node, device))


def handle(kind: type[Handle], storage: Storage, layout: Layout | None = None) -> Any:
    """An array object of a class: of the whole storage, or of a part."""
    made = _new(kind)
    made._storage = storage
    made._layout = storage.layout if layout is None else layout
    made._writeable = True
    made._owner = made._cast = made._host = None
    return made


def small_array(value: np.ndarray, owner: Handle | None = None) -> Any:
    """A small array around NumPy's, which nobody else writes; or a view of `owner`'s memory."""
    made = _new(Handle._concrete)
    made._host = value
    made._owner = owner
    return made


_new = object.__new__


def result(node: Node, device: str) -> Any:
    """The result of an operation: an array, or a scalar where NumPy gives one."""
    return new(node, device) if node.shape else new_scalar(node, device)


def new_scalar(node: Node, device: str) -> Any:
    """A pending scalar whose value is `node`, of shape ()."""
    node.is_scalar = True
    return handle(Handle._scalar, engine.new_storage(node, device))


def view(
    array: Handle, layout: Layout, *, writeable: int | None = None, cast: Cast | None = None
) -> Any:
    """An array that shares memory with `array`; of a scalar, which is a value, a copy. `cast`: how
    the memory is read, as the array does when None."""
    if array._is_scalar:
        value = array._read()
        copied = Map(OPS["astype"], (value.dtype,), value.dtype, (), (), (value,))
        array = new(copied, array._storage.device)
    made = handle(Handle._concrete, array._storage, layout)
    made._writeable = array._writeable if writeable is None else writeable
    made._owner = array if array._owner is None else array._owner
    cast = cast or array._cast
    if cast is not None and cast != (array._storage.node.dtype, 0):
        made._cast = cast
        made._layout = Layout(*layout)  # never the whole's, which says that nothing is recast
    return made


def read_only(array: Handle) -> int:
    """`_writeable` of a read-only view of an array."""
    return SEALED if array._writeable is SEALED else False


def whole(shape: Shape) -> Layout:
    """The layout of a new C-contiguous array."""
    return Layout(shape, c_strides(shape), 0)
