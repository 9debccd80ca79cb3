"""Every primitive, and whole kernels in every thread layout, as PTX: what NVRTC made of the text
computes what NumPy computes, and what the host shim makes of it.
"""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import Case, run_case
from cuda_check import failures, mismatch, needs_host, needs_ptx
from cuda_kernels import (
    elementwise_cases,
    fold_case,
    normal,
    positive,
    reduction_cases,
    softmax_case,
)
from cuda_primitives import primitive_cases

from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.primitives import PRIMITIVES

pytestmark = needs_ptx
#: libdevice promises 1 to 2 ULP where the host's libm has less.
LIBDEVICE_FACTOR = 2.0
#: Kernels of the default run: one of so many.
SLICE = 6


@pytest.fixture(scope="module")
def kernel_runs(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """The backend, and the chosen cases with their executables."""
    full = request.config.getoption("--full")
    kernels = {case.kernel.digest: case for case in [*elementwise_cases(), *reduction_cases()]}
    cases = list(kernels.values())[:: 1 if full else SLICE]
    backend = CudaPtxBackend()
    built = backend.compile_many([(case.kernel, case.name) for case in cases])
    return backend, list(zip(cases, built, strict=True))


def test_every_primitive_computes_what_numpy_computes() -> None:
    """On special values, bit for bit; transcendental functions within libdevice's promise."""
    cases = []
    for case in primitive_cases():
        case.tolerance = [LIBDEVICE_FACTOR * bound for bound in case.tolerance]
        cases.append(case)
    assert failures(CudaPtxBackend(), cases) == []


def test_kernels_compute_what_numpy_computes(kernel_runs) -> None:  # type: ignore[no-untyped-def]
    """Bit for bit, or within the tolerance the case states; no race, no access out of bounds."""
    backend, pairs = kernel_runs
    found = [mismatch(case, run_case(case, backend, executable)) for case, executable in pairs]
    assert [text for text in found if text] == []


def test_misaligned_buffers_take_the_scalar_path(kernel_runs) -> None:  # type: ignore[no-untyped-def]
    """A pack at an address that is not a multiple of its size would be an error."""
    backend, pairs = kernel_runs
    found = [
        mismatch(case, run_case(case, backend, executable, misalign=1))
        for case, executable in pairs
    ]
    assert [text for text in found if text] == []


def test_order_of_blocks_does_not_matter(kernel_runs) -> None:  # type: ignore[no-untyped-def]
    """The bits are the same whichever block comes last."""
    backend, pairs = kernel_runs
    different = []
    try:
        for case, executable in pairs:
            backend.runtime.order = 0
            first = run_case(case, backend, executable)
            backend.runtime.order = 7
            again = run_case(case, backend, executable)
            if any(a.tobytes() != b.tobytes() for a, b in zip(first, again, strict=True)):
                different.append(case.name)
    finally:
        backend.runtime.order = 0
    assert different == []


@needs_host
def test_agrees_with_the_host_shim(kernel_runs) -> None:  # type: ignore[no-untyped-def]
    """The same text through g++ and through NVRTC: the same bits, sums included, where no function
    of a C library is called.
    """
    backend, pairs = kernel_runs
    exact = [pair for pair in pairs if not calls_libm(pair[0])]
    assert len(exact) > len(pairs) // 2
    host = CudaHostBackend()
    built = host.compile_many([(case.kernel, case.name) for case, _ in exact])
    different = []
    for (case, executable), other in zip(exact, built, strict=True):
        mine, theirs = run_case(case, backend, executable), run_case(case, host, other)
        if any(not same_bits(a, b) for a, b in zip(mine, theirs, strict=True)):
            different.append(case.name)
    assert different == []


def calls_libm(case: Case) -> bool:
    ops = {instr.op for phase in case.kernel.phases for instr in phase.body}
    return any(op == "libm" or PRIMITIVES[op].transcendental for op in ops)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    parts = [x.reshape(-1).view(f"f{x.itemsize // (1 + (x.dtype.kind == 'c'))}") for x in (a, b)]
    words = [part.view(f"u{part.itemsize}") for part in parts]
    return bool(((words[0] == words[1]) | (np.isnan(parts[0]) & np.isnan(parts[1]))).all())


def test_geometry_of_a_large_device() -> None:
    """The launch shapes of a 132-processor GPU, interpreted."""
    backend = CudaPtxBackend(Target(processors=132, block=256))
    x = positive(60_000)
    cases = [
        fold_case("total", x, "maximum", x.max(), 0),
        softmax_case(normal(2, 9_000, dtype="f8"), Lanes.INNER, "f8"),
        softmax_case(normal(300, 70, dtype="f8"), Lanes.OUTER, None),
    ]
    assert failures(backend, cases) == []


@pytest.mark.parametrize("architecture", ["80", "120"])
def test_other_architectures(architecture: str) -> None:
    """The PTX of the oldest and of the newest generation computes the same."""
    backend = CudaPtxBackend(architecture=architecture)
    chosen = ("mul_f4", "exp_f8", "sin_f4", "cast_f8_f2", "cast_f4_i8", "div_i8", "maximum_f4")
    cases = [case for case in primitive_cases() if case.name in chosen]
    for case in cases:
        case.tolerance = [LIBDEVICE_FACTOR * bound for bound in case.tolerance]
    x = normal(4, 300, dtype="f8")
    cases += [softmax_case(x, Lanes.INNER, "f8"), softmax_case(x.T.copy(), Lanes.OUTER, None)]
    assert len(cases) >= len(chosen)
    assert failures(backend, cases) == []
