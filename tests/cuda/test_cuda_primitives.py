"""Every primitive on every dtype: the CUDA text runs on the CPU as NumPy computes, and compiles
for three GPUs.
"""

from __future__ import annotations

import pytest
from cuda_check import ARCHITECTURES, MOST_SPILLED, compile_log, failures, needs_host, resources
from cuda_primitives import primitive_cases

from lazyfuse.backends.cuda.render_body import supports
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.ops.primitives import PRIMITIVES


@pytest.fixture(scope="module")
def cases():  # type: ignore[no-untyped-def]
    return list(primitive_cases())


@needs_host
def test_every_primitive_computes_what_numpy_computes(cases) -> None:  # type: ignore[no-untyped-def]
    """On special values, bit for bit; transcendental functions within LIBM_ULPS of NumPy's."""
    assert failures(CudaHostBackend(), cases) == []


def test_every_primitive_has_a_case(cases) -> None:  # type: ignore[no-untyped-def]
    """A new row of the table is tested without a new test."""
    seen = {instr.op for case in cases for phase in case.kernel.phases for instr in phase.body}
    # accumulators: test_cuda_kernels.py; scans: test_scans.py; gathers: test_indexing.py; the rest
    # is vector math of the CPU alone: test_vecmath.py
    elsewhere = {"acc", "carry", "gather", "mantissa", "exponent", "log_edges", "lookup", "rare"}
    assert PRIMITIVES.keys() - seen == elsewhere


def test_supports_agrees_with_the_table(cases) -> None:  # type: ignore[no-untyped-def]
    """What has a case is supported; float16 arithmetic and complex arithmetic are not."""
    for case in cases:
        for instr in case.kernel.phases[0].body:
            assert supports(instr.op, instr.dtype), instr
    assert not supports("add", "f2")
    assert not supports("mul", "c16")
    assert not supports("no such primitive", "f8")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_primitive_compiles(cases, architecture: str, *, full: bool) -> None:  # type: ignore[no-untyped-def]
    """By NVRTC, many kernels per source; nothing worth a name is spilled. Each primitive for one
    architecture, or with --full for all."""
    programs = [
        render_own(case.kernel, f"lf_{case.name}_{number}")
        for number, case in enumerate(cases)
        if full or ARCHITECTURES[number % len(ARCHITECTURES)] == architecture
    ]
    used = resources(compile_log(programs, architecture))
    assert len(used) >= len(programs)
    assert {name: use for name, use in used.items() if use[1] > MOST_SPILLED[architecture]} == {}
