"""NumPy's numbers beside arrays, and ufuncs of numbers alone: by Python's methods and by machine
code, in whatever size, with NumPy's values, dtypes and warnings."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine

pytestmark = pytest.mark.engine
TYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16")
NUMBERS = [host.dtype(code).type(3) for code in TYPES] + [True, 3, 2.5, 1 + 2j]
UFUNCS = ("add", "multiply", "subtract", "divide", "less", "maximum", "hypot")
#: As in `test_ops_matrix.py`: what the kernels' hypot may differ from the platform's.
ULP = 2
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "a + s": lambda a, s: a + s, "s + a": lambda a, s: s + a, "a * s": lambda a, s: a * s,
    "s * a": lambda a, s: s * a, "s / a": lambda a, s: s / a, "s < a": lambda a, s: s < a,
    "a == s": lambda a, s: a == s, "s >= a": lambda a, s: s >= a,
}  # fmt: skip


@pytest.fixture(params=("Python", "machine code"))
def way(request: pytest.FixtureRequest) -> str:
    """Which code runs; a process has Python's methods until the machine code is put in."""
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    return str(request.param)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with host.errstate(all="ignore"), lf.options(eager_size=100):
        yield


@pytest.mark.parametrize("size", (5, 400))
@pytest.mark.parametrize("dtype", ("f4", "f8", "i4", "i8", "c16"))
def test_beside_arrays(dtype: str, size: int, way: str) -> None:
    """On both sides, of small arrays and of the engine's, until it is done by recipes."""

    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        found = {}
        for number in NUMBERS:
            for _ in range(3):
                for name, operation in OPERATORS.items():
                    if dtype == "c16" and name in ("s < a", "s >= a"):
                        continue
                    found[f"{name} {type(number).__name__}"] = operation(x, number)
                if dtype != "c16":
                    for name in UFUNCS:
                        ufunc = getattr(np, name)
                        found[f"{name} {type(number).__name__}"] = ufunc(number, x)
                        found[f"{name} of {type(number).__name__}"] = ufunc(x, number)
        return found

    values = (host.arange(size) - size // 2).astype(dtype)
    oracle.check(program, values, ulp=ULP)


@pytest.mark.parametrize("size", (5, 400))
def test_chosen(size: int, way: str) -> None:
    """Two numbers, and numbers beside arrays, where a mask says."""

    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        found = []
        for one in NUMBERS:
            for other in (*NUMBERS, x, x.astype("f4"), x.astype(int)):
                for _ in range(2):
                    found += [np.where(x > 1.0, one, other), np.where(x > 1.0, other, one)]
        return found

    oracle.check(program, host.arange(float(size)))


@pytest.mark.parametrize("dtype", ("f4", "f8", "i8"))
def test_numbers_differ_from_call_to_call(dtype: str, way: str) -> None:
    """A recipe takes the number that it is given, or refuses it."""
    numbers = (1, 2.5, host.float32(0.1), host.float32("inf"), host.float32("nan"),
               host.int64(2**62 + 1), host.int32(-5), host.float64(1e300))  # fmt: skip

    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        return [number * x + (x - number) for _ in range(3) for number in numbers]

    oracle.check(program, host.arange(200).astype(dtype))
    oracle.check(program, host.arange(20).astype(dtype))


@pytest.mark.parametrize("size", (3, 40, 600))
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8"))
def test_ints_that_no_float_holds(dtype: str, size: int, way: str) -> None:
    """NumPy's error, or its array of objects; nothing is written."""
    huge = 10**400

    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        table, kinds = np.zeros((size, size), x.dtype) + x, []
        for _ in range(2):
            for operation in (
                lambda: x * huge, lambda: huge + x, lambda: x / -huge, lambda: x.__iadd__(huge),
                lambda: x.__imul__(-huge), lambda: np.add(x, huge), lambda: np.maximum(huge, x),
                lambda: table[1].__iadd__(huge), lambda: table[1] - huge,
                lambda: np.multiply(x, huge, out=x),
            ):  # fmt: skip
                try:
                    kinds.append(str(operation().dtype))
                except (OverflowError, TypeError) as error:
                    kinds.append(type(error).__mro__[-4].__name__)
        return str(kinds), x, table

    oracle.check(program, host.arange(size).astype(dtype))


def test_objects_without_axes(way: str) -> None:
    """Arrays of objects stay what they are, whatever they hold; those of numbers are numbers."""
    for size in (3, 600):
        ours, theirs = lf.arange(float(size)), host.arange(float(size))
        for item in (2.5, 3, 2j, host.float32(2.5)):
            given = host.array(item, object) * ours
            assert given.dtype == object
            assert given[1] == (host.array(item, object) * theirs)[1]
        for dtype in ("f8", ">f8", "f4", "i8", "c16", "?"):
            given = host.array(1, dtype) < ours if dtype != "c16" else host.array(1, dtype) * ours
            wanted = host.array(1, dtype) < theirs if dtype != "c16" else host.array(1) * theirs
            host.testing.assert_array_equal(host.asarray(given), wanted)


@pytest.mark.parametrize("name", ("sqrt", "exp", "sin", "tanh", "absolute", "negative", "modf"))
def test_ufuncs_of_one_number(name: str, way: str) -> None:
    """NumPy's own answers, exactly, and of its types."""
    for number in (*NUMBERS, -2.0, 10**30, "x"):
        wanted, given = (attempt(lambda n=np, x=number: getattr(n, name)(x)) for np in (host, lf))
        assert type(given) is type(wanted)
        host.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("name", ("add", "power", "arctan2", "less", "logical_and", "divmod"))
def test_ufuncs_of_two_numbers(name: str, way: str) -> None:
    for number in NUMBERS:
        for other in (*NUMBERS, None):
            wanted, given = (
                attempt(lambda n=np, x=number, y=other: getattr(n, name)(x, y))
                for np in (host, lf)
            )
            assert type(given) is type(wanted)
            host.testing.assert_array_equal(given, wanted)


def attempt(call: Callable[[], Any]) -> Any:
    """The result, or what kind of error it was."""
    try:
        return call()
    except (TypeError, ValueError, OverflowError, AttributeError) as raised:
        return next(k.__name__ for k in type(raised).__mro__ if "_core" not in k.__module__)


@pytest.mark.cpu("floating point flags")
def test_warnings_are_at_the_users_line(way: str) -> None:
    """As often as NumPy's, and errors when the user wants them."""
    with host.errstate(all="warn"), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert host.isnan(lf.sqrt(-1.0))
        assert lf.divide(host.float32(1), 0) == host.inf
    assert [each.filename for each in heard] == [__file__] * 2
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        lf.log(-1.0)


def test_where_nothing_is_small_they_are_recorded(way: str) -> None:
    with lf.options(eager_size=0):
        assert isinstance(lf.sqrt(4.0), lf.LazyScalar) and float(lf.sqrt(4.0)) == 2.0


def test_keywords_and_outputs(way: str) -> None:
    out = lf.zeros(())
    assert lf.add(1.0, 2.0, out=out) is out and out[()] == 3.0
    assert lf.add(1, 2, dtype="f4").dtype == "f4"
    with pytest.raises(TypeError):
        lf.sqrt(1.0, 2.0, 3.0)


@pytest.mark.cpu("machine code for numbers")
def test_numbers_alone_bring_the_machine_code() -> None:
    """A program that calls ufuncs of nothing else."""
    program = """
        import lazyfuse as np
        from lazyfuse.frontend import rerecord
        from lazyfuse.runtime import session
        rerecord._asked[0] = rerecord.HOT = 500
        asked = []
        rerecord.when_hot[:] = [lambda: asked.append(session.uses[0])]
        with np.options(eager_size=100):
            for _ in range(1_200):
                np.exp(0.3)
        assert asked == [500, 1_000], asked
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


EXPONENTS = (0, 1, 2, 3, 5, 8, 31, 63, 64, 100, host.int64(3), host.int8(5), host.uint8(3))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_integers_to_a_number(way: str, dtype: str) -> None:
    """As products, and as what NumPy computes; at once, recorded and replayed."""
    x = host.random.default_rng(3).integers(0, 120, 5_000).astype(dtype)

    def program(np: Any) -> list[Any]:
        a = np.array(x)
        a[::3] **= 3
        return [a] + [find(a, k) for k in EXPONENTS for find in (pow, np.power)]

    oracle.check_modes(program, ulp=ULP)  # uint64 to int64 is a power of floats


def test_integers_to_a_small_number_fuse() -> None:
    with lf.options(eager_size=0, cold_size=0):
        x = lf.arange(1_000)
        text = lf.explain((x + 1) ** 3 - x**7)
        assert text.startswith("1 kernel") and "0 library calls" in text
        assert "1 library call" in lf.explain(x**64)
