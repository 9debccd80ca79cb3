"""What the CPU backend leaves to one instruction of the processor (`instructions`): NumPy's bits
and conditions, with the instruction and, on processors that lack it, without.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend, CpuExecutable
from lazyfuse.backends.cpu.emit import emit
from lazyfuse.backends.cpu.emit_params import lane_count
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ops.body import Body, Value, truncate
from lazyfuse.ops.composite import astype
from lazyfuse.ops.extremes import clip
from lazyfuse.ops.float_flags import INVALID
from lazyfuse.ops.reciprocal import floor_divide_by_number
from tests.kernel_runner import Memory, elementwise, load, same
from tests.oracle import check
from tests.test_error_modes import check_warnings

BACKEND = CpuBackend()
FEATURES = BACKEND.compiler.features
IS_X86 = platform.machine() in ("x86_64", "AMD64")
#: Elsewhere what NumPy makes of negative floats as unsigned integers depends on their number.
LEAST = -3.0 if IS_X86 else 0.0
on_x86 = pytest.mark.skipif(not IS_X86, reason="x86-64")
#: Features that a processor lacks, by the processors that do.
LACKING = {"host": (), "haswell": ("avx512",), "x86-64": ("avx", "fma", "f16c", "sse4")}
LENGTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100)


@cache
def backend(cpu: str) -> CpuBackend:
    """A backend for this processor, or for an older one of its kind."""
    if cpu == "host":
        return BACKEND
    flags = BACKEND.compiler.flags.split(",")
    older = [f"-{f[1:]}" if f[1:].startswith(LACKING[cpu]) else f for f in flags]
    return CpuBackend(cpu=cpu, features=",".join(older))


@cache
def compiled(backend: CpuBackend, kernel: Kernel) -> CpuExecutable:
    """The kernel for a backend, once for all arrays."""
    return backend.compile(kernel, "test")


def run(backend: CpuBackend, kernel: Kernel, *arrays: np.ndarray) -> int:
    """Run over the arrays; the conditions met."""
    executable = compiled(backend, kernel)
    launch = executable.bind((len(arrays[0]),), ((1,),) * len(arrays), (0,) * len(arrays))
    return launch([Memory(array) for array in arrays], [], threads=1)


def unary(make: Callable[[Value], Value], dtype: str, *, beside: str) -> Kernel:
    """A function of one argument; another, of dtype `beside`, decides the number of lanes."""
    body = Body()
    result, copied = make(load(body, dtype, 0)), load(body, beside, 1)
    roles = [("in", dtype), ("in", beside), ("out", result.dtype), ("out", beside)]
    args = [(role, kind, "1") for role, kind in roles]
    return elementwise(body, args, {2: result, 3: copied})


def around(dtype: str, target: str) -> np.ndarray:
    """Small numbers with fractions, and all around the ends of an integer's range."""
    ends = np.array([-1.0, 1.0], dtype) * np.array(2.0 ** (8 * int(target[1:]) - 1), dtype)
    ends = np.concatenate([ends + shift for shift in (0.0, 1.0, -1.0, 0.5, -0.5)])
    near = [np.nextafter(ends, np.array(end, dtype)) for end in (np.inf, -np.inf)]
    small = [0.0, -0.0, 0.99, -0.99, 1.5, -2.5, 1e-320, -3e9, 1e300, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(small).astype(dtype), ends, *near]).astype(dtype)


@on_x86
@pytest.mark.parametrize("cpu", LACKING)
@pytest.mark.parametrize("beside", ["u1", "f8"])
@pytest.mark.parametrize("target", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_truncation(dtype: str, target: str, beside: str, cpu: str) -> None:
    """Whatever does not fit gives the smallest and is invalid, by itself and among others."""
    used = backend(cpu)
    kernel = unary(lambda x: truncate(x, target), dtype, beside=beside)
    cases = around(dtype, target)
    smallest = np.iinfo(target).min
    fitting = cases[(np.trunc(cases) >= smallest) & (cases < -float(smallest))]
    for n in LENGTHS:
        for values in (np.resize(cases, n), np.resize(fitting, n)):
            out, other = np.zeros(n, target), np.arange(n).astype(beside)
            met = run(used, kernel, values, other, out, np.zeros_like(other))
            with np.errstate(invalid="ignore"):
                assert same(out, values.astype(target)), n
            assert bool(met & INVALID) is (len(np.setdiff1d(values, fitting)) > 0), n


@pytest.mark.parametrize("cpu", LACKING if IS_X86 else ["host"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes(op: str, dtype: str, cpu: str) -> None:
    """The second operand for NaN and for equal zeros, every length; no condition is met, but on
    processors that have no quiet comparison."""
    body = Body()
    x, y = load(body, dtype, 0), load(body, dtype, 1)
    args = [(role, dtype, "1") for role in ("in", "in", "out")]
    kernel = elementwise(body, args, {2: x.binary(op, y)})
    special = np.array([0.0, -0.0, 1.0, -1.5, 1e-310, np.inf, -np.inf, np.nan, -np.nan])
    pairs = np.stack(np.meshgrid(special, special)).reshape(2, -1).astype(dtype)
    used = backend(cpu)
    for n in (*LENGTHS[:-1], pairs.shape[1]):
        a, b = np.ascontiguousarray(pairs[:, :n])
        out = np.ones(n, dtype)
        assert run(used, kernel, a, b, out) == 0 or cpu == "x86-64" or not IS_X86
        expected = np.where(a > b if op == "max" else a < b, a, b)
        assert out.tobytes() == expected.tobytes(), n


@on_x86
def test_they_are_instructions() -> None:
    """A picture's way from float32 to uint8 has no comparison but the one that looks for NaN."""
    kernel = _clipped("f4", "u1")
    text = BACKEND.compiler.assembly(emit(kernel, FEATURES))
    if "avx512f" in FEATURES:
        assert "vmaxps\t{sae}" in text and "vminps\t{sae}" in text
        assert "vcmpltps" not in text and "vcmplt_oqps" not in text
    assert "cvttps2dq" in text and "lanes.raise" not in text


@on_x86
def test_division_by_a_number_stays_in_16_bits() -> None:
    """A register full of uint16 at a time, one instruction for the upper halves of products; what
    is computed of the number alone, in 32 bits, takes no lanes away."""
    body = Body()
    x, number = load(body, "u2", 0), load(body, "u2", 1)
    args = [("in", "u2", "1"), ("in", "u2", "0"), ("out", "u2", "1")]
    kernel = elementwise(body, args, {2: floor_divide_by_number(x, number)})
    assert lane_count(kernel) == 32
    assert "pmulhuw" in BACKEND.compiler.assembly(emit(kernel, FEATURES))


def _clipped(dtype: str, target: str) -> Kernel:
    body = Body()
    x, low, high = load(body, dtype, 0), body.const(0.0, dtype), body.const(255.0, dtype)
    result = astype(clip(x, low, high), target)
    return elementwise(body, [("in", dtype, "1"), ("out", target, "1")], {1: result})


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2", "i4", "u4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_conversions_that_are_not_chosen_are_heard(dtype: str, target: str) -> None:
    """NumPy converts all elements before it chooses some, and warns."""
    x = np.linspace(LEAST if target[0] == "u" else -3.0, 90.0, 1003, dtype=dtype)
    for value in (np.nan, np.inf, -np.inf):
        odd = x.copy()
        odd[500] = value
        check_warnings(lambda np, a: np.where(a < 1e9, a.astype(target), 7), odd)
        check_warnings(lambda np, a: np.where(a > 1e9, 7, a.astype(target)), odd)
    check_warnings(lambda np, a: np.where(a < 50, a.astype(target), 7), x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_clip_of_special_values(dtype: str) -> None:
    """NaN of any operand, zeros of both signs, bounds in the wrong order: bounds that are numbers
    leave equal zeros as they are."""
    special = np.array([0.0, -0.0, 1.0, -1.5, 1e-310, np.inf, -np.inf, np.nan])
    x, low, high = (a.ravel().astype(dtype) for a in np.meshgrid(special, special, special))
    check(lambda np, a, b, c: np.clip(a, b, c), x, low, high)
    for bounds in ((0.0, 1.0), (-0.0, 0.0), (0.0, -0.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.nan)):
        check(lambda np, a, bounds=bounds: np.clip(a, *bounds), x)
        given = [np.array(bound, dtype) for bound in bounds]
        check(lambda np, a, low, high: np.clip(a, low, high), x, *given)
        check(
            lambda np, a, low, high: np.clip(a, low, high), x, np.full_like(x, bounds[0]), given[1]
        )


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2"])
@pytest.mark.parametrize("colours", [1, 3, 4, 5])
def test_pictures(dtype: str, colours: int) -> None:
    """Every value of a byte, odd lengths, views that are strided, reversed and not aligned."""

    def program(np, photo, gain):  # type: ignore[no-untyped-def]
        light = photo.astype(np.float32) * gain
        toned = light / (1.0 + np.abs(light)) * 127.0 + 0.5
        low = 33 * LEAST if dtype[0] == "u" else -99.0
        return np.clip(toned, 0.0, 255.0).astype(dtype), np.clip(toned, low, 99.0).astype(dtype)

    info = np.iinfo(dtype)
    gain = np.array([0.019, 0.021, -0.022, 1.0, 0.5], np.float32)[:colours]
    values = np.arange(info.min, info.min + 256 * 255 if info.bits == 16 else info.max + 1)
    for rows in (1, 37, len(values) // colours):
        photo = np.resize(values.astype(dtype), (rows, 5, colours))
        check(program, photo, gain)
        check(program, photo[:, 1:4], gain)
        check(program, photo[::-2, ::2, ::-1], gain)
        memory = np.zeros(photo.nbytes + 1, np.uint8)[1:].view(dtype).reshape(photo.shape)
        memory[...] = photo
        check(program, memory, gain)
