"""Every elementwise op, for every dtype, memory layout, length and special value, equals NumPy.

By default a slice of the layouts is run for each (family, dtype), another one for each; `--full`
runs all of them.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle
from tests.corpus import DTYPES, FAMILIES, FLOATS, LAYOUT_PAIRS, LAYOUTS, MIXED, Family
from tests.oracle import Rules

UNARY = [family for family in FAMILIES if family.arity == 1]
BINARY = [family for family in FAMILIES if family.arity == 2]
#: Layouts for each (family, dtype) of the default run.
SLICE = 2
SHORT_LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)


def _slice(choices: Sequence[Any], key: str, full: bool) -> list[Any]:
    """Return all choices, or the first one and some others that depend on the key."""
    if full:
        return list(choices)
    start = zlib.crc32(key.encode()) % len(choices)
    rest = [choices[(start + 3 * k) % len(choices)] for k in range(SLICE)]
    return list(dict.fromkeys([choices[0], *rest]))


def _ids(value: Any) -> str:
    return value.name if isinstance(value, Family) else str(value)


def _problems(
    family: Family, bases: Sequence[Any], layouts: Sequence[str], rules: Rules
) -> Iterator[str]:
    """Yield what differs when the family's ops run on bases in some layouts."""

    def program(np: Any, *arrays: Any) -> dict[str, Any]:
        views = tuple(
            LAYOUTS[name].view(np, base) for name, base in zip(layouts, arrays, strict=True)
        )
        return {op: corpus.attempt(np, op, views) for op in ops}

    ops: Sequence[str] = family.ops
    try:
        found = list(oracle.differences(program, *bases, rules=rules))
    except Exception:  # noqa: BLE001 - find the op that breaks the group
        found = []
        for op in family.ops:
            ops = (op,)
            try:
                found += oracle.differences(program, *bases, rules=rules)
            except Exception as raised:  # noqa: BLE001 - reported below
                found.append(f"result[{op}]: {type(raised).__name__}: {raised}")
    yield from (f"{'/'.join(layouts)} {line}" for line in found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", UNARY, ids=_ids)
def test_unary(family: Family, dtype: str, full: bool) -> None:
    """One operand, in many layouts."""
    values = corpus.unary_values(dtype)
    problems: list[str] = []
    with host.errstate(all="ignore"):
        for name in _slice(list(LAYOUTS), family.name + dtype, full):
            base = LAYOUTS[name].prepare(values)
            problems += _problems(family, [base], [name], corpus.family_rules(family, dtype))
    assert not problems, "\n".join(problems[:20])


def _check_binary(family: Family, left: str, right: str, full: bool) -> None:
    problems: list[str] = []
    with host.errstate(all="ignore"):
        x, y = corpus.usable(family, *corpus.pair_values(left, right))
        for pair in _slice(LAYOUT_PAIRS, family.name + left + right, full):
            bases = [
                LAYOUTS[name].prepare(v)
                for name, v in zip(pair, _flat_pair(pair, x, y), strict=True)
            ]
            problems += _problems(family, bases, pair, corpus.family_rules(family, left, right))
    assert not problems, "\n".join(problems[:20])


def _flat_pair(pair: tuple[str, str], x: Any, y: Any) -> tuple[Any, Any]:
    """Give operands that broadcast: a 1-D layout beside a 2-D one keeps one row."""
    flat = [LAYOUTS[name].flat for name in pair]
    return (x[:1] if flat == [True, False] else x, y[:1] if flat == [False, True] else y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", BINARY, ids=_ids)
def test_binary(family: Family, dtype: str, full: bool) -> None:
    """Two operands of one dtype: all pairs of special values, in many pairs of layouts."""
    _check_binary(family, dtype, dtype, full)


@pytest.mark.parametrize("left,right", [*MIXED, ("f4", "i4"), ("f2", "i1"), ("f8", "i8")])
def test_mixed_dtypes(left: str, right: str) -> None:
    """Two operands of different dtypes promote as NumPy promotes them."""
    problems: list[str] = []
    with host.errstate(all="ignore"):
        for family in BINARY:
            x, y = corpus.usable(family, *corpus.pair_values(left, right))
            rules = corpus.family_rules(family, left, right)
            lines = _problems(family, [x, y], ["matrix", "matrix"], rules)
            problems += [f"{family.name}: {line}" for line in lines]
    assert not problems, "\n".join(problems[:20])


#: Weak Python scalars and typed NumPy scalars.
SCALARS = (
    True,
    0,
    2,
    -1,
    300,
    2**31,
    2**63,
    2.5,
    -0.0,
    float("inf"),
    float("nan"),
    1e300,
    1 + 2j,
    host.float64(2),
    host.float32(0.1),
    host.float16(3),
    host.int8(-3),
    host.uint8(200),
    host.int64(2**40),
    host.bool(True),
)
SCALAR_OPS = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "equal",
    "less",
    "greater_equal",
    "maximum",
    "fmin",
    "logical_and",
    "copysign",
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars(dtype: str) -> None:
    """A Python scalar is weak, a NumPy scalar is not, and one that does not fit raises at the call
    (NEP 50).
    """
    values = (
        corpus.special_values(dtype)
        if dtype not in corpus.COMPLEX
        else corpus.finite_complex(dtype)
    )

    def program(np: Any, x: Any) -> dict[str, Any]:
        results = {}
        for op in SCALAR_OPS:
            for scalar in SCALARS:
                results[f"{op}(x, {scalar!r})"] = corpus.attempt(np, op, (x, scalar))
                results[f"{op}({scalar!r}, x)"] = corpus.attempt(np, op, (scalar, x))
        return results

    oracle.check(program, values, zero_sign=False, ulp=4 if dtype in corpus.COMPLEX else 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype: str) -> None:
    """Python's operators are the ufuncs, with reflected and in-place forms."""
    values = corpus.random_values(dtype, 17)

    def program(np: Any, x: Any) -> list[Any]:
        results = []
        for apply in OPERATORS:
            try:
                results.append(apply(x))
            except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
                results.append(corpus.refusal(raised))
        return results

    oracle.check(program, values, ulp=8 if dtype in corpus.COMPLEX else 5)


OPERATORS = (
    lambda x: x + x,
    lambda x: x - x,
    lambda x: x * x,
    lambda x: x / x,
    lambda x: x // 3,
    lambda x: x % 3,
    lambda x: divmod(x, 3),
    lambda x: x**2,
    lambda x: 2 + x,
    lambda x: 2 - x,
    lambda x: 2 * x,
    lambda x: 2 / x,
    lambda x: 7 // x,
    lambda x: 7 % x,
    lambda x: -x,
    lambda x: +x,
    lambda x: abs(x),
    lambda x: ~x,
    lambda x: x & x,
    lambda x: x | 1,
    lambda x: x ^ 3,
    lambda x: 1 & x,
    lambda x: 6 | x,
    lambda x: 5 ^ x,
    lambda x: x << 2,
    lambda x: x >> 1,
    lambda x: x == x,
    lambda x: x != 1,
    lambda x: x < 1,
    lambda x: x <= x,
    lambda x: x > 1,
    lambda x: 1 >= x,
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths(dtype: str, full: bool) -> None:
    """The remainder of a vector loop is handled at every length from 1 to 70."""
    values = corpus.random_values(dtype, 71)
    lengths = range(1, 71) if full else SHORT_LENGTHS
    families = [
        family
        for family in FAMILIES
        if family.name in ("signs", "arithmetic", "comparisons", "extrema")
    ]

    def program(np: Any, x: Any) -> list[Any]:
        return [
            {
                op: corpus.attempt(np, op, (x[:n], x[1 : n + 1])[: family.arity])
                for op in family.ops
            }
            for n in lengths
            for family in families
        ]

    rules = corpus.family_rules(families[1], dtype)
    oracle.check(program, values, ulp=rules.ulp, zero_sign=False)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_math_lengths(dtype: str, full: bool) -> None:
    """Transcendental functions give an element the same bits wherever it stands in an array."""
    values = corpus.random_values(dtype, 71)
    names = [op for family in UNARY if family.rules.ulp for op in family.ops]

    def whole(np: Any, x: Any) -> Any:
        return [getattr(np, op)(x) for op in names]

    expected = [oracle.to_numpy(result) for result in whole(oracle.lf, oracle.to_lazy(values))]
    for length in range(1, 71) if full else (1, 3, 8, 17, 33, 70):
        part = [
            oracle.to_numpy(result) for result in whole(oracle.lf, oracle.to_lazy(values[:length]))
        ]
        for op, wanted, given in zip(names, expected, part, strict=True):
            assert oracle.equal(wanted[:length], given).all(), (op, dtype, length)


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype: str) -> None:
    """Casts to every dtype: integers wrap, floats in range truncate (out of range is undefined in
    NumPy).
    """
    rng = host.random.default_rng(3)
    kind = host.dtype(dtype).kind
    values = (
        corpus.special_values(dtype) if kind in "iub" else (rng.random(40) * 120).astype(dtype)
    )

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {target: x.astype(target) for target in DTYPES} | {"strided": x[::-2].astype("f4")}

    with host.testing.suppress_warnings() as quiet:
        quiet.filter(host.exceptions.ComplexWarning)
        oracle.check(program, values)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_casts(dtype: str) -> None:
    """Casts among floats keep NaN, infinities, signs of zero and denormals, and round to even."""
    values = host.r_[corpus.special_values(dtype), corpus.random_values(dtype, 200)]
    oracle.check(lambda np, x: [x.astype(t) for t in (*FLOATS, *corpus.COMPLEX, "?")], values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_selection(dtype: str) -> None:
    """`where`, `clip` and `nan_to_num` with arrays, scalars and None."""
    values = corpus.special_values(dtype)

    def program(np: Any, x: Any) -> list[Any]:
        mask = x != x[:1]
        results = [
            np.where(mask, x, x[::-1]),
            np.where(mask, x, x[0]),
            np.where(x[:1] == x[:1], x, x),
        ]
        results += [np.where(x, 1, 0), np.where(mask, np.inf, x), np.where(mask, x, 2.5)]
        if x.dtype.kind != "c":
            results += [
                np.clip(x, x[1], None),
                np.clip(x, None, x[::-1]),
                np.clip(x, x[0], x[1]),
                x.clip(x[1]),
            ]
        return [*results, np.nan_to_num(x)]

    oracle.check(program, values, zero_sign=False)


def test_nan_to_num_replacements() -> None:
    """`nan_to_num` takes replacements for NaN and the infinities."""
    values = host.array([host.nan, host.inf, -host.inf, -0.0, 1.5, host.nan])
    oracle.check(lambda np, x: np.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-9.0), values)
    oracle.check(lambda np, x: np.nan_to_num(x.astype("f4")), values)


def test_clip_propagates_nan() -> None:
    """NaN stays NaN, and a NaN bound gives NaN."""
    values = host.array([host.nan, 1.0, 2.0, 3.0])
    oracle.check(
        lambda np, x: [np.clip(x, 1.5, 2.5), np.clip(x, host.nan, 2.5), np.clip(x, 3, 1)], values
    )


@pytest.mark.parametrize("dtype", corpus.COMPLEX)
def test_complex_parts(dtype: str) -> None:
    """`real`, `imag`, `conj` and `angle` of complex and of real arrays."""
    values = corpus.special_values(dtype)
    oracle.check(lambda np, z: [np.real(z), np.imag(z), np.conj(z), z.real + 1, z.conj()], values)
    oracle.check(
        lambda np, z: [np.real(z), np.imag(z), z.conj()], values.real.copy(), strides=False
    )
    oracle.check(lambda np, z: np.angle(z), corpus.finite_complex(dtype), ulp=5)


def test_special_literals() -> None:
    """Infinities, NaN, the largest and the smallest values are literals like any other (pitfall
    P40).
    """
    values = corpus.special_values("f8")
    literals = (float("inf"), -float("inf"), float("nan"), 5e-324, 1.7976931348623157e308, -0.0)
    oracle.check(
        lambda np, x: [x + v for v in literals] + [np.where(x > 0, v, x) for v in literals], values
    )


@pytest.mark.engine
def test_the_families_cover_the_op_table() -> None:
    """Each row is tested here: a new op needs a family, and then nothing else."""
    table = importlib.import_module("lazyfuse.ops.table")
    split = {part: name for name, parts in table.MULTIPLE.items() for part in parts}
    ufuncs = {split.get(row.name, row.name) for row in table.OPS.values() if row.ufunc is not None}
    assert ufuncs - set(corpus.OPS) <= {"clip"}, "op rows without a family in tests/corpus.py"


def _reference(op: str, values: Any) -> Any:
    """Compute in the next wider float; its own error does not count at these bounds."""
    wide = host.longdouble if values.dtype == "f8" else host.float64
    return getattr(host, op)(values.astype(wide))


#: ULP of CUDA's functions, which are others than the CPU backend's.
CUDAS = 2.5


@pytest.mark.engine
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("family", [f for f in UNARY if f.rules.ulp], ids=_ids)
def test_accuracy(family: Family, dtype: str, full: bool) -> None:
    """The error against the true value stays within the documented bound, in ULP."""
    rng = host.random.default_rng(11)
    count = 1_000_000 if full else 20_000
    spread = rng.normal(size=count) * 2.0 ** rng.integers(-20, 6, count)
    near = host.r_[spread, rng.uniform(-1, 1, count), rng.uniform(0, 30, count)].astype(dtype)
    problems = []
    for op in family.ops:
        with host.errstate(all="ignore"):
            truth = _reference(op, near)
            given = oracle.to_numpy(getattr(oracle.lf, op)(oracle.to_lazy(near)))
            usable = host.isfinite(truth) & (abs(truth) < host.finfo(dtype).max)
            unit = host.spacing(abs(truth[usable]).astype(dtype)).astype(truth.dtype)
            errors = abs(given[usable].astype(truth.dtype) - truth[usable]) / unit
        bound = corpus.ACCURACY.get(op, corpus.OTHER_ACCURACY)[dtype == "f8"]
        bound = max(bound, CUDAS) if oracle.ON_GPU else bound
        worst = int(errors.argmax())
        if not errors[worst] <= bound:
            problems.append(
                f"{op} {dtype}: {errors[worst]:.2f} ULP at {near[usable][worst]!r}, bound {bound}"
            )
    assert not problems, "\n".join(problems)
