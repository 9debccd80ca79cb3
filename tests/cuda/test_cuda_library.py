"""Library calls on a fake GPU stay there: NumPy's answers, no copy to the host, no waiting."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import library_cases
import numpy as np
import pytest
from cuda_check import needs_ptx
from fake_arrays import functions, namespace
from fake_cupy import FakeCupy, cupy, fake_gpu
from library_cases import (
    AT_ONCE,
    LAYOUTS,
    MASKS,
    PRODUCTS,
    SORTS,
    TRANSFORMS,
    TYPED,
    UNORDERED,
    Program,
    cases,
    difference,
    numbers,
    regular,
)

import lazyfuse as lf
from lazyfuse.backends.cuda import at_once, library
from lazyfuse.errors import DeviceUnavailableError, UnfusedWarning
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.library import Elements, Request
from lazyfuse.ir.order import c_strides
from tests import submodule_calls

pytestmark = [pytest.mark.engine, needs_ptx]

#: What passes the host, or waits for the GPU.
HOST = {"sync", "download", "upload"}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    with fake_gpu(monkeypatch) as fake:
        yield fake


def run(gpu: FakeCupy, program: Program, *arrays: np.ndarray, called: str = "") -> Any:
    """Compare a program with NumPy; none of it passes the host. `called` has to be among CuPy's
    functions that it calls."""
    given = [lf.asarray(array) for array in arrays]
    gpu.calls.clear()
    gpu.called.clear()
    found = program(lf, *given)
    found._flush()
    assert not HOST & set(gpu.calls), gpu.calls
    assert not called or called in [name for name, _ in gpu.called]
    return same(found, program(np, *arrays))


def same(found: Any, expected: Any) -> Any:
    """Dtype, shape, strides and values."""
    values = lf.asnumpy(found)
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    if expected.size:
        pairs = zip(found.strides, expected.strides, expected.shape, strict=True)
        assert all(a == b for a, b, extent in pairs if extent > 1)
    exact = expected.dtype.kind not in "fc"
    np.testing.assert_allclose(values, expected, rtol=0 if exact else 1e-5, atol=0)
    return found


def on_host(gpu: FakeCupy, program: Program, *arrays: np.ndarray, because: str) -> None:
    """The program is NumPy's on the host, and `explain` says why."""
    found = program(lf, *map(lf.asarray, arrays))
    lines = [line for line in lf.explain(found).splitlines() if "on the host, by NumPy" in line]
    assert lines and because in lines[-1], lf.explain(found)
    same(found, program(np, *arrays))


# ---- what runs, and what is said


def layer(np: Any, x: Any, w: Any, bias: Any) -> Any:
    return np.maximum(x @ w + bias, 0)


def test_product_and_epilogue(gpu: FakeCupy) -> None:
    """Bias and activation are one kernel after the product; nothing is copied, nothing waits."""
    arrays = numbers(5, 4, dtype="f4"), numbers(4, 3, dtype="f4"), numbers(3, dtype="f4")
    lf.reset_stats()
    run(gpu, layer, *arrays, called="matmul")
    assert gpu.calls.count("launch") == 1
    stats = lf.stats()
    assert (stats.unfused, stats.device_calls, stats.kernels_launched) == (1, 1, 1)
    assert "a GPU's libraries answered 1" in lf.report()
    assert "cupy.matmul" in gpu.ranges
    text = lf.explain(layer(lf, *map(lf.asarray, arrays)))
    assert text.startswith("1 kernel on cuda:0, 1 library call")
    assert "library call on cuda:0: cupy.matmul" in text


def test_fused_functions(gpu: FakeCupy) -> None:
    """A replay under `fuse` stays on the GPU as well."""
    arrays = numbers(5, 4), numbers(4, 3), numbers(3)
    given = [lf.asarray(array) for array in arrays]
    fused = lf.fuse(lambda x, w, b: layer(lf, x, w, b))
    for _ in range(20):
        gpu.calls.clear()
        found = fused(*given)
        found._flush()
        assert not HOST & set(gpu.calls)
    same(found, layer(np, *arrays))


def test_streams(gpu: FakeCupy) -> None:
    """Libraries work on the current stream."""
    x = lf.asarray(numbers(4, 4))
    for gpu.stream.ptr in (7, 9):
        (x @ x)._flush()
    assert [stream for _, stream in gpu.called] == [7, 9]


# ---- products


@pytest.mark.parametrize("dtype", ["f8", "c16", "i4"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(gpu: FakeCupy, name: str, dtype: str) -> None:
    """All of them are `cupy.matmul`."""
    program, left, right = PRODUCTS[name]
    run(gpu, program, numbers(*left, dtype=dtype), numbers(*right, dtype=dtype), called="matmul")


@pytest.mark.parametrize("dtype", "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
def test_dtypes(gpu: FakeCupy, dtype: str) -> None:
    run(gpu, lambda np, a, b: a @ b, numbers(4, 6, dtype=dtype), numbers(6, 5, dtype=dtype))


def test_float16_rounds_once(gpu: FakeCupy) -> None:
    """Products and sums are float32's, as NumPy's: neither rounds nor overflows in between."""
    a = np.array([300, 300, 0.1, 2049], "f2")
    b = np.array([300, -300, 0.1, 1], "f2")
    found = run(gpu, lambda np, a, b: a @ b, a, b, called="matmul")
    assert lf.asnumpy(found) == np.float16(np.dot(a.astype("f4"), b.astype("f4")))


def test_float16_sums_of_several_blocks(gpu: FakeCupy) -> None:
    """cuBLAS adds the parts of a sum in float32 as well; its mode is as before afterwards."""
    a = np.array([[300, 300, -300, 300], [0.1, 2049, 1, 1]], "f2")
    b = np.array([[300, 300], [300, 2], [300, -1], [-300, 1]], "f2")
    gpu.cuda.cublas.mode = 1
    found = run(gpu, lambda np, a, b: a @ b, a, b, called="matmul")
    assert lf.asnumpy(found)[0, 0] == 0
    assert gpu.cuda.cublas.mode == 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(gpu: FakeCupy, name: str) -> None:
    """Operands are seen where they lie: no kernel copies them before."""
    view = LAYOUTS[name]
    run(gpu, lambda np, x: view(np, x) @ view(np, x).T, numbers(6, 8), called="matmul")
    assert "launch" not in gpu.calls
    run(gpu, lambda np, x: np.fft.rfft(view(np, x), axis=0), numbers(6, 8), called="fft.rfft")
    run(gpu, lambda np, x: np.sort(view(np, x), axis=0), numbers(6, 8), called="sort")


def test_orders_of_results(gpu: FakeCupy) -> None:
    """A result lies as NumPy's does, whatever CuPy gives."""
    x = numbers(6, 4)
    run(gpu, lambda np, x: np.matmul(x, x.T, order="F"), x, called="matmul")
    run(gpu, lambda np, x: np.fft.fft(x.T, axis=0), x, called="fft.fft")
    run(gpu, lambda np, x: np.sort(x.T, axis=0), x, called="sort")


def test_outputs(gpu: FakeCupy) -> None:
    """`out=` is written on the GPU."""

    def program(np: Any, x: Any) -> Any:
        out = np.zeros((6, 6))
        np.matmul(x, x.T, out=out)
        np.dot(out, out, out=out)
        return out

    run(gpu, program, numbers(6, 4), called="matmul")


def test_mixed_dtypes(gpu: FakeCupy) -> None:
    """CuPy converts where that is exact; it flushes float32 denormals when it widens them."""
    program = lambda np, a, b: a @ b  # noqa: E731
    run(gpu, program, numbers(4, 6, dtype="i2"), numbers(6, 5), called="matmul")
    run(gpu, program, numbers(4, 6, dtype="f4"), numbers(6, 5, dtype="c8"), called="matmul")
    tiny = np.full((4, 6), 1e-40, "f4")
    on_host(gpu, program, tiny, numbers(6, 5), because="float32 denormals")


LEFT_TO_NUMPY: dict[str, tuple[Program, str]] = {
    "axes": (lambda np, a: np.matmul(a, a, axes=[(0, 1), (1, 0), (0, 1)]), "argument before"),
    "diagonal": (lambda np, a: np.einsum("ii,ij->ij", a, a), "no product of two operands"),
    "one operand": (lambda np, a: np.einsum("ij->i", a), "no product of two operands"),
    "three": (lambda np, a: np.einsum("ij,jk,kl", a, a, a), "no product of two operands"),
    "ellipsis": (lambda np, a: np.einsum("...j,jk", a, a), "no product of two operands"),
    "a lone sum": (lambda np, a: np.einsum("ij,jk->j", a, a), "no product of two operands"),
    "a broadcast": (lambda np, a: np.einsum("ij,jk->ik", a[:, :1], a), "broadcast"),
    "partition": (lambda np, a: np.partition(a, 2), "not known to be NumPy's"),
    "interp": (lambda np, a: np.interp(a, a[0] * 0, a[0]), "not known to be NumPy's"),
    "lexsort": (lambda np, a: np.lexsort((a, a)), "more than one axis"),
    "det": (lambda np, a: np.linalg.det(a.astype("f4")), "denormals"),
    "search": (lambda np, a: np.searchsorted(a[0].astype("f4"), a.astype("f4")), "denormals"),
    "accumulate": (lambda np, a: np.hypot.accumulate(a), "only NumPy has"),
}


@pytest.mark.parametrize("name", LEFT_TO_NUMPY)
def test_left_to_numpy(gpu: FakeCupy, name: str) -> None:
    """What is not known to be equal runs in NumPy, and `explain` says why."""
    program, because = LEFT_TO_NUMPY[name]
    on_host(gpu, program, numbers(6, 6), because=because)


def test_no_elements(gpu: FakeCupy) -> None:
    """Results without elements need no library; operands without are NumPy's."""
    run(gpu, lambda np, a, b: a @ b, numbers(0, 6), numbers(6, 5))
    run(gpu, lambda np, a, b: a @ b, numbers(6, 0).T, numbers(6, 5))
    assert gpu.called == []
    on_host(gpu, lambda np, a, b: a @ b, numbers(4, 0), numbers(0, 5), because="no elements")


SIZES = [
    ("matmul", (1 << 20, 1 << 20), "f4", True),
    ("matmul", (1 << 31, 2), "f4", False),
    ("matmul", (1 << 16, 1 << 16, 1 << 10), "f4", True),
    ("matmul", (1 << 16, 1 << 16, 8, 8), "f4", False),
    ("matmul", (1 << 20, 1 << 20), "i4", False),
    ("dot", (1 << 20, 1 << 20), "f8", True),
    ("inner", (1 << 11, 1 << 11, 1 << 11), "f8", False),
]


@pytest.mark.parametrize("name, shape, dtype, fits", SIZES)
def test_large_arrays(name: str, shape: tuple[int, ...], dtype: str, fits: bool) -> None:
    """What would count past 32 bits is left to NumPy; larger arrays are not."""
    item = Elements(dtype, Layout(shape, c_strides(shape), 0))
    reason = library.refusal(library.TABLE[name], Request(name), (item, item), item)
    assert reason == ("" if fits else "it counts further than 2**31 - 1")


# ---- transforms


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f2", "i4"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(gpu: FakeCupy, name: str, dtype: str) -> None:
    """Lengths, norms and axes; real parts of complex arrays are read where they lie."""
    x = numbers(6, 8, dtype=dtype)
    inner = [word for word in ("irfft", "rfft", "ifft", "fft") if word in f" {name}".split(",")[0]]
    gpu.called.clear()
    found = TRANSFORMS[name](lf, lf.asarray(x))
    expected = TRANSFORMS[name](np, x)
    found._flush()
    if not (dtype == "f2" and expected.dtype == "f2"):
        assert gpu.called, inner
    values = lf.asnumpy(found)
    assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
    scale = np.abs(expected).max() * np.finfo(expected.dtype).eps * 8
    np.testing.assert_allclose(values, expected, rtol=0, atol=scale)


def test_infinities_are_scaled_by_parts(gpu: FakeCupy) -> None:
    """The factor multiplies real and imaginary parts: inf * 0 is nowhere."""
    x = np.array([np.inf, 0, 0, 0], "c16")
    with np.errstate(all="ignore"):
        run(gpu, lambda np, x: np.fft.ifft(x), x, called="fft.ifft")


# ---- sorting and searching


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("name", SORTS)
def test_sorting(gpu: FakeCupy, name: str, dtype: str) -> None:
    """NaN is last, also one with a sign, along every axis; ties are stable. Many floats are sorted
    by their bits."""
    run(gpu, SORTS[name], UNORDERED.astype(dtype), called=name.split()[0].strip(","))
    by_bits = name == "sort many" and dtype != "c16"
    assert by_bits == ("where" in [function for function, _ in gpu.called])


def test_ties(gpu: FakeCupy) -> None:
    """Where nothing is equal, every sort gives the same places; only that is waited for. What is
    equal, NaNs among it, NumPy sorts."""
    distinct = np.array([[3.0, 1.0, np.nan, -2.0], [0.0, np.inf, 5.0, 4.0]])
    for values, is_numpys in ((distinct, False), (UNORDERED, True), (distinct * np.nan, True)):
        for axis in (0, 1):
            given = lf.asarray(values)
            gpu.calls.clear()
            found = lf.argsort(given, axis)
            found._flush()
            same(found, np.argsort(values, axis))
            assert "argsort" in gpu.calls and "sync" in gpu.calls
            assert ("upload" in gpu.calls) == is_numpys
    lf.reset_stats()
    lf.argsort(lf.asarray(distinct))._flush()
    assert (lf.stats().unfused, lf.stats().device_calls) == (1, 1)


def test_sorting_by_keys(gpu: FakeCupy) -> None:
    keys = numbers(3, 40, dtype="i8") % 3
    run(gpu, lambda np, k: np.lexsort((k[0], k[1], k[2])), keys, called="lexsort")


def test_searching(gpu: FakeCupy) -> None:
    """Places in sorted arrays, NaN included, from both sides."""
    a = np.array([-1.0, 0.0, 0.0, 2.0, 2.0, 5.0, np.nan, np.nan])
    v = np.array([[0.0, 2.0, 9.0], [-3.0, np.nan, 5.0]])
    for side in ("left", "right"):
        run(gpu, lambda np, a, v: np.searchsorted(a, v, side), a, v, called="searchsorted")  # noqa: B023


@pytest.mark.parametrize("name", MASKS)
def test_masks(gpu: FakeCupy, name: str) -> None:
    """Only the count of a mask is waited for, which the shape of the result needs; the list of
    its places is made on the GPU."""
    x = numbers(48)
    given = lf.asarray(x)
    found = MASKS[name](lf, given)
    gpu.calls.clear()
    found._flush()
    assert not HOST & set(gpu.calls)
    expected = MASKS[name](np, x)
    assert np.array_equal(lf.asnumpy(found), expected) and found.dtype == expected.dtype


# ---- typed views


@pytest.mark.parametrize("name", TYPED)
def test_typed_views(gpu: FakeCupy, name: str) -> None:
    """Bytes are copied on the GPU, and read as another dtype."""
    run(gpu, TYPED[name], numbers(48))


def test_writing_through_typed_views(gpu: FakeCupy) -> None:
    """Elements that lie across those of the array are written on the GPU; what is written twice is
    left to NumPy, which does that in order."""

    def program(np: Any, x: Any) -> Any:
        y = x * 1
        y.view("u4")[1::3] = 7
        return y

    run(gpu, program, numbers(48))

    def twice(np: Any, x: Any) -> Any:
        y = x * 1
        np.lib.stride_tricks.as_strided(y, (5, 4), (8, 8))[...] = x[:20].reshape(5, 4)
        return y

    on_host(gpu, twice, numbers(48), because="last write")


# ---- computed at once


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("name", AT_ONCE)
def test_computed_at_once(gpu: FakeCupy, name: str, dtype: str) -> None:
    """What can fail waits for its status; arrays stay where they are."""
    program, called = AT_ONCE[name]
    x = regular(dtype)
    given = lf.asarray(x)
    gpu.calls.clear()
    lf.reset_stats()
    found = program(lf, given)
    assert called in gpu.calls and "sync" in gpu.calls
    assert not {"download", "upload"} & set(gpu.calls)
    stats = lf.stats()
    assert stats.fallbacks == 1 and stats.device_calls >= 1
    expected = program(np, x)
    tolerance = np.finfo(expected.dtype).eps * 64
    values = lf.asnumpy(found)
    assert (values.dtype, found.strides) == (expected.dtype, expected.strides)
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)
    found += 1  # it is an array as any other
    np.testing.assert_allclose(lf.asnumpy(found), expected + 1, rtol=tolerance, atol=tolerance)


FAILING: dict[str, tuple[Program, np.ndarray]] = {
    "singular": (lambda np, a: np.linalg.inv(a), np.ones((3, 3))),
    "no solution": (lambda np, a: np.linalg.solve(a, a[0]), np.zeros((3, 3))),
    "not positive": (lambda np, a: np.linalg.cholesky(a), -np.eye(3)),
    "not square": (lambda np, a: np.linalg.inv(a), np.ones((3, 2))),
    "no matrix": (lambda np, a: np.linalg.svdvals(a), np.ones(3)),
    "shapes": (lambda np, a: np.linalg.solve(a, a[:2]), np.eye(3)),
    "a letter": (lambda np, a: np.linalg.eigvalsh(a, "X"), np.eye(3)),
    "float16": (lambda np, a: np.linalg.inv(a), np.eye(3, dtype="f2")),
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_numpys(gpu: FakeCupy, name: str) -> None:
    """In NumPy's words, raised by NumPy."""
    program, x = FAILING[name]
    with pytest.raises((np.linalg.LinAlgError, ValueError, TypeError)) as wanted:
        program(np, x)
    with pytest.raises(type(wanted.value)) as found:
        program(lf, lf.asarray(x))
    assert str(found.value) == str(wanted.value)


def test_what_is_not_finite_is_numpys(gpu: FakeCupy) -> None:
    """NaN goes through as it does in NumPy."""
    x = np.array([[np.nan, 1.0], [1.0, 2.0]])
    gpu.calls.clear()
    found = lf.linalg.inv(lf.asarray(x))
    assert "download" in gpu.calls
    assert np.array_equal(lf.asnumpy(found), np.linalg.inv(x), equal_nan=True)


def test_free_choices_are_numpys(gpu: FakeCupy) -> None:
    """Signs of vectors, and the order of equal floats, belong to the library."""
    x = lf.asarray(regular())
    for act in (lf.linalg.eigh, lf.linalg.svd, lf.linalg.qr, lf.unique):
        gpu.calls.clear()
        act(x)
        assert "download" in gpu.calls


def test_unique(gpu: FakeCupy) -> None:
    """Integers: every result, bit for bit."""
    x = numbers(6, 8, dtype="i4") % 5
    given = lf.asarray(x)
    gpu.calls.clear()
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    found, expected = lf.unique(given, **options), np.unique(x, **options)
    assert "download" not in gpu.calls
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and np.array_equal(lf.asnumpy(mine), theirs)


def test_policy(gpu: FakeCupy) -> None:
    """`options(fallback="error")` refuses what is not recorded, on a GPU as well."""
    x = lf.asarray(regular())
    with lf.options(fallback="error"):
        with pytest.raises(lf.FallbackError, match="inv is not native"):
            lf.linalg.inv(x)
        (x @ x)._flush()


# ---- faults


def test_every_gpu_calls_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries run on the GPU of the operands, whichever is current; operands of two do not
    mix."""
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        x = lf.asarray(regular(), device="cuda:1")
        found = lf.fft.fft(lf.sort(x @ x))
        values = lf.asnumpy(found)
        assert gpu.current == 0
        assert np.allclose(values, np.fft.fft(np.sort(regular() @ regular())))
        assert {gpu.places[at] for at, name in enumerate(gpu.calls) if name == "matmul"} == {1}
        assert np.allclose(lf.asnumpy(lf.linalg.inv(x)), np.linalg.inv(regular()))
        with pytest.raises(ValueError, match=r"different devices \(cuda:0, cuda:1\)"):
            lf.asarray(regular()) @ x


def test_out_of_memory(gpu: FakeCupy) -> None:
    """The error names the call; the trace is kept and runs when there is room."""
    x, y = lf.asarray(numbers(40, 40)), lf.asarray(regular())
    found = x @ x
    gpu.limit = gpu.used + 100
    with pytest.raises(MemoryError, match=r"cuda:0 has no memory left for cupy.matmul"):
        lf.materialize(found)
    with pytest.raises(MemoryError, match=r"cupy.linalg.inv"):
        lf.linalg.inv(y)
    gpu.limit = None
    same(found, numbers(40, 40) @ numbers(40, 40))


MISSING: dict[str, tuple[str, Callable[[FakeCupy], None]]] = {
    "no function": ("no attribute 'matmul'", lambda gpu: delattr(gpu, "matmul")),
    "no library": (
        r"libcublas.*\[ctk\]",
        lambda gpu: gpu.faults.update(matmul=ImportError("libcublas.so.13")),
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_libraries(gpu: FakeCupy, name: str) -> None:
    """NumPy computes, with one warning that says what to install; `explain` tells from then on."""
    x = lf.asarray(numbers(4, 4))
    cure, plant = MISSING[name]
    plant(gpu)
    with pytest.warns(UnfusedWarning, match=rf"cupy.matmul cannot be called on cuda:0.*{cure}"):
        same(x @ x, numbers(4, 4) @ numbers(4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(x @ x, numbers(4, 4) @ numbers(4, 4))
    gpu.calls.clear()
    again = x @ x @ x
    assert "on the host, by NumPy: " in lf.explain(again)
    lf.materialize(again)
    assert "matmul" not in gpu.calls


def test_library_errors(gpu: FakeCupy) -> None:
    """What a library reports is warned of, and NumPy computes; the next call asks it again."""
    x = lf.asarray(numbers(4, 4))
    gpu.faults["matmul"] = RuntimeError("CUBLAS_STATUS_NOT_SUPPORTED")
    with pytest.warns(UnfusedWarning, match="CUBLAS_STATUS_NOT_SUPPORTED"):
        same(x @ x, numbers(4, 4) @ numbers(4, 4))
    run(gpu, lambda np, x: x @ x, numbers(4, 4), called="matmul")


def test_cuda_errors(gpu: FakeCupy) -> None:
    """An error of CUDA itself says what to do, as everywhere."""
    x = lf.asarray(numbers(4, 4))
    gpu.faults["matmul"] = cupy.cuda.runtime.CUDARuntimeError(700)
    with pytest.raises(DeviceUnavailableError, match="cuda:0 failed.*start the process again"):
        lf.materialize(x @ x)
    gpu.faults["linalg.inv"] = cupy.cuda.runtime.CUDARuntimeError(700)
    with pytest.raises(DeviceUnavailableError, match="cuda:0 failed.*start the process again"):
        lf.linalg.inv(x)


# ---- all of NumPy's functions


TABLES = {"linalg": submodule_calls.LINALG, "fft": submodule_calls.FFT}
EVERY = [
    pytest.param(module, name, line, id=f"{name} {line}")
    for module, table in TABLES.items()
    for name, lines in table.items()
    if name != "tensordot"  # whose example is refused
    for line in lines
]


@pytest.mark.parametrize("module, name, line", EVERY)
def test_submodules(gpu: FakeCupy, module: str, name: str, line: str) -> None:
    """Each function of `linalg` and `fft` gives NumPy's answer, wherever it runs."""
    values = submodule_calls.arrays()
    found = eval(line, {"f": getattr(getattr(lf, module), name), **_each(lf.asarray, values)})
    expected = eval(line, {"f": getattr(getattr(np, module), name), **values})
    for mine, theirs in zip(_several(found), _several(expected), strict=True):
        given = lf.asnumpy(mine)
        assert (given.dtype, given.shape) == (np.asarray(theirs).dtype, np.shape(theirs))
        np.testing.assert_allclose(given, theirs, rtol=1e-4, atol=1e-4)


def _each(function: Callable[[Any], Any], values: dict[str, Any]) -> dict[str, Any]:
    return {name: function(value) for name, value in values.items()}


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_gpu_check(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part of `scripts/gpu_check` that compares library calls, one case in seven; a wrong
    answer is seen, and so is one that NumPy gave.
    """
    script = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check"
    loader = SourceFileLoader("gpu_check", str(script))
    module = module_from_spec(spec_from_loader("gpu_check", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    some = [*cases()][::7]
    monkeypatch.setattr(library_cases, "cases", lambda: iter(some))
    found = module.check_library()
    assert found == {"programs": len(some), "on_host": 0, "wrong": []}
    bad = functions(gpu, SimpleNamespace(matmul=lambda a, b: np.matmul(a, b) + 1), "matmul")
    monkeypatch.setattr(gpu, "matmul", bad["matmul"])
    assert len(module.check_library()["wrong"]) > 20
    monkeypatch.delattr(gpu, "matmul")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfusedWarning)
        assert module.check_library()["on_host"] > 20


def test_differences() -> None:
    """Sums may differ in their last bits, and nothing else."""
    x = np.array([1.0, 2.0, 1e3])
    assert difference(x * (1 + 1e-9), x) and not difference(x * (1 + 1e-15), x)
    assert difference(x.astype("f4"), x) and difference(np.arange(3), np.arange(3) + 1)
    assert difference(x, x * np.nan) and not difference(x * np.nan, x * np.nan)


# ---- the table


def test_functions_are_cupys() -> None:
    """CuPy has every function that the rows name, and those that the fake has."""
    named = {call for row in library.TABLE.values() for call in row.calls}
    named |= {row.call for row in at_once.TABLE.values()}
    known: set[str] = set()
    for name, value in namespace(FakeCupy()).items():
        known |= {f"{name}.{x}" for x in vars(value)} if not callable(value) else {name}
    assert named <= known | {"ndarray"}
    for call in known:
        assert callable(attrgetter(call)(cupy)), call


def test_table_is_documented() -> None:
    """docs/cuda.md has a line for each row."""
    text = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    lines = [
        f"| `{name}` | `{row.calls[0]}` | {row.by} | {row.dtypes} | {row.equal} |"
        for name, row in library.TABLE.items()
    ]
    lines += [
        f"| `{name}` | `{row.call}` | {row.by} | {row.dtypes} | {row.equal} |"
        for name, row in at_once.TABLE.items()
    ]
    missing = [line for line in lines if line not in text]
    assert not missing, "\n".join(missing)
