"""Arguments that lie a few elements apart are loaded once (`lower/neighbours`, `emit_neighbours`):
the same bits, wherever they lie, and nothing beside them is touched."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as host
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.emit import emit
from lazyfuse.backends.cpu.features import stream_bytes
from lazyfuse.ir.kernel import NEAR, Kernel
from lazyfuse.ops.body import Body, Value
from lazyfuse.runtime import session
from tests import corpus, oracle
from tests.kernel_runner import Memory, elementwise, load, same, values
from tests.test_cpu_steps import ON_CPU, Guarded, kernel_of

lf = oracle.lf
DTYPES = ("u1", "i4", "u8", "f2", "f4", "f8", "c8")
#: Around one, two and three vectors of 8, 16 and 32 lanes.
LENGTHS = (1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 48, 49, 64, 65, 97, 300)
pytestmark = pytest.mark.engine


def taken(dtype: str, *shape: int) -> Any:
    """Random values of a shape."""
    return corpus.random_values(dtype, int(host.prod(shape))).reshape(shape)


def stencil(np: Any, u: Any) -> Any:
    """Nine points in three rows, of which the middle one is read twice."""
    rows = [u[k : u.shape[0] - 2 + k] for k in range(3)]
    n = u.shape[1] - 2
    around = [row[:, k : n + k] for row in rows for k in range(3)]
    total = around[0]
    for each in around[1:]:
        total = np.maximum(total, each) + around[4]
    return total


@pytest.mark.parametrize("dtype", DTYPES)
def test_stencils(dtype: str) -> None:
    for n in LENGTHS:
        oracle.check(stencil, taken(dtype, 5, n + 2))


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8"])
def test_rows_of_every_alignment(dtype: str) -> None:
    """Pitches that are no whole lines, and rows that begin with a part of a vector."""
    for pitch in (130, 133, 259, 260, 264):
        table = taken(dtype, 9, pitch)
        for begin in range(3):
            oracle.check(lambda np, u, b=begin: stencil(np, u[:, b:-1]), table)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_distances(dtype: str) -> None:
    """Near ones and others, of one array and of several, in every order."""

    def program(np: Any, x: Any, y: Any, lags: tuple[int, ...]) -> Any:
        n = x.size - max(lags)
        total = y[:n] * 0.5
        for lag in lags:
            total = total * x[lag : n + lag] - y[lag : n + lag]
        return total

    x, y = taken(dtype, 333), taken(dtype, 333)
    for lags in ((0, 1), (2, 0), (4, 0), (5, 0), (9, 4, 5, 3), (0, 1, 2, 3, 4, 5, 6, 20, 21)):
        oracle.check(lambda np, x, y, k=lags: program(np, x, y, k), x, y)


def test_writes() -> None:
    """In place, time steps, and a row that is written where its neighbours are read."""

    def program(np: Any, u: Any) -> Any:
        for _ in range(3):
            u[1:-1, 1:-1] += 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] - 2.0 * u[1:-1, 1:-1])
            u[0, 1:] = u[0, :-1] + u[0, 1:]
            u[2, :-1] -= u[2, 1:]
        return u

    for shape in ((5, 12), (9, 100), (40, 203)):
        oracle.check(program, taken("f8", *shape))


def test_large_results() -> None:
    """Which are stored past the caches, so that they begin with other loops."""
    n = stream_bytes() // 8 // 3
    oracle.check(lambda np, x: x[2:] - x[:-2] * x[1:-1], host.arange(float(n)))


@pytest.fixture
def loads_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever processor this is."""
    monkeypatch.setattr(session.backend("cpu"), "loads_together", True)


@ON_CPU
def test_kernels_of_others_know_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be kernels of their own for nothing."""
    backend = CpuBackend()
    assert backend.loads_together is ("avx512f" in backend.compiler.features)
    monkeypatch.setattr(session.backend("cpu"), "loads_together", False)
    x = lf.asarray(taken("f8", 21, 201))
    assert nears(x[:, 1:-1] * x[:, 2:] + x[:, :-2]) == set()


@ON_CPU
@pytest.mark.usefixtures("loads_together")
def test_kernels_that_tell_of_it() -> None:
    """What is read with others of one memory, along the lanes, and no reductions."""
    x = lf.asarray(taken("f8", 20, 200))
    assert nears(x[:, 1:-1] * x[:, 2:] + x[:, :-2]) == {1, 2}
    assert nears(x[:, NEAR:] - x[:, :-NEAR]) == {NEAR}
    assert nears(x.T[2:] - x.T[:-2]) == {2}
    single = lf.asarray(taken("u1", 200))
    for other in (
        x[:, NEAR + 1 :] - x[:, : -NEAR - 1], x[1:] - x[:-1],
        (x[:, 1:] - x[:, :-1]).sum(axis=1), single[1:] - single[:-1], x + 1,
    ):  # fmt: skip
        assert nears(other) == set()


def nears(array: Any) -> set[int]:
    """How far arguments of the only kernel are from those that they are near."""
    return {arg.near[1] for arg in kernel_of(array).args if arg.near}


def made(dtype: str, rows: bool = False) -> Kernel:
    """a - b * c, of which b is one element after a, and c three."""
    body = Body()
    a, b, c = (load(body, dtype, number) for number in range(3))
    product = body.emit("mul", dtype, b, c)
    result: Value = body.emit("sub", dtype, a, product)
    access = "s1" if rows else "1"
    arguments = [*[("in", dtype, access)] * 3, ("out", dtype, access)]
    kernel = elementwise(body, arguments, {3: result})
    first, *others = kernel.args
    near = [arg._replace(near=pair) for arg, pair in zip(others, ((0, 1), (0, 3)), strict=False)]
    return replace(kernel, args=(first, *near, others[-1]))


@ON_CPU
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_arguments_that_lie_elsewhere(dtype: str) -> None:
    """The kernel asks, of addresses and of rows."""
    kernel, backend = made(dtype, rows=True), CpuBackend()
    executable = backend.compile(kernel, "test")
    table, shape = values(dtype, (2, 7, 90)), (7, 70)
    whole = {(0, 1, 3): (90, 90, 90)}
    others = {(0, 2, 3): (90, 90, 90), (0, 1, 4): (90, 90, 90), (1, 0, 2): (90, 90, 90)}
    for places, pitches in {**whole, **others, (0, 1, 3.0): (90, 80, 90)}.items():
        out = host.zeros(shape, dtype)
        offsets = tuple(int(place) for place in places)
        strides = tuple((pitch, 1) for pitch in pitches)
        launch = executable.bind(shape, (*strides, (70, 1)), (*offsets, 0))
        launch([Memory(table)] * 3 + [Memory(out)], [], threads=1)
        a, b, c = (
            host.lib.stride_tricks.as_strided(
                table.ravel()[offset:], shape, (pitch * table.itemsize, table.itemsize)
            )
            for offset, pitch in zip(offsets, pitches, strict=True)
        )
        assert same(out, a - b * c)


@ON_CPU
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nothing_beside_is_read(dtype: str) -> None:
    """Pages that must not be touched lie before the first element and behind the last one."""
    executable, memory = CpuBackend().compile(made(dtype), "test"), Guarded()
    for n in LENGTHS:
        for x in (memory.first(dtype, n + 3), memory.last(dtype, n + 3)):
            x[:] = values(dtype, n + 3)
            out = host.zeros(n, dtype)
            launch = executable.bind((n,), ((1,),) * 4, (0, 1, 3, 0))
            launch([Memory(x)] * 3 + [Memory(out)], [], threads=1)
            assert same(out, x[:n] - x[1 : n + 1] * x[3 : n + 3])


@ON_CPU
@pytest.mark.skipif("avx512f" not in CpuBackend().compiler.features, reason="shorter registers")
def test_loads() -> None:
    """One load of the array for each vector of the result, instead of three."""
    compiler = CpuBackend().compiler
    written = compiler.assembly(emit(made("f8"), compiler.features))
    parts = [part.splitlines() for part in written.split("\n.LBB")]
    loop = next(part for part in parts if any("vpermt2pd" in line for line in part))
    assert sum("(%r" in line and "zmm" in line for line in loop) == 2  # and a store
