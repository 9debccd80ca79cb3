"""Memory from outside that is read where it lies: that of bytes, and of files mapped for reading.

A program may write a file that it has mapped: `np.save("x.npy", x * 2)`, where `x` is a map of
that file. NumPy has computed by then what the program computed of the map; here it may be pending,
and would read the new values, or end the process, since the pages of a file that has been cut
short are there no more. So before the program opens such a file to write it, or cuts it short,
what is pending on the map is computed. Python tells who asks of every file that it opens (its
audit events), from the first map on. Of files that are open already, that C opens, or another
process, nobody tells.
"""

from __future__ import annotations

import gc
import os
import sys
from mmap import mmap
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.node import Node
from lazyfuse.runtime import engine

#: The map under memory of the engine.
_maps: WeakKeyDictionary[Any, mmap] = WeakKeyDictionary()
#: Whether Python tells of files.
_told = [False]
#: What a mode says of a file that is opened to be written, and flags.
_MODES = frozenset("wax+")
_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_TRUNC


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
        _maps[buffer] = memory
        if not _told[0]:
            _told[0] = True
            sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    """Python says what is about to happen. Raises: what computing does."""
    if not _maps:
        return
    if event == "open":
        path, mode, flags = args
        if flags & _FLAGS or (mode and not _MODES.isdisjoint(mode)):
            _compute(path)
    elif event == "os.truncate":
        _compute(args[0])


def _compute(path: Any) -> None:
    """Compute what is pending on maps of a file: of files as long as this one, for a map does not
    tell which one it is of. A file that is not there is none that has been mapped."""
    try:
        size = os.stat(path).st_size
    except (OSError, TypeError, ValueError):
        return
    memory = {id(buffer) for buffer, each in list(_maps.items()) if each.size() == size}
    pending = _pending(memory) if memory else []
    for device in {device for _, device in pending}:
        engine.flush([node for node, its in pending if its == device], device)


def _pending(memory: set[int]) -> list[tuple[Node, str]]:
    """Pending arrays that read such memory, and where they live."""
    known: dict[Node, bool] = {}
    found = []
    for each in gc.get_objects():
        if type(each) in (Handle._concrete, Handle._scalar):
            storage = getattr(each, "_storage", None)
            if storage is not None and _reads(storage.node, memory, known):
                found.append((storage.node, storage.device))
    return found


def _reads(node: Node, memory: set[int], known: dict[Node, bool]) -> bool:
    """Whether a pending node reads such memory. `known`: of which nodes that has been found."""
    stack = [node]
    while stack:
        current = stack[-1]
        if current.buffer is not None:
            known[current] = id(current.buffer) in memory
        unknown = [] if current.buffer is not None else [s for s in current.srcs if s not in known]
        if unknown:
            stack += unknown
            continue
        if current.buffer is None:
            known[current] = any([known[src] for src in current.srcs])
        stack.pop()
    return known[node] and node.buffer is None
