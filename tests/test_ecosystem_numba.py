"""Functions that Numba compiles: on LazyArrays, and with this package in NumPy's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle

numba = pytest.importorskip("numba")

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that NumPy shares")]

lf = oracle.lf
np: Any = lf  # as programs have it, whose functions Numba compiles


@pytest.fixture(autouse=True, params=[0, 30_000], ids=["engine", "small"])
def size(request: pytest.FixtureRequest) -> Iterator[None]:
    with oracle.options(eager_size=request.param):
        yield


@numba.njit
def loop(x: Any) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * i
    return total


@numba.njit
def functions(x: Any) -> Any:
    y = np.sqrt(np.abs(x)) + np.maximum(x, 0.5) + np.pi
    order = np.argsort(-x)
    return y.sum() + order[0] + np.linalg.norm(x) + np.dot(x, y) + np.where(x > 1, y, 0).mean()


@numba.njit
def made(x: Any) -> Any:
    new = np.zeros(x.shape, dtype=np.float64)
    for i in range(len(x)):
        new[i] = np.exp(-x[i]) if np.isfinite(x[i]) else np.nan
    return new


@numba.njit
def written(x: Any, value: float) -> Any:
    x[1:3] = value
    return x[0]


@numba.njit
def of_matrices(x: Any) -> Any:
    grid = x[:12].copy().reshape((3, 4))
    return grid @ grid.T + np.eye(3) * x.max()


@numba.njit
def drawn(count: int) -> float:
    np.random.seed(5)
    return np.random.random(count).sum() + np.random.normal(0.0, 1.0)


def of_numpy(function: Any) -> Any:
    """The same function, with NumPy."""
    own = function.py_func
    return type(own)(own.__code__, {**own.__globals__, "np": host}, own.__name__)


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(loop, "f8"), (loop, "f4"), (functions, "f8"), (made, "i8"), (of_matrices, "f8")],
)
def test_functions(function: Any, dtype: str) -> None:
    """Give what they give for NumPy's arrays, whose type they do not mix up with ours."""
    values = (host.random.default_rng(1).normal(size=50) * 5).astype(dtype)
    wanted = of_numpy(function)(values)
    for given in (values, lf.array(values), lf.array(values) * 1, values, lf.array(values)[::1]):
        found = function(given)
        host.testing.assert_allclose(found, wanted, 1e-4 if dtype == "f4" else 1e-12)


def test_views_and_memory() -> None:
    """What the function writes is in the array, views have their strides, and a scalar that is
    pending is a number."""
    x = lf.arange(6.0) * 2
    assert written(x, x.mean()) == 0 and x.tolist() == [0, 5, 5, 6, 8, 10]
    assert loop(x[::-2]) == loop(host.array(x)[::-2])
    host.testing.assert_allclose(drawn(10), of_numpy(drawn)(10), 1e-12)
    x.setflags(write=False)
    with pytest.raises(numba.TypingError):
        written(x, 1.0)
    y = lf.ones(3)
    assert loop(y) == 3 and not getattr(y._storage, "is_lent", False)


def test_errors_of_what_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Are raised by the call."""
    with lf.options(eager_size=0):
        loop(lf.ones(3))
        x = lf.ones(3) * 2
        from lazyfuse.runtime import engine

        def flush(*_: Any) -> Any:
            raise MemoryError("none left")

        with monkeypatch.context() as patched:
            patched.setattr(engine, "flush", flush)
            with pytest.raises(MemoryError, match="none left"):
                loop(x)
        assert loop(x) == 6


def test_what_numba_has_not() -> None:
    """Is its own error, as for NumPy's."""
    compiled: Callable[[Any], Any] = numba.njit(lambda x: np.piecewise(x, [x < 0], [1.0]))
    with pytest.raises(numba.TypingError):
        compiled(lf.ones(3))
    with pytest.raises(numba.TypingError):
        loop(lf.array(["2020-01-01"], "M8[D]").astype("U10"))


@numba.njit  # type: ignore[misc]  # Numba has no types for mypy
def either(x: Any, other: Any = None) -> Any:
    """Variables that are an argument or an array that is made there."""
    if other is None:
        other = np.ones(x.size)
    total = x
    for _ in range(3):
        total = total + other
    items = [x]
    items.append(total)
    return items[1].sum() + (x if x[0] > 0 else total).sum()


@pytest.mark.parametrize("size", (0, 100_000))
def test_variables_of_either_kind(size: int) -> None:
    with lf.options(eager_size=size):
        values = host.arange(6.0)
        for x, y in ((lf.asarray(values), values), (lf.asarray(values)[::2], values[::2])):
            assert either(x) == either(y) and either(x, x) == either(y, y)
            assert either(x, y) == either(y, y)
