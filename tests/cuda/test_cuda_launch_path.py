"""The launch path on a fake GPU: which calls wait, what is launched, and what faults say."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_cases import elementwise_case
from cuda_check import import_build, needs_ptx
from cuda_kernels import fold_case, positive
from fake_cupy import FakeCupy, cupy, fake_gpu, forget

import lazyfuse as lf
from lazyfuse.backends.cuda import CudaBackend
from lazyfuse.errors import DeviceUnavailableError, UnfusedWarning
from lazyfuse.runtime.ready import RUNS

pytestmark = [pytest.mark.engine, needs_ptx]
N = 3000


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    with fake_gpu(monkeypatch) as fake:
        yield fake


def cuda_error(number: int) -> Exception:
    """An error as cupy raises it."""
    error: Exception = cupy.cuda.runtime.CUDARuntimeError(number)
    return error


# ---- which calls wait


def test_recording_and_running_never_wait(gpu: FakeCupy) -> None:
    """Operations, reductions, writes and runs that a budget starts: only launches, copies on the
    GPU and allocations.
    """
    x = lf.array(np.arange(float(N)))
    gpu.calls.clear()
    with lf.options(max_pending_nodes=4):
        y = x
        for step in range(10):
            y = y * 1.5 + step
        y[::2] -= x[::2]
        total = (y * 2).sum() + y.max()
    assert "launch" in gpu.calls
    assert set(gpu.calls) <= {"launch", "alloc", "load", "copy", "memset_async"}
    expected = np.arange(float(N))
    for step in range(10):
        expected = expected * 1.5 + step
    expected[::2] -= np.arange(float(N))[::2]
    assert np.isclose(float(total), (expected * 2).sum() + expected.max(), rtol=1e-12)


READS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "upload": (lambda x: lf.array(np.arange(float(N))), 1),
    "asnumpy": (lambda x: lf.asnumpy(x * 2), 1),
    "float": (lambda x: float((x + 1).sum()), 1),
    "materialize": (lambda x: lf.materialize(x * 3, x * 4), 1),
    "record": (lambda x: x * 5, 0),
}


@pytest.mark.parametrize("name", READS)
def test_reading_waits_once(gpu: FakeCupy, name: str) -> None:
    """`asnumpy`, `float` and `materialize` wait for the stream once each; uploading does, for the
    array may change afterwards.
    """
    act, waits = READS[name]
    x = lf.array(np.arange(float(N)))
    gpu.calls.clear()
    act(x)
    assert gpu.calls.count("sync") == waits


def test_a_cached_launch_prepares_nothing(gpu: FakeCupy) -> None:
    """The second run of a trace compiles and loads nothing: one allocation, one launch."""
    x = lf.array(np.arange(float(N)))
    for _ in range(2):
        gpu.calls.clear()
        y = x * 2 + 1
        lf.materialize(y)
    assert gpu.calls == ["alloc", "launch", "sync"]


def test_work_goes_to_the_current_stream(gpu: FakeCupy) -> None:
    """As cupy's does."""
    x = lf.array(np.arange(float(N)))
    gpu.stream.ptr = 7
    lf.materialize(x + 1)
    gpu.stream.ptr = 9
    lf.materialize(x + 1)
    assert [stream for _, stream in gpu.launched] == [7, 9]


def test_every_gpu_works_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, modules and launches of an array belong to its GPU, whichever is current; an
    operation that fails leaves the current one as it was.
    """
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        x = lf.array(np.arange(float(N)), device="cuda:1")
        total = (x * 2 + 1).sum()
        assert np.array_equal(lf.asnumpy(x - 1), np.arange(float(N)) - 1)
        assert float(total) == N * N and "launch" in gpu.calls
        assert {
            p for p, c in zip(gpu.places, gpu.calls, strict=True) if c != "getDeviceCount"
        } == {1}
        gpu.faults["launch"] = cuda_error(700)
        with pytest.raises(DeviceUnavailableError, match="cuda:1 failed"):
            lf.materialize(x * 3)
        assert gpu.current == 0
        with pytest.raises(ValueError, match=r"different devices \(cuda:0, cuda:1\)"):
            lf.array([1.0]) + x


@pytest.mark.parametrize("current", range(2))
@pytest.mark.parametrize("fused", [False, True])
def test_known_runs_stay_on_their_gpu(
    monkeypatch: pytest.MonkeyPatch, current: int, fused: bool
) -> None:
    """Replays, and plans that machine code runs: whichever GPU is current, also when they fail."""
    with fake_gpu(monkeypatch, gpus=2) as gpu, gpu.cuda.Device(current):
        program = (lambda x: x * 2 + 1) if not fused else lf.fuse(lambda x: x * 2 + 1)
        x = lf.array(np.arange(float(N)), device="cuda:1")
        for _ in range(RUNS + 4):
            gpu.calls.clear()
            gpu.places.clear()
            lf.materialize(program(x))
        assert gpu.calls == ["alloc", "launch", "sync"] and set(gpu.places) == {1}
        gpu.faults["launch"] = cuda_error(700)
        with pytest.raises(DeviceUnavailableError, match="cuda:1 failed"):
            lf.materialize(program(x))
        assert gpu.current == current
        assert np.array_equal(lf.asnumpy(program(x)), np.arange(float(N)) * 2 + 1)


def test_a_gpu_that_fails_between_memory_and_launch_is_named(gpu: FakeCupy) -> None:
    """CUDA reports earlier kernels wherever it is asked: also which GPU is current."""
    faults: list[Exception] = []
    asked: list[int] = []

    def device_now() -> int:
        asked.append(gpu.current)
        if faults and len(asked) == 2:  # for memory, and then for the launch
            raise faults.pop()
        return gpu.current

    gpu.cuda.runtime.getDevice = device_now
    program = lf.fuse(lambda x: x * 2 + 1)
    x = lf.array(np.arange(float(N)))
    for _ in range(4):
        program(x)
    asked.clear()
    faults.append(cuda_error(700))
    with pytest.raises(DeviceUnavailableError, match="cuda:0 failed"):
        program(x)
    assert not faults and np.array_equal(lf.asnumpy(program(x)), np.arange(float(N)) * 2 + 1)


def test_gpus_of_one_kind_load_a_kernel_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module belongs to one GPU, and so do its launches."""
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        for number in range(2):
            x = lf.array(np.arange(float(N)), device=f"cuda:{number}")
            gpu.calls.clear()
            gpu.places.clear()
            lf.materialize(x * 2)
            assert set(gpu.places) == {number} and "load" in gpu.calls


def test_kernels_and_ranges_have_readable_names(
    gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profiler shows the operations as the name of the kernel, and a range around it. Without
    one, nobody pays for ranges."""
    monkeypatch.setenv("NVTX_INJECTION64_PATH", "libprofiler.so")
    x = lf.array(np.arange(float(N)))
    lf.materialize(lf.exp(x * 2))
    ((name, _),) = gpu.launched
    assert name.startswith("lf_multiply_exp")
    assert gpu.ranges == [name]
    monkeypatch.delenv("NVTX_INJECTION64_PATH")
    lf.materialize(lf.exp(x * 3 + 1))
    assert len(gpu.launched) == 2 and gpu.ranges == [name]


def test_cubins_are_kept_on_disk(gpu: FakeCupy, tmp_path: Path) -> None:
    """The next process loads what this one compiled; another strategy is another kernel."""
    with lf.options(disk_cache=True, cache_dir=str(tmp_path)):
        x = lf.array(np.arange(float(N)))
        expected = lf.asnumpy(x * 2 + 1)
        forget()
        lf.reset_stats()
        x = lf.array(np.arange(float(N)))
        assert np.array_equal(lf.asnumpy(x * 2 + 1), expected)
        assert (lf.stats().kernels_compiled, lf.stats().kernels_loaded) == (0, 1)
        with lf.options(cuda_strategy="strided"):
            assert np.array_equal(lf.asnumpy(x * 2 + 1), expected)
        assert (lf.stats().kernels_compiled, lf.stats().kernels_loaded) == (1, 1)


# ---- faults


def test_out_of_memory(gpu: FakeCupy) -> None:
    """The error says how much and what to do, the trace is kept, memory is given back, and the
    same arrays come out once there is room.
    """
    x = lf.array(np.arange(float(N)))
    y = lf.sqrt(x) + 1
    z = lf.sort(y)[::-1] * 2
    gpu.limit = gpu.used + N * 8  # for y, not for its sorted copy
    held = gpu.used
    with pytest.raises(MemoryError, match=r"cuda:0 has no .*24,000 bytes.*delete arrays"):
        lf.materialize(z)
    gc.collect()
    assert gpu.used == held
    gpu.limit = None
    expected = np.sort(np.sqrt(np.arange(float(N))) + 1)[::-1] * 2
    assert np.array_equal(lf.asnumpy(z), expected)
    assert np.array_equal(lf.asnumpy(x), np.arange(float(N)))


def test_a_kernel_that_nvrtc_refuses(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs op by op, with a warning that names the operations and the line, the file with the
    source, and the compiler's words.
    """
    from lazyfuse.backends.cuda import render_elementwise

    plain = render_elementwise.with_prelude
    monkeypatch.setattr(render_elementwise, "with_prelude", lambda text: plain(text) + "oops\n")
    pending = lf.array(np.arange(float(N))) * 2 + 1
    with pytest.warns(UnfusedWarning) as caught:
        values = lf.asnumpy(pending)
    assert np.array_equal(values, np.arange(float(N)) * 2 + 1)
    text = str(caught[0].message)
    assert (
        "multiply, add" in text
        and os.path.basename(__file__) in text
        and "errors detected" in text
    )
    path = text.partition("source: ")[2].partition("\n")[0]
    assert Path(path).read_text().endswith("oops\n")
    Path(path).unlink()


def test_a_kernel_that_cupy_refuses(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """cupy compiles at the first launch; own text takes over, once and for all."""
    from lazyfuse.backends.cuda import cupy_kernels

    attempts = []

    def refuse(*args: Any) -> None:
        attempts.append(args)
        raise cupy.cuda.compiler.CompileException("no", "source", "name", (), "nvrtc")

    monkeypatch.setattr(cupy_kernels, "_elementwise", lambda kernel, text: refuse)
    with lf.options(cuda_strategy="ElementwiseKernel"):
        x = lf.array(np.arange(float(N)))
        for _ in range(2):
            y = x * x + 1
            assert "strategy ElementwiseKernel" in lf.explain(y)
            assert np.array_equal(lf.asnumpy(y), np.arange(float(N)) ** 2 + 1)
    assert len(attempts) == 1 and len(gpu.launched) == 2


def test_refused_writes_run_op_by_op(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """In-place operations too: what a kernel would write into is at hand for NumPy."""

    def refuse(*args: Any) -> Any:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(CudaBackend, "compile", refuse)

    def program(xp: Any) -> Any:
        x = xp.arange(12.0)
        y = x * 2
        x[xp.array([1, 1, 2])] = 7
        x[4:] += y[:-4]
        x[1:] = x[:-1]
        y[xp.array([], dtype="i8")] *= x[:0]
        return x, y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfusedWarning)
        found = [lf.asnumpy(array) for array in program(lf)]
    for own, theirs in zip(found, program(np), strict=True):
        assert np.array_equal(own, theirs)


@pytest.mark.parametrize("call", ["launch", "sync", "download", "alloc"])
def test_a_device_that_vanishes(gpu: FakeCupy, call: str) -> None:
    """Wherever CUDA says so, the error names the device and what to do."""
    x = lf.array(np.arange(float(N)))
    y = x * 2
    lf.materialize(x + 1)
    gpu.faults[call] = cuda_error(700)
    with pytest.raises(DeviceUnavailableError, match="cuda:0 failed.*illegal.*start the process"):
        lf.asnumpy(y)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said when the device is asked for."""
    from lazyfuse.backends.cuda import backend

    forget()
    monkeypatch.setattr(backend, "has_driver", lambda: False)
    with pytest.raises(DeviceUnavailableError, match="no NVIDIA driver is installed"):
        lf.array([1.0], device="cuda")


@pytest.mark.parametrize("number, words", [(35, "lazyfuse[cuda12]"), (100, "nvidia-smi")])
def test_unusable_drivers(gpu: FakeCupy, number: int, words: str) -> None:
    """One that is too old for the installed CUDA, and one that sees no GPU."""
    gpu.faults["getDeviceCount"] = cuda_error(number)
    usable, reason = CudaBackend.available()
    assert not usable and words in reason


def test_cuda_that_does_not_know_the_gpu(gpu: FakeCupy) -> None:
    """A cubin that the driver does not load: said with what to install, then op by op."""
    gpu.faults["load"] = cuda_error(209)
    pending = lf.array(np.arange(float(N))) * 3 - 1.5 / 7
    with pytest.warns(UnfusedWarning, match=r"install lazyfuse\[cuda13\]"):
        assert lf.asnumpy(pending)[2] == 6 - 1.5 / 7


def test_nvrtc_of_another_version(gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cupy raises when it cannot load NVRTC."""
    build = import_build()

    def missing() -> str:
        raise RuntimeError("libnvrtc.so.13: cannot open shared object file")

    monkeypatch.setattr(build, "nvrtc_version", missing)
    with pytest.raises(DeviceUnavailableError, match="NVRTC does not load.*libnvrtc.*install"):
        CudaBackend()


def test_a_gpu_that_there_is_not(gpu: FakeCupy) -> None:
    """cuda:3 on a machine with one."""
    with pytest.raises(DeviceUnavailableError, match=r"cuda:3 failed.*lazyfuse\.devices\(\)"):
        lf.array([1.0], device="cuda:3")


def gpu_check() -> Any:
    """The script as a module."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check"
    loader = SourceFileLoader("gpu_check", str(script))
    module = module_from_spec(spec_from_loader("gpu_check", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def test_gpu_check_runs_every_strategy(
    gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The part of `scripts/gpu_check` that compares kernels, on a few that cupy may not have."""
    module = gpu_check()
    x = positive(40, 60)
    cases = [
        fold_case("largest", x, "maximum", x.max(1), 1),
        elementwise_case("doubled", [x], lambda b, p: p + p, [x + x]),
    ]
    cases[0].expected[0] = np.repeat(x.max(1)[:, None], 60, 1)
    monkeypatch.setattr(module, "all_cases", lambda: iter(cases))
    monkeypatch.setattr(module, "workers", lambda: 1)
    found = module.check_kernels()
    assert found.pop("wrong") == []
    ran = {name for name, count in found.items() if count}
    assert ran == {
        *("own", "vectorized", "strided"),
        *("rows-by-warp", "rows-by-block", "columns", "one-pass"),
    }
    cases[0].expected[0][3, 7] += 1
    assert len(module.check_kernels()["wrong"]) == 5


def test_gpu_check_calibrates_the_interpreter(gpu: FakeCupy) -> None:
    """Its bits are the fake's, which is the interpreter too; another bit would be counted."""
    module = gpu_check()
    found = module.calibrate(seconds=3.0)
    assert found["same"] > 0 and found["differ"] == {}
    x = np.array([[1.0, 0.0, np.nan], [2.0, -1.0, 3.0]])
    assert module.count_apart(x, x.copy()) == 0
    assert module.count_apart(x, np.where(x == 0, -x, x)) == 1
    assert module.count_apart(x.astype("c16"), x.astype("c16") * -1) == 5
