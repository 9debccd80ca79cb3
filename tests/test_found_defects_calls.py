"""Calls that differed from NumPy's: each docstring tells the failure."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle


@pytest.fixture(params=(0, 65536), autouse=True)
def eager_size(request: pytest.FixtureRequest) -> Iterator[None]:
    """All arrays in the engine; the default."""
    with oracle.options(eager_size=request.param):
        yield


def told(program: Callable[[Any], Any], np: Any) -> tuple[Any, list[str]]:
    """What a program gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = program(np)
    return found, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", ("mean", "var", "std"))
@pytest.mark.parametrize("dtype", ("f8", "f4", "f2", "i4", "c16", "?"))
def test_averages_of_numpys_arrays_into_ours(name: str, dtype: str) -> None:
    """`x.var(out=ours)` of a NumPy array left the sum in `out`, undivided."""

    def program(np: Any) -> list[Any]:
        found: list[Any] = []
        x = host.arange(1, 13).reshape(3, 4).astype(dtype)
        for how in ({"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 0, "where": x > 4}):
            out = np.zeros(
                (3, 1) if "keepdims" in how else 4, "c16" if dtype + name == "c16mean" else "f8"
            )
            with host.errstate(all="ignore"):
                result = getattr(x, name)(out=out, **how)
            found += [result is out, host.asarray(out).tolist()]
        return found

    assert repr(told(program, oracle.lf)) == repr(told(program, host))


@pytest.mark.parametrize("values", (5, [1, 2], [[1, 2]], range(3), host.arange(3)))
def test_axes_of_ndmin_are_a_view(values: Any) -> None:
    """`array([1, 2], ndmin=2)` had memory of its own where NumPy's is a view."""
    for ndmin in range(4):
        expected = host.array(values, ndmin=ndmin)
        found = oracle.lf.array(values, ndmin=ndmin)
        assert (found.base is None) == (expected.base is None)
        assert found.flags.owndata == expected.flags.owndata
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ("add", "power", "divide", "maximum", "sqrt", "modf"))
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i2"))
@pytest.mark.parametrize("case", range(4))
def test_complex_operands_of_real_loops(name: str, dtype: str, case: int) -> None:
    """`power(x, 1j, dtype=int, casting="unsafe")` lost the imaginary part without a word, and
    `power(x, x * 1j, ...)` of integers raised ValueError about zip(); where such an operation was
    computed step by step, it warned once more."""

    def program(np: Any) -> Any:
        x = np.arange(1, 4)
        z = x * (1 + 1j)
        function = getattr(np, name)
        operands = ((x, 1 + 1j), (x, z), (z, x), (z, z))[case]
        if function.nin == 1:
            operands = (z,)
        try:
            result = function(*operands, dtype=dtype, casting="unsafe")
        except TypeError as error:
            return str(error)
        return host.asarray(result).tolist()

    assert told(program, oracle.lf) == told(program, host)


def test_powers_of_integers_by_floats_in_an_integer_loop() -> None:
    """The exponents were let go when they had been looked at: ValueError about zip()."""

    def program(np: Any) -> Any:
        x = np.arange(1, 4)
        return np.power(x, np.array([1.0, 2, 3]) + 0, dtype=int, casting="unsafe").tolist()

    assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("name", ("r_", "c_", "mgrid", "ogrid"))
def test_copies_of_index_objects(name: str) -> None:
    """`copy.deepcopy(np.r_)` raised TypeError (modules cannot be pickled), `copy.copy`
    RecursionError."""
    grid = getattr(oracle.lf, name)
    for again in (copy.copy(grid), copy.deepcopy(grid), pickle.loads(pickle.dumps(grid))):
        assert list(map(host.ndim, again[0:3])) == list(map(host.ndim, getattr(host, name)[0:3]))


@pytest.mark.parametrize("name", ("sum", "asarray", "mean", "max"))
def test_ranges_longer_than_a_list_can_be(name: str) -> None:
    """They raised OverflowError: `len` of a range has no more than 63 bits."""

    def program(np: Any) -> str:
        try:
            return repr(getattr(np, name)(range(10**30)))
        except (TypeError, ValueError, MemoryError) as error:
            return str(error)

    assert program(oracle.lf) == program(host)


def test_names_of_the_module_itself() -> None:
    """`dir(lazyfuse)` had no `__version__` and the like."""
    own = {name for name in dir(host) if name.startswith("__")} & vars(oracle.lf).keys()
    assert {"__version__", "__name__", "__doc__"} <= own <= {*dir(oracle.lf)}


def test_bools_that_are_clipped_nowhere() -> None:
    """They gave a copy in the engine; NumPy's `positive` has no loop of bools."""
    for size in (3, 1000):
        x = host.ones(size, "?")
        oracle.check(lambda np, x: x.clip(), x)
        oracle.check(lambda np, x: np.clip(x, None, None), x)


@pytest.mark.parametrize("size", [3, 50_000])
def test_no_output_and_one(size: int) -> None:
    """`np.add(x, 2, None, out=y)` names the output twice."""

    def program(xp: Any, x: Any, y: Any) -> Any:
        return xp.add(x, 2.0, None, out=y)

    oracle.check(program, host.ones(size), host.zeros(size))


def _objects(np: Any, size: int) -> host.ndarray:
    objects = host.empty(2, object)
    objects[0], objects[1] = np.ones((size, size)), np.full((size, size), 2.0)
    return objects


def _joined(np: Any, size: int) -> list[Any]:
    objects = _objects(np, size)
    joined = [np.vstack(objects), np.hstack(objects), np.stack(objects), np.dstack(objects)]
    joined += [np.concatenate(objects, 1), np.column_stack(objects), host.vstack(objects)]
    chosen = np.choose(host.array([0, 1]), objects)
    selected = np.select([np.array(True), np.array(False)], objects)
    return [*joined, np.linalg.multi_dot(objects), selected, *chosen]


@pytest.mark.parametrize("size", [2, 300])
def test_arrays_in_an_array_of_objects(size: int) -> None:
    """NumPy asked the arrays in it for the function, and they asked NumPy: RecursionError."""
    for given, wanted in zip(_joined(oracle.lf, size), _joined(host, size), strict=True):
        assert host.array_equal(given, wanted)
