"""Whole kernels: every thread layout, executed on the CPU against NumPy and compiled for three
GPUs.
"""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import Case, PhaseWriter, reduction_case, run_case, spread
from cuda_check import (
    ARCHITECTURES,
    MOST_SPILLED,
    compile_log,
    import_build,
    mismatch,
    needs_host,
    resources,
)
from cuda_kernels import RNG, elementwise_cases, fold_case, positive, reduction_cases

from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.ops.body import cast

#: Forward, reverse, and two shuffles: a missing barrier shows in one of them.
ORDERS = (0, 1, 2, 7)
#: Registers per thread that let two blocks of 512 threads run on an SM.
MOST_REGISTERS = 64


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [*elementwise_cases(), *reduction_cases()]


@pytest.fixture(scope="module")
def host_runs(cases: list[Case]):  # type: ignore[no-untyped-def]
    """The backend, and each case with its executable; equal kernels are compiled once."""
    if not CudaHostBackend.available()[0]:
        pytest.skip(CudaHostBackend.available()[1])
    backend = CudaHostBackend()
    kernels = {case.kernel.digest: case for case in cases}
    built = backend.compile_many([(case.kernel, case.name) for case in kernels.values()])
    by_digest = dict(zip(kernels, built, strict=True))
    return backend, [(case, by_digest[case.kernel.digest]) for case in cases]


def test_kernels_compute_what_numpy_computes(host_runs) -> None:  # type: ignore[no-untyped-def]
    """All of them, bit for bit, or within the tolerance the case states."""
    backend, pairs = host_runs
    found = [mismatch(case, run_case(case, backend, executable)) for case, executable in pairs]
    assert [text for text in found if text] == []


def test_misaligned_buffers_take_the_scalar_path(host_runs) -> None:  # type: ignore[no-untyped-def]
    """One element past an aligned address, packs cannot be loaded: the same answers come out."""
    backend, pairs = host_runs
    found = [
        mismatch(case, run_case(case, backend, executable, misalign=1))
        for case, executable in pairs
    ]
    assert [text for text in found if text] == []


def test_alignment_does_not_change_sums(host_runs) -> None:  # type: ignore[no-untyped-def]
    """Packed or not, a sum has the same bits: threads take the same elements in the same order."""
    backend, pairs = host_runs
    different = [
        case.name
        for case, executable in pairs
        if any(
            a.tobytes() != b.tobytes()
            for a, b in zip(
                run_case(case, backend, executable),
                run_case(case, backend, executable, misalign=1),
                strict=True,
            )
        )
    ]
    assert different == []


@needs_host
@pytest.mark.parametrize("n", [5, 300, 5001, 70_000])
def test_fusion_does_not_change_sums(n: int) -> None:
    """The sum of a map that reads narrow arguments, and of its stored result: the same bits."""
    backend = CudaHostBackend()
    x, scale = positive(2, n), RNG.integers(1, 9, (2, n)).astype("u1")

    def fused(writer: PhaseWriter) -> None:
        writer.fold("add", writer.load(0) * cast(writer.load(1), "f4"))

    def store(writer: PhaseWriter) -> None:
        writer.store(2, writer.acc(0, "f4"))

    total = spread(np.zeros(2, "f4"), x.shape, [0])
    phases = [("inner", fused), ("outer", store)]
    together = reduction_case("together", [x, scale, total], "iio", 1, phases, [])
    apart = fold_case("apart", x * scale.astype("f4"), "add", np.zeros(2), 1)
    first, second = run_case(together, backend)[0], run_case(apart, backend)[0]
    assert first.tobytes() == second.tobytes()


def test_thread_order_does_not_matter(host_runs) -> None:  # type: ignore[no-untyped-def]
    """The bits are the same in every order of threads and blocks: no barrier is missing."""
    backend, pairs = host_runs
    small = [pair for pair in pairs if pair[0].arrays[0].size <= 30_000]
    different = []
    try:
        for case, executable in small:
            backend.runtime.order = ORDERS[0]
            first = run_case(case, backend, executable)
            for order in ORDERS[1:]:
                backend.runtime.order = order
                again = run_case(case, backend, executable)
                if any(a.tobytes() != b.tobytes() for a, b in zip(first, again, strict=True)):
                    different.append(f"{case.name} in order {order}")
    finally:
        backend.runtime.order = 0
    assert different == []


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(cases: list[Case], architecture: str, *, full: bool) -> None:
    """By NVRTC, within the registers that two blocks of 512 threads per SM leave each thread;
    each kernel for one architecture, or with --full for all."""
    kernels = {case.kernel.digest: case for case in cases}
    programs = [
        render_own(case.kernel, f"lf_{case.name}_{number}")
        for number, case in enumerate(kernels.values())
        if full or ARCHITECTURES[number % len(ARCHITECTURES)] == architecture
    ]
    build = import_build()
    used = resources(compile_log(programs, architecture))
    assert len(used) >= len(programs)
    most = (MOST_REGISTERS, MOST_SPILLED[architecture])
    if architecture == "120" and build.nvrtc_version() == "13.0":
        most = (MOST_REGISTERS, 96)  # outside loops, but for a word in each; 13.5: 44
    greedy = {name: use for name, use in used.items() if use[0] > most[0] or use[1] > most[1]}
    assert greedy == {}


@needs_host
def test_in_place(host_runs) -> None:  # type: ignore[no-untyped-def]
    """An output that is the input's own memory: packs and scalars, rows and columns."""
    backend, pairs = host_runs
    chosen = [
        (case, executable)
        for case, executable in pairs
        if case.name.startswith(
            ("softmax_inner_33x50_None", "softmax_outer_45x37_f8", "narrow_index")
        )
    ]
    assert len(chosen) == 3
    for case, executable in chosen:
        source = case.arrays[0]
        buffer = backend.from_host(source)
        strides = tuple(stride // source.itemsize for stride in source.strides)
        launch = executable.bind(case.extents, (strides, strides), (0, 0))
        launch([buffer, buffer], case.scalars, threads=1)
        result = backend.to_host(buffer).view(source.dtype).reshape(source.shape)
        np.testing.assert_allclose(result, case.expected[0], rtol=1e-12)
