"""Small integers that are picked from, and put among, the bytes of vectors (`byte_picks.py`): the
same bits as NumPy's, whatever they are widened to or cut from, and nothing beside them is touched.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as host
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.byte_picks import VECTOR, ZERO, pick
from lazyfuse.backends.cpu.vector import VectorWriter
from lazyfuse.ir.plan import Launch
from lazyfuse.runtime import engine
from tests import corpus, oracle
from tests.kernel_runner import Memory
from tests.test_cpu_steps import ON_CPU, Guarded

lf = oracle.lf
#: Rows around some vectors, of 16 to 64 lanes.
LENGTHS = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257)
WIDER = ("i2", "u4", "i4", "i8", "f4", "f8")
pytestmark = pytest.mark.engine


def rows(dtype: str, n: int, channels: int) -> Any:
    return corpus.random_values(dtype, n * channels).reshape(n, channels)


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("wider", WIDER)
def test_widened(dtype: str, wider: str, channels: int) -> None:
    """One channel of many, and rows reduced, in a wider dtype."""

    def program(np: Any, x: Any) -> Any:
        first, last = x[:, 0].astype(wider), x[:, -1].astype(wider)
        return first + last, x[:, -1] | x[:, 0], (x.astype(wider) * 2).max(axis=1)

    for n in LENGTHS:
        oracle.check(program, rows(dtype, n, channels))


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("wider", WIDER)
def test_widened_with_a_sign(dtype: str, wider: str) -> None:
    """Picked as unsigned, and read as signed before it is widened."""

    def program(np: Any, x: Any) -> Any:
        signed = x[:, 0].astype(f"i{dtype[1:]}")
        return signed.astype(wider) + x[:, 1].astype(f"i{dtype[1:]}").astype(wider), x[:, 2] + 1

    for n in LENGTHS:
        oracle.check(program, rows(dtype, n, 3))


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["b1", "i1", "u1", "i2", "u2", "f2"])
def test_rows_are_written(dtype: str, channels: int) -> None:
    """In the same dtype, and cut from wider ones; beside rows of another dtype."""
    kind = host.dtype(dtype).type

    def program(np: Any, x: Any) -> Any:
        turned = x[:, ::-1]
        sums = x.astype(np.int32) * 3 + turned.astype(np.int32)[:, :1]
        return turned == x, np.where(turned != x[:, :1], turned, kind(1)), sums.astype(dtype)

    for n in LENGTHS:
        with host.errstate(all="ignore"):
            oracle.check(program, rows(dtype, n, channels))


def test_pictures() -> None:
    """What programs do with pictures: blend, premultiply, difference of channels, grey."""

    def blend(np: Any, over: Any, under: Any) -> Any:
        over, under = over.astype(np.uint16), under.astype(np.uint16)
        alpha = over[:, :, 3:]
        mixed = over[:, :, :3] * alpha + under[:, :, :3] * (255 - alpha)
        return ((mixed + 127) // 255).astype(np.uint8)

    def others(np: Any, x: Any, y: Any) -> Any:
        alpha = x[:, :, 3:].astype(np.float32) * np.float32(1 / 255)
        premultiplied = (x[:, :, :3].astype(np.float32) * alpha).astype(np.uint8)
        signed = x.astype(np.int16)
        difference = np.abs(signed - signed[:, :, 1:2]).astype(np.uint8)
        weights = np.uint16(77), np.uint16(150), np.uint16(29)
        grey = (x[:, :, 0] * weights[0] + y[:, :, 1] * weights[1] + y[:, :, 2] * weights[2]) >> 8
        window = x[1:-1, 1:-1, :3] // np.uint8(7)
        return (
            premultiplied,
            difference,
            grey.astype(np.uint8),
            window,
            y[:, :, 2::-1] + np.uint8(1),
        )

    for shape in ((3, 5), (1, 64), (37, 41), (200, 130)):
        over, under = (rows("u1", shape[0] * shape[1], 4).reshape(*shape, 4) for _ in range(2))
        oracle.check(blend, over, under)
        oracle.check(others, over, under)


@pytest.mark.parametrize("step", [2, 4])
def test_what_lies_right_already(step: int) -> None:
    """Every other byte, widened, is where it has to be."""

    def program(np: Any, x: Any) -> Any:
        even = x[::step].astype(np.uint16) + x[1::step]
        return even, x[::step].astype(np.float32) * np.float32(0.5)

    for n in LENGTHS:
        oracle.check(program, corpus.random_values("u1", step * n))


@ON_CPU
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect")
@pytest.mark.parametrize("dtype", ["u1", "i2", "f2"])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_nothing_beside_rows_is_touched(dtype: str, channels: int) -> None:
    """Pages that must not be touched lie before the first row and behind the last one, of what is
    read and of what is written."""
    source = lf.asarray(rows(dtype, 64, channels))
    plan = engine.plan_for([(source * source[:, :1] + source[:, ::-1])._storage.current()], "cpu")
    (launch,) = (step for step in plan.steps if isinstance(step, Launch))
    executable = CpuBackend().compile(launch.kernel, "test")
    strides = tuple(operand.strides for operand in launch.operands)
    offsets = tuple(operand.offset for operand in launch.operands)
    given, made = Guarded(), Guarded()
    for n in LENGTHS:
        for at in ("first", "last"):
            x = getattr(given, at)(dtype, n * channels).reshape(n, channels)
            out = getattr(made, at)(dtype, n * channels).reshape(n, channels)
            x[:], out[:] = rows(dtype, n, channels), 0
            memory = [
                Memory(out) if kernel_writes(launch, k) else Memory(x) for k in range(len(strides))
            ]
            executable.bind((n, channels), strides, offsets)(memory, [], threads=1)
            with host.errstate(all="ignore"):
                host.testing.assert_array_equal(out, x * x[:, :1] + x[:, ::-1])


def kernel_writes(launch: Launch, number: int) -> bool:
    return number in launch.kernel.outputs


def test_order_of_bytes() -> None:
    """What lies right is not moved, and what no byte is taken from not looked at."""
    writer = VectorWriter(16, features=frozenset({"avx512vbmi"}))
    pick(writer, ("%a", "%b"), [0, ZERO, 2, ZERO])
    assert not any("permvar" in line for line in writer.lines)
    assert not any("%b" in line for line in writer.lines)
    pick(writer, ("%a", "%b"), [VECTOR + 1, 2])
    assert sum("permvar" in line for line in writer.lines) == 2
