"""The PTX interpreter's arithmetic, on small texts: against exact integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from ptx_bench import Bench

from lazyfuse.backends.cuda_ptx import rounding
from lazyfuse.backends.cuda_ptx.types import TYPES

#: The register file that holds a type.
_FILES = {"16": "rs", "32": "r", "64": "rd", "f32": "f", "f64": "fd", "8": "rs"}


def register(kind: str, number: int) -> str:
    return f"%{_FILES[kind if kind in _FILES else kind[1:]]}{number}"


def evaluate(
    instruction: str, reads: Sequence[str], result: str, *operands: Sequence[object]
) -> list[object]:
    """Execute `instruction` (with d, a, b, c for its registers) on one thread per operand."""
    arrays = [np.array(x, TYPES[kind].dtype) for x, kind in zip(operands, reads, strict=True)]
    output = np.zeros(len(arrays[0]), TYPES[result].dtype)
    names = dict(zip("abc", (register(k, n + 1) for n, k in enumerate(reads)), strict=False))
    body = ""
    for number, kind in enumerate((*reads, result)):
        body += f"mad.wide.u32 %a{number}, %r8, {TYPES[kind].size}, %a{number};\n"
        if number < len(reads):
            body += f"ld.global.{kind} {register(kind, number + 1)}, [%a{number}];\n"
    target = register(result, 0)
    opcode, _, rest = instruction.partition(" ")
    words = [{**names, "d": target}.get(word.strip(), word.strip()) for word in rest.split(",")]
    body += f"{opcode} {', '.join(words)};\nst.global.{result} [%a{len(reads)}], {target};\n"
    bench = Bench(body, [*arrays, output])
    bench.run(len(output))
    return list(bench.array(len(reads), output.dtype.str).tolist())


# --- arithmetic ----------------------------------------------------------------------------------


def wrap(value: int, kind: str) -> int:
    bits = TYPES[kind].bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if TYPES[kind].kind == "s" and value >> (bits - 1) else value


def corners(kind: str) -> list[int]:
    bits = TYPES[kind].bits
    patterns = [0, 1, 2, 3, 7, 31, 32, 33, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1)]
    patterns += [(1 << (bits - 1)) - 1, 0x5A5A5A5A5A5A5A5A, 0x123456789ABCDEF, 1 << (bits // 2)]
    return [wrap(pattern, kind) for pattern in patterns]


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
    "div": quotient,
    "rem": lambda a, b: a - quotient(a, b) * b,
}


@pytest.mark.parametrize("kind", [f"{sign}{bits}" for sign in "us" for bits in (16, 32, 64)])
@pytest.mark.parametrize("opcode", BINARY)
def test_integer_arithmetic(opcode: str, kind: str) -> None:
    """Wraps at the width; division goes toward zero."""
    pairs = [
        (a, b) for a in corners(kind) for b in corners(kind) if b or opcode not in ("div", "rem")
    ]
    got = evaluate(f"{opcode}.{kind} d, a, b", [kind, kind], kind, *zip(*pairs, strict=True))
    assert got == [wrap(BINARY[opcode](a, b), kind) for a, b in pairs]


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_wide_and_high_products(kind: str) -> None:
    """The upper half of a product, and the whole of 32 by 32 bits."""
    bits = TYPES[kind].bits
    pairs = [(a, b) for a in corners(kind) for b in corners(kind)]
    got = evaluate(f"mul.hi.{kind} d, a, b", [kind, kind], kind, *zip(*pairs, strict=True))
    assert got == [wrap((a * b) >> bits, kind) for a, b in pairs]
    if bits == 32:
        wide = f"{kind[0]}64"
        got = evaluate(f"mul.wide.{kind} d, a, b", [kind, kind], wide, *zip(*pairs, strict=True))
        assert got == [a * b for a, b in pairs]


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_instructions(bits: int) -> None:
    """Counts, shifts past the width, fields and reversals, against strings of bits."""
    kind, signed = f"u{bits}", f"s{bits}"
    values = corners(kind)
    text = [format(value, f"0{bits}b") for value in values]
    assert evaluate(f"popc.b{bits} d, a", [kind], "u32", values) == [t.count("1") for t in text]
    leading = [len(t) - len(t.lstrip("0")) for t in text]
    assert evaluate(f"clz.b{bits} d, a", [kind], "u32", values) == leading
    assert evaluate(f"brev.b{bits} d, a", [kind], kind, values) == [int(t[::-1], 2) for t in text]
    for amount in (0, 1, 31, bits - 1, bits, 200):
        left = [wrap(v << amount, kind) for v in values]
        assert evaluate(f"shl.b{bits} d, a, {amount}", [kind], kind, values) == left
        right = [v >> amount for v in corners(signed)]
        assert evaluate(f"shr.{signed} d, a, {amount}", [signed], signed, corners(signed)) == right
    for start, length in ((0, 8), (5, 3), (bits - 4, 4), (bits - 4, 9), (3, 0)):
        field = [(v >> start) & ((1 << length) - 1) for v in values]
        assert evaluate(f"bfe.{kind} d, a, {start}, {length}", [kind], kind, values) == field
        mask = ((1 << length) - 1) << start & ((1 << bits) - 1)
        inserted = [(v << start & mask) | (5 & ~mask) for v in values]
        assert (
            evaluate(f"bfi.b{bits} d, a, 5, {start}, {length}", [kind], kind, values) == inserted
        )


def test_signed_field_is_extended_by_its_top_bit() -> None:
    """bfe.s32, also for a field that reaches past the word."""
    assert evaluate("bfe.s32 d, a, 4, 4", ["s32"], "s32", [0x80, 0x70, -1]) == [-8, 7, -1]
    assert evaluate("bfe.s32 d, a, 30, 9", ["s32"], "s32", [-(2**31), 2**30]) == [-2, 1]


def test_bytes_and_words() -> None:
    """prmt picks bytes, shf shifts a pair, lop3 computes any function of three bits."""
    x, y = [0x11223344], [0x85667788]
    assert evaluate("prmt.b32 d, a, b, 0xF053", ["u32", "u32"], "u32", x, y) == [0xFF447711]
    assert evaluate("shf.l.wrap.b32 d, a, b, 8", ["u32", "u32"], "u32", x, y) == [0x66778811]
    assert evaluate("shf.r.clamp.b32 d, a, b, 99", ["u32", "u32"], "u32", x, y) == y
    operands = (["u32"] * 3, "u32", [0xF0], [0xCC], [0xAA])
    assert evaluate("lop3.b32 d, a, b, c, 0xE8", *operands) == [0xE8]


def test_carries() -> None:
    """A 128-bit addition of two 64-bit words each."""
    body = (
        "ld.global.v2.u64 {%rd2, %rd3}, [%a0];\nld.global.v2.u64 {%rd4, %rd5}, [%a0+16];\n"
        "add.cc.u64 %rd2, %rd2, %rd4;\naddc.u64 %rd3, %rd3, %rd5;\n"
        "st.global.v2.u64 [%a1], {%rd2, %rd3};"
    )
    words = np.array([2**64 - 1, 5, 3, 2**63], "u8")
    bench = Bench(body, [words, np.zeros(2, "u8")])
    bench.run(1)
    assert bench.array(1, "u8").tolist() == [2, 5 + 2**63 + 1]


def floats(dtype: str) -> np.ndarray:
    """Corner values and random ones over the whole range of exponents."""
    info, rng = np.finfo(dtype), np.random.default_rng(4)
    bits = rng.integers(0, 1 << 63, 200, dtype="u8").astype(f"u{info.bits // 8}")
    special = [0.0, -0.0, 1.0, -1.0, info.eps, 1 + info.eps, info.max, -info.max, info.tiny]
    special += [info.smallest_subnormal, -info.smallest_subnormal, np.inf, -np.inf, np.nan]
    return np.concatenate([np.array(special, dtype), bits.view(dtype)])


def exact(a: float, b: float, c: float) -> float:
    """The correctly rounded a * b + c."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return a * b + c if a * b == 0 or abs(a * b) < 1e-300 else 0.0
    try:
        return math.copysign(float(total), 1 if total > 0 else -1)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def test_fma_of_float64_rounds_once() -> None:
    """Against fractions, on every exponent and on sums that cancel."""
    rng = np.random.default_rng(5)
    x = floats("f8")
    triples = [(x[n], x[-n], x[n // 2]) for n in range(len(x))]
    near = rng.standard_normal((300, 2))
    triples += [(a, b, -(a * b)) for a, b in near] + [(a, b, 1.0) for a, b in near]
    triples += [(a, 2.0**-600, b * 2.0**-620) for a, b in near]
    with np.errstate(all="ignore"):
        got = rounding.fma(*(np.array(part) for part in zip(*triples, strict=True)))
        wanted = np.array([exact(*map(float, triple)) for triple in triples])
    assert np.array_equal(got.view("u8")[~np.isnan(got)], wanted.view("u8")[~np.isnan(wanted)])
    assert np.array_equal(np.isnan(got), np.isnan(wanted))


def directed(total: Fraction, mode: str) -> float:
    """A fraction rounded to float32: the neighbours of the nearest one, and the right side."""
    near = np.float32(float(total))  # float(Fraction) may round twice: neighbours decide below
    places = [
        np.nextafter(near, np.float32(-np.inf)),
        near,
        np.nextafter(near, np.float32(np.inf)),
    ]
    finite = [p for p in places if np.isfinite(p)]
    below = max(p for p in finite if Fraction(float(p)) <= total)
    above = min(p for p in finite if Fraction(float(p)) >= total)
    if mode == "rz":
        return float(below if total > 0 else above)
    if mode == "rn":
        gaps = [abs(Fraction(float(p)) - total) for p in (below, above)]
        even = below if np.float32(below).view("u4") % 2 == 0 else above
        return float(even if gaps[0] == gaps[1] else (below, above)[gaps[1] < gaps[0]])
    return float(below if mode == "rm" else above)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_float32_rounds_once_in_every_direction(mode: str) -> None:
    """add, mul and fma of float32, against fractions; results far from overflow."""
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal(200).astype("f4") for _ in range(3))
    c[:50] = -(a * b)[:50]
    c[50:80] *= np.float32(2**-30)
    one = np.ones_like(a)
    for opcode, operands in (("add", (a, one, c)), ("mul", (a, b, one * 0)), ("fma", (a, b, c))):
        given = {"add": (a, c), "mul": (a, b), "fma": (a, b, c)}[opcode]
        text = f"{opcode}.{mode}.f32 d, {', '.join('abc'[: len(given)])}"
        got = evaluate(text, ["f32"] * len(given), "f32", *given)
        totals = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
                  for x, y, z in zip(*operands, strict=True)]  # fmt: skip
        assert got == [directed(total, mode) for total in totals]


def test_extremes_of_floats() -> None:
    """NaN loses in min and max unless it is said to win; -0 lies below +0."""
    a, b = [0.0, -0.0, math.nan, 1.0], [-0.0, 0.0, 2.0, math.nan]
    got = evaluate("min.f32 d, a, b", ["f32", "f32"], "f32", a, b)
    assert [math.copysign(1, got[0]), math.copysign(1, got[1]), *got[2:]] == [-1, -1, 2.0, 1.0]
    got = evaluate("max.NaN.f32 d, a, b", ["f32", "f32"], "f32", a, b)
    assert np.isnan(got).tolist() == [False, False, True, True]


def test_rectified_extremes() -> None:
    """`.relu` leaves nothing below 0."""
    a, b = np.array([[-5, 3, -1], [-7, -2, 4]], "i4")
    for opcode, expected in (("max", [0, 3, 4]), ("min", [0, 0, 0])):
        got = evaluate(f"{opcode}.relu.s32 d, a, b", ["s32", "s32"], "s32", a, b)
        assert got == expected


@pytest.mark.parametrize("source, target, value, result", [
    ("f32", "s32", math.nan, 0), ("f64", "s32", math.nan, -(2**31)),
    ("f32", "s32", 3e9, 2**31 - 1),
    ("f64", "u8", -1.0, 0), ("f64", "u8", 255.9, 255), ("f32", "s64", math.nan, -(2**63)),
    ("f64", "u64", 2.0**63, 2**63), ("f64", "u64", 1e30, 2**64 - 1),
])  # fmt: skip
def test_float_to_integer_saturates(source: str, target: str, value: float, result: int) -> None:
    """cvt.rzi, with NaN as the manual has it."""
    wide = target if TYPES[target].bits >= 16 else "u16"
    got = evaluate(f"cvt.rzi.{target}.{source} d, a", [source], wide, [value])
    assert got == [result]


def test_integer_to_float_rounds_once() -> None:
    """A 64-bit integer to float32 and float16, in every direction, as one rounding."""
    value = 2**40 + 2**16 + 1  # just above the middle of two float32
    for mode, wanted in (
        ("rn", 2**40 + 2**17),
        ("rz", 2**40),
        ("rm", 2**40),
        ("rp", 2**40 + 2**17),
    ):
        assert evaluate(f"cvt.{mode}.f32.s64 d, a", ["s64"], "f32", [value]) == [float(wanted)]
    assert evaluate("cvt.rn.f16.f64 d, a", ["f64"], "u16", [1 + 2.0**-11 + 2.0**-40]) == [0x3C01]


def test_flush_and_saturate() -> None:
    """.ftz makes denormals 0, .sat keeps results between 0 and 1 and makes NaN 0."""
    tiny = 2.0**-140
    assert evaluate("add.rn.ftz.f32 d, a, b", ["f32", "f32"], "f32", [tiny], [0.0]) == [0.0]
    assert evaluate("add.rn.f32 d, a, b", ["f32", "f32"], "f32", [tiny], [0.0]) == [tiny]
    values = ([-1.0, 0.25, 7.0, math.nan], [0.0] * 4)
    got = evaluate("add.sat.f32 d, a, b", ["f32", "f32"], "f32", *values)
    assert got == [0.0, 0.25, 1.0, 0.0]
