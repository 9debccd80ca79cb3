"""How fast are whole programs as people have them, beside NumPy?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)
#: Of arrays that NumPy is best at, and of middling ones.
SIZES = (10_000, 100_000)
PEERS = ("numpy", "lazyfuse")


def cases(settings: Settings) -> list[Case]:
    """Every program at these sizes, or at those that are asked for."""
    return [
        case
        for family in ("everyday", "algorithms", "loops", "rows", "pools")
        for workload in settings.chosen(family)
        for size in (settings.sizes if settings.named_sizes else SIZES)
        for case in race_of(workload, size, settings.entrants(workload, PEERS))
    ]


def test_everyday(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "everyday", case)
