"""Buffers, worker threads and concurrent launches of the CPU backend."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.backends.cpu.buffers import BufferPool, CpuBuffer, size_class
from lazyfuse.backends.cpu.threads import Workers
from tests.kernel_runner import KernelRunner, full_sum, same, values

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


def test_workers_raise_and_go_on() -> None:
    """What a helper raises reaches the caller; the workers serve the next call."""
    workers = Workers()
    caller = threading.get_ident()
    began = threading.Event()

    def fail() -> None:
        if threading.get_ident() == caller:
            assert began.wait(10)
        else:
            began.set()
            raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        workers.run(fail, 1)
    calls: list[int] = []
    workers.run(lambda: calls.append(1), 3)
    assert 1 <= len(calls) <= 4


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
