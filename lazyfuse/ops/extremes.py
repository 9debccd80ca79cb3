"""The greater and the smaller of two values, and clip: NaN, and zeros of both signs, as NumPy has
them.
"""

from __future__ import annotations

from lazyfuse.ops.body import Value, cast, select


def maximum(x: Value, y: Value) -> Value:
    """The greater; NaN wins. Equal zeros give the second, as NumPy's SIMD loops do."""
    return select(x.eq(x), larger(x, y), x) if x.kind == "f" else larger(x, y)


def minimum(x: Value, y: Value) -> Value:
    return select(x.eq(x), smaller(x, y), x) if x.kind == "f" else smaller(x, y)


def fmax(x: Value, y: Value) -> Value:
    """The greater; NaN loses."""
    return select(y.eq(y), larger(x, y), x) if x.kind == "f" else larger(x, y)


def fmin(x: Value, y: Value) -> Value:
    return select(y.eq(y), smaller(x, y), x) if x.kind == "f" else smaller(x, y)


def half_maximum(x: Value, y: Value) -> Value:
    """NumPy's loop for float16: equal zeros give the first."""
    x, y = _wide(x, y)
    return select((x >= y) | x.ne(x), x, y)


def half_minimum(x: Value, y: Value) -> Value:
    x, y = _wide(x, y)
    return select((x <= y) | x.ne(x), x, y)


def half_fmax(x: Value, y: Value) -> Value:
    x, y = _wide(x, y)
    return select((x >= y) | y.ne(y), x, y)


def half_fmin(x: Value, y: Value) -> Value:
    x, y = _wide(x, y)
    return select((x <= y) | y.ne(y), x, y)


def _wide(x: Value, y: Value) -> tuple[Value, Value]:
    return cast(x, "f4"), cast(y, "f4")


def larger(x: Value, y: Value) -> Value:
    """x > y ? x : y"""
    return x.binary("max", y) if x.kind == "f" else select(x > y, x, y)


def smaller(x: Value, y: Value) -> Value:
    """x < y ? x : y"""
    return x.binary("min", y) if x.kind == "f" else select(x < y, x, y)


def bool_maximum(x: Value, y: Value) -> Value:
    return x | y


def bool_minimum(x: Value, y: Value) -> Value:
    return x & y


def clip(x: Value, low: Value, high: Value) -> Value:
    """NumPy's _NPY_CLIP: min(max(x, low), high), NaN of any wins; low > high gives high."""
    if x.kind != "f":
        lifted = select(x < low, low, x)
        return select(high < lifted, high, lifted)
    lifted = select(x.eq(x), larger(x, low), x)
    return select(x.eq(x) & low.eq(low), smaller(lifted, high), lifted)


def clip_by_numbers(x: Value, low: Value, high: Value) -> Value:
    """NumPy's loop for bounds that are numbers, and for all float16: equal zeros leave x as it is;
    where a bound is NaN, every result is."""
    if x.dtype == "f2":
        return clip_by_numbers(*(cast(value, "f4") for value in (x, low, high)))
    known = low.eq(low)
    inside = smaller(high, larger(low, x))
    return select(known & high.eq(high), inside, select(known, high, low))


def bool_clip(x: Value, low: Value, high: Value) -> Value:
    return (x | low) & high
