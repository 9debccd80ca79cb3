"""How fast are programs whose arrays have ever new lengths, beside NumPy?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)
#: Of arrays that are small, on either side of where those end, and large.
SIZES = (10_000, 40_000, 200_000, 1_000_000)
PEERS = ("numpy", "lazyfuse")


def cases(settings: Settings) -> list[Case]:
    """Every program at these sizes, or at those that are asked for."""
    return [
        case
        for workload in settings.chosen("lengths")
        for size in (settings.sizes if settings.named_sizes else SIZES)
        for case in race_of(workload, size, settings.entrants(workload, PEERS))
    ]


def test_lengths(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "lengths", case)
