"""Narrow integers in packs, as NVRTC compiles them: what reads a sum sees its bits alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import ARCHITECTURES, needs_ptx

import lazyfuse as lf
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.runtime import session

pytestmark = [pytest.mark.engine, needs_ptx]


def program(xp: Any, x: Any, y: Any) -> dict[str, Any]:
    made = {
        "sum": x + y,
        "difference": x - y,
        "product": x * y,
        "negative": -x,
        "size": xp.abs(x),
        "narrowed": (x.astype("i4") - y).astype("i1"),
        "signed": (x.astype("u1") + y.astype("u1")).astype("i1"),
        "both": -((x + y) ^ x),
        "all": (x + y) * 3 - y,
    }
    return {
        f"{name} {number}": array
        for name, value in made.items()
        for number, array in enumerate((value > 0, xp.maximum(value, y), value // 3))
    } | {"shifted": -xp.maximum(x & y, x ^ x) >> 5}


@pytest.fixture(params=ARCHITECTURES)
def interpreter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """That of one architecture is the device; plans are bound to theirs."""
    backend, normal = CudaPtxBackend(architecture=request.param), session.backend
    lf.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(
            session, "backend", lambda name: backend if name == "cuda-ptx" else normal(name)
        )
        yield
    lf.cache_clear()


@pytest.mark.usefixtures("interpreter")
@pytest.mark.parametrize("dtype", ["i1", "i2"])
def test_what_reads_sums(dtype: str) -> None:
    """Comparisons and divisions of results that may not fit, each in a kernel of its own."""
    info = np.iinfo(dtype)
    given = np.random.default_rng(6).integers(info.min, info.max, (2, 80), dtype)
    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0), np.errstate(all="ignore"):
        found = program(lf, *map(lf.array, given))
        for name, expected in program(np, *given).items():
            own = lf.asnumpy(found[name])
            assert own.dtype == expected.dtype and np.array_equal(own, expected), name
