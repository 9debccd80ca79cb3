"""Small arrays of the engine that are at hand: NumPy computes with them at once, and all is as it
is with small arrays, and with NumPy's."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_at_once import computed_at_once  # noqa: E402 - when there is an engine
from tests.test_namespace import test_calls  # noqa: E402, F401 - again, on such arrays
from tests.test_namespace_aliasing import (  # noqa: E402
    test_aliasing,  # noqa: F401 - likewise
    test_in_place,  # noqa: F401 - likewise
)
from tests.test_native import test_fault, test_program  # noqa: E402, F401 - likewise

N = 400


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inputs are rows of computed memory of the engine, and small."""
    monkeypatch.setattr(oracle, "to_lazy", in_the_engine)
    with lf.options(eager_size=10_000):
        yield


def in_the_engine(value: Any) -> Any:
    """A NumPy array as a part of larger memory, if it can be one; all else as it is."""
    if not isinstance(value, host.ndarray):
        return value
    with lf.options(eager_size=0):
        if value.flags.c_contiguous and value.dtype.kind in "biufc":
            return lf.array(host.stack([value[..., None]] * 2))[1, ..., 0]
        return lf.array(value)


def matrix(seed: int = 0) -> tuple[host.ndarray, Any]:
    """A matrix of NumPy's and one of ours, computed."""
    values = host.random.default_rng(seed).normal(size=(N, N))
    there = lf.array(values)
    lf.materialize(there)
    assert there._host is None
    return values, there


ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda xp, a: a[3] * a[:, 4],
    "number": lambda xp, a: 2.0 / a[3],
    "comparison": lambda xp, a: a[3] > a[4],
    "unary": lambda xp, a: -a[3],
    "small beside it": lambda xp, a: xp.arange(float(N)) - a[3],
    "NumPy's beside it": lambda xp, a: a[3] * host.arange(float(N)),
    "square": lambda xp, a: a[3] ** 2,
    "power": lambda xp, a: xp.abs(a[3]) ** 1.5,
    "own bits": lambda xp, a: xp.exp(a[3]),
    "own bits of two": lambda xp, a: xp.arctan2(a[3], a[:, 3]),
    "sum": lambda xp, a: a[3].sum(),
    "block": lambda xp, a: a[10:30, 5:9].mean(axis=0),
    "reversed": lambda xp, a: a[3, ::-1].cumsum(),
    "method": lambda xp, a: a[3].clip(-0.5, 0.5),
    "function": lambda xp, a: xp.where(a[3] > 0, a[4], 0.0),
    "keywords": lambda xp, a: xp.add(a[3], a[4], dtype="f4", casting="same_kind"),
    "joined": lambda xp, a: xp.concatenate([a[3], xp.full(3, 1.0), a[4]]),
    "sorted": lambda xp, a: xp.sort(a[3]),
    "order": lambda xp, a: a[3].argsort(),
    "mask": lambda xp, a: a[3][a[3] > 0.5],
    "picked": lambda xp, a: a[xp.array([3, -1, 3]), 5],
    "picked rows": lambda xp, a: a[[3, 2]],
    "outer pick": lambda xp, a: a[xp.array([[3], [2]]), host.array([4, 5, 6])],
    "copy": lambda xp, a: a[3].copy(),
    "cast": lambda xp, a: a[3].astype("i4"),
    "reduce": lambda xp, a: xp.add.reduce(a[3:6]),
    "accumulate": lambda xp, a: xp.maximum.accumulate(a[3]),
    "reduceat": lambda xp, a: xp.add.reduceat(a[3], xp.array([0, 5, 2])),
    "reduce a list": lambda xp, a: xp.minimum.reduce([a[3], a[4], a[:, 5]]),
    "determinant": lambda xp, a: xp.linalg.det(a[:2, :2]),
    "element": lambda xp, a: a[3, 4],
    "elements": lambda xp, a: a[3, 4] + a[-1, -1] * 2,
    "modulus": lambda xp, a: xp.abs(a[3]),
    "fold of a list": lambda xp, a: xp.max([a[3], a[4], a[:, 5]], axis=0),
    "array of a list": lambda xp, a: xp.array([a[3], a[4]], dtype="f4"),
    "like": lambda xp, a: xp.full_like(a[3:5].T, 2.0),
    "joined rows": lambda xp, a: xp.concatenate(a[3:6]),
    "dot": lambda xp, a: xp.dot(a[3], a[4]),
    "dot of a matrix": lambda xp, a: xp.dot(a[3:6], a[4]),
    "method dot": lambda xp, a: a[3].dot(a[4]),
    "matmul": lambda xp, a: xp.matmul(a[3], a[4]),
    "convolved": lambda xp, a: xp.convolve(a[3], a[4, :5]),
    "outer": lambda xp, a: xp.outer(a[3, :5], a[4, :7]),
    "tiled": lambda xp, a: xp.tile(a[3], (2, 3)),
    "repeated": lambda xp, a: xp.repeat(a[3], 3),
    "transformed": lambda xp, a: xp.fft.rfft(a[3]),
    "gradient": lambda xp, a: xp.gradient(a[3]),
    "taken": lambda xp, a: xp.take(a, xp.array([3, -1, 3]), 1),
    "taken by clipping": lambda xp, a: a.take(xp.array([[3], [999]]), 0, mode="clip"),
    "rows by a mask": lambda xp, a: a[a[:, 3] > 1.5],
    "flat": lambda xp, a: a.flat[407],
    "selected": lambda xp, a: xp.select([a[3] > 1, a[3] > 0], [a[4], a[5, :1]], 2.0),
    "mesh": lambda xp, a: xp.meshgrid(a[3, :3], a[4, :5])[1],
    "block as a row": lambda xp, a: a[10:13, 4:9].reshape(-1),
    "block as rows": lambda xp, a: xp.reshape(a[10:14, 4:9], (2, -1)),
    "block in Fortran's order": lambda xp, a: a[10:14, 4:9].reshape(2, -1, order="F"),
    "raveled block": lambda xp, a: xp.ravel(a[10:14, 4:9]),
    "joined blocks": lambda xp, a: xp.block([[a[:2, :3], a[:2, 3:5]], [a[2:3, :5]]]),
    "joined rows of blocks": lambda xp, a: xp.block([a[3], a[4, :2]]),
    "product of several": lambda xp, a: xp.linalg.multi_dot([a[:3, :4], a[:4, :5], a[:5, :2]]),
    "power of a matrix": lambda xp, a: xp.linalg.matrix_power(a[:3, :3], 3),
    "eigenvalues": lambda xp, a: xp.linalg.eigvals(a[:3, :3]),
    "eigenvectors": lambda xp, a: xp.linalg.eig(a[:3, :3])[1],
    "counted in two": lambda xp, a: xp.histogram2d(a[3], a[4], 5)[0],
    "infinite": lambda xp, a: xp.isneginf(a[3]),
    "without a part": lambda xp, a: xp.isreal(a[3]),
    "picked by lists of lists": lambda xp, a: a[[[3, 4], [-1, 2]], 5],
}


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    """NumPy's own, and small arrays or numbers: nothing is pending."""
    values, there = matrix()
    expected, found = computed_at_once(ROWS[name], values, there)
    if "own bits" in name or name in ("power", "transformed"):
        host.testing.assert_allclose(found, expected, rtol=4e-16 * 4)
    else:
        host.testing.assert_array_equal(found, expected)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda xp, a: a.__setitem__(3, xp.arange(float(N))),
    "number": lambda xp, a: a.__setitem__((slice(3, 7), 5), 2.5),
    "integer": lambda xp, a: a.__setitem__((slice(None, None, -7), 5), 2),
    "element": lambda xp, a: a.__setitem__((3, 4), True),
    "overlapping": lambda xp, a: a[3].__setitem__(slice(1, None), a[3][:-1]),
    "from a row": lambda xp, a: a.__setitem__(3, a[4]),
    "cast": lambda xp, a: a.__setitem__(3, xp.arange(N, dtype="i2")),
    "broadcast": lambda xp, a: a.__setitem__(slice(3, 5), xp.full((1, N), 1.0)),
    "ellipsis": lambda xp, a: a[3, 4:5].__setitem__(..., xp.full((), 1.0)),
    "NumPy's row": lambda xp, a: a.__setitem__(3, host.arange(float(N))),
    "a list": lambda xp, a: a.__setitem__((3, slice(5)), [1, 2.5, True, host.float32(4), -0.0]),
    "list of rows": lambda xp, a: a.__setitem__([3, 5], a[[5, 3]]),
    "positions": lambda xp, a: a.__setitem__(xp.array([3, -1, 3]), a[:3]),
    "positions of both axes": lambda xp, a: a.__setitem__((host.array([3, 4]), [3, 9]), 2.0),
    "positions and a slice": lambda xp, a: a.__setitem__((slice(3, 5), xp.array([1, 1])), 7),
    "onto itself": lambda xp, a: a.__setitem__(xp.array([3, 4]), a[4]),
    "rows of itself": lambda xp, a: a.__setitem__([3, 4], a[4:6]),
    "elements of a row": lambda xp, a: a[3].__setitem__(host.array([5, -1, 5]), [1.0, 2.0, 3.0]),
    "elements of a column": lambda xp, a: a[:, 3].__setitem__(xp.array([[5], [7]]), 2),
    "elements, backwards": lambda xp, a: a[3, ::-2].__setitem__([0, 1, -1], a[3, :3]),
    "copied": lambda xp, a: xp.copyto(a[3], a[4]),
    "output": lambda xp, a: xp.add(a[3], 1.0, out=a[3]),
    "output by position": lambda xp, a: xp.subtract(a[3, 1:], a[3, :-1], a[3, :-1]),
    "output of own bits": lambda xp, a: xp.sin(a[4], out=a[3]),
    "output in a tuple": lambda xp, a: xp.floor(a[3], out=(a[4],)),
    "output of dot": lambda xp, a: xp.dot(a[5:7], a[3], a[4, :2]),
    "output of a method": lambda xp, a: a[5:7].dot(a[3], a[4, :2]),
    "output of clip": lambda xp, a: xp.clip(a[3], 0, 1, a[3]),
    "output of outer": lambda xp, a: xp.outer(a[3, :3], a[4, :3], a[5:8, :3]),
    "cast output": lambda xp, a: xp.add(xp.arange(N, dtype="i2"), 1, out=a[3]),
    "masked": lambda xp, a: xp.putmask(a[3], a[3] > 0, 2.5),
    "masked by rows": lambda xp, a: xp.putmask(a[3:5, :4], a[5:7, :4] > 0, a[3:5, :3]),
    "masked by a list": lambda xp, a: xp.putmask(a[3], host.arange(N) > 7, [1.0, 2.0, 3.0]),
    "placed": lambda xp, a: xp.place(a[3], a[4] > 0, [1.0, 2.0]),
    "put": lambda xp, a: xp.put(a[3:5], [1, -1, N], a[5, :2]),
    "copied where": lambda xp, a: xp.copyto(a[3:5], a[6], where=a[4:6] > 0),
    "number copied where": lambda xp, a: xp.copyto(a[3], 2, where=a[3] > 0),
    "output of a number": lambda xp, a: xp.floor(2.5, out=a[3:5]),
    "output of two numbers": lambda xp, a: xp.add(1, 2.5, a[3:5, 2:7]),
    "output of a pair": lambda xp, a: xp.maximum(a[3:5, 2:6], a[7, :4], out=a[1:3, :4]),
    "output over its operands": lambda xp, a: xp.multiply(a[3:6], a[2:5], out=a[1:4]),
    "output where": lambda xp, a: xp.add(a[3:5], a[6], out=a[1:3], where=a[4:6] > 0),
    "output of a sum": lambda xp, a: xp.sum(a[3:6], axis=0, out=a[1]),
    "output of a mean": lambda xp, a: a[3:6].mean(axis=0, out=a[1]),
    "output of a scan": lambda xp, a: xp.cumsum(a[3:6], axis=0, out=a[3:6]),
    "output of limits": lambda xp, a: xp.clip(a[3], -1, 1, out=a[3]),
    "flat": lambda xp, a: a.flat.__setitem__(slice(3 * N, None, N + 1), 7.0),
    "flat element": lambda xp, a: a.flat.__setitem__(-5, a[3, 4]),
    "in place": lambda xp, a: a[3].__iadd__(a[4]),
    "in place by a number": lambda xp, a: a[3].__imul__(2.0),
    "view": lambda xp, a: a[3].reshape(2, -1).T.__setitem__(0, 7.0),
    "repeating": lambda xp, a: xp.lib.stride_tricks.as_strided(a[3], (3, 3), (8, 8)).__setitem__(
        ..., xp.arange(9.0).reshape(3, 3)
    ),
}


def augmented(xp: Any, a: Any) -> None:
    a[3] += 1.0
    a[4, 2:5] -= xp.full(3, 1.0)


def into_a_small_one(xp: Any, a: Any) -> None:
    scratch = xp.zeros(N)
    kept = xp.multiply(a[3], 0.5, out=scratch)
    assert kept is scratch
    xp.add(scratch, a[4], scratch)
    a[5] = scratch


WRITES["augmented"] = augmented
WRITES["into a small one"] = into_a_small_one
#: Into two elements of a row: sums of a library.
BY_BLAS = ("output of dot", "output of a method")
#: What becomes a new version of the memory.
BY_THE_ENGINE = {"cast", "view", "repeating", "flat", "flat element"} | {
    f"output of {name}"
    for name in ("clip", "dot", "a method", "outer", "a sum", "a mean", "a scan", "limits")
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    """All views see them, what was recorded before keeps what it read, and so do copies."""
    values, there = matrix()
    row, before, copy = there[3], there * 2, there[3].copy()
    part = values.copy()
    for _ in range(3):
        WRITES[name](host, values)
        WRITES[name](lf, there)
        if "own bits" in name:
            host.testing.assert_allclose(lf.asnumpy(there), values, rtol=4e-16)
            values[3] = lf.asnumpy(there[3])
        if name in BY_BLAS and oracle.ON_GPU:
            host.testing.assert_allclose(lf.asnumpy(there), values, rtol=0, atol=1e-12)
            values[4, :2] = lf.asnumpy(there[4, :2])
        host.testing.assert_array_equal(lf.asnumpy(row), values[3])
        host.testing.assert_array_equal(lf.asnumpy(there), values)
    host.testing.assert_array_equal(lf.asnumpy(before), part * 2)
    host.testing.assert_array_equal(lf.asnumpy(copy), part[3])


@pytest.mark.cpu("results at once")
def test_writes_into_settled_memory_are_at_once() -> None:
    """It stays where it is, and nothing is pending."""
    _, there = matrix()
    address = there._storage.node.buffer.pointer
    for name in set(WRITES) - BY_THE_ENGINE:
        WRITES[name](lf, there)
        node = there._storage.node
        assert node.buffer is not None and node.buffer.pointer == address, name


@pytest.mark.cpu("results at once")
def test_filters_of_what_the_mask_is_computed_from() -> None:
    """The array is stored with the mask, not computed twice; few elements are picked at once."""
    values, there = matrix()
    pending = there * 2
    found = pending[pending > 5.0]
    assert found._host is not None and pending._storage.node.buffer is not None
    host.testing.assert_array_equal(lf.asnumpy(found), (values * 2)[values * 2 > 5.0])
    pending[(pending > 4.0) & (pending < 4.5)] *= 2.0
    expected = values * 2
    expected[(expected > 4.0) & (expected < 4.5)] *= 2.0
    host.testing.assert_array_equal(lf.asnumpy(pending), expected)
    unread = there * 3
    assert unread[there > 2.0].shape and unread._storage.node.buffer is None
    assert (pending[pending > -9.0])._host is None  # many


def test_a_mask_is_looked_at_again_after_a_write() -> None:
    """What is known of memory holds for one version."""
    values, there = matrix()
    mask = there > 1.0
    lf.materialize(mask)
    expected = values > 1.0
    for row in range(3):
        found = there[mask]
        host.testing.assert_array_equal(lf.asnumpy(found), values[expected])
        mask[row] = True
        expected[row] = True
        mask[row, 5] = False
        expected[row, 5] = False


SUMS = oracle.Rules(sums=True, strides=False)
READ_ONLY: dict[str, Callable[[Any, Any], Any]] = {
    "copyto": lambda xp, row: xp.copyto(row, 1.0),
    "out": lambda xp, row: xp.add(row, 1.0, out=row),
    "out by position": lambda xp, row: xp.add(row, 1.0, row),
    "out of a method": lambda xp, row: row.cumsum(out=row),
    "put": lambda xp, row: xp.put(row, [1, 2], 9.0),
    "sort": lambda xp, row: row.sort(),
    "fill": lambda xp, row: row.fill(3.0),
    "nan_to_num": lambda xp, row: xp.nan_to_num(row, copy=False, nan=1.0),
    "at": lambda xp, row: xp.add.at(row, [1, 1], 2.0),
    "place": lambda xp, row: xp.place(row, row > 0, [1.0, 2.0]),
    "partition": lambda xp, row: row.partition(7),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_functions_that_write(name: str) -> None:
    """They write the engine's memory, although windows are read-only."""
    values, there = matrix()
    READ_ONLY[name](host, values[3])
    READ_ONLY[name](lf, there[3])
    assert not list(oracle.compare(name, values, lf.asnumpy(there), SUMS))


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda xp, row: xp.reshape(row, (2, -1)),
    "ravel": lambda xp, row: xp.ravel(row),
    "squeeze": lambda xp, row: xp.squeeze(row),
    "split": lambda xp, row: xp.split(row, 4)[2],
    "sections": lambda xp, row: xp.array_split(row, 3)[1],
    "together": lambda xp, row: xp.broadcast_arrays(row, row)[0],
    "at least": lambda xp, row: xp.atleast_2d(row),
    "a list": lambda xp, row: xp.atleast_1d(row, 3.0)[0],
    "itself": lambda xp, row: xp.asarray(row),
    "diagonal": lambda xp, row: xp.diagonal(row.reshape(20, 20)),
    "axes": lambda xp, row: xp.expand_dims(row, 0),
    "method": lambda xp, row: row.swapaxes(0, 0),
    "cast to itself": lambda xp, row: row.astype(float, copy=False),
    "real": lambda xp, row: xp.real(row),
    "windows": lambda xp, row: xp.lib.stride_tricks.sliding_window_view(row, 3),
    "turned": lambda xp, row: xp.rot90(row.reshape(20, 20)),
    "meshgrid": lambda xp, row: xp.meshgrid(row, row, copy=False)[0],
    "unstacked": lambda xp, row: xp.unstack(row.reshape(2, -1))[1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_views(name: str) -> None:
    """Of the engine's memory: a later write is seen through them."""
    values, there = matrix()
    expected, found = VIEWS[name](host, values[3]), VIEWS[name](lf, there[3])
    values[3, 200:] = 5.0
    there[3, 200:] = 5.0
    values[3] *= 2.0
    there *= lf.array([1.0, 2.0])[(lf.arange(N) == 3).astype(int)][:, None]
    host.testing.assert_array_equal(lf.asnumpy(found), expected)


def test_what_has_been_read_keeps_its_value() -> None:
    """An element, a copy, a result: none lies in the engine's memory."""
    values, there = matrix()
    element, doubled, picked = there[3, 4], there[3] + 0.0, there[[3]]
    smallest, copied = there[3].min(keepdims=True), there[3, 4:5].copy()
    there[3] = 7.0
    there -= 100.0
    lf.materialize(there)
    assert element == values[3, 4]
    host.testing.assert_array_equal(lf.asnumpy(doubled), values[3])
    host.testing.assert_array_equal(lf.asnumpy(picked), values[[3]])
    host.testing.assert_array_equal(lf.asnumpy(smallest), values[3].min(keepdims=True))
    host.testing.assert_array_equal(lf.asnumpy(copied), values[3, 4:5])


def test_pending_and_large_results_wait() -> None:
    """Operands that are not computed are not computed for this, and nothing large is."""
    _, there = matrix()
    pending = there + 1
    assert (pending[3] * 2)._host is None
    assert (there[:, None, 3] * there[None, 3])._host is None
    assert lf.multiply(there[:, None, 3], there[None, 3])._host is None
    assert (there * 2)._host is None
    small = lf.arange(float(N))
    assert (small[:, None] * there[3])._host is None


LARGE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a ufunc": lambda xp, column, row: xp.add(column, row),
    "of another dtype": lambda xp, column, row: xp.add(column, row, dtype="f4"),
    "two results": lambda xp, column, row: xp.divmod(column, row)[0],
    "all pairs": lambda xp, column, row: xp.multiply.outer(row, row),
    "outer": lambda xp, column, row: xp.outer(row, row),
    "where": lambda xp, column, row: xp.where(column > 0, row, 1.0),
    "clip": lambda xp, column, row: column.clip(row, 5.0),
    "isclose": lambda xp, column, row: xp.isclose(column, row),
    "a keyword": lambda xp, column, row: xp.clip(row, max=column),
    "a keyword of a method": lambda xp, column, row: row.clip(max=column),
    "a mask": lambda xp, column, row: xp.add(
        row, 1.0, where=host.ones((N, 1), bool), out=xp.zeros((N, N))
    ),
    "tile": lambda xp, column, row: xp.tile(row, 10_000),
    "repeat": lambda xp, column, row: row.repeat(1000),
    "picked": lambda xp, column, row: column[:, xp.zeros(10 * N, int)],
}


@pytest.mark.parametrize("name", LARGE)
def test_large_results_of_small_operands_wait(name: str) -> None:
    """They may be fused into what reads them."""
    values, there = matrix()
    expected = LARGE[name](host, values[:, 3:4], values[3])
    found = LARGE[name](lf, there[:, 3:4], there[3])
    assert found._host is None and found._storage.node.buffer is None
    host.testing.assert_array_equal(lf.asnumpy(found), expected)


LARGER: dict[str, Callable[[Any, Any], Any]] = {
    "padded": lambda xp, row: xp.fft.fft(row, n=50_000),
    "padded by position": lambda xp, row: xp.fft.rfft(row, 50_000),
    "another shape": lambda xp, row: xp.zeros_like(row, shape=(50_000,), dtype=host.dtype("f8")),
    "filled": lambda xp, row: xp.full_like(row, 2, host.dtype("i4"), shape=(50_000,)),
    "repeated": lambda xp, row: xp.repeat(row, repeats=100),
    "by counts": lambda xp, row: xp.repeat(row, host.array([100])),
    "tiled": lambda xp, row: xp.tile(row, host.array([10, 10])),
    "tiled by a scalar": lambda xp, row: xp.tile(row, host.int64(100)),
    "another shape by position": lambda xp, row: xp.ones_like(
        row, None, "K", True, (host.int64(50), host.int64(700))
    ),
    "all pairs of three axes": lambda xp, row: xp.dot(
        row.reshape(-1, 1, 1), row.reshape(-1, 1, 1)
    ),
    "all pairs": lambda xp, row: xp.inner(row.reshape(-1, 1), row.reshape(-1, 1)),
    "joined": lambda xp, row: xp.array([row] * 40),
}


def test_calls_that_lack_an_argument() -> None:
    """Refused as NumPy refuses them."""
    _, there = matrix()
    for name in "dot vdot convolve outer repeat tile full_like".split():
        with pytest.raises(TypeError):
            getattr(lf, name)(there[3])
    with pytest.raises(TypeError):
        there[3].dot()


@pytest.mark.parametrize("name", LARGER)
def test_results_larger_than_the_parts(name: str) -> None:
    """They belong to the engine; a dtype among the arguments is its own base."""
    values, there = matrix()
    for value, own in ((values[3], there[3]), (values[3].copy(), lf.array(values[3]))):
        expected, found = LARGER[name](host, value), LARGER[name](lf, own)
        assert found._host is None and found.dtype == expected.dtype
        host.testing.assert_allclose(lf.asnumpy(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["matmul", "vecdot", "matvec", "vecmat"])
def test_products_by_numpys_names(name: str) -> None:
    """NumPy's ufuncs over vectors, on what is at hand, large and pending."""
    values, there = matrix()
    function = getattr(host, name)
    for pick in (lambda a: a[:4], lambda a: a, lambda a: a + 1):
        second = host.ones((N, 6)) if name == "matmul" else host.ones(4 if name == "vecmat" else N)
        first = pick(values)
        if name == "vecmat":
            second = host.ones(len(first))
            first, second = second, first
            found = function(lf.array(first), pick(there))
        else:
            found = function(pick(there), second)
        host.testing.assert_allclose(lf.asnumpy(found), function(first, second), rtol=1e-12)


def test_unbuffered_writes_leave_alone_what_was_read() -> None:
    """NumPy's `at` writes read-only arrays, too."""
    values, there = matrix()
    seen, pending, mask = lf.asnumpy(there), there * 2, there > 1.0
    lf.materialize(mask)
    count = int(mask.sum())
    lf.add.at(there[0], [0, 0], 100.0)
    host.testing.assert_array_equal(seen, values)
    host.testing.assert_array_equal(lf.asnumpy(pending), values * 2)
    assert there[mask].shape == (count,)
    lf.logical_xor.at(mask[0], [0], True)
    assert there[mask].shape[0] in (count - 1, count + 1)
    there.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lf.add.at(there[0], [0], 1.0)


def test_nobody_keeps_a_window() -> None:
    """Neither an array of objects nor a callback: the memory may get other values."""
    values, there = matrix()
    kept: list[Any] = []
    rows = [there[0, :3], there[0, :2]]
    ragged = lf.array(rows, dtype=object)
    lf.apply_along_axis(lambda row: kept.append(row) or row.sum(), 1, there[:3])
    assert {type(each) for each in kept} == {lf.LazyArray}
    del rows
    there[:] = 9.0
    there *= 2.0
    lf.materialize(there)
    host.testing.assert_array_equal(lf.asnumpy(ragged[0]), values[0, :3])
    assert len(kept) == 3


def test_flags_are_the_arrays() -> None:
    _, there = matrix()
    row = there[3]
    row.setflags(write=False)
    assert not row.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1.0
    there.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        there[0, 0] = 5.0


def test_outputs_are_the_engines_memory() -> None:
    """Also where NumPy refuses what it could not write for another reason."""
    values, there = matrix()
    lf.dot(lf.eye(N), there[2] * 1, out=there[1])
    host.testing.assert_array_equal(lf.asnumpy(there[1]), values[2])
    required = lf.require(there[3], requirements="W")
    required[0] = 99.0
    assert there[3, 0] == 99.0
    row = there[4]
    assert lf.median(row, overwrite_input=True) == host.median(values[4])


@pytest.mark.cpu("floating point flags")
def test_handlers_may_use_the_array() -> None:
    """What they record keeps what it reads, and no lock is held."""
    values, there = matrix()
    recorded: list[Any] = []

    def hear(*_: Any) -> None:
        thread = threading.Thread(target=lambda: recorded.append(lf.asnumpy(lf.ones(9) * 2)))
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        recorded.append(there * 2)

    row = there[3, :5]
    with host.errstate(divide="call", call=hear):
        row /= 0.0
        there[4, :5] = there[5, :5] / lf.zeros(5)
    there[10] = 777.0
    host.testing.assert_array_equal(lf.asnumpy(recorded[1][10]), values[10] * 2)
    assert len(recorded) == 4


def test_moduli_of_complex_numbers_are_the_kernels() -> None:
    """Their bits are not NumPy's."""
    draw = host.random.default_rng(1)
    values = draw.normal(size=2000) + 1j * draw.normal(size=2000)
    with lf.options(eager_size=0):
        there = lf.array(values)
        expected = lf.asnumpy(abs(there))
    with host.errstate(all="ignore"):
        assert (expected != abs(values)).any()
    for found in (abs(there), lf.absolute(there), lf.absolute(there, where=True)):
        host.testing.assert_array_equal(lf.asnumpy(found), expected)


def test_functions_of_many_writes_are_recorded() -> None:
    def program(x: Any) -> Any:
        result = x * 2
        for step in range(20):
            result[step * 1000 : (step + 1) * 1000] = x[:1000] * step
        return result * 1

    fused = lf.fuse(program)
    for step in range(6):
        values = host.arange(50_000.0) + step
        host.testing.assert_array_equal(lf.asnumpy(fused(lf.array(values))), program(values))
    assert fused.replays > 0


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", ("zeros", "ones", "arange", "full"))
def test_elements_of_what_is_filled(name: str) -> None:
    """The first one has the array written: each would be a kernel of its own else."""
    made = {"full": lambda: lf.full(200_000, 2.5)}.get(name, lambda: getattr(lf, name)(200_000))
    wanted = {"zeros": 0.0, "ones": 1.0, "arange": 7, "full": 2.5}[name]
    array = made()
    assert array._storage.node.buffer is None
    element = array[7]
    assert isinstance(element, host.generic) and element == wanted
    assert element.dtype == array.dtype and array._storage.node.buffer is not None
    array[7] = 3
    assert element == wanted and array[7] == 3
    with lf.options(eager_size=0):
        later = made()
        assert type(later[7]) is lf.LazyScalar and later._storage.node.buffer is None


PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda np, a: a[3] + 1, "a slice": lambda np, a: a[3, 2:9] * a[4, 2:9],
    "rows": lambda np, a: a[[3, 5, 7]], "places": lambda np, a: a[np.array([1, 2]), 5],
    "taken": lambda np, a: np.take(a, np.array([1, 2]), 0), "a column": lambda np, a: -a[:, 3],
    "an element": lambda np, a: a[3, 3], "a row in place": lambda np, a: a[3].__iadd__(1),
}  # fmt: skip


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("filled", ("zeros", "ones", "full"))
def test_parts_of_what_is_filled(filled: str, name: str) -> None:
    """They are at hand: the array is written when the first one is wanted; not where a recording
    has to see it, nor where nothing is done at once."""

    def make(np: Any) -> Any:
        return np.full((N, N), 2.5) if filled == "full" else getattr(np, filled)((N, N))

    expected, array = make(host), make(lf)
    wanted, found = PARTS[name](host, expected), PARTS[name](lf, array)
    assert array._storage.node.buffer is not None
    host.testing.assert_array_equal(lf.asnumpy(found), wanted)
    host.testing.assert_array_equal(lf.asnumpy(array), expected)
    with lf.options(eager_size=0):
        later = make(lf)
        PARTS[name](lf, later)
        assert later._storage.node.buffer is None or name in ("taken", "places")

    def program(x: Any) -> Any:
        a = make(lf)
        return PARTS[name](lf, a) * x[0, 0], a * x

    fused = lf.fuse(program)
    for step in range(4):
        x = host.full((N, N), float(step))
        given = fused(lf.array(x))
        host.testing.assert_array_equal(lf.asnumpy(given[1]), expected * x)


def test_what_fuse_records_is_recorded() -> None:
    """A row is not taken for a constant, and neither is an element, which is asked for."""
    values, _ = matrix()
    fused = lf.fuse(lambda a, x: (a[3] * x, a[2].sum(), a[1] + 1))
    asking = lf.fuse(lambda a, x: a[3] * x + a[4, 5])
    for step in range(6):
        x = host.full(N, float(step))
        for plus in (0.0, 1.0):
            there = lf.array(values + plus)
            found = fused(there, lf.array(x))
            host.testing.assert_array_equal(lf.asnumpy(found[0]), (values + plus)[3] * x)
            apart = abs(float(found[1]) - (values + plus)[2].sum())
            assert apart <= (1e-12 if oracle.ON_GPU else 0.0)
            host.testing.assert_array_equal(lf.asnumpy(found[2]), (values + plus)[1] + 1)
            found = asking(there, lf.array(x))
            expected = (values + plus)[3] * x + (values + plus)[4, 5]
            host.testing.assert_array_equal(lf.asnumpy(found), expected)
    assert fused.replays > 0


@pytest.mark.cpu("floating point flags")
def test_errors_and_warnings_are_at_the_users_line() -> None:
    """They are NumPy's, at the call."""
    _, there = matrix()
    with pytest.raises(ValueError, match="could not be broadcast"):
        there[3] + lf.ones(3)
    with pytest.raises(IndexError, match="out of bounds"):
        there[3, N]
    with pytest.raises(ValueError, match="could not broadcast"):
        there[3] = lf.ones(3)
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
        there[3] / lf.zeros(N)
    assert caught[0].filename == str(Path(__file__))
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
        there[3] /= 0.0
    assert caught[0].filename == str(Path(__file__))
    with host.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1.0 / lf.zeros((3, N * N))[0, :9]
    with host.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1.0 / (there[5] * 0.0)
    integers = lf.array(host.ones((N, N), int))
    with pytest.raises(TypeError, match="cast"):
        integers[3] += 0.5
    with pytest.raises(OverflowError):
        integers[3, 3] = 1 << 70
    assert lf.asnumpy(integers[3]).sum() == N


def test_numbers_whose_conversion_is_an_error_are_not_written() -> None:
    half = lf.array(host.zeros(20_000, "f2"))
    lf.materialize(half)
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        half[3:5] = 1e10
    assert not lf.asnumpy(half).any()
    with pytest.warns(RuntimeWarning, match="overflow"):
        half[3:5] = 1e10
    assert host.isinf(lf.asnumpy(half)).sum() == 2


def test_read_only_arrays_stay_so() -> None:
    _, there = matrix()
    row = lf.broadcast_to(there[3], (2, N))
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1.0
    there.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        there[3] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        there[3] += 1.0


def test_memory_that_others_see_is_not_written() -> None:
    """NumPy's view of the memory keeps what it was given."""
    values, there = matrix()
    seen = lf.asnumpy(there)
    there[3] = 1.0
    there[4] += 1.0
    host.testing.assert_array_equal(seen, values)
    assert lf.asnumpy(there[3]).sum() == N


def test_threads_read_what_another_one_replaces() -> None:
    """The memory of a version lives as long as NumPy reads it."""
    values, there = matrix()
    wrong: list[Any] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            row = lf.asnumpy(there[3] * 1.0)
            if row.min() != row.max():
                wrong.append(row)

    there[3] = 0.0
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for step in range(300):
        there += 1.0
        lf.materialize(there)
        if step % 50 == 0:
            _ = lf.ones((N, N)) * step
    over.set()
    for reader in readers:
        reader.join()
    assert not wrong


NUMBERS = (
    2.5, -0.0, float("nan"), float("inf"), 3, -1, 2**40, 2**63, 2**70, -(2**63), 10**400, True,
    host.float64(1.5), host.float32(0.1), host.int64(-7), host.uint8(200), host.bool_(True), 1j,
    None, "7", "a", host.longdouble(0.5), [4.0],
)  # fmt: skip
PLACES = (
    (3, 4), (-1, -1), (N, 0), (0, -N - 1), 5, (2,), (2, 3, 4), (True, 1), (host.int64(3), 2),
    (slice(2, 3), 1), (2**70, 0), (1.0, 2), (..., 3, 3), (None, 3, 3),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "i8", "b1", "f4", "u1", "c16"])
def test_numbers_are_written(dtype: str) -> None:
    """What the dtype holds, what it does not, and what is no number; inside and outside."""
    values = host.random.default_rng(1).integers(0, 2, (N, N)).astype(dtype)
    there = lf.array(values)
    lf.materialize(there)
    for turn in (lambda a: a, lambda a: a.T, lambda a: a[::-2, 3:]):
        for number in NUMBERS:
            for place in PLACES if number in (2.5, 3, True) else PLACES[:3]:
                said = []
                for array in (values, there):
                    try:
                        with host.errstate(all="ignore"):
                            turn(array)[place] = number
                        said.append(None)
                    except Exception as error:
                        said.append(type(error))
                assert said[0] == said[1], (number, place)
        host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_a_number_is_written_where_it_may_be() -> None:
    """Not into memory that is read-only; what has been read, and views, are as they were."""
    values, there = matrix()
    pending, seen, element, row = there + 1, lf.asnumpy(there), there[3, 4], there[3]
    there[3, 4] = 100.0
    assert element == values[3, 4] == seen[3, 4]
    assert row[4] == 100.0 == float(there[3, 4])
    assert lf.asnumpy(pending)[3, 4] == values[3, 4] + 1
    there.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        there[3, 4] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        lf.broadcast_to(there[0], (3, N))[1, 1] = 5.0
    assert float(there[3, 4]) == 100.0


def test_numbers_are_written_from_threads() -> None:
    """Each into its own half; nothing is lost."""
    there = lf.zeros((N, N)) + 0.0
    lf.materialize(there)

    def write(start: int) -> None:
        for number in range(start, N, 2):
            there[number, number] = float(number)
            there[number] += 1.0

    threads = [threading.Thread(target=write, args=(start,)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = host.ones((N, N)) + host.diag(host.arange(float(N)))
    host.testing.assert_array_equal(lf.asnumpy(there), expected)


OBJECTS: dict[str, Callable[[Any, Any], Any]] = {
    "whole": lambda xp, a: a,
    "row": lambda xp, a: a[3],
    "column": lambda xp, a: a[:, 3],
    "block": lambda xp, a: a[3:5, None, ::-1],
    "turned": lambda xp, a: a.T,
    "empty": lambda xp, a: a[:0],
    "pending": lambda xp, a: a * 2,
    "other dtype": lambda xp, a: a.view("i8"),
    "half": lambda xp, a: a.view("c16").real,
    "comparison": lambda xp, a: a > 0,
    "element": lambda xp, a: a[3, 4],
    "axes": lambda xp, a: a[3, 4, ...],
    "sum": lambda xp, a: (a * 2).sum(),
    "small": lambda xp, a: xp.arange(6.0).reshape(2, 3),
    "small of none": lambda xp, a: xp.array(3.0),
    "bytes": lambda xp, a: xp.arange(6.0).view("u1"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_attributes(name: str) -> None:
    """Of arrays of all kinds; asking computes nothing, and some can be set."""
    values, there = matrix()
    expected, found = OBJECTS[name](host, values), OBJECTS[name](lf, there)
    for word in ("shape", "ndim", "size", "dtype"):
        assert getattr(found, word) == getattr(expected, word), word
        assert type(getattr(found, word)) is type(getattr(expected, word)), word
    turned = found.T
    assert (turned.shape, turned.dtype) == (expected.T.shape, expected.dtype)
    assert name not in ("pending", "comparison") or found._storage.node.buffer is None
    assert not list(oracle.compare(name, host.asarray(expected.T), lf.asnumpy(turned), SUMS))
    if expected.shape:
        assert len(found) == len(expected)
    else:
        with pytest.raises(TypeError):
            len(found)
    for word in ("ndim", "size", "T"):
        with pytest.raises(AttributeError):
            setattr(found, word, 3)
    for word in ("shape", "ndim", "T"):
        with pytest.raises(AttributeError):
            delattr(found, word)


def test_what_is_turned_is_a_view() -> None:
    """Of the engine's memory, and of a small array."""
    for array in (matrix()[1], lf.arange(6.0).reshape(2, 3).copy()):
        turned = array.T
        assert turned.base is array and turned.T.base is array
        turned[1, 0] = 50.0
        assert float(array[0, 1]) == 50.0
        array.flags.writeable = False
        assert not array.T.flags.writeable


def test_shapes_and_dtypes_are_set() -> None:
    for array in (matrix()[1], lf.arange(6.0).reshape(2, 3).copy()):
        size = array.size
        array.shape = (-1,)
        assert array.shape == (size,) and len(array) == size
        with pytest.raises((ValueError, AttributeError)):
            array.shape = (7, 11, 13)
        array.dtype = "i8"
        assert array.dtype == host.int64 and array.shape == (size,)


def test_sizes_that_are_huge() -> None:
    """They are what Python's integers say."""
    row = matrix()[1][0]
    for shape in ((2**50, N), (2**40, 2**20, N), (2**62, N)):
        assert lf.broadcast_to(row, shape).size == host.prod([*map(int, shape)], dtype=object)


def test_dtypes_that_are_not_ours_are_not_set() -> None:
    for dtype in ("M8[ns]", "S8", "V8", ">f8", "f4,f4"):
        for array in (matrix()[1], lf.arange(6.0).copy()):
            with pytest.raises(TypeError, match="cannot set the dtype"):
                array.dtype = dtype
            assert array.dtype == host.float64


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_parts_of_nothing(size: int) -> None:
    """Arrays without elements are at hand where others are, and nowhere else."""

    def program(xp: Any, a: Any) -> Any:
        a[:] = a[..., 1:2]
        return [a + a[..., :1], a.sum(), a @ xp.ones(3), xp.concatenate([a, a[:0]])]

    with lf.options(eager_size=size):
        oracle.check(program, host.empty((0, 3)))


SAID: dict[str, Callable[[Any, Any], Any]] = {
    "complex copied where": lambda xp, a: xp.copyto(
        a[3], a[4] * 1j, casting="unsafe", where=a[5] > 0
    ),
    "complex put": lambda xp, a: a[3].put([0, 1], a[4, :2] * 1j),
    "complex by a mask": lambda xp, a: xp.putmask(a[3], a[3] > 0, a[4] * 1j),
    "limit of half precision": lambda xp, a: a.astype("f2")[3:5].put([0, 10**9], [2.0, 2**70]),
    "infinite where": lambda xp, a: xp.divide(a[3], 0.0, out=a[4], where=a[5] > 0),
    "infinite": lambda xp, a: xp.multiply(a[3], 1e308, out=a[4]),
    "output that is no matrix": lambda xp, a: xp.dot(a[:3, :4], a[:4, :3], out=a[:3, :3]),
    "output of another shape": lambda xp, a: xp.divide(a[3], 0.0, out=a[4, :7]),
    "output to read": lambda xp, a: xp.divide(a[3], 0.0, out=xp.broadcast_to(a[4], (1, N))),
}


@pytest.mark.cpu("conditions are told")
@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    """The same warnings, at the user's line, and the same errors; and the same is written."""
    values, there = matrix()
    told = []
    for xp, array in ((host, values), (lf, there)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            error: list[type] = []
            try:
                SAID[name](xp, array)
            except (ValueError, TypeError, IndexError) as raised:
                error.append(type(raised))
            lf.materialize(there)
        told.append(([(each.category, each.filename) for each in heard], error))
    assert told[0] == told[1]
    host.testing.assert_array_equal(lf.asnumpy(there), values)
