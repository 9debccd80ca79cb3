"""Memory to and from other libraries on a fake GPU: nothing passes the host, and nothing waits."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx
from fake_arrays import FakeArray
from fake_cupy import FakeCupy, fake_gpu, forget

import lazyfuse as lf
from lazyfuse.errors import DeviceUnavailableError

pytestmark = [pytest.mark.engine, needs_ptx]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    with fake_gpu(monkeypatch) as fake:
        yield fake


class Tensor:
    """An array as PyTorch's and JAX's are: DLPack, and a priority but no `__array_ufunc__`."""

    def __init__(self, array: FakeArray, device: tuple[int, int] = (2, 0)) -> None:
        self.array, self.device, self.streams = array, device, []

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any, **options: Any) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)


class Interface:
    """An array as Numba's are: the CUDA Array Interface alone."""

    def __init__(self, array: FakeArray, **entries: Any) -> None:
        self.array, self.entries = array, entries

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, **self.entries}


PRODUCERS: dict[str, Callable[[FakeArray], Any]] = {
    "cupy": lambda array: array,
    "dlpack": Tensor,
    "managed": lambda array: Tensor(array, (13, 0)),
    "interface": Interface,
}
#: Shape, strides and offset in bytes of arrays over 48 doubles.
LAYOUTS = {
    "C": ((4, 6), (48, 8), 0),
    "F": ((4, 6), (8, 32), 0),
    "permuted": ((2, 3, 4), (8, 64, 16), 0),
    "gaps": ((3, 2), (96, 16), 16),
    "reversed": ((6, 4), (-16, 96), 80),
    "broadcast": ((3, 5), (0, 8), 8),
    "empty": ((0, 3), (24, 8), 0),
    "single": ((1, 5, 1), (8, 8, 999 * 8), 0),
    "scalar": ((), (), 24),
}


def theirs(gpu: FakeCupy, layout: str = "C", dtype: str = "f8") -> tuple[FakeArray, np.ndarray]:
    """An array on the GPU, and its values."""
    shape, strides, offset = LAYOUTS[layout]
    values = np.arange(1, 49).astype(dtype)
    memory = gpu.cuda.alloc(values.nbytes)
    gpu.bytes_at(memory.ptr, values.nbytes)[:] = values.view(np.uint8)
    expected = np.lib.stride_tricks.as_strided(values[offset // 8 :], shape, strides)
    return gpu.ndarray(shape, dtype, memory + offset, strides), expected.copy()


# ---- out


def test_memory_for_other_libraries(gpu: FakeCupy) -> None:
    """`__cuda_array_interface__` and DLPack give the memory itself, at the view's first element,
    after the launch and without waiting.
    """
    x = lf.array(np.arange(24.0).reshape(4, 6)) * 2
    view = x[1:, ::2]
    lf.materialize(x)
    gpu.calls.clear()
    whole, part = x.__cuda_array_interface__, view.__cuda_array_interface__
    assert "sync" not in gpu.calls
    assert part["data"][0] - whole["data"][0] == 6 * 8
    assert (part["shape"], part["strides"], part["typestr"]) == ((3, 3), (48, 16), "<f8")
    assert x.__dlpack_device__() == (2, 0)
    assert x.__dlpack__(max_version=(1, 0))[1] == whole["data"][0]
    # What is exported is never written in place.
    before = gpu.bytes_at(whole["data"][0], 8).copy()
    x += 1
    lf.materialize(x)
    assert (gpu.bytes_at(whole["data"][0], 8) == before).all()


def test_addresses_on_the_host(gpu: FakeCupy) -> None:
    """`x.ctypes` is in a copy that stays while the array does, one for all views of it."""
    x = lf.array(np.arange(24.0).reshape(4, 6)) * 2
    address, second = x.ctypes.data, x[1:].ctypes.data
    assert x.ctypes.data == address and second == address + 6 * 8
    junk = [np.full(24, -1.0) for _ in range(99)]  # takes memory that is free
    first = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
    assert first[:24] == list(range(0, 48, 2)) and len(junk) == 99
    x[1, 0] = 7
    changed = ctypes.cast(x[1].ctypes.data, ctypes.POINTER(ctypes.c_double))
    assert changed[0] == 7 and first[6] == 12
    kept = weakref.ref(x._storage)
    del x
    gc.collect()
    assert kept() is None


def test_addresses_on_the_host_keep_no_memory_of_the_gpu(gpu: FakeCupy) -> None:
    """What the copy was of goes when the array is written: the address is in the copy."""
    x = lf.array(np.arange(1000.0))
    address, before = x.ctypes.data, gpu.used
    x[0] = 7
    lf.materialize(x)
    gc.collect()
    first = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
    assert gpu.used == before and first[:3] == [0, 1, 2]
    assert x.ctypes.data != address


def test_classes_of_numpys_get_private_memory(gpu: FakeCupy) -> None:
    """They are written, as those of an array on the CPU."""

    class Own(np.ndarray):
        pass

    x = lf.zeros(5)
    own = x.view(Own)
    own[0] = 3
    assert type(own) is Own and own[0] == 3 and float(x[0]) == 0
    x.setflags(write=False)
    assert not x.view(Own).flags.writeable


def test_buffers_are_copied(gpu: FakeCupy) -> None:
    """The memory of a buffer is the host's: an array on a GPU has a copy of it."""
    memory = bytearray(24)
    for x in (lf.frombuffer(memory), lf.ndarray(3, buffer=memory)):
        x[0] = 1
        assert x.device == "cuda:0" and x.tolist() == [1, 0, 0] and not any(memory)


# ---- in


@pytest.mark.parametrize("producer, layout", [
    *(("cupy", layout) for layout in LAYOUTS), ("dlpack", "gaps"), ("managed", "gaps"),
    ("interface", "gaps"), ("interface", "broadcast"),
])  # fmt: skip
def test_arrays_stay_on_their_gpu(gpu: FakeCupy, producer: str, layout: str) -> None:
    """`asarray` and `array` copy on the GPU, also where new arrays live elsewhere; later writes on
    either side are not seen on the other.
    """
    array, expected = theirs(gpu, layout)
    gpu.calls.clear()
    with lf.options(device="cpu"):
        copied, second = lf.asarray(PRODUCERS[producer](array)), lf.array(array)
    assert set(gpu.calls) <= {"alloc", "copy", "getDeviceCount"}
    assert copied.device == second.device == "cuda:0"
    assert (copied.shape, copied.dtype) == (expected.shape, expected.dtype)
    copied[...] += 1
    array.values()[...] = -1
    assert np.array_equal(lf.asnumpy(copied), expected + 1)
    assert np.array_equal(lf.asnumpy(second), expected)


#: Every way to borrow meets every producer that it takes, and one of them every layout.
BORROWED = [
    *(("asarray", "cupy", layout) for layout in LAYOUTS),
    *(("asarray", producer, "gaps") for producer in ("dlpack", "managed", "interface")),
    *(("array", producer, "gaps") for producer in PRODUCERS),
    *(("from_dlpack", producer, "reversed") for producer in ("cupy", "dlpack", "managed")),
]


@pytest.mark.parametrize("take, producer, layout", BORROWED)
def test_borrowing_copies_nothing(gpu: FakeCupy, take: str, producer: str, layout: str) -> None:
    """`copy=False` lies over the other library's memory, whatever its strides, and keeps it alive;
    a write goes elsewhere.
    """
    array, expected = theirs(gpu, layout)
    used, before = gpu.used, array.values().copy()
    borrowed = getattr(lf, take)(PRODUCERS[producer](array), copy=False)
    assert gpu.used == used
    if expected.size:
        assert borrowed.__cuda_array_interface__["data"][0] == array.data.ptr
    memory = gpu.bytes_at(array.data.ptr, before.itemsize if before.size else 0)
    del array
    gc.collect()
    borrowed[...] *= 2
    expected *= 2
    assert np.array_equal(lf.asnumpy(borrowed), expected)
    assert np.array_equal(memory, before.reshape(-1)[:1].view(np.uint8))


def test_views_of_borrowed_memory(gpu: FakeCupy) -> None:
    """Slices and kernels find the elements of a strided array, and a reduction folds them."""
    array, expected = theirs(gpu, "reversed")
    x = lf.asarray(array, copy=False)
    assert np.array_equal(lf.asnumpy(x[1::2, ::-1] - 1), expected[1::2, ::-1] - 1)
    assert float(x.sum()) == expected.sum()
    assert np.array_equal(lf.asnumpy(x.T + x.T), expected.T * 2)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "f4", "c8", "c16"])
def test_dtypes(gpu: FakeCupy, dtype: str) -> None:
    """All of the engine's; conversions happen on the GPU."""
    values = np.arange(12).astype(dtype)
    memory = gpu.cuda.alloc(values.nbytes)
    gpu.bytes_at(memory.ptr, values.nbytes)[:] = values.view(np.uint8)
    array = gpu.ndarray((12,), dtype, memory, values.strides)
    assert lf.asnumpy(lf.asarray(array)).tobytes() == values.tobytes()
    wide = lf.array(array, dtype="c16", ndmin=2)
    assert wide.device == "cuda:0"
    assert np.array_equal(lf.asnumpy(wide), values.astype("c16")[None])


@pytest.mark.parametrize("given", [1, 2, 7, 9, None])
def test_streams_of_interfaces(gpu: FakeCupy, given: int | None) -> None:
    """The current stream waits for the one that is named, without the host."""
    array, _ = theirs(gpu)
    gpu.stream.ptr = 9
    gpu.calls.clear()
    lf.asarray(Interface(array, stream=given), copy=False)
    assert gpu.waits == ([] if given in (None, 9) else [(9, given)])
    assert "sync" not in gpu.calls


def test_streams_of_dlpack(gpu: FakeCupy) -> None:
    """The producer is told on which stream the memory will be used."""
    tensor = Tensor(theirs(gpu)[0])
    for gpu.stream.ptr in (0, 5):
        lf.asarray(tensor)
    assert tensor.streams == [1, 5]


REFUSED: dict[str, tuple[Callable[[FakeCupy], Any], type[Exception], str]] = {
    "a mask": (
        lambda gpu: lf.asarray(Interface(theirs(gpu)[0], mask=theirs(gpu)[0])),
        BufferError,
        "mask",
    ),
    "stream 0": (
        lambda gpu: lf.asarray(Interface(theirs(gpu)[0], stream=0)), BufferError, "ambiguous",
    ),
    "fields": (
        lambda gpu: lf.asarray(gpu.ndarray((2,), "f8,i4", gpu.cuda.alloc(24), (12,))),
        BufferError,
        "cannot be used on a GPU",
    ),
    "strides": (
        lambda gpu: lf.asarray(gpu.ndarray((2,), "f4", gpu.cuda.alloc(24), (6,)), copy=False),
        BufferError,
        "multiples of its itemsize",
    ),
    "a dtype": (
        lambda gpu: lf.asarray(theirs(gpu)[0], dtype="f4", copy=False), ValueError, "avoid copy",
    ),
    "an order": (
        lambda gpu: lf.array(theirs(gpu, "gaps")[0], order="C", copy=False),
        ValueError,
        "avoid copy",
    ),
    "the host": (
        lambda gpu: lf.asarray(theirs(gpu)[0], device="cpu", copy=False),
        ValueError,
        "avoid copy",
    ),
    "ours elsewhere": (
        lambda gpu: lf.asarray(lf.asarray([1.0], device="cpu"), device="cuda", copy=False),
        ValueError,
        "avoid copy",
    ),
    "another GPU": (
        lambda gpu: lf.asarray(Tensor(theirs(gpu)[0], (2, 3))),
        DeviceUnavailableError,
        r"cuda:3 failed.*lazyfuse\.devices\(\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(gpu: FakeCupy, name: str) -> None:
    """What cannot be shared or copied is said so."""
    act, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        act(gpu)


def test_odd_strides_are_copied(gpu: FakeCupy) -> None:
    """Elements that do not lie at multiples of their size, as in records."""
    memory = gpu.cuda.alloc(24)
    gpu.bytes_at(memory.ptr, 24)[:] = np.zeros(2, "f4,f8").view(np.uint8)
    array = gpu.ndarray((2,), "f4", memory, (12,))
    array.values()[...] = 3, 4
    assert lf.asnumpy(lf.asarray(array) * 2).tolist() == [6, 8]


def test_no_gpu_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array on a GPU where lazyfuse finds none: the error says what is missing."""
    from lazyfuse.backends.cuda import backend

    with fake_gpu(monkeypatch) as gpu:
        array = theirs(gpu)[0]
        forget()
        monkeypatch.setattr(backend, "has_driver", lambda: False)
        for value in (array, Tensor(array), Interface(array)):
            with pytest.raises(DeviceUnavailableError, match="no NVIDIA driver is installed"):
                lf.asarray(value)


def test_to_the_host(gpu: FakeCupy) -> None:
    """`device` moves them; arrays that DLPack cannot place go their own way."""
    array, expected = theirs(gpu, "gaps")
    moved = lf.asarray(array, device="cpu")
    assert moved.device == "cpu" and np.array_equal(lf.asnumpy(moved), expected)

    class Sharded:
        def __dlpack_device__(self) -> tuple[int, int]:
            raise BufferError("the array is on several devices")

        def __array__(self, *args: Any, **options: Any) -> np.ndarray:
            return np.arange(3.0)

    with lf.options(device="cpu"):
        assert np.array_equal(lf.asarray(Sharded()), np.arange(3.0))


# ---- beside ours


OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda xp, x, y: x + y,
    "x - y": lambda xp, x, y: x - y,
    "x < y": lambda xp, x, y: x < y,
    "x == y": lambda xp, x, y: x == y,
    "x // y": lambda xp, x, y: x // y,
    "np.add": lambda xp, x, y: np.add(x, y),
    "add": lambda xp, x, y: xp.add(y, x),
    "add to": lambda xp, x, y: xp.add(x, y, out=x),
    "maximum": lambda xp, x, y: xp.maximum(y, y) + x,
    "where": lambda xp, x, y: xp.where(x > 3, y, x),
    "sum": lambda xp, x, y: xp.sum(y, axis=0) + x,
    "concatenate": lambda xp, x, y: xp.concatenate([x, y], axis=1),
    "matmul": lambda xp, x, y: xp.matmul(x, xp.transpose(y)),
    "sort": lambda xp, x, y: xp.sort(y) - x,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operands(gpu: FakeCupy, name: str) -> None:
    """A CuPy array beside ours is recorded as NumPy's is on the CPU."""
    y, expected = theirs(gpu)
    act, ones = OPERATIONS[name], np.full((4, 6), 3.0)
    given = lf.asarray(ones.copy())
    gpu.calls.clear()
    found = act(lf, given, y)
    assert "sync" not in gpu.calls and "download" not in gpu.calls
    assert found.device == "cuda:0"
    values = act(np, ones, expected)
    assert found.dtype == values.dtype and np.array_equal(lf.asnumpy(found), values)


def test_writing_them(gpu: FakeCupy) -> None:
    """In-place operators and assignment."""
    y, expected = theirs(gpu)
    x = lf.zeros((4, 6))
    x += y
    x[:2] = y.__class__((2, 6), "f8", y.data, (48, 8))
    assert x.device == "cuda:0"
    assert np.array_equal(lf.asnumpy(x), expected)


def test_cupy_goes_first_where_it_stands_first(gpu: FakeCupy) -> None:
    """`np.add(cupy_array, x)` is CuPy's; classes with rules of their own decide on both sides."""
    x, (y, _) = lf.asarray(np.ones((4, 6))), theirs(gpu)
    assert np.add(y, x) == ("cupy", "add")  # type: ignore[call-overload]  # an array-like

    class Labelled(FakeArray):
        def __radd__(self, other: Any) -> str:
            return "labelled"

    labelled = Labelled((4, 6), "f8", y.data, (48, 8))
    assert x + labelled == ("cupy", "add")  # as of NumPy's array: what overrides ufuncs is asked
    assert np.add(x, labelled) == ("cupy", "add")  # type: ignore[call-overload]


def test_tensors_are_operands_of_functions(gpu: FakeCupy) -> None:
    """Other libraries' tensors have operators of their own, but functions take them."""
    y, expected = theirs(gpu)
    x = lf.asarray(np.ones((4, 6)))
    assert np.array_equal(lf.asnumpy(lf.add(x, Tensor(y))), expected + 1)
    assert np.array_equal(lf.asnumpy(lf.multiply(Interface(y), x)), expected)


def test_two_devices(gpu: FakeCupy) -> None:
    """An array on the CPU and one on a GPU do not mix."""
    x = lf.asarray(np.ones((4, 6)), device="cpu")
    with pytest.raises(ValueError, match=r"different devices \(cpu, cuda:0\)"):
        x + theirs(gpu)[0]
