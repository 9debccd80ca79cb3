"""The ways in which lazyfuse runs a program; each must give what NumPy gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests import oracle

#: Programs whose kernels are compiled as users' are; others are in a third of the time.
OPTIMIZED = 1 / 8
#: Programs whose operations on small arrays are put off.
DEFERRED = 1 / 2


@dataclass(frozen=True, slots=True)
class Mode:
    """Options, and when results are asked for.

    `chance`: after a statement, an array is computed this often. `together`: all that is left is
    asked for at once, not one by one in some order. `split`: kernels share even the smallest work
    among threads. `soon`: machine code runs plans that have been run once. `defers`: operations on
    small arrays are put off at once, and fused the second time. `large`: the arrays that a program
    is given are in the engine, as if they were large. `level`: LLVM's level of code generation.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    chance: float = 0.0
    together: bool = True
    split: bool = False
    soon: bool = False
    defers: bool = False
    large: bool = False
    level: int = 2
    seed: str = ""


def modes(seed: str) -> tuple[Mode, ...]:
    """Return the ways to run the program of a seed; the last one is drawn.

    What fails in one way mostly fails in all, so another program finds more than another way to
    run the same one: no fusion and results after each statement are drawn as well.
    """
    rng = random.Random(f"modes {seed}")
    level = 2 if rng.random() < OPTIMIZED else 0
    return (
        Mode("fused", soon=True, level=level),
        Mode("again", soon=True, level=level),
        Mode("at once by NumPy", {"eager_size": 10_000, "defer": False}, level=level),
        Mode("at once in the engine's memory", {"eager_size": 10_000}, large=True, level=level),
        Mode("at once what is new", {"eager_size": 3, "cold_size": 10_000}, large=True),
        *_deferring(rng, level),
        Mode(
            "random budgets",
            _options(rng),
            chance=rng.choice((0.0, 0.05, 0.3, 1.0)),
            together=rng.random() < 0.5,
            split=rng.random() < 0.3,
            large=rng.random() < 0.5,
            level=level,
            seed=seed,
        ),
    )


def _deferring(rng: random.Random, level: int) -> list[Mode]:
    """Run some programs three times, which fuses what repeats."""
    if rng.random() > DEFERRED:
        return []
    options = {"eager_size": 10_000}
    names = ("deferred", "deferred and recorded", "deferred and fused")
    return [Mode(name, options, defers=True, level=level) for name in names]


#: Nothing is compiled: what recording decides (shapes, memory orders, aliasing, errors) is looked
#: at several times as fast.
INTERPRETED = (Mode("interpreted", {"cold_size": 1 << 40}),)


def _options(rng: random.Random) -> dict[str, Any]:
    """Draw budgets, small enough to be reached by small programs."""
    drawn: dict[str, Any] = {"threads": rng.choice((1, 2)), "fusion": rng.random() < 0.7}
    for name, values in _BUDGETS.items():
        if rng.random() < 0.35:
            drawn[name] = rng.choice(values)
    return drawn


_BUDGETS: dict[str, tuple[Any, ...]] = {
    "max_pending_nodes": (2, 3, 5, 8, 20),
    "max_pending_bytes": (1, 100, 1000),
    "max_kernel_ops": (1, 2, 4, 10),
    "max_kernel_args": (2, 3, 4, 6),
    "eager_size": (4, 12, 30, 10_000),
    "cold_size": (12, 10_000),
    "passes": ("none", "-simplify", "-dedup", "-views"),
}


@contextmanager
def running(mode: Mode) -> Iterator[None]:
    """Open a mode's options. No array is small unless it says so; kernels stay in memory, for the
    disk would fill."""
    options = {
        "eager_size": 0,
        "cold_size": 0,
        "disk_cache": False,
        "cache_size": 8192,
        **mode.options,
    }
    with (
        oracle.options(**options),
        _split_work(mode.split),
        _by_machine(mode.soon),
        _putting_off(mode.defers),
        _arriving(mode.large),
        _generation(mode.level),
        _interpreted(mode in INTERPRETED),
    ):
        yield


@contextmanager
def _interpreted(always: bool) -> Iterator[None]:
    """Plan nothing, however often it comes."""
    if not always or not oracle.IS_ENGINE:
        yield
        return
    from lazyfuse.runtime import met

    normal, met.PLAN_NS = met.PLAN_NS, float("inf")
    try:
        yield
    finally:
        met.PLAN_NS = normal


@contextmanager
def _generation(level: int) -> Iterator[None]:
    """Compile for the CPU at a level of code generation."""
    if level == 2 or not oracle.IS_ENGINE:
        yield
        return
    from lazyfuse.runtime import session

    normal = session.backend
    session.backend = lambda device: _backend(level) if device == "cpu" else normal(device)
    try:
        yield
    finally:
        session.backend = normal


@cache
def _backend(level: int) -> Any:
    from lazyfuse.backends.cpu import CpuBackend

    return CpuBackend(level=level)


@contextmanager
def _by_machine(soon: bool) -> Iterator[None]:
    """Let machine code run plans from their second run on."""
    if not soon or not oracle.IS_ENGINE:
        yield
        return
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import ready

    native_methods.make_native(oracle.lf.LazyArray)
    normal, ready.RUNS = ready.RUNS, 1
    try:
        yield
    finally:
        ready.RUNS = normal


@contextmanager
def _putting_off(defers: bool) -> Iterator[None]:
    """Put everything off that can be, and fuse it when it comes again."""
    if not defers or not oracle.IS_ENGINE:
        yield
        return
    from tests.deferring import deferring

    with deferring():
        yield


@contextmanager
def _arriving(large: bool) -> Iterator[None]:
    """Give programs arrays of the engine that are computed, whatever their size."""
    if not large or not oracle.IS_ENGINE:
        yield
        return
    normal = oracle.to_lazy

    def to_lazy(value: Any) -> Any:
        with oracle.options(eager_size=0):
            return normal(value)

    oracle.to_lazy = to_lazy
    try:
        yield
    finally:
        oracle.to_lazy = normal


@contextmanager
def _split_work(split: bool) -> Iterator[None]:
    """Make kernels hand work to a second thread that would not be worth it."""
    if not split or not oracle.IS_ENGINE:
        yield
        return
    from lazyfuse.backends.cpu import launch

    normal = launch.NS_PER_THREAD, launch.WAKE_NS
    launch.NS_PER_THREAD = launch.WAKE_NS = 1
    try:
        yield
    finally:
        launch.NS_PER_THREAD, launch.WAKE_NS = normal
