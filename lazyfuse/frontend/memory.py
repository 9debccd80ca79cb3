"""The memory of one array, looked at or changed at once by NumPy.

What needs the values of an array at the call (the bounds of an index, the count of a mask) looks
at them without giving them away: `np.asarray` would mark the memory as shared for ever. What
changes a few elements (`x[3] = 5`, `np.add.at`) does so where they lie when nobody else needs the
old values, so it costs as much as there is to change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.interp import elements_at, view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Const, Fill, Node, Source
from lazyfuse.ir.recast import Cast, elements
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.heard import quietly, tell_heard

Answer = TypeVar("Answer")


def look(array: Handle, function: Callable[[np.ndarray], Answer]) -> Answer:
    """`function` of the values, computed if they are pending. It must not keep nor write them."""
    if array._host is not None:
        return function(array._host)
    storage = array._storage
    with session.flush_lock:  # no other thread may reuse the memory meanwhile
        node = storage.now()
        if node.buffer is not None and storage.device == "cpu" and 0 not in array._layout.shape:
            engine.count_asked()
            return function(readable(array, node))
        engine.flush([node], storage.device)
        flat = session.backend(storage.device).to_host(node.buffer)
        return function(view_of(elements(flat, array._reading), array._layout))


def borrow(array: Handle) -> np.ndarray:
    """The values, for as long as the caller holds `session.flush_lock`; as `look` has them."""
    return look(array, lambda values: values)


def is_settled(array: Handle) -> bool:
    """Whether a change in place is possible at once: the memory is computed and on the host,
    nobody outside the engine sees it, and no pending operation reads it; or it is lent. Of what
    several threads have touched `Storage.change` sees to who comes in between."""
    if array._host is not None:
        return True
    storage = array._storage
    buffer = storage.now().buffer
    if storage.is_lent:
        return True
    return (
        buffer is not None
        and buffer.exclusive
        and storage.device == "cpu"
        and not storage.has_readers()
    )


#: The most elements of fills that are written out where a part is wanted; of more only zeros are.
MANY = 1 << 22
#: Values all of whose bits are zero.
_ZEROS = frozenset(("0", "0.0", "0j", "False"))


def is_filled(array: Any) -> bool:
    """Whether an array is, or is a part of, zeros, ones or a range that have not been written."""
    storage = array._storage
    node = storage.node
    return isinstance(node, Fill) and node.buffer is None and storage.device == "cpu"


def is_many_zeros(array: Any) -> bool:
    """Whether an array is zeros that have not been written, and so many that it is worth while to
    have memory made where it is touched."""
    if not is_filled(array):
        return False
    node = array._storage.node
    first, *steps = node.srcs or (None,)
    is_zero = isinstance(first, Const) and repr(first.value) in _ZEROS and not steps
    return is_zero and size_of(node.shape) > MANY


def give_zeros(array: Any) -> None:
    """Give zeros their memory, if they are many. Raises: MemoryError."""
    if not is_many_zeros(array):
        return
    with session.flush_lock:
        if is_many_zeros(array):  # another thread may have written
            node = array._storage.node
            cpu: Any = session.backend("cpu")  # only it has `zeros`
            node.attach(cpu.zeros(node.nbytes))


def mutate(
    array: Handle, function: Callable[[np.ndarray], Answer], layout: Layout | None = None
) -> Answer:
    """`function` of the elements (of those at `layout`) as a writable array, whose changes are
    kept. The lock is held meanwhile: `borrow` what is needed besides.

    The memory itself is given where `is_settled`, else a copy of it: what was read before keeps
    its values. Raises: ValueError when the array is read-only, and what `function` raises.
    """
    array._check_writeable()
    if array._host is not None:
        return function(array._host if layout is None else view_of(array._host, layout))
    storage = array._storage
    give_zeros(array)  # else they are computed
    with session.flush_lock:
        backend, on_host = session.backend(storage.device), storage.device == "cpu"
        compute_now(storage)
        if on_host and is_settled(array):
            storage.change()
        elif on_host:
            old = storage.node  # which nobody changes while it is in hand
            buffer = backend.allocate(old.nbytes)
            backend.copy(old.buffer, buffer)
            _renewed(storage, buffer)  # now, for `function` may lend it
            del old
        buffer = storage.node.buffer
        flat = backend.to_host(buffer)
        try:
            return function(view_of(elements(flat, array._reading), layout or array._layout))
        finally:  # what was written before an error stays written, as in NumPy
            if not on_host:
                _renewed(storage, backend.from_host(flat))
            elif storage.node.buffer is buffer:  # what is known since holds no more
                storage.change()


#: How often an array is computed that code of the user's writes when it hears of conditions.
_TRIES = 8


def compute_now(storage: Storage) -> None:
    """Compute the current version. The caller holds the lock of a flush. Raises: what that does;
    RuntimeError where code of the user's writes the array whenever that is done."""
    for _ in range(_TRIES):
        if storage.now().buffer is not None:
            return
        engine.flush([storage.now()], storage.device)
    if storage.now().buffer is None:
        raise RuntimeError("the array is written whenever it is computed")


def _renewed(storage: Storage, buffer: Any) -> None:
    """Make memory the current version."""
    node = storage.node
    storage.replace(Source(node.shape, node.dtype, node.strides, buffer))


def change(array: Handle, layout: Layout, function: Callable[..., Any], *given: Any) -> bool:
    """Let a function of NumPy's change the elements at a layout, of which there are some, where
    they lie. False, and nothing is done, where the memory is not settled (any more). Raises: what
    it does, and what is made of conditions, which are told when the lock is free."""
    storage = array._storage
    with session.flush_lock:
        if not is_settled(array):  # another thread was faster
            return False
        storage.change()  # first: code that a cast calls may record on it
        quietly(function, in_place(storage.node, array._reading, layout), *given)
    tell_heard()
    return True


def in_place(node: Node, reading: Cast, layout: Layout) -> np.ndarray:
    """Elements of computed memory of the host, where they are; at least one. The array keeps the
    memory."""
    return elements_at(node.buffer, reading.dtype, layout, reading.shift)


def operand(array: Handle, node: Node) -> np.ndarray:
    """The elements of an array, of which `node` is a computed version, as `in_place`, for what
    only reads them."""
    cast = array._cast
    if cast is None:
        return elements_at(node.buffer, node.dtype, array._layout)
    return elements_at(node.buffer, cast.dtype, array._layout, cast.shift)


def readable(array: Handle, node: Node) -> np.ndarray:
    """As `operand`, for what might write them."""
    found = operand(array, node)
    found.flags.writeable = False
    return found
