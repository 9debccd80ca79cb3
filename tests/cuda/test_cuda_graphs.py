"""Plans of several kernels as CUDA graphs, on a fake GPU whose pool gives memory back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx
from fake_cupy import FakeCupy, cupy, fake_gpu

import lazyfuse as lf
from lazyfuse.runtime import repeats
from tests.programs import examples

pytestmark = [pytest.mark.engine, needs_ptx]
N = 300
EXAMPLES = examples()
#: Runs of a loop, enough for several graphs.
TURNS = 16


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    for constant in ("RUNS", "TIMES"):
        monkeypatch.setattr(repeats, constant, 2)
    with fake_gpu(monkeypatch) as fake:
        fake.pool = {}
        yield fake


def step(xp: Any, x: Any, by: float = 0.5) -> Any:
    """Three kernels, or more: what is added up is needed before and after."""
    y = xp.cumsum(x * by)
    z = y - y.max()
    return xp.cumsum(z * z) / 4096.0 + x


def start() -> np.ndarray:
    return np.linspace(0, 1, N)


def check(found: Any, turns: int) -> None:
    """What a loop of steps gives, but for the order of sums."""
    expected = start()
    for _ in range(turns):
        expected = step(np, expected)
    np.testing.assert_allclose(lf.asnumpy(found), expected, rtol=1e-9)


def loop(function: Callable[..., Any], turns: int = TURNS) -> Any:
    x = lf.asarray(start())
    for _ in range(turns):
        x = function(lf, x)
        lf.materialize(x)
    return x


def last_calls(gpu: FakeCupy) -> list[str]:
    """The calls of the last turn, without the wait of `materialize`."""
    turns = "".join(f"{call} " for call in gpu.calls).split("sync")
    return turns[-2].split()


@pytest.mark.parametrize("fused", [False, True])
def test_a_loop_becomes_a_graph(gpu: FakeCupy, fused: bool) -> None:
    """Then a turn allocates and launches once; profilers see the names of the kernels."""
    lf.reset_stats()
    found = loop(lf.fuse(step) if fused else step)
    assert set(last_calls(gpu)) == {"alloc", "graph"} and last_calls(gpu).count("graph") == 1
    assert TURNS / 3 < lf.stats().graph_launches < TURNS - 3
    assert gpu.calls.count("capture") <= 4
    name = next(name for name in reversed(gpu.ranges) if name.startswith("graph of lf_"))
    assert name.count(", ") >= 2
    launched = lf.stats().kernels_launched
    check(found, TURNS)
    assert launched >= 3 * TURNS


def test_the_same_bits(gpu: FakeCupy) -> None:
    """As without graphs, which an option asks for."""
    with lf.options(cuda_graphs=False):
        expected = lf.asnumpy(loop(step))
        assert "graph" not in gpu.calls
    found = lf.asnumpy(loop(step))
    assert "graph" in gpu.calls
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_programs(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch, name: str, full: bool) -> None:
    """Whatever a graph can be of gives the bits that kernels give one by one."""
    if not full and list(EXAMPLES).index(name) % 3:
        pytest.skip("one in three: run with --full")
    for constant, value in (("LEAST_QUEUED", 1), ("RUNS", 0), ("TIMES", 1)):
        monkeypatch.setattr(repeats, constant, value)
    example = EXAMPLES[name]

    def results() -> list[bytes]:
        lazy = [lf.array(array) for array in example.arrays]
        found = example.program(lf, *lazy)
        found = found if isinstance(found, tuple) else (found,)
        lf.materialize(found)
        return [lf.asnumpy(array).tobytes() for array in (*found, *lazy)]

    with lf.options(cuda_graphs=False):
        expected = results()
    lf.reset_stats()
    for _ in range(4):
        assert results() == expected
    captured = gpu.calls.count("captured")
    assert (lf.stats().graph_launches > 0) == (captured > 0)


def test_numbers_are_told_apart(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph has the numbers of the run that it was captured from: also zeros with a sign."""
    monkeypatch.setattr(repeats, "TIMES", 1)
    x = lf.asarray(start() + 1)
    seen = set()
    for turn in range(12 * repeats.RUNS):
        by = (2.0, 0.0, -0.0, 3)[turn % 4]
        y = lf.cumsum(x * by)
        z = lf.cumsum(y[::-1] * by) * by
        expected = np.cumsum(np.cumsum((start() + 1) * by)[::-1] * by) * by
        found = lf.asnumpy(z)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert np.array_equal(np.signbit(found), np.signbit(expected)), (turn, by)
        seen.add(by)
        del y, z
    assert gpu.calls.count("captured") >= 4


def test_what_is_kept_comes_at_new_addresses(
    gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing recurs: no graph, and the executor takes over again."""
    monkeypatch.setattr(repeats, "CREDIT", 20)
    monkeypatch.setattr(repeats, "MOST_SETS", 4)
    x = lf.asarray(start())
    kept = []
    for _ in range(40):
        kept.append(step(lf, x))
        lf.materialize(kept[-1])
    assert "capture" not in gpu.calls
    expected = step(np, start())
    for found in kept:
        np.testing.assert_allclose(lf.asnumpy(found), expected, rtol=1e-12)


def test_each_stream_has_its_own(gpu: FakeCupy) -> None:
    """What a graph keeps for itself is used in the order of one stream (the fake asserts it)."""
    streams = [gpu.cuda.Stream(non_blocking=True) for _ in range(2)]
    fused = lf.fuse(lambda x: (x - x.max()) / (x - x.max()).sum())
    values = np.arange(8000.0)
    x = lf.asarray(values)
    for turn in range(TURNS):
        with streams[turn % 2]:
            found = fused(x)
        expected = (values - 7999) / (values - 7999).sum()
        np.testing.assert_allclose(lf.asnumpy(found), expected, rtol=1e-12)
    assert gpu.calls.count("captured") >= 2
    assert "recorded memset_async" in gpu.calls


def test_values_in_a_table(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels past the parameter space: the table is of the graph, and uploaded once."""
    monkeypatch.setattr("lazyfuse.backends.cuda.device.WIDE_PARAMETER_BYTES", 64)
    with lf.options():
        check(loop(step), TURNS)
    assert "graph" in gpu.calls and "upload" not in last_calls(gpu)


@pytest.mark.parametrize("call", ["capture", "recorded launch", "captured", "upload graph"])
def test_what_cannot_be_captured_runs_as_ever(gpu: FakeCupy, call: str) -> None:
    """CUDA may refuse: nothing is lost, and the plan is left alone."""
    gpu.faults[call] = cupy.cuda.runtime.CUDARuntimeError(900)
    check(loop(step), TURNS)
    assert gpu.calls.count("capture") == 1 and "graph" not in gpu.calls
    assert not gpu.stream.is_recording


def test_a_device_that_vanishes(gpu: FakeCupy) -> None:
    """A graph says so as a kernel does."""
    x = loop(step)
    gpu.faults["graph"] = cupy.cuda.runtime.CUDARuntimeError(700)
    with pytest.raises(lf.errors.DeviceUnavailableError, match="cuda:0 failed.*start the process"):
        lf.materialize(step(lf, x))


def test_no_memory_left(gpu: FakeCupy) -> None:
    """Nothing has run, the trace is kept, and comes out once there is room."""
    x = loop(step)
    assert gpu.pool is not None
    gpu.pool.clear()
    pending = step(lf, x)
    gpu.limit = gpu.used + 8 * N - 1
    with pytest.raises(MemoryError, match="cuda:0 has no"):
        lf.materialize(pending)
    gpu.limit = None
    check(pending, TURNS + 1)


def test_sets_that_crowd_each_other_out(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Capturing ends when it costs more than graphs save."""
    monkeypatch.setattr(repeats, "MOST_GRAPHS", 1)
    monkeypatch.setattr(repeats, "CREDIT", 100)
    x = lf.asarray(start())
    for turn in range(60):
        lf.materialize(step(lf, x, 0.5 + turn % 2))
    captured = gpu.calls.count("captured")
    assert 1 < captured <= 4
    gpu.calls.clear()
    lf.materialize(step(lf, x, 0.5))
    assert not {"capture", "graph"} & set(gpu.calls)


def test_rare_numbers_do_no_harm(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that runs by graphs most of the time goes on so."""
    monkeypatch.setattr(repeats, "CREDIT", 40)
    x = lf.asarray(start())
    for turn in range(120):
        lf.materialize(step(lf, x[:60], 0.5 if turn % 4 else turn))
    assert last_calls(gpu).count("launch") == 0


def test_memory_is_not_copied_for_a_graph(gpu: FakeCupy) -> None:
    """A write into an array that may stay where it is has no graph, which would copy it."""
    x = lf.asarray(start())
    for _ in range(TURNS):
        x[:50] = lf.cumsum(step(lf, x[:50])[::-1])
        lf.materialize(x)
    assert "capture" not in gpu.calls


def test_the_current_stream_stays(gpu: FakeCupy) -> None:
    """Whoever has made it current, and whatever runs in the middle of a capture: nothing of that
    becomes part of the graph."""
    mine = gpu.cuda.Stream(non_blocking=True)
    gpu.stream = mine
    other = lf.fuse(lambda x: x * 3 + 1)
    small = lf.asarray(np.arange(5.0))
    found = []

    def in_the_middle(name: str) -> None:
        assert gpu.stream is mine
        if name == "recorded launch":
            found.append(other(small))

    gpu.listener = in_the_middle
    x = loop(step)
    assert gpu.stream is mine and len(found) > 2
    kept = [lf.asarray(np.full(5, 7.0)) for _ in range(8)]
    x = step(lf, x)
    lf.materialize(x)
    assert last_calls(gpu).count("graph") <= 1
    assert all(np.array_equal(lf.asnumpy(array), np.full(5, 7.0)) for array in kept)
    assert all(np.array_equal(lf.asnumpy(array), np.arange(5.0) * 3 + 1) for array in found)
    gpu.listener = None
    check(x, TURNS + 1)


def test_a_users_own_capture(gpu: FakeCupy) -> None:
    """There nothing is captured inside."""
    x = lf.asarray(start())
    gpu.stream = gpu.cuda.Stream(non_blocking=True)
    gpu.stream.is_recording = True
    fused = lf.fuse(step)
    for _ in range(TURNS):
        fused(lf, x)
    assert "capture" not in gpu.calls


@pytest.mark.parametrize("graphs", [False, True])
def test_one_kernel_of_several_launches(gpu: FakeCupy, graphs: bool) -> None:
    """`fuse` goes the short way where no graph is wanted."""
    with lf.options(cuda_graphs=graphs):
        fused = lf.fuse(lambda x: (x - x.max()) / (x - x.max()).sum())
        x = lf.asarray(np.arange(8000.0))
        for _ in range(TURNS):
            fused(x)
    assert fused.replays >= TURNS - 2
    assert ("captured" in gpu.calls) == graphs


def test_kernels_that_are_cleared(gpu: FakeCupy) -> None:
    """Graphs go with the plans they are of."""
    check(loop(step), TURNS)
    lf.cache_clear()
    gpu.calls.clear()
    check(loop(step), TURNS)
    assert gpu.calls.count("captured") >= 1


def test_large_arrays_and_few_kernels_are_launched(
    gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to be had: the GPU is behind the host, or there is one launch."""
    x = lf.asarray(start())
    for _ in range(40):
        lf.materialize(x * 2 + 1)
    monkeypatch.setattr(repeats, "MOST_BYTES", 8 * N)
    check(loop(step), TURNS)
    assert "capture" not in gpu.calls


def test_every_gpu_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured and launched there, whichever is current."""
    monkeypatch.setattr(repeats, "TIMES", 2)
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        gpu.pool = {}
        x = lf.array(start(), device="cuda:1")
        for _ in range(TURNS):
            x = step(lf, x)
            lf.materialize(x)
        assert {
            place for place, call in zip(gpu.places, gpu.calls, strict=True) if call == "graph"
        } == {1}
        check(x, TURNS)
