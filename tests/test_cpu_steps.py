"""What lies a few elements apart is read as whole vectors (`lower/steps`, `emit_near`): the same
bits, and nothing beside it is touched.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import replace
from typing import Any

import numpy as host
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.errors import VerifyError
from lazyfuse.ir.kernel import STEPS, Kernel
from lazyfuse.ir.plan import Launch
from lazyfuse.ir.verify import verify_plan
from lazyfuse.ops.body import Body
from lazyfuse.runtime import engine
from tests import corpus, oracle
from tests.kernel_runner import Memory, elementwise, load, same, values

lf = oracle.lf
DTYPES = ("b1", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "c8")
LENGTHS = (1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 127, 129, 200)
ON_CPU = pytest.mark.skipif(oracle.ON_GPU, reason="what the CPU's kernels look like")
pytestmark = pytest.mark.engine


def taken(dtype: str, *shape: int) -> Any:
    """Random values of a shape."""
    return corpus.random_values(dtype, int(host.prod(shape))).reshape(shape)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, -1, -2, -3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(dtype: str, step: int) -> None:
    """Every length around some vectors; beside operands of other widths, which decide how many
    lanes there are."""
    for n in LENGTHS:
        x, y = taken(dtype, 4 * n + 3), taken("f8", n)
        begin = 3 if step > 0 else -1
        oracle.check(lambda np, x, n=n, a=begin: x[a::step][:n] == x[:n], x)
        oracle.check(lambda np, x, y, n=n, a=begin: np.where(x[a::step][:n] != 0, y, 1), x, y)


@pytest.mark.parametrize("dtype", ["b1", "u1", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("colours", [2, 3, 4, 5])
def test_colours_of_a_picture(dtype: str, colours: int) -> None:
    """Planes of pixels, of windows of them, and pixels without one of their colours."""
    last = colours - 1

    def program(np: Any, photo: Any) -> Any:
        planes = np.where(photo[..., 0] != 0, photo[..., last], photo[..., 1])
        windows = np.maximum(photo[1:, 2:, 0], photo[:-1, 2:, last])
        others = np.maximum(photo[..., :last], photo[..., last:])
        return planes, windows, others, np.maximum(photo[::2, ::2, 1], photo[::2, ::2, 0])

    for shape in ((5, 3), (37, 41), (200, 130)):
        oracle.check(program, taken(dtype, *shape, colours))


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
@pytest.mark.parametrize("step", STEPS)
def test_reductions(dtype: str, step: int) -> None:
    """Sums along and across what is picked, in NumPy's order; extremes and where they are."""
    for shape in ((3, 60), (40, 400), (1, 3000)):
        x = taken(dtype, *shape)
        for axis in (None, 0, 1):
            oracle.check(lambda np, x, a=axis: (x[:, 1::step] + 1).sum(axis=a), x, sums=True)
            oracle.check(lambda np, x, a=axis: x[:, 1::step].max(axis=a), x)
            oracle.check(lambda np, x, a=axis: x[:, 1::step].argmin(axis=a), x)
        oracle.check(
            lambda np, x: x[:, ::step] - x[:, ::step].mean(axis=1, keepdims=True), x, sums=True
        )


def test_in_place() -> None:
    """What is written is read first, also where its neighbours are read too."""

    def program(np: Any, x: Any) -> Any:
        x[::3] = np.sqrt(np.abs(x[::3])) + x[1::3]
        x[::2] += x[1::2]
        return x

    for n in (6, 60, 6000):
        oracle.check(program, taken("f8", n))


@ON_CPU
def test_long_bodies_and_tables() -> None:
    """Transcendental functions, and what repeats itself beside what is picked."""
    x, gain = taken("f4", 2003), taken("f4", 3)
    oracle.check(lambda np, x: np.exp(x[::2]) * np.sin(x[::2]), x, ulp=4)
    pixels = taken("f4", 301, 6)
    oracle.check(lambda np, p, g: p[:, ::2] * g, pixels, gain)


@ON_CPU
def test_kernels_are_made_for_steps() -> None:
    """Few steps of what is read, along the lanes."""
    x = lf.asarray(taken("f4", 100, 12))
    for step in (2, 3, 4):
        assert {arg.step for arg in kernel_of(x[:, ::step] + 1).args} == {step, 0}
    for other in (x[:, ::5] + 1, x[:, ::-2] + 1, x[::2] + 1, x + 1, x[:, :6].T + 1):
        assert {arg.step for arg in kernel_of(other).args} == {0}
    assert " step 3" in kernel_of(x[:, ::3] + 1).text
    doubles = lf.asarray(taken("f8", 100, 12))
    assert {arg.step for arg in kernel_of(doubles[:, ::3] + 1).args} == {0}


@ON_CPU
def test_other_steps_are_refused() -> None:
    """The verifier looks at launches."""
    x = lf.asarray(taken("f4", 100, 12))
    pending = x[:, ::3] + 1
    plan = engine.plan_for([pending._storage.current()], "cpu")
    verify_plan(plan)
    (launch,) = (step for step in plan.steps if isinstance(step, Launch))
    args = tuple(arg._replace(step=arg.step and 2) for arg in launch.kernel.args)
    wrong = replace(launch, kernel=replace(launch.kernel, args=args))
    with pytest.raises(VerifyError, match="does not move by 2"):
        verify_plan(replace(plan, steps=tuple(wrong if s is launch else s for s in plan.steps)))


def kernel_of(array: Any) -> Kernel:
    """The only kernel of the plan for a pending array."""
    plan = engine.plan_for([array._storage.current()], "cpu")
    (launch,) = (step for step in plan.steps if isinstance(step, Launch))
    return launch.kernel


@ON_CPU
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8"])
def test_nothing_beside_is_read(dtype: str, step: int) -> None:
    """Pages that must not be touched lie before the first element and behind the last one."""
    body = Body()
    kernel = elementwise(
        body, [("in", dtype, "s"), ("out", dtype, "1")], {1: load(body, dtype, 0)}
    )
    kernel = replace(kernel, args=(kernel.args[0]._replace(step=step), kernel.args[1]))
    executable = CpuBackend().compile(kernel, "test")
    memory = Guarded()
    for n in (*LENGTHS, 256):
        count = (n - 1) * step + 1
        for x in (memory.first(dtype, count), memory.last(dtype, count)):
            x[:] = values(dtype, count)
            out = host.zeros(n, dtype)
            launch = executable.bind((n,), ((step,), (1,)), (0, 0))
            launch([Memory(x), Memory(out)], [], threads=1)
            assert same(out, x[::step])


class Guarded:
    """Some pages between two that may not be read."""

    def __init__(self, pages: int = 3) -> None:
        size = mmap.PAGESIZE
        self.map = mmap.mmap(-1, (pages + 2) * size)
        whole = host.frombuffer(self.map, host.uint8)
        self.bytes = whole[size : (pages + 1) * size]
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (0, pages + 1):
            address = ctypes.c_void_p(whole.ctypes.data + page * size)
            assert libc.mprotect(address, ctypes.c_size_t(size), 0) == 0

    def first(self, dtype: str, count: int) -> Any:
        return self.bytes[: count * host.dtype(dtype).itemsize].view(dtype)

    def last(self, dtype: str, count: int) -> Any:
        return self.bytes[-count * host.dtype(dtype).itemsize :].view(dtype)
