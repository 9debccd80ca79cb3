"""One benchmark of a question: a workload, a size, and one of the libraries that race."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perf.arena import Entrant
from perf.workloads import Workload


@dataclass(frozen=True, slots=True)
class Case:
    """An entrant of a race over a workload at a size."""

    workload: Workload
    size: int
    entrant: Entrant
    entrants: tuple[Entrant, ...]

    def __str__(self) -> str:
        peer, threads = self.entrant
        return f"{self.workload.name}-{self.size}-{peer}-{threads}"


def race_of(workload: Workload, size: int, entrants: Iterable[Entrant]) -> list[Case]:
    """Make a case for each entrant of a race."""
    everyone = tuple(entrants)
    return [Case(workload, size, entrant, everyone) for entrant in everyone]
