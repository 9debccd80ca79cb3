"""Reductions to a number of what is put off: NumPy's numbers, and nothing is lost of what they
read."""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as np
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import deferred  # noqa: E402 - when there is an engine
from tests.deferring import deferring, is_deferred, replays  # noqa: E402 - likewise

pytestmark = pytest.mark.cpu("small arrays that are put off")

FOLDS = ("sum", "mean", "max", "min", "std", "var")


@pytest.fixture(autouse=True)
def putting_off() -> Iterator[None]:
    with np.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def pair(dtype: str = "f8", shape: Any = (12, 10)) -> tuple[Any, Any]:
    rng = host.random.default_rng(5)
    return tuple(np.asarray(rng.normal(size=shape).astype(dtype)) for _ in range(2))


def values(array: Any) -> host.ndarray:
    return host.array(array)


def same(found: Any, wanted: Any) -> bool:
    return type(found) is type(wanted) and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ("f8", "f4"))
@pytest.mark.parametrize("fold", FOLDS)
def test_numbers(fold: str, dtype: str) -> None:
    x, y = pair(dtype)
    a, b = values(x), values(y)
    for call in range(8):
        found = getattr(x * y - y, fold)()
        assert same(found, getattr(a * b - b, fold)())
        assert is_deferred(x) or call < 3  # nothing else was computed
        found = getattr(np, fold)(x - y)
        assert same(found, getattr(host, fold)(a - b))
    assert replays() >= 8


def test_masks() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for _ in range(6):
        for fold in ("any", "all"):
            assert same(getattr(x > y, fold)(), getattr(a > b, fold)())
            assert same(getattr((x > 9.0) | (y > 9.0), fold)(), host.False_)


def test_a_name_keeps_its_array() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for _ in range(6):
        kept = x * y
        total, largest = kept.sum(), np.max(kept)
        scaled = kept / total
        assert same(total, (a * b).sum()) and same(largest, (a * b).max())
        host.testing.assert_array_equal(values(kept), a * b)
        host.testing.assert_array_equal(values(scaled), a * b / (a * b).sum())


def test_what_others_read_is_computed_after_it() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for _ in range(6):
        rest = x - y
        loss = (rest * rest).mean()
        slope = (rest * x).mean()
        x_now = x - 0.1 * slope
        host.testing.assert_array_equal(values(rest), a - b)
        wanted = ((a - b) * a).mean()
        assert same(loss, ((a - b) * (a - b)).mean()) and same(slope, wanted)
        host.testing.assert_array_equal(values(x_now), a - 0.1 * wanted)


def test_costly_operations() -> None:
    x, y = pair()
    a = values(x)
    for _ in range(6):
        kept = np.exp(x - y)
        total = (kept * 2.0).sum()
        result = kept / total
        wanted = np.exp(np.asarray(a - values(y)))
        host.testing.assert_array_equal(values(kept), values(wanted))
        host.testing.assert_array_equal(values(result), values(kept) / total)


def test_other_references() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    sums = operator.methodcaller("sum")
    for _ in range(6):
        kept = [x * y, x + y]
        assert [sums(each) for each in kept] == [(a * b).sum(), (a + b).sum()]
        assert list(map(np.sum, kept)) == [(a * b).sum(), (a + b).sum()]
        assert [each.max() for each in kept] == [(a * b).max(), (a + b).max()]
        host.testing.assert_array_equal(values(kept[0]), a * b)
        host.testing.assert_array_equal(values(kept[1]), a + b)
        box = {"it": x - y}
        assert box["it"].min() == (a - b).min()
        host.testing.assert_array_equal(values(box["it"]), a - b)


def test_arguments_are_numpys() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for _ in range(4):
        assert same((x * y).sum(None), (a * b).sum(None))
        assert same((x * y).sum(axis=None), (a * b).sum(axis=None))
        assert same((x * y).sum(dtype="f4"), (a * b).sum(dtype="f4"))
        assert same((x * y).var(ddof=1), (a * b).var(ddof=1))
        kept = (x * y).sum(keepdims=True)
        assert kept.shape == (1, 1) and values(kept)[0, 0] == (a * b).sum()
        assert same((x * y).max(initial=99.0), (a * b).max(initial=99.0))


def test_arrays_are_given_back() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for number in range(8):
        assert same((x * y).sum(), (a * b).sum())
        x[0, 0] = a[0, 0] = number
        assert same((x[1:] * y[1:]).sum(), (a[1:] * b[1:]).sum())
        y += 1.0
        b += 1.0
        host.testing.assert_array_equal(values(y), b)
        assert not is_deferred(x) and not deferred.is_pending()


def test_a_loop_is_the_same_tapes() -> None:
    x, y = pair()
    deferred.forget()
    for _ in range(40):
        (x * y).sum()
        (x - y).max()
    assert len(deferred.programs()) <= 6


def test_conditions_are_told() -> None:
    x = np.asarray(host.full(50, 1e200))
    for _ in range(6):
        with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
            assert (x * x).sum() == host.inf
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            (x * x).sum()
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (x * x).max() == host.inf


def test_nans_and_signs() -> None:
    x = np.asarray(host.array([0.0, -0.0, host.nan, 1.0]))
    a = values(x)
    for _ in range(5):
        for fold in FOLDS:
            assert same(getattr(x * 1.0, fold)(), getattr(a * 1.0, fold)())
            assert same(getattr(x[:2] * -1.0, fold)(), getattr(a[:2] * -1.0, fold)())


def test_long_tapes() -> None:
    x, y = pair()
    a, b = values(x), values(y)
    for _ in range(4):
        found, wanted = x, a
        for step in range(30):
            found, wanted = found * 0.5 + y, wanted * 0.5 + b
            assert same((found - y).sum(), (wanted - b).sum()), step
        host.testing.assert_array_equal(values(found), wanted)


def test_other_threads() -> None:
    x, y = pair()
    wanted = (values(x) * values(y)).sum()
    found: list[Any] = []

    def work() -> None:
        for _ in range(200):
            found.append((x * y).sum())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    assert len(found) == 800 and all(each == wanted for each in found)
