"""What does laziness itself cost: recording an operation, and running tiny arrays?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyfuse.ir.graph import Graph, is_leaf
from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings
from perf.workloads.base import as_tuple
from perf.workloads.standard import WORKLOADS

SIZES = (1, 10, 100, 1_000, 5_000, 10_000)
PEERS = ("numpy", "lazyfuse", "fuse")
OPS = 10
#: Standard programs whose recording is timed, at this size.
RECORDED = ("black_scholes", "layer_norm", "standardize", "heat", "nearest", "mandelbrot")
SIZE = 1_000_000


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


@pytest.mark.parametrize("program", ("ten operations", *RECORDED))
def test_record(benchmark: Any, program: str) -> None:
    """Record a program on arrays too large to be computed at once, and drop it."""
    lazyfuse = pytest.importorskip("lazyfuse")
    chosen = next((each for each in WORKLOADS if each.name == program), None)
    given = {"x": np.linspace(0.0, 1.0, SIZE)} if chosen is None else chosen.inputs(SIZE)
    data = {name: lazyfuse.array(value) for name, value in given.items()}
    lazyfuse.materialize(*data.values())

    def record() -> Any:
        return _ten_ops(data["x"]) if chosen is None else chosen.program(lazyfuse, data)

    graph = Graph([array._read() for array in as_tuple(record())])
    operations = sum(not is_leaf(node) for node in graph.nodes)
    facts = {"question": "record", "program": program, "operations": operations}
    benchmark.group = "record"
    benchmark.extra_info |= facts
    benchmark.pedantic(record, rounds=300, warmup_rounds=max(10, 6_000 // operations))


def _ten_ops(x: Any) -> Any:
    for _ in range(OPS // 2):
        x = x * 0.5 + 1.0
    return x
