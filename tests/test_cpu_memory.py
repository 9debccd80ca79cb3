"""Buffers and concurrent launches of the CPU backend."""

from __future__ import annotations

import os
import struct
import threading

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.buffers import HUGE_PAGE, PAGE, BufferPool, CpuBuffer, size_class
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ops.body import Body
from lazyfuse.ops.float_flags import DIVIDE
from tests.kernel_runner import KernelRunner, Memory, elementwise, full_sum, load, same, values

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


def test_buffers_are_aligned_recycled_and_kept_alive() -> None:
    """A block comes back only when no view needs it."""
    pool = BufferPool(limit=1 << 20)
    buffer = CpuBuffer(pool.take(10_000), 10_000, pool)
    pointer, view = buffer.pointer, buffer.array
    assert pointer % 64 == 0 and view.nbytes == 10_000 and buffer.exclusive
    del buffer
    assert pool.held == 0
    del view
    assert pool.held == size_class(10_000)
    assert pool.take(9_900).pointer == pointer
    CpuBuffer(pool.take(2 << 20), 2 << 20, pool)
    assert pool.held == 0  # larger than the limit
    with pytest.raises(MemoryError):
        pool.take(1 << 60)


def test_sizes_that_do_not_come_any_more_make_room() -> None:
    """A full pool drops what has not come for the longest time, not what comes now."""
    pool = BufferPool(limit=size_class(100_000) * 4)
    for nbytes in (200_000, 100_000):
        buffers = [CpuBuffer(pool.take(nbytes), nbytes, pool) for _ in range(2)]
        del buffers
    assert pool.held == pool.limit  # one large block has gone for two small ones
    for nbytes in (300_000, 150_000):
        CpuBuffer(pool.take(nbytes), nbytes, pool)
        held = pool.held
        assert held <= pool.limit
        pool.take(nbytes)
        assert held - pool.held == size_class(nbytes)


def test_large_blocks_start_at_pages() -> None:
    """Of some pages at a page, of megabytes at a huge one; each has all the bytes asked for."""
    pool = BufferPool()
    for nbytes, alignment in (
        (100, 64),
        (70_000, PAGE),
        (3 << 20, HUGE_PAGE),
        (9 << 20, HUGE_PAGE),
    ):
        buffer = CpuBuffer(pool.take(nbytes), nbytes, pool)
        assert buffer.pointer % alignment == 0
        buffer.array[...] = 7
        assert buffer.array[-1] == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_memory_of_huge_pages_is_not_shared_with_child_processes() -> None:
    """What a child writes after a fork, its parent does not see."""
    buffer = CpuBuffer(BufferPool().take(3 << 20), 3 << 20, None)
    buffer.array[:] = 1
    child = os.fork()
    if not child:
        buffer.array[:] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert (buffer.array == 1).all()


def test_borrowed_memory_is_shared() -> None:
    """`borrow` shares and is never exclusive; a read-only array stays read-only."""
    host = np.arange(4.0)
    buffer = BACKEND.from_host(host, borrow=True)
    host[0] = 7.0
    assert BACKEND.to_host(buffer).view("f8")[0] == 7.0 and not buffer.exclusive
    host.flags.writeable = False
    assert not BACKEND.to_host(BACKEND.from_host(host, borrow=True)).flags.writeable
    copy = BACKEND.from_host(host)
    assert copy.pointer != host.ctypes.data and copy.exclusive


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_workers_survive_a_fork() -> None:
    """A forked child starts workers of its own."""
    x = values("f8", 1_000_000)
    kernel, expected = full_sum("f8", "1"), x.sum()
    RUN(kernel, x.shape, [x, np.zeros(())], threads=2)
    child = os.fork()
    if child == 0:
        (_, out) = RUN(kernel, x.shape, [x, np.zeros(())], threads=2)
        os._exit(0 if out == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_launches_from_many_threads() -> None:
    """One launch object may run on several threads at once."""
    kernel = full_sum("f8", "1")
    arrays = [values("f8", 200_000) for _ in range(4)]
    outs = [np.zeros(()) for _ in arrays]
    threads = [
        threading.Thread(target=RUN, args=(kernel, x.shape, [x, out]), kwargs={"threads": 2})
        for x, out in zip(arrays, outs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(out, x.sum()) for x, out in zip(arrays, outs, strict=True))


def scaled_kernel() -> Kernel:
    """x / y + s."""
    body = Body()
    x, y = load(body, "f8", 0), load(body, "f8", 1)
    args = [("in", "f8", "1"), ("in", "f8", "1"), ("out", "f8", "1")]
    return elementwise(body, args, {2: x / y + body.emit("scalar", "f8", attr=0)}, ["f8"])


def test_a_launch_keeps_nothing_of_a_call() -> None:
    """Neither conditions nor scalars nor addresses."""
    launch = BACKEND.compile(scaled_kernel(), "scaled").bind((3,), ((1,),) * 3, (0, 0, 0))
    ones, zeros = np.ones(3), np.array([1.0, 0.0, 1.0])
    for _ in range(2):
        for divisor, scalar in ((zeros, 1.0), (ones, 2.0), (ones * 4, 3.0)):
            out = np.zeros(3)
            memory = [Memory(array) for array in (ones, divisor, out)]
            met = launch(memory, [scalar], threads=1)
            assert (met == DIVIDE) == (divisor is zeros)
            with np.errstate(divide="ignore"):
                assert same(out, ones / divisor + scalar)


def test_a_launch_with_fixed_scalars() -> None:
    """It keeps its own, and so does the launch that it was made from."""
    launch = BACKEND.compile(scaled_kernel(), "scaled").bind((3,), ((1,),) * 3, (0, 0, 0))
    ones, out = np.ones(3), np.zeros(3)
    memory = [Memory(array) for array in (ones, ones, out)]
    launch(memory, [1.0], threads=1)
    fixed, other = launch.fixed([5.0]), launch.fixed([7.0])
    for _ in range(2):
        for made, scalars, expected in ((fixed, [], 6.0), (launch, [2.0], 3.0), (other, [], 8.0)):
            made(memory, scalars, threads=1)
            assert same(out, ones * expected)


def test_calls_that_lack_something() -> None:
    """Too few arrays, or too many scalars, are an error, not a read of old memory."""
    launch = BACKEND.compile(scaled_kernel(), "scaled").bind((3,), ((1,),) * 3, (0, 0, 0))
    memory = [Memory(np.ones(3)) for _ in range(3)]
    launch(memory, [1.0], threads=1)
    with pytest.raises(struct.error):
        launch(memory[:2], [1.0], threads=1)
    with pytest.raises(struct.error):
        launch(memory, [1.0, 2.0], threads=1)


@pytest.mark.parametrize("threads", (1, 3))
def test_one_launch_on_many_threads(threads: int) -> None:
    """Calls of one launch that run at the same time have parameters of their own."""
    n = 5_000
    launch = BACKEND.compile(scaled_kernel(), "scaled").bind((n,), ((1,),) * 3, (0, 0, 0))
    launch.work_ns = 1e9  # as if it were large: all the threads take part
    gate, wrong = threading.Barrier(6), []

    def work(number: int) -> None:
        x, y = values("f8", n), values("f8", n)
        gate.wait(20)
        for step in range(40):
            out = np.zeros(n)
            launch([Memory(array) for array in (x, y, out)], [number + step], threads=threads)
            if not same(out, x / y + (number + step)):
                wrong.append((number, step))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
