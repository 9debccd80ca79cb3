"""What does the first call cost in a new process, with empty and with filled caches on disk, and
how much memory does a program need?
"""

from __future__ import annotations

from typing import Any

import pytest

from perf import first_call
from perf.bars import ONCE_SIZE
from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.peers import PEERS, Missing
from perf.settings import Settings

#: Everybody is started for these; lazyfuse and NumPy for all standard workloads.
COMPARED = ("chain", "black_scholes", "softmax")
SLOW_COMPARED = ("black_scholes",)
OWN = ("numpy", "lazyfuse")
#: New processes with filled caches for a second per benchmark: three by default. The fastest
#: counts, for the machine is shared.
WARM_PROCESSES = 20
pytestmark = pytest.mark.benchmark(timer=CLOCK.read)


def cases(settings: Settings) -> list[Case]:
    """The standard workloads at one size; some over little data as well, and long loops."""
    if settings.quick:
        return []
    large = [
        case
        for workload in settings.chosen("standard")
        for case in race_of(workload, settings.side_size, settings.entrants(workload))
        if case.entrant.peer in OWN or workload.name in compared(case.entrant.peer)
    ]
    once = [
        case
        for workload in settings.chosen("standard")
        if workload.name in COMPARED and settings.side_size > ONCE_SIZE
        for case in race_of(workload, ONCE_SIZE, settings.entrants(workload))
        if case.entrant.peer in OWN
    ]
    loops = [
        case
        for workload in settings.chosen("turns")
        for case in race_of(workload, ONCE_SIZE, settings.entrants(workload))
        if case.entrant.peer in OWN
    ]
    return large + once + loops


def compared(peer: str) -> tuple[str, ...]:
    """The workloads for which a library is started."""
    if peer == "fuse":  # its first call is that of lazyfuse
        return ()
    return SLOW_COMPARED if PEERS[peer].compiles_slowly else COMPARED


def test_first_call(benchmark: Any, settled: Settings, left_out: Any, case: Case) -> None:
    """Time first calls and measure memory in new processes."""
    name, peer, size = case.workload.name, case.entrant.peer, case.size
    facts = {"question": "first calls", "workload": name, "peer": peer, "n": size}
    try:
        found = first_call.measure(
            peer,
            name,
            size,
            threads=settled.threads,
            device=settled.device,
            warm_processes=max(round(settled.seconds * WARM_PROCESSES), 1),
        )
    except Missing as reason:
        left_out(facts, str(reason))
    benchmark.group = f"first calls: {name}, {size}"
    benchmark.extra_info |= facts | found
    CLOCK.replay(benchmark, [found["first_ms"] / 1e3])
