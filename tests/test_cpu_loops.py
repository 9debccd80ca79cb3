"""Ways in which the CPU backend writes a loop: the same bits by each, and nothing else written.

Long bodies walk their tail as one more vector (`emit_rounds`), large results go past the caches
(`emit_stream`), folds that wait take several vectors at a time (`emit_inner`), and powers of two
are one instruction (`instructions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend, emit_stream
from lazyfuse.backends.cpu.chains import size_of
from lazyfuse.backends.cpu.compiler import Compiler
from lazyfuse.backends.cpu.emit import emit
from lazyfuse.backends.cpu.emit_ahead import ROW_BYTES
from lazyfuse.backends.cpu.emit_plan import plan_phases
from lazyfuse.backends.cpu.emit_rounds import LONG, is_in_rounds
from lazyfuse.backends.cpu.vecmath.registry import ON_AVX512
from lazyfuse.ir.kernel import Kernel, Lanes
from lazyfuse.ops.body import Body, Value, flag, make_complex, real
from lazyfuse.ops.float_flags import INVALID
from tests.kernel_runner import (
    KernelRunner,
    arguments,
    column_kernel,
    elementwise,
    fold,
    inner,
    load,
    outer,
    reduction,
    same,
    values,
)

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)
FEATURES = BACKEND.compiler.features
LENGTHS = (*range(36), 63, 64, 65, 1000)


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelRunner]:
    """A runner whose kernels find every result too large for the caches."""
    monkeypatch.setattr(emit_stream, "stream_bytes", lambda: 0)
    yield KernelRunner(BACKEND)


def times(x: Value, y: Value) -> Value:
    """A product, of complex values part by part: few instructions. Of float16, y."""
    if x.dtype == "f2":
        return y
    if x.kind == "c":
        return make_complex(real(x) * real(y), real(y))
    return x ^ y if x.kind == "b" else x * y


def times_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype == "f2":
        return y.copy()
    if x.dtype.kind == "c":
        return (x.real * y.real + 1j * y.real).astype(x.dtype)
    return x ^ y if x.dtype.kind == "b" else x * y


def long(x: Value, y: Value) -> Value:
    """Many instructions with NumPy's bits."""
    for _ in range(LONG // 2 + 1):
        x = x * y + x
    return x


def long_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        for _ in range(LONG // 2 + 1):
            x = x * y + x
    return x


def binary(make: Callable[[Value, Value], Value], dtype: str, access: str) -> Kernel:
    """Two operands and a result of one dtype."""
    body = Body()
    result = make(load(body, dtype, 0), load(body, dtype, 1))
    roles = zip(("in", "in", "out"), access, strict=True)
    return elementwise(body, [(role, dtype, kind) for role, kind in roles], {2: result})


def aligned(dtype: str, count: int, shift: int = 0) -> np.ndarray:
    """Zeros that start `shift` elements after a line of memory."""
    memory = np.zeros(count * np.dtype(dtype).itemsize + 4096, np.uint8)
    start = -memory.ctypes.data % 64 + shift * np.dtype(dtype).itemsize
    return memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "i8"])
@pytest.mark.parametrize("access", ["111", "101"])
def test_long_bodies(dtype: str, access: str) -> None:
    """Every length around a vector, in place too, and nothing beside the result is written."""
    kernel = binary(long, dtype, access)
    assert is_in_rounds(kernel, plan_phases(kernel)[0])
    for n in LENGTHS:
        x, y = values(dtype, n), values(dtype, () if access[1] == "0" else n)
        expected = long_numpy(x, np.broadcast_to(y, x.shape))
        around = np.ones(n + 40, dtype)
        RUN(kernel, (n,), [x, y, around[20 : 20 + n]])
        assert same(around[20 : 20 + n], expected), (n, dtype)
        assert (around[:20] == 1).all() and (around[20 + n :] == 1).all()
        RUN(kernel, (n,), [x, y, x])
        assert same(x, expected)


def test_long_bodies_over_rows_and_threads() -> None:
    """Each row has a tail of its own; threads begin anywhere."""
    body = Body()
    result = long(load(body, "f8", 0), load(body, "f8", 1))
    kernel = elementwise(
        body, [("in", "f8", "s1"), ("in", "f8", "01"), ("out", "f8", "s1")], {2: result}
    )
    for shape in ((1, 5), (3, 8), (300, 37), (2, 5003)):
        x, y = values("f8", shape), values("f8", shape[1])
        for threads in (1, 2):
            out = np.zeros(shape)
            RUN(kernel, shape, [x, y, out], threads=threads)
            assert same(out, long_numpy(x, np.broadcast_to(y, shape)))


def test_long_bodies_are_written_once() -> None:
    """The last vector does not double what has to be compiled."""
    body = Body()
    x = load(body, "f8", 0)
    kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: x.unary("sin")})
    text = emit(kernel, FEATURES)
    total = size_of(tuple(body.instrs)).total
    assert text.count("call <") - text.count("@llvm.masked") < 2 * total
    assert text.count("@lanes.") == 2  # the definition of what calls it, and one call


@pytest.mark.skipif("sse2" not in FEATURES, reason="where a function raises the flags")
def test_rare_lanes_cost_no_registers() -> None:
    """Nothing is called for the flags of a function, however rare; and what calls the C library's
    functions is there once."""
    body = Body()
    x = load(body, "f8", 0)
    result = flag(x.unary("acosh"), x < 1.0, INVALID)
    kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: result})
    text = emit(kernel, FEATURES)
    assert "lanes.raise" in text and "\tcall" not in BACKEND.compiler.assembly(text)
    body = Body()
    x = load(body, "f8", 0)
    result = x.unary("sin") * x.unary("cos")
    kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: result})
    text = emit(kernel, FEATURES)
    assert text.count("define ") == 2 and text.count("@lanes.") == 3


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i8", "u1", "b1", "c8", "c16"])
def test_results_past_the_caches(dtype: str, streaming: KernelRunner) -> None:
    """Every dtype and length, from the start of a line and from elsewhere, in place too."""
    kernel = binary(times, dtype, "111")
    assert "!nontemporal" in emit(kernel, FEATURES)
    for n in LENGTHS:
        for shift in (0, 1):
            x, y, out = (aligned(dtype, n + 9, shift) for _ in range(3))
            x[...], y[...] = values(dtype, n + 9), values(dtype, n + 9)
            expected = times_numpy(x[:n], y[:n])
            streaming(kernel, (n,), [x[:n], y[:n], out[:n]])
            assert same(out[:n], expected) and not out[n:].any()
            streaming(kernel, (n,), [x[:n], y[:n], x[:n]])
            assert same(x[:n], expected)


def test_rows_and_threads_past_the_caches(streaming: KernelRunner) -> None:
    """Rows that begin in a line's middle are stored as ever; threads see what others stored."""
    body = Body()
    result = load(body, "f4", 0) * load(body, "f4", 1)
    roles = [("in", "f4", "s1"), ("in", "f4", "s0"), ("out", "f4", "s1")]
    kernel = elementwise(body, roles, {2: result})
    for shape in ((5, 33), (64, 64), (1000, 1000), (1001, 999)):
        x, y, out = values("f4", shape), values("f4", shape[0]), np.zeros(shape, "f4")
        streaming(kernel, shape, [x, y, out], threads=2)
        assert same(out, x * y[:, None])


def less_its_sum(access: str) -> Kernel:
    """A row reduction with a second phase: x - sum(x)."""
    first, last = Body(), Body()
    total = fold("add", load(first, "f4", 0))
    result = load(last, "f4", 0) - last.emit("acc", "f4", attr=0)
    args = arguments([("in", "f4", access), ("out", "f4", "s1")])
    phases = (inner(first, [total]), inner(last, [], {1: result}))
    return Kernel(1, 1, Lanes.INNER, args, (), phases)


def test_rows_with_sums_past_the_caches(streaming: KernelRunner) -> None:
    """The last phase of a row reduction."""
    kernel = less_its_sum("s1")
    assert "!nontemporal" in emit(kernel, FEATURES)
    for shape in ((3, 5), (7, 64), (9, 1000)):
        x, out = values("f4", shape), np.zeros(shape, "f4")
        streaming(kernel, shape, [x, out])
        assert same(out, x - x.sum(axis=1, keepdims=True))


def test_the_next_row_is_read_ahead() -> None:
    """In the last phase, where each row has its own values, and short rows only; one phase and
    columns do not need it."""
    text = emit(less_its_sum("s1"), FEATURES)
    assert "call void @llvm.prefetch" in text
    assert f", {ROW_BYTES}" in text  # longer rows are asked for where they are
    row_sum = reduction(body := Body(), [("in", "f4", "s1"), ("out", "f4", "s0")], "add",
                        load(body, "f4", 0))  # fmt: skip
    for kernel in (less_its_sum("01"), less_its_sum("ss"), row_sum, column_kernel("f4", "add")):
        assert "prefetch" not in emit(kernel, FEATURES)
    for shape in ((1, 3), (5, 17), (4, ROW_BYTES // 4), (3, ROW_BYTES)):
        x, out = values("f4", shape), np.zeros(shape, "f4")
        RUN(less_its_sum("s1"), shape, [x, out], threads=2)
        assert same(out, x - x.sum(axis=1, keepdims=True))


def test_only_large_results_go_past_the_caches() -> None:
    """The kernel decides from its extents: as much as the last cache holds, and not in place."""
    text = emit(binary(times, "f8", "111"), FEATURES)
    assert "icmp sge i64 %t" in text and f", {emit_stream.stream_bytes()}" in text
    assert text.count("icmp ne ptr") == 2  # the result is none of the operands
    assert "!nontemporal" not in emit(binary(long, "f8", "111"), FEATURES)
    assert "!nontemporal" not in emit(binary(times, "f8", "11s"), FEATURES)
    assert 1 << 20 <= emit_stream.stream_bytes() <= 1 << 32


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("op", ["maximum", "minimum", "fmax", "fmin"])
def test_extremes_of_several_vectors(dtype: str, op: str) -> None:
    """Every length around some vectors, NaN anywhere; the empty lanes of a tail change nothing."""
    body = Body()
    args = [("in", dtype, "s1"), ("out", dtype, "s0")]
    kernel = Kernel(
        1, 1, Lanes.INNER, arguments(args), (),
        (inner(body, [fold(op, load(body, dtype, 0))]), _finish(dtype)),
    )  # fmt: skip
    for n in (*range(1, 40), 63, 64, 65, 127, 129, 300):
        x = values(dtype, (6, n))
        x[1, n // 2] = np.nan
        x[2, 0], x[3, -1] = np.nan, np.nan
        x[4] = np.nan
        x[5] = -np.abs(x[5]) - 1 if "max" in op else np.abs(x[5]) + 1
        out = np.zeros(6, dtype)
        RUN(kernel, (6, n), [x, out])
        with np.errstate(invalid="ignore"):
            assert same(out, getattr(np, op).reduce(x, axis=1)), n


def _finish(dtype: str) -> object:
    finish = Body()
    return outer(finish, {1: finish.emit("acc", dtype, attr=0)})


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("op", ["exp", "exp2"])
def test_powers_of_two_by_one_instruction(dtype: str, op: str) -> None:
    """Also where the result is subnormal or infinite; without the instruction, the same bits, but
    for what float64 has in tables there: as exact."""
    body = Body()
    kernel = elementwise(
        body, [("in", dtype, "1"), ("out", dtype, "1")], {1: load(body, dtype, 0).unary(op)}
    )
    flags = ",".join(f for f in BACKEND.compiler.flags.split(",") if "avx512" not in f)
    plain = CpuBackend(cpu="haswell", features=flags) if "avx512f" in FEATURES else BACKEND
    limit = 1100.0 if dtype == "f8" else 160.0
    x = np.concatenate(
        [np.linspace(-limit, limit, 40_001), [np.nan, np.inf, -np.inf, 0.0, -0.0]]
    ).astype(dtype)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    RUN(kernel, (len(x),), [x, out])
    KernelRunner(plain)(kernel, (len(x),), [x, expected])
    if (op, dtype) in ON_AVX512 and "avx512f" in FEATURES:
        np.testing.assert_array_max_ulp(out, expected, maxulp=1)
    else:
        assert same(out, expected)
    if "avx512f" in FEATURES:
        assert "vscalef" in Compiler().assembly(emit(kernel, FEATURES))
