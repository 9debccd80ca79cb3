"""What does a second thread bring? One and two threads in turns, at one size."""

from __future__ import annotations

from typing import Any

import pytest

from perf.arena import Entrant
from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings

PEERS = ("lazyfuse", "numba", "jax")
pytestmark = pytest.mark.benchmark(timer=CLOCK.read)


def cases(settings: Settings) -> list[Case]:
    """The standard workloads with one thread and with all that were asked for."""
    if settings.quick or settings.threads == 1:
        return []
    return [
        case
        for workload in settings.chosen("standard")
        for case in race_of(workload, settings.side_size, entrants(settings, workload))
    ]


def entrants(settings: Settings, workload: Any) -> list[Entrant]:
    """Each library with one thread and with more."""
    several = settings.entrants(workload, PEERS)
    return [
        Entrant(entrant.peer, threads)
        for entrant in several
        if entrant.peer in PEERS
        for threads in (1, settings.threads)
    ]


def test_threads(benchmark: Any, race: Any, case: Case) -> None:
    """Time one library with so many threads."""
    race(benchmark, "threads", case)
