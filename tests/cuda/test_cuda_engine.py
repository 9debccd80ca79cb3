"""The whole engine on the CUDA text: the named programs, planned for a GPU.

Each kernel that the engine plans is compiled by NVRTC for one of three architectures, with
`--full` for all, and the same text runs on the CPU through the host shim against NumPy. Sums are
trees there, so floats get a bound in units of the largest result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from cuda_check import ARCHITECTURES, import_build

import lazyfuse as lf
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.ir.kernel import Kernel
from lazyfuse.runtime import executor
from tests.programs import examples

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not CudaHostBackend.available()[0], reason=CudaHostBackend.available()[1]),
]
EXAMPLES = examples()
#: Distance to NumPy in eps of the largest result: tree sums of up to some thousands of terms, and
#: two implementations of exp and log.
BOUND = 256


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Kernel, str]]]:
    """The kernels that the engine compiles during the test."""
    kernels: list[tuple[Kernel, str]] = []
    original = executor.executable

    def executable(kernel: Kernel, backend: Any, name: str) -> Any:
        kernels.append((kernel, name))
        return original(kernel, backend, name)

    monkeypatch.setattr(executor, "executable", executable)
    lf.cache_clear()
    yield kernels


@pytest.mark.parametrize("name", EXAMPLES)
def test_programs(name: str, planned: list[tuple[Kernel, str]], full: bool) -> None:
    """Right answers from the text, and a cubin of each kernel."""
    example = EXAMPLES[name]
    expected = _tuple(example.program(np, *(array.copy() for array in example.arrays)))
    with lf.options(device="cuda-host", disk_cache=False):
        lazy = [lf.array(array) for array in example.arrays]
        got = _tuple(example.program(lf, *lazy))
        lf.materialize(got)
        assert all(array.device == "cuda-host" for array in got)
        values = [lf.asnumpy(array) for array in got]
    for own, theirs in zip(values, expected, strict=True):
        _compare(own, np.asarray(theirs))
    assert planned, "nothing was compiled"
    for kernel, label in planned:
        _compile_for_gpus(kernel, label, full)


def test_writes_and_views() -> None:
    """Aliasing does not depend on the device."""

    def program(xp: Any) -> Any:
        x = xp.array(np.arange(24.0).reshape(4, 6))
        before = x * 2
        x[1:] += x[:-1]
        x.T[0] = -1
        return x + before[::-1]

    with lf.options(device="cuda-host"):
        got = lf.asnumpy(program(lf))
    assert np.array_equal(got, program(np))


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _compare(own: np.ndarray, theirs: np.ndarray) -> None:
    assert (own.shape, own.dtype) == (theirs.shape, theirs.dtype)
    if theirs.dtype.kind not in "fc":
        assert np.array_equal(own, theirs)
        return
    largest = np.abs(theirs).max() if theirs.size else 0
    error = np.abs(own - theirs).max() if theirs.size else 0
    assert error <= BOUND * np.finfo(theirs.dtype).eps * largest


def _compile_for_gpus(kernel: Kernel, label: str, full: bool) -> None:
    build = import_build()
    program = render_own(kernel, label)
    one = crc32(program.source.encode()) % len(ARCHITECTURES)
    for architecture in ARCHITECTURES if full else (ARCHITECTURES[one],):
        cubin, _ = build.build_cubin(program.source, architecture)
        assert cubin


def test_indexing(planned: list[tuple[Kernel, str]], full: bool) -> None:
    """Loads and stores through an index; the last of several values stays."""

    def program(xp: Any) -> tuple[Any, ...]:
        x = xp.array(np.arange(24.0).reshape(4, 6))
        rows, mask = xp.array(np.array([3, -4, 1])), x % 3 == 0
        y, z = x * 1, x * 1
        y[rows] = -1
        y[mask] += 5
        y[[0, 1], [2, 3]] = y[[1, 0], [3, 2]]
        z[mask] = 0
        last, lines = xp.zeros(5, "f4"), xp.zeros((3, 4))
        last[xp.array(np.array([1, 1, 1, 2] * 500))] = xp.arange(2000.0)
        lines[xp.array(np.array([1, 1, 2, 1] * 100)), 1:] = xp.arange(1200.0).reshape(400, 3)
        taken = xp.take(x, [1, 2], axis=1)
        xp.add.at(taken, [0, 0], 1.0)
        taken[0, 0] = 9
        folds = x[mask].sum(), x[rows].sum(axis=0), (x[:, rows] * 2).max(axis=1)
        picked = x[rows] * 2 + 1, x[:, rows], x[mask], mask[rows], (x + 1j)[rows]
        return (*folds, *picked, y, z, last, lines, taken, xp.nonzero(x > 3)[0])

    expected = program(np)
    with lf.options(device="cuda-host", disk_cache=False):
        values = [lf.asnumpy(array) for array in program(lf)]
    for own, theirs in zip(values, expected, strict=True):
        assert np.array_equal(own, theirs)
    texts = [kernel.text for kernel, _ in planned]
    assert any("gather" in text for text in texts)
    assert any(" at v" in text for text in texts)
    for kernel, label in planned:
        _compile_for_gpus(kernel, label, full)


@pytest.mark.parametrize("view", ["whole", "part", "turned"])
@pytest.mark.parametrize("size", [12, 48_000])
def test_arrays_move_between_devices(size: int, view: str) -> None:
    """Small arrays as well, which on the CPU are NumPy's own: `to_device`, and `asarray`."""
    x = np.arange(float(size)).reshape(3, -1)
    parts = {"whole": lambda a: a, "part": lambda a: a[1:, ::2], "turned": lambda a: a.T}
    part = parts[view]
    with lf.options(device="cpu"):
        here = part(lf.asarray(x))
        for there in (here.to_device("cuda-host"), lf.asarray(here, device="cuda-host")):
            assert there.device == "cuda-host" and there.shape == here.shape
            assert np.array_equal(lf.asnumpy(there * 2), part(x) * 2)
            assert np.array_equal(there.to_device("cpu"), part(x))
        assert here.to_device("cpu") is here
