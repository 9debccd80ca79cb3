"""Elements of arrays at hand that keys with arrays pick, and that are written through them: as
NumPy does, at once, and what was recorded before keeps what it read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.oracle import IS_ENGINE, check

if not IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

SHAPE = (30, 20, 9)
ROWS = host.array([3, -1, 3, 0])
COLUMNS = host.array([[4, 5, -2, 4]])
MASK = host.random.default_rng(3).random(SHAPE[:2]) < 0.1
ALL = host.random.default_rng(4).random(SHAPE) < 0.1


@pytest.fixture(autouse=True)
def at_hand() -> Iterator[None]:
    """Results of some hundred elements are small; the arrays are the engine's."""
    with lf.options(eager_size=3_000):
        yield


def cube(dtype: str = "f8") -> tuple[host.ndarray, Any]:
    """An array of NumPy's and one of ours, computed."""
    values = (host.random.default_rng(1).random(SHAPE) * 200).astype(dtype)
    there = lf.array(values)
    lf.materialize(there)
    assert there._host is None
    return values, there


#: By what a key is made of, for either library.
KEYS: dict[str, Callable[[Any], Any]] = {
    "two": lambda xp: (xp.array(ROWS), xp.array(ROWS)),
    "three": lambda xp: (xp.array(ROWS), xp.array(COLUMNS), xp.array(ROWS)),
    "NumPy's": lambda xp: (ROWS, COLUMNS),
    "lists": lambda xp: ([3, -1], [0, 2], [0, 0]),
    "a list of int64": lambda xp: [host.int64(3), host.int64(4)],
    "a long list": lambda xp: ([3, 2, 1] * 100, 1, 1),
    "other dtypes": lambda xp: (xp.array(ROWS, "i2"), xp.array(COLUMNS % 20, "u8")),
    "an int": lambda xp: (xp.array(ROWS), 3),
    "an int first": lambda xp: (-3, xp.array(ROWS)),
    "an int64": lambda xp: (xp.array(ROWS), host.int64(3), host.uint8(2)),
    "a slice between": lambda xp: (xp.array(ROWS), slice(None), xp.array(ROWS)),
    "a slice first": lambda xp: (slice(2, -1, 3), xp.array(ROWS)),
    "a slice backwards": lambda xp: (slice(None, None, -2), xp.array(ROWS), slice(5, 2, -1)),
    "an empty slice": lambda xp: (xp.array(ROWS), slice(5, 5)),
    "dots": lambda xp: (..., xp.array(ROWS)),
    "dots behind": lambda xp: (xp.array(ROWS), ...),
    "dots that stand for none": lambda xp: (xp.array(ROWS), ..., xp.array(ROWS), 3),
    "a new axis": lambda xp: (xp.array(ROWS), None, xp.array(ROWS)),
    "rows": lambda xp: xp.array(ROWS),
    "rows of two axes": lambda xp: xp.array(COLUMNS),
    "a mask": lambda xp: xp.array(MASK),
    "a mask and an int": lambda xp: (xp.array(MASK), 2),
    "a mask and a slice": lambda xp: (xp.array(MASK[:, 3]), slice(None), 0),
    "NumPy's mask": lambda xp: (MASK, slice(1, 3)),
    "a mask of all": lambda xp: xp.array(ALL),
    "a mask of all in a tuple": lambda xp: (xp.array(ALL),),
    "two masks": lambda xp: (xp.array(host.arange(30) < 4), xp.array(host.arange(20) > 15)),
    "a mask beside integers": lambda xp: (xp.array(host.arange(30) < 4), xp.array(ROWS)),
    "a mask that holds nowhere": lambda xp: (xp.array(MASK & False), 2),
    "none": lambda xp: (xp.array(ROWS[:0]), 2),
    "none of one axis": lambda xp: xp.array(ROWS[:0]),
    "no axis": lambda xp: (xp.array(3), xp.array(ROWS)),
    "no axes at all": lambda xp: xp.array(3),
    "no axes, an element": lambda xp: (xp.array(3), 2, xp.array(1)),
}


@pytest.mark.parametrize("name", KEYS)
def test_reads(name: str) -> None:
    check(lambda xp, a: [a[KEYS[name](xp)], a[::-1][KEYS[name](xp)]], cube()[0])


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", KEYS)
def test_reads_are_at_once(name: str) -> None:
    """And nobody has their memory."""
    values, there = cube()
    found = there[KEYS[name](lf)]
    assert type(found) is host.float64 or found._host is not None
    before = values.copy()
    if type(found) is not host.float64:
        found[...] = -1.0
    host.testing.assert_array_equal(lf.asnumpy(there), before)


def values_for(xp: Any, a: Any, key: Any) -> list[Any]:
    """What may be written: numbers, arrays of the dtype and others, lists, parts of the array."""
    shape = host.shape(host.empty(SHAPE)[key if xp is host else lf_key(key)])
    full = host.random.default_rng(5).random(shape) * 90
    last = full[..., :1] if full.ndim else full
    return [
        2.5, 3, True, host.float32(1.5), xp.array(full), full, xp.array(full.astype("f4")),
        xp.array(full.astype("i2")), xp.array(last), xp.array(3.0), a[key] * 2, a[key][::-1]
        if full.ndim else a[key],
    ]  # fmt: skip


def lf_key(key: Any) -> Any:
    """A key of ours as NumPy's."""
    parts = key if type(key) is tuple else (key,)
    made = tuple(lf.asnumpy(part) if isinstance(part, lf.LazyArray) else part for part in parts)
    return made if type(key) is tuple else made[0]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("name", KEYS)
def test_writes(name: str, dtype: str) -> None:
    """All views see them, what was recorded before keeps what it read."""
    values, there = cube(dtype)
    row, before, old = there[3], there * 2, values * 2
    count = len(values_for(host, values, KEYS[name](host)))
    for number in range(count):
        for xp, array in ((host, values), (lf, there)):
            key = KEYS[name](xp)
            array[key] = values_for(xp, array, key)[number]
        host.testing.assert_array_equal(lf.asnumpy(there), values)
        host.testing.assert_array_equal(lf.asnumpy(row), values[3])
    host.testing.assert_array_equal(lf.asnumpy(before), old)


@pytest.mark.parametrize("name", KEYS)
def test_operators_in_place(name: str) -> None:
    def program(xp: Any, a: Any) -> Any:
        key = KEYS[name](xp)
        a[key] += 1.5
        a[key] *= a[key]
        xp.add.at(a, key, 2.0)
        xp.subtract.at(a, key, a[key] * 2)
        return a

    check(program, cube()[0])


FAULTS: dict[str, Callable[[Any, Any], Any]] = {
    "outside": lambda xp, a: a[xp.array(ROWS), xp.array([0, 1, 2, 20])],
    "an int outside": lambda xp, a: a[xp.array(ROWS), 20],
    "shapes": lambda xp, a: a[xp.array(ROWS), [0, 1, 2]],
    "shapes with nothing": lambda xp, a: a[xp.array(ROWS), 1:1, [0, 1, 2]],
    "axes": lambda xp, a: a[xp.array(ROWS), 0, 0, 0],
    "dots": lambda xp, a: a[..., xp.array(ROWS), ...],
    "a mask of another shape": lambda xp, a: a[xp.array(MASK[:-1]), 0],
    "a float": lambda xp, a: a[xp.array(ROWS), 1.0],
    "floats": lambda xp, a: a[xp.array(ROWS), xp.array([0.0, 1.0, 2.0, 3.0])],
    "written outside": lambda xp, a: a.__setitem__((xp.array([1, 30]), 2), 1.0),
    "the last one outside": lambda xp, a: a.__setitem__((xp.array([1, 30]), 2, 1), [1.0, 2.0]),
    "values of another shape": lambda xp, a: a.__setitem__((xp.array(ROWS), 2), xp.ones(4)),
    "values before places": lambda xp, a: a.__setitem__((xp.array([30, 1]), 2, 1), xp.ones(3)),
    "values for a mask": lambda xp, a: a.__setitem__(xp.array(ALL), xp.ones(3)),
    "rows for a mask": lambda xp, a: a.__setitem__((xp.array(ALL),), xp.ones((1, ALL.sum()))),
    "no number": lambda xp, a: a.__setitem__((xp.array(ROWS), 2), "abc"),
    "complex": lambda xp, a: a.__setitem__((xp.array(ROWS), 2), 1j),
    "at outside": lambda xp, a: xp.add.at(a, (xp.array([1, 30]), 2), 1.0),
}


def told(fault: Any, xp: Any, array: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any exception is an answer here
        fault(xp, array)
    kinds = type(caught.value).__mro__
    return next(k.__name__ for k in kinds if "_core" not in k.__module__), str(caught.value)


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    """NumPy's words, and nothing is written that NumPy does not write."""
    values, there = cube()
    assert told(FAULTS[name], lf, there) == told(FAULTS[name], host, values)
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_rows_for_a_mask_of_an_array_that_is_read_later() -> None:
    """A mask in a tuple, or a list, is one mask as well."""
    values = host.arange(5_000.0)
    mask = values % 100 == 0
    for key in ((mask,), mask.tolist(), mask):
        there = lf.array(values)
        lf.materialize(there)
        before = there * 2
        with pytest.raises(TypeError, match="requires a 0 or 1-dimensional input"):
            there[key] = lf.ones((1, 50))
        host.testing.assert_array_equal(lf.asnumpy(before), values * 2)


def test_read_only() -> None:
    """What may not be written is not."""
    values, there = cube()
    values.flags.writeable = there.flags.writeable = False

    def write(xp: Any, a: Any) -> None:
        a[xp.array(ROWS), xp.array([0, 1, 2, 20])] = 1.0

    assert told(write, lf, there) == told(write, host, values)
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_conditions_are_told() -> None:
    """Of casts, and of what `at` computes; at the user's line."""
    for write in (
        lambda xp, a: a.__setitem__((xp.array(ROWS), 1), host.float64(1e300)),
        lambda xp, a: a.__setitem__((xp.array(ROWS), 1, 1), [1e300, 1.0, 1.0, 1.0]),
        lambda xp, a: xp.multiply.at(a, (xp.array(ROWS), 1), host.float32(1e38)),
        lambda xp, a: a.__setitem__((xp.array(ROWS), 1), host.complex128(1j)),
    ):
        texts = []
        for xp, array in zip((host, lf), cube("f4"), strict=True):
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                write(xp, array)
            texts.append([(str(each.message), each.filename) for each in given])
        assert texts[0] == texts[1] and texts[0][0][1] == __file__


def test_arrays_that_are_keys_and_values_of_themselves() -> None:
    def program(xp: Any, a: Any) -> Any:
        a %= 30
        a[a[0, 0] % 9, 1] = a[a[0, 0] % 5, 2]
        a[a[:, 0, 0], a[:, 1, 1] % 20, 0] = a[:, 0, 0]
        a[a[0, :9, 0], 0] = a[0, :9]
        return a

    check(program, cube("i8")[0])


def test_an_index_that_reads_what_is_written() -> None:
    """It sees what was there before."""
    values, there = cube()
    seen: list[Any] = []

    class Reading:
        def __index__(self) -> int:
            seen.append(there * 2)
            return 1

    key = (lf.array(ROWS), slice(Reading(), None), 2)
    for number in (7.0, 8.0):
        seen.clear()
        there[key] = number
        read = lf.asnumpy(seen[0])
        host.testing.assert_array_equal(read, values * 2)
        values[ROWS, 1:, 2] = number
        host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_values_of_a_subclass() -> None:
    class Named(host.ndarray):
        pass

    def program(xp: Any, a: Any) -> Any:
        a[xp.array(ROWS), 1, 2] = host.arange(4.0).view(Named)
        a[xp.array(ROWS).tolist(), 2, host.array([1]).view(Named)] = 7.0
        return a[ROWS.view(Named), 1]

    check(program, cube()[0])


def draw_part(draw: host.random.Generator, extent: int, count: int) -> Callable[[Any], Any]:
    """A random part of a key for an axis."""
    kind = draw.integers(0, 8)
    if kind < 3:
        low = -extent if kind else 0
        dtype = draw.choice(["i8", "i4", "i2"] if low else ["u1", "u8", "i8"])
        shape = [(count,), (2, count), (1,), (2, 1), ()][draw.integers(0, 5) if kind else 0]
        values = draw.integers(low, extent + (draw.random() < 0.03), shape).astype(dtype)
        is_ours = draw.random() < 0.5
        return lambda xp: xp.array(values) if is_ours else values
    if kind == 3:
        mask = host.zeros(extent, bool)
        mask[draw.permutation(extent)[: min(count, extent)]] = True
        return lambda xp: xp.array(mask)
    if kind == 4:
        number = draw.integers(-extent, extent)
        return lambda xp: number if number % 2 else int(number)
    start, stop = (int(n) for n in draw.integers(-extent - 1, extent + 2, 2))
    step = int(draw.choice([1, 1, 2, -1, -3]))
    return lambda xp: slice(start, stop if start % 2 else None, step)


@pytest.mark.parametrize("seed", range(60))
def test_random_keys(seed: int) -> None:
    """Read and written, on views too, against NumPy."""
    draw = host.random.default_rng(seed)
    values, there = cube(str(draw.choice(["f8", "i4", "u1", "c16"])))
    turn: Callable[[Any], Any] = [
        lambda a: a, lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[:, 1:]
    ][draw.integers(0, 4)]  # fmt: skip
    whole = values, there
    for _ in range(6):
        shape, count = turn(values).shape, int(draw.integers(0, 5))
        parts = [draw_part(draw, extent, count) for extent in shape[: draw.integers(1, 4)]]
        if draw.random() < 0.2:
            parts.insert(int(draw.integers(0, len(parts) + 1)), lambda xp: ...)
        if draw.random() < 0.2:
            parts.insert(int(draw.integers(0, len(parts) + 1)), lambda xp: None)
        given = draw.random(9) * 90
        choice = draw.integers(0, 4)
        found = [
            outcome(xp, turn(array), tuple(part(xp) for part in parts), choice, given)
            for xp, array in zip((host, lf), whole, strict=True)
        ]
        assert not list(oracle.compare("", *found))
        host.testing.assert_array_equal(lf.asnumpy(there), values)


def outcome(xp: Any, array: Any, key: Any, choice: int, given: Any) -> Any:
    """What reading, and then writing, gives."""
    try:
        found = array[key]
        if choice == 0:
            array[key] = 7
        elif choice == 1:
            array[key] = found[::-1] if found.ndim else found
        elif choice == 2:
            array[key] += xp.array(given.astype("u1"))[: found.shape[-1] if found.ndim else 1]
    except (IndexError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return found if xp is host else oracle.observe(found)


RANGES: dict[str, Any] = {
    "rows": range(10),
    "backwards": range(9, -1, -2),
    "none": range(0),
    "a diagonal": (range(30), range(30)),
    "of columns": (slice(None), range(2, 20, 3)),
    "beside a slice": (range(5), slice(3)),
    "beside a number": (range(5), 3),
    "out of bounds": range(100),
    "beyond all bounds": range(1 << 70),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(name: str) -> None:
    """They pick and write as lists do, at once."""
    key = RANGES[name]

    def program(np: Any) -> Any:
        x = np.arange(1200.0).reshape(40, 30)
        seen = []
        for _ in range(3):
            try:
                seen.append(x[key])
                x[key] = -1.0
                x[key] += 3.0
            except IndexError as error:
                seen.append(str(error))
        return seen, x

    with lf.options(eager_size=100):
        oracle.check(program)
