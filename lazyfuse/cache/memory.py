"""A least-recently-used mapping with a lock and counters:
kernels and plans are kept in one each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from cachetools import LRUCache

from lazyfuse.forks import guarded
from lazyfuse.locks import RLock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CacheInfo(NamedTuple):
    """As `functools.lru_cache`'s: hits and misses since the last clear,
    entries now and at most."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Cache(Generic[K, V]):
    """`get` counts a hit or a miss; `put` evicts the least recently used entry when full.

    `epoch` changes whenever an entry may have gone: what was there in the same epoch still is.
    `on_loss` is called then. What was put here before anybody asked for it is a miss for who asks
    first.
    """

    def __init__(self, maxsize: int, on_loss: Callable[[], None] = lambda: None) -> None:
        self._entries: LRUCache[K, V] = LRUCache(maxsize)
        self._lock = guarded(RLock())  # a handler of a signal may compute meanwhile
        self._hits = 0
        self._misses = 0
        self._unasked: set[K] = set()
        self.epoch = 0
        self._on_loss = on_loss

    def get(self, key: K) -> V | None:
        with self._lock:
            value = self._entries.get(key)
            if value is None or key in self._unasked:
                self._misses += 1
                self._unasked.discard(key)
            else:
                self._hits += 1
            return value

    def was_asked(self, key: K) -> bool:
        """Whether an entry that is there has been asked for, or was made for who asked."""
        with self._lock:
            return key not in self._unasked

    def __contains__(self, key: K) -> bool:
        """Whether there is an entry; nothing is counted."""
        with self._lock:
            return key in self._entries

    def put(self, key: K, value: V, maxsize: int, *, asked: bool = True) -> None:
        """Keep `value`; `maxsize` is the bound in force now (it may have changed since). `asked`:
        whether somebody has asked for it."""
        with self._lock:
            if maxsize != self._entries.maxsize:
                self._resize(maxsize)
            if len(self._entries) >= maxsize:
                self._lose()
            if maxsize > 0:
                self._entries[key] = value
            self._unasked.discard(key)
            if not asked:
                self._unasked.add(key)
                self._unasked.intersection_update(self._entries)

    def count_hits(self, hits: int = 1) -> None:
        """Count hits of entries that are known to be there. They are not made the most recent
        ones: that happens when they are asked for next, in another epoch."""
        with self._lock:
            self._hits += hits

    def _resize(self, maxsize: int) -> None:
        kept = list(self._entries.items())[-maxsize:] if maxsize > 0 else []
        self._entries = LRUCache(maxsize)
        self._lose()
        for key, value in kept:
            self._entries[key] = value

    def _lose(self) -> None:
        self.epoch += 1
        self._on_loss()

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._unasked.clear()
            self._lose()
            self._hits = self._misses = 0

    def info(self) -> CacheInfo:
        with self._lock:
            return CacheInfo(
                self._hits, self._misses, int(self._entries.maxsize), len(self._entries)
            )
