"""log, log2, log10, log1p, and the logarithm of a pair that asinh, acosh and atanh rest on.

x = 2**k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); s = f/(2 + f); log(1 + f) = f - s*(f - s*s*P(s*s))
with a minimax P (scripts/minimax). Source of the scheme: FDLIBM e_log.c and s_log1p.c; of the
splitting: musl log.c.

Where a table of 16 numbers is looked into by one instruction, log m = -log c + log(1 + r), r = m c
- 1, where c is near 1/m (Tang 1990): no division, and half the error. For float64, c has so few
bits that r is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lazyfuse.backends.cpu.vecmath.coefficients import LOG, LOG2_SHORT, LOG10_SHORT, LOG_SHORT
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    fast_two_sum,
    fma_exact,
    from_bits,
    lookup,
    polynomial,
    two_product,
    two_sum,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS, Format, Parts
from lazyfuse.ops.body import Value, bitcast, fma, select

_ROOT_BITS = {"f4": 0x3F3504F3, "f8": 0x3FE6A09E667F3BCD}  # bits of sqrt(1/2)
_THREE_QUARTERS = {"f4": 0x3F400000, "f8": 0x3FE8000000000000}  # likewise of 3/4


def split_exponent(x: Value, least: int | None = None) -> tuple[Value, Value]:
    """A positive normal x -> (k as a float, m) with x = 2**k * m; m is at least what has the bits
    `least`, and less than twice that: by default sqrt(1/2)."""
    form = FORMATS[x.dtype]
    root = _ROOT_BITS[x.dtype] if least is None else least
    moved = bitcast(x, form.unsigned) + (form.one_bits - root)
    biased = moved >> form.mantissa
    power = float(2**form.mantissa)
    shift_bits = (form.mantissa + form.bias) << form.mantissa
    k = from_bits(biased | shift_bits) - (power + form.bias)
    return k, from_bits((moved & ((1 << form.mantissa) - 1)) + root)


def split_any(x: Value, least: int | None = None) -> tuple[Value, Value]:
    """`split_exponent` for subnormal numbers too."""
    form = FORMATS[x.dtype]
    is_small = x < form.min_normal
    power = form.mantissa + 1
    k, m = split_exponent(select(is_small, x * 2.0**power, x), least)
    return select(is_small, k - float(power), k), m


def split_from_one(x: Value, usual: Value) -> tuple[Value, Value]:
    """k and m of |x| = 2**k * m, 1 <= m < 2, by instructions where there are some; elsewhere those
    of `usual`, which is |x| where that is positive and finite."""
    k, m = split_any(usual, FORMATS[x.dtype].one_bits)
    m = x.body.emit("mantissa", x.dtype, m, x, attr=1.0)
    return x.body.emit("exponent", x.dtype, k, x), m


def log_rest(f: Value) -> Value:
    """f - log(1 + f), about f*f/2, accurate to a few ulps of itself."""
    s = f / (2.0 + f)
    z = s * s
    return s * fma(-z, polynomial(z, LOG[f.dtype]), f)


def log_pair(k: Value, f: Value, low: Value | None) -> Pair:
    """k ln 2 + log(1 + f + low) as a pair, error about 0.1 ulp."""
    form = FORMATS[f.dtype]
    total = fast_two_sum(k * form.ln2_short[0], f)
    rest = fma(k, form.ln2_short[1], total.lo)
    if low is not None:
        rest = rest + fma(-f, low, low)
    return Pair(total.hi, rest - log_rest(f))


def with_edges(x: Value, y: Value) -> Value:
    """y, and what every logarithm gives at and below 0, at infinity and for NaN."""
    result = select(x < math.inf, y, x)
    result = select(x.eq(0.0), -math.inf, result)
    result = select(x < 0.0, -math.nan, result)  # as the processor's own NaN
    return x.body.emit("log_edges", x.dtype, result, y, x)


def log(x: Value) -> Value:
    k, m = split_any(x)
    result = log_pair(k, m - 1.0, None)
    return with_edges(x, result.hi + result.lo)


def log2(x: Value) -> Value:
    """k + log(1 + f)/ln 2: exact at powers of two."""
    return with_edges(x, _other_base(x, _base_two(FORMATS[x.dtype])))


def log10(x: Value) -> Value:
    return with_edges(x, _other_base(x, _base_ten(FORMATS[x.dtype])))


def log_by_table(x: Value) -> Value:
    form = FORMATS[x.dtype]
    if x.dtype == "f4":
        return with_edges(
            x, _by_near_table(x, _Base("LOG", (1.0, 0.0), form.ln2_short, LOG_SHORT))
        )
    k, r, bits = _reduced(x)
    head = fma(k, form.ln2_short[0], lookup(bits, "LOG_HEADS"))
    total = fast_two_sum(head, r)
    rest = fma(k, form.ln2_short[1], lookup(bits, "LOG_RESTS"))
    rest = fma(r * r, polynomial(r, LOG_SHORT["f8"]), rest)
    return with_edges(x, total.hi + (total.lo + rest))


def log2_by_table(x: Value) -> Value:
    return with_edges(x, _other_base_by_table(x, _base_two(FORMATS[x.dtype])))


def log10_by_table(x: Value) -> Value:
    return with_edges(x, _other_base_by_table(x, _base_ten(FORMATS[x.dtype])))


class _Base(NamedTuple):
    """Logarithms to a base, of e and of 2; what its tables are called, and the polynomial for
    float32."""

    name: str
    of_e: Parts
    of_two: Parts
    short: Mapping[str, Sequence[float]]


def _base_two(form: Format) -> _Base:
    return _Base("LOG2", form.log2_e, (1.0, 0.0), LOG2_SHORT)


def _base_ten(form: Format) -> _Base:
    return _Base("LOG10", form.log10_e, form.log10_2, LOG10_SHORT)


def _other_base(x: Value, base: _Base) -> Value:
    k, m = split_any(x)
    f = m - 1.0
    product = two_product(f, base.of_e[0])
    total = fast_two_sum(k * base.of_two[0], product.hi)
    small = fma(log_rest(f), -base.of_e[0], fma(f, base.of_e[1], product.lo))
    return total.hi + (fma(k, base.of_two[1], total.lo) + small)


def _by_sixteenths(x: Value) -> tuple[Value, Value, Value]:
    """float32: k, m and, as the last four bits of a word, the place of what is next to 1/m in the
    tables."""
    k, m = split_any(_usual(x), _THREE_QUARTERS[x.dtype])
    m = x.body.emit("mantissa", x.dtype, m, x, attr=0.75)
    k = bounded(x.body.emit("exponent", x.dtype, k, x, m))
    return k, m, bitcast(m + FORMATS[x.dtype].shift / 16, FORMATS[x.dtype].unsigned)


def _usual(x: Value) -> Value:
    """x where it is positive and finite, else 1."""
    return select((x > 0.0) & (x < math.inf), x, 1.0)


def bounded(k: Value) -> Value:
    """An exponent, or 2000 where it is infinite, which would raise flags."""
    return k.body.emit("max", k.dtype, k.body.emit("min", k.dtype, k, k.lift(2e3)), k.lift(-2e3))


def _reduced(x: Value) -> tuple[Value, Value, Value]:
    """float64: k, r = m c - 1, exactly, and the place of c in the tables."""
    form = FORMATS[x.dtype]
    k, m = split_from_one(x, _usual(x))
    k = bounded(k)
    bits = bitcast(m, form.unsigned) >> (form.mantissa - 4)
    return k, fma_exact(m, lookup(bits, "INVERSES"), -1.0), bits


def _other_base_by_table(x: Value, base: _Base) -> Value:
    if x.dtype == "f4":
        return _by_near_table(x, base)
    k, r, bits = _reduced(x)
    product = two_product(r, base.of_e[0])
    head = fma(k, base.of_two[0], lookup(bits, f"{base.name}_HEADS"))
    total = fast_two_sum(head, product.hi)
    small = fma(r, base.of_e[1], product.lo)
    small = fma(r * r * polynomial(r, LOG_SHORT["f8"]), base.of_e[0], small)
    rest = fma(k, base.of_two[1], lookup(bits, f"{base.name}_RESTS"))
    return total.hi + (total.lo + (small + rest))


def _by_near_table(x: Value, base: _Base) -> Value:
    """float32: the logarithm of c is a number of few bits, so that of 2**k/c is exact. Where c is
    1, r is exact; elsewhere it is small beside the result."""
    k, m, bits = _by_sixteenths(x)
    r = fma_exact(m, lookup(bits, f"{base.name}_INVERSES_F4", "f4"), -1.0)
    head = fma(k, base.of_two[0], lookup(bits, f"{base.name}_HEADS_F4", "f4"))
    rest = r * r * polynomial(r, base.short["f4"])
    if base.of_two[1]:
        rest = fma(k, base.of_two[1], rest)
    if base.of_e[1]:
        return head + fma(r, base.of_e[0], fma(r, base.of_e[1], rest))
    total = fast_two_sum(head, r)
    return total.hi + (total.lo + rest)


def log_of_pair(x: Pair, doublings: Value | None = None) -> Value:
    """log(hi + lo) + doublings * ln 2 for a normal hi > 0, of small relative error also near 1."""
    form = FORMATS[x.hi.dtype]
    k, m = split_exponent(x.hi)
    size = bitcast(x.hi, form.unsigned) - bitcast(m, form.unsigned)
    inverse = from_bits(form.one_bits - size)  # 2**-k; its low bits are those of 1
    low = select(x.hi < 2.0 ** (form.mantissa + 6), x.lo * inverse, 0.0)
    f = fast_two_sum(m - 1.0, low)
    result = log_pair(k if doublings is None else k + doublings, f.hi, f.lo)
    return result.hi + result.lo


def log1p(x: Value) -> Value:
    form = FORMATS[x.dtype]
    argument = two_sum(1.0, select(x.eq(math.inf), 1.0, x))  # inf - inf would raise flags
    result = with_edges(1.0 + x, log_of_pair(argument))
    return select(absolute(x) < 0.25 * form.epsilon, x, result)
