"""Cases for every thread layout and every kind of accumulator: the table that the kernel tests
run.

Tolerances. A tree of additions over n positive values, in which no lane folds more than L of them,
is off by at most (L + log2(n) + 2) eps of the sum (Higham, "The accuracy of floating point
summation", 1993, (3.4) and (3.6)). On the host target a row's group has up to 64 lanes, a column's
group at least 2 (64 threads over 32 columns).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from cuda_cases import Case, PhaseWriter, elementwise_case, reduction_case, spread

from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.body import Value, cast, imag, make_complex, real

RNG = np.random.default_rng(11)


def tree_bound(n: int, dtype: str, lanes: int = 64) -> float:
    """Relative error bound of a sum of n positive values; float16 sums add in float32 and round
    once.
    """
    longest = max(n / lanes, 8)
    adding = np.finfo("f4" if dtype == "f2" else dtype[-2:] if dtype[0] == "f" else "f4").eps
    rounding = np.finfo("f2").eps if dtype == "f2" else 0.0
    return float((longest + math.log2(max(n, 2)) + 2) * adding + rounding)


def positive(*shape: int, dtype: str = "f4") -> np.ndarray:
    return (RNG.random(shape) + 0.5).astype(dtype)


def normal(*shape: int, dtype: str = "f4") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


# --- elementwise ---------------------------------------------------------------------------------


def _mul_add(body, x: Value, y: Value) -> Value:  # type: ignore[no-untyped-def]
    return x * y + 1.0


def elementwise_cases() -> Iterator[Case]:
    for n in (0, 1, 3, 4, 1000, 4099, 40000):
        x, y = normal(n), normal(n)
        yield elementwise_case(f"contiguous_{n}", [x, y], _mul_add, [x * y + np.float32(1)])
    yield from _strided_cases()
    yield from _typed_cases()
    x = normal(2000)
    yield elementwise_case(
        "scalars",
        [x],
        lambda b, p, s, t: (p * s, cast(t, "f4") - p),
        [x * np.float32(2.5), np.float32(7) - x],
        scalars=[("f4", 2.5), ("i8", 7)],
    )
    yield elementwise_case("narrow_index", [x], lambda b, p: p + p, [x + x], index="i4")
    yield elementwise_case("zero_dimensions", [x[0]], lambda b, p: p + p, [np.array(x[0] + x[0])])


def _strided_cases() -> Iterator[Case]:
    one = np.float32(1)
    x, y = normal(37, 52), normal(37, 52)
    yield elementwise_case("two_axes", [x, y], _mul_add, [x * y + one])
    yield elementwise_case("generic_strides", [x, y], _mul_add, [x * y + one], generic=True)
    yield elementwise_case(
        "odd_rows", [x[:, :51], y[:, 1:]], _mul_add, [x[:, :51] * y[:, 1:] + one]
    )
    yield elementwise_case("row_broadcast", [x, y[0]], _mul_add, [x * y[0] + one])
    yield elementwise_case("column_broadcast", [x, y[:, :1]], _mul_add, [x * y[:, :1] + one])
    yield elementwise_case("scalar_broadcast", [x, y[3, 4]], _mul_add, [x * y[3, 4] + one])
    yield elementwise_case(
        "transposed", [x, y.reshape(52, 37).T], _mul_add, [x * y.reshape(52, 37).T + one]
    )
    yield elementwise_case("reversed", [x[::-1, ::-1], y], _mul_add, [x[::-1, ::-1] * y + one])
    yield elementwise_case(
        "stepped", [x[::3, ::5], y[:13, :11]], _mul_add, [x[::3, ::5] * y[:13, :11] + one]
    )
    cube = normal(5, 6, 28)
    yield elementwise_case("three_axes", [cube, y[:6, :1]], _mul_add, [cube * y[:6, :1] + one])
    swapped = cube.transpose(2, 0, 1)
    yield elementwise_case(
        "three_swapped", [swapped, normal(1, 1, 6) * 0], _mul_add, [swapped * 0 + one]
    )


def _typed_cases() -> Iterator[Case]:
    n = 3001
    u1 = RNG.integers(0, 255, n).astype("u1")
    f4, f8, f2 = normal(n), normal(n, dtype="f8"), normal(n, dtype="f2")
    yield elementwise_case(
        "mixed_widths", [u1, f4], lambda b, p, q: cast(p, "f4") * q, [u1.astype("f4") * f4]
    )
    yield elementwise_case(
        "widest_mix", [u1, f8], lambda b, p, q: (cast(p, "f8") * q, p + p), [u1 * f8, u1 + u1]
    )

    def half(body, p: Value, q: Value) -> Value:  # type: ignore[no-untyped-def]
        product = cast(cast(p, "f4") * cast(q, "f4"), "f2")
        return cast(cast(product, "f4") + cast(p, "f4"), "f2")

    yield elementwise_case("halves", [f2, f2[::-1]], half, [f2 * f2[::-1] + f2])
    flags = f4 > 0
    yield elementwise_case(
        "flags", [flags, f4], lambda b, p, q: (~p, p & (q < 1.0)), [~flags, flags & (f4 < 1)]
    )

    def multiply(body, p: Value, q: Value) -> Value:  # type: ignore[no-untyped-def]
        re = real(p) * real(q) - imag(p) * imag(q)
        return make_complex(re, real(p) * imag(q) + imag(p) * real(q))

    for dtype in ("c8", "c16"):
        z = (f8 + 1j * f8[::-1]).astype(dtype)
        w = z[::-1].copy()
        product = np.empty_like(z)
        product.real = z.real * w.real - z.imag * w.imag
        product.imag = z.real * w.imag + z.imag * w.real
        yield elementwise_case(f"complex_multiply_{dtype}", [z, w], multiply, [product])


# --- reductions ----------------------------------------------------------------------------------


def _sum(writer: PhaseWriter) -> None:
    writer.fold("add", writer.load(0))


def _store_acc(writer: PhaseWriter, dtype: str) -> None:
    writer.store(1, writer.acc(0, dtype))


def fold_case(
    name: str,
    x: np.ndarray,
    op: str,
    expected: np.ndarray,
    outer: int,
    *,
    dtype: str | None = None,
    result: str | None = None,
    **more: object,
) -> Case:
    """One accumulator over the inner axes of `x`, stored as it is."""
    kind = dtype or f"{x.dtype.kind}{x.dtype.itemsize}"
    is_arg = op.startswith("arg")

    def inner(writer: PhaseWriter) -> None:
        value = cast(writer.load(0), kind)
        writer.fold(op, value, writer.index(x.ndim - 1) if is_arg else None, more.get("init"))  # type: ignore[arg-type]

    target = "i8" if is_arg else (result or kind)
    y = np.zeros(x.shape[:outer], target)
    output = spread(y, x.shape, range(outer))
    phases = [("inner", inner), ("outer", lambda w: _store_acc(w, target))]
    options = {key: value for key, value in more.items() if key != "init"}
    full = np.broadcast_to(
        np.asarray(expected, target).reshape(*expected.shape, *(1,) * (x.ndim - outer)), x.shape
    )
    return reduction_case(name, [x, output], "io", outer, phases, [full], **options)  # type: ignore[arg-type]


def reduction_cases() -> Iterator[Case]:
    yield from _sum_cases()
    yield from _order_cases()
    yield from _typed_reductions()
    yield from _several_accumulators()
    yield from _phased_cases()


def _sum_cases() -> Iterator[Case]:
    for n in (1, 7, 32, 1000, 100_003):
        x = positive(n)
        yield fold_case(
            f"full_{n}", x, "add", x.astype("f8").sum(), 0, tolerance=[tree_bound(n, "f4")]
        )
    for rows, n in (
        (1, 300),
        (3, 1),
        (5, 2),
        (40, 33),
        (7, 1000),
        (2, 20000),
        (300, 4),
        (3, 4096),
    ):
        x = positive(rows, n)
        for lanes in Lanes:
            bound = tree_bound(n, "f4", 64 if lanes is Lanes.INNER else 2)
            yield fold_case(
                f"{lanes.value}_{rows}x{n}",
                x,
                "add",
                x.astype("f8").sum(1),
                1,
                lanes=lanes,
                tolerance=[bound],
            )
            yield fold_case(
                f"{lanes.value}_{rows}x{n}_t", np.asfortranarray(x), "add",
                x.astype("f8").sum(1), 1, lanes=lanes, tolerance=[bound], index="i4",
            )  # fmt: skip
    x = positive(6, 5, 8, 12)
    yield fold_case(
        "two_and_two", x, "add", x.astype("f8").sum((2, 3)), 2, tolerance=[tree_bound(96, "f4")]
    )
    y = x.transpose(1, 3, 0, 2)[:, ::-1]
    yield fold_case(
        "two_and_two_strided",
        y,
        "add",
        y.astype("f8").sum((2, 3)),
        2,
        tolerance=[tree_bound(48, "f4")],
    )
    x = positive(4, 0)
    yield fold_case("empty_rows", x, "add", np.zeros(4), 1)
    yield fold_case("no_rows", positive(0, 4), "add", np.zeros(0), 1)
    x = positive(9, 100)
    yield fold_case(
        "started", x, "add", 100 + x.astype("f8").sum(1), 1, init=0, scalars=[("f4", 100.0)],
        tolerance=[tree_bound(101, "f4")],
    )  # fmt: skip


def _order_cases() -> Iterator[Case]:
    """NaN wins or loses; the first extreme wins; also where blocks share a row."""
    shapes = ((1, 5), (13, 70), (2, 9000))
    for rows, n in shapes:
        x = np.round(normal(rows, n), 1)
        gaps = x.copy()
        gaps[rows // 2, n // 3 :: max(n // 3, 1)] = np.nan
        for lanes in Lanes:
            tag = f"{lanes.value}_{rows}x{n}"
            for source, kind in ((x, "plain"), (gaps, "nan")):
                yield fold_case(
                    f"max_{kind}_{tag}", source, "maximum", source.max(1), 1, lanes=lanes
                )
                yield fold_case(
                    f"min_{kind}_{tag}", source, "minimum", source.min(1), 1, lanes=lanes
                )
                yield fold_case(
                    f"fmax_{kind}_{tag}", source, "fmax", np.fmax.reduce(source, 1), 1, lanes=lanes
                )
                yield fold_case(
                    f"fmin_{kind}_{tag}", source, "fmin", np.fmin.reduce(source, 1), 1, lanes=lanes
                )
                yield fold_case(
                    f"argmax_{kind}_{tag}", source, "argmax", source.argmax(1), 1, lanes=lanes
                )
                yield fold_case(
                    f"argmin_{kind}_{tag}", source, "argmin", source.argmin(1), 1, lanes=lanes
                )
    for dtype in ("i1", "u2", "i8", "u8", "f8", "b1"):
        x = RNG.integers(0, 2 if dtype == "b1" else 100, (5, 400)).astype(dtype)
        yield fold_case(f"argmax_{dtype}", x, "argmax", x.argmax(1), 1)
        yield fold_case(f"argmin_{dtype}", x, "argmin", x.argmin(1), 1)
        yield fold_case(f"max_{dtype}", x, "maximum", x.max(1), 1)
        yield fold_case(f"min_{dtype}", x, "minimum", x.min(1), 1)


def _typed_reductions() -> Iterator[Case]:
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        x = RNG.integers(0, np.iinfo(dtype).max, (3, 5000), dtype=dtype)
        yield fold_case(f"sum_{dtype}", x, "add", x.sum(1, dtype=dtype), 1)
        yield fold_case(f"prod_{dtype}", x | 1, "mul", (x | 1).prod(1, dtype=dtype), 1)
        yield fold_case(f"and_{dtype}", x | 5, "and", np.bitwise_and.reduce(x | 5, 1), 1)
        yield fold_case(f"or_{dtype}", x & 9, "or", np.bitwise_or.reduce(x & 9, 1), 1)
        yield fold_case(f"xor_{dtype}", x, "xor", np.bitwise_xor.reduce(x, 1), 1)
    narrow = RNG.integers(0, 255, (4, 3000)).astype("u1")
    yield fold_case("sum_u1_as_u8", narrow, "add", narrow.sum(1), 1, dtype="u8")
    flags = RNG.random((6, 500)) < 0.01
    flags[2], flags[3] = False, True
    for lanes in Lanes:
        yield fold_case(f"any_{lanes.value}", flags, "or", flags.any(1), 1, lanes=lanes)
        yield fold_case(f"all_{lanes.value}", flags, "and", flags.all(1), 1, lanes=lanes)
    yield fold_case("count", flags, "add", flags.sum(1), 1, dtype="i8")
    half = positive(3, 1000, dtype="f2")
    yield fold_case(
        "sum_f2", half, "add", half.astype("f8").sum(1), 1, tolerance=[tree_bound(1000, "f2")]
    )
    yield fold_case("max_f2", half, "maximum", half.max(1), 1)
    double = positive(3, 1000, dtype="f8")
    yield fold_case("sum_f8", double, "add", double.sum(1), 1, tolerance=[tree_bound(1000, "f8")])
    near = 1 + double / 1000
    yield fold_case(
        "prod_f8", near, "mul", near.prod(1), 1, tolerance=[tree_bound(1000, "f8") * 2]
    )
    for dtype in ("c8", "c16"):
        z = (positive(3, 700) + 1j * positive(3, 700)).astype(dtype)
        bound = tree_bound(700, "f4" if dtype == "c8" else "f8")
        yield fold_case(f"sum_{dtype}", z, "add", z.astype("c16").sum(1), 1, tolerance=[bound])
    z = np.array([[1 + 2j, 3 - 1j, 0.5 + 0.5j]])
    yield fold_case("prod_c16", z, "mul", z.prod(1), 1, tolerance=[1e-15])


def _several_accumulators() -> Iterator[Case]:
    """Minimum, sum and arg maximum of one row at once, stored in three outputs; and a map stored
    on the way.
    """
    for rows, n, lanes in ((9, 130, Lanes.INNER), (2, 9000, Lanes.INNER), (70, 45, Lanes.OUTER)):
        x, shape = positive(rows, n, dtype="f8"), (rows, n)
        outputs = [spread(np.zeros(rows, t), shape, [0]) for t in ("f8", "f8", "i8")]
        doubled = np.zeros(shape)

        def inner(writer: PhaseWriter) -> None:
            value = writer.load(0)
            writer.fold("minimum", value)
            writer.fold("add", value)
            writer.fold("argmax", value, writer.index(1))
            writer.store(4, value + value)

        def outer(writer: PhaseWriter) -> None:
            for number, dtype in enumerate(("f8", "f8", "i8")):
                writer.store(number + 1, writer.acc(number, dtype))

        wide = [np.broadcast_to(e[:, None], shape) for e in (x.min(1), x.sum(1), x.argmax(1))]
        yield reduction_case(
            f"three_at_once_{rows}x{n}", [x, *outputs, doubled], "ioooo", 1,
            [("inner", inner), ("outer", outer)], [*wide, x + x], lanes=lanes,
            tolerance=[0.0, tree_bound(n, "f8", 2)],
        )  # fmt: skip


def _phased_cases() -> Iterator[Case]:
    shapes = ((33, 50, Lanes.INNER), (1, 70_000, Lanes.INNER), (3, 5001, Lanes.INNER))
    for rows, n, lanes in (*shapes, (45, 37, Lanes.OUTER), (3, 9000, Lanes.OUTER)):
        x = normal(rows, n, dtype="f8")
        for scratch in (None, "f8"):
            yield softmax_case(x, lanes, scratch)
        yield standardize_case(x, lanes)
        yield center_case(np.abs(x), lanes)
    yield softmax_case(normal(1, 200_000, dtype="f8")[0], Lanes.INNER, "f8")


def softmax_case(x: np.ndarray, lanes: Lanes, scratch: str | None) -> Case:
    """max; exp(x - max) and its sum, kept in scratch or computed again; divide."""
    number = 2 if scratch else None

    def largest(writer: PhaseWriter) -> None:
        writer.fold("maximum", writer.load(0))

    def exponential(writer: PhaseWriter) -> Value:
        return (writer.load(0) - writer.acc(0, "f8")).unary("exp")

    def total(writer: PhaseWriter) -> None:
        value = exponential(writer)
        writer.fold("add", value)
        if number is not None:
            writer.store(number, value)

    def divide(writer: PhaseWriter) -> None:
        value = exponential(writer) if number is None else writer.load(number)
        writer.store(1, value / writer.acc(1, "f8"))

    powers = np.exp(x - x.max(-1, keepdims=True))
    name = f"softmax_{lanes.value}_{'x'.join(map(str, x.shape))}_{scratch}"
    return reduction_case(
        name, [x, np.zeros_like(x)], "io", x.ndim - 1,
        [("inner", largest), ("inner", total), ("inner", divide)],
        [powers / powers.sum(-1, keepdims=True)], lanes=lanes, scratch=scratch,
        tolerance=[tree_bound(x.shape[-1], "f8", 2) + 1e-14],
    )  # fmt: skip


def center_case(x: np.ndarray, lanes: Lanes) -> Case:
    """Subtract the sum of its row from every element: all threads read the accumulator."""

    def subtract(writer: PhaseWriter) -> None:
        writer.store(1, writer.load(0) - writer.acc(0, "f8"))

    return reduction_case(
        f"center_{lanes.value}", [x, np.zeros_like(x)], "io", 1,
        [("inner", _sum), ("inner", subtract)], [x - x.sum(1, keepdims=True)], lanes=lanes,
        tolerance=[tree_bound(x.shape[1], "f8", 2)],
    )  # fmt: skip


def standardize_case(x: np.ndarray, lanes: Lanes) -> Case:
    """(x - mean) / std, with the mean stored too: layer norm along rows, standardization of
    columns.
    """
    n = x.shape[1]
    x = np.abs(x) + 1.0
    means = np.zeros(x.shape[0])

    def mean(writer: PhaseWriter, count: Value) -> Value:
        return writer.acc(0, "f8") / count

    def deviation(writer: PhaseWriter) -> Value:
        return writer.load(0) - mean(writer, writer.scalar(0, "f8"))

    def spread_of(writer: PhaseWriter) -> None:
        gap = deviation(writer)
        writer.fold("add", gap * gap)

    def apply(writer: PhaseWriter) -> None:
        gap = deviation(writer)
        variance = writer.acc(1, "f8") / writer.scalar(0, "f8")
        writer.store(1, gap / (variance + 1e-5).unary("sqrt"))

    def store_mean(writer: PhaseWriter) -> None:
        writer.store(2, mean(writer, writer.scalar(0, "f8")))

    average = x.mean(1, keepdims=True)
    # Gaps near 0 lose the bits that x and its mean share: the error of a gap is that of the mean,
    # relative to x.
    normalized = (x - average) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    case = reduction_case(
        f"standardize_{lanes.value}_{x.shape[0]}x{n}",
        [x, np.zeros_like(x), spread(means, x.shape, [0])], "ioo", 1,
        [("inner", _sum), ("outer", store_mean), ("inner", spread_of), ("inner", apply)],
        [normalized, np.broadcast_to(average, x.shape)], lanes=lanes, scalars=[("f8", float(n))],
        tolerance=[1e-9, tree_bound(n, "f8", 2)],
    )  # fmt: skip
    return case
