"""Kernels written by hand on the CPU backend: the bits of NumPy, the edges, what lies around."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.compiler import Compiler
from lazyfuse.backends.cpu.emit import emit
from lazyfuse.backends.cpu.features import feature_names
from lazyfuse.backends.cpu.jit import Jit
from lazyfuse.ir.kernel import Kernel, Lanes
from lazyfuse.ops.body import Body, Value, cast, imag, make_complex, real, select
from tests.kernel_runner import (
    KernelRunner,
    arguments,
    column_kernel,
    elementwise,
    fold,
    full_sum,
    inner,
    load,
    same,
    spread,
    values,
)

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
DTYPES = ("b1", *INTEGERS, "f2", "f4", "f8", "c8", "c16")
LENGTHS = (*range(71), 1000)


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


def combined(x: Value, y: Value) -> Value:
    """An expression of two values of any dtype; see `combined_numpy`."""
    if x.kind == "b":
        return x ^ y
    if x.dtype == "f2":
        return cast(cast(x, "f4") * cast(y, "f4"), "f2")
    if x.kind == "c":
        return make_complex(real(x) + real(y), imag(x) - imag(y))
    return x * y + x


def combined_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        if x.dtype.kind == "b":
            return x ^ y
        if x.dtype == "f2":
            return x * y
        if x.dtype.kind == "c":
            return (x.real + y.real + 1j * (x.imag - y.imag)).astype(x.dtype)
        return x * y + x


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype: str) -> None:
    """All dtypes, accesses and lengths around a vector; nothing else is written."""
    for access in itertools.product("1s", "0s1", "1s"):
        body = Body()
        result = combined(load(body, dtype, 0), load(body, dtype, 1))
        roles = zip(("in", "in", "out"), access, strict=True)
        kernel = elementwise(body, [(role, dtype, kind) for role, kind in roles], {2: result})
        for n in LENGTHS:
            x = values(dtype, n)
            y = values(dtype, () if access[1] == "0" else n)
            around = np.zeros(3 * n + 40, dtype)
            place = around[10 : 10 + n] if access[2] == "1" else around[10 : 10 + 3 * n : 3]
            expected = around.copy()
            (expected[10 : 10 + n] if access[2] == "1" else expected[10 : 10 + 3 * n : 3])[...] = (
                combined_numpy(x, np.broadcast_to(y, x.shape))
            )
            RUN(kernel, (n,), [spread(x, access[0]), spread(y, access[1]), place])
            assert same(around, expected), (access, n)


def test_several_outputs_in_place() -> None:
    """Outputs of other dtypes beside one that overwrites its input."""
    body = Body()
    x, y = load(body, "f8", 0), load(body, "f8", 1)
    args = [
        ("in", "f8", "1"),
        ("in", "f8", "1"),
        ("out", "f8", "1"),
        ("out", "b1", "1"),
        ("out", "f4", "1"),
    ]
    kernel = elementwise(body, args, {2: x - y, 3: x < y, 4: cast(x * y, "f4")})
    for n, threads in itertools.product((0, 5, 64, 1003, 300_000), (1, 2)):
        x0, y0 = values("f8", n), values("f8", n)
        a, less, product = x0.copy(), np.empty(n, bool), np.empty(n, "f4")
        RUN(kernel, (n,), [a, y0, a, less, product], threads=threads)
        assert same(a, x0 - y0) and same(less, x0 < y0) and same(product, (x0 * y0).astype("f4"))


def test_axes_and_indices() -> None:
    """Three axes with mixed accesses, and the position along each."""
    body = Body()
    x, y, z = (load(body, "i4", number) for number in range(3))
    place = body.emit("index", "i8", attr=0) * 100 + body.emit("index", "i8", attr=1) * 10
    place = place + body.emit("index", "i8", attr=2)
    args = [("in", "i4", "ss1"), ("in", "i4", "0s0"), ("in", "i4", "s0s"), ("out", "i8", "ss1")]
    kernel = elementwise(body, args, {3: cast(x + y * z, "i8") + place})
    for shape in ((2, 3, 5), (3, 1, 17), (1, 7, 1), (4, 0, 3), (70, 2, 9), (2, 300, 301)):
        x0, y0 = values("i4", shape), values("i4", shape[1])
        z0 = values("i4", (shape[0], 2 * shape[2]))[:, ::-2]
        i, j, k = np.indices(shape)
        product = y0[None, :, None] * z0[:, None, : shape[2]]
        expected = (x0 + product).astype("i8") + 100 * i + 10 * j + k
        for threads in (1, 2):
            out = np.zeros(shape, "i8")
            RUN(kernel, shape, [x0, y0, z0, out], threads=threads)
            assert same(out, expected)


def test_scalars_of_all_dtypes() -> None:
    """A scalar argument is converted to its dtype; a point kernel has no axes."""
    for dtype in DTYPES:
        body = Body()
        s = body.emit("scalar", dtype, attr=0)
        point = elementwise(body, [("out", dtype, "")], {0: s}, [dtype])
        line = elementwise(body, [("out", dtype, "1")], {0: s}, [dtype])
        value = values(dtype, ())[()]
        assert same(RUN(point, (), [np.zeros((), dtype)], [value])[0], np.asarray(value))
        assert same(RUN(line, (19,), [np.zeros(19, dtype)], [value])[0], np.full(19, value))


@pytest.mark.parametrize("extra", ([], ["c8", "c16"]))
def test_scalars_beside_each_other(extra: list[str]) -> None:
    """Each gets its own value: integers wrap, what is too large for a float becomes infinite."""
    given = {"u1": 300, "i2": -40_000, "u8": -1, "f2": -1e9, "f4": 1e300, "f8": 0.1, "b1": True}
    wanted = {"u1": 44, "i2": 25_536, "u8": 2**64 - 1, "f2": -np.inf, "f4": np.inf, "f8": 0.1}
    given |= {dtype: 1e300 - 2j for dtype in extra}
    wanted |= {"b1": True, "c8": complex(np.inf, -2), "c16": 1e300 - 2j}
    body = Body()
    stores = {n: body.emit("scalar", dtype, attr=n) for n, dtype in enumerate(given)}
    kernel = elementwise(body, [("out", dtype, "1") for dtype in given], stores, [*given])
    outs = RUN(kernel, (5,), [np.zeros(5, dtype) for dtype in given], [*given.values()])
    for dtype, out in zip(given, outs, strict=True):
        assert same(out, np.full(5, wanted[dtype], dtype)), dtype


def test_division_past_the_end() -> None:
    """Lanes that do not exist divide by something that is not zero."""
    body = Body()
    x, y = load(body, "i4", 0), load(body, "i4", 1)
    args = [("in", "i4", "1"), ("in", "i4", "1"), ("out", "i4", "1")]
    kernel = elementwise(body, args, {2: x / y})
    for n in range(40):
        x0 = np.arange(1, n + 1, dtype="i4") * 7
        memory = np.zeros(n + 32, "i4")
        memory[:n] = 3
        out = np.zeros(n, "i4")
        assert same(RUN(kernel, (n,), [x0, memory[:n], out])[2], x0 // 3)


def softmax_kernel() -> Kernel:
    """Row softmax: maximum, sum of exponentials kept in scratch, quotient."""
    top, total, result = Body(), Body(), Body()
    x = load(top, "f4", 0)
    shifted = load(total, "f4", 0) - total.emit("acc", "f4", attr=0)
    power = shifted.unary("exp")
    quotient = load(result, "f4", 2) / result.emit("acc", "f4", attr=1)
    phases = (
        inner(top, [fold("maximum", x)]),
        inner(total, [fold("add", power)], {2: power}),
        inner(result, [], {1: quotient}),
    )
    args = [("in", "f4", "s1"), ("out", "f4", "s1"), ("scratch", "f4", "01")]
    return Kernel(1, 1, Lanes.INNER, arguments(args), (), phases)


@pytest.mark.parametrize("shape", ((1, 1), (3, 5), (100, 37), (300, 1024), (2, 0)))
def test_softmax(shape: tuple[int, int]) -> None:
    """Three phases and scratch; the bits do not depend on threads."""
    x = values("f4", shape)
    results = [
        RUN(softmax_kernel(), shape, [x, np.zeros(shape, "f4")], threads=threads)[1]
        for threads in (1, 2)
    ]
    assert same(*results)
    if x.size:
        power = np.exp(x - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(results[0], power / power.sum(axis=1, keepdims=True), rtol=1e-6)


def standardize_kernel(
    lanes: Lanes, args: list[tuple[str, str, str]], outer_axes: int = 1
) -> Kernel:
    """(x - mean) / sqrt(mean of squares): two sums, then a phase that stores."""
    first, second, third = Body(), Body(), Body()

    def centred(body: Body) -> Value:
        mean = body.emit("acc", "f8", attr=0) / body.emit("scalar", "f8", attr=0)
        return load(body, "f8", 0) - mean

    shift = centred(second)
    width = third.emit("acc", "f8", attr=1) / third.emit("scalar", "f8", attr=0)
    phases = (
        inner(first, [fold("add", load(first, "f8", 0))]),
        inner(second, [fold("add", shift * shift)]),
        inner(third, [], {1: centred(third) / width.unary("sqrt")}),
    )
    return Kernel(outer_axes, 1, lanes, arguments(args), ("f8",), phases)


def standardized(x: np.ndarray, axis: int) -> np.ndarray:
    n = float(x.shape[axis])
    shift = x - x.sum(axis=axis, keepdims=True) / n
    return shift / np.sqrt((shift * shift).sum(axis=axis, keepdims=True) / n)


@pytest.mark.parametrize("threads", (1, 2))
def test_standardize(threads: int) -> None:
    """Rows, columns (also in place) and everything: equal to NumPy's five passes bit for bit."""
    rows = standardize_kernel(Lanes.INNER, [("in", "f8", "s1"), ("out", "f8", "s1")])
    columns = standardize_kernel(Lanes.OUTER, [("in", "f8", "1s"), ("out", "f8", "1s")])
    whole = standardize_kernel(Lanes.INNER, [("in", "f8", "1"), ("out", "f8", "1")], outer_axes=0)
    for shape in ((2, 3), (37, 41), (5000, 16), (16, 5000), (300, 300)):
        x = values("f8", shape)
        out = RUN(rows, shape, [x, np.zeros(shape)], [float(shape[1])], threads=threads)[1]
        assert same(out, standardized(x, 1))
        out = RUN(
            columns, shape[::-1], [x.T, np.zeros(shape).T], [float(shape[0])], threads=threads
        )[1]
        assert same(out.T, standardized(x, 0))
        y = x.copy()
        RUN(columns, shape[::-1], [y.T, y.T], [float(shape[0])], threads=threads)
        assert same(y, standardized(x, 0))
        flat = x.ravel()
        out = RUN(
            whole, flat.shape, [flat, np.zeros(flat.shape)], [float(flat.size)], threads=threads
        )[1]
        assert same(out, standardized(flat, 0))


def test_column_scratch() -> None:
    """Scratch of a column reduction holds one block of columns."""
    first, second = Body(), Body()
    square = load(first, "f8", 0) * load(first, "f8", 0)
    share = load(second, "f8", 2) / second.emit("acc", "f8", attr=0)
    args = arguments([("in", "f8", "1s"), ("out", "f8", "1s"), ("scratch", "f8", "11")])
    phases = (inner(first, [fold("add", square)], {2: square}), inner(second, [], {1: share}))
    kernel = Kernel(1, 1, Lanes.OUTER, args, (), phases)
    for shape in ((3, 5), (50, 300), (20_000, 20), (7, 40_000)):
        x = values("f8", shape)
        for threads in (1, 2):
            out = np.zeros(shape)
            RUN(kernel, shape[::-1], [x.T, out.T], threads=threads)
            assert same(out, x * x / (x * x).sum(axis=0))


def test_libm_lanes() -> None:
    """A function with a branch for rare lanes works in loops and tails."""
    body = Body()
    x = load(body, "f8", 0)
    args = [("in", "f8", "1"), ("in", "f8", "1"), ("out", "f8", "1")]
    kernel = elementwise(body, args, {2: x.binary("fmod", load(body, "f8", 1))})
    for n in (1, 7, 8, 30):
        x0, y0 = values("f8", n) * 100, values("f8", n)
        assert same(RUN(kernel, (n,), [x0, y0, np.zeros(n)])[2], np.fmod(x0, y0))


@pytest.mark.parametrize("name", ("exp", "log", "sin", "tanh", "pow", "hypot"))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_vector_math_is_the_same_in_every_lane(name: str, dtype: str) -> None:
    """Full vectors, masked tails and single elements give the same bits."""
    results = []
    for access in "1s":
        body = Body()
        x, y = load(body, dtype, 0), load(body, dtype, 1)
        value = x.binary(name, y) if name in ("pow", "hypot") else x.unary(name)
        args = [("in", dtype, access), ("in", dtype, access), ("out", dtype, "1")]
        results.append(elementwise(body, args, {2: value}))
    a, b = np.abs(values(dtype, 90)) * 9, values(dtype, 90) * 3
    whole = RUN(results[0], (90,), [a, b, np.zeros(90, dtype)])[2]
    for n in range(1, 40):
        start = n % 50
        x, y = a[start : start + n], b[start : start + n]
        for kernel, access in zip(results, "1s", strict=True):
            (_, _, out) = RUN(
                kernel, (n,), [spread(x, access), spread(y, access), np.zeros(n, dtype)]
            )
            assert same(out, whole[start : start + n])


@pytest.mark.parametrize("cpu", ("x86-64", "x86-64-v3"))
def test_other_processors(cpu: str) -> None:
    """Code for a CPU without AVX-512, and without AVX, gives the same bits."""
    if not BACKEND.compiler.triple.startswith("x86_64"):
        pytest.skip("needs an x86-64 host")
    run = KernelRunner(CpuBackend(cpu=cpu, features="+fma" if cpu.endswith("v3") else ""))
    x = values("f8", (300, 77))
    columns = standardize_kernel(Lanes.OUTER, [("in", "f8", "1s"), ("out", "f8", "1s")])
    out = run(columns, x.shape[::-1], [x.T, np.zeros_like(x).T], [300.0], threads=2)[1]
    assert same(out.T, standardized(x, 0))
    for dtype in ("f4", "c16", "i8"):
        y = values(dtype, 10_007)
        assert same(run(full_sum(dtype, "s"), (10_007,), [y, np.zeros((), dtype)])[1], y.sum())
    for dtype in ("b1", "u1", "i4", "c8"):
        body = Body()
        result = combined(load(body, dtype, 0), load(body, dtype, 1))
        args = [("in", dtype, "1"), ("in", dtype, "s"), ("out", dtype, "1")]
        kernel = elementwise(body, args, {2: result})
        for n in range(40):
            a, b = values(dtype, n), values(dtype, n)
            assert same(run(kernel, (n,), [a, b, np.zeros(n, dtype)])[2], combined_numpy(a, b))


def test_other_architecture() -> None:
    """The text compiles for 64-bit ARM where this LLVM has it."""
    try:
        compiler = Compiler(cpu="generic", features="", triple="aarch64-unknown-linux-gnu")
    except RuntimeError as error:
        pytest.skip(str(error))
    for kernel in (softmax_kernel(), full_sum("c8", "s"), column_kernel("f4", "maximum")):
        assert compiler.compile(emit(kernel, compiler.features))
    assert "neon" in feature_names("", "generic", "aarch64-unknown-linux-gnu")


def test_load_from_binary() -> None:
    """An executable made from object code gives the same results and the same source."""
    kernel = softmax_kernel()
    compiled = BACKEND.compile(kernel, "softmax")
    loaded = BACKEND.load(kernel, "softmax", compiled.binary)
    assert loaded.source == compiled.source
    programs = [each._program for each in (loaded, compiled)]
    assert programs[0].lanes == programs[1].lanes
    assert programs[0].ns_per_point == programs[1].ns_per_point > 0
    x = BACKEND.from_host(values("f4", (6, 50)))
    outs = [BACKEND.allocate(x.nbytes) for _ in range(2)]
    for executable, out in zip((compiled, loaded), outs, strict=True):
        executable.bind((6, 50), ((50, 1), (50, 1)), (0, 0))([x, out], [], threads=1)
    assert same(*(BACKEND.to_host(out) for out in outs))


def test_offsets() -> None:
    """An offset in elements moves an argument."""
    body = Body()
    kernel = elementwise(body, [("in", "i2", "1"), ("out", "i2", "1")], {1: load(body, "i2", 0)})
    source, target = BACKEND.from_host(np.arange(20, dtype="i2")), BACKEND.allocate(40)
    BACKEND.to_host(target)[...] = 0
    launch = BACKEND.compile(kernel, "copy").bind((5,), ((1,), (1,)), (10, 2))
    launch([source, target], [], threads=1)
    assert BACKEND.to_host(target).view("i2").tolist() == [0, 0, 10, 11, 12, 13, 14] + [0] * 13


def test_unsupported_is_typed() -> None:
    """What cannot be spelled says so."""
    body = Body()
    kernel = column_kernel("c8", "maximum")
    with pytest.raises(Unsupported, match="maximum on c8"):
        BACKEND.compile(kernel, "none")
    assert BACKEND.supports("add", "f8") and not BACKEND.supports("add", "c8")
    assert not BACKEND.supports("no such", "f8") and body.instrs == []


def test_select_and_hoisting() -> None:
    """What depends on no lane is computed before the loop, with the same result."""
    body = Body()
    x, row = load(body, "f8", 0), load(body, "f8", 1)
    s = body.emit("scalar", "f8", attr=0)
    limit = (row * s).unary("sqrt")
    args = [("in", "f8", "s1"), ("in", "f8", "s0"), ("out", "f8", "s1")]
    kernel = elementwise(body, args, {2: select(x < limit, x, limit)}, ["f8"])
    x0, row0 = values("f8", (9, 21)), np.abs(values("f8", 9))
    (_, _, out) = RUN(kernel, (9, 21), [x0, row0, np.zeros((9, 21))], [2.0])
    assert same(out, np.minimum(x0, np.sqrt(row0 * 2.0)[:, None]))
    assert (
        emit(kernel, frozenset()).count("@llvm.sqrt.v8f64(") == 2
    )  # its declaration and one call


def test_target_machines_are_kept() -> None:
    """Who compiles has a machine that nobody else has meanwhile, and made none where one is
    idle."""
    compiler = BACKEND.compiler
    jit = Jit(compiler.triple, compiler.cpu, compiler.flags, 2)
    with jit._machine(2) as one, jit._machine(2) as other:
        assert one is not other
    with jit._machine(2) as again:
        assert again is one or again is other


def test_only_arithmetic_is_kept_apart_from_selects() -> None:
    """Memory, scalars and what another select has given were, too: a third of Mandelbrot's body.
    A select under the same condition, or its opposite, still is."""

    def fences(write: Callable[[Value, Value, Value], Value]) -> int:
        body = Body()
        x, number = load(body, "f8", 0), body.emit("scalar", "f8", attr=0)
        chosen = write(x > 0.0, x, number)
        kernel = elementwise(body, [("in", "f8", "1"), ("out", "f8", "1")], {1: chosen}, ["f8"])
        text = emit(kernel, BACKEND.compiler.features, brief=True)  # with one copy of the body
        return text.partition("@lf_kernel")[2].count("@llvm.arithmetic.fence")

    def where(condition: Value, x: Value, y: Value) -> Value:
        return select(condition, x, y, heard=True)

    assert fences(lambda c, x, n: where(c, x, n)) == 0
    assert fences(lambda c, x, n: where(c, x * x, x + n)) == 2
    assert fences(lambda c, x, n: where(x.eq(0.0), where(c, x * x, n), x)) == 1
    assert fences(lambda c, x, n: where(c, x, where(c, n, x * x))) == 2
    assert fences(lambda c, x, n: where(c, x, where(~c, n, x * x))) == 2
    assert fences(lambda c, x, n: where(~c, x, where(c, n, x * x))) == 2
