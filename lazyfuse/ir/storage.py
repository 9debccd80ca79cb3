"""Storage: the mutable cell behind arrays. Views of one array share it.

`node` is the current version of the whole memory. A write makes a new version; nodes recorded
before keep the old one. Every version has the same shape, dtype and strides, so the layouts of
views stay valid.

Several threads may touch one array. A thread that records an operation has a version in hand
before the operation counts as its reader; if another thread writes meanwhile, that version must
not be taken apart. So where more than one thread has touched a storage, a version that anybody may
have in hand when another takes its place counts one reader more for ever: its memory is not reused
in place. Who has one in hand refers to it, and that is what is asked.

Whether somebody has a storage is told by weak references to it. The garbage collector clears those
of what it is about to collect before it calls finalizers, which may well compute with such arrays,
or keep them. So storages are no objects of the collector's: references to them are cleared when
they are gone. What is only in a cycle with a storage is not collected, either; a node that has
been computed refers to nothing that could be.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable
from sys import getrefcount
from threading import get_ident
from typing import Any, ClassVar
from weakref import getweakrefcount

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.orphans import orphaned, watched
from lazyfuse.ir.witness import WITNESSES, check, note

#: For those that are made without `Storage`, before anything else is done with them.
untrack = ctypes.pythonapi.PyObject_GC_UnTrack
untrack.argtypes, untrack.restype = [ctypes.py_object], None

#: Not the number of a thread.
LENT = 0

#: Arrays that have got a pending version, by their handles; the last ones, at most so many.
#: Machine code adds to them.
WRITTEN: dict[weakref.ref[Any], None] = {}
MOST_WRITTEN = 16
#: The last arrays that have been made of pending ones, by their handles, in a ring whose length is
#: a power of two. Machine code adds to them, at its own place.
RECENT: list[weakref.ref[Any] | None] = [None] * 64
_made = itertools.count()


def remember(node: Node) -> None:
    """Keep the handle of a new array whose value is a node."""
    RECENT[next(_made) % len(RECENT)] = node.handle


class Storage:
    """See the module. `device` is where its memory lies or will lie. `_thread` has made it, or
    written it last; it is LENT where arrays of NumPy's share its memory (`frontend/lending.py`),
    until somebody asks after the last of them has gone: it is none of any thread's then. `_moves`:
    how often it went from one thread to another; not there before."""

    __slots__ = ("node", "device", "_thread", "_is_shared", "_moves", "__weakref__")
    #: Of such a storage: whether they still do, else it is some thread's from now on; and a
    #: version that stays as it is.
    is_still_lent: ClassVar[Callable[[Storage], bool]]
    snapshot: ClassVar[Callable[[Storage], Node]]

    def __init__(self, node: Node, device: str) -> None:
        self.node = node
        self.device = device
        self._thread = get_ident()
        self._is_shared = False
        try:
            untrack(self)
        except ctypes.ArgumentError as error:  # ctypes' word for each error of a conversion
            if "MemoryError" in str(error):
                raise MemoryError from error
            raise RecursionError("maximum recursion depth exceeded") from error
        node.handle = weakref.ref(self) if node.buffer is None else watched(self, node)
        if WITNESSES:
            note(self)

    def current(self) -> Node:
        """The current version, to record on it."""
        own = get_ident()
        node = self.node
        if self.is_now(node, own):
            return node
        if self.is_lent:
            return Storage.snapshot(self)
        if self._thread != own:  # a loan that is over may have been of this one's
            self._is_shared = True  # before the node is read, see `replace`
        node = self.node
        # asked after the node is read: a loan begins by saying so, and looks who has the node then
        if self._thread == LENT:
            return Storage.snapshot(self)
        return node if self.node is node else self.current()  # since a loan may have ended

    def is_now(self, node: Node, thread: int) -> bool:
        """Whether what a thread has read as the current version is one to record on: no loan has
        begun before, and none has ended since."""
        return self._thread == thread and self.node is node

    def now(self) -> Node:
        """The current version, to compute it or to look at its memory at once."""
        return self.node if self.is_lent else self.current()

    @property
    def is_lent(self) -> bool:
        """Whether arrays of NumPy's share the memory, and may be written."""
        return self._thread == LENT and Storage.is_still_lent(self)

    @property
    def is_shared(self) -> bool:
        """Whether several threads have touched it: one may have the current version in hand."""
        return self._is_shared

    @property
    def is_foreign(self) -> bool:
        """Whether another thread has made it, or written it last."""
        return self._thread != get_ident()

    @property
    def is_contended(self) -> bool:
        """Whether threads write it by turns."""
        return getattr(self, "_moves", 0) > 1

    def take_turn(self) -> bool:
        """This thread writes it, with the lock of a flush: what it records on it from now on is as
        on its own. Whether threads do so by turns."""
        if self.is_foreign:
            self._moves = getattr(self, "_moves", 0) + 1
            self._thread = get_ident()
        return self.is_contended

    @property
    def is_own(self) -> bool:
        """Whether no other thread than this one has touched it."""
        return not self._is_shared and self._thread == get_ident()

    def replace(self, node: Node) -> None:
        """Make `node` the current version. Raises: OutsideError."""
        if WITNESSES:
            check(self)
        old = self.node
        assert (node.shape, node.dtype, node.strides) == (old.shape, old.dtype, old.strides)
        node.form = old.form
        self.node = node
        # asked after the exchange: whoever has the old one has set it before
        if self._is_shared and getrefcount(old) > _DROPPED + _readings(node, old):
            old.users += 1
        if node.buffer is None:
            node.handle = weakref.ref(self)
            if len(WRITTEN) >= MOST_WRITTEN:
                WRITTEN.clear()
            WRITTEN[node.handle] = None
        else:
            node.handle = watched(self, node)
        if old.buffer is not None:
            orphaned(old)

    def has_readers(self) -> bool:
        """Whether an operation may read the current version, or another thread has it in hand.
        Those that have gone before they were computed, as an element does that a loop asks for and
        drops, do not count. Of a storage that several threads have touched the caller has no
        version in hand."""
        return (self._is_shared or self.node.users != 0) and _holders(self) != _ALONE

    def change(self) -> None:
        """A change in place begins: the memory is a new version. Asked with the lock of a flush.
        Whoever has taken the old one since it was asked whether anybody has it, as a thread may
        that runs at the same time, sees this change, but no further one: those go elsewhere.
        Raises: OutsideError."""
        if WITNESSES:
            check(self)
        if self._is_unknown(_holders(self)):
            return
        old = self.node
        self._renew()
        if self._is_shared and getrefcount(old) > _DROPPED:
            self.node.buffer.exclusive = False

    def renew(self) -> None:
        """Make the memory a new version, for a change in place: what is known of the current one
        will hold no more. No operation reads that; where none ever has, nobody else has it, and
        nothing is known of this storage, it stays."""
        if not self._is_unknown(_holders(self)):
            self._renew()

    def _is_unknown(self, holders: int) -> bool:
        """Whether nobody has the version, or ever had, and nothing is known of this storage: the
        one weak reference is its own node's. `holders`: as `_holders` sees them."""
        is_alone = holders == _ALONE and getweakrefcount(self) == 1
        return is_alone and not self._is_shared and not self.node.users

    def _renew(self) -> None:
        WRITTEN.pop(self.node.handle, None)  # type: ignore[arg-type]  # it is computed
        if type(self.node) is not Source:  # it was pending: next time it may stay
            _forget(self)
        node = _again(self.node)
        if self._is_shared:
            self.node.users += 1
        self.node = node
        node.handle = watched(self, node)

    @property
    def layout(self) -> Layout:
        """The layout of the whole."""
        layout = self.node.formed().layout
        assert layout is not None
        return layout


def _forget(storage: Storage) -> None:
    """Take an array that is pending no more from the last ones that are."""
    handle = weakref.ref(storage)
    for place, other in enumerate(RECENT):
        if other is handle:
            RECENT[place] = None


def _holders(storage: Any) -> int:
    """How many references there are to the current version, as this function sees them."""
    return getrefcount(storage.node)


#: Nodes that are looked at under a new version.
_MOST_READINGS = 64


def _readings(node: Node, old: Node) -> int:
    """How often what is pending under a node reads another one, as far as that is looked at."""
    found, walked = 0, {node: None}
    stack = [node]
    while stack and len(walked) < _MOST_READINGS:
        srcs = stack.pop().srcs
        found += sum([src is old for src in srcs])
        new = [src for src in srcs if src is not old and src not in walked]
        walked.update(dict.fromkeys(new))
        stack += new
    return found


class _Probe:
    """Has a version that nobody else has."""

    def __init__(self) -> None:
        self.node = object()


_ALONE = _holders(_Probe())


def _of_a_local() -> int:
    """How many references there are to what one variable of a function holds alone, as that
    function sees them."""
    old = object()
    return getrefcount(old)


_DROPPED = _of_a_local()


def _again(node: Node) -> Source:
    """Another version of a node that has memory, in that memory."""
    assert node.buffer is not None
    made: Source = object.__new__(Source)
    made.shape, made.dtype, made.strides = node.shape, node.dtype, node.strides
    made.buffer, made.held, made.form = node.buffer, node.held, node.form
    made.srcs, made.users, made.depth = (), 0, 0
    made.origin = made.handle = None
    made.seen = made.is_scalar = False
    return made
