"""Host memory for kernels: aligned blocks, recycled through a bounded pool.

Fresh pages cost as much as computing on them (1M doubles: 0.5 ms of page faults), so a block whose
buffer died is kept for the next request of its size class. Classes are spaced by a quarter of a
power of two: at most 25 % is wasted.

Blocks of some pages start at a page. A processor takes a load for one of a store just before when
the addresses have the same last 12 bits, and waits: a result that lies 64 bytes further into its
page than an operand costs 1.6 times (three operands of 8,000 doubles). Blocks of megabytes consist
of huge pages, which the operating system hands out in a quarter of the time.

Invariants
- A block returns to the pool only when no Python object can reach it: a NumPy view of a buffer has
  the buffer as its base, and a buffer that dies in a cycle of garbage, where other destructors may
  bring it back to life, lets its block go.
- The destructor never blocks: it may run in the middle of any other pool operation of the same
  thread.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from sys import getrefcount
from typing import NamedTuple

import numpy as np

from lazyfuse.forks import guarded
from lazyfuse.locks import Lock

ALIGNMENT = 64
PAGE = 4096
#: Bytes of a huge page: one page fault instead of 512, in a quarter of the time.
HUGE_PAGE = 2 << 20
#: Bytes the pool may keep; more goes back to the operating system.
POOL_BYTES = 256 << 20
#: A kept block counts as at least so many bytes: as an object of Python it takes memory, too.
LEAST_COUNTED = 4096
#: Blocks of at most so many bytes wait to be filed, so many of them: most are taken again at once.
_SMALL, _WAITING = 1 << 20, 16


class Block(NamedTuple):
    """Memory of `capacity` bytes from the aligned address `pointer` on; `owner` keeps it alive."""

    owner: np.ndarray
    pointer: int
    capacity: int


class BufferPool:
    """Free blocks by size class, at most `limit` bytes of them. The classes are in the order in
    which they came back last."""

    def __init__(self, limit: int = POOL_BYTES) -> None:
        self.limit = limit
        self._held = 0
        self._free: OrderedDict[int, list[Block]] = OrderedDict()
        self._returned: deque[Block] = deque()
        self._lock = guarded(Lock())

    @property
    def held(self) -> int:
        """Bytes of free blocks."""
        with self._lock:
            self._sort_returned()
            return self._held

    def take(self, nbytes: int) -> Block:
        """A block of at least `nbytes` bytes. Raises: MemoryError."""
        capacity, returned = size_class(nbytes), self._returned
        if returned:
            try:
                block = returned.pop()  # which the processor still has in its cache
            except IndexError:  # another thread has taken it
                return self.take(nbytes)
            if block.capacity == capacity:
                return block
            returned.append(block)
        found = self._found(capacity)
        return _new_block(capacity) if found is None else found

    def _found(self, capacity: int) -> Block | None:
        """A free block. None, too, while somebody else is here: that may be this thread, in the
        middle of which a handler of a signal computes. It is asked first, for an interrupt comes
        between `acquire` and what follows, and never within `with`."""
        if self._lock.locked():
            return None
        with self._lock:
            if self._returned:
                self._sort_returned()
            blocks = self._free.get(capacity)
            if not blocks:
                return None
            self._held -= _counted(capacity)
            return blocks.pop()

    def give(self, block: Block, references: int = 0) -> None:
        """Take back a block; safe in a destructor. `references` are those to the buffer that had
        it, as its destructor sees them: of what a collection of garbage destroys, other
        destructors may still take hold of, and then it is not taken."""
        if references > _DYING[0] or block.capacity > self.limit:
            return
        self._returned.append(block)
        if block.capacity <= _SMALL and len(self._returned) < _WAITING:
            return
        if not self._lock.locked():  # see `_found`
            with self._lock:
                self._sort_returned()

    def clear(self) -> None:
        """Give all free memory back to the operating system."""
        with self._lock:
            self._returned.clear()
            self._free.clear()
            self._held = 0

    def _sort_returned(self) -> None:
        """File what destructors left; what exceeds the limit then is freed."""
        while True:
            try:
                block = self._returned.popleft()
            except IndexError:  # the last one; another thread may have taken it
                return
            blocks = self._free.setdefault(block.capacity, [])
            self._free.move_to_end(block.capacity)
            counted = _counted(block.capacity)
            self._make_room(counted, block.capacity)
            if self._held + counted <= self.limit:
                self._held += counted
                blocks.append(block)

    def _make_room(self, nbytes: int, own: int) -> None:
        """Free blocks of the sizes that have not come for the longest time, but for an own one: a
        program that goes on to others would find no room for them."""
        while self._held + nbytes > self.limit:
            capacity = next(iter(self._free))
            if capacity == own:
                return
            blocks = self._free[capacity]
            if blocks:
                self._held -= _counted(capacity)
                blocks.pop()
            if not blocks:
                del self._free[capacity]


def _counted(capacity: int) -> int:
    """What a free block counts as."""
    return max(capacity, LEAST_COUNTED)


class CpuBuffer:
    """Flat host memory; see `backends.base.Buffer`. `np.asarray(buffer)` views its bytes."""

    __slots__ = ("pointer", "nbytes", "device", "exclusive", "_block", "_pool", "__weakref__")

    def __init__(self, block: Block, nbytes: int, pool: BufferPool | None) -> None:
        self.pointer = block.pointer
        self.nbytes = nbytes
        self.device = "cpu"
        self.exclusive = pool is not None
        self._block = block
        self._pool = pool

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {
            "data": (self.pointer, not self._block.owner.flags.writeable),
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "version": 3,
        }

    @property
    def array(self) -> np.ndarray:
        """The bytes as uint8, sharing memory; the view's base is this buffer."""
        return np.asarray(self)

    def __del__(self) -> None:
        try:
            pool = self._pool  # the last to be there
        except AttributeError:  # an interrupt came as it was made: its block goes with it
            return
        if pool is not None and _DYING is not None:  # as at Python's end, when modules are cleared
            pool.give(self._block, getrefcount(self))


class _Gauge(BufferPool):
    """Measures how many references a destructor sees of a buffer that nobody refers to. By that
    destructor: how many it has itself is the compiler's choice."""

    def give(self, block: Block, references: int = 0) -> None:
        _DYING[0] = references


_DYING = [0]
CpuBuffer(Block(np.empty(0, np.uint8), 0, 0), 0, _Gauge())


def allocate(pool: BufferPool, nbytes: int) -> CpuBuffer:
    """Uninitialized memory. Raises: MemoryError."""
    return CpuBuffer(pool.take(nbytes), nbytes, pool)


def zeros(pool: BufferPool, nbytes: int) -> CpuBuffer:
    """Zeros, of which the operating system makes a page when it is touched.
    Raises: MemoryError."""
    return CpuBuffer(_new_block(size_class(nbytes), np.zeros), nbytes, pool)


def share(array: np.ndarray) -> CpuBuffer:
    """Share the memory of a C-contiguous array, which stays alive as long as the buffer."""
    nbytes = array.nbytes
    return CpuBuffer(Block(array, _address(array), nbytes), nbytes, None)


def _address(array: np.ndarray) -> int:
    """Where the memory of a C-contiguous array begins, by the way that costs half a microsecond
    where that can be gone."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # arrays are buffers
    except (TypeError, ValueError, BufferError):  # read-only, empty
        start: int = array.__array_interface__["data"][0]
        return start


def copy_in(pool: BufferPool, array: np.ndarray) -> CpuBuffer:
    """Copy the bytes of a C-contiguous array."""
    buffer = allocate(pool, array.nbytes)
    ctypes.memmove(buffer.pointer, array.ctypes.data, array.nbytes)
    return buffer


@lru_cache(maxsize=1024)
def size_class(nbytes: int) -> int:
    """`nbytes` rounded up to a quarter of a power of two, at least 64."""
    if nbytes <= ALIGNMENT:
        return ALIGNMENT
    step = max(ALIGNMENT, 1 << ((nbytes - 1).bit_length() - 3))
    return -(-nbytes // step) * step


def _new_block(capacity: int, make: Callable[..., np.ndarray] = np.empty) -> Block:
    """A block of new memory: zeros where there are many, or `make` is `np.zeros`."""
    if capacity >= HUGE_PAGE:
        owner, alignment = _huge_pages(capacity + HUGE_PAGE, capacity, make), HUGE_PAGE
    else:
        alignment = PAGE if capacity >= 16 * PAGE else ALIGNMENT
        owner = make(capacity + alignment, np.uint8)
    start: int = owner.__array_interface__["data"][0]
    return Block(owner, -(-start // alignment) * alignment, capacity)


def _huge_pages(nbytes: int, capacity: int, make: Callable[..., np.ndarray]) -> np.ndarray:
    """Memory of which the whole huge pages in the first `capacity` aligned bytes are asked for."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return make(nbytes, np.uint8)
    try:
        pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:  # what there is no memory for, NumPy says in its words
        return make(nbytes, np.uint8)
    owner = np.frombuffer(pages, np.uint8)
    first = -owner.__array_interface__["data"][0] % HUGE_PAGE
    with suppress(OSError):  # a kernel without them
        pages.madvise(mmap.MADV_HUGEPAGE, first, capacity - capacity % HUGE_PAGE)
    return owner
