"""How fast is each ufunc by itself, beside NumPy's?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)
PEERS = ("numpy", "lazyfuse")


def cases(settings: Settings) -> list[Case]:
    """Every ufunc and dtype at one size."""
    return [
        case
        for workload in settings.chosen("ufuncs")
        for case in race_of(workload, settings.side_size, settings.entrants(workload, PEERS))
    ]


def test_ufunc(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "ufuncs", case)
