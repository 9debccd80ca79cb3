"""What does laziness itself cost: recording an operation, and running tiny arrays?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from lazyfuse.ir.graph import Graph, is_leaf
from perf.cases import Case, race_of
from perf.clock import CLOCK
from perf.settings import Settings
from perf.worker import settle_compiler
from perf.workloads.base import as_tuple
from perf.workloads.standard import WORKLOADS

SIZES = (1, 10, 100, 1_000, 5_000, 10_000)
PEERS = ("numpy", "lazyfuse", "fuse")
OPS = 10
#: Standard programs whose recording is timed, at this size.
RECORDED = ("black_scholes", "layer_norm", "standardize", "heat", "nearest", "mandelbrot")
SIZE = 1_000_000
#: A step whose length changes from call to call: how it is run, and these sizes.
STEPS = ("numpy", "lazyfuse", "fuse", "fuse, one length", "jax")
STEP_SIZES = (100, 1_000, 100_000, 1_000_000)


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
    """Record a program on arrays too large to be computed at once, and drop it; by machine code,
    which comes after some thousand operations."""
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
    for _ in range(max(10, 25_000 // operations)):
        record()
    settle_compiler()
    benchmark.pedantic(record, rounds=300, warmup_rounds=10)


def _ten_ops(x: Any) -> Any:
    for _ in range(OPS // 2):
        x = x * 0.5 + 1.0
    return x


@pytest.mark.parametrize("size", STEP_SIZES)
@pytest.mark.parametrize("peer", STEPS)
def test_changing_number(benchmark: Any, peer: str, size: int) -> None:
    """Time an explicit step of an oscillator; each call has another length of step."""
    u, v = np.linspace(0.0, 1.0, size), np.linspace(1.0, 2.0, size)
    step, *arrays = _stepper(peer, u, v)
    changing = np.linspace(0.01, 0.1, 997).tolist()
    lengths = cycle((0.25,) if peer == "fuse, one length" else changing)
    first = next(lengths)
    for given, wanted in zip(step(*arrays, first), _step(u, v, first), strict=True):
        np.testing.assert_allclose(np.asarray(given), wanted, 1e-12)
    benchmark.group = f"step of {size}"
    benchmark.extra_info |= {"question": "changing number", "peer": peer, "size": size}
    rounds = max(30, min(2_000, 10_000_000 // size))
    benchmark.pedantic(lambda: step(*arrays, next(lengths)), rounds=rounds, warmup_rounds=100)


def _step(u: Any, v: Any, dt: float) -> tuple[Any, Any]:
    return u + dt * v, v - dt * (u + 0.1 * v)


def _stepper(peer: str, u: Any, v: Any) -> tuple[Callable[..., Any], Any, Any]:
    """The step in a library, and the arrays there."""
    if peer == "numpy":
        return _step, u, v
    if peer == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(_step)
        x, y = jax.numpy.asarray(u), jax.numpy.asarray(v)
        return (lambda *given: jax.block_until_ready(compiled(*given))), x, y
    lazyfuse = pytest.importorskip("lazyfuse")
    function = lazyfuse.fuse(_step) if peer.startswith("fuse") else _step
    x, y = lazyfuse.materialize(lazyfuse.array(u), lazyfuse.array(v))
    return (lambda *given: lazyfuse.materialize(*function(*given))), x, y
