"""log, log2, log10, log1p, and the logarithm of a pair that asinh, acosh and atanh rest on.

x = 2**k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); s = f/(2 + f); log(1 + f) = f - s*(f - s*s*P(s*s))
with a minimax P (scripts/minimax). Source of the scheme: FDLIBM e_log.c and s_log1p.c; of the
splitting: musl log.c.

Where a table of 16 numbers is looked into by one instruction, log m = -log c + log(1 + r), r = m c
- 1 as a pair, where c is near 1/m (Tang 1990): no division, and half the error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lazyfuse.backends.cpu.vecmath.coefficients import LOG, LOG_SHORT
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    fast_two_sum,
    from_bits,
    lookup,
    polynomial,
    two_product,
    two_sum,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS, Format, Parts
from lazyfuse.ops.body import Value, bitcast, fma, select

_ROOT_BITS = {"f4": 0x3F3504F3, "f8": 0x3FE6A09E667F3BCD}  # bits of sqrt(1/2)
_THREE_QUARTERS = 0x3FE8000000000000  # bits of 3/4


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


def log_by_table(x: Value) -> Value:
    """float64."""
    form = FORMATS[x.dtype]
    k, bits, r = _looked_up(x)
    head = fma(k, form.ln2_short[0], lookup(bits, "LOG_HEADS"))
    total = fast_two_sum(head, r.hi)
    rest = fma(k, form.ln2_short[1], lookup(bits, "LOG_RESTS"))
    return with_edges(x, total.hi + (total.lo + (_log1p_rest(r) + rest)))


def _looked_up(x: Value) -> tuple[Value, Value, Pair]:
    """k, the place of 1/c in the tables as the last bits of a word, and the pair r = m c - 1."""
    form = FORMATS[x.dtype]
    usual = select((x > 0.0) & (x < math.inf), x, 1.0)
    k, m = split_any(usual, _THREE_QUARTERS)
    m = x.body.emit("mantissa", "f8", m, x)
    k = x.body.emit("exponent", "f8", k, x, m)
    # an infinite one would raise a flag
    k = x.body.emit("max", "f8", x.body.emit("min", "f8", k, k.lift(2e3)), k.lift(-2e3))
    bits = bitcast(m + form.shift / 16, form.unsigned)
    product = two_product(m, lookup(bits, "INVERSES"))
    return k, bits, Pair(product.hi - 1.0, product.lo)


def _log1p_rest(r: Pair) -> Value:
    """log(1 + r.hi + r.lo) - r.hi for |r| < 1/24, float64."""
    return fma(r.hi * r.hi, polynomial(r.hi, LOG_SHORT["f8"]), fma(-r.hi, r.lo, r.lo))


class _Base(NamedTuple):
    """Of another base than e: its logarithms of e and of 2, and the tables of those of 1/c."""

    of_e: Parts
    of_two: Parts
    heads: str = ""
    rests: str = ""


def _base_two(form: Format) -> _Base:
    return _Base(form.log2_e, (1.0, 0.0), "LOG2_HEADS", "LOG2_RESTS")


def _base_ten(form: Format) -> _Base:
    return _Base(form.log10_e, form.log10_2, "LOG10_HEADS", "LOG10_RESTS")


def log2(x: Value) -> Value:
    """k + log(1 + f)/ln 2: exact at powers of two."""
    return with_edges(x, _other_base(x, _base_two(FORMATS[x.dtype])))


def log10(x: Value) -> Value:
    return with_edges(x, _other_base(x, _base_ten(FORMATS[x.dtype])))


def log2_by_table(x: Value) -> Value:
    """float64."""
    return with_edges(x, _other_base_by_table(x, _base_two(FORMATS[x.dtype])))


def log10_by_table(x: Value) -> Value:
    """float64."""
    return with_edges(x, _other_base_by_table(x, _base_ten(FORMATS[x.dtype])))


def _other_base(x: Value, base: _Base) -> Value:
    k, m = split_any(x)
    f = m - 1.0
    product = two_product(f, base.of_e[0])
    total = fast_two_sum(k * base.of_two[0], product.hi)
    small = fma(log_rest(f), -base.of_e[0], fma(f, base.of_e[1], product.lo))
    return total.hi + (fma(k, base.of_two[1], total.lo) + small)


def _other_base_by_table(x: Value, base: _Base) -> Value:
    k, bits, r = _looked_up(x)
    product = two_product(r.hi, base.of_e[0])
    total = fast_two_sum(fma(k, base.of_two[0], lookup(bits, base.heads)), product.hi)
    small = fma(_log1p_rest(r), base.of_e[0], fma(r.hi, base.of_e[1], product.lo))
    rest = fma(k, base.of_two[1], lookup(bits, base.rests))
    return total.hi + (total.lo + (small + rest))


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
