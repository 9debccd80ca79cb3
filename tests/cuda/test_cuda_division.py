"""Positions are divided by multiplying: the numbers, and the text on the shim and in PTX."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case
from cuda_check import failures, import_build, needs_host, needs_ptx
from cuda_kernels import fold_case, positive

import lazyfuse as lf
from lazyfuse.backends.cuda.division import BITS, as_signed, magic
from lazyfuse.backends.cuda.launch import Layout, bind
from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.program import ParameterKind
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend, compiler
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.backends.cuda_ptx.launch import PtxModule
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ir.node import Source
from lazyfuse.ir.plan import Launch
from lazyfuse.lower.canonical import Binding, Lowered
from lazyfuse.lower.narrow import narrow
from lazyfuse.runtime import engine

WIDE = {"i4": "unsigned int", "i8": "unsigned long long"}
DTYPES = {"i4": np.uint32, "i8": np.uint64}


def divisors(index: str) -> list[int]:
    """Small extents, powers of two and their neighbours, the largest, and some between."""
    bits = BITS[index] - 1
    powers = [(1 << k) + delta for k in range(bits) for delta in (-1, 0, 1)]
    chosen = random.Random(index)
    between = [chosen.randrange(1, 1 << chosen.randrange(1, bits + 1)) for _ in range(200)]
    last = (1 << bits) - 1
    return sorted({d for d in [*range(1, 70), *powers, *between, last] if 0 < d <= last})


def dividends(divisor: int, index: str) -> Iterator[int]:
    """Where a quotient steps, up to the largest position of the index type."""
    last = (1 << BITS[index] - 1) - 1
    for near in (0, divisor, 2 * divisor, last // divisor * divisor, last // 2, last):
        yield from (n for n in range(near - 2, near + 2) if 0 <= n <= last)


PAIRS = {index: [(n, d) for d in divisors(index) for n in dividends(d, index)] for index in BITS}


@pytest.mark.parametrize("index", BITS)
def test_numbers(index: str) -> None:
    """Exact for every edge, and within the bits of the index type."""
    bits = BITS[index]
    for n, d in PAIRS[index]:
        multiplier, shift = magic(d, index)
        assert 0 <= multiplier < 1 << bits and 0 <= shift < bits, d
        assert 2 * n < 1 << bits
        assert (2 * n * multiplier >> bits) >> shift == n // d, (n, d)
    assert magic(0, index) == (0, 0)


def kernel_text(index: str) -> str:
    """A kernel that divides n by what m and h stand for."""
    wide = WIDE[index]
    return with_prelude(
        f'extern "C" __global__ void lf_quotients(const {wide}* n, const {wide}* m,\n'
        f"    const long long* h, {wide}* q, long long count) {{\n"
        "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
        "  if (i < count) q[i] = lf_divide(n[i], m[i], (int)h[i]);\n"
        "}\n"
    )


def arguments(index: str) -> list[np.ndarray]:
    pairs, kind = PAIRS[index], DTYPES[index]
    numbers = [magic(d, index) for _, d in pairs]
    return [
        np.array([n for n, _ in pairs], kind),
        np.array([number.multiplier for number in numbers], kind),
        np.array([number.shift for number in numbers], np.int64),
        np.zeros(len(pairs), kind),
    ]


@needs_host
@pytest.mark.parametrize("index", BITS)
def test_text_on_the_shim(index: str) -> None:
    """`lf_divide` as g++ compiles it."""
    backend, text, given = CudaHostBackend(), kernel_text(index), arguments(index)
    library = compiler.build_library(text, ["lf_quotients"], backend.directory, backend.level)
    loaded = compiler.load_library(library, backend.directory)
    launch = backend.runtime.functions(loaded, ["lf_quotients"], text)["lf_quotients"]
    launch((len(given[0]) // 64 + 1, 1), (64, 1), [*(a.ctypes.data for a in given), len(given[0])])
    assert given[3].tolist() == [n // d for n, d in PAIRS[index]]


@needs_ptx
@pytest.mark.parametrize("index", BITS)
def test_text_in_ptx(index: str) -> None:
    """`lf_divide` as NVRTC compiles it: no division left."""
    ptx = import_build().build_ptx(kernel_text(index), "90")
    assert "div." not in ptx and "rem." not in ptx
    backend, given = CudaPtxBackend(), arguments(index)
    buffers = [backend.from_host(array) for array in given]
    launch = backend.runtime.functions(PtxModule(ptx), ["lf_quotients"])["lf_quotients"]
    addresses = [buffer.pointer for buffer in buffers]
    launch((len(given[0]) // 64 + 1, 1), (64, 1), [*addresses, len(given[0])])
    found = backend.to_host(buffers[3]).view(DTYPES[index])
    assert found.tolist() == [n // d for n, d in PAIRS[index]]


def cases() -> Iterator[Case]:
    """Kernels whose axes cannot be merged, with extents at the edges."""
    for index in BITS:
        for shape in ((2, 1, 3), (3, 4, 5), (5, 1, 1), (2, 63, 4), (3, 65, 2), (1, 257, 3)):
            x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
            mixed = x.transpose(1, 2, 0)
            yield elementwise_case(
                f"edges_{index}", [mixed, mixed[:1]], lambda b, p, q: p + q, [mixed + mixed[:1]],
                generic=True, index=index,
            )  # fmt: skip
        x = positive(3, 5, 7, 9).transpose(1, 3, 0, 2)
        for lanes in Lanes:
            yield fold_case(
                f"fold_{index}", x, "maximum", x.max((2, 3)), 2, lanes=lanes, index=index
            )


@needs_host
def test_kernels_on_the_shim() -> None:
    assert failures(CudaHostBackend(), list(cases())) == []


@needs_ptx
def test_kernels_in_ptx() -> None:
    assert failures(CudaPtxBackend(), list(cases())) == []


@pytest.mark.parametrize("index", BITS)
def test_launches_pass_the_numbers(index: str) -> None:
    """For extents at the limits, as 64-bit integers."""
    case = next(case for case in cases() if case.name == f"edges_{index}")
    last = (1 << BITS[index] - 1) - 1
    extents = (3, last, (last >> 1) + 2)
    strides: Any = tuple((0,) * 3 for _ in case.kernel.args)
    program = render_own(case.kernel, "lf_edges")
    layout = Layout(extents, strides, (0,) * len(strides))
    launch = bind(program, CudaHostBackend().runtime, {}, layout)
    for axis in (1, 2):
        multiplier, shift = magic(extents[axis], index)
        passed = launch.template[launch.at[ParameterKind.MULTIPLIER, axis]]
        assert passed == as_signed(multiplier) and passed % (1 << 64) == multiplier
        assert -(1 << 63) <= int(passed) < 1 << 63
        assert launch.template[launch.at[ParameterKind.SHIFT, axis]] == shift


# ---- 32 or 64 bits


def index_of(act: Any, *arrays: Any) -> set[str]:
    """The index types of the kernels that a program runs."""
    found = act(*(lf.asarray(array, device="cuda-host") for array in arrays))
    plan = engine.plan_for([found._storage.node], "cuda-host")
    return {step.kernel.index for step in plan.steps if isinstance(step, Launch)}


@needs_host
def test_positions_take_32_bits_where_they_fit() -> None:
    """Elementwise kernels, reductions and gathers; on the CPU they take 64 always."""
    x = np.arange(24.0).reshape(4, 6)
    assert index_of(lambda x: x.T[::-1] * 2 + x[:1].T, x) == {"i4"}
    assert index_of(lambda x: (x - x.mean(1, keepdims=True)).sum(0), x) == {"i4"}
    assert index_of(lambda x: x[[3, 1]] + 1, x) == {"i4"}
    on_cpu = lf.asarray(x, device="cpu")[::2] + 1
    plan = engine.plan_for([on_cpu._storage.node], "cpu")
    assert {step.kernel.index for step in plan.steps if isinstance(step, Launch)} == {"i8"}


@pytest.mark.parametrize("index, extents, strides", [
    ("i4", (1 << 15, (1 << 16) - 1), ((1 << 16) - 1, 1)),
    ("i8", (1 << 15, 1 << 16), (1 << 16, 1)),
    ("i8", (1 << 15, 1 << 16), (0, 1)),
    ("i4", (2, 3), ((1 << 31) - 3, 1)),
    ("i8", (2, 3), ((1 << 31) - 2, 1)),
    ("i8", (2, 3), (1 - (1 << 31), 1)),
    ("i4", (0, 1 << 40), (1, 0)),
])  # fmt: skip
def test_limits_of_32_bits(index: str, extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Positions and offsets stay below 2**31; an axis that does not move needs room to be
    counted.
    """
    x = np.ones((2, 3))
    case = elementwise_case("x", [x], lambda b, p: p + p, [x + x], generic=True)
    node = Source((6,), "f8", (1,), None)
    bindings = tuple(Binding(node, strides, 0) for _ in case.kernel.args)
    lowered = Lowered(case.kernel, extents, bindings, (), (node,))
    assert narrow(lowered).kernel.index == index
    if index == "i8":
        assert narrow(lowered) is lowered
