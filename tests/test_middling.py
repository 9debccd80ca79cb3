"""Arrays that are larger than small ones, in computed memory: NumPy computes at once what fuses
with nothing (`middling` of `ops/rules.py`), and all is as it is with NumPy's."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend import small
from lazyfuse.ops import rules
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_namespace import test_calls  # noqa: E402, F401 - again, on such arrays
from tests.test_namespace_aliasing import (  # noqa: E402
    test_aliasing,  # noqa: F401 - likewise
    test_in_place,  # noqa: F401 - likewise
)
from tests.test_windows import in_the_engine  # noqa: E402

N = 5_000


@pytest.fixture(autouse=True)
def middling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inputs are parts of computed memory of the engine, and hardly any is small."""
    monkeypatch.setattr(oracle, "to_lazy", in_the_engine)
    with lf.options(eager_size=2):
        yield


def vectors() -> dict[str, host.ndarray]:
    """Some of NumPy's arrays, by their names in `CALLS`."""
    draw = host.random.default_rng(3)
    return {
        "x": draw.normal(size=N),
        "y": draw.normal(size=N),
        "k": draw.integers(0, 50, N),
        "b": draw.random(N) < 0.5,
        "m": draw.normal(size=(50, 100)),
        "t": draw.normal(size=(N // 3, 3)),
        "gaps": host.where(draw.random(N) < 0.1, host.nan, draw.normal(size=N)),
    }


def in_memory() -> dict[str, Any]:
    """The same of ours, computed, and not small."""
    ours = {name: lf.array(value) for name, value in vectors().items()}
    lf.materialize(*ours.values())
    assert all(array._host is None for array in ours.values())
    return ours


def computed(value: Any) -> Any:
    """An array of NumPy's as one of ours, computed; all else as it is."""
    if not isinstance(value, host.ndarray):
        return value
    array = lf.array(value)
    lf.materialize(array)
    return array


CALLS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "any": lambda xp, d: (xp.any(d["b"]), d["b"].any(), xp.all(d["b"]), d["m"].all(axis=0)),
    "max": lambda xp, d: (xp.max(d["x"]), d["m"].max(1), d["x"].min(), xp.nanmax(d["gaps"])),
    "trace": lambda xp, d: (xp.trace(d["m"]), d["m"].trace()),
    "norm": lambda xp, d: (xp.linalg.norm(d["x"]), xp.linalg.norm(d["m"], axis=1)),
    "found": lambda xp, d: (
        xp.flatnonzero(d["b"]),
        xp.argwhere(d["b"]),
        xp.nonzero(d["b"]),
        xp.nonzero(d["m"] > 0),
        d["k"].nonzero(),
        xp.argmax(d["x"]),
    ),
    "products": lambda xp, d: (
        xp.dot(d["x"], d["y"]),
        xp.vdot(d["x"], d["y"]),
        d["m"] @ d["m"].T,
        d["m"].T @ d["m"],
        d["m"] @ d["x"][:100],
        d["x"][:50] @ d["m"],
        d["t"] @ xp.eye(3),
        d["k"][:50, None] @ d["k"][None, :90],
    ),
    "by places": lambda xp, d: (
        d["x"][d["k"]],
        d["m"][d["k"] % 50],
        d["k"][d["k"] - 50],
        d["x"][d["k"].reshape(50, 100)],
        d["b"][d["k"][:3]],
    ),
    "of ufuncs": lambda xp, d: (
        xp.add.reduceat(d["x"], d["k"][:40]),
        xp.maximum.reduceat(d["m"], [0, 3], axis=0),
        xp.maximum.accumulate(d["x"]),
        xp.add.reduce(d["m"]),
        xp.multiply.reduce(d["b"]),
    ),
    "joined": lambda xp, d: (
        xp.concatenate([d["x"], d["y"]]),
        xp.stack([d["x"], d["y"]], axis=1),
        xp.column_stack([d["x"], d["k"]]),
        xp.append(d["x"], 1.0),
    ),
    "moved": lambda xp, d: (
        xp.roll(d["x"], 3),
        xp.roll(d["m"], 1),
        xp.tile(d["m"], (2, 3)),
        xp.tile(d["x"], 2),
        xp.repeat(d["x"], 3),
        xp.repeat(d["k"][:50], d["k"][:50]),
        xp.repeat(d["m"], 2, axis=0),
        d["m"].repeat(repeats=3, axis=1),
        d["m"].repeat([2] * 50, axis=0),
        xp.ascontiguousarray(d["m"].T),
        xp.asfortranarray(d["m"]),
        xp.asfortranarray(d["m"], "f4"),
        xp.zeros_like(d["m"]),
        xp.pad(d["m"], 2, mode="edge"),
        xp.fft.fftshift(d["x"]),
        xp.insert(d["x"], 5, 1.0),
        xp.delete(d["x"], [1, 2]),
    ),
    "sorted": lambda xp, d: (
        xp.sort(d["x"]),
        xp.argsort(d["m"], axis=0),
        xp.partition(d["x"], 10)[10],
        xp.unique(d["k"], return_counts=True),
        xp.lexsort((d["x"], d["k"])),
    ),
    "searched": lambda xp, d: (
        xp.searchsorted(xp.sort(d["x"]), d["y"]),
        xp.digitize(d["x"], xp.linspace(-1, 1, 9)),
        xp.interp(d["x"], xp.linspace(-1, 1, 9), xp.linspace(0, 1, 9), left=-5.0),
        xp.isin(d["k"], [3, 4]),
        xp.array_equal(d["x"], d["y"]),
    ),
    "counted": lambda xp, d: (
        xp.bincount(d["k"]),
        xp.bincount(d["k"], weights=d["x"]),
        xp.histogram(d["x"], 10),
        xp.histogram(d["x"], 10, weights=d["y"]),
        xp.count_nonzero(d["b"]),
    ),
    "compared": lambda xp, d: (
        xp.isclose(d["x"], d["y"]),
        xp.isclose(d["gaps"], d["gaps"], equal_nan=True, rtol=0.5),
        xp.isclose(d["x"], 0.5, atol=d["y"]),
        xp.allclose(d["x"], d["x"] + 1e-12),
        xp.allclose(d["m"], d["m"][0]),
    ),
    "by indices": lambda xp, d: (
        xp.einsum("ij,j->i", d["m"], d["m"][0]),
        xp.einsum("ij->ji", d["m"]),
        xp.einsum("ii->i", d["m"][:, :50]),
        xp.einsum("i,i,i->", d["x"], d["y"], d["k"]),
        xp.einsum("ij,kj->ik", d["m"], d["m"], optimize=True),
        xp.einsum(d["m"], [0, 1], [1]),
        xp.einsum(d["m"], [0, 1], [1, 0]),
        xp.einsum("i,j->ij", d["k"][:90], d["k"][:80]),
        xp.einsum("...j,j", d["m"], d["x"][:100], dtype="f4", casting="unsafe"),
    ),
    "slid": lambda xp, d: (xp.convolve(d["x"], d["y"][:5]), xp.correlate(d["x"], d["y"][:3])),
    "folded": lambda xp, d: (
        xp.add.reduceat(d["x"], [0, 10, 500]),
        xp.average(d["x"], weights=d["y"]),
        xp.ptp(d["x"]),
        xp.nansum(d["gaps"]),
        xp.nanmean(d["gaps"]),
        xp.nanstd(d["gaps"]),
        xp.nanargmax(d["gaps"]),
    ),
    "composed": lambda xp, d: (
        xp.gradient(d["x"]),
        xp.gradient(d["m"]),
        xp.ediff1d(d["x"]),
        xp.cross(d["t"], d["t"][::-1]),
        xp.tril(d["m"]),
        xp.take(d["x"], d["k"]),
        xp.meshgrid(d["x"][:50], d["y"][:40]),
        xp.kron(d["m"], xp.eye(2)),
        xp.outer(d["x"][:300], d["y"][:200]),
        xp.outer(d["m"][:2], d["k"][:90]),
        xp.subtract.outer(d["x"][:300], d["k"][:200]),
        xp.add.outer(d["k"][:9], d["m"][:3]),
        xp.cov(d["m"]),
    ),
    "filled": lambda xp, d: (
        xp.nan_to_num(d["gaps"]),
        xp.nan_to_num(d["gaps"].astype("f4"), nan=2.5, posinf=1e300),
        xp.nan_to_num(1 / xp.floor(d["x"]), posinf=3, neginf=-4.0),
    ),
    "picked": lambda xp, d: (
        xp.extract(d["b"], d["x"]),
        xp.extract(d["k"] > 25, d["k"]),
        xp.compress(d["b"], d["x"]),
        xp.compress([True, False, True], d["m"], axis=0),
    ),
    "transformed": lambda xp, d: (xp.fft.rfft(d["x"]), xp.fft.fft2(d["m"]), xp.packbits(d["b"])),
    "by position": lambda xp, d: (xp.take(d["m"], [1, 2], 0), xp.resize(d["x"], (30, 40))),
}


def flat(value: Any) -> list[Any]:
    """All results in tuples and lists."""
    is_many = isinstance(value, tuple | list)
    return [item for each in value for item in flat(each)] if is_many else [value]


def read(call: Callable[[Any, dict[str, Any]], Any], xp: Any, d: dict[str, Any]) -> Any:
    """The results."""
    return flat(call(xp, d))


def written(call: Callable[[Any, dict[str, Any]], Any], xp: Any, d: dict[str, Any]) -> Any:
    """The results, written: nothing that was given changes."""
    found = flat(call(xp, d))
    for result in found:
        if isinstance(result, lf.LazyArray | host.ndarray) and result.ndim:
            result[...] = 77
    return found


def kept(call: Callable[[Any, dict[str, Any]], Any], xp: Any, d: dict[str, Any]) -> Any:
    """The results, which do not change with what was given."""
    found = flat(call(xp, d))
    for array in d.values():
        array[...] = 1
    return found


@pytest.mark.parametrize("use", [read, written, kept])
@pytest.mark.parametrize("name", CALLS)
def test_results(name: str, use: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy's, in their own memory; of whole arrays, and of parts that lie apart, of which BLAS
    sums in another order."""
    values = vectors()

    def program(xp: Any, *arrays: Any) -> Any:
        given = dict(zip(values, arrays, strict=True))
        CALLS[name](xp, given)  # machine code knows now what the results are like
        return use(CALLS[name], xp, given)

    oracle.check(program, *values.values(), ulp=64, normwise=True, sums=True)
    monkeypatch.setattr(oracle, "to_lazy", computed)
    oracle.check(program, *values.values(), sums=True)


def test_outputs_are_no_operands() -> None:
    """An output by position is written through the array, not behind its back."""
    theirs, ours = vectors(), in_memory()
    given = lf.asnumpy(ours["y"])
    before, view = given.copy(), ours["y"][:]
    lf.take(ours["x"], ours["k"], 0, ours["y"])
    host.testing.assert_array_equal(lf.asnumpy(view), host.take(theirs["x"], theirs["k"], 0))
    host.testing.assert_array_equal(given, before)


def test_pending_operands_wait() -> None:
    """What is pending fuses with what is recorded on it."""
    ours = in_memory()
    found = lf.concatenate([ours["x"] * 2, ours["y"] + 1])
    assert found._host is None and found._storage.node.buffer is None


def test_only_so_large() -> None:
    """Above a size calls are recorded."""
    values = host.random.default_rng(0).random(rules.middling("sort").most + 1)
    array = lf.array(values)
    lf.materialize(array)
    found = lf.sort(array)
    assert found._storage.node.buffer is None
    host.testing.assert_array_equal(lf.asnumpy(found), host.sort(values))


@pytest.mark.cpu("results at once")
def test_middling_results_of_small_operands() -> None:
    """Grids and repetitions are computed at once up to a size, also by an axis that is named."""
    ours = in_memory()
    x, m = ours["x"], ours["m"]
    for found in (
        lf.outer(x[:300], x[:200]), lf.repeat(m, 8, axis=0), lf.repeat(m, 8, 0),
        m.repeat(8, axis=1),
    ):  # fmt: skip
        assert found._storage.node.buffer is not None
    for found in (lf.outer(x, x), lf.repeat(m, 800, axis=0)):
        assert found._storage.node.buffer is None


def test_fallbacks_are_told() -> None:
    """What leaves the engine is counted, or refused, as it is of larger arrays."""
    ours = in_memory()
    before = lf.stats().fallbacks
    lf.unique(ours["k"])
    assert lf.stats().fallbacks == before + 1
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError, match="unique"):
        lf.unique(ours["k"])


@pytest.mark.cpu("results at once")
def test_nothing_is_copied() -> None:
    """Neither of operands, as NumPy's functions do with read-only ones, nor of results."""
    values = host.random.default_rng(0).integers(0, 9, 1 << 18)
    array = lf.array(values)
    lf.materialize(array)
    lf.bincount(array), lf.delete(array, 5)
    for call, most in (
        (lf.bincount, 1 << 16),
        (lambda x: lf.delete(x, 5), values.nbytes * 3 // 2),
    ):
        tracemalloc.start()
        try:
            call(array)
            assert tracemalloc.get_traced_memory()[1] < most
        finally:
            tracemalloc.stop()


def test_outputs_by_name_first() -> None:
    """An output is never among the operands, wherever it stands."""
    for name in ("max", "sum", "any", "argmax", "nanmax", "trace", "ptp", "stack"):
        ours = in_memory()
        target = ours["m"] if name != "argmax" else lf.array(host.zeros((50, 100), int))
        copy, given, pending = target.copy(), lf.asnumpy(target), target * 2
        before = given.copy()
        row = target[:1, :50] if name == "stack" else target[0, :50]
        if name == "stack":
            lf.stack(out=row, arrays=[lf.ones(50)])
        elif name == "trace":
            lf.trace(out=row, a=lf.ones((3, 3, 50)))
        elif name == "any":
            lf.any(out=row, a=lf.ones((3, 50)), axis=0)
        else:
            getattr(lf, name)(out=row, a=lf.ones((3, 50)), axis=0)
        host.testing.assert_array_equal(given, before, err_msg=name)
        host.testing.assert_array_equal(lf.asnumpy(copy), before, err_msg=name)
        host.testing.assert_array_equal(lf.asnumpy(pending), before * 2, err_msg=name)
        assert (lf.asnumpy(row) == (0 if name in ("argmax", "ptp") else 3 if name == "sum" else
                                    3 if name == "trace" else 1)).all(), name  # fmt: skip


def test_large_results_wait() -> None:
    """Grids that are as large as a product are not made where a few of their elements are read."""
    x = lf.arange(100_000.0)
    y = lf.array(host.arange(100_000.0))
    lf.materialize(y)
    with lf.options(eager_size=30_000):
        across, down = lf.meshgrid(x, y)
        assert float((across + down)[3, 4]) == 7.0


def test_memory_of_others_is_copied() -> None:
    """What a function gives may be a view of what a function of the user's keeps."""
    kept = host.arange(float(N))
    found = small.lift(kept.reshape(50, -1))
    kept[...] = -7.0
    host.testing.assert_array_equal(lf.asnumpy(found).ravel(), host.arange(float(N)))
    own = small.lift(host.arange(float(N)).reshape(50, -1))
    host.testing.assert_array_equal(lf.asnumpy(own).ravel(), host.arange(float(N)))


def test_words_of_nan_to_num() -> None:
    """A number that the dtype has not is told of once, at the user's line."""
    singles = computed(host.full(N, 3e38, "f4"))
    with pytest.warns(RuntimeWarning, match="overflow") as heard:
        lf.materialize(lf.nan_to_num(singles, posinf=1e300))
    assert [each.filename for each in heard] == [__file__]


def test_half_precision_is_the_kernels() -> None:
    """NumPy has no fast code for it; the results are the same."""
    values = host.random.default_rng(5).random(N).astype("f2")
    array = computed(values)
    found = lf.max(array)
    assert isinstance(found, lf.LazyScalar)  # recorded
    assert found == values.max()


def test_parts_fuse_with_rows() -> None:
    """Reductions along an axis are recorded: softmax is one kernel."""
    array = in_memory()["m"]
    found = lf.exp(array - lf.max(array, axis=1, keepdims=True))
    assert found._host is None and found._storage.node.srcs[0].srcs[1].buffer is None


def test_memory_of_arguments_stays_theirs() -> None:
    """What a function gives back, which is an argument, was taken for a new array, where one of
    that shape had been made before: writes into one were seen in the other."""
    for size in (4, N):
        for name in ("asarray", "ascontiguousarray", "atleast_1d", "ravel", "squeeze", "real"):
            for _ in range(3):
                lf.roll(lf.asarray(host.arange(float(size))), 3)  # such an array is new
                given = host.arange(float(size))
                found = lf.asarray(getattr(lf, name)(given))
                given[0] = -1.0
                assert float(found[0]) == 0.0, (name, size)


def test_views_of_one_result() -> None:
    """Each of several results has its own memory, or that of all, as NumPy's has: nobody writes
    into what another one keeps."""
    mask = computed(host.ones((50, 100), bool))
    for _ in range(3):
        rows, columns = lf.nonzero(mask)
        rows[...] = -1
        assert (lf.asnumpy(columns) == host.tile(host.arange(100), 50)).all()
        whole = lf.argwhere(mask)
        whole[:, 0] = -1
        assert (lf.asnumpy(whole[:, 1]) == host.tile(host.arange(100), 50)).all()


def test_memory_comes_back() -> None:
    """Of results that machine code has made, when they go."""
    array, key = computed(host.arange(float(N))), computed(host.arange(N))
    square = computed(host.ones((70, 70)))
    calls = lambda: (lf.roll(array, 3), array[key], square @ square, lf.nonzero(key))  # noqa: E731
    for _ in range(3):
        calls()

    def left() -> int:
        gc.collect()
        tracemalloc.start()
        try:
            for _ in range(200):
                calls()
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert min(left() for _ in range(3)) < 40 * N  # something is imported meanwhile, once


def test_writes_through_places() -> None:
    """As NumPy's, with its errors: nothing is written then; what was read before stays."""
    values = {
        "x": host.arange(float(N)), "k": host.arange(N), "h": host.zeros(N, "f4"),
        "i": host.array([3, -1, 3, 70]), "u": host.array([3, 9], "u1"),
    }  # fmt: skip
    keys = ["i", "u", [5, 6], host.array([[1, 2], [3, 4]]), host.array(3), [True, False], [],
            [N], host.array([1, -N - 1]), host.array([1.0]), [2**70],
            host.array([5], ">i8")]  # fmt: skip
    given = [2.5, 7, True, host.float32(2), host.nan, 1e300, 2 + 1j, "x", [1.0, 2.0],
             host.array([1, 2]), host.array([4.0, 5.0]), host.arange(3.0), None]  # fmt: skip

    def written(xp: Any, name: str, key: Any, value: Any) -> Any:
        ours = {each: xp.array(array) for each, array in values.items()}
        if xp is lf:
            lf.materialize(*ours.values())
        target, where = ours[name], ours[key] if isinstance(key, str) else key
        before, pending = target[:80].copy(), target[:80] * 2
        error = None
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                target[where] = value
            except (IndexError, ValueError, TypeError, OverflowError) as refusal:
                error = type(refusal)
        lines = {warning.category for warning in heard}
        return error, lines, [host.asarray(each).copy() for each in (target, before, pending)]

    for name in ("x", "k", "h"):
        for key in keys:
            for value in given:
                error, lines, arrays = written(host, name, key, value)
                for _ in range(2):
                    own_error, own_lines, own = written(lf, name, key, value)
                    assert (own_error, own_lines) == (error, lines), (name, key, value)
                    for one, other in zip(arrays, own, strict=True):
                        host.testing.assert_array_equal(
                            other, one, err_msg=str((name, key, value))
                        )
