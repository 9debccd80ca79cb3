"""What does laziness itself cost: recording an operation, and running tiny arrays?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

SIZES = (1, 10, 100, 1_000, 5_000, 10_000)
PEERS = ("numpy", "lazyfuse", "fuse")
OPS = 10


def cases(settings: Settings) -> list[Case]:
    """Short programs on tiny arrays."""
    return [
        case
        for workload in settings.chosen("overhead")
        for size in SIZES
        for case in race_of(workload, size, settings.entrants(workload, PEERS))
    ]


@pytest.mark.benchmark(timer=CLOCK.read)
def test_overhead(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "overhead", case)


def test_record(benchmark: Any) -> None:
    """Record ten operations on an array too large to be computed at once, and drop them."""
    lazyfuse = pytest.importorskip("lazyfuse")
    x = lazyfuse.array(np.linspace(0.0, 1.0, 1_000_000))
    lazyfuse.materialize(x)

    def ten_ops() -> Any:
        y = x
        for _ in range(OPS // 2):
            y = y * 0.5 + 1.0
        return y

    benchmark.group = "record"
    benchmark.extra_info |= {"question": "record", "operations": OPS}
    benchmark.pedantic(ten_ops, rounds=1000, warmup_rounds=50)
