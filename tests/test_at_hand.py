"""Everyday functions of arrays that are in memory, on lines that are not new: what NumPy does best
is done at once, in the memory where it is, and all is as it is with NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend import fallback, pieces, small
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

N = 40_000


@pytest.fixture(autouse=True)
def known_lines() -> Iterator[None]:
    """No line is new."""
    with lf.options(eager_size=30_000, cold_size=0):
        yield


def in_memory(values: Any) -> Any:
    """An array of the engine, computed."""
    array = lf.array(values)
    lf.materialize(array)
    assert array._host is None
    return array


def drawn(*shape: int) -> host.ndarray:
    """Some numbers."""
    return host.random.default_rng(7).normal(size=shape)


def is_computed(array: Any) -> bool:
    """Whether it has its memory."""
    return array._host is not None or array._storage.node.buffer is not None


CALLS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "tiled": (lambda xp, x: xp.tile(x, 2), (200_000,)),
    "made an array": (lambda xp, x: xp.array([x, x]), (N,)),
    "above the diagonal": (lambda xp, x: xp.triu(x, 1), (200, 200)),
    "below the diagonal": (lambda xp, x: xp.tril(x), (200, 200)),
    "columns of a mask": (lambda xp, x: x[:, x[0] > 0], (400, 400)),
    "columns of integers": (lambda xp, x: x[:, xp.array([3, -1, 5] * 60)], (400, 400)),
    "planes": (lambda xp, x: x[..., xp.array([1, 0] * 20), :], (50, 40, 60)),
    "rows": (lambda xp, x: xp.take(x, xp.array([3, -1, 5] * 60), axis=0), (400, 1_000)),
    "rows of a mask": (lambda xp, x: x[x[:, 0] > 0], (400, 1_000)),
}


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", CALLS)
def test_at_once(name: str) -> None:
    """To record these takes longer than NumPy does; their results have an order of their own."""
    call, shape = CALLS[name]
    values = drawn(*shape)
    expected, array = call(host, values), in_memory(values)
    for _ in range(3):
        found = call(lf, array)
        assert is_computed(found)
        host.testing.assert_array_equal(lf.asnumpy(found), expected)
        assert found.strides == expected.strides
        found[...] = 7.0
    host.testing.assert_array_equal(lf.asnumpy(array), values)


@pytest.mark.cpu("results at once")
def test_elements_that_are_many_wait() -> None:
    """Single elements are no rows: to pick more of them takes NumPy longer than a kernel."""
    array, places = in_memory(drawn(N)), in_memory(host.arange(70_000) % N)
    found = array[places]
    assert not is_computed(found)
    host.testing.assert_array_equal(lf.asnumpy(found), lf.asnumpy(array)[host.arange(70_000) % N])


@pytest.mark.cpu("results at once")
def test_the_only_view_of_new_memory_is_not_copied() -> None:
    """A result that NumPy has reshaped, or whose axes it has turned, was copied."""
    for turned in (
        host.arange(float(N)).reshape(200, -1),
        host.arange(float(N)).reshape(200, -1).T,
    ):
        address = turned.__array_interface__["data"][0]
        found = small.lift(turned)
        assert found._storage.node.buffer.pointer == address


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("axis", (0, 1, -1))
def test_sorted_in_place(axis: int) -> None:
    """Memory is sorted where it lies; what was read before keeps its values."""
    values = drawn(200, 300)
    array = in_memory(values)
    address = array._storage.node.buffer.pointer
    array.sort(axis=axis)
    assert array._storage.node.buffer.pointer == address
    host.testing.assert_array_equal(lf.asnumpy(array), host.sort(values, axis=axis))

    array = in_memory(values)
    doubled, part = array * 2, array[::2, 5:]
    part.sort(axis=axis, kind="stable")
    expected = values.copy()
    expected[::2, 5:].sort(axis=axis, kind="stable")
    host.testing.assert_array_equal(lf.asnumpy(array), expected)
    host.testing.assert_array_equal(lf.asnumpy(doubled), values * 2)


def test_errors_of_sorting() -> None:
    """As NumPy's, and nothing has changed."""

    def program(xp: Any, x: Any) -> Any:
        found = []
        for given in ({"axis": 2}, {"kind": "quack"}, {"axis": None}, {"axis": 1.5}):
            try:
                x.sort(**given)
            except (ValueError, TypeError) as error:
                found.append(type(error).__name__)
        return x, found

    oracle.check(program, drawn(200, 300))


def test_clipped_on_one_side() -> None:
    """One bound is a maximum or a minimum, of NaN and both zeros, too; what a dtype has not is
    NumPy's to tell."""

    def program(xp: Any, x: Any, single: Any, whole: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                xp.clip(each, *bounds)
                for each in (x, single, whole, x[::2], single[:10])
                for bounds in ((0.0, None), (None, 0), (1, None), (None, 1e300), (True, None),
                               (host.nan, None), (None, host.float32(0.5)))
            ]  # fmt: skip

    x = drawn(N)
    x[:4] = host.nan, -0.0, 0.0, host.inf
    oracle.check(program, x, x.astype("f4"), (x[4:] * 100).astype("i4"))


WHOLE = host.random.default_rng(8).integers(0, 99, N)
TOLD: dict[str, Callable[[Any, Any, Any], Any]] = {
    "histogram": lambda xp, x, k: xp.histogram(x, 10),
    "isin": lambda xp, x, k: xp.isin(k, [3, 4]),
    "bincount": lambda xp, x, k: xp.bincount(k, weights=x),
    "union1d": lambda xp, x, k: xp.union1d(k, k[:5]),
    "polyfit": lambda xp, x, k: xp.polyfit(k, x, 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_only_numpy_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is counted once, said at the user's line, or refused; the results are NumPy's."""
    monkeypatch.setattr(fallback, "_SEEN", set())
    values = drawn(N)
    x, k = in_memory(values), in_memory(WHOLE)
    expected = TOLD[name](host, values, WHOLE)
    for _ in range(3):
        before = lf.stats().fallbacks
        found = TOLD[name](lf, x, k)
        assert lf.stats().fallbacks == before + 1
        for one, other in zip(flat(found), flat(expected), strict=True):
            host.testing.assert_array_equal(lf.asnumpy(one), other)
    with lf.options(fallback="warn"), pytest.warns(lf.FallbackWarning, match=name) as heard:
        TOLD[name](lf, x, k)
    assert [each.filename for each in heard] == [__file__]
    with lf.options(fallback="error"), pytest.raises(lf.FallbackError, match=name):
        TOLD[name](lf, x, k)


def flat(found: Any) -> list[Any]:
    """One result or several, in a list."""
    return list(found) if isinstance(found, tuple) else [found]


def test_weights_by_name() -> None:
    """Weights are read where they are; other arrays by name are no operands."""
    values, others = drawn(N), abs(drawn(N)) + 1
    x, weights = in_memory(values), in_memory(others)
    assert float(lf.average(x, weights=weights)) == host.average(values, weights=others)
    found = lf.bincount(in_memory(WHOLE % 5), weights=weights)
    host.testing.assert_array_equal(lf.asnumpy(found), host.bincount(WHOLE % 5, weights=others))
    found, _ = lf.histogram(x, 20, weights=weights)
    host.testing.assert_array_equal(
        lf.asnumpy(found), host.histogram(values, 20, weights=others)[0]
    )
    out = in_memory(host.zeros(N))
    view, before = out[:], lf.asnumpy(out)
    lf.cumsum(x, out=out)
    host.testing.assert_array_equal(before, host.zeros(N))
    host.testing.assert_allclose(lf.asnumpy(view), host.cumsum(values))


def test_parts_of_complex_numbers_and_diagonals() -> None:
    """Views, as NumPy's; what has no such part is refused in its words."""

    def program(xp: Any, z: Any, m: Any) -> Any:
        xp.real(z)[3] = 9.0
        xp.imag(z)[4] = 8.0
        found = [xp.real(z), xp.imag(z), xp.real(m), xp.real(1 + 2j), xp.imag([1j])]
        found += [xp.diag(m), xp.diag(m, -2), xp.diag(m, 500), xp.diag(m[0][:50])]
        errors = []
        for call in (lambda: xp.diag(), lambda: xp.diag(m, 0, 0), lambda: xp.real(1, 2)):
            try:
                call()
            except TypeError as error:
                errors.append(str(error))
        try:
            xp.diag(m)[0] = 1.0
        except ValueError:
            errors.append("read-only")
        return z, found, errors

    oracle.check(program, drawn(N) + 1j, drawn(200, 200))


def test_no_output() -> None:
    """`out=None`, which NumPy's own code says everywhere, is no output; what is wrong besides is
    NumPy's to tell."""

    def program(xp: Any, x: Any) -> Any:
        found = [xp.add(x, x, out=None), xp.add(x, 1, None), xp.trunc(x, None), xp.fix(x)]
        found += [*xp.divmod(x, 2.0, None), *xp.modf(x, None), xp.sin(x, out=None)]
        found += [xp.ptp(x.reshape(200, -1), axis=0), xp.add(1.5, 2, out=None)]
        errors = []
        for call in (lambda: xp.add(), lambda: xp.divmod(), lambda: xp.add(x, out=None),
                     lambda: xp.sin(x, None, None), lambda: xp.frexp(),
                     lambda: xp.divmod(x[:9], 2.0, out=None)):  # fmt: skip
            try:
                call()
            except TypeError as error:
                errors.append(str(error))
        return found, errors

    oracle.check(program, drawn(N), ulp=4)


WRITTEN = (
    0, 1, -1, 127, 128, 255, 256, -129, 32_767, 32_768, 65_535, 65_536, 2**24 + 1, 2**31 - 1,
    2**31, 2**32, 2**53 + 1, 2**63, 10**400, True, 0.0, -0.0, 1.5, 0.1, 1e300, -1e-40,
    3.4028235e38, 3.4028236e38, 3.5e38, 1.1754944e-38, 1e-38, host.inf, host.nan,
    host.float32(0.1), host.float32("nan"), host.float64(0.1), host.int32(-7), host.int64(2**40),
    host.int64(7),
)  # fmt: skip


@pytest.mark.parametrize(
    "dtype", ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8")
)
def test_numbers_that_are_written(dtype: str) -> None:
    """Numbers that a narrow dtype holds are stored without NumPy; others as NumPy casts them, with
    its warnings and errors."""

    def write(array: Any, value: Any) -> tuple[Any, ...]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                array[3] = value
                array.reshape(4, -1)[2, -1] = value
            except (OverflowError, ValueError, TypeError) as error:
                return type(error), str(error)
        return tuple({str(each.message) for each in told})

    for value in WRITTEN:
        mine, numpys = in_memory(host.ones(N, dtype)), host.ones(N, dtype)
        for mode in ({}, {"all": "ignore"}):
            with host.errstate(**mode):
                assert write(mine, value) == write(numpys, value), value
            assert host.asarray(mine).tobytes() == numpys.tobytes(), value


LISTS: dict[str, list[Any]] = {
    "ints": [*range(40)],
    "floats": [0.1 * n for n in range(40)],
    "both": [0.5, *range(39)],
    "large ints": [2**62 + n for n in range(40)],
    "larger ints": [2**63 + n for n in range(40)],
    "too large ints": [2**1100] * 40,
    "masks": [n % 3 == 0 for n in range(40)],
    "NaN and infinity": [float("nan"), float("inf")] * 20,
    "complex numbers": [1j, *range(39)],
    "complex numbers within": [0.5] * 20 + [1j] * 20,
    "numbers of NumPy's": [host.float32(0.1), host.int8(3)] * 20,
    "arrays within": [1.0, host.array(2.0)] * 20,
    "ours within": [1.0] * 20 + [lf.array(2.0)] * 20,
    "lists within": [[1.0, 2.0]] * 40,
    "ragged": [[1.0], [1.0, 2.0]] * 20,
    "words": ["1.5"] * 40,
    "nothing": [None] * 40,
    "one more": [1.0] * 41,
}


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i4", "?", "c16"))
@pytest.mark.parametrize("values", LISTS.values(), ids=LISTS)
def test_long_lists_that_are_written(values: list[Any], dtype: str) -> None:
    """What NumPy makes of a list is written where that rounds as the list does."""

    def write(array: Any, key: Any) -> tuple[Any, ...]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                array[key] = values
            except (OverflowError, ValueError, TypeError) as error:
                return (type(error),)
        return tuple({str(each.message) for each in told})

    numpys = host.arange(N).reshape(40, -1).astype(dtype)
    mine = in_memory(numpys)
    for key in ((slice(None), 1), (2, slice(None, 40)), (slice(None, None, -1), 0)):
        with host.errstate(all="ignore"):
            told = write(mine, key)
            assert told == write(numpys, key)
        if told and isinstance(told[0], type):
            break  # NumPy has written what precedes the fault
        assert host.asarray(mine).tobytes() == numpys.tobytes()


def test_long_lists_are_not_looked_at_number_by_number() -> None:
    """That took as long as NumPy takes to make an array of one."""
    line = in_memory(host.ones(N))
    assert type(pieces._given(line, LISTS["both"])) is host.ndarray
    assert pieces._given(line, LISTS["both"][:9]) is not None


@pytest.mark.parametrize("size", (100, N))
def test_numbers_of_a_list_are_not_looked_at(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of numbers is one, however long."""
    looked: list[type] = []
    lift = small.lift

    def noted(value: Any, *rest: Any) -> Any:
        looked.append(type(value))
        return lift(value, *rest)

    monkeypatch.setattr(small, "lift", noted)
    x = lf.array(drawn(size))
    lf.materialize(x)
    assert x.tolist() == drawn(size).tolist()
    assert len(looked) <= 2
