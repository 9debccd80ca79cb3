"""The benchmarks run, refuse wrong results, and report what was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perf import peers, report, worker
from perf.arena import Arena, Entrant
from perf.bars import judge
from perf.clock import Clock
from perf.flops import flops
from perf.results import Results, geometric_mean
from perf.settings import OPTIONS, settings
from perf.workloads import BY_NAME, FAMILIES, as_tuple, error
from perf.workloads.base import arrays_by
from tests import oracle

ROOT = Path(__file__).resolve().parent.parent
#: Elements of arrays that are not the engine's where programs have many steps.
FEW = 64
MACHINE = {
    "processor": "Test", "cores": 2, "simd": "AVX2", "system": "Linux", "memory_gb": 1.0,
    "python": "3", "threads": 2, "load_average": 0.0, "copy_gb_s_8MB": 1.0,
    "copy_gb_s_256MB": 1.0, "matmul_gflop_s": 1.0,
}  # fmt: skip


@pytest.mark.engine
def test_the_suite_runs(tmp_path: Path) -> None:
    """All questions about two programs, with NumPy and lazyfuse, give a page and a JSON file."""
    pytest.importorskip("pytest_benchmark")
    command = [
        *(sys.executable, "-m", "perf", "--out", str(tmp_path / "out")),
        *("--workloads", "chain,five_ops", "--sizes", "2000", "--seconds", "0.01"),
        *("--peers", "numpy,lazyfuse,cupy_fuse"),
    ]
    alone = {name: text for name, text in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    asked = {(entry["question"], entry.get("peer")) for entry in found["entries"]}
    assert {("uses", "numpy"), ("uses", "lazyfuse"), ("overhead", "lazyfuse"),
            ("first calls", "lazyfuse"), ("record", None)} <= asked  # fmt: skip
    assert {entry["peer"] for entry in found["left_out"]} == {"cupy_fuse"}
    assert "2,000 elements" in (tmp_path / "out.md").read_text()


@pytest.mark.engine
@pytest.mark.parametrize("family", FAMILIES)
def test_programs_agree_with_numpy(family: str) -> None:
    """Every measured program gives NumPy's results. Programs of many steps on a few numbers would
    be one huge kernel: these are small arrays, as they are by default."""
    steps = family in ("everyday", "algorithms", "loops", "turns")
    with oracle.options(eager_size=FEW if steps else 0):
        _check_all(family)


def _check_all(family: str) -> None:
    for workload in FAMILIES[family]:
        expected = tuple(np.array(x) for x in as_tuple(workload.program(np, workload.inputs(600))))
        lazy = arrays_by(oracle.lf.array, workload.inputs(600))
        given = as_tuple(workload.program(oracle.lf, lazy))
        for mine, numpys in zip(given, expected, strict=True):
            assert error(mine, numpys) <= max(workload.tolerance, _of_trees(numpys)), workload.name


def _of_trees(result: Any) -> float:
    """How far sums on a GPU, which are trees, may be from NumPy's, and functions likewise."""
    is_float = oracle.ON_GPU and result.dtype.kind in "fc"
    return oracle.GPU_SUM_EPS * float(np.finfo(result.dtype).eps) if is_float else 0.0


def test_wrong_results_are_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that gives other values, or another dtype, is refused before it is timed."""
    worker.Worker("numpy", tmp_path).prepare("chain", 100)
    for change in (lambda x: x * 1.001, lambda x: x.astype("f4")):
        wrong = peers.Peer("wrong", "numpy", peers.CPU, changed(change), "")
        monkeypatch.setitem(worker.PEERS, "wrong", wrong)
        with pytest.raises(ValueError, match="differs from NumPy"):
            worker.Worker("wrong", tmp_path).prepare("chain", 100)


def changed(change: Any) -> Any:
    """A peer that changes NumPy's results."""

    def prepare(workload: Any, data: Any) -> peers.Call:
        call = peers.numpy_call(workload, data)
        return lambda: tuple(change(result) for result in call())

    return prepare


def test_a_dead_process_is_told_and_replaced() -> None:
    """A library whose process dies is left out of that race alone."""
    arena, entrant = Arena(), Entrant("numpy", 1)
    try:
        arena.remote(entrant).process.kill()
        arena.remote(entrant).process.join()
        lost = arena.compare("chain", 10, [entrant], 0.001)[entrant]
        assert lost.failed and "died" in lost.reason
        again = arena.compare("chain", 10, [entrant], 0.001)[entrant]
        assert again.samples and not again.reason
    finally:
        arena.close()


def test_the_clock_replays_samples() -> None:
    """A benchmark sees the samples as durations."""
    clock, seen = Clock(), []

    def pedantic(function: Any, *, rounds: int, iterations: int) -> None:
        for _ in range(rounds):
            start = clock.read()
            function()
            seen.append(clock.read() - start)

    clock.replay(SimpleNamespace(pedantic=pedantic), [0.5, 0.25, 2.0])
    assert seen == [0.5, 0.25, 2.0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("chain", 5.0), ("haversine", 111.0), ("mandelbrot", 243.0), ("darts", 5.0)],
)
def test_operations_are_counted(name: str, expected: float) -> None:
    """Operations per element: also those on the results of `where`, and inside reductions."""
    assert flops(name, 10_000) / 10_000 == pytest.approx(expected, rel=0.01)


def entry(peer: str, n: int, milliseconds: float, workload: str = "chain") -> dict[str, Any]:
    """A measured time."""
    times = {"median_ms": milliseconds, "min_ms": milliseconds}
    return {"question": "uses", "workload": workload, "peer": peer, "n": n, "threads": 2} | times


@pytest.fixture
def results() -> Iterator[Results]:
    """NumPy, lazyfuse and two peers at two sizes: one loss, at 10,000."""
    times = {"numpy": (4.0, 40.0), "lazyfuse": (2.0, 4.0), "fuse": (1.0, 3.2),
             "numba": (1.0, 8.0), "jax": (3.0, 12.0)}  # fmt: skip
    yield Results(
        MACHINE,
        {"numpy": "2"},
        [entry(peer, n, ms) for peer, both in times.items()
         for n, ms in zip((10_000, 1_000_000), both, strict=True)],
        [{"peer": "torch", "workload": "chain", "n": 10, "reason": "absent", "failed": False}],
    )  # fmt: skip


def test_the_page_shows_losses(results: Results) -> None:
    """Ratios against NumPy and the fastest peer; losses are bold and listed; so is what lacks."""
    text = report.page(results, "")
    assert "| chain | 40 | 10x | 12x | 5.00x | 3.33x | numba | 2.00x | 2.50x |" in text
    assert "| chain | 4 | 2.00x | 4.00x | 4.00x | 1.33x | numba | **0.50x** | 1.00x |" in text
    assert "| chain, 10,000 | numba | **0.50x** |" in text
    assert "| torch | absent | chain |" in text


def test_promises_are_judged(results: Results) -> None:
    """Only what was measured is judged, against the fastest peer."""
    verdicts = {bar.name: (bar.measured, bar.passed) for bar in judge(results)}
    assert verdicts["chain, 10,000, lazyfuse to the fastest peer"] == (0.5, False)
    assert verdicts["chain, 1,000,000, lazyfuse to the fastest peer"] == (2.0, True)
    assert verdicts["chain, 1,000,000, fuse to the fastest peer"] == (2.5, True)
    assert len(verdicts) == 8  # and four means
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_choices_are_checked() -> None:
    """Programs are chosen by name or family; unknown names are refused."""
    given = {name: how.get("default", False) for name, how in OPTIONS.items()}
    chosen = settings((given | {"--workloads": "scans,chain", "--sizes": "10"}).__getitem__)
    assert set(chosen.workloads) == {work.name for work in FAMILIES["scans"]} | {"chain"}
    assert chosen.sizes == (10,) and chosen.side_size == 10
    with pytest.raises(pytest.UsageError, match="chian: not one of"):
        settings((given | {"--workloads": "chian"}).__getitem__)
    assert len(BY_NAME) == sum(map(len, FAMILIES.values()))  # no name twice
