"""Kernels with more parameters than the parameter space holds, and programs with more arrays than
one kernel takes.
"""

from __future__ import annotations

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case, reduction_case, run_case, spread
from cuda_check import ARCHITECTURES, import_build, mismatch, needs_host, needs_ptx
from cuda_kernels import softmax_case
from fake_cupy import fake_gpu

import lazyfuse as lf
from lazyfuse.backends.cuda import CudaBackend
from lazyfuse.backends.cuda.backend import MAX_ARGS
from lazyfuse.backends.cuda.program import PARAMETER_BYTES, WIDE_PARAMETER_BYTES
from lazyfuse.backends.cuda.simulator import SimulatedBackend
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.body import Value, cast

pytestmark = [pytest.mark.engine, needs_host, needs_ptx]
#: Arrays of one kernel: their pointers alone pass the smaller parameter space.
MANY = 600


def add_all(body, *values: Value) -> Value:  # type: ignore[no-untyped-def]
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def many_arrays(count: int = MANY) -> Case:
    """A sum of arrays, some of them one element for all."""
    arrays = [np.full(40 if n % 3 else 1, n, "i8") for n in range(count)]
    expected = np.zeros(40, "i8") + sum(range(count))
    return elementwise_case("many", arrays, add_all, [expected])


def many_scalars() -> Case:
    """A scalar of every size, among hundreds."""
    x = np.arange(20.0)
    kinds = ["b1", "i1", "u2", "i4", "f4", "u8", "f8"]
    scalars = [(kinds[n % len(kinds)], n % 2 if n % 7 == 0 else n % 99) for n in range(MANY)]

    def body(b, p: Value, *given: Value) -> Value:  # type: ignore[no-untyped-def]
        return add_all(b, p, *(cast(value, "f8") for value in given))

    total = x + sum(float(value) for _, value in scalars)
    return elementwise_case("scalars", [x], body, [total], scalars=scalars)


def many_columns() -> Case:
    """One fold of hundreds of arrays, row by row."""
    arrays = [np.full((3, 50), n, "i8") for n in range(MANY)]
    out = spread(np.zeros(3, "i8"), (3, 50), [0])
    phases = [
        ("inner", lambda w: w.fold("add", add_all(None, *(w.load(n) for n in range(MANY))))),
        ("outer", lambda w: w.store(MANY, w.acc(0, "i8"))),
    ]
    expected = np.full((3, 50), 50 * sum(range(MANY)))
    return reduction_case("fold", [*arrays, out], "i" * MANY + "o", 1, phases, [expected])


@pytest.mark.parametrize("make", [many_arrays, many_scalars, many_columns])
@pytest.mark.parametrize("kind", [CudaHostBackend, CudaPtxBackend])
def test_values_travel_in_a_table(make, kind: type[SimulatedBackend]) -> None:  # type: ignore[no-untyped-def]
    """Past the parameter space: the same answers."""
    case, backend = make(), kind()
    executable = backend.compile(case.kernel, case.name)
    assert executable.program.uses_table
    assert mismatch(case, run_case(case, backend, executable)) is None


@pytest.mark.parametrize("limit", [PARAMETER_BYTES, WIDE_PARAMETER_BYTES])
def test_the_limit_is_where_the_bytes_end(limit: int) -> None:
    """One pointer more than fits makes a table."""
    most = (limit - 8 - 8) // 8  # an extent, the output
    program = render_own(many_arrays(most).kernel, "lf_most", limit=limit)
    assert not program.uses_table and 8 * len(program.parameters) <= limit
    assert render_own(many_arrays(most + 1).kernel, "lf_more", limit=limit).uses_table


def test_nvrtc_takes_the_wide_parameter_space() -> None:
    """32,764 bytes of parameters, none of which is used for much."""
    names = ", ".join(f"const double* a{n}" for n in range(WIDE_PARAMETER_BYTES // 8))
    source = f'extern "C" __global__ void lf_wide({names}) {{}}\n'
    assert import_build().build_cubin(source, ARCHITECTURES[0])


def test_phases_and_scratch_in_a_table() -> None:
    """The control parameters of a reduction, too."""
    case = softmax_case(np.random.default_rng(1).normal(size=(5, 300)), Lanes.INNER, "f8")
    for backend in (CudaHostBackend(), CudaPtxBackend()):
        program = render_own(case.kernel, "lf_softmax_table", limit=64)
        assert program.uses_table
        assert mismatch(case, run_case(case, backend, backend.build([program])[0])) is None


@pytest.mark.parametrize("device", ["cuda-host", "cuda-ptx"])
def test_hundreds_of_inputs(device: str) -> None:
    """The scheduler splits what is more than one kernel's share; nothing runs unfused."""
    arrays = [np.arange(50.0) + n for n in range(300)]
    with lf.options(device=device, disk_cache=False, max_kernel_args=1000, max_kernel_ops=1000):
        lf.reset_stats()
        total = sum(lf.array(array) for array in arrays)
        assert np.array_equal(lf.asnumpy(total), sum(arrays))
        assert -(-300 // MAX_ARGS) <= lf.stats().kernels_launched <= 300 // (MAX_ARGS // 2)
        assert lf.stats().unfused == 0


def test_old_drivers_have_the_small_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA 12.0 and before; what is cached for one limit is not loaded for the other."""
    marks = []
    for driver, limit in ((12000, PARAMETER_BYTES), (12010, WIDE_PARAMETER_BYTES)):
        with fake_gpu(monkeypatch) as fake:
            fake.driver = driver
            backend = CudaBackend()
            assert backend.gpu.parameter_bytes == limit
            marks.append(backend.fingerprint)
            x = lf.array(np.arange(50.0).reshape(5, 10))
            parts = [x[:, n % 5 :: 2][:, :2] * (n + 0.5) for n in range(60)]
            expected = [np.arange(50.0).reshape(5, 10)[:, n % 5 :: 2][:, :2] for n in range(60)]
            found = lf.asnumpy(sum(parts))
            assert np.allclose(found, sum(e * (n + 0.5) for n, e in enumerate(expected)))
    assert len(set(marks)) == 2
