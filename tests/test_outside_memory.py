"""Memory that others see: buffers, what NumPy is given, and zeros that nobody has touched."""

from __future__ import annotations

import array
import ctypes
import mmap
import sys
import warnings
from multiprocessing import shared_memory
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf

SIZES = (5, 40_000)


@pytest.fixture(params=[0, 30_000], ids=["engine", "small"])
def eager_size(request: pytest.FixtureRequest) -> Any:
    with lf.options(eager_size=request.param):
        yield request.param


def _buffers(count: int) -> dict[str, Any]:
    return {
        "bytearray": bytearray(8 * count), "array": array.array("d", [0.0] * count),
        "mmap": mmap.mmap(-1, 8 * count), "numpy": host.zeros(count),
        "ctypes": (ctypes.c_double * count)(), "memoryview": memoryview(bytearray(8 * count)),
    }  # fmt: skip


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", _buffers(1))
def test_buffers_are_written(kind: str, size: int, eager_size: int) -> None:
    """By the array, and by what else holds the buffer, also while results are pending."""
    for make in (lf.frombuffer, lambda buffer: lf.ndarray(size, buffer=buffer)):
        buffer = _buffers(size)[kind]
        x, theirs = make(buffer), host.frombuffer(buffer)
        assert isinstance(x, lf.LazyArray) and x.flags.writeable and x.shape == (size,)
        x += 1
        x[1] = 7
        assert theirs[:3].tolist() == [1, 7, 1]
        for count in range(20):
            before = (x * 2.0 + 1.0) / 2.0 - x
            theirs[0] = count
            after = x + x
            theirs[0] = -1
            assert float(before[0]) == 0.5 and float(after[0]) == 2 * count
            assert float(after.sum()) == 2 * count + 14 + 2 * (size - 2)
            assert float(lf.exp(x[:2] * 0)[0]) == 1.0
        x[...] = lf.arange(float(size)) * 2
        assert (theirs == host.arange(size) * 2.0).all()
        view = x[1:4].reshape(3, 1)
        view *= 10
        assert theirs[:5].tolist() == [0, 20, 40, 60, 8]
        del x, theirs, view, before, after


@pytest.mark.cpu("memory that NumPy shares")
def test_shared_memory_of_processes(eager_size: int) -> None:
    memory = shared_memory.SharedMemory(create=True, size=8 * 6)
    try:
        table = lf.ndarray((2, 3), dtype="i8", buffer=memory.buf)
        table[...] = lf.arange(6).reshape(2, 3)
        assert host.frombuffer(memory.buf, "i8")[:6].tolist() == [0, 1, 2, 3, 4, 5]
        column = lf.ndarray(2, dtype="i8", buffer=memory.buf, offset=8, strides=(24,))
        column += 10
        assert table.tolist() == [[0, 11, 2], [3, 14, 5]]
        del table, column
    finally:
        memory.close()
        memory.unlink()


def test_what_cannot_be_written_is_read_only(eager_size: int) -> None:
    for make in (lf.frombuffer, lambda buffer: lf.ndarray(3, buffer=buffer)):
        x = make(bytes(24))
        assert not x.flags.writeable and x.tolist() == [0, 0, 0]
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
    assert lf.frombuffer(b"abcdef", "S2").dtype == "S2"
    with pytest.raises(ValueError, match="multiple of element size"):
        lf.frombuffer(bytearray(9))


@pytest.mark.parametrize("size", SIZES)
def test_what_is_around_an_array_is_written(size: int, eager_size: int) -> None:
    """Masked arrays, matrices and classes derived from ndarray."""

    class Own(host.ndarray):
        pass

    masked = lf.ma.array(lf.arange(float(size)), mask=lf.arange(size) > 2)
    masked[0] = 9
    masked[1] = lf.ma.masked
    assert masked[:4].tolist() == [9, None, 2, None]
    matrix = lf.asmatrix(lf.arange(float(size)).reshape(1, size))
    matrix[0, 0] = 5
    assert matrix[0, 0] == 5
    own = lf.zeros(size).view(Own)
    own[0] = 3
    assert type(own) is Own and own[0] == 3
    fixed = lf.zeros(size)
    fixed.setflags(write=False)
    assert not fixed.view(Own).flags.writeable


def test_classes_derived_from_ndarray() -> None:
    """As NumPy's guide writes them."""

    class Own(lf.ndarray):  # type: ignore[misc]  # as programs do
        def __new__(cls, data: Any) -> Any:
            return lf.asarray(data).view(cls)

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            plain = [x.view(lf.ndarray) if isinstance(x, Own) else x for x in inputs]
            assert all(type(x) in (host.ndarray, float) for x in plain)
            return super().__array_ufunc__(ufunc, method, *plain, **options).view(Own)

    class Shaped(lf.ndarray):  # type: ignore[misc]  # as programs do
        def __new__(cls, shape: Any, info: str) -> Any:
            made = lf.ndarray.__new__(cls, shape, float)
            made.info = info
            return made

    own = Own([1.0, 2.0]) * 2.0 + Own([1.0, 1.0])
    assert type(own) is Own and own.tolist() == [3, 5]
    assert type(own.view(type=lf.ndarray)) is host.ndarray
    shaped = Shaped((2, 3), "metres")
    assert type(shaped) is Shaped and shaped.shape == (2, 3) and shaped.info == "metres"
    assert isinstance(shaped, host.ndarray) and isinstance(shaped, lf.ndarray)

    class Slim(lf.ndarray):  # type: ignore[misc]  # as programs do
        __slots__ = ("info",)

    assert not hasattr(host.ones(3).view(Slim), "__dict__")


@pytest.mark.cpu("small arrays that are NumPy's")
def test_c_code_writes_small_arrays() -> None:
    with lf.options(eager_size=30_000):
        x = lf.ones(3)
        ctypes.memset(x.ctypes.data, 0, 8)
        assert x.tolist() == [0, 1, 1]


@pytest.mark.parametrize("size", [500, 2000, 20_000])
def test_c_code_that_keeps_an_address(size: int) -> None:
    """Nothing is put off that reads memory of which an address has been given away."""
    with lf.options(eager_size=30_000):
        x, c = lf.ones(size), lf.ones(size)
        theirs = (ctypes.c_double * size).from_address(x.ctypes.data)
        for count in range(300):
            theirs[0] = 1.0
            y = (x * c + 1.0) * 2.0 - x
            theirs[0] = 50.0
            assert float(y[0]) == 3.0, count


def test_an_address_leaves_the_array_as_it_is() -> None:
    with lf.options(eager_size=30_000):
        x = lf.ones(3)
        assert x.ctypes.data and x.flags.owndata
        x.setflags(write=False)
        assert x.ctypes.data
        x.setflags(write=True)
        x.resize(5, refcheck=False)
        assert x.tolist() == [1, 1, 1, 0, 0]


@pytest.mark.cpu("memory that NumPy shares")
def test_buffers_of_lazy_arrays_and_read_only_ones() -> None:
    with lf.options(eager_size=30_000):
        x, memory = lf.zeros(16), bytearray(16)
        both = lf.frombuffer(x), lf.ndarray(16, buffer=x), lf.asmatrix(x)
        x[0] = 5
        assert [
            float(each.ravel()[0]) if each.ndim == 1 else float(each[0, 0]) for each in both
        ] == [5.0] * 3
        seen = lf.frombuffer(memoryview(memory).toreadonly(), "u1")
        memory[0] = 7
        assert seen[0] == 7 and not seen.flags.writeable
        x.setflags(write=False)
        assert not lf.asmatrix(x).flags.writeable
        assert lf.asarray_chkfinite(x) is x


def _resident() -> int:
    """Bytes of memory that the process has touched."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


HUGE = 50_000_000
TOUCHES: dict[str, Any] = {
    "an element": lambda a: (a.__setitem__(5, 1), a[5], 1),
    "a slice": lambda a: (a.__setitem__(slice(10, 20), 1), a[10:20].sum(), 10),
    "elements": lambda a: (a.__setitem__([1, HUGE - 1], 1), a[[1, HUGE - 1]].sum(), 2),
    "in place": lambda a: (a[7:9].__iadd__(1), a[6:10].sum(), 2),
    "taken": lambda a: (None, a.take([1, 2]).sum(), 0),
    "counted": lambda a: (lf.add.at(a, [3, 3, 4], 1), a[3], 2),
}  # fmt: skip


@pytest.mark.cpu("memory that is made where it is touched")
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the memory in use")
@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("name", TOUCHES)
def test_large_zeros_take_what_is_touched(name: str, dtype: str) -> None:
    """As NumPy's, whose memory the operating system makes where it is touched."""
    with lf.options(eager_size=30_000):
        TOUCHES[name](lf.zeros(HUGE, dtype))  # whatever is imported for it
        before = _resident()
        zeros = lf.zeros(HUGE, dtype)
        _, found, wanted = TOUCHES[name](zeros)
        assert int(found) == wanted
        assert _resident() - before < 30 << 20
        assert zeros[HUGE // 2] == 0 and not (zeros[-1000:-1]).any()


@pytest.mark.parametrize("size", (2, 50_000))
def test_broadcast_numpys_arrays_warn_of_nothing(size: int) -> None:
    """NumPy warns where the flag of one is asked for, which the user has not."""
    given = host.arange(float(size))
    with lf.options(eager_size=1000), warnings.catch_warnings():
        warnings.simplefilter("error")
        left, right = lf.broadcast_arrays(given, lf.ones((2, 1)))
        grids = lf.broadcast_arrays(lf.array([[3.0, 4.0]]), host.array([5.0]), 1.0)
        assert left.shape == right.shape == (2, size) and grids[1].tolist() == [[5.0, 5.0]]
        assert float((left + right).sum()) == 2 * given.sum() + 2 * size
