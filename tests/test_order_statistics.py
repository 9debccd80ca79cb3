"""Order statistics and folds that NumPy computes: recorded, with its values and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle

METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "median_unbiased", "hazen")
DTYPES = ("?", "i4", "u1", "f2", "f4", "f8", "c16")


def _values(dtype: str) -> Any:
    return corpus.random_values(dtype, 60).reshape(3, 5, 4)


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
        return corpus.refusal(raised)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantiles(dtype: str) -> None:
    """median, quantile and percentile along every axis, for one quantile and several."""
    places = (
        0.3,
        1,
        host.float64(0.3),
        host.float32(0.25),
        [0.0, 0.5],
        host.array([[0.1, 0.9, 0.5]]),
        [],
        1.5,
        -1,
    )

    def program(np: Any, x: Any) -> list[Any]:
        found = []
        for axis in (None, 0, -1, (0, 2), [0, 1], 3):
            for keep in (False, True):
                how = {"axis": axis, "keepdims": keep}
                found += [
                    _attempt(lambda h=how: np.median(x, **h)),
                    _attempt(lambda h=how: np.quantile(x, 0.3, **h)),
                    _attempt(lambda h=how: np.percentile(x, [30, 60.5], **h)),
                ]
        found += [_attempt(lambda q=q: np.quantile(x, q, axis=1)) for q in places]
        found += [_attempt(lambda m=m: np.quantile(x, 0.4, 1, method=m)) for m in METHODS]
        return [*found, np.median(x[:, ::2].T, axis=0), _attempt(lambda: np.median(x[:0], axis=0))]

    oracle.check(program, _values(dtype))


@pytest.mark.parametrize("bad", (float("nan"), float("inf")))
def test_quantiles_of_nan(bad: float) -> None:
    """NaN wins in each slice that has one."""
    x = _values("f8")
    x[1, 2] = bad

    def program(np: Any, x: Any) -> list[Any]:
        return [np.median(x, axis=0), np.quantile(x, [0.2, 0.7], axis=1), np.median(x),
                np.nanmedian(x, axis=0), np.nanquantile(x, 0.3, axis=2),
                np.nanpercentile(x, 20)]  # fmt: skip

    oracle.check(program, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_variances(dtype: str) -> None:
    """Variances with a given mean, of complex numbers, and with every degree of freedom."""

    def program(np: Any, x: Any) -> list[Any]:
        center = np.mean(x, axis=1, keepdims=True)
        calls = [np.var, np.std]
        return [
            *(_attempt(lambda f=f: f(x, axis=1, mean=center)) for f in calls),
            *(_attempt(lambda f=f: f(x, axis=(0, 2), ddof=1)) for f in calls),
            *(_attempt(lambda f=f: f(x, correction=2, keepdims=True)) for f in calls),
            *(_attempt(lambda f=f: f(x, axis=0, ddof=3)) for f in calls),
            *(_attempt(lambda f=f: f(x, where=x != 0, axis=0)) for f in calls),
        ]

    oracle.check(program, _values(dtype), sums=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions(dtype: str) -> None:
    """argmax and argmin, of complex numbers too, into outputs of every kind."""

    def program(np: Any, x: Any) -> list[Any]:
        outs = [np.zeros((3, 4), kind) for kind in ("i8", "i4", "f8")] + [np.zeros((4, 3), "i8")]
        found = [_attempt(lambda o=out: np.argmax(x, axis=1, out=o) is o) for out in outs]
        found += [np.argmin(x, axis=axis, keepdims=True) for axis in (None, 0, 2)]
        return [*found, *outs, _attempt(lambda: np.argmin(x[:, :0], axis=1))]

    oracle.check(program, _values(dtype))


@pytest.mark.engine
def test_nothing_runs_at_once() -> None:
    """Each is a step of the plan; what is around it fuses."""
    lf = oracle.lf
    x = lf.array(_values("f8"))
    z = x + 1j
    found = [
        lf.median(x * 2, axis=0) + 1, lf.quantile(x, [0.1, 0.5], axis=1), lf.percentile(x, 30),
        lf.var(z, axis=0), lf.std(x, axis=0, mean=lf.mean(x, axis=0, keepdims=True)),
        lf.argmax(z, axis=1), lf.argmin(x, axis=1, out=lf.zeros((3, 4), "i8")),
    ]  # fmt: skip
    assert lf.stats().fallbacks == 0 and lf.stats().kernels_launched == 0
    lf.materialize(*found)
