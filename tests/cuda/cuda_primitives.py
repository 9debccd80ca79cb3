"""One elementwise case per primitive and dtype, on special values: the table that the primitive
tests run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from cuda_cases import Case, code, elementwise_case

from lazyfuse.ir.kernel import FIXED, STRIDED
from lazyfuse.ops.body import bitcast, cast, imag, make_complex, real, select, truncate
from lazyfuse.ops.primitives import PRIMITIVES, Primitive

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f4", "f8")
#: ULPs between the host's libm and NumPy's vector code; each claims 1 to 4 itself.
LIBM_ULPS = 4
_EVERY = ("b1", *INTEGERS, "f2", *FLOATS)


def floats(dtype: str) -> np.ndarray:
    """Zeros, ones, halves, denormals, extremes, infinities, NaN and ordinary numbers."""
    info = np.finfo(dtype)
    special = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, 3.0, -3.0, 100.25, 0.1, -0.7, 10.0,
        float(info.tiny), -float(info.tiny), float(info.smallest_subnormal),
        -5 * float(info.smallest_subnormal), float(info.max), float(info.min), float(info.eps),
        float("inf"), float("-inf"), float("nan"),
    ]  # fmt: skip
    return np.array(special, dtype)


def integers(dtype: str) -> np.ndarray:
    """The ends of the range, small numbers and patterns of bits."""
    info = np.iinfo(dtype)
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        10,
        64,
        100,
        127,
        info.max,
        info.max - 1,
        info.max // 2,
        info.min,
    ]
    if info.min < 0:
        values += [-1, -2, -3, -7, -100, info.min + 1]
    return np.array(values, dtype)


def values_of(dtype: str) -> np.ndarray:
    if dtype == "b1":
        return np.array([True, False])
    if dtype[0] == "c":
        parts = floats(f"f{int(dtype[1:]) // 2}")
        return (parts + 1j * parts[::-1]).astype(dtype)
    return floats(dtype) if dtype[0] == "f" else integers(dtype)


def without_packs(case: Case) -> Case:
    """The same kernel on any strides: one entry instead of two, half of the compile time."""
    args = [
        arg._replace(access=tuple(FIXED if a == FIXED else STRIDED for a in arg.access))
        for arg in case.kernel.args
    ]
    case.kernel = replace(case.kernel, args=tuple(args))
    return case


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every value with every value."""
    x, y = np.meshgrid(values_of(dtype), values_of(dtype))
    return np.ascontiguousarray(x.reshape(-1)), np.ascontiguousarray(y.reshape(-1))


def primitive_cases() -> Iterator[Case]:
    """Every primitive on every dtype that its row has a cell for, the structural ones on all."""
    with np.errstate(all="ignore"):
        for row in PRIMITIVES.values():
            for dtype in ("b1", *INTEGERS, *FLOATS):
                if dtype[0] in row.cuda:
                    yield without_packs(_table_case(row, dtype))
        yield from map(without_packs, _casts())
        yield from map(without_packs, _truncations())
        yield from _structural()


def _table_case(row: Primitive, dtype: str) -> Case:
    operands = _operands(row, dtype)
    expected = _meaning(row, dtype, operands)

    def write(body, *values):  # type: ignore[no-untyped-def]
        return body.emit(row.name, code(expected.dtype), *values)

    case = elementwise_case(f"{row.name}_{dtype}", operands, write, [expected])
    if row.transcendental:
        case.tolerance = [LIBM_ULPS * float(np.finfo(dtype).eps)]
    return case


def _operands(row: Primitive, dtype: str) -> list[np.ndarray]:
    """Operands in the domain that the row states."""
    if row.arity == 1:
        values = values_of(dtype)
        # Signed popcount is of the magnitude in NumPy: composite takes it first.
        return [values[values >= 0] if row.name == "popcount" else values]
    if row.name == "fma":
        rng = np.random.default_rng(5)
        return [rng.standard_normal(40).astype(dtype) for _ in range(3)]
    if row.name == "scale":  # y * 2**n, y and n
        rng = np.random.default_rng(6)
        y, n = rng.standard_normal(40).astype(dtype), rng.integers(-3, 4, 40)
        return [np.ldexp(y, n), y, n.astype(dtype)]
    x, y = pairs(dtype)
    keep = np.ones(len(x), bool)
    if row.name in ("div", "rem") and dtype[0] != "f":
        keep = y != 0
        if dtype[0] == "i":
            keep &= y != -1
    if row.name in ("shl", "shr"):
        keep = (y >= 0) & (y < 8 * x.itemsize)
    return [x[keep], y[keep]]


def _meaning(row: Primitive, dtype: str, operands: list[np.ndarray]) -> np.ndarray:
    if row.name == "fma":
        exact = [
            sum_of(*map(Fraction, map(float, triple))) for triple in zip(*operands, strict=True)
        ]
        return np.array(exact).astype(dtype)
    if row.name == "div":
        x, y = operands
        if dtype[0] == "f":
            return x / y
        quotients = [abs(int(p)) // abs(int(q)) for p, q in zip(x, y, strict=True)]
        signs = [1 if (p < 0) == (q < 0) else -1 for p, q in zip(x, y, strict=True)]
        return np.array([s * q for s, q in zip(signs, quotients, strict=True)], dtype)
    assert row.numpy is not None, row
    result = row.numpy(*operands)
    return result.astype(dtype) if result.dtype != bool else result


def sum_of(x: Fraction, y: Fraction, z: Fraction) -> float:
    return float(x * y + z)


def _casts() -> Iterator[Case]:
    """Every dtype to every other, values in range; complex is cast by parts."""
    for source in _EVERY:
        for target in _EVERY:
            values = _castable(source, target)
            expected = values.astype(target)
            yield elementwise_case(
                f"cast_{source}_{target}", [values], lambda b, x, t=target: cast(x, t), [expected]
            )


def _truncations() -> Iterator[Case]:
    """Floats to integers, what does not fit too: it gives the smallest."""
    for source in FLOATS:
        for target in ("i4", "i8"):
            values = np.concatenate([floats(source), around_limits(source, target)])
            limit = 2.0 ** (8 * int(target[1:]) - 1)
            fits = (np.trunc(values) >= -limit) & (values < limit)
            smallest = np.iinfo(target).min
            expected = np.where(fits, np.where(fits, values, 0).astype(target), smallest)
            yield elementwise_case(
                f"truncate_{source}_{target}", [values],
                lambda b, x, t=target: truncate(x, t), [expected.astype(target)],
            )  # fmt: skip


def around_limits(source: str, target: str) -> np.ndarray:
    """The ends of an integer's range and their neighbours among the floats."""
    limit = np.array([1.0, -1.0], source) * np.array(2.0 ** (8 * int(target[1:]) - 1), source)
    ends = np.concatenate([limit, limit - 1, limit + 1, limit - 0.5, limit + 0.5])
    away = [np.nextafter(ends, np.array(end, source)) for end in (np.inf, -np.inf)]
    return np.concatenate([ends, *away]).astype(source)


def _castable(source: str, target: str) -> np.ndarray:
    values = values_of(source)
    if source[0] == "f" and target[0] in "iu":
        info = np.iinfo(target)
        wide = values.astype("f8")
        inside = (wide > float(info.min) - 1) & (wide < float(info.max)) & (np.abs(wide) < 2.0**62)
        return values[inside]
    if target == "f2":
        return np.concatenate([values, _half_ties(source)])
    return values


def _half_ties(source: str) -> np.ndarray:
    """Values halfway between two float16, and just beside: they show double rounding."""
    if source not in FLOATS:
        return np.array([], source)
    ties = np.array(
        [1 + 2.0**-11, 1 + 3 * 2.0**-11, 65519.9, 65520.0, 2.0**-25, 3 * 2.0**-25], source
    )
    above = np.nextafter(ties, np.array(np.inf, source))
    return np.concatenate([ties, above, -ties, np.nextafter(above, np.array(np.inf, source))])


def _structural() -> Iterator[Case]:
    for dtype in (*_EVERY, "c8", "c16"):
        yield from _moving(dtype)
    for unsigned, other in (("u1", "i1"), ("u2", "f2"), ("u4", "f4"), ("u8", "f8"), ("u2", "i2")):
        bits = values_of(unsigned)
        yield elementwise_case(
            f"bitcast_{unsigned}_{other}",
            [bits],
            lambda b, x, t=other: bitcast(x, t),
            [bits.view(other)],
        )
        yield elementwise_case(
            f"bitcast_{other}_{unsigned}",
            [bits.view(other)],
            lambda b, x, t=unsigned: bitcast(x, t),
            [bits],
        )
    for dtype, part in (("c8", "f4"), ("c16", "f8")):
        z = values_of(dtype)
        yield elementwise_case(
            f"parts_{dtype}", [z], lambda b, v: (real(v), imag(v)), [z.real, z.imag]
        )
        x, y = pairs(part)
        whole = np.empty(len(x), dtype)
        whole.real, whole.imag = x, y
        yield elementwise_case(
            f"complex_{dtype}", [x, y], lambda b, p, q: make_complex(p, q), [whole]
        )
    for dtype in FLOATS:
        yield _libm(dtype)
    grid = np.zeros((5, 7))
    places = np.indices(grid.shape)
    yield elementwise_case(
        "index",
        [grid],
        lambda b, x: (b.emit("index", "i8", attr=0), b.emit("index", "i8", attr=1)),
        [places[0], places[1]],
    )


def _moving(dtype: str) -> Iterator[Case]:
    """load, store, scalar, const and select, which every dtype has."""
    x = values_of(dtype)
    y, condition = x[::-1].copy(), np.arange(len(x)) % 3 == 0
    scalar = x[len(x) // 3]
    yield elementwise_case(
        f"select_{dtype}",
        [condition, x, y],
        lambda b, c, p, q: select(c, p, q),
        [np.where(condition, x, y)],
    )
    yield elementwise_case(
        f"scalar_{dtype}",
        [x],
        lambda b, p, s: s,
        [np.full_like(x, scalar)],
        scalars=[(dtype, scalar)],
    )
    if dtype[0] != "c":
        literals = [value.item() for value in x]
        yield elementwise_case(
            f"const_{dtype}",
            [np.zeros(3, dtype)],
            lambda b, p: tuple(b.const(value, dtype) for value in literals),
            [np.full(3, value, dtype) for value in literals],
        )


def _libm(dtype: str) -> Case:
    """exp from the C library where x > 1, x elsewhere."""
    x = np.array([-2.0, 0.5, 1.5, 3.0, 1e-3], dtype)

    def write(body, value):  # type: ignore[no-untyped-def]
        return body.emit("libm", dtype, value > 1.0, value, value, attr="exp")

    case = elementwise_case(f"libm_{dtype}", [x], write, [np.where(x > 1, np.exp(x), x)])
    case.tolerance = [LIBM_ULPS * float(np.finfo(dtype).eps)]
    return case
