"""How fast are strided inputs: steps, transposes, columns of a table?"""

from __future__ import annotations

from typing import Any

import pytest

from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import SIDE_PEERS, Settings

pytestmark = pytest.mark.benchmark(timer=CLOCK.read)


def cases(settings: Settings) -> list[Case]:
    """Every program at one size."""
    return [
        case
        for workload in settings.chosen("layouts")
        for case in race_of(workload, settings.side_size, settings.entrants(workload, SIDE_PEERS))
    ]


def test_layout(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library."""
    race(benchmark, "layouts", case)
