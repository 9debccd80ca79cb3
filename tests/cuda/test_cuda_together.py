"""On a GPU, too, the kernels of a plan are compiled in several threads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx
from fake_cupy import FakeCupy, fake_gpu

import lazyfuse as lf
from lazyfuse.backends.cuda import build

pytestmark = [pytest.mark.engine, needs_ptx]
X = np.random.default_rng(2).integers(1, 9, (40, 50)).astype(float)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    with fake_gpu(monkeypatch) as fake:
        yield fake


def several(xp: Any, x: Any) -> list[Any]:
    """Three kernels."""
    return [xp.cumsum(xp.reshape(x, (-1,)) * 2), x.sum() * 3, xp.maximum(x[:, ::2], 4.0)]


def run(x: np.ndarray, **options: Any) -> None:
    lf.cache_clear()
    with lf.options(device="cuda", disk_cache=False, eager_size=0, **options):
        results = lf.materialize(*several(lf, lf.array(x)))
        for own, expected in zip(results, several(np, x), strict=True):
            np.testing.assert_allclose(lf.asnumpy(own), expected, 1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("gpu")
def test_several_threads_compile(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel once, and with one thread one after the other."""
    made, inside, most = build.build_cubin, [], []

    def build_cubin(source: str, architecture: str) -> tuple[bytes, str]:
        inside.append(source)
        most.append(len(inside))
        try:
            return made(source, architecture)
        finally:
            inside.remove(source)

    monkeypatch.setattr(build, "build_cubin", build_cubin)
    lf.reset_stats()
    run(X, threads=threads)
    assert len(most) == 3 == lf.stats().kernels_compiled
    assert max(most) == threads


@pytest.mark.usefixtures("gpu")
def test_one_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs op by op, with a warning of its own; the others are compiled once."""
    made, sources = build.build_cubin, []

    def build_cubin(source: str, architecture: str) -> tuple[bytes, str]:
        if "maximum" in source:
            raise build.BuildError("planted")
        sources.append(source)
        return made(source, architecture)

    monkeypatch.setattr(build, "build_cubin", build_cubin)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(X, threads=2)
    assert [w for w in caught if "planted" in str(w.message) and "maximum" in str(w.message)]
    assert len(sources) == len(set(sources)) >= 2
