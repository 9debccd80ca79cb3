"""Memory that only pending operations keep alive: no array holds it any more.

While there is little of it, nobody has to ask how much of it the operations under a node hold; and
asking costs more than recording. A node becomes an orphan when operations have been recorded on
it, it has memory, and its Storage goes or gets another version. Who keeps a node that has no
Storage, to record on it, says so (`orphaned`).

Whoever reads the memory of an array for a while has to know when that gets another version, too
(`follow`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

#: The bytes of all orphans, as the only element; threads may make it a little wrong for a while.
BYTES = [0]
#: The fewest that there have been since somebody set this.
FEWEST = [0]


class _Orphan(weakref.ref[Any]):
    """A reference to an orphan of so many bytes."""

    __slots__ = ("nbytes",)
    nbytes: int


_orphans: set[_Orphan] = set()
#: The identity of memory that may be no array's any more, by whom to tell then.
_followers: dict[Callable[[], None], int] = {}


def follow(buffer: Any, tell: Callable[[], None]) -> None:
    """Have `tell` called when memory may be no array's any more, perhaps several times. The caller
    keeps the memory until `unfollow`."""
    _followers[tell] = id(buffer)


#: Have it called no more: of `tell`, and None. A C function, which no interrupt cuts short.
unfollow = _followers.pop


def orphaned(node: Any) -> None:
    """Say that no array holds a node that has memory."""
    if _followers:
        for tell, memory in _followers.copy().items():  # others may come and go meanwhile
            if memory == id(node.buffer):
                tell()
    found = _Orphan(node, _forget)
    if found not in _orphans:
        found.nbytes = node.buffer.nbytes
        _orphans.add(found)
        BYTES[0] += found.nbytes


def _forget(
    orphan: Any,
    orphans: set[_Orphan] = _orphans,
    total: list[int] = BYTES,
    fewest: list[int] = FEWEST,
) -> None:
    orphans.discard(orphan)
    total[0] = left = total[0] - orphan.nbytes if orphans else 0
    if left < fewest[0]:
        fewest[0] = left


class Watch(weakref.ref[Any]):
    """A reference to the Storage of a node that has memory; when the Storage goes, the node is an
    orphan."""

    __slots__ = ("node",)
    node: weakref.ref[Any]


def watched(storage: Any, node: Any) -> Watch:
    """The handle of a node with memory that is the current version of a Storage."""
    made = Watch(storage, gone)
    made.node = weakref.ref(node)
    return made


def watch(node: Any) -> None:
    """Say that a node has got memory."""
    storage = node.handle() if node.handle is not None else None
    if storage is not None and storage.node is node:
        node.handle = watched(storage, node)
    elif node.users:
        orphaned(node)


def gone(watch: Any, orphaned: Any = orphaned) -> None:
    """The Storage of a node that has memory has gone."""
    node = watch.node()
    if node is not None and node.users:
        orphaned(node)
