"""exp, exp2, expm1, and the pair-valued expm1 that the hyperbolic functions rest on.

x = n ln 2 + r with |r| <= ln(2)/2 (Cody and Waite's reduction), a minimax polynomial in r
(scripts/minimax), and 2**n put into the exponent bits. Source of the scheme: Tang 1989; FDLIBM
e_exp.c, s_expm1.c; SLEEF's rounding by bits.

Where a table of 16 numbers is looked into by one instruction, n counts sixteenths: the polynomials
have half the terms, and what 2**(j/16) loses by rounding is added to them (Tang 1989, too). For a
single number, the table has s * 2**(j/16) for an s that makes all of them nearly doubles, and the
polynomials are those of exp(r)/s: no rests to look up (after Gal, An accurate elementary
mathematical library for the IEEE floating point standard, 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from lazyfuse.backends.cpu.vecmath.coefficients import (
    EXP,
    EXP2_SCALED,
    EXP_SCALED,
    EXP_SHORT,
    EXPM1,
)
from lazyfuse.backends.cpu.vecmath.doubles import (
    Pair,
    absolute,
    clamp,
    fast_two_sum,
    fma_exact,
    from_bits,
    lookup,
    polynomial,
    two_product,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS, Format
from lazyfuse.backends.cpu.vecmath.tables import TABLES
from lazyfuse.ops.body import Operand, Value, bitcast, fma, select

#: What stands for what is so small that its power is 0.
_FAR = {"f4": -2000.0, "f8": -8192.0}
#: What the inverse of the table's scale has more than 1.
_INVERSE_LESS_ONE = float(1 / Fraction(TABLES["SCALED_POWERS"][0]) - 1)


def round_by_shift(x: Value, scale: Operand, ahead: int = 0) -> tuple[Value, Value]:
    """rint(x * scale) as a float, and `ahead` more than it as an integer in the low bits of an
    unsigned word."""
    form = FORMATS[x.dtype]
    shifted = fma(x, scale, form.shift + ahead)
    return shifted - (form.shift + ahead), bitcast(shifted, form.unsigned)


def scale_by_power(y: Value, n: Value, bits: Value, *, is_far: bool = False) -> Value:
    """y * 2**floor(n), with n from `round_by_shift`, y near 1: rounded once, also when it
    underflows. `is_far`: n may be from `within`."""
    if is_far:  # of what no instruction scales
        form = FORMATS[y.dtype]
        least = -(form.bias + form.mantissa + 4)
        bits = select(n < float(least), _word_of(least, form), bits)
    half = bits >> 1
    result = y * power_of_two(half, y.dtype) * power_of_two(bits - half, y.dtype)
    return y.body.emit("scale", y.dtype, result, y, n)


def _word_of(n: int, form: Format) -> int:
    """The bits of `form.shift + n`."""
    return (form.bias + form.mantissa << form.mantissa) + (1 << form.mantissa - 1) + n


def power_of_two(bits: Value, dtype: str) -> Value:
    """2**n from n in the low bits; multiplying by it keeps NaN, adding to the exponent bits would
    not.
    """
    form = FORMATS[dtype]
    return from_bits((bits << form.mantissa) + form.one_bits)


def reduce(x: Value, form: Format) -> tuple[Value, Value, Value]:
    """x -> n as bits, n as float, and x - n*ln2 up to the head of ln 2 (exact)."""
    n, bits = round_by_shift(x, form.log2_e[0])
    return bits, n, fma_exact(n, -form.ln2[0], x)


def exp_of_pair(hi: Value, lo: Value | None) -> Value:
    """exp(hi + lo) for |hi| <= ln(2)/2 and a tiny lo; float64 keeps what 1 + hi loses."""
    tail = polynomial(hi, EXP[hi.dtype])
    square = hi * hi
    if hi.dtype == "f4":
        return 1.0 + (fma(tail, square, hi) if lo is None else hi + fma(tail, square, lo))
    one = fast_two_sum(1.0, hi)
    return one.hi + fma(tail, square, one.lo if lo is None else one.lo + lo)


def within(x: Value, low: float, high: float) -> Value:
    """x limited to `high`; below `low`, where the result is 0, something far below. The
    instruction that scales by a power of two takes 300 cycles where the result is less than the
    smallest normal number, but not where the power is beyond 2**-4096 (2**-1000 for float32;
    measured on Emerald Rapids): it raises UNDERFLOW all the same. NaN stays NaN."""
    limit = x.lift(high)
    x = select(x.body.emit("lt", "b1", limit, x, attr="signaling"), limit, x)
    return select(x < low, _FAR[x.dtype], x)


def exp(x: Value) -> Value:
    form = FORMATS[x.dtype]
    return _exp_of(clamp(x, form.exp_low, form.exp_high), is_far=False)


def exp_by_scale(x: Value) -> Value:
    form = FORMATS[x.dtype]
    return _exp_of(within(x, form.exp_low, form.exp_high), is_far=True)


def _exp_of(x: Value, *, is_far: bool) -> Value:
    form = FORMATS[x.dtype]
    bits, n, head = reduce(x, form)
    y = exp_of_pair(fma(n, -form.ln2[1], head), None)
    return scale_by_power(y, n, bits, is_far=is_far)


def exp2(x: Value) -> Value:
    """2**n is exact for every integer n."""
    return _exp2_of(clamp(x, *_exp2_limits(x)), is_far=False)


def exp2_by_scale(x: Value) -> Value:
    return _exp2_of(within(x, *_exp2_limits(x)), is_far=True)


def _exp2_limits(x: Value) -> tuple[float, float]:
    form = FORMATS[x.dtype]
    return -float(form.bias + form.mantissa + 4), form.bias + 3.0


def _exp2_of(x: Value, *, is_far: bool) -> Value:
    form = FORMATS[x.dtype]
    n, bits = round_by_shift(x, 1.0)
    hi, lo = two_product(x - n, form.ln2[0])
    y = exp_of_pair(hi, fma(x - n, form.ln2[1], lo))
    return scale_by_power(y, n, bits, is_far=is_far)


def exp_by_table(x: Value) -> Value:
    """float64."""
    form = FORMATS[x.dtype]
    x = within(x, form.exp_low, form.exp_high)
    n, bits = _sixteenths(x, form.log2_e[0])
    return _times_powers(_less_sixteenths(x, None, n), EXP_SCALED["f8"], n, bits)


def exp_pair_by_table(x: Pair) -> Value:
    """exp(hi + lo) for a pair of any size, float64."""
    n, bits = _sixteenths(x.hi, FORMATS[x.hi.dtype].log2_e[0])
    head = lookup(bits, "EXP2_HEADS")
    tail = _tail_of_sixteenths(x.hi, x.lo, n, bits)
    return scale_by_power(fma(head, tail, head), n, bits >> 4, is_far=True)


def _tail_of_sixteenths(x: Value, low: Value | None, n: Value, bits: Value) -> Value:
    """exp(x + low) = 2**n (1 + tail), with the table's rests."""
    r = _less_sixteenths(x, low, n)
    return fma(polynomial(r, EXP_SHORT["f8"]), r * r, r + lookup(bits, "EXP2_RESTS"))


def _less_sixteenths(x: Value, low: Value | None, n: Value) -> Value:
    """r in x + low = n ln 2 + r: n*ln2[0] loses nothing, and |r| <= ln(2)/32."""
    form = FORMATS[x.dtype]
    head = fma_exact(n, -form.ln2[0], x)
    return fma(n, -form.ln2[1], head if low is None else head + low)


def exp2_by_table(x: Value) -> Value:
    """2**n is exact for every integer n; float64."""
    x = within(x, *_exp2_limits(x))
    n, bits = _sixteenths(x, 1.0)
    return _times_powers(x - n, EXP2_SCALED["f8"], n, bits)


def _sixteenths(x: Value, scale: float) -> tuple[Value, Value]:
    """x * scale rounded to a sixteenth, and as sixteenths in the low bits of an unsigned word."""
    form = FORMATS[x.dtype]
    shifted = fma(x, scale, form.shift / 16)
    return shifted - form.shift / 16, bitcast(shifted, form.unsigned)


def _times_powers(r: Value, coefficients: Sequence[float], n: Value, bits: Value) -> Value:
    """2**n times 1 + r * the polynomial; n from `_sixteenths`, and both divided by the table's
    scale."""
    power = lookup(bits, "SCALED_POWERS")
    tail = fma(r, polynomial(r, coefficients), _INVERSE_LESS_ONE)
    return scale_by_power(fma(power, tail, power), n, bits >> 4, is_far=True)


def quarter_exp(x: Value) -> Pair:
    """exp(x)/4 as a pair, for 0 <= x <= exp_high."""
    form = FORMATS[x.dtype]
    bits, n, head = reduce(x, form)
    r = fast_two_sum(head, n * -form.ln2[1])
    one = fast_two_sum(1.0, r.hi)
    tail = fma(polynomial(r.hi, EXP[form.dtype]), r.hi * r.hi, one.lo + r.lo)
    power = power_of_two(bits - 2, x.dtype)
    total = fast_two_sum(one.hi, tail)
    return Pair(total.hi * power, total.lo * power)


def quarter_exp_by_table(x: Value) -> Pair:
    """exp(x)/4 as a pair, for 0 <= x <= exp_high; float64."""
    n, bits = _sixteenths(x, FORMATS[x.dtype].log2_e[0])
    head = lookup(bits, "EXP2_HEADS")
    total = fast_two_sum(head, head * _tail_of_sixteenths(x, None, n, bits))
    power = power_of_two((bits >> 4) - 2, x.dtype)
    return Pair(total.hi * power, total.lo * power)


def exp_pair(x: Pair) -> Value:
    """exp(hi + lo) for a pair of any size, in about 0.6 ulp."""
    form = FORMATS[x.hi.dtype]
    bits, n, head = reduce(x.hi, form)
    low = fma(
        n, -form.ln2[1], x.lo
    )  # far below an ulp of n: where it adds to r, rounding is no matter
    r = fast_two_sum(head, low)
    one = fast_two_sum(1.0, r.hi)
    tail = fma(polynomial(r.hi, EXP[form.dtype]), r.hi * r.hi, one.lo + r.lo)
    return scale_by_power(one.hi + tail, n, bits)


def exp_short_pair(x: Pair) -> Value:
    """exp(hi + lo) for a pair of any size, in fewer steps."""
    form = FORMATS[x.hi.dtype]
    bits, n, head = reduce(x.hi, form)
    r = fast_two_sum(head, fma(n, -form.ln2[1], x.lo))
    return scale_by_power(exp_of_pair(r.hi, r.lo), n, bits, is_far=True)


def quarter_expm1(x: Value) -> Pair:
    """expm1(x)/4 as a pair, for minus_one <= x <= exp_high; a quarter, so that sinh and cosh do
    not overflow.
    """
    form = FORMATS[x.dtype]
    bits, n, head = reduce(x, form)
    r = fma(n, -form.ln2[1], head)
    r_low = fma(n, -form.ln2[1], head - r)
    square = two_product(r, r)
    tail = fma(polynomial(r, EXPM1[r.dtype]), r * square.hi, 0.5 * square.lo)
    total = fast_two_sum(r, 0.5 * square.hi)
    low = total.lo + (tail + fma(r, r_low, r_low))
    power = power_of_two(bits - 2, x.dtype)
    offset = power - 0.25
    lost = (power - offset) - 0.25
    result = fast_two_sum(offset, power * total.hi)
    return fast_two_sum(result.hi, result.lo + fma(power, low, lost))


def expm1(x: Value) -> Value:
    form = FORMATS[x.dtype]
    bounded = clamp(x, form.minus_one, form.exp_high)
    return select(absolute(x) < 0.25 * form.epsilon, x, _expm1_short(bounded))


def _expm1_short(x: Value) -> Value:
    """2**n - 1 + 2**n (r + r*r/2 + ...), where r is a pair whose head is exact; of a quarter
    of it, so that 2**n does not overflow."""
    form = FORMATS[x.dtype]
    bits, n, head = reduce(x, form)
    low = n * -form.ln2[1]
    r = fast_two_sum(head, low)
    square = r.hi * r.hi
    lost = low if x.dtype == "f4" else fma(r.hi, r.lo, low)  # of float32 that is little
    rest = fma(square, 0.5, fma(square * r.hi, polynomial(r.hi, EXPM1[x.dtype]), lost))
    quarter = power_of_two(bits - 2, x.dtype)
    offset = quarter - 0.25
    total = fast_two_sum(offset, quarter * head)
    low = total.lo + ((quarter - offset) - 0.25)
    return 4.0 * (total.hi + fma(quarter, rest, low))
