"""Vector math on the CPU: special values as NumPy gives them, errors below the bounds of
`ulp.BOUNDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from lazyfuse.backends.cpu.features import supports
from lazyfuse.backends.cpu.vecmath import VECMATH
from lazyfuse.backends.cpu.vecmath.registry import ON_AVX512
from lazyfuse.backends.cpu.vecmath.tables import TABLES
from lazyfuse.backends.cpu.vector import VectorWriter
from lazyfuse.ops.body import Body, Value, cast
from lazyfuse.ops.primitives import PRIMITIVES
from tests.ulp import BOUNDS, UFUNCS, Points, any_floats, measure, points, reference, ulps
from tests.vector_loop import (
    ArrayFunction,
    compile_body,
    compile_function,
    host_features,
    without_avx512,
)

DTYPES = ("f4", "f8")
POINTS = 100_000
#: What is exact has tests of its own (`test_remainder.py`).
NAMES = [name for name in VECMATH if name != "fmod"]


@cache
def compiled(name: str, dtype: str, lanes: int = 8) -> ArrayFunction:
    return compile_function(name, dtype, lanes=lanes, arity=PRIMITIVES[name].arity)


def special_values(dtype: str) -> NDArray[np.floating]:
    """Zeros, infinities, NaN, the edges of the format, integers, halves, neighbours of 1."""
    info = np.finfo(dtype)
    values = [
        0.0,
        info.smallest_subnormal,
        info.tiny,
        info.tiny * (1 - info.eps),
        info.max,
        np.inf,
        0.5,
        1.0,
        1 - info.epsneg,
        1 + info.eps,
        1.5,
        2.0,
        3.0,
        4.0,
        10.0,
        100.0,
        1000.0,
        1e22,
        2.0**31,
        2.0**52,
        2.0**53,
        2.0**53 + 2,
        1e-5,
        1e-10,
        1e-20,
        1e-30,
        127.0,
        128.0,
        149.0,
        150.0,
        1023.0,
        1024.0,
        1074.0,
        1075.0,
        88.72283,
        88.72284,
        103.97,
        709.782712893384,
        709.7827128933841,
        710.4758600739439,
        710.5,
        745.1332191019411,
        745.1332191019412,
        744.44,
    ]
    with np.errstate(over="ignore"):
        positive = np.array(values).astype(dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def special_operands(name: str, dtype: str) -> Points:
    values = special_values(dtype)
    if PRIMITIVES[name].arity == 1:
        return (values,)
    grid = np.meshgrid(values, values)
    return grid[0].ravel(), grid[1].ravel()


def classes(values: NDArray[np.floating]) -> NDArray[np.str_]:
    """nan, +-inf, +-0 or finite, as text."""
    sign = np.where(np.signbit(values), "-", "+")
    kind = np.select(
        [np.isnan(values), np.isinf(values), values == 0], ["nan", "inf", "zero"], "finite"
    )
    return np.where(kind == "nan", kind, np.char.add(sign, kind))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype: str) -> None:
    """Zeros and their signs, infinities and NaN come where NumPy has them; the rest is within the
    bound.
    """
    check_special_values(name, dtype, compiled(name, dtype))


def check_special_values(name: str, dtype: str, function: ArrayFunction) -> None:
    operands = special_operands(name, dtype)
    actual = function(*operands)
    with np.errstate(all="ignore"):
        expected = UFUNCS[name](*operands)
        exact = reference(name, operands)
    differs = classes(actual) != classes(expected)
    differs &= classes(actual) != classes(
        exact.astype(dtype)
    )  # a last bit may decide between 0 or inf and finite
    where = np.flatnonzero(differs)
    assert not where.size, [(*(o[k] for o in operands), actual[k], expected[k]) for k in where[:5]]
    error = ulps(actual, exact)
    worst = int(np.argmax(error))
    bound = BOUNDS[name][DTYPES.index(dtype)]
    assert error[worst] <= bound, (*(o[worst] for o in operands), actual[worst], exact[worst])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_error_is_below_the_bound(name: str, dtype: str) -> None:
    """The largest error on all magnitudes, near 0, 1 and multiples of pi/2, in ulp."""
    error, where = measure(name, dtype, POINTS, function=compiled(name, dtype))
    assert error <= BOUNDS[name][DTYPES.index(dtype)], where


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_nan_stays_nan(name: str, dtype: str) -> None:
    """NaN with any sign and payload; one computed by integer arithmetic on its bits could turn
    finite.
    """
    form = np.finfo(dtype)
    rng = np.random.default_rng(3)
    payload = rng.integers(1, 2**form.nmant, 4000, dtype=f"u{dtype[1:]}")
    sign = rng.integers(0, 2, 4000, dtype=payload.dtype) << payload.dtype.type(form.bits - 1)
    nan = (payload | sign | np.array(np.inf, dtype).view(payload.dtype)).view(dtype)
    two = np.full(nan.size, 2.5, dtype)
    arity = PRIMITIVES[name].arity
    for operands in [(nan,)] if arity == 1 else [(nan, two), (two, nan), (nan, nan)]:
        assert np.isnan(compiled(name, dtype)(*operands)).all()


@pytest.mark.parametrize("name", NAMES)
def test_reference_agrees_with_mpmath(name: str) -> None:
    """Long double, by which errors are measured, is right to 0.01 ulp of float64."""
    functions = {
        "log2": lambda x: mpmath.log(x, 2),
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "pow": mpmath.power,
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    }
    function = functions.get(name) or getattr(mpmath, name)
    operands = tuple(operand[:: operand.size // 60] for operand in points(name, "f8", POINTS))
    exact = reference(name, operands)
    with mpmath.workdps(60):
        for index in range(exact.size):
            expected = function(*(mpmath.mpf(float(operand[index])) for operand in operands))
            head = float(exact[index])
            if not np.isfinite(head) or abs(head) < 1e-300:
                continue
            rest = float(exact[index] - head)
            error = abs(mpmath.mpf(head) + mpmath.mpf(rest) - mpmath.re(expected)) / np.spacing(
                abs(head)
            )
            assert error < 0.01, [operand[index] for operand in operands]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_lanes_do_not_change_bits(name: str, dtype: str) -> None:
    """1, 4, 8 and 16 lanes give the same bits: a loop's tail and body agree."""
    operands = tuple(operand[:: operand.size // 2000] for operand in points(name, dtype, 10_000))
    results = [compiled(name, dtype, lanes)(*operands).tobytes() for lanes in (1, 4, 8, 16)]
    assert len(set(results)) == 1


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "pow", "acosh", "cbrt"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_hold_without_fma(name: str, dtype: str) -> None:
    """On a host without fused multiply-add, exact products use Dekker's splitting; errors stay
    near the bound, and special values are NumPy's.
    """
    features = host_features() - {"fma", "fma4", "avx512f"}
    slow = compile_function(
        name,
        dtype,
        lanes=4,
        arity=PRIMITIVES[name].arity,
        features=frozenset(f for f in features if "avx512" not in f),
    )
    assert "vfmadd" not in slow.loop.assembly
    check_special_values(name, dtype, slow)
    error, where = measure(name, dtype, 20_000, function=slow)
    assert error <= BOUNDS[name][DTYPES.index(dtype)] + 0.5, where


@pytest.mark.parametrize(("name", "dtype"), sorted(ON_AVX512))
def test_without_avx512(name: str, dtype: str) -> None:
    """Polynomials alone keep the bounds, too."""
    function = without_avx512(name, dtype)
    check_special_values(name, dtype, function)
    error, where = measure(name, dtype, POINTS, function=function)
    assert error <= BOUNDS[name][DTYPES.index(dtype)], where


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("sin", "cos"))
def test_chosen_coefficients_change_no_bit(name: str, dtype: str) -> None:
    x = points(name, dtype, POINTS)[0]
    results = [function(x) for function in (compiled(name, dtype), without_avx512(name, dtype))]
    assert results[0].tobytes() == results[1].tobytes()


def test_tables_are_exact() -> None:
    """Heads and rests give the powers and logarithms to 100 bits."""
    with mpmath.workdps(60):
        for j in range(16):
            head, rest = (mpmath.mpf(TABLES[name][j]) for name in ("EXP2_HEADS", "EXP2_RESTS"))
            assert abs(head * (1 + rest) / mpmath.mpf(2) ** (mpmath.mpf(j) / 16) - 1) < 2**-100
        for inverses, heads, rests, bits, near in LOGARITHMS:
            for inverse, head, rest in zip(
                *(TABLES[name] for name in (inverses, heads, rests)), strict=True
            ):
                assert abs(head + mpmath.mpf(rest) + mpmath.log(inverse)) < near
                assert head * 2**bits == mpmath.nint(head * 2**bits)


#: Inverses, heads and rests of their logarithms, the bits of the heads, and how near both are.
LOGARITHMS = (
    ("INVERSES", "LOG_HEADS", "LOG_RESTS", 40, 2**-90),
    ("SHORT_INVERSES", "SHORT_HEADS_F8", "SHORT_RESTS_F8", 40, 2**-90),
    ("SHORT_INVERSES", "SHORT_HEADS_F4", "SHORT_RESTS_F4", 14, 2**-38),
)


@pytest.mark.parametrize(
    "name, ends, low, high",
    [("INVERSES", (0, 1), -3 / 80, 1 / 16), ("SHORT_INVERSES", (-1 / 2, 1 / 2), -3 / 64, 3 / 64)],
)
def test_remainders_of_inverses_are_exact(
    name: str, ends: tuple[float, float], low: float, high: float
) -> None:
    """m*c - 1 has no more bits than a float, for the least and the largest m of each place, and is
    where the polynomials are."""
    for j, inverse in enumerate(TABLES[name]):
        for end in ends:
            m = 1 + Fraction(j + end) / 16
            remainder = m * Fraction(inverse) - 1
            assert low <= remainder <= high
            inverse_bits = 5 if j < 8 else 6
            assert Fraction(inverse) * 2**inverse_bits % 1 == 0
            unit = Fraction(2) ** ((-23 if m > 1 else -24) - inverse_bits)
            assert abs(remainder) <= unit * 2**24


def test_scaled_powers_are_nearly_doubles() -> None:
    """So exp needs no rests; and what is left of 1 once it is divided by the scale is exact."""
    scale = Fraction(TABLES["SCALED_POWERS"][0])
    assert 1 < scale < 1 + Fraction(1, 10**6)
    with mpmath.workdps(60):
        for j, power in enumerate(TABLES["SCALED_POWERS"]):
            exact = mpmath.mpf(2) ** (mpmath.mpf(j) / 16) * TABLES["SCALED_POWERS"][0]
            assert abs(exact - power) < 0.13 * 2**-52
    for name in ("exp", "exp2"):
        for function in (compiled(name, "f8"), without_avx512(name, "f8")):
            assert function(np.array([0.0, -0.0, 1e-300, -1e-300, 1e-17])).tolist() == [1.0] * 5


def test_exp2_of_integers_is_exact() -> None:
    """exp2 gives powers of two, down to the last denormal."""
    x = np.arange(-1074.0, 1024.0)
    for function in (compiled("exp2", "f8"), without_avx512("exp2", "f8")):
        assert np.array_equal(function(x), np.ldexp(1.0, x.astype(int)))


def test_log2_and_log10_of_powers_are_exact() -> None:
    """log2(2**k) == k and log10(10**k) == k."""
    k = np.arange(-1074.0, 1024.0)
    assert np.array_equal(compiled("log2", "f8")(np.ldexp(1.0, k.astype(int))), k)
    k = np.arange(0.0, 23.0)
    assert np.array_equal(compiled("log10", "f8")(10.0**k), k)


def test_pow_is_exact_where_the_result_is() -> None:
    """Small integer powers, and square roots as powers, are what exact arithmetic gives."""
    base, exponent = (
        grid.ravel().astype("f8") for grid in np.meshgrid(np.arange(-20, 21), np.arange(0, 12))
    )
    assert np.array_equal(compiled("pow", "f8")(base, exponent), base**exponent)
    root = np.arange(1.0, 200.0)
    assert np.array_equal(compiled("pow", "f8")(root * root, np.full(root.size, 0.5)), root)


def traced(function: Callable[..., Value], *dtypes: str) -> ArrayFunction:
    body = Body()
    operands = [body.emit("load", dtype, attr=slot) for slot, dtype in enumerate(dtypes)]
    return compile_body(body, function(*operands).index, lanes=8)


_PLAIN = [
    (name, dtype)
    for name, row in PRIMITIVES.items()
    for dtype in ("b1", "i1", "i4", "i8", "u2", "u8", "f4", "f8")
    if row.numpy is not None and row.llvm.get(dtype[0], "expand") != "expand"
    if (name, dtype[0]) != ("popcount", "i")  # np.bitwise_count takes the absolute value first
]


@pytest.mark.parametrize(("name", "dtype"), _PLAIN)
def test_plain_primitives_are_numpys(name: str, dtype: str) -> None:
    """Arithmetic, bits and comparisons, bit for bit; b1 operands are made from bytes."""
    rng = np.random.default_rng(8)
    memory = "u1" if dtype == "b1" else dtype
    low, high = (1, 7) if name in ("shl", "shr", "rem") else (0, 2) if dtype == "b1" else (-99, 99)
    shift = 0.0 if dtype[0] != "f" else 0.375
    operands = [
        (rng.integers(low, high, 333) + shift).astype("f8").clip(0 if dtype[0] in "ub" else low)
        .astype(memory) for _ in range(PRIMITIVES[name].arity)
    ]  # fmt: skip
    compare = name in ("eq", "ne", "lt", "le")
    result = "b1" if compare else "u1" if name == "popcount" else dtype

    def apply(*loaded: Value) -> Value:
        args = [cast(value, dtype) for value in loaded]
        value = args[0].body.emit(name, result, *args)
        return cast(value, "u1") if result == "b1" else value

    function = PRIMITIVES[name].numpy
    assert function is not None
    with np.errstate(all="ignore"):
        expected = function(*(operand.astype(dtype.replace("b1", "?")) for operand in operands))
    actual = traced(apply, *[memory] * len(operands))(*operands)
    assert actual.tobytes() == expected.astype(actual.dtype).tobytes()


def test_plain_multiply_and_add_are_not_contracted() -> None:
    """x*y + x rounds twice, as NumPy does."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 10_000))
    call = traced(lambda a, b: a * b + a, "f8", "f8")
    assert "vfmadd" not in call.loop.assembly
    assert np.array_equal(call(x, y), x * y + x)


def test_float64_to_float16_rounds_once() -> None:
    """float64 -> float16 ties are NumPy's; rounding twice would give others."""
    if not supports("f2", host_features()):
        pytest.skip("no float16 conversions on this host")
    halves = np.arange(65536, dtype="u2").view("f2").astype("f8")
    finite = np.sort(halves[np.isfinite(halves)])
    middle = (finite[1:] + finite[:-1]) / 2
    rng = np.random.default_rng(6)
    x = np.concatenate(
        [
            halves,
            middle,
            np.nextafter(middle, 9e9),
            np.nextafter(middle, -9e9),
            any_floats(rng, "f8", 10_000),
            [np.inf, -np.inf, np.nan, 65520.0, 65519.999],
        ]
    )
    with np.errstate(over="ignore"):
        expected = x.astype("f2")
    actual = traced(lambda a: cast(a, "f2"), "f8")(x)
    assert np.array_equal(actual, expected, equal_nan=True)
    assert np.array_equal(np.signbit(actual[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("source", ["u1", "i1", "i2", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("target", ["b1", "i1", "u2", "i4", "i8", "f2", "f4", "f8"])
def test_casts_are_numpys(source: str, target: str) -> None:
    """Casts of values in range of the target."""
    if not all(supports(dtype, host_features()) for dtype in (source, target)):
        pytest.skip("no float16 conversions on this host")
    low = -50 if source[0] != "u" and target[0] != "u" else 0
    x = np.arange(low, 100).astype(source)
    actual = traced(lambda a: cast(a, target), source)(x)
    assert np.array_equal(
        actual.view("u1" if target == "b1" else target),
        x.astype(target.replace("b1", "?")).view("u1" if target == "b1" else target),
    )


def test_complex_values_are_two_names() -> None:
    """complex, real, imag and casts between complex dtypes cost no shuffles."""
    writer = VectorWriter(8, features=frozenset())
    body = Body()
    one = writer.const(1.0, "c16")
    assert one.names == ("splat (double 0x3FF0000000000000)", "splat (double 0x0000000000000000)")
    value = body.emit("const", "c16", attr=1.0)
    narrow = writer.write(body.emit("cast", "c8", value).body.instrs[-1], (one,))
    assert len(narrow.names) == 2 and len(writer.lines) == 2
