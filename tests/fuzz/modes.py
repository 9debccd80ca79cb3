"""The ways in which lazyfuse runs a program; each must give what NumPy gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests import oracle


@dataclass(frozen=True, slots=True)
class Mode:
    """Options, and when results are asked for.

    `each`: every array is computed after each statement. `chance`: after a statement, an array is
    computed this often. `together`: all that is left is asked for at once, not one by one in some
    order. `split`: kernels share even the smallest work among threads.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    each: bool = False
    chance: float = 0.0
    together: bool = True
    split: bool = False
    seed: str = ""


def modes(seed: str) -> tuple[Mode, ...]:
    """Return the ways to run the program of a seed; the last one is drawn."""
    rng = random.Random(f"modes {seed}")
    return (
        Mode("fused"),
        Mode("unfused", {"fusion": False}),
        Mode("computed after each statement", each=True),
        Mode(
            "random budgets",
            _options(rng),
            chance=rng.choice((0.0, 0.05, 0.3)),
            together=rng.random() < 0.5,
            split=rng.random() < 0.3,
            seed=seed,
        ),
    )


def _options(rng: random.Random) -> dict[str, Any]:
    """Draw budgets, small enough to be reached by small programs."""
    drawn: dict[str, Any] = {"threads": rng.choice((1, 2))}
    for name, values in _BUDGETS.items():
        if rng.random() < 0.4:
            drawn[name] = rng.choice(values)
    return drawn


_BUDGETS: dict[str, tuple[Any, ...]] = {
    "max_pending_nodes": (2, 3, 5, 8, 20),
    "max_pending_bytes": (1, 100, 1000),
    "max_kernel_ops": (1, 2, 4, 10),
    "max_kernel_args": (2, 3, 4, 6),
    "passes": ("none", "-simplify", "-dedup", "-views"),
}


@contextmanager
def running(mode: Mode) -> Iterator[None]:
    """Open a mode's options; kernels stay in memory, for the disk would fill."""
    options = {"disk_cache": False, "cache_size": 4096, **mode.options}
    with oracle.options(**options), _split_work(mode.split):
        yield


@contextmanager
def _split_work(split: bool) -> Iterator[None]:
    """Make kernels hand work to a second thread that would not be worth it."""
    if not split or not oracle.IS_ENGINE:
        yield
        return
    from lazyfuse.backends.cpu import launch

    normal, launch.NS_PER_THREAD = launch.NS_PER_THREAD, 1
    try:
        yield
    finally:
        launch.NS_PER_THREAD = normal
