"""Counters of what the engine did.
The engine adds, `stats()` takes a snapshot; nothing else depends on them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from lazyfuse.forks import guarded
from lazyfuse.locks import RLock


@dataclass
class Stats:
    """Totals since the last `reset_stats()`. `unfused` are library calls, `device_calls` those of
    them, and of the fallbacks, that a library of a GPU answered; `graph_launches` are runs of
    several kernels by one CUDA graph."""

    kernels_launched: int = 0
    kernels_compiled: int = 0
    kernels_loaded: int = 0
    cache_hits: int = 0
    plans_built: int = 0
    plans_loaded: int = 0
    plans_alike: int = 0
    plan_hits: int = 0
    fallbacks: int = 0
    unfused: int = 0
    device_calls: int = 0
    graph_launches: int = 0
    cold_runs: int = 0
    copies: int = 0
    donations: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    compile_seconds: float = 0.0

    def __getitem__(self, name: str) -> int | float:
        """`stats()["kernels_launched"]` works as the attribute does."""
        value = getattr(self, name)
        assert isinstance(value, int | float)
        return value

    def keys(self) -> list[str]:
        return [item.name for item in fields(self)]


_TOTAL = Stats()
_FALLBACKS: Counter[str] = Counter()
_ELSEWHERE: list[Callable[[], dict[str, int]]] = []
#: The thread that has it may come again: in the middle of a sum, a finalizer or a handler of a
#: signal may compute. So it is with the other locks that are held while Python runs.
_LOCK = guarded(RLock())


def add(**amounts: int | float) -> None:
    """Add to counters, from any thread."""
    with _LOCK:
        for name, amount in amounts.items():
            setattr(_TOTAL, name, getattr(_TOTAL, name) + amount)


def alike_plans() -> int:
    """How many plans followed from others."""
    return _TOTAL.plans_alike


def unknown_runs() -> int:
    """How many runs there were whose plan was not known by their structure."""
    return new_plans() + _TOTAL.cold_runs


def new_plans() -> int:
    """How many plans were made, read from disk, or followed from others."""
    return _TOTAL.plans_built + _TOTAL.plans_loaded + _TOTAL.plans_alike


def new_kernels() -> int:
    """How many kernels were made, or read from disk."""
    return _TOTAL.kernels_compiled + _TOTAL.kernels_loaded


def add_plan_hit() -> None:
    """Count a run whose plan was known."""
    with _LOCK:
        _TOTAL.plan_hits += 1


def count_elsewhere(counted: Callable[[], dict[str, int]]) -> None:
    """Ask `counted` for what somebody has counted by himself since he was asked last, whenever the
    totals are looked at."""
    _ELSEWHERE.append(counted)


def collect() -> None:
    """Add what others have counted by themselves so far."""
    for counted in _ELSEWHERE:
        add(**counted())


@contextmanager
def compiled() -> Iterator[None]:
    """Count a kernel that is compiled meanwhile."""
    started = time.perf_counter()
    yield
    add(kernels_compiled=1, compile_seconds=time.perf_counter() - started)


def add_launch(read: int, written: int) -> None:
    """Count a launch, and the bytes that its kernel reads and writes."""
    with _LOCK:
        _TOTAL.kernels_launched += 1
        _TOTAL.bytes_read += read
        _TOTAL.bytes_written += written


def add_launches(launches: int, hits: int, read: int, written: int) -> None:
    """Count the launches of a run, those of kernels that were compiled before, and the bytes that
    they read and write together."""
    with _LOCK:
        _TOTAL.kernels_launched += launches
        _TOTAL.cache_hits += hits
        _TOTAL.bytes_read += read
        _TOTAL.bytes_written += written


def add_cache_hit() -> None:
    """Count a kernel that was compiled before."""
    with _LOCK:
        _TOTAL.cache_hits += 1


def add_fallback(name: str) -> None:
    """Count a call that left the engine for NumPy."""
    with _LOCK:
        _TOTAL.fallbacks += 1
        _FALLBACKS[name] += 1


def fallbacks() -> dict[str, int]:
    """The calls that left the engine since the last `reset_stats()`, by name, most frequent
    first."""
    with _LOCK:
        return dict(_FALLBACKS.most_common())


def stats() -> Stats:
    """A snapshot of the counters."""
    collect()
    with _LOCK:
        return replace(_TOTAL)


def reset_stats() -> None:
    """Set all counters to zero."""
    collect()
    with _LOCK:
        for item in fields(Stats):
            setattr(_TOTAL, item.name, item.default)
        _FALLBACKS.clear()
