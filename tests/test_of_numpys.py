"""Large arrays of NumPy's own, of which functions make numbers and masks: NumPy computes that at
once, and the engine copies nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend.of_numpys import reach
from lazyfuse.ops.rules import of_own
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = pytest.mark.cpu("NumPy computes it")

N = 50_000


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Small arrays are computed at once; hardly any is small."""
    with lf.options(eager_size=2):
        yield


def given() -> dict[str, host.ndarray]:
    """Arrays that are not small."""
    draw = host.random.default_rng(1)
    x = draw.standard_normal(N)
    return {
        "x": x,
        "m": x.reshape(500, 100),
        "t": x.reshape(500, 100).T,
        "s": x.astype(host.float32)[::2].repeat(2)[1:-1:1],
        "h": x.astype(host.float16),
        "k": draw.integers(-9, 9, N).astype(host.int16),
        "b": x > 0,
        "c": x + 1j * x[::-1],
        "gaps": host.where(x > 2, host.nan, x),
        "f": host.frombuffer(x.tobytes()),
    }


CALLS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "sum": lambda np, d: [np.sum(value) for value in d.values()],
    "axes": lambda np, d: [
        (np.sum(v, axis=0), np.max(v, -1, keepdims=True), np.mean(v, (0, 1)), np.std(v, axis=1))
        for v in (d["m"], d["t"])
    ],
    "extremes": lambda np, d: [
        (np.max(v), np.amin(v), np.argmax(v), np.argmin(v), np.ptp(v))
        for v in (d["x"], d["s"], d["h"], d["k"], d["gaps"], d["c"])
    ],
    "moments": lambda np, d: [
        (np.mean(v), np.var(v), np.std(v, ddof=1), np.average(v))
        for v in (d["x"], d["s"], d["h"], d["k"], d["b"], d["c"])
    ],
    "truth": lambda np, d: [
        (np.any(v), np.all(v), np.count_nonzero(v)) for v in (d["b"], d["x"], d["k"])
    ],
    "without gaps": lambda np, d: (
        np.nansum(d["gaps"]),
        np.nanmax(d["gaps"]),
        np.nanmean(d["gaps"]),
        np.nanargmin(d["gaps"]),
    ),
    "weights": lambda np, d: np.average(d["x"], weights=host.abs(d["x"])),
    "words": lambda np, d: (
        np.sum(d["k"], dtype="f4"),
        np.sum(d["x"], initial=2.0),
        np.max(d["x"], where=d["b"], initial=-1.0),
        np.sum(d["m"], axis=np.int64(1)),
    ),
    "of ufuncs": lambda np, d: (
        np.add.reduce(d["x"]),
        np.maximum.reduce(d["m"], axis=1),
        np.add.reduce(d["m"]),
        np.logical_or.reduce(d["b"]),
    ),
    "products": lambda np, d: (np.dot(d["x"], d["x"]), np.vdot(d["c"], d["c"])),
    "norm": lambda np, d: (np.linalg.norm(d["x"]), np.linalg.norm(d["m"], axis=0)),
    "places": lambda np, d: (
        np.searchsorted(host.sort(d["x"]), [0.1, 0.2]),
        np.searchsorted([0.1, 0.2], d["x"]),
        np.flatnonzero(d["b"]),
        np.nonzero(d["k"]),
        np.digitize(d["x"], [0.0, 1.0]),
    ),
    "equal": lambda np, d: (
        np.array_equal(d["x"], d["s"]),
        np.array_equal(d["gaps"], d["gaps"], equal_nan=True),
        np.allclose(d["x"], d["x"]),
    ),
    "masks": lambda np, d: [
        (np.isnan(v), np.isfinite(v), np.isinf(v), np.signbit(v))
        for v in (d["x"], d["t"], d["s"], d["h"], d["gaps"])
    ],
    "no axis": lambda np, d: np.sum(d["x"], axis=3),
    "output": lambda np, d: np.sum(d["m"], axis=0, out=host.empty(100)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys(name: str) -> None:
    """Values, dtypes, strides and exceptions."""
    oracle.check(lambda np: CALLS[name](np, given()))


#: What no kernel is launched for.
_AT_ONCE = sorted(CALLS.keys() - {"no axis", "output"})


@pytest.mark.parametrize("name", _AT_ONCE)
def test_nothing_is_copied(name: str) -> None:
    arrays = given()
    lf.reset_stats()
    lf.materialize(*_leaves(CALLS[name](lf, arrays)))
    done = lf.stats()
    assert done.kernels_launched == done.unfused == done.cold_runs == done.fallbacks == 0


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value] if isinstance(value, oracle.LAZY) else []


def test_results_are_not_the_memory() -> None:
    """A fold over no axes of one array, and an axis of length one, give new arrays."""
    x = host.arange(float(N)).reshape(N, 1)
    ours = lf.sum(x, axis=1)
    x[0] = 7.0
    assert ours[0] == 0.0 and isinstance(ours, lf.LazyArray)
    ours[1] = 9.0
    assert x[1, 0] == 1.0


def test_warnings_are_at_the_line() -> None:
    x = host.full(N, 1e308)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lf.add.reduce(x)
        lf.nanmax(host.full(N, host.nan))
    assert [item.filename for item in caught] == [__file__, __file__]
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        lf.sum(x)


def test_fuse_records_it() -> None:
    """What is captured is read anew at each call."""
    x = host.arange(float(N))

    @lf.fuse
    def total(y: Any) -> Any:
        return lf.sum(x) + y

    y = lf.ones(N)
    assert float(total(y)[0]) == x.sum() + 1.0
    x[0] = 5.0
    assert float(total(y)[0]) == host.sum(x) + 1.0


def test_with_everything_recorded() -> None:
    with lf.options(eager_size=0):
        lf.reset_stats()
        assert float(lf.sum(host.ones(N))) == N
        assert lf.stats().kernels_launched == 1


def test_short_rows_are_the_engines() -> None:
    """NumPy takes them one by one, five times as long as the engine with its copy."""
    limits = of_own("sum")
    rows = host.ones((50_000, 4))
    assert not reach(rows, limits) and not reach(rows.T, limits)
    assert reach(rows.reshape(200, 1000), limits) and reach(rows.ravel(), limits)
    for axis in (0, 1):
        host.testing.assert_array_equal(lf.sum(rows, axis=axis), host.sum(rows, axis=axis))
