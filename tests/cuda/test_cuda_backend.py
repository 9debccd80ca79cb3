"""The backends as the runtime sees them: availability, memory, binaries, and launches on a
stand-in GPU.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from cuda_cases import elementwise_case, run_case
from cuda_check import import_build, mismatch, needs_host
from cuda_kernels import fold_case, normal, positive, softmax_case

import lazyfuse as lf
from lazyfuse.backends.cuda import CudaBackend
from lazyfuse.backends.cuda.executable import unpack_binary
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.program import PARAMETER_BYTES
from lazyfuse.backends.cuda.simulator import SimulatedBackend
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend, compiler
from lazyfuse.backends.cuda_host.runtime import HostRuntime
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.ir.kernel import Lanes

#: An H200 as geometry sees it.
H200 = Target(processors=132, block=256)


def test_available_never_raises() -> None:
    """With no driver, the answer is no, with the reason."""
    usable, reason = CudaBackend.available()
    assert isinstance(usable, bool) and reason


@pytest.mark.parametrize(
    "module",
    ["lazyfuse.backends.cuda", "lazyfuse.backends.cuda_host", "lazyfuse.backends.cuda_ptx"],
)
def test_importing_does_not_import_cupy(module: str) -> None:
    """cupy takes 0.4 s to import and may be absent."""
    program = f"import sys, {module}; sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@needs_host
def test_host_memory() -> None:
    """Copies in and out, aligned; the source may change afterwards."""
    backend = CudaHostBackend()
    source = np.arange(12, dtype="f4").reshape(3, 4)
    buffer = backend.from_host(source)
    source[:] = 0
    out = backend.to_host(buffer)
    np.testing.assert_array_equal(out.view("f4"), np.arange(12))
    assert (buffer.pointer % 64, buffer.nbytes, buffer.device, buffer.exclusive) == (
        0,
        48,
        "cuda-host",
        True,
    )
    assert backend.allocate(0).nbytes == 0


@needs_host
def test_libraries_have_shared_memory_of_their_own(tmp_path: Path) -> None:
    """Two kernels whose shared memory has one name and another size: the second does not see what
    the first left.
    """
    text = """
    template <class S> __device__ int* lf_place() { __shared__ S shared; return shared.words; }
    struct State { int words[SIZE]; };
    extern "C" __global__ void lf_swap_in(int* a) {
      int* place = lf_place<State>();
      const int before = *place; *place = *a; *a = before;
    }
    """
    found = []
    for size in (1, 4096):
        source = text.replace("SIZE", str(size))
        library = compiler.load_library(
            compiler.build_library(source, ["lf_swap_in"], tmp_path), tmp_path
        )
        function = HostRuntime(H200).functions(library, ["lf_swap_in"], source)["lf_swap_in"]
        value = np.full(1, 7, "i4")
        function((1, 1), (1, 1), [value.ctypes.data])
        found.append(int(value[0]))
    assert found == [0, 0]


@pytest.mark.parametrize("kind", [CudaHostBackend, CudaPtxBackend])
def test_load_from_binary(kind: type[SimulatedBackend]) -> None:
    """An executable made from `binary` computes the same, under any name."""
    if not kind.available()[0]:
        pytest.skip(kind.available()[1])
    backend = kind()
    case = fold_case("kept", positive(5, 40), "maximum", np.zeros(5), 1)
    case.expected[0] = np.repeat(case.arrays[0].max(1)[:, None], 40, 1)
    compiled = backend.compile(case.kernel, "first name")
    loaded = backend.load(case.kernel, "second name", compiled.binary)
    assert loaded.source == compiled.source
    assert mismatch(case, run_case(case, backend, loaded)) is None


@needs_host
def test_geometry_of_a_large_device() -> None:
    """The launch shapes of a 132-processor GPU, executed on the CPU."""
    backend = CudaHostBackend(H200)
    x = positive(300_000)
    cases = [
        fold_case("total", x, "maximum", x.max(), 0),
        softmax_case(normal(2, 40_000, dtype="f8"), Lanes.INNER, "f8"),
        softmax_case(normal(300, 70, dtype="f8"), Lanes.OUTER, None),
        elementwise_case("doubled", [x], lambda b, p: p + p, [x + x]),
    ]
    for case in cases:
        assert mismatch(case, run_case(case, backend)) is None


class StandInDevice:
    """Device without a GPU: takes cubins, counts launches, and runs the text of each on the host
    shim.
    """

    architecture, name, number, word = "90", "cuda:0", 0, int

    def __init__(self, number: int = 0) -> None:
        self.host = CudaHostBackend(H200)
        self.target = H200
        self.parameter_bytes = PARAMETER_BYTES
        self.cubins: list[bytes] = []
        self.programs: dict[str, object] = {}

    def use(self) -> AbstractContextManager[None]:
        return nullcontext()

    def allocate(self, nbytes: int):  # type: ignore[no-untyped-def]
        return self.host.allocate(nbytes)

    def workspace(self, nbytes: int, *, zeroed: bool):  # type: ignore[no-untyped-def]
        return self.host.runtime.workspace(nbytes, zeroed=zeroed)

    def table(self, words: np.ndarray):  # type: ignore[no-untyped-def]
        return self.host.runtime.table(words)

    def load(self, cubin: bytes, names):  # type: ignore[no-untyped-def]
        assert cubin.startswith(b"\x7fELF")
        self.cubins.append(cubin)
        return self.host.build([self.programs[names[0]]])[0].functions


@needs_host
def test_cuda_backend_on_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """CudaBackend compiles with NVRTC, loads, launches, reloads; only the device is exchanged."""
    import_build()
    from lazyfuse.backends.cuda import device

    monkeypatch.setattr(device, "Device", StandInDevice)
    backend = CudaBackend()
    x = positive(9, 500)
    case = fold_case("row max", x, "maximum", np.zeros(9), 1)
    case.expected[0] = np.repeat(x.max(1)[:, None], 500, 1)
    backend.gpu.programs["lf_row_max"] = render_own(case.kernel, "lf_row_max")
    with lf.options(cuda_strategy="own"):
        executable = backend.compile(case.kernel, "row max")
    assert unpack_binary(executable.binary) == ("lf_row_max", backend.gpu.cubins[0])
    host = backend.gpu.host
    assert mismatch(case, run_case(case, host, executable)) is None
    again = backend.load(case.kernel, "another", executable.binary)
    assert mismatch(case, run_case(case, host, again)) is None
    assert backend.fingerprint.startswith("cuda sm_90 nvrtc ")


def test_cupy_kernels_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """cupy accepts our texts: its kernels parse them when they are made."""
    import_build()
    from lazyfuse.backends.cuda import device

    monkeypatch.setattr(device, "Device", StandInDevice)
    backend = CudaBackend()
    x = positive(9, 50, dtype="f8")
    total = fold_case("total", x, "add", np.zeros(9), 1)
    twice = elementwise_case("twice", [x, x], lambda b, p, q: p + q, [x + x])
    for case, kind in ((total, "cupy.ReductionKernel"), (twice, "cupy.ElementwiseKernel")):
        with lf.options(cuda_strategy="cupy"):
            executable = backend.compile(case.kernel, case.name)
            again = backend.load(case.kernel, "again", executable.binary)
        assert kind in executable.source
        assert again.source == executable.source
        strides = tuple(tuple(s // 8 for s in array.strides) for array in case.arrays)
        executable.bind(case.extents, strides, (0,) * len(case.arrays))
