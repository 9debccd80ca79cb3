"""Defects that a reader found by calls of all functions with all kinds of operands: what was
written, refused or laid out otherwise than by NumPy, by arrays of each size and by each way."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import check

Program = Callable[..., Any]
SIZES = [4, 60_000]


@pytest.fixture(autouse=True, params=[0, 30_000], ids=["recorded", "at once"])
def small_arrays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small arrays are recorded, too, and computed at once, as they are by default."""
    with oracle.options(eager_size=request.param):
        yield


@pytest.mark.parametrize("operand", ["i1", "i8", "f4", "f8"])
@pytest.mark.parametrize("number", [2, 2.0, 300], ids=str)
def test_equivalent_casts_of_numbers(operand: str, number: Any) -> None:
    """`casting="equiv"` beside Python numbers: `resolve_dtypes` of NumPy 2.4 ends the process."""

    def program(np: Any, x: Any, name: str = "") -> Any:
        return getattr(np, name)(x, number, casting="equiv")

    for name in ("add", "divide", "less", "arctan2", "power", "divmod"):
        check(lambda np, x, name=name: program(np, x, name), host.ones(3, operand), ulp=1)
    check(lambda np, x: np.add(x, number, casting="equiv", dtype="f4"), host.ones(3, operand))


def test_no_casts_of_numbers() -> None:
    """`casting="no"` of numbers alone, into an output."""
    check(lambda np, x: np.sqrt(2, out=x, casting="no"), host.zeros(3))
    check(lambda np, x: np.modf(2, out=(x, x), casting="no"), host.zeros(3))
    check(lambda np, x: np.add(x, 2, casting="no"), host.ones(3, "f4"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "key", [slice(None), slice(None, None, 2), slice(1, None), [2], ..., 1], ids=str
)
def test_nothing_is_written_by_place(key: Any, size: int) -> None:
    """`x.flat[key] = []` changes nothing: memory that nobody had written came in."""

    def program(np: Any, x: Any) -> Any:
        x[::2].flat = np.zeros((0, 3))
        try:
            x.flat[key] = []
        except ValueError as error:  # of a single place
            return str(error), x
        return x, x * 1

    check(program, host.arange(float(size)))
    check(program, host.arange(size))


@pytest.mark.parametrize("size", [3, 60_000])
def test_powers_that_a_mask_leaves_out(size: int) -> None:
    """Integers to negative powers are refused where they are computed, and there alone."""

    def program(np: Any, x: Any, power: Any, out: Any) -> Any:
        found = np.power(x, power, out=out, where=power >= 0)
        return found is out, np.power(x, 2, out=out[::-1], where=x > 2)

    powers = host.resize([2, -1, 3], size)
    check(program, host.full(size, 3), powers, host.zeros(size, int))

    def refused(np: Any, x: Any, power: Any) -> Any:
        return np.power(x, power, out=np.zeros(x.shape, int), where=x > 2)

    check(refused, host.full(size, 3), powers)


@pytest.mark.engine
@pytest.mark.parametrize(
    "dtypes,options", [("u8 u8", {}), ("i8 u4", {}), ("i8 i8", {"dtype": "f8"}), ("f8 i8", {})]
)
def test_powers_that_nobody_refuses(dtypes: str, options: dict[str, Any]) -> None:
    """They stay in the engine, with a mask as well."""
    base, power = (oracle.lf.array(host.arange(40_000).astype(each)) for each in dtypes.split())
    out = oracle.lf.zeros(40_000)
    with oracle.options(fallback="error"):
        out = oracle.lf.power(base, power, out=out, where=base < 3, casting="unsafe", **options)
    wanted = host.where(host.arange(40_000) < 3, host.arange(40_000.0) ** host.arange(40_000), 0)
    host.testing.assert_array_equal(oracle.lf.asnumpy(out), wanted)


def _windows(np: Any, x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, 2)


SEALED: dict[str, Program] = {
    "windows": _windows,
    "windows of windows": lambda np, x: _windows(np, x)[::2],
    "a diagonal of windows": lambda np, x: np.diagonal(_windows(np, x)),
    "windows that repeat": lambda np, x: np.broadcast_to(_windows(np, x)[:1], (3, 2)),
    "strides of what is read-only": lambda np, x: np.lib.stride_tricks.as_strided(
        np.broadcast_to(x, x.shape)
    ),
    "strides": lambda np, x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "bytes": lambda np, x: np.frombuffer(b"12345678" * x.size, "u1"),
    "a part of bytes": lambda np, x: np.frombuffer(b"12345678" * x.size, "u1")[1:],
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SEALED)
def test_what_stays_read_only(name: str, size: int) -> None:
    """Windows, and memory that nobody can write, whatever their flag is set to."""

    def program(np: Any, x: Any) -> Any:
        found = SEALED[name](np, x)
        found.flags.writeable = False
        try:
            found.flags.writeable = True
        except ValueError:
            return found.flags.writeable, x
        return "writeable"

    check(program, host.arange(float(size)))


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("size", [2, 300])
def test_pickled_views_are_in_the_order_of_c(size: int, protocol: int) -> None:
    """Those that are contiguous in neither order, as NumPy's are."""

    def program(np: Any, x: Any) -> Any:
        views = [x.T, x.T[1:], x[::-1].T, np.broadcast_to(x[0], (2, size)), x[:, ::2]]
        return [pickle.loads(pickle.dumps(view, protocol)) for view in views]

    check(program, host.arange(float(size * size)).reshape(size, size))


@pytest.mark.parametrize("protocol", [2, 5])
def test_pickled_permutations(protocol: int) -> None:
    """From protocol 5 on, whole memory in another order of its axes keeps that order."""

    def program(np: Any, x: Any) -> Any:
        turned = x.transpose(1, 0, 3, 2)
        views = [turned, turned + 1, turned[::-1], turned[:, :1], x[::2].transpose(3, 2, 1, 0)]
        return [pickle.loads(pickle.dumps(view, protocol)) for view in views]

    check(program, host.arange(2.0 * 4 * 3 * 5).reshape(2, 4, 3, 5))
    check(program, host.arange(2.0 * 40 * 30 * 50).reshape(2, 40, 30, 50))


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "add", "power"])
def test_orders_of_results(name: str) -> None:
    """ "A" is of the array as it lies, not of a copy."""

    def program(np: Any, x: Any) -> Any:
        views = [x, x.T, x[::-1], x.T[::-1], x[:, ::2], x.T[:, ::2], x[:1], x.T[:, :1]]
        operands = [[view] * getattr(np, name).nin for view in views]
        orders = [(order, each) for order in "KACF" for each in operands]
        return [getattr(np, name)(*each, order=order) for order, each in orders]

    check(program, host.ones((3, 4)))
    check(lambda np, x: np.add(x, x.T, order="A"), host.ones((3, 3)))


def test_outputs_of_roundings_have_the_shape() -> None:
    """They are not broadcast to."""

    def program(np: Any, x: Any, out: Any, decimals: int = 0) -> Any:
        try:
            return np.round(x, decimals, out=out)
        except (ValueError, TypeError) as error:
            return type(error).__name__

    for dtype in ("i8", "f8", "c16"):
        for decimals in (0, 1, -1):
            for shape in ((2, 4), (1, 4), (4, 1), (4,), (0,)):
                values, out = host.arange(4).astype(dtype), host.zeros(shape, dtype)
                check(lambda np, x, y, n=decimals: program(np, x, y, n), values, out)
            check(lambda np, x, y, n=decimals: program(np, x, (y,), n), values, values * 0)


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax"])
def test_places_in_a_number(name: str) -> None:
    """They are numbers: scalars of NumPy's, not arrays."""

    def program(np: Any, x: Any) -> Any:
        found = [getattr(np, name)(x), getattr(np, name)(x * 2, axis=0)]
        return [(isinstance(each, np.ndarray), int(each)) for each in found]

    check(program, host.array(3.0))


@pytest.mark.parametrize("size", [3, 60_000])
def test_products_with_huge_integers(size: int) -> None:
    """They are objects, which have no axes: NumPy's error, not one of ours."""
    check(lambda np, x: x @ 10**30, host.ones((size, 2)))
    check(lambda np, x: 10**30 @ x, host.ones((size, 2)))


TURNS: dict[str, Program] = {
    "a tuple": lambda x: x.__setitem__(slice(2), (x[1], x[0])),
    "a list": lambda x: x.__setitem__(..., [x[1], x[0]]),
    "other operations": lambda x: x.__setitem__(slice(None), [x[1] + 1, x[0]]),
    "places": lambda x: x.__setitem__([0, 1], (x[1], x[0])),
    "half of the columns": lambda x: x[:, ::2].__setitem__(..., (x[1, ::2], x[0, ::2])),
    "a list inside": lambda x: x.__setitem__(..., (x[1], [1.0] * x.shape[1])),
    "more axes": lambda x: x.__setitem__(..., (x[1:], x[:1])),
}


@pytest.mark.parametrize("size", [3, 3000, 60_000])
@pytest.mark.parametrize("name", TURNS)
def test_own_parts_are_assigned_in_turn(name: str, size: int) -> None:
    """`x[:2] = x[1], x[0]` is no exchange: the second has what the first has written."""

    def program(np: Any, x: Any) -> Any:
        before = x * 1
        try:
            TURNS[name](x)
        except ValueError:
            return before, "refused"
        return before, x + 1

    check(program, host.arange(2.0 * size).reshape(2, size))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "?", "c16", "f2"])
def test_arrays_are_filled_with_numbers(dtype: str) -> None:
    """Not with sequences of one; bools take anything."""

    def program(np: Any, x: Any, one: Any) -> Any:
        found: list[Any] = []
        for value in ([5], (5,), [[5]], [], [1, 2], one, one.reshape(1, 1), one.reshape(()), 5):
            try:
                x.fill(value)
                found.append(x * 1)
            except (TypeError, ValueError) as error:
                found.append(type(error).__name__)
        return found

    check(program, host.zeros(3, dtype), host.array([5]))
    check(program, host.zeros(60_000, dtype), host.array([5]))


def _warned(program: Program) -> Program:
    """What a program gives, and what it warns of."""

    def warned(np: Any, x: Any) -> Any:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            found = program(np, x)
        return found, [str(each.message) for each in given]

    return warned


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "add"])
def test_outputs_by_position(name: str, size: int) -> None:
    """NumPy 2.4 warns of the third operand of `maximum`."""
    check(_warned(lambda np, x: getattr(np, name)(x, 1, None)), host.ones(size))
    with oracle.options(native=False):  # machine code, of calls that have been made, does not
        check(_warned(lambda np, x: getattr(np, name)(x, 2, x)), host.ones(size))


@pytest.mark.parametrize(
    "fold", ["sum", "mean", "prod", "cumsum", "cumprod", "max"], ids=lambda name: name
)
@pytest.mark.parametrize("size", SIZES)
def test_folds_that_lose_a_part(fold: str, size: int) -> None:
    """Complex numbers that are folded as real ones are told of."""

    def program(np: Any, x: Any) -> Any:
        try:
            return getattr(x, fold)(dtype=float)
        except TypeError as error:  # of a maximum, which takes none
            return type(error)

    check(_warned(program), host.ones(size) + 1j)
    check(_warned(lambda np, x: np.cumsum(x, out=np.zeros(x.shape))), host.ones(size) + 1j)
    check(
        _warned(lambda np, x: np.cumsum(x, dtype="f4", out=np.zeros(x.shape))),
        host.ones(size) + 1j,
    )


@pytest.mark.parametrize("fold", ["sum", "mean", "prod", "cumsum"])
def test_folds_in_another_byte_order(fold: str) -> None:
    """Ufuncs refuse a dtype in the other byte order, `cumsum` reads it as its own."""
    check(lambda np, x: getattr(np, fold)(x, dtype=">f8"), host.ones(5))


def test_scans_in_another_byte_order() -> None:
    check(lambda np, x: np.add.accumulate(x, dtype=">f8"), host.ones(5))
    check(lambda np, x: np.add.reduceat(x, [0, 2], dtype=">f8"), host.ones(5))


@pytest.mark.parametrize("decimals", [1, -1])
@pytest.mark.parametrize("pair", ["f4 f8", "f8 f4", "f8 f2", "f4 c16", "f2 f4"])
def test_rounding_into_another_dtype(pair: str, decimals: int) -> None:
    """From the first product on it is computed in the dtype of the output."""
    source, target = pair.split()

    def program(np: Any, x: Any) -> Any:
        out = np.zeros(x.shape, target)
        return np.round(x, decimals, out=out), out

    check(program, (host.arange(40) / 3).astype(source))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["maximum", "add"])
def test_wrong_outputs_by_position(name: str, size: int) -> None:
    """What is refused is told of once, where NumPy does."""

    def program(np: Any, x: Any) -> Any:
        found, out = [], np.zeros(x.shape)
        calls = [((out, out), {}), ((3,), {}), (((out,),), {}), ((out,), {"out": out})]
        for rest, words in calls:
            try:
                getattr(np, name)(x, 1, *rest, **words)
            except TypeError as error:
                found.append(type(error).__name__)
        return found

    check(_warned(program), host.ones(size))
