"""P25 to P31: cache and compilation (`design/pitfalls.md`); more of them in `test_cache.py`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf


@pytest.fixture
def x() -> Any:
    """Return a lazy array over an empty cache."""
    lf.cache_clear()
    made = lf.array(host.arange(3000.0))
    lf.materialize(made)
    lf.reset_stats()
    with oracle.options(disk_cache=False):
        yield made


def built() -> int:
    """Count the kernels compiled since the last reset."""
    return int(lf.stats().kernels_compiled)


def test_p25_literal_baked_into_the_key(x: Any) -> None:
    """drjit#51: 50 Python scalars compile one kernel."""
    for k in range(50):
        lf.materialize((x * (k + 0.5) + k).sum())
    assert built() <= 2


def test_p26_key_by_object_identity(x: Any) -> None:
    """cccl#9626: a hundred fresh closures compile one kernel."""
    for k in range(100):
        scale = host.float64(k)
        lf.materialize((lambda y: y * scale - 1)(x))  # noqa: B023
    assert built() <= 1


@pytest.mark.parametrize("order", ((True, 1, 1.0), (1.0, True, 1), (1, 1.0, True)))
def test_p27_key_too_coarse(x: Any, order: tuple[Any, ...]) -> None:
    """mlx#3427: dtypes are in the key: bool, int and float scalars, and a chain of casts."""
    for scalar in order:
        oracle.check(lambda np, v: [v * scalar, v + scalar], host.arange(9, dtype="i2"))  # noqa: B023
        oracle.check(lambda np, v: [v * scalar, v | True], host.array([True, False]))  # noqa: B023
    oracle.check(lambda np, v: v.astype("i4").astype("f4") * 2, host.arange(9, dtype="u2"))


def test_p28_one_entry_per_shape(x: Any) -> None:
    """mlx#4464: 60 lengths are one kernel, and the cache stays small."""
    for n in range(1000, 3000, 33):
        lf.materialize(lf.sqrt(x[:n]) + 1)
    assert built() <= 1 and lf.cache_info().currsize <= 3


def test_p29_compile_time_is_linear(x: Any) -> None:
    """jax#21300: compiling a chain twice as long takes about twice as long."""

    def seconds(length: int, seed: float) -> float:
        lf.cache_clear()
        start = time.perf_counter()
        y = x
        for _ in range(length):
            y = y * seed + x
        lf.materialize(y)
        return time.perf_counter() - start

    seconds(5, 0.5)
    short = min(seconds(40, 0.1 * k) for k in range(1, 4))
    long = min(seconds(160, 0.1 * k) for k in range(1, 3))
    assert long < 10 * short + 0.05
    assert built() >= 1


def test_p30_shared_cache_directory_races() -> None:
    """numba#4807: in `test_cache.py::test_many_processes_on_one_empty_cache`; here, nothing is
    unpickled.
    """
    sources = sorted((Path(lf.__file__).parent / "cache").glob("*.py"))
    assert sources
    for path in sources:
        assert "import pickle" not in path.read_text(), path


def test_p31_slow_path_chosen_silently() -> None:
    """cupy.fuse: what leaves the engine is counted; a fused comparison after a fold stays in
    it.
    """
    p, q = lf.array(host.ones((300, 40))), lf.array(host.ones(300))
    lf.materialize(p, q)
    lf.reset_stats()
    lf.materialize(p.sum(1) > q)
    assert (
        lf.stats().fallbacks == 0
        and lf.stats()["unfused"] == 0
        and lf.stats().kernels_launched == 1
    )


@pytest.mark.cpu("kernels on disk")
def test_memory_that_is_full_costs_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file was removed as damaged, and a kernel was lost for want of memory to write it."""
    from lazyfuse.backends.cpu import CpuBackend
    from lazyfuse.cache import disk

    def refuse(*_: Any, **__: Any) -> Any:
        raise MemoryError("planted")

    data, removed = host.arange(1000.0), []
    with lf.options(cache_dir=str(tmp_path), disk_cache=True):
        with monkeypatch.context() as patch:
            patch.setattr(disk, "_header", refuse)
            lf.cache_clear()
            host.testing.assert_array_equal(host.asarray(lf.array(data) * 3 + 1), data * 3 + 1)
        lf.cache_clear()
        host.testing.assert_array_equal(host.asarray(lf.array(data) * 3 + 1), data * 3 + 1)
        kept = sorted(tmp_path.glob("*.kernel"))
        with monkeypatch.context() as patch:
            patch.setattr(CpuBackend, "load", refuse)
            patch.setattr(disk.DiskCache, "remove", lambda *given: removed.append(given))
            lf.cache_clear()
            host.testing.assert_array_equal(host.asarray(lf.array(data) * 3 + 1), data * 3 + 1)
        assert kept and not removed


def test_a_folder_that_goes_as_it_is_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove it: what had been computed was lost."""
    from lazyfuse.cache.disk import DiskCache

    def gone(self: Path, pattern: str) -> Any:
        raise FileNotFoundError(pattern)

    kept = DiskCache(str(tmp_path))
    kept.write("key", b"binary")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", gone)
        kept.prune()
        kept.clear()
    assert kept.read("key") == b"binary"
