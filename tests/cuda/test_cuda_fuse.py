"""`fuse` on GPUs: a replay allocates and launches; nothing passes the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_host, needs_ptx
from fake_cupy import FakeCupy, fake_gpu

import lazyfuse as lf

pytestmark = pytest.mark.engine
N = 6000


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    with fake_gpu(monkeypatch) as fake:
        yield fake


def given(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).integers(1, 99, (2, N)).astype(float)
    return values[0], values[1].reshape(60, 100)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chain": lambda xp, x, y: (x * 2 + 1) * x - 3,
    "two results": lambda xp, x, y: {"a": x + 1, "b": (y - 2, 5)},
    "rows": lambda xp, x, y: y - y.max(axis=1, keepdims=True),
    "scalar": lambda xp, x, y: xp.maximum.reduce(x * 3),
    "several kernels": lambda xp, x, y: xp.cumsum(x - 1) + y.reshape(-1),
    "a call": lambda xp, x, y: xp.sort(x * 2) + 1,
    "written": lambda xp, x, y: written(xp, x),
}


def written(xp: Any, x: Any) -> Any:
    """A new array that is written in part."""
    z = x * 2
    z[10:-10:3] += x[:-20:3]
    return z


def host(value: Any) -> Any:
    """A result with its arrays on the host."""
    if isinstance(value, dict):
        return {key: host(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(host(item) for item in value)
    return (
        lf.asnumpy(value).tolist()
        if isinstance(value, lf.LazyArray)
        else np.asarray(value).tolist()
    )


def check(name: str, device: str) -> None:
    """The same values as NumPy's, on the device, by replays."""
    fused = lf.fuse(FUNCTIONS[name])
    for seed in range(1, 6):
        x, y = given(seed)
        there = [lf.asarray(value, device=device) for value in (x, y)]
        found = fused(lf, *there)
        assert host(found) == host(FUNCTIONS[name](np, x, y)), seed
        for array in (found, *there) if isinstance(found, lf.LazyArray) else there:
            assert array.device == device
    assert fused.replays == 3 and fused.reason == ""


@needs_ptx
@pytest.mark.parametrize("name", FUNCTIONS)
def test_replays_on_a_fake_gpu(gpu: FakeCupy, name: str) -> None:
    check(name, "cuda:0")


@needs_host
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("default", ["cpu", "cuda-host"])
def test_replays_on_the_shim(name: str, default: str) -> None:
    """Also where new arrays live elsewhere."""
    with lf.options(device=default):
        check(name, "cuda-host")


@needs_ptx
def test_a_replay_allocates_and_launches(gpu: FakeCupy) -> None:
    """And does not wait; recording does not pass the host either."""
    fused = lf.fuse(FUNCTIONS["chain"])
    x, y = map(lf.asarray, given())
    gpu.calls.clear()
    fused(lf, x, y)
    fused(lf, x, y)
    assert fused.recordings == 1
    assert not {"sync", "download", "upload"} & set(gpu.calls)
    for _ in range(2):
        gpu.calls.clear()
        fused(lf, x, y)
        assert gpu.calls == ["alloc", "launch"]
    assert fused.replays == 2


@needs_ptx
@pytest.mark.parametrize("strategy", ["own", "strided", "vectorized"])
def test_scalars_of_replays(gpu: FakeCupy, strategy: str) -> None:
    """Each signature keeps its own; a launch outside is not changed by it."""

    @lf.fuse
    def scaled(x: Any, by: float) -> Any:
        return x * by + 1

    (x, _), there = given(), lf.asarray(given()[0])
    with lf.options(cuda_strategy=strategy):
        for _ in range(3):
            for by in (2.0, 3.5):
                assert np.array_equal(lf.asnumpy(scaled(there, by)), x * by + 1)
                assert np.array_equal(lf.asnumpy(there * 7.0 + 1), x * 7 + 1)
    assert scaled.replays >= 2


@needs_ptx
def test_arrays_of_cupy_are_no_arguments_of_recordings(gpu: FakeCupy) -> None:
    """Their memory changes unseen: the function is called each time."""
    memory = gpu.cuda.alloc(8 * N)
    theirs = gpu.ndarray((N,), "f8", memory, (8,))
    fused = lf.fuse(lambda x, y: x + y)
    x = lf.asarray(given()[0])
    for step in range(4):
        theirs.values()[...] = step
        assert np.array_equal(lf.asnumpy(fused(x, theirs)), given()[0] + step)
    assert fused.replays == 0
