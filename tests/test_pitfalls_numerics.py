"""P32 to P43: numerics and dtypes (`design/pitfalls.md`); the whole ranges are in
`test_ops_matrix.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle
from tests.oracle import check


def test_p32_nan_in_max_and_min() -> None:
    """pytorch#43590: maximum, max, argmax and clip see NaN; fmax and fmin pass over it."""

    def program(np: Any, x: Any, y: Any) -> Any:
        pairs = [
            np.maximum(x, y),
            np.minimum(x, y),
            np.fmax(x, y),
            np.fmin(x, y),
            np.clip(x, 0, 1),
        ]
        return [
            *pairs,
            x.max(),
            x.min(),
            x.argmax(),
            x.argmin(),
            x.max(0),
            (x * 2).min(1),
            np.maximum(1, x),
        ]

    x = host.array([[1, host.nan, 3], [4, 5, host.nan], [host.nan, -1, 0]])
    for dtype in ("f8", "f4", "f2"):
        check(program, x.astype(dtype), x[::-1].astype(dtype))


@pytest.mark.parametrize("dtype", (*corpus.SIGNED, *corpus.UNSIGNED))
def test_p33_floor_divide_and_remainder_of_integers(dtype: str) -> None:
    """mlx#4346, pytorch#154420: floors, wraps at min // -1, gives 0 for x // 0, and does not kill
    the process.
    """
    x, y = corpus.pair_values(dtype, dtype)
    check(
        lambda np, x, y: [x // y, x % y, np.fmod(x, y), np.divmod(x, y), x // 0, x % 0, x // 7],
        x,
        y,
    )
    if host.dtype(dtype).kind == "i":
        check(lambda np, x: [x // -1, x % -1, np.fmod(x, -1)], x)
    if oracle.IS_ENGINE and not oracle.ON_GPU:  # which has no flags
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in floor_divide"):
            oracle.lf.materialize(oracle.lf.array(x) // 0)


@pytest.mark.parametrize("dtype", corpus.FLOATS)
def test_p33_floor_divide_and_remainder_of_floats(dtype: str) -> None:
    """jax#40170, CuPy: signs of zero, 5.0 // 0.1, 3.0 % inf."""
    x, y = corpus.pair_values(dtype, dtype)
    check(
        lambda np, x, y: [x // y, x % y, np.fmod(x, y), np.divmod(x, y), x // 0.1, x % 0.1], x, y
    )


@pytest.mark.engine
def test_p34_random_numbers_and_order_of_evaluation() -> None:
    """tinygrad#16520: streams follow the order of the calls, not of the reads; reading twice gives
    the same.
    """
    lf = oracle.lf
    lf.random.seed(7)
    first, second = lf.random.rand(50), lf.random.rand(50)
    late, early = lf.asnumpy(second), lf.asnumpy(first)
    host.random.seed(7)
    assert (early == host.random.rand(50)).all() and (late == host.random.rand(50)).all()
    assert (lf.asnumpy(first) == early).all()
    ours, theirs = lf.random.default_rng(3), host.random.default_rng(3)
    x, y = ours.normal(size=9), ours.normal(size=9)
    assert (lf.asnumpy(y * 1), lf.asnumpy(x * 1))[1].tolist() == theirs.normal(size=9).tolist()


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_p35_no_contraction_and_no_flush(dtype: str) -> None:
    """pytorch#122260: `a * a - b` with b the rounded square is exactly 0; denormals survive; fused
    bits are unfused bits.
    """
    a = corpus.random_values(dtype, 4000)

    def squares(np: Any, a: Any, b: Any) -> Any:
        return [a * a - b, b - a * a, a * a + -b, (a * a - b).sum()]

    check(squares, a, a * a)
    tiny = host.finfo(dtype).smallest_subnormal * host.arange(70).astype(dtype)
    check(lambda np, t: [t * 1, t + t, t / 2, -t, np.sqrt(t), t * 0.5 + t], tiny)
    many = corpus.random_values(dtype, 200_000 if oracle.IS_ENGINE else 2000)
    oracle.check_modes(
        lambda np, x, y: np.sqrt(abs(x * y + x / y - y)) * x - y, many, many[::-1].copy()
    )


def test_p36_slicing_a_lazy_expression() -> None:
    """blosc2#688: an index anywhere, with broadcasting, through reductions."""

    def program(np: Any, a: Any, b: Any) -> Any:
        s = a + b
        return [
            s[:, 0],
            s[..., 0],
            s[1],
            a.sum(0)[1],
            s[..., None][:, 1, 0],
            (a * b[:1])[::-1][0, 1:],
            s.sum(1)[::2],
        ]

    check(program, host.arange(12.0).reshape(3, 4), host.arange(4.0))


def test_p37_low_precision_accumulation() -> None:
    """numba#2855, jax#585, mlx#3909: sums of many small numbers; means of half precision; integer
    sums widen.
    """
    check(
        lambda np, x: [x.sum(), x.mean(), x.sum(dtype="f8")],
        host.full(1_000_000, 0.1, "f4"),
        sums=True,
    )
    check(lambda np, x: [x.mean(), x.sum()], host.ones(70_000, "f2"), sums=True)
    check(
        lambda np, x: [x.sum(), (x > 0).sum(), x.mean(), (x > 0).mean()],
        host.full(5000, 100, "i1"),
    )


def test_p38_integer_overflow() -> None:
    """numexpr#454, jax#10692: wraps around; powers wrap; shifts by the width or more give 0 or -1;
    abs(min) is min.
    """
    for dtype in (*corpus.SIGNED, *corpus.UNSIGNED):
        info = host.iinfo(dtype)
        x = host.array([info.max, info.min, 3, 7, info.max // 2, 1], dtype)
        y = host.array([0, 1, 2, 7, 8, 9, 15, 16, 31, 32, 63, 64, 65, 100], dtype)

        def program(np: Any, x: Any, y: Any) -> Any:
            grown = [
                x + x,
                x * x,
                x - 3,
                -x,
                abs(x),
                x**2,
                x**3,
                x[:, None] ** y,
                x + x.max(),
                x.sum(),
                x.prod(),
            ]
            return [*grown, x[:, None] << y, x[:, None] >> y, ~x, np.square(x)]

        check(program, x, y)
    check(lambda np, x: [x.sum(), x.cumsum(), x + 2**62], host.full(9, 2**62))


def test_p39_nep_50() -> None:
    """cupy#8536: Python scalars are weak, NumPy's are not; what does not fit raises at the
    call.
    """

    def program(np: Any, f: Any, u: Any, big: Any) -> Any:
        floats = [1 + f, f * 2.0, f * host.float64(2), f * host.float16(2), f**2, f + True, f * 1j]
        bytes_ = [
            u + 1,
            u * 2,
            u / 2,
            u + host.int8(1),
            u + host.uint16(1),
            u < 300,
            u == -1,
            u - 255,
        ]
        return [*floats, *bytes_, big + big.astype("i8"), big + 1, big * 1.0, np.add(u, 1.5)]

    check(program, host.ones(3, "f4"), host.arange(3, dtype="u1"), host.arange(3, dtype="u8"))
    for scalar in (300, -1, 2**70):
        check(lambda np, u: u + scalar, host.arange(3, dtype="u1"))  # noqa: B023


def test_p40_infinities_nan_and_algebra() -> None:
    """cupy#9005: `inf` compiles; `x * 0`, `x - x` and `x / x` do not fold for NaN and infinities;
    -0.0 is kept.
    """

    def program(np: Any, x: Any) -> Any:
        kept = [
            x * 0,
            x - x,
            x / x,
            0 * x,
            x + 0,
            x - 0,
            x + 0.0,
            x + -0.0,
            0 - x,
            x * 1,
            x * -1,
            x / 1,
            x**1,
            x**0,
        ]
        return [
            *kept,
            np.where(x > 0, np.inf, x),
            np.where(x > 0, np.nan, -np.inf),
            np.maximum(x, x),
            np.negative(-x),
            x == x,
        ]

    for dtype in corpus.FLOATS:
        check(program, corpus.special_values(dtype))
    check(program, corpus.special_values("i4"))


def test_p41_boolean_arithmetic() -> None:
    """numexpr 2.13.1: + is or, * is and, sums count, subtraction is refused."""
    x, y = host.array([True, True, False, False]), host.array([True, False, True, False])

    def program(np: Any, x: Any, y: Any) -> Any:
        sums = [
            x + y,
            x * y,
            x | y,
            x ^ y,
            ~x,
            x / y,
            x + 1,
            x * 2.5,
            x**y,
            x // y,
            x % y,
            np.maximum(x, y),
            abs(x),
        ]
        return [
            *sums,
            x.sum(),
            x.prod(),
            x.max(),
            x.mean(),
            x.cumsum(),
            (x + y).sum(),
            x < y,
            x << 1,
            np.add.reduce(x),
        ]

    check(program, x, y)
    check(lambda np, x, y: x - y, x, y)
    check(lambda np, x, y: x.__isub__(y), x, y)
    check(lambda np, x, y: -x, x, y)


def test_p42_invalid_casts_in_place() -> None:
    """libgpuarray#113: `int64 += 0.5` raises UFuncTypeError at the call and leaves the array
    alone.
    """
    check(lambda np, x: x.__iadd__(0.5), host.arange(5))
    check(lambda np, x, y: x.__iadd__(y), host.arange(5), host.ones(5))
    check(lambda np, x, y: x.__iadd__(y), host.arange(5, dtype="u1"), host.arange(5))
    check(lambda np, x, y: x.__iadd__(y), host.ones(5, "f4"), host.ones(5))
    check(lambda np, x, y: x.__iadd__(y), host.ones(5), host.ones(5, "c16"))


@pytest.mark.engine
def test_p43_float_to_integer_out_of_range() -> None:
    """CuPy's differences page: undefined beyond the range, but fused and unfused agree; in range
    all is NumPy's.
    """
    values = host.array(
        [-1.0, -300.5, 1e20, -1e20, host.inf, -host.inf, host.nan, 3e9, 70000.0, 2.5]
    )
    for target in ("i1", "u1", "i4", "u4", "i8", "u8"):
        oracle.same_bits(
            lambda np, x, target=target: [(x * 1).astype(target), x.astype("f4").astype(target)],
            values,
        )  # noqa: B023
    inside = host.array([0.0, -0.9, 0.9, 1.5, 2.5, 100.99, 127.0])
    check(lambda np, x: [x.astype(t) for t in ("i1", "u1", "i4", "u4", "i8", "u8")], inside)
