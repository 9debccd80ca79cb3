"""Narrow integers in packs, as NVRTC compiles them: what reads a sum sees its bits alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import ARCHITECTURES, needs_ptx

import lazyfuse as lf
from lazyfuse.backends.cuda_ptx import CudaPtxBackend, floats
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
def test_what_reads_sums(dtype: str, request: pytest.FixtureRequest, full: bool) -> None:
    """Comparisons and divisions of results that may not fit, each in a kernel of its own; by
    default of the one or the other dtype for each architecture."""
    place = ARCHITECTURES.index(request.node.callspec.params["interpreter"])
    if not full and place % 2 == (dtype == "i1"):
        pytest.skip("the other dtype for this architecture: both with --full")
    info = np.iinfo(dtype)
    given = np.random.default_rng(6).integers(info.min, info.max, (2, 80), dtype)
    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0), np.errstate(all="ignore"):
        found = program(lf, *map(lf.array, given))
        for name, expected in program(np, *given).items():
            own = lf.asnumpy(found[name])
            assert own.dtype == expected.dtype and np.array_equal(own, expected), name


def quotients(x: np.ndarray, y: np.ndarray) -> None:
    """All pairs, divided by the text and by NumPy."""
    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0), np.errstate(all="ignore"):
        own = lf.asnumpy(lf.array(x)[:, None] / lf.array(y)[None, :])
        expected = x[:, None] / y[None, :]
    same = own.view("u2") == expected.view("u2")
    same |= np.isnan(own) & np.isnan(expected)
    at = np.argwhere(~same)
    assert not at.size, [(x[i], y[j], own[i, j], expected[i, j]) for i, j in at[:5]]


@pytest.mark.parametrize("ulp", [-1, 0, 1])
def test_quotients_of_float16(ulp: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of significands, with a reciprocal that is as wrong as the device's may be (1 ULP,
    PTX ISA, "rcp"); and each number by and under special ones.
    """

    def reciprocal(x: np.ndarray) -> np.ndarray:
        found = np.reciprocal(x).astype(np.float32)
        return np.nextafter(found, np.float32(ulp * np.inf)) if ulp else found

    asked: list[int] = []
    monkeypatch.setitem(floats._APPROXIMATE, "rcp", lambda x: (asked.append(1), reciprocal(x))[1])
    lf.cache_clear()
    significands = np.arange(1024, 2048).astype("f2")
    quotients(significands, significands)
    assert asked
    numbers = np.arange(1 << 16, dtype="u2").view("f2")
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 6.1e-5, 65504, -1, 3], "f2")
    if not ulp:  # what is not a number near 1 has no neighbours of interest
        quotients(numbers, special)
        quotients(special, numbers)
    lf.cache_clear()


@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_powers_of_float16(name: str) -> None:
    """Of all exponents: as NumPy's, or the neighbour of few that lie in the middle of two."""
    numbers = np.arange(1 << 16, dtype="u2").view("f2")
    with lf.options(device="cuda-ptx", disk_cache=False, eager_size=0), np.errstate(all="ignore"):
        own = lf.asnumpy(getattr(lf, name)(lf.array(numbers)))
        expected = getattr(np, name)(numbers.astype("f8")).astype("f2")
    assert np.array_equal(np.isnan(own), np.isnan(expected))
    apart = np.abs(own.view("i2").astype("i4") - expected.view("i2"))[~np.isnan(own)]
    assert apart.max() <= 1 and (apart > 0).sum() <= 15
