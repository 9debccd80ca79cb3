"""fmod is exact, so `%`, `//`, `divmod` and `fmod` are NumPy's bits and conditions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest
from numpy.typing import NDArray

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.vector_loop import (  # noqa: E402 - with an engine
    compile_function,
    host_features,
    without_avx512,
)

pytestmark = pytest.mark.engine
Pair = tuple[NDArray[Any], NDArray[Any]]
DTYPES = ("f4", "f8")
WITHOUT_FMA = frozenset(
    feature for feature in host_features() - {"fma", "fma4"} if "avx512" not in feature
)


def hard(dtype: str, count: int, seed: int) -> Pair:
    """Operands of any bits; multiples, their neighbours, and quotients of every size, also of more
    bits than the format has; tiny numbers; zeros, infinities and NaN."""
    draw, bits = host.random.default_rng(seed), 8 * int(dtype[1:])
    info = host.finfo(dtype)

    def any_floats() -> NDArray[Any]:
        return draw.integers(0, 2**bits, count, dtype=f"u{dtype[1:]}").view(dtype)

    special = host.array([0.0, -0.0, host.inf, -host.inf, host.nan, 1.0, 0.1, 3.0, info.max,
                          info.tiny, info.smallest_subnormal], dtype)  # fmt: skip
    x, y = any_floats(), any_floats()
    kind = draw.integers(0, 10, count)
    with host.errstate(all="ignore"):
        most = draw.choice([info.nmant + 4, 110], count)
        sizes = 2.0 ** draw.integers(0, most)
        multiples = y * host.floor(draw.random(count) * sizes).astype(dtype)
        x = host.where(kind < 4, multiples, x)
        up, down = host.nextafter(x, info.max), host.nextafter(x, -info.max)
        x = host.select([kind == 1, kind == 2], [up, down], x)
        y = host.where(kind == 5, abs(x) * draw.random(count).astype(dtype), y)
        x = host.where(kind == 6, x * info.tiny, x)
        y = host.where((kind == 6) | (kind == 7), y * info.tiny, y)
    x = host.where(kind == 8, draw.choice(special, count), x)
    return x, host.where((kind == 9) | (kind == 8), draw.choice(special, count), y)


def assert_same_bits(found: NDArray[Any], wanted: NDArray[Any], operands: Pair) -> None:
    """NaN may be any."""
    word = f"u{wanted.itemsize}"
    is_nan = host.isnan(wanted)
    is_same = (found.view(word) == wanted.view(word)) | (is_nan & host.isnan(found))
    places = host.flatnonzero(~is_same)[:3]
    assert not len(places), [(x[places], wanted[places], found[places]) for x in operands]


@pytest.mark.parametrize("lanes", (1, 4, 8, 16))
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_bits(dtype: str, lanes: int, *, full: bool) -> None:
    function = compile_function("fmod", dtype, lanes=lanes, arity=2)
    for seed in range(30 if full else 2):
        operands = hard(dtype, 64_000, seed)
        with host.errstate(all="ignore"):
            assert_same_bits(function(*operands), host.fmod(*operands), operands)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_bits_on_other_processors(dtype: str) -> None:
    """Without AVX-512, and where nothing multiplies and adds at once."""
    slow = compile_function("fmod", dtype, lanes=4, arity=2, features=WITHOUT_FMA)
    assert "vfmadd" not in slow.loop.assembly
    operands = hard(dtype, 64_000, 3)
    for function in (slow, without_avx512("fmod", dtype)):
        with host.errstate(all="ignore"):
            assert_same_bits(function(*operands), host.fmod(*operands), operands)


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "%": lambda np, x, y: x % y,
    "//": lambda np, x, y: x // y,
    "divmod": lambda np, x, y: np.divmod(x, y),
    "fmod": lambda np, x, y: np.fmod(x, y),
    "% number": lambda np, x, y: x % 0.1,
    "// number": lambda np, x, y: x // -0.3,
    "fused": lambda np, x, y: (x % y - x // 2.5) * (x % 1.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_programs(name: str, dtype: str) -> None:
    x, y = hard(dtype, 5_000, 4)
    with host.errstate(all="ignore"):
        wanted = PROGRAMS[name](host, x, y)
        found = PROGRAMS[name](lf, lf.asarray(x), lf.asarray(y))
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in pairs:
        assert_same_bits(host.asarray(one), other, (x, y))


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "pair", ((1.0, 0.0), (host.inf, 2.0), (host.nan, 0.0), (0.0, 0.0), (2.0, host.inf),
             (1e30, 1e-30), (5.0, 2.0), (host.nan, 2.0)),
)  # fmt: skip
def test_conditions(pair: tuple[float, float], dtype: str) -> None:
    """Those of NumPy's, each alone among common operands."""

    def heard(np: Any, program: Callable[[Any, Any, Any], Any]) -> list[str]:
        x, y = np.full(1000, 5.5, dtype), np.full(1000, 2.0, dtype)
        x[7], y[7] = pair
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            with host.errstate(all="warn"):
                host.asarray(program(np, x, y))
        return sorted({str(message.message) for message in messages})

    for name in ("%", "//", "fmod"):
        assert heard(lf, PROGRAMS[name]) == heard(host, PROGRAMS[name]), name


@pytest.mark.parametrize("dtype", ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
def test_integers(dtype: str) -> None:
    """`%` by the quotient of `//`: all signs, 0 and -1, the ends of the range."""
    info = host.iinfo(dtype)
    some = host.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 10, 100])
    some = host.concatenate([some, -some[some > 0]]) if info.min else some
    values = some.astype(dtype)
    x, y = (grid.ravel() for grid in host.meshgrid(values, values))

    def program(np: Any, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return x % y, x // y, *np.divmod(x, y), np.fmod(x, y), (x % y) * 2 - x // y

    with host.errstate(all="ignore"):
        for found, wanted in zip(
            program(lf, lf.asarray(x), lf.asarray(y)), program(host, x, y), strict=True
        ):
            assert found.dtype == wanted.dtype
            host.testing.assert_array_equal(host.asarray(found), wanted)


@pytest.mark.parametrize("size", (100, 300_000))
@pytest.mark.parametrize("name", ("gcd", "lcm", "power", "ldexp", "sqrt"))
def test_calls_that_numpy_computes(name: str, size: int) -> None:
    """Their results are written into memory of the engine's pool where they are large."""
    draw = host.random.default_rng(7)
    x, y = draw.integers(1, 50, size), draw.integers(1, 9, size)
    if name == "ldexp":
        x = x * 0.5
    operands = (x + 1j * x,) if name == "sqrt" else (x, y)

    def program(np: Any, *operands: Any) -> Any:
        first = getattr(np, name)(*operands)
        return first, getattr(np, name)(*(operand[::2] for operand in operands)), first + first

    mine = program(lf, *map(lf.asarray, operands))
    for found, wanted in zip(mine, program(host, *operands), strict=True):
        assert found.dtype == wanted.dtype and found.strides == wanted.strides
        host.testing.assert_array_equal(host.asarray(found), wanted)
