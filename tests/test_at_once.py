"""What is done at once because putting it off costs more: library calls with small results, writes
of numbers, elements; and what has to stay as it is all the same."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf

pytestmark = pytest.mark.cpu("results at once")

N = 400


@pytest.fixture(autouse=True)
def small_arrays() -> Iterator[None]:
    """As users have it; other tests have everything in the engine."""
    with lf.options(eager_size=10_000):
        yield


def large(seed: int = 0) -> tuple[np.ndarray, Any]:
    """A matrix of NumPy's and one of ours, of the engine and computed."""
    values = np.random.default_rng(seed).random((N, N))
    there = lf.array(values)
    lf.materialize(there)
    assert there._host is None
    return values, there


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "matrix times vector": lambda xp, a: a @ xp.arange(float(N)),
    "vector times matrix": lambda xp, a: xp.arange(float(N)) @ a,
    "transposed": lambda xp, a: a.T @ xp.arange(float(N)),
    "steps": lambda xp, a: a[::-2, ::3] @ xp.arange(len(range(0, N, 3))),
    "thin": lambda xp, a: a[:, :3].T @ a[:, 3:6],
    "vectors": lambda xp, a: a[0] @ a[:, 1],
    "parts": lambda xp, a: (a + 1j * a[::-1]).imag @ xp.ones(N),
    "dot": lambda xp, a: xp.dot(a, xp.ones(N, "f4")),
    "numpy's": lambda xp, a: a @ np.ones(N),
    "median": lambda xp, a: xp.median(a, axis=0),
    "einsum": lambda xp, a: xp.einsum("ij,j->i", a, xp.ones(N)),
    "integers": lambda xp, a: (a > 0.5).astype(int) @ xp.arange(N),
}


@pytest.mark.parametrize("name", CALLS)
def test_small_results_of_library_calls(name: str) -> None:
    """NumPy's own, and small arrays or numbers: nothing is pending."""
    values, there = large()
    expected, found = computed_at_once(CALLS[name], values, there)
    np.testing.assert_array_equal(found, expected)


def computed_at_once(program: Callable[[Any, Any], Any], values: Any, there: Any) -> Any:
    """NumPy's result and ours, which has its dtype, shape and strides, and is not pending."""
    expected, found = program(np, values), program(lf, there)
    assert not isinstance(found, lf.LazyScalar)
    if isinstance(found, lf.LazyArray):
        assert found._host is not None
        assert found.strides == expected.strides
        found = lf.asnumpy(found)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    return expected, found


def test_pending_operands_are_computed() -> None:
    """They would have to be anyway; what is written afterwards is not seen."""
    values, there = large()
    pending = there * 2 + 1
    found = pending @ lf.ones(N)
    pending[:] = 0
    np.testing.assert_array_equal(lf.asnumpy(found), (values * 2 + 1) @ np.ones(N))


def test_nothing_is_pending() -> None:
    """To `explain`, whether the result is an array or a number."""
    _, there = large()
    for found in (there @ lf.ones(N), there[0] @ there[1]):
        assert lf.explain(found).startswith(
            "nothing is pending\ncomputed at once: arrays of up to"
        )
    assert "subtract" in lf.explain(there - 1, there[0] @ there[1])


def test_large_results_wait() -> None:
    """They may never be needed."""
    _, there = large()
    lf.reset_stats()
    product = there @ there
    assert lf.stats().unfused == 0 and product._host is None


def test_what_fuse_records_is_recorded() -> None:
    """A result is not taken for a constant."""
    values, _ = large()
    fused = lf.fuse(lambda a, x: (a @ x + 1, a * 2 + 1))
    for step in range(6):
        x = np.full(N, float(step))
        for there in (lf.array(values), lf.array(values + 1)):
            product, rest = fused(there, lf.array(x))
            np.testing.assert_array_equal(lf.asnumpy(product), lf.asnumpy(there) @ x + 1)
            np.testing.assert_array_equal(lf.asnumpy(rest), lf.asnumpy(there) * 2 + 1)
    assert fused.replays > 0


def test_errors_and_warnings_are_at_the_users_line() -> None:
    """Of shapes at the call, of values too, since it is computed there."""
    _, there = large()
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        there @ lf.ones(N + 1)
    there[0, 0] = np.inf
    there[1, 0] = np.nan
    with pytest.warns(RuntimeWarning, match="invalid value encountered in matmul") as caught:
        there @ lf.array([0.0] * N)
    assert caught[0].filename == str(Path(__file__))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        there @ lf.zeros(N)


@pytest.mark.parametrize("name", ["matmul", "vecdot", "dot"])
def test_products_of_vectors_into_an_output(name: str) -> None:
    """Also where the product is a number."""
    values, there = large()
    out = lf.zeros(())
    found = getattr(lf, name)(there[0], there[1], out=out)
    assert found is out or name == "dot"  # of which NumPy gives a scalar
    np.testing.assert_allclose(lf.asnumpy(out), values[0] @ values[1], rtol=1e-12)


def test_folds_of_library_calls_into_an_output() -> None:
    """They are numbers where the operands are at hand."""
    values, there = large()
    windows = lf.lib.stride_tricks.sliding_window_view(there[0] > 0.5, 1)
    out = lf.zeros(())
    assert windows.sum(out=out) is out and int(out) == (values[0] > 0.5).sum()
    with pytest.raises(ValueError, match="output parameter"):
        windows.sum(out=there)


def test_warnings_of_functions_are_at_the_users_line() -> None:
    """Of NumPy's C code, called from there."""
    there = lf.array(np.full((N, N), 60000.0, "f2"))
    lf.materialize(there)
    with pytest.warns(RuntimeWarning, match="overflow encountered in dot") as caught:
        lf.dot(there, there[0])
    assert caught[0].filename == str(Path(__file__))


def test_operands_live_as_long_as_they_are_read() -> None:
    """Another thread may write a new version meanwhile, and its memory goes elsewhere."""
    size = 1200
    weights = lf.array(np.ones((size, size)))
    lf.materialize(weights)
    vector, wrong, done = lf.array(np.ones(size)), [], threading.Event()

    def write() -> None:
        junk = []
        for step in range(60):
            weights[...] = weights * 0 + 1.0
            lf.materialize(weights)
            junk = [lf.full((size, size), 7e9) + step]
            lf.materialize(*junk)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        found = lf.asnumpy(weights @ vector)
        if not np.array_equal(found, np.full(size, float(size))):
            wrong.append(found)
    writer.join()
    assert wrong == []


# ---- numbers


def test_what_is_known_of_an_index_is_so_no_more() -> None:
    """Its bounds, and where a mask is true, after a number has been written into it."""
    size = 20_000
    x, index, mask = lf.arange(size) * 1.0, lf.arange(size) + 0, lf.arange(size) < 10
    lf.materialize(x, index, mask)
    assert float(x[index].sum()) == x[index].sum() == size * (size - 1) / 2
    assert x[mask].shape == (10,)
    mask[:50] = True
    assert x[mask].shape == (50,)
    index[0] = 10**10
    with pytest.raises(IndexError):
        x[index]
    index[0] = 5
    assert float(x[index][0]) == 5.0


def test_empty_regions_and_immediate_conditions() -> None:
    """A number that no element takes is refused all the same; one that raises is not written."""
    array = lf.array(np.zeros(20_000, "u1"))
    with pytest.raises(OverflowError):
        array[5:5] = 300
    half = lf.array(np.zeros(20_000, "f2"))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        half[3:5] = 1e10
    assert not lf.asnumpy(half).any()


KEYS: dict[str, Any] = {
    "slice": slice(3, None, 7),
    "backwards": slice(None, 10, -3),
    "element": 17,
    "from the end": -1,
    "all": ...,
    "nothing": slice(5, 5),
}


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("key", KEYS)
def test_numbers_are_written(key: str, dtype: str) -> None:
    """Into the memory that is there; views see them, what was read before does not."""
    values = np.arange(20_000).astype(dtype)
    array = lf.array(values)
    part, before, one = array[10:], array + array, array[17]
    lf.materialize(before)
    for number in (1, True, np.float32(2.5), np.uint8(7)):
        values[KEYS[key]] = number
        array[KEYS[key]] = number
        np.testing.assert_array_equal(lf.asnumpy(array), values)
        np.testing.assert_array_equal(lf.asnumpy(part), values[10:])
        array = lf.array(values)
        part = array[10:]
    start = np.arange(20_000).astype(dtype)
    np.testing.assert_array_equal(lf.asnumpy(before), start + start)
    assert one == start[17] and type(one) is type(start[17])


def test_pending_readers_keep_what_they_read() -> None:
    """A write does not reach what was recorded before it."""
    array = lf.array(np.arange(20_000.0))
    pending = array * 2
    array[::2] = -1.0
    np.testing.assert_array_equal(lf.asnumpy(pending), np.arange(20_000.0) * 2)
    assert float(array[4]) == -1.0


def test_exported_memory_is_not_written() -> None:
    """What NumPy has a view of stays as it is."""
    array = lf.array(np.arange(20_000.0))
    seen = lf.asnumpy(array)
    array[5:9] = 0.0
    assert seen[6] == 6.0 and float(array[6]) == 0.0


@pytest.mark.parametrize(
    ("key", "number"),
    [(slice(0, 9), 300), (3, np.nan), (20_000, 1), ((1, 2), 1), (slice(0, 3), "x")],
    ids=str,
)
def test_refused_writes(key: Any, number: Any) -> None:
    """With NumPy's error; nothing changes."""
    values = np.zeros(20_000, "u1")
    array = lf.array(values)
    with pytest.raises(Exception) as theirs:  # noqa: PT011  # whatever NumPy raises
        values[key] = number
    with pytest.raises(theirs.type) as ours:
        array[key] = number
    assert str(ours.value) == str(theirs.value)
    assert not lf.asnumpy(array).any()
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array[3] = 1


def test_casts_warn_at_the_users_line() -> None:
    """Overflow of a number in float16, and lost imaginary parts."""
    array = lf.array(np.zeros(20_000, "f2"))
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast") as caught:
        array[3:9] = np.float64(1e300)
    assert caught[0].filename == str(Path(__file__))
    with pytest.warns(np.exceptions.ComplexWarning) as caught:
        array[3:9] = np.complex128(1 + 2j)
    assert caught[0].filename == str(Path(__file__))


def test_writes_in_functions_under_fuse() -> None:
    """An argument that is written is seen to be."""

    @lf.fuse
    def cleared(x: Any) -> Any:
        x[::2] = 0.0
        return x + 1

    for _ in range(4):
        array = lf.array(np.arange(20_000.0))
        found = cleared(array)
        assert float(array[2]) == 0.0 and float(array[3]) == 3.0
        assert float(found[2]) == 1.0 and float(found[3]) == 4.0


# ---- rolls

ROLLS: list[tuple[Any, Any]] = [
    (3, None), (-7, 0), (5, 1), ((1, 2), (0, 1)), ((1, 2, 3), (0, 0, 1)), (1001, 1), (0, 0),
    (2, (0, 1)), (np.int64(3), -1), (1.9, 0), (200, 1),
]  # fmt: skip


@pytest.mark.parametrize("shape", [(100, 200), (20, 10, 100), (200, 100), (1, 20_000), (0, 7)])
@pytest.mark.parametrize(("shift", "axis"), ROLLS, ids=str)
def test_rolls(shape: tuple[int, ...], shift: Any, axis: Any) -> None:
    """Values, and the memory order, of arrays that lie in any way."""
    values = np.arange(float(np.prod(shape))).reshape(shape)
    for turn in (lambda x: x, lambda x: x.T, lambda x: x[::-1, ..., ::2], lambda x: x + 1j):
        theirs, ours = turn(values), turn(lf.array(values))
        expected, found = np.roll(theirs, shift, axis), lf.roll(ours, shift, axis)
        np.testing.assert_array_equal(lf.asnumpy(found), expected)
        assert found.strides == expected.strides and found.dtype == expected.dtype


@pytest.mark.parametrize(
    ("shift", "axis"), [(1, 5), ([[1, 2]], 0), ((1, 2, 3), (0, 1)), ("a", 0), (1, "a")], ids=str
)
def test_refused_rolls(shift: Any, axis: Any) -> None:
    """With NumPy's error."""
    values = np.zeros((200, 100))
    with pytest.raises(Exception) as theirs:  # noqa: PT011  # whatever NumPy raises
        np.roll(values, shift, axis)
    with pytest.raises(theirs.type) as ours:
        lf.roll(lf.array(values), shift, axis)
    assert str(ours.value) == str(theirs.value)


def test_samples_of_plain_arguments() -> None:
    """Drawn as NumPy draws them, with its errors and warnings."""
    own, theirs = lf.random.default_rng(7), np.random.default_rng(7)
    for ask in (
        lambda rng: rng.random(), lambda rng: rng.random((3, 4)), lambda rng: rng.random(20_000),
        lambda rng: rng.integers(0, 9, size=(5,), dtype="i2"), lambda rng: rng.normal(1.0, 2.0, 7),
        lambda rng: rng.choice(9, 4, replace=False), lambda rng: rng.permutation(6),
        lambda rng: rng.bytes(3), lambda rng: rng.standard_normal(3, "f4"),
    ):  # fmt: skip
        found, expected = ask(own), ask(theirs)
        assert isinstance(found, lf.LazyArray) == isinstance(expected, np.ndarray)
        found = lf.asnumpy(found) if isinstance(found, lf.LazyArray) else found
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
    with pytest.raises(ValueError, match="scale < 0"):
        own.normal(0.0, -1.0)


@pytest.mark.parametrize("name", ["accumulate", "reduce"])
@pytest.mark.parametrize("ufunc", ["add", "minimum", "multiply", "logical_or"])
def test_methods_of_ufuncs(ufunc: str, name: str) -> None:
    """On small arrays; conditions are told at the user's line."""
    values = np.array([[1.5, -2.0, 3.0], [4.0, 1e300, 1e300]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(getattr(np, ufunc), name)(values)
        found = getattr(getattr(lf, ufunc), name)(lf.array(values))
    np.testing.assert_array_equal(lf.asnumpy(found), expected)
    with pytest.warns(RuntimeWarning, match="overflow") as caught:
        getattr(lf.multiply, name)(lf.array([1e300, 1e300]))
    assert caught[0].filename == str(Path(__file__))


def test_copies_have_the_arrays_dtype() -> None:
    """Also large ones, and where another name of the dtype is usual."""
    for size in (10, 20_000):
        for dtype in ("q", np.dtype("f8", metadata={"of": 1})):
            with lf.options(eager_size=30_000):
                found = np.array(lf.array(np.ones(size, dtype)), copy=True)
            assert found.dtype.char == np.dtype(dtype).char
            assert found.dtype.metadata == np.dtype(dtype).metadata


@pytest.mark.parametrize("dtype", ("f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("edge", (1, 7, 300))
def test_the_method_dot_of_matrices(dtype: str, edge: int) -> None:
    """The same bits and memory order as NumPy's, whole, transposed, by parts and with vectors."""
    draw = np.random.default_rng(2)
    m, n = ((draw.random((edge, edge + 1)) - 0.5).astype(dtype) for _ in range(2))
    v = n[0].copy()

    def products(xp: Any, m: Any, n: Any, v: Any) -> list[Any]:
        return [
            m.dot(n.T), m.T.dot(n), m.T.dot(m), m.dot(v), v.dot(m.T), m[0].dot(v),
            m[:, ::2].dot(v[::2]), m[::-1].dot(v), m[:, ::-1].dot(v[::-1]), v.dot(v),
        ]  # fmt: skip

    expected = products(np, m, n, v)
    found = products(lf, lf.array(m), lf.array(n), lf.array(v))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize("dtype", ("?", "i4", "f2", "f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("count", (3, 1000, 60_000))
def test_the_method_dot_is_the_function(dtype: str, count: int) -> None:
    """The same bits for vectors, whole, by steps and backwards; others and errors are NumPy's."""
    draw = np.random.default_rng(1)
    x, y = ((draw.random(count) * 9).astype(dtype) for _ in range(2))
    one, other = lf.array(x), lf.array(y)
    for step in (slice(None), slice(None, None, 3), slice(None, None, -1)):
        expected, found = x[step].dot(y[step]), one[step].dot(other[step])
        assert type(found) is type(expected)
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    with pytest.raises(ValueError, match="not aligned"):
        one.dot(other[:-1])
    with pytest.raises(TypeError):
        one.dot()
    assert np.array_equal(one.dot(2), x.dot(2))
    assert np.array_equal(one[:2].dot(other[:2].reshape(2, -1)), x[:2].dot(y[:2].reshape(2, -1)))
    out = lf.empty((), one.dot(other).dtype)
    one.dot(other, out=out)
    assert np.array_equal(out, x.dot(y))


@pytest.mark.parametrize("limit", (0, 8192))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("shapes", (((1,), (1,)), ((3, 1), (1,)), ((1,), (1, 3)), ((1, 1),) * 2))
def test_the_method_dot_with_one_element(shapes: Any, dtype: str, limit: int) -> None:
    """It is a factor then: signs of 0, and 0 times infinity, are not those of `@`."""
    numbers = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan], dtype)
    draw = np.random.default_rng(3)
    with np.errstate(all="ignore"), lf.options(eager_size=limit):
        for _ in range(200):
            x, y = (draw.choice(numbers, shape) for shape in shapes)
            expected, found = np.asarray(x.dot(y)), np.asarray(lf.array(x).dot(lf.array(y)))
            np.testing.assert_array_equal(found, expected)
            are_numbers = ~np.isnan(expected)
            assert (np.signbit(found) == np.signbit(expected))[are_numbers].all()
