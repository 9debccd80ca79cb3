"""Memory of the engine that NumPy's arrays share, and write.

NumPy's own array is the memory that `numpy.asarray(x)` gives. Code writes there, or wants memory
that it may write without ever doing so (views of Cython, torch). So the memory is lent: for as
long as one of NumPy's arrays has it, what is recorded reads a copy of what is there at that
moment, what is written is computed at once and written there, and what is computed at once reads
it as it is. When the last of them has gone the array is lazy as before.

What pending operations read, or somebody has who was told that it stays as it is, is not lent: the
array gets a copy of it first. What several threads have touched, and what is borrowed, is not lent
at all.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from lazyfuse.frontend.convert import BORROWED
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.memory import is_settled
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.orphans import orphaned
from lazyfuse.ir.storage import LENT, Storage
from lazyfuse.runtime import engine, session, under_way


class _Loan:
    """Is there as long as one of NumPy's arrays has the memory, which it keeps."""

    __slots__ = ("buffer", "__weakref__")

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer


class _Watch(ref[_Loan]):
    """Knows of whose memory a loan is, until it is over, and which thread had touched that
    before."""

    __slots__ = ("storage", "thread")
    storage: Storage | None
    thread: int


class _Elements:
    """Those of lent memory at a layout, for NumPy to make an array of."""

    __slots__ = ("__array_interface__", "_loan")

    def __init__(self, loan: _Loan, dtype: str, layout: Layout) -> None:
        self._loan = loan
        size = int(dtype[1:])
        self.__array_interface__ = {
            "data": (loan.buffer.pointer + layout.offset * size, False),
            "shape": layout.shape,
            "typestr": "<" + dtype,
            "strides": tuple([stride * size for stride in layout.strides]),
            "version": 3,
        }


#: The loan of each storage, by its identity; those that are over are forgotten now and then.
#: Written by `lend` alone, with the lock of a flush.
_loans: dict[int, _Watch] = {}
_MOST_OVER = 64


def lend(array: Handle) -> np.ndarray | None:
    """NumPy's array of the elements, to be written, too; None where nobody may write them, where
    they are none of this machine's memory, or read as another dtype than they have, and where
    there is no memory for a copy. Computes them. Raises: what that does."""
    storage = array._storage
    is_plain = array._writeable is True and array._cast is None and not array._is_scalar
    if not is_plain or storage.device != "cpu" or 0 in array._layout.shape:
        return None
    if under_way.recordings:
        return None
    with session.flush_lock:
        engine.flush([storage.now()], "cpu")
        watch = _loans.get(id(storage))
        loan = None if watch is None or watch.storage is not storage else watch()
        if loan is None:
            loan = _begun(array)
        if loan is None:
            return None
        return np.asarray(_Elements(loan, storage.node.dtype, array._layout))


def _begun(array: Handle) -> _Loan | None:
    """A loan of memory that nobody else has, begun."""
    storage = array._storage
    if storage.is_shared or storage.node.buffer in BORROWED:
        return None
    if is_settled(array):
        storage.renew()
    else:
        try:
            storage.replace(_copied(storage))
        except MemoryError:
            return None
    if len(_loans) >= _MOST_OVER:
        for key in [key for key, watch in _loans.items() if watch.storage is None]:
            del _loans[key]
    loan = _Loan(storage.node.buffer)
    watch = _Watch(loan, _ended)
    watch.storage, watch.thread = storage, storage._thread
    before = _loans.get(id(storage))
    if before is not None and watch.thread == LENT:  # it is being ended
        watch.thread = before.thread
    _loans[id(storage)] = watch
    storage._thread = LENT  # last: see `_ended`
    return loan


def _ended(watch: Any) -> None:
    """Nobody has the memory any more. Called at whatever moment, in whatever thread, perhaps while
    another one lends it again: then it is lent after that."""
    storage = watch.storage
    if _is_last(watch):
        storage.renew()
        storage._thread = watch.thread
        if not _is_last(watch):
            storage._thread = LENT
    watch.storage = None


def _is_last(watch: Any) -> bool:
    """Whether memory has not been lent once more."""
    return _loans.get(id(watch.storage)) is watch


def _snapshot(storage: Storage) -> Node:
    """A version that stays as it is. Raises: MemoryError."""
    with session.flush_lock:
        made = _copied(storage)
    orphaned(made)
    return made


def _copied(storage: Storage) -> Node:
    """The current version in memory of its own. Raises: MemoryError."""
    node, backend = storage.node, session.backend("cpu")
    buffer = backend.allocate(node.nbytes)
    backend.copy(node.buffer, buffer)
    return Source(node.shape, node.dtype, node.strides, buffer)


def _overwrite(storage: Storage, node: Node) -> None:
    """Compute a version, and have it in the memory that is lent. Raises: what that does."""
    try:
        engine.flush([node], "cpu")
    finally:  # also where conditions that it met are errors
        if node.buffer is not None:
            session.backend("cpu").copy(node.buffer, storage.node.buffer)
            storage.renew()


Storage.snapshot, Storage.overwrite = staticmethod(_snapshot), staticmethod(_overwrite)
