"""Rows, columns and blocks of a few elements: picked by positions, written by `out=`, and copied
for another shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle

lf = oracle.lf
pytestmark = pytest.mark.engine

DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "u1", "b1", "c8", "c16")
#: Of an array of the engine, and of a small one.
ROWS = (400, 25)
_UFUNCS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "sqrt", "negative",
           "less", "equal", "square")  # fmt: skip


@pytest.fixture(autouse=True)
def at_hand() -> Iterator[None]:
    """Rows are small; arrays of more than three thousand elements are the engine's."""
    with lf.options(eager_size=3_000):
        yield


def same(found: Any, wanted: Any) -> None:
    assert isinstance(found, lf.LazyArray if isinstance(wanted, host.ndarray) else type(wanted))
    values = lf.asnumpy(found)
    assert (values.dtype, values.shape) == (wanted.dtype, wanted.shape)
    if values.dtype.kind in "fc":  # NaN has no sign
        values, wanted = (host.where(each == each, each, host.nan) for each in (values, wanted))
    assert values.tobytes() == wanted.tobytes()


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # of whatever kind: it is compared
        return type(error), str(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", ROWS)
def test_positions_pick(rows: int, dtype: str) -> None:
    """Forwards and backwards, from both ends, and beyond them."""
    draw = host.random.default_rng(rows)
    values = (draw.random(rows * 100) * 100).astype(dtype)
    places = draw.integers(-len(values), len(values), len(values))
    x, where = lf.asarray(values), lf.asarray(places)
    for number in range(80):
        start, count, step = (int(n) for n in draw.integers((0, 0, 1), (300, 50, 4)))
        key = slice(start, start + count, step) if number % 2 else slice(start + count, start, -1)
        few = slice(5, 400, 3) if number % 4 < 2 else slice(None)
        limit = 132 + number % 8 if number % 4 < 2 else len(values)
        given = lf.remainder(where[key], limit) if number % 8 < 6 else where[key]
        wanted = outcome(lambda: values[few][lf.asnumpy(given)])  # noqa: B023 - at once
        found = outcome(lambda: x[few][given])  # noqa: B023 - likewise
        if isinstance(wanted, tuple):
            assert found == wanted
            continue
        same(found, wanted)
        assert found.base is None and found.flags.writeable
        found[...] = 0  # which is memory of its own
    same(x, values)


def test_positions_of_other_kinds() -> None:
    """Masks, narrow and unsigned integers, none, many, and pending ones."""
    values = host.arange(60_000.0)
    x = lf.asarray(values)
    for key in (host.arange(40, dtype="i4"), host.arange(40, dtype="u8"), host.zeros(0, "i8"),
                host.arange(5_000), host.arange(12).reshape(3, 4), host.array(3),
                host.arange(60_000) % 7 == 3):  # fmt: skip
        same(x[lf.asarray(key)], values[key])
        same((x * 2.0)[lf.asarray(key)], (values * 2.0)[key])
    same(x[lf.asarray(host.arange(40)) + 2], values[2:42])
    same(lf.asarray(values.reshape(-1, 3))[lf.arange(4)], values.reshape(-1, 3)[:4])
    same(x[lf.asarray(host.arange(80))[::2]], values[:80:2])


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c16"))
@pytest.mark.parametrize("rows", ROWS)
def test_results_go_where_they_are_wanted(rows: int, dtype: str) -> None:
    """Into rows, columns and parts of operands themselves, also where they overlap."""
    draw = host.random.default_rng(rows)
    first = (draw.random((rows, 120)) * 10 - 3).astype(dtype)
    line, place = first[0] * 2, first[0] * 0

    def step(np: Any, number: int, x: Any, line: Any, place: Any) -> Any:
        i, j, k = (int(n) for n in host.random.default_rng(number).integers(0, 25, 3))
        left, right = (
            (x[i], x[j]), (x[i], line), (line, x[i]), (x[i], 2), (x[i, 5:100], x[i, 3:98]),
            (x[:25, i], x[:25, j]), (x[i, ::2], x[j, 1::2]), (line[:100], line[20:]),
        )[number % 8]  # fmt: skip
        ufunc = getattr(np, _UFUNCS[number % len(_UFUNCS)])
        asked = (left, right)[: ufunc.nin]
        size = len(asked[0])
        out = (x[k, :size], line[:size], place[:size], x[i, 1 : size + 1], x[:size, k],
               x[k, size - 1 :: -1], np.zeros((2, size), x.dtype))[number % 7]  # fmt: skip
        with np.errstate(all="ignore"):
            return ufunc(*asked, out=out)

    theirs = [first.copy(), line.copy(), place.copy()]
    ours = [lf.asarray(each) * 1 for each in theirs]
    for number in range(300):
        wanted = outcome(lambda: step(host, number, *theirs))  # noqa: B023 - at once
        found = outcome(lambda: step(lf, number, *ours))  # noqa: B023 - likewise
        if isinstance(wanted, tuple):
            assert found[0] is wanted[0]
            continue
        same(found, wanted)
        if number % 16 == 0:
            for mine, its in zip(ours, theirs, strict=True):
                same(mine, its)
                its[...] = abs(its) % 9 + 1
                mine[...] = lf.asarray(its)


def test_an_output_that_may_not_be_written() -> None:
    x = lf.asarray(host.arange(80_000.0).reshape(800, 100)) * 1.0
    row = x[3]
    row.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lf.add(x[1], x[2], out=row)
    with pytest.raises(TypeError):
        lf.add(x[1], x[2], out=lf.zeros(100, int))
    with pytest.raises(ValueError, match="broadcast"):
        lf.add(x[1], x[2], out=x[3, :50])
    kept = x[5].copy()
    before = x + 0.0
    lf.add(x[1], 1.0, out=x[5])
    same(before[5], lf.asnumpy(kept))


@pytest.mark.cpu("floating point flags")
def test_conditions_are_told(recwarn: pytest.WarningsRecorder) -> None:
    x = lf.asarray(host.zeros((400, 100)))
    out = x[2] + 1.0
    lf.divide(x[0], x[1], out=out)
    assert [str(each.message) for each in recwarn] == ["invalid value encountered in divide"]
    assert lf.isnan(out).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", ROWS)
def test_blocks_are_copied_for_another_shape(rows: int, dtype: str) -> None:
    """With NumPy's values, strides, base and flags."""
    draw = host.random.default_rng(rows)
    values = (draw.random((rows, 30, 12)) * 100).astype(dtype)
    x = lf.asarray(values)
    for _ in range(40):
        low = draw.integers(0, 5, 3)
        high, steps = low + draw.integers(1, 7, 3), draw.choice([1, 2, -1], 3)
        key = tuple(
            slice(int(b) if s < 0 else int(a), int(a) if s < 0 else int(b), int(s))
            for a, b, s in zip(low, high, steps, strict=True)
        )
        axes = tuple(int(axis) for axis in draw.permutation(3))
        mine, its = x[key].transpose(axes), values[key].transpose(axes)
        if not its.size:
            continue
        for shape in ((-1,), (its.shape[0], -1), (1, its.size), (-1, its.shape[1], 1)):
            found, wanted = mine.reshape(*shape), its.reshape(*shape)
            same(found, wanted)
            assert (found.base is None) == (wanted.base is None)
            assert found.flags.writeable
            assert found.flags.c_contiguous == wanted.flags.c_contiguous
        for found, wanted in ((mine.ravel(), its.ravel()), (mine.flatten(), its.flatten())):
            same(found, wanted)
            assert found.flags.owndata == wanted.flags.owndata
    same(x, values)


@pytest.mark.parametrize("order", ("C", "F"))
@pytest.mark.parametrize("dtype", ("f8", "i2", "b1", "c16"))
def test_positions_in_flat(dtype: str, order: str) -> None:
    """Of ints and of NumPy's, from both ends and beyond, and numbers of all kinds."""
    values = host.asarray(host.arange(6000).reshape(60, 100), dtype, order=order).copy(order="K")
    x = lf.asarray(values)
    keys = (777, -3, 6000, -6001, host.int64(4321), host.int32(-1), host.int16(5))
    numbers = (1.5, 3, True, host.float64(2.5), host.int64(70_000), -7, 2 + 1j, "word", [4, 5])
    for key in keys:
        for number in numbers:

            def write(array: Any, key: Any = key, number: Any = number) -> Any:
                array.flat[key] = number
                return array.flat[key]

            with host.errstate(all="ignore"):
                wanted, found = outcome(lambda: write(values)), outcome(lambda: write(x))  # noqa: B023
            assert (type(found) is tuple) == (type(wanted) is tuple), (key, number)
            if type(wanted) is tuple:
                assert found[0] is wanted[0]
            else:
                assert found == wanted and type(found) is type(wanted)
    host.testing.assert_array_equal(lf.asnumpy(x), values)


_INTO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clip": lambda np, x, out: np.clip(x[2], 0.25, 0.5, out=out),
    "clip from below": lambda np, x, out: np.clip(x[2], 0.25, None, out=out),
    "the method clip": lambda np, x, out: x[2].clip(0.25, 0.5, out=out),
    "cumsum": lambda np, x, out: np.cumsum(x[2], out=out),
    "sum": lambda np, x, out: np.sum(x[:5], axis=0, out=out),
    "mean": lambda np, x, out: np.mean(x[:5], axis=0, out=out),
    "max": lambda np, x, out: np.max(x[:5], axis=0, out=out),
    "round": lambda np, x, out: np.round(x[2], 1, out=out),
    "take": lambda np, x, out: np.take(x[2], [5] * 100, out=out, mode="clip"),
    "another shape": lambda np, x, out: np.sum(x[:5], axis=1, out=out),
}
_OUTPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda np, x: x[7],
    "the operand": lambda np, x: x[2],
    "a column": lambda np, x: x[:100, 3],
    "of another dtype": lambda np, x: np.zeros((400, 100), "f4")[5],
    "of integers": lambda np, x: np.zeros((400, 100), int)[5],
    "a new one": lambda np, x: np.zeros(100),
    "all of a large one": lambda np, x: np.zeros((400, 100)),
}


@pytest.mark.parametrize("output", _OUTPUTS)
@pytest.mark.parametrize("name", _INTO)
def test_functions_write_into_rows(name: str, output: str) -> None:
    values = host.random.default_rng(3).random((400, 100))
    x = lf.asarray(values) * 1.0
    for _ in range(2):
        results = []
        for np, array in ((host, values), (lf, x)):

            def call(np: Any = np, array: Any = array) -> Any:
                out = _OUTPUTS[output](np, array)
                assert _INTO[name](np, array, out) is out
                return out

            results.append(outcome(call))
        wanted, found = results
        if isinstance(wanted, tuple):
            assert found[0] is wanted[0]
        else:
            host.testing.assert_allclose(lf.asnumpy(found), wanted, rtol=1e-6)
            assert found.dtype == wanted.dtype
        host.testing.assert_allclose(lf.asnumpy(x), values, rtol=1e-12)


def test_parts_are_chosen_and_put() -> None:
    values = host.random.default_rng(3).random((400, 100))
    x, which = lf.asarray(values) * 1.0, host.arange(100) % 3
    given = lf.asarray(host.tile(which, 400))
    same(lf.choose(given[:100], [x[0], x[1], x[2]]), host.choose(which, list(values[:3])))
    assert outcome(lambda: lf.choose(given[:100], [x[0]])) == outcome(
        lambda: host.choose(which, [values[0]])
    )
    for place, number in ((5, 1.5), (host.int64(-3), 2), (39_999, True), (7, [1.0, 2.0])):
        values.put(place, number)
        x.put(place, number)
    for call in (lambda np, a: a.put(40_000, 1.0), lambda np, a: np.put(a, 5, "word")):
        wanted, found = outcome(lambda: call(host, values)), outcome(lambda: call(lf, x))  # noqa: B023
        assert found[0] is wanted[0]
    same(x, values)
    for offset, axes in ((0, (0, 1)), (3, (0, 1)), (-2, (1, 0)), (host.int64(1), (-1, 0))):
        found = x.diagonal(offset, *axes)
        same(found, values.diagonal(offset, *axes))
        assert found.base is x and not found.flags.writeable
    for wrong in ((1.5,), (0, 0, 0), (0, 2, 1), (None,)):
        wanted, found = (
            outcome(lambda a=a, w=wrong: a.diagonal(*w)) for a in (values, x)
        )  # fmt: skip
        assert found[0] is wanted[0]
