"""Addresses of arrays that somebody outside has, and nothing else: the memory stays where it is,
and what is written there is seen."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as host
import pytest

from tests import oracle

SIZES = (100, 100_000)


def fill(address: int, nbytes: int) -> None:
    """What C code does with an address: zeros."""
    ctypes.memset(ctypes.c_void_p(address), 0, nbytes)


def as_ctypes(np: Any, x: Any) -> Any:
    values = np.ctypeslib.as_ctypes(x)
    x += 1.0
    before = values[5]
    values[5] = 7.0
    return before, float(x[5])


def stays(np: Any, x: Any) -> Any:
    address, found = x.ctypes.data, []
    for _ in range(4):
        x += 1.0
        x *= 2.0
        x[1:-1] = x[:-2] * 0.5
        found.append(address == x.ctypes.data)
    fill(address, 8 * x.size)
    return found, x.sum(), x


def pending(np: Any, x: Any) -> Any:
    address, sums = x.ctypes.data, []
    for count in range(1, 4):
        sums.append(x.sum())
        fill(address, 8 * count)
    return sums


def of_a_row(np: Any, x: Any) -> Any:
    table = x.reshape(10, -1)
    address = table[3].ctypes.data
    doubled = table * 2.0
    fill(address, 40)
    return doubled, table


def interface(np: Any, x: Any) -> Any:
    class Others:
        __array_interface__ = x.__array_interface__

    values = host.asarray(Others())
    total = (x * 2.0).sum()
    values[0] = 1e6
    return total, x


def after_one_to_read(np: Any, x: Any) -> Any:
    part = x.view()
    part.flags.writeable = False
    part.ctypes.data  # noqa: B018 - it is asked for
    address = x.ctypes.data
    doubled = x * 2.0
    fill(address, 40)
    x += 1.0
    return doubled, x, x.ctypes.data == address


def by_pointer(np: Any, x: Any) -> Any:
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    x *= 3.0
    pointer[1] = -1.0
    return pointer[2], x


@pytest.mark.cpu("addresses of memory")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("eager_size", (0, 1000))
@pytest.mark.parametrize(
    "use",
    (as_ctypes, stays, pending, of_a_row, interface, after_one_to_read, by_pointer),
    ids=lambda use: use.__name__,
)
def test_addresses(use: Any, eager_size: int, size: int) -> None:
    """Of an array that is computed, and of one that is pending."""

    def program(np: Any, values: Any) -> Any:
        return use(np, np.array(values)), use(np, np.array(values) + 1.0)

    with oracle.options(eager_size=eager_size):
        for _ in range(3):
            oracle.check(program, host.arange(float(size)))


@pytest.mark.engine
@pytest.mark.cpu("addresses of memory")
def test_nothing_is_kept() -> None:
    """The memory goes with the last array that has it."""
    from lazyfuse.frontend import exchange

    before = len(exchange._addressed)
    for size in SIZES:
        x = oracle.lf.ones(size)
        view = x[1:]
        assert view.ctypes.data == x.ctypes.data + 8
        assert len(exchange._addressed) > before
        del x, view
        gc.collect()
        assert len(exchange._addressed) == before
