"""Memory from outside that is read where it lies: that of bytes, and of files mapped for reading.

A program may write a file that it has mapped: `np.save("x.npy", x * 2)`, where `x` is a map of
that file. NumPy has computed by then what the program computed of the map; here it may be pending,
and would read the new values, or end the process, since the pages of a file that has been cut
short are there no more. So before the program opens such a file to write it, or cuts it short,
what is pending on the map is computed. Python tells who asks of every file that it opens (its
audit events), from the first map on. Of files that are open already, or named from another folder
than the current one (`dir_fd`), that C opens, or another process, nobody tells; and arrays that
`gc.freeze` has hidden are not found. A map stays open for as long as there is an array over it:
`close` raises BufferError.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from mmap import mmap
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.node import Node
from lazyfuse.runtime import engine, session

#: The map under memory of the engine, which cannot be closed meanwhile. Changed with the lock of
#: a flush.
_maps: WeakKeyDictionary[Any, memoryview] = WeakKeyDictionary()
#: Whether Python tells of files.
_told = [False]
#: What is said of a file that is opened to be written.
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


def memory_of(array: np.ndarray) -> Any:
    """What the memory under an array is of: NumPy's own array, or any other object."""
    current: Any = array
    while True:
        if isinstance(current, memoryview):
            current = current.obj
        elif isinstance(current, np.ndarray) and current.base is not None:
            current = current.base
        else:
            return current


def is_mapped(array: np.ndarray) -> bool:
    """Whether the memory under an array is that of a file."""
    return isinstance(memory_of(array), mmap)


def is_frozen(array: np.ndarray) -> bool:
    """Whether nobody can ever write: the memory under the array is that of bytes, or of a file
    mapped for reading. A read-only flag alone can be taken back, and older views may be writable;
    Arrow's, pandas' and polars' arrays may lie over memory that is written elsewhere."""
    memory = memory_of(array)
    if isinstance(memory, mmap):
        return memoryview(memory).readonly
    return isinstance(memory, bytes)


def watch(buffer: Any, array: np.ndarray) -> None:
    """The engine's memory is that of an array: if it is a map, what is pending on it is computed
    before the program writes the file."""
    memory = memory_of(array)
    if isinstance(memory, mmap):
        with session.flush_lock:
            _maps[buffer] = memoryview(memory)
        if not _told[0]:
            _told[0] = True
            sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    """Python, or who else audits, says what is about to happen. Raises: what computing does."""
    if not _maps:
        return
    if event == "open" and len(args) == 3:
        path, _, flags = args
        if isinstance(flags, int) and flags & _WRITES:
            _compute(path)
    elif event == "os.truncate" and args:
        _compute(args[0])


def _compute(path: Any) -> None:
    """Compute what is pending on maps of a file: of files as long as this one, for a map does not
    tell which one it is of. A file that is not there is none that has been mapped."""
    try:
        length = os.stat(path).st_size
    except (OSError, TypeError, ValueError):
        return
    with session.flush_lock:  # no other thread computes, or maps, meanwhile
        memory = {id(buffer) for buffer, each in list(_maps.items()) if _length(each) == length}
        pending = list(_pending(memory)) if memory else []
        for device in {device for _, device in pending}:
            engine.flush([node for node, its in pending if its == device], device)


def _length(map_: memoryview) -> int:
    """How long the file of a map is; where that is not known, the map."""
    with suppress(OSError):  # of one without a descriptor
        return int(map_.obj.size())  # type: ignore[attr-defined]  # a map
    return map_.nbytes


def _pending(memory: set[int]) -> Iterator[tuple[Node, str]]:
    """Pending arrays that read such memory, and where they live. They refer to their class; a list
    of all objects would have some of which other threads may rely on being the only ones to have
    them."""
    known: dict[Node, bool] = {}
    kinds = (Handle._concrete, Handle._scalar)
    for each in gc.get_referrers(*kinds):
        storage = getattr(each, "_storage", None) if type(each) in kinds else None
        if storage is not None:
            node = storage.node
            if node.buffer is None and _reads(node, memory, known):
                yield node, storage.device


def _reads(node: Node, memory: set[int], known: dict[Node, bool]) -> bool:
    """Whether a pending node reads such memory. `known`: of which nodes that has been found."""
    stack = [node]
    while stack:
        current = stack[-1]
        buffer = current.buffer
        unknown = [src for src in current.srcs if src not in known] if buffer is None else []
        if unknown:
            stack += unknown
            continue
        stack.pop()
        read = id(buffer) in memory
        known[current] = read or any([known[src] for src in current.srcs])
    return known[node]
