"""Complex bodies over pairs of floats, as NumPy's complex loops compute them (loops.c.src,
loops_arithm_fp)."""

from __future__ import annotations

from lazyfuse.ops.body import Value, cast, flag, fma, imag, make_complex, real, select
from lazyfuse.ops.float_flags import INVALID


def parts(x: Value) -> tuple[Value, Value]:
    return real(x), imag(x)


def add(x: Value, y: Value) -> Value:
    return make_complex(real(x) + real(y), imag(x) + imag(y))


def subtract(x: Value, y: Value) -> Value:
    return make_complex(real(x) - real(y), imag(x) - imag(y))


def multiply(x: Value, y: Value) -> Value:
    """NumPy's SIMD loops fuse one product into the sum (npyv_muladdsub);
    so do we, for the same bits."""
    (xr, xi), (yr, yi) = parts(x), parts(y)
    return make_complex(fma(xr, yr, -(xi * yi)), fma(xr, yi, xi * yr))


def multiply_plainly(x: Value, y: Value) -> Value:
    """NumPy's strided loop, which `accumulate` runs, rounds every product."""
    (xr, xi), (yr, yi) = parts(x), parts(y)
    return make_complex(xr * yr - xi * yi, xr * yi + xi * yr)


def square(x: Value) -> Value:
    return multiply(x, x)


def divide(x: Value, y: Value) -> Value:
    """Smith's algorithm (R. L. Smith, CACM 5(8), 1962), with NumPy's order of operations."""
    (xr, xi), (yr, yi) = parts(x), parts(y)
    wide = yr.unary("abs") >= yi.unary("abs")
    numerator, denominator = select(wide, yi, yr), select(wide, yr, yi)
    ratio = numerator / denominator
    scale = 1.0 / (denominator + numerator * ratio)
    re = select(wide, xr + xi * ratio, xr * ratio + xi) * scale
    im = select(wide, xi - xr * ratio, xi * ratio - xr) * scale
    zero = yr.eq(0) & yi.eq(0)
    size = yr.unary("abs")
    re = flag(select(zero, xr / size, re), is_nan(y), INVALID)  # a signaling comparison in NumPy
    return make_complex(re, select(zero, xi / size, im))


def reciprocal(x: Value) -> Value:
    xr, xi = parts(x)
    wide = xi.unary("abs") <= xr.unary("abs")
    small, large = select(wide, xi, xr), select(wide, xr, xi)
    ratio = small / large
    scale = large + small * ratio
    one = xr.lift(1.0)
    re = select(wide, one / scale, ratio / scale)
    im = select(wide, -ratio / scale, -one / scale)
    return make_complex(flag(re, is_nan(x), INVALID), im)


def negative(x: Value) -> Value:
    return make_complex(-real(x), -imag(x))


def conjugate(x: Value) -> Value:
    return make_complex(real(x), -imag(x))


def absolute(x: Value) -> Value:
    return real(x).binary("hypot", imag(x))


def truth(x: Value) -> Value:
    return real(x).ne(0) | imag(x).ne(0)


def equal(x: Value, y: Value) -> Value:
    return real(x).eq(real(y)) & imag(x).eq(imag(y))


def not_equal(x: Value, y: Value) -> Value:
    return real(x).ne(real(y)) | imag(x).ne(imag(y))


def _ordered(x: Value, y: Value) -> Value:
    return imag(x).eq(imag(x)) & imag(y).eq(imag(y))


def _compared(x: Value, y: Value, result: Value) -> Value:
    """NumPy's complex comparisons, unlike those of floats, call a NaN invalid."""
    return flag(result, is_nan(x) | is_nan(y), INVALID)


def greater(x: Value, y: Value) -> Value:
    """Lexicographic; a NaN imaginary part makes a decision by the real parts false (CGT in
    loops.c.src)."""
    by_real = (real(x) > real(y)) & _ordered(x, y)
    return _compared(x, y, by_real | (real(x).eq(real(y)) & (imag(x) > imag(y))))


def greater_equal(x: Value, y: Value) -> Value:
    by_real = (real(x) > real(y)) & _ordered(x, y)
    return _compared(x, y, by_real | (real(x).eq(real(y)) & (imag(x) >= imag(y))))


def less(x: Value, y: Value) -> Value:
    return greater(y, x)


def less_equal(x: Value, y: Value) -> Value:
    return greater_equal(y, x)


def is_nan(x: Value) -> Value:
    return real(x).ne(real(x)) | imag(x).ne(imag(x))


def is_inf(x: Value) -> Value:
    infinity = float("inf")
    return real(x).unary("abs").eq(infinity) | imag(x).unary("abs").eq(infinity)


def is_finite(x: Value) -> Value:
    infinity = float("inf")
    return (real(x).unary("abs") < infinity) & (imag(x).unary("abs") < infinity)


def maximum(x: Value, y: Value) -> Value:
    return select(is_nan(x) | greater_equal(x, y), x, y)


def minimum(x: Value, y: Value) -> Value:
    return select(is_nan(x) | less_equal(x, y), x, y)


def fmax(x: Value, y: Value) -> Value:
    return select(is_nan(y) | greater_equal(x, y), x, y)


def fmin(x: Value, y: Value) -> Value:
    return select(is_nan(y) | less_equal(x, y), x, y)


def convert(x: Value, dtype: str) -> Value:
    """To complex `dtype`; from complex, the parts one by one."""
    part = f"f{int(dtype[1:]) // 2}"
    if x.kind == "c":
        return make_complex(cast(real(x), part), cast(imag(x), part))
    converted = cast(cast(x, "f4") if x.dtype == "f2" and part == "f8" else x, part)
    return make_complex(converted, converted.lift(0.0))
