"""How fast are real programs, against NumPy and every other library, at every size?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)


def cases(settings: Settings) -> list[Case]:
    """Every workload at every size with every library."""
    return [
        case
        for workload in settings.uses()
        for size in settings.sizes_of(workload)
        for case in race_of(workload, size, settings.entrants(workload))
    ]


def test_use(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "uses", case)
