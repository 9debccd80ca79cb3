"""Small parts of computed memory: lines that are written, views in other shapes, functions that
read them; as NumPy does, values, aliasing and errors."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = pytest.mark.cpu("results at once")

DTYPES = "f8 f4 i8 i4 i2 i1 u8 u2 u1 bool c16".split()
N = 24
#: Numbers that some dtypes hold, some round, and some refuse.
NUMBERS = (
    0,
    1,
    -1,
    2.5,
    -0.0,
    True,
    127,
    200,
    2**20,
    2**31,
    2**53 + 1,
    2**63,
    1e300,
    float("nan"),
)


@pytest.fixture(autouse=True)
def parts() -> Iterator[None]:
    """Matrices are the engine's, and their lines small."""
    with lf.options(eager_size=N * N // 2):
        yield


def pair(dtype: str, seed: int = 0) -> tuple[host.ndarray, Any]:
    """A matrix of NumPy's and one of the engine, computed."""
    values = host.random.default_rng(seed).integers(0, 100, (N, N)).astype(dtype)
    there = lf.array(values)
    lf.materialize(there)
    assert there._host is None
    return values, there


def outcome(run: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            given = run()
        except (ValueError, OverflowError, IndexError, TypeError) as error:
            given = type(error), str(error)
    return given, sorted(str(each.message) for each in told)


def a_slice(draw: random.Random) -> slice:
    ends = [None, *range(-N, N + 1)]
    return slice(draw.choice(ends), draw.choice(ends), draw.choice((None, 1, 2, 3, -1, -2)))


def a_key(draw: random.Random) -> Any:
    """A key of a matrix that leaves up to one axis, mostly."""
    line = draw.randrange(-N, N)
    return draw.choice((
        line, (line, a_slice(draw)), (a_slice(draw), line), (line, slice(None)),
        (slice(None), line), (line, draw.randrange(-N, N)), (a_slice(draw), a_slice(draw)),
    ))  # fmt: skip


def a_value(draw: random.Random, shape: tuple[int, ...], dtype: str) -> Callable[[Any, Any], Any]:
    """What to write, by the namespace and the matrix."""
    size = shape[0] if len(shape) == 1 else draw.randrange(4)
    number = draw.choice(NUMBERS)
    numbers = [draw.choice(NUMBERS[: draw.choice((5, len(NUMBERS)))]) for _ in range(size)]
    kind = draw.choice((dtype, *DTYPES))
    other, step = draw.randrange(-N, N), draw.choice((1, 2, -1, 3))
    start = draw.randrange(N)
    return draw.choice((
        lambda xp, a: number,
        lambda xp, a: numbers,
        lambda xp, a: tuple(numbers),
        lambda xp, a: a[other],
        lambda xp, a: a[:, other],
        lambda xp, a: a[other, start : start + size],
        lambda xp, a: a[start : start + size, other],
        lambda xp, a: a[::-1, other][:size],
        lambda xp, a: (xp.arange(size * 3) + 3).astype(kind)[:: 3 if step > 0 else -3],
        lambda xp, a: (xp.arange(size) * 7 + 1).astype(kind),
        lambda xp, a: xp.full(1, 5).astype(kind),
    ))  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_are_written_as_numpy_does(dtype: str) -> None:
    """Numbers, lists and lines, which may overlap where they are written to."""
    draw = random.Random(dtype)
    for seed in range(12):
        values, there = pair(dtype, seed)
        for _ in range(60):
            key = a_key(draw)
            value = a_value(draw, values[key].shape, dtype)
            expected = outcome(lambda: values.__setitem__(key, value(host, values)))  # noqa: B023
            found = outcome(lambda: there.__setitem__(key, value(lf, there)))  # noqa: B023
            assert found == expected, (key, value(host, values))
            host.testing.assert_array_equal(host.array(there), values, str(key), strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_value_is_that_before_the_write(dtype: str) -> None:
    """What has been computed of a line, or is pending, does not see what is written later."""
    values, there = pair(dtype)
    before, pending = there[3].copy(), there + there[3]
    kept = values[3].copy(), values + values[3]
    for array in (values, there):
        array[3] = array[4]
        array[:, 7] = array[:, 5]
        array[3, :3] = (1, 0, 1)
        array[5] = 1
    host.testing.assert_array_equal(host.array(there), values)
    host.testing.assert_array_equal(host.array(before), kept[0])
    host.testing.assert_array_equal(host.array(pending), kept[1])


SHAPES: dict[str, Callable[[Any, Any, random.Random], Any]] = {
    "reshape": lambda xp, a, draw: a.reshape(draw.choice(((-1,), (a.size,), (1, -1), (-1, 2)))),
    "reshape of ints": lambda xp, a, draw: a.reshape(
        *draw.choice(((-1, 1), (2, -1), (-1, 3, 2), a.shape, (a.size, 1, 1), (-2,), (0, -1)))
    ),
    "ravel": lambda xp, a, draw: a.ravel(),
    "ravel of an order": lambda xp, a, draw: a.ravel(draw.choice("CFAK")),
    "a function's ravel": lambda xp, a, draw: xp.ravel(a),
    "a function's reshape": lambda xp, a, draw: xp.reshape(a, draw.choice((-1, (-1, 2), (1, -1)))),
    "transpose": lambda xp, a, draw: a.transpose(),
    "transpose of axes": lambda xp, a, draw: xp.transpose(a, draw.sample(range(a.ndim), a.ndim)),
    "method of axes": lambda xp, a, draw: a.transpose(*draw.sample(range(a.ndim), a.ndim)),
    "swapaxes": lambda xp, a, draw: a.swapaxes(0, draw.choice((-1, 0, 1))),
    "a function's swapaxes": lambda xp, a, draw: xp.swapaxes(a, 0, draw.choice((-1, 0, 1))),
    "squeeze": lambda xp, a, draw: a[:, None].squeeze(draw.choice((None, 1, (1,), 0))),
    "a function's squeeze": lambda xp, a, draw: xp.squeeze(a[None], draw.choice((None, 0, -1))),
    "flip": lambda xp, a, draw: xp.flip(a, draw.choice((None, 0, -1, (0,), 1))),
    "flipud": lambda xp, a, draw: xp.flipud(a),
    "fliplr": lambda xp, a, draw: xp.fliplr(a),
    "rot90": lambda xp, a, draw: xp.rot90(a, draw.randrange(-2, 4)),
    "moveaxis": lambda xp, a, draw: xp.moveaxis(a, 0, draw.choice((-1, 0, 1))),
    "rollaxis": lambda xp, a, draw: xp.rollaxis(a, draw.choice((-1, 0, 1))),
    "expand_dims": lambda xp, a, draw: xp.expand_dims(a, draw.choice((0, -1, (0, 1)))),
    "True is no axis": lambda xp, a, draw: xp.flip(a, draw.choice((1, True))),
}


def a_part(draw: random.Random) -> Callable[[Any], Any]:
    """A part of a matrix, by a layout of any kind."""
    key, line = (a_slice(draw), a_slice(draw)), draw.randrange(N)
    return draw.choice((
        lambda a: a[key], lambda a: a[key].T, lambda a: a[line], lambda a: a[:, line],
        lambda a: a[2:6, 3:9], lambda a: a[line : line + 1], lambda a: a[line, 4:10],
    ))  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_views_are_numpys(name: str) -> None:
    """Their shape and values, whether they are views, and of what; asked twice, for what is
    remembered."""
    draw = random.Random(name)
    for _ in range(150):
        part, seed = a_part(draw), draw.random()
        values, there = pair("f8")
        for _ in range(2):
            expected, _ = outcome(lambda: SHAPES[name](host, part(values), random.Random(seed)))  # noqa: B023
            found, _ = outcome(lambda: SHAPES[name](lf, part(there), random.Random(seed)))  # noqa: B023
            if isinstance(expected, tuple):
                assert found[0] is expected[0]
                break
            assert found.shape == expected.shape
            host.testing.assert_array_equal(host.array(found), expected)
            if expected.flags.writeable and expected.size:
                expected[...], found[...] = -1.0, -1.0
            host.testing.assert_array_equal(host.array(there), values)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda xp, a: xp.median(a),
    "median of columns": lambda xp, a: xp.median(a, 0),
    "median by name": lambda xp, a: xp.median(a, axis=-1, keepdims=True),
    "median that may overwrite": lambda xp, a: xp.median(a, overwrite_input=True),
    "median by place": lambda xp, a: xp.median(a, None, None, True),
    "percentile": lambda xp, a: xp.percentile(a, [10, 50.5]),
    "quantile": lambda xp, a: xp.quantile(a, 0.3, -1),
    "quantile that may overwrite": lambda xp, a: xp.quantile(a, 0.3, overwrite_input=True),
    "quantile by place": lambda xp, a: xp.quantile(a, 0.3, None, None, True),
    "nanmedian": lambda xp, a: xp.nanmedian(a),
    "nanmedian that may overwrite": lambda xp, a: xp.nanmedian(a, overwrite_input=True),
    "nanquantile": lambda xp, a: xp.nanquantile(a, 0.3, -1),
    "nanpercentile": lambda xp, a: xp.nanpercentile(a, 30),
    "dot": lambda xp, a: xp.dot(a, a.T),
    "dot of one": lambda xp, a: xp.dot(a, a),
    "dot of a small one": lambda xp, a: xp.dot(a, xp.ones(a.shape[-1])),
    "dot with a number": lambda xp, a: xp.dot(a, 2.0),
    "dot of a list": lambda xp, a: xp.dot(a, [1] * a.shape[-1]),
    "dot that does not fit": lambda xp, a: xp.dot(a, xp.ones(29)),
    "joined": lambda xp, a: xp.concatenate((a, a)),
    "joined with a small one": lambda xp, a: xp.concatenate([xp.zeros(a.shape), a], axis=-1),
    "stacked": lambda xp, a: xp.stack([a, a], -1),
    "any": lambda xp, a: (a > 50).any(),
    "argmax": lambda xp, a: a.argmax(),
    "like": lambda xp, a: xp.zeros_like(a),
    "outer": lambda xp, a: xp.outer(a, a),
    "clip": lambda xp, a: xp.clip(a, 20, 50),
    "array": lambda xp, a: xp.array(a),
    "sum": lambda xp, a: a.sum(),
    "a function's sum": lambda xp, a: xp.sum(a),
    "max": lambda xp, a: a.max(),
    "mean": lambda xp, a: a.mean(),
    "std": lambda xp, a: a.std(),
    "all": lambda xp, a: (a > 3).all(),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_calls_of_parts(name: str, dtype: str) -> None:
    """NumPy's values and types, and what they read stays."""
    draw = random.Random(name)
    for _ in range(12):
        part = a_part(draw)
        values, there = pair(dtype)
        if not part(values).size:
            continue
        kept = values.copy()
        expected = outcome(lambda: CALLS[name](host, part(values)))  # noqa: B023
        found = outcome(lambda: CALLS[name](lf, part(there)))  # noqa: B023
        if isinstance(expected[0], tuple):
            assert found[0][0] is expected[0][0]
            continue
        assert found[1] == expected[1]
        wanted = host.asarray(expected[0])
        given = host.array(found[0])
        assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
        host.testing.assert_allclose(given, wanted, rtol=1e-6 if dtype == "f4" else 1e-13)
        host.testing.assert_array_equal(host.array(there), kept)


LONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum of two": lambda xp, u, w: u + w,
    "number": lambda xp, u, w: 0.5 * u,
    "in its own dtype": lambda xp, u, w: u * u.dtype.type(3),
    "integer": lambda xp, u, w: u - 3,
    "comparison": lambda xp, u, w: u >= w,
    "equality": lambda xp, u, w: u == 3,
    "quotient": lambda xp, u, w: u / w,
    "maximum": lambda xp, u, w: xp.maximum(u, w),
    "small beside it": lambda xp, u, w: xp.arange(len(u)) + u,
    "reversed": lambda xp, u, w: u[::-1] * w,
    "overflow": lambda xp, u, w: u * 1e300 * 1e300,
    "invalid": lambda xp, u, w: (u - u) / (w - w),
    "mixed": lambda xp, u, w: u + w.astype("f4"),
}


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i4", "bool"))
@pytest.mark.parametrize("count", (999, 1000, 1023, 1024, 1025, 3000, 8191, 8192, 8193))
def test_longer_rows(count: int, dtype: str) -> None:
    """On either side of where other loops begin, with NumPy's bits and conditions."""
    values = host.random.default_rng(count).integers(0, 5, (9, count)).astype(dtype)
    with lf.options(eager_size=10_000):
        there = lf.array(values)
        lf.materialize(there)
        for name, program in LONG.items():
            expected = outcome(lambda: program(host, values[3], values[5]))  # noqa: B023
            found = outcome(lambda: program(lf, there[3], there[5]))  # noqa: B023
            if isinstance(expected[0], tuple):
                assert found[0][0] is expected[0][0], name
                continue
            assert found[1] == expected[1], name
            host.testing.assert_array_equal(
                host.array(found[0]), expected[0], err_msg=name, strict=True
            )


def test_arrays_of_numpys_are_copied() -> None:
    """By `asarray`, too: in their own order, read-only where they are, and of a dtype of ours."""
    values = host.arange(12.0).reshape(3, 4)
    for given in (values, values.T, values[:, 1], values[::-1, ::2], host.array(3.0), values[:0]):
        for make in (lf.asarray, lf.asanyarray, lf.array):
            found = make(given)
            assert type(found) is lf.LazyArray and found.base is None
            assert found.strides == make(given.copy(order="K")).strides
            kept = given.copy()
            found[...] = -1.0
            host.testing.assert_array_equal(given, kept, strict=True)
    values.flags.writeable = False
    assert not lf.asarray(values).flags.writeable and lf.array(values).flags.writeable
    for dtype in (">f8", "S3", "M8[s]"):
        assert lf.asarray(host.zeros(3, dtype)).dtype == host.dtype(dtype)


def test_leave_to_overwrite_by_place_is_not_taken() -> None:
    """Of functions that are NumPy's, on more than a few elements, too."""
    values, there = pair("f8")
    for part in (slice(None), slice(2, 4)):
        for name, rest in (
            ("nanmedian", (1, None, True)),
            ("nanquantile", (0.3, 1, None, True)),
            ("nanpercentile", (30, None, None, True)),
        ):
            expected = getattr(host, name)(values[part].copy(), *rest)
            found = getattr(lf, name)(there[part], *rest)
            host.testing.assert_allclose(host.array(found), expected)
            host.testing.assert_array_equal(host.array(there), values)


def test_ravel_in_the_order_of_memory_is_a_view_where_numpys_is() -> None:
    """It does not matter how far apart the elements of an axis with one element are."""
    values, there = pair("f8")
    for key in (
        (slice(4, 5), slice(11, 19)), (slice(6, 7), 5), (17, None, slice(3, 9)),
        (slice(10, 14), slice(3, 4)), (slice(None), 3), slice(2, 4),
    ):  # fmt: skip
        values[key].ravel("K")[...] = -1.0
        there[key].ravel("K")[...] = -1.0
        host.testing.assert_array_equal(host.array(there), values, str(key))
    line = there[3]
    assert line.ravel("K") is not line


def test_ravel_of_nothing_is_a_view() -> None:
    values, there = pair("f8")
    for matrix, xp in ((values, host), (there, lf)):
        read = xp.broadcast_to(matrix[0], (N, N))
        assert not read[3:3].ravel().flags.writeable
        assert not read[3:4].ravel().flags.writeable


def test_shapes_that_no_array_has_are_refused() -> None:
    _, there = pair("f8")
    for extent in (2**63, -(2**63) - 1, -(2**64)):
        with pytest.raises(ValueError, match="Maximum allowed dimension exceeded"):
            there.reshape(extent)
    with pytest.raises(TypeError, match="takes exactly 1 argument"):
        there[2:3, 3:4].reshape()


@pytest.mark.parametrize("number", (10**30, -(10**30), 2**63, 2**64, -1, 2**53 + 1))
def test_integers_that_are_no_longs_are_written_in_lists(number: int) -> None:
    values, there = pair("f4")
    for array in (values, there):
        array[3, :3] = (number, 1, 2**20)
        array[4:7, 5] = [1, 2.5, number]
    host.testing.assert_array_equal(host.array(there), values)
