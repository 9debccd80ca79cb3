"""Keys with arrays in them, read and written: the cross product of kinds of keys, ranks, memory
orders and dtypes against NumPy, with values, shapes, strides and errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as host
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import check, options

SHAPES = ((4,), (4, 4), (4, 4, 4), (4, 1, 4))

#: One part of a key for an axis of 4.
PARTS: dict[str, Any] = {
    "first": 0,
    "last": -1,
    "zero_d": host.array(1),
    "row": host.array([1, 0, 1]),
    "backward": host.array([0, 3, 1])[::-1],
    "narrow": host.array([3, -4], "i1"),
    "unsigned": host.array([3, 0], "u8"),
    "square": host.array([[0, 1], [1, 3]]),
    "fortran": host.asfortranarray([[0, 1, 1], [1, 0, 0]]),
    "list": [0, -1],
    "nested": [[0], [2]],
    "none": host.array([], int),
    "empty_list": [],
    "mask": host.array([True, False, True, True]),
    "all_false": host.zeros(4, bool),
    "true": True,
    "false": False,
    "zero_d_mask": host.array(True),
    "newaxis": None,
    "ellipsis": Ellipsis,
    "whole": slice(None),
    "reversed": slice(None, None, -1),
    "tail": slice(1, None),
    "nothing": slice(4, 4),
}
WRONG: dict[str, Any] = {
    "beyond": [0, 4],
    "before": [-5],
    "huge": 2**70,
    "huge_unsigned": 2**63,
    "huge_numpys": host.uint64(2**63),
    "float": 1.0,
    "floats": [0.5, 1.0],
    "zero_d_float": host.array(1.0),
    "text": "a",
    "long_mask": host.ones(5, bool),
    "wide_mask": host.ones((4, 5), bool),
    "pair": [[0, 1], [2]],
    "too_high": host.array([2**63 - 1]),
    "unsigned_high": host.array([2**64 - 1], "u8"),
}


def layouts(shape: tuple[int, ...], dtype: str = "f8") -> Iterator[Any]:
    """The same shape in C and Fortran order, with its axes rotated, and as a view with steps."""
    values = (host.arange(host.prod(shape)) % 97).astype(dtype).reshape(shape)
    yield values
    yield host.asfortranarray(values)
    yield host.ascontiguousarray(host.moveaxis(values, -1, 0)).transpose(*range(1, len(shape)), 0)
    yield host.repeat(values, 2, axis=-1)[..., ::-2]


def keys(ndim: int, *, stride: int) -> Iterator[tuple[Any, ...]]:
    """Every `stride`-th key of up to three parts, and every key of one."""
    number = 0
    for length in range(1, min(ndim, 2) + 2):
        for names in itertools.product(PARTS, repeat=length):
            number += 1
            if length == 1 or number % stride == 0:
                yield tuple(PARTS[name] for name in names)


@pytest.mark.parametrize("shape", SHAPES)
def test_reads(shape: tuple[int, ...], full: bool) -> None:
    """Values, dtype, shape and strides of `x[key]`, and of what is computed from it."""
    for number, array in enumerate(layouts(shape)):
        for key in keys(len(shape), stride=1 if full else 131 + 2 * number):
            check(lambda np, x, key=key: (x + 0)[key], array)


@pytest.mark.parametrize("shape", SHAPES)
def test_single_parts_are_not_tuples(shape: tuple[int, ...]) -> None:
    """`x[key]` for a key that is no tuple."""
    for array, part in itertools.product(layouts(shape), PARTS.values()):
        check(lambda np, x, part=part: x[part] * 2, array)


@pytest.mark.parametrize("dtype", ["b1", "i1", "u2", "i8", "f2", "f4", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    """Every width of elements, gathered, scattered and folded."""

    def program(np: Any, x: Any, rows: Any, mask: Any) -> Any:
        y = x[rows]
        z = x.copy()
        z[rows] = y[::-1]
        z[mask] = x[0]
        return y, x[mask], x[mask].sum(), x[:, rows] if x.ndim > 1 else y, z

    rows = host.arange(40) * 7 % 23 - 5
    for shape in ((23,), (23, 9)):
        for array in layouts(shape, dtype):
            mask = host.arange(23) % 3 == 0
            rows = rows % 9 if len(shape) > 1 else rows
            check(program, array, rows, mask)


VALUES = ("scalar", "exact", "fortran", "row", "wrong", "extra")


def value_for(kind: str, array: Any, key: Any) -> Any:
    """A value to assign to `array[key]`."""
    try:
        shape = array[key].shape
    except IndexError:
        return 1.0
    values = host.arange(100, 100 + host.prod(shape, dtype=int)).reshape(shape)
    match kind:
        case "scalar":
            return 7.5
        case "exact":
            return values.astype("f8")
        case "fortran":
            return host.asfortranarray(values.astype("i4"))
        case "row":
            return host.arange(100.0, 100 + (shape[-1] if shape else 1))
        case "wrong":
            return host.arange(3.0)
    return values.astype("f8")[None]


@pytest.mark.parametrize("pending", [True, False], ids=["pending", "settled"])
@pytest.mark.parametrize("shape", SHAPES)
def test_writes(shape: tuple[int, ...], pending: bool, full: bool) -> None:
    """`x[key] = value`, recorded and at once: the last of several values stays."""

    def program(np: Any, x: Any, value: Any, key: Any = None) -> Any:
        old = x + 0 if pending else x.copy()
        y = x * 1 if pending else x.copy(order="K")
        y[key] = value * 1 if pending else value
        return old, y, y + 1

    for number, array in enumerate(layouts(shape)):
        chosen = keys(len(shape), stride=5 if full else 197 + 2 * number)
        for turn, key in enumerate(chosen):
            value = value_for(VALUES[turn % len(VALUES)], array, key)
            check(lambda np, x, v, key=key: program(np, x, v, key), array, value)


def test_arrays_without_axes_or_elements() -> None:
    """0-d and empty arrays, read and written through every part."""

    def write(np: Any, x: Any, key: Any = None) -> Any:
        y = x * 1
        y[key] = 5
        return y

    for array in (host.array(3.0), host.zeros(0), host.zeros((4, 0)), host.zeros((0, 4))):
        for part in PARTS.values():
            for key in (part, (part, part), (slice(None), part)):
                check(lambda np, x, key=key: x.copy()[key], array)
                check(lambda np, x, key=key: write(np, x, key), array)


def test_masks_and_one_value() -> None:
    """`x[mask] = value` for masks of NumPy's and of ours, and scalars of every kind."""

    def program(np: Any, x: Any, mask: Any, value: Any = None) -> Any:
        y, z, t = x * 1, x.copy(), (x * 1).T
        y[mask] = value
        z[x > 2] = value
        t[x.T > 2] = value
        return y, z, t

    mask = host.arange(12).reshape(3, 4) % 3 == 0
    for dtype in ("f4", "i2", "c8", "b1", "u1"):
        for value in (True, 7, 2.5, 1 + 2j, -1, 300, host.float64(3.5), host.int8(-4),
                      host.nan, host.array(6), "8", None):  # fmt: skip
            x = host.arange(12).reshape(3, 4).astype(dtype)
            check(lambda np, x, m, v=value: program(np, x, m, v), x, mask)
            check(lambda np, x, v=value: program(np, x, mask, v), x)


def test_refused_keys() -> None:
    """What is no index, or out of bounds: NumPy's error at the call, and nothing is written."""

    def write(np: Any, x: Any, key: Any = None) -> None:
        x[key] = 1.0

    for array in (*layouts((4,)), *layouts((4, 4))):
        for part in WRONG.values():
            for key in (part, (slice(None), part), ([0, 1], part), (part, [0, 1, 2])):
                check(lambda np, x, key=key: x[key], array)
                check(lambda np, x, key=key: write(np, x, key), array)


def test_messages() -> None:
    """The words are NumPy's."""
    import lazyfuse as lf

    x = lf.arange(5.0)
    for key, words in (
        ([0, 9], "index 9 is out of bounds for axis 0 with size 5"),
        (host.ones(4, bool), "boolean index did not match indexed array along axis 0"),
        ([0.5], "only integers, slices"),
    ):
        with pytest.raises(IndexError, match=words):
            x[key]
    with pytest.raises(OverflowError, match="too large to convert"), lf.options(eager_size=0):
        lf.arange(5.0)[2**63]
    with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
        x[[0, 1]] = lf.arange(3.0)
    with pytest.raises(ValueError, match="cannot assign 3 input values to the 5 output values"):
        x[x > -1] = lf.arange(3.0)


@pytest.mark.parametrize("limit", [0, 100])
def test_lazy_keys(limit: int) -> None:
    """Pending and scalar lazy arrays index as NumPy's do; a small table is read by a large key."""

    def program(np: Any, x: Any, table: Any) -> Any:
        rows = np.argsort(x)[:50] * 2 % 10
        mask = x * 2 > 1
        place = (x > 2).sum()
        y = x * 1
        y[rows] = y[rows + 1] * 2
        y[mask] -= y[mask].mean()
        return x[rows], x[mask], x[place], y, table[rows], table[place], y[[place, place + 1]]

    with options(eager_size=limit):
        check(program, host.random.default_rng(5).random(500), host.arange(10.0) ** 2)


def test_masks_of_several_axes() -> None:
    """Masks that use up some axes of an array, in every memory order."""

    def program(np: Any, x: Any) -> Any:
        first, last, whole = x[..., 0] > 20, x[0] > 20, x > 20
        y = x.copy()
        y[first] = -1
        y[:, last] *= 2
        y[whole & (y < 50)] += 0.5
        return x[first], x[:, last], x[whole], x[first, 1], y, x[whole].sum(), x[1, last]

    for array in layouts((4, 5, 3)):
        check(program, array)


@st.composite
def arrays_and_keys(draw: Any) -> tuple[Any, tuple[Any, ...]]:
    """An array of up to three axes in any layout, and a key with integers and masks."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    array = list(layouts(shape))[draw(st.integers(0, 3))]
    parts: list[Any] = []
    common = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    for extent in shape[: draw(st.integers(1, len(shape)))]:
        number = st.integers(-extent, extent - 1)
        kind = draw(st.sampled_from("iisam"))
        if kind == "i":
            parts.append(draw(number))
        elif kind == "s":
            parts.append(slice(draw(number), None, draw(st.sampled_from([1, 2, -1]))))
        elif kind == "a":
            size = int(host.prod(common, dtype=int))
            values = draw(st.lists(number, min_size=size, max_size=size))
            parts.append(host.array(values, int).reshape(common))
        else:
            parts.append(
                host.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)))
            )
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from([None, Ellipsis])))
    return array, tuple(parts)


@given(arrays_and_keys())
def test_random_keys(drawn: tuple[Any, tuple[Any, ...]]) -> None:
    """Reads, writes and in-place operators through random keys."""
    array, key = drawn

    def program(np: Any, x: Any) -> Any:
        y = x * 1
        picked = y[key]
        y[key] = 3
        y[key] += x[key] * 2
        return picked + 1, y

    check(program, array)


class Place(NamedTuple):
    """A key that has names."""

    row: Any
    column: Any


@pytest.mark.parametrize("n", [4, 300])
@pytest.mark.parametrize(
    "key", [Place(slice(None, None, -3), 1), Place(2, ...), Place(1, 3), Place([0, 1], slice(2))]
)
def test_keys_of_classes_derived_from_tuple(key: Any, n: int) -> None:
    """They are tuples: what slices picked was a copy, which nothing written reached."""

    def program(np: Any, x: Any) -> Any:
        y = np.array(x)
        part = y[key]
        if np.ndim(part):
            part *= 2
        y[key] += 1
        return y, part, np.shape(part)

    check(program, host.arange(float(n * n)).reshape(n, n))


@pytest.mark.parametrize("key", [(), slice(None), slice(0, 250)])
def test_lists_that_are_deeper_than_a_region(key: Any) -> None:
    """NumPy refuses lists that have more axes; those of arrays it takes where they are 1."""

    def program(np: Any, x: Any, values: Any) -> Any:
        y = x * 2
        with pytest.raises(ValueError, match="exceed the maximum number of dimension of 2"):
            y[key] = [values.tolist()]
        y[key] = values[None]
        return y

    x = host.arange(90_000.0).reshape(300, 300)
    check(program, x, x[key] + 1)
