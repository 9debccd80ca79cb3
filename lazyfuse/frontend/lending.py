"""Memory of the engine that NumPy's arrays share, and write.

NumPy's own array is the memory that `numpy.asarray(x)` gives. Code writes there, or wants memory
that it may write without ever doing so (views of Cython, torch). So the memory is lent: for as
long as one of NumPy's arrays has it, what is recorded reads a copy of what is there at that
moment, what is written is computed at once and written there, and what is computed at once reads
it as it is. When the last of them has gone the array is lazy as before.

What pending operations read, or somebody has who was told that it stays as it is, is not lent: the
array gets a copy of it first. What is borrowed is not lent at all.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from lazyfuse.frontend import novel
from lazyfuse.frontend.convert import BORROWED
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.memory import compute_now
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.orphans import orphaned
from lazyfuse.ir.storage import LENT, Storage
from lazyfuse.runtime import session, under_way


class _Loan:
    """Is there as long as one of NumPy's arrays has the memory, which it keeps."""

    __slots__ = ("buffer", "__weakref__")
    buffer: Any


class _Watch(ref[_Loan]):
    """Of a loan: whose memory it is, and which thread had touched that before. No function is
    called when it is over: an interrupt would end it, and be forgotten."""

    __slots__ = ("storage", "thread")
    storage: ref[Storage]
    thread: int


class _Elements:
    """Those of lent memory at a layout, for NumPy to make an array of."""

    __slots__ = ("__array_interface__", "_loan")

    def __init__(self, loan: _Loan, array: Handle) -> None:
        self._loan = loan
        reading, layout = array._reading, array._layout
        size = int(reading.dtype[1:])
        self.__array_interface__ = {
            "data": (
                loan.buffer.pointer + reading.shift + layout.offset * size,
                array._writeable is not True,
            ),
            "shape": layout.shape,
            "typestr": "<" + reading.dtype,
            "strides": tuple([stride * size for stride in layout.strides]),
            "version": 3,
        }


#: The loan of each storage, by its identity; those that are over are forgotten when somebody asks,
#: or when there are many. Changed with the lock of a flush.
_loans: dict[int, _Watch] = {}
#: So many are looked through, at least, and the next time twice as many as were left.
_MANY = 64
_many = [_MANY]


def lend(array: Handle) -> np.ndarray | None:
    """NumPy's array of the elements, to be written, too; to be read where nobody may write them
    but in memory that is lent; None where it is not, where they are none of this machine's memory,
    and where there is no memory for a copy. Computes them. Raises: what that does."""
    storage = array._storage
    if array._is_scalar or storage.device != "cpu" or 0 in array._layout.shape:
        return None
    if array._writeable is not True and not storage.is_lent:
        return None
    if under_way.recordings:
        return None
    novel.asked()
    with session.flush_lock:
        compute_now(storage)
        loan = _loans[id(storage)]() if storage.is_lent else None
        if loan is None and array._writeable is True:
            loan = _begun(array)
        if loan is None:
            return None
        # a view, of whose base NumPy knows that it may be written (`flags.writeable = True`)
        return np.asarray(_Elements(loan, array)).view()


def _begun(array: Handle) -> _Loan | None:
    """A loan, begun. It is said first, so that whoever asks for the version from now on gets a
    copy (`Storage.current`); then nobody else may have it, or the array gets one."""
    storage = array._storage
    if storage.is_lent or storage.node.buffer in BORROWED:
        return None
    if len(_loans) >= _many[0]:
        _forget()
    loan = _Loan()
    watch = _Watch(loan)
    watch.storage, watch.thread = ref(storage), storage._thread
    _loans[id(storage)] = watch
    storage._thread = LENT
    if storage.node.buffer.exclusive and not storage.has_readers():
        storage.renew()
    else:
        try:
            storage.replace(_copied(storage.node))
        except MemoryError:
            return None
    loan.buffer = storage.node.buffer
    return loan


def _forget() -> None:
    """Forget the loans that are over, and those of arrays that have gone."""
    for key, watch in list(_loans.items()):
        storage = watch.storage()
        if storage is None or not storage.is_lent:
            _loans.pop(key, None)
    _many[0] = max(_MANY, 2 * len(_loans))


def _is_still_lent(storage: Storage) -> bool:
    """Whether one of NumPy's arrays still has memory that has been lent; else the loan ends."""
    watch = _loans.get(id(storage))
    if watch is not None and watch() is not None:
        return True
    with session.flush_lock:
        watch = _loans.get(id(storage))
        if watch is not None and watch() is None and storage._thread == LENT:
            storage.renew()
            storage._thread = watch.thread
            del _loans[id(storage)]
        return storage._thread == LENT


def _snapshot(storage: Storage) -> Node:
    """A version that stays as it is. Raises: MemoryError."""
    with session.flush_lock:
        node = storage.node
        if not storage.is_lent:  # any more, see `Handle._lent`
            return storage.current()
        made = _copied(node)
    orphaned(made)
    return made


def _copied(node: Node) -> Node:
    """A version in memory of its own. Raises: MemoryError."""
    backend = session.backend("cpu")
    buffer = backend.allocate(node.nbytes)
    backend.copy(node.buffer, buffer)
    return Source(node.shape, node.dtype, node.strides, buffer)


Storage.is_still_lent = staticmethod(_is_still_lent)
Storage.snapshot = staticmethod(_snapshot)
