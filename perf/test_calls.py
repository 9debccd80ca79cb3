"""How fast are single calls of NumPy's functions, beside NumPy?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)
#: Where NumPy is still at its best, and where a call of the engine's is as fast.
SIZES = (40_000, 200_000, 1_000_000)
PEERS = ("numpy", "lazyfuse")


def cases(settings: Settings) -> list[Case]:
    """Every call at these sizes, or at those that are asked for."""
    return [
        case
        for workload in settings.chosen("calls")
        for size in (settings.sizes if settings.named_sizes else SIZES)
        for case in race_of(workload, size, settings.entrants(workload, PEERS))
    ]


def test_call(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "calls", case)
