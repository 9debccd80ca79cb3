"""Memory of the host, in and out: never a wrong answer because somebody writes to it later, and no
copy where nobody can.
"""

from __future__ import annotations

import mmap
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
VALUES = host.arange(600.0)


@pytest.fixture(autouse=True)
def lazy() -> Iterator[None]:
    """Record whatever the size: these tests are about what is pending and about its memory."""
    with oracle.options(eager_size=0):
        yield


def address(array: Any) -> int:
    """Return where an array's memory lies, as NumPy sees it."""
    return int(host.asarray(array).__array_interface__["data"][0])


def read_only(array: Any) -> Any:
    """Return the array with its flag taken away."""
    array.flags.writeable = False
    return array


# ---- in: whatever is written later


def owner() -> tuple[Any, Any]:
    """A plain array: (what is given to lazyfuse, what is written later)."""
    h = VALUES.copy()
    return h, h


def strided() -> tuple[Any, Any]:
    """A view that lies across its memory."""
    h = host.zeros((600, 3))
    h[:, 1] = VALUES
    return h[:, 1], h


def flag_only() -> tuple[Any, Any]:
    """A read-only view of memory that its owner writes."""
    h = VALUES.copy()
    return read_only(h[:]), h


def broadcast() -> tuple[Any, Any]:
    """A read-only view that repeats writable memory."""
    h = VALUES.copy()
    return host.broadcast_to(h, (2, 600)), h


def over_bytearray() -> tuple[Any, Any]:
    """Memory of a bytearray behind a read-only memoryview."""
    memory = bytearray(VALUES.tobytes())
    return host.frombuffer(memoryview(memory).toreadonly()), host.frombuffer(memory)


class Exporter:
    """As Arrow's arrays: says that memory is read-only, which lies over what is writable."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.__array_interface__ = {**memory.__array_interface__, "version": 3}
        self.__array_interface__["data"] = (address(memory), True)


def over_exporter() -> tuple[Any, Any]:
    """An array whose base is no array and no buffer."""
    h = VALUES.copy()
    given = host.asarray(Exporter(h))
    assert not given.flags.writeable
    return given, h


def subclass() -> tuple[Any, Any]:
    """A subclass of ndarray over memory of another."""
    h = VALUES.copy()
    return h.view(host.recarray), h


def writable_map() -> tuple[Any, Any]:
    """A file mapped for reading and writing."""
    h = host.frombuffer(mmap.mmap(-1, VALUES.nbytes), "f8")
    h[:] = VALUES
    return read_only(h[:]), h


WRITTEN_LATER = (
    owner, strided, flag_only, broadcast, over_bytearray, over_exporter, subclass, writable_map,
)  # fmt: skip
WAYS_IN: dict[str, Callable[[Any], Any]] = {
    "array": lambda h: lf.array(h),
    "asarray": lambda h: lf.asarray(h),
    "asarray of a dtype": lambda h: lf.asarray(h, dtype="f4"),
    "asanyarray": lambda h: lf.asanyarray(h),
    "ascontiguousarray": lambda h: lf.ascontiguousarray(h),
    "operand": lambda h: lf.ones(600) * h,
    "reflected operand": lambda h: h * lf.ones(600),
    "argument": lambda h: lf.add(h, 0),
    "assigned": lambda h: lf.zeros(h.shape).__iadd__(h),
    "concatenated": lambda h: lf.concatenate([h, h])[: len(h)],
    "where": lambda h: lf.where(True, h, 0),
    "broadcast_to": lambda h: lf.broadcast_to(h, h.shape),
    "transpose": lambda h: lf.transpose(h).T,
    "reshape": lambda h: lf.reshape(h, h.shape),
    "ravel": lambda h: lf.ravel(h).reshape(h.shape),
    "atleast_1d": lambda h: lf.atleast_1d(h),
    "from_dlpack": lambda h: lf.from_dlpack(h.copy() if not h.flags.writeable else h),
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("source", WRITTEN_LATER)
def test_nobody_sees_a_later_write(source: Callable[[], Any], way: str) -> None:
    """What is written to host memory after it was handed over changes no result."""
    given, memory = source()
    wanted = host.array(given)
    pending = WAYS_IN[way](given)
    if type(pending) is not lf.LazyArray:  # subclasses stay NumPy's, also in how they share
        assert type(pending) is type(given)
        return
    memory[...] = -1
    result = host.asarray(pending)
    assert (result == host.broadcast_to(wanted, result.shape)).all()


@pytest.mark.parametrize("way", ("array", "asarray", "asarray of a dtype", "assigned"))
def test_nobody_writes_to_the_callers_memory(way: str) -> None:
    """Writing to a LazyArray never writes to memory from outside, borrowed memory included."""
    h = VALUES.copy()
    x = WAYS_IN[way](h)
    x += 1
    x[3:] = 7
    lf.materialize(x)
    borrowed = lf.asarray(h, copy=False)
    borrowed *= 2
    borrowed[0] = 9
    lf.materialize(borrowed)
    assert (h == VALUES).all()
    assert (host.asarray(borrowed)[1:] == 2 * VALUES[1:]).all()


# ---- in: without a copy


def mapped(folder: Path) -> Any:
    """Return an array in a file, mapped for reading."""
    host.save(folder / "values.npy", VALUES)
    return host.load(folder / "values.npy", mmap_mode="r")


FROZEN: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda _: host.frombuffer(VALUES.tobytes()),
    "memoryview of bytes": lambda _: host.asarray(memoryview(VALUES.tobytes()).cast("d")),
    "part of bytes": lambda _: host.frombuffer(VALUES.tobytes(), offset=80)[:100],
    "file mapped for reading": mapped,
}


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.parametrize("name", FROZEN)
def test_what_cannot_change_is_shared(name: str, tmp_path: Path) -> None:
    """Memory that nobody can write to is not copied, not written, and kept alive."""
    h = FROZEN[name](tmp_path)
    where, wanted = address(h), host.array(h)
    x = lf.asarray(h)
    assert address(x) == where
    y = x * 2
    x += 1
    del h
    assert address(x) != where
    assert (host.asarray(x) == wanted + 1).all() and (host.asarray(y) == wanted * 2).all()


@pytest.mark.cpu("memory that NumPy shares")
def test_borrowing() -> None:
    """`copy=False` shares writable memory: the caller promises not to write."""
    h = VALUES.copy()
    assert address(lf.asarray(h, copy=False)) == address(h)
    assert address(lf.from_dlpack(h, copy=False)) == address(h)
    assert address(lf.asarray(h)) != address(h)


@pytest.mark.cpu("memory that NumPy shares")
def test_large_copies_are_where_kernels_like_them() -> None:
    """`array` and `asarray` copy into memory of the engine, whatever else has to change."""
    h = host.arange(60_000.0).reshape(300, 200)
    for copy in (lf.array(h), lf.asarray(h), lf.array(h, ndmin=3), lf.array(h, order="F")):
        assert (host.asarray(copy) == h).all() and not host.shares_memory(host.asarray(copy), h)
    assert address(lf.array(h)) % 4096 == address(lf.asarray(h)) % 4096 == 0
    lf.array(h)[...] = 0
    assert h[-1, -1] == 59_999.0


def test_an_array_of_ours_is_itself() -> None:
    """`asarray` of a LazyArray is that array; `array` copies."""
    x = lf.array(VALUES)
    assert lf.asarray(x) is x and lf.array(x) is not x
    y = lf.array(x)
    y += 1
    assert (host.asarray(x) == VALUES).all()


# ---- out


@pytest.mark.cpu("memory that NumPy shares")
def test_out_without_a_copy() -> None:
    """`np.asarray(x)` and views of it share the engine's memory, and both write; where nobody may
    write, for ever."""
    x, y = lf.array(VALUES) * 2, lf.array(VALUES) * 2
    first, second = host.asarray(x), host.asarray(x[10:20])
    assert address(first) == address(x) and address(second) == address(x) + 80
    y.setflags(write=False)
    third = host.asarray(y)
    for view in (third, third.base):
        if isinstance(view, host.ndarray):
            assert not view.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True
    for each in (x, y):
        each.setflags(write=True)
        each += 1
        each[:5] = 0
    lf.materialize(x, y)
    z = [lf.array(VALUES) * 3 for _ in range(10)]  # would reuse memory that were free
    lf.materialize(z)
    wanted = VALUES * 2 + 1
    wanted[:5] = 0
    assert (first == wanted).all() and (second == wanted[10:20]).all()
    assert (third == VALUES * 2).all()


def test_exported_memory_outlives_its_array() -> None:
    """The memory stays while NumPy sees it, and is not given to others."""
    view = host.asarray(lf.array(VALUES) * 2)
    for _ in range(20):
        lf.materialize(lf.array(VALUES) + 1)
    assert (view == VALUES * 2).all()


def test_a_private_copy_out() -> None:
    """`np.array(x)` and `asnumpy(x, copy=True)` are writable and private."""
    x = lf.array(VALUES)
    for copied in (host.array(x), lf.asnumpy(x, copy=True), x.__array__(copy=True)):
        copied[:] = -1
    assert (host.asarray(x) == VALUES).all()


# ---- how much memory

MEGABYTES = 24


def peak(work: Callable[[], Any]) -> float:
    """Return the largest memory that the work takes beside its result's owner, in megabytes."""
    tracemalloc.start()
    try:
        kept = work()
        lf.materialize(kept)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.fixture
def no_pool() -> None:
    """Start without memory that earlier tests left for reuse."""
    from lazyfuse.runtime import session

    memory = getattr(session.backend("cpu"), "memory", None)
    if memory is not None:
        memory.clear()


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.usefixtures("no_pool")
def test_peaks() -> None:
    """Frozen memory costs nothing on the way in, other memory one copy, a cast one result; the way
    out costs nothing.
    """
    count = MEGABYTES * 125_000
    frozen = host.frombuffer(bytes(count * 8))
    own = host.zeros(count)
    ints = host.zeros(count, "i4")
    assert peak(lambda: lf.asarray(frozen)) < 1
    assert peak(lambda: lf.asarray(own, copy=False)) < 1
    assert peak(lambda: lf.asarray(own)) < 1.3 * MEGABYTES
    assert peak(lambda: lf.array(own)) < 1.3 * MEGABYTES
    assert peak(lambda: lf.asarray(ints, dtype="f8")) < 1.3 * MEGABYTES
    x = lf.materialize(lf.asarray(frozen) + 1)
    assert peak(lambda: host.asarray(x)) < 1
    assert peak(lambda: memoryview(host.asarray(x[1:]))) < 1


@pytest.mark.usefixtures("no_pool")
@pytest.mark.cpu("memory that NumPy shares")
def test_a_mapped_file_is_reduced_without_being_copied(tmp_path: Path) -> None:
    """A fold over a mapped file takes no memory of its own."""
    file = host.memmap(tmp_path / "big", dtype="f8", mode="w+", shape=(MEGABYTES * 125_000,))
    file[:] = 1
    file.flush()
    source = host.memmap(tmp_path / "big", dtype="f8", mode="r")
    assert peak(lambda: (lf.sqrt(lf.asarray(source)) * 2 + 1).sum()) < 1


@pytest.mark.cpu("memory of small arrays")
def test_dlpack_of_small_arrays() -> None:
    """Both write, as in NumPy: consumers that ask for writable memory refused a read-only copy."""
    with lf.options(eager_size=64):
        x = lf.array([1.0, 2.0, 3.0])
        shared = host.from_dlpack(x)
        shared[0] = 7.0
        y = x * 2.0
        x[1] = 8.0
        shared[2] = 9.0
        assert x.tolist() == shared.tolist() == [7.0, 8.0, 9.0] and y.tolist() == [14.0, 4.0, 6.0]
        copied = host.from_dlpack(x, copy=True)
        copied[0] = 0.0
        assert x.tolist() == [7.0, 8.0, 9.0]
        x.flags.writeable = False
        assert not host.from_dlpack(x).flags.writeable
