"""Planted faults: the checks of this directory notice each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case, run_case
from cuda_check import mismatch, needs_host
from cuda_kernels import center_case, fold_case, softmax_case

from lazyfuse.backends.cuda import geometry
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.backends.cuda_host.backend import HOST_TARGET
from lazyfuse.backends.cuda_host.runtime import HostLaunchError, HostMemoryError
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.body import cast

pytestmark = needs_host


def planted(  # type: ignore[no-untyped-def]
    case: Case, before: str, after: str, count: int = 1, target: Target = HOST_TARGET
):
    """Compile the case with a piece of its text exchanged."""
    backend = CudaHostBackend(target)
    program = render_own(case.kernel, f"lf_planted_{case.name}")
    assert before in program.source, program.source
    return backend, backend.build(
        [replace(program, source=program.source.replace(before, after, count))]
    )[0]


def notices_order(case: Case, backend, executable) -> bool:  # type: ignore[no-untyped-def]
    """Whether some thread order gives a wrong answer or another one."""
    answers = set()
    for order in (0, 1, 2, 7):
        backend.runtime.order = order
        results = run_case(case, backend, executable)
        if mismatch(case, results):
            return True
        answers.add(b"".join(result.tobytes() for result in results))
    return len(answers) > 1


@pytest.mark.parametrize("lanes, barrier", [
    (Lanes.INNER, 1), (Lanes.INNER, 2), (Lanes.OUTER, 1), (Lanes.OUTER, 2), (Lanes.OUTER, 3)
])  # fmt: skip
def test_missing_barrier(lanes: Lanes, barrier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of the group's barriers, some order of threads reads shared memory too early or
    too late.
    """
    # More rows than blocks: a block uses its shared memory again.
    monkeypatch.setattr(geometry, "MOST_BLOCKS", 4)
    shape = (300, 600) if lanes is Lanes.INNER else (5000, 20)
    case = center_case(np.random.default_rng(3).random(shape), lanes)
    program = render_own(case.kernel, "lf_without_barrier")
    pieces = program.source.split("__syncthreads();")
    joined = [
        piece + "__syncthreads();" * (n + 1 != barrier) for n, piece in enumerate(pieces[:-1])
    ]
    faulty = replace(program, source="".join([*joined, pieces[-1]]))
    assert faulty.source.count("__syncthreads") == program.source.count("__syncthreads") - 1
    backend = CudaHostBackend()
    assert not notices_order(case, backend, backend.build([program])[0])
    assert notices_order(case, backend, backend.build([faulty])[0])


def test_missing_barrier_between_blocks() -> None:
    """Without the barrier before it, threads ask whether their block is the last before that is
    known.
    """
    case = fold_case("shared", np.random.default_rng(3).random(9000), "add", np.array(0.0), 0)
    case.expected[0] = np.full(9000, case.arrays[0].sum())
    case.tolerance = [1e-12]
    backend, executable = planted(case, "  __syncthreads();\n  if (!is_last)", "  if (!is_last)")
    try:
        assert notices_order(case, backend, executable)
    except HostLaunchError:
        pass  # some threads left and the others waited for them: noticed as well


def test_divergent_barrier() -> None:
    """A barrier that only some threads reach is reported, not waited for."""
    case = fold_case(
        "diverging", np.random.default_rng(3).random((2, 9000)), "add", np.zeros(2), 1
    )
    before = "if ((lane & 31) == 0) warps"
    backend, executable = planted(case, before, f"if (lane < 7) __syncthreads();\n    {before}")
    with pytest.raises(HostLaunchError, match="different barriers"):
        run_case(case, backend, executable)


def test_wrong_cast() -> None:
    """A conversion that loses bits is a wrong value."""
    x = np.array([1, -1, 70000, -70000, 2**24 + 1], "i4")
    case = elementwise_case("cast", [x], lambda b, p: cast(p, "f8"), [x.astype("f8")])
    for wrong in ("(double)(short)v0", "(double)(float)v0", "(double)(unsigned int)v0"):
        backend, executable = planted(case, "(double)v0", wrong, count=-1)
        assert mismatch(case, run_case(case, backend, executable))


@pytest.mark.parametrize("place", ["n0", "((ix)i0 - 1)"])
def test_store_out_of_bounds(place: str) -> None:
    """One element past either end of an output is noticed by the guards around it."""
    x = np.arange(30, dtype="f4")[::-1]
    case = elementwise_case("guarded", [x], lambda b, p: p.unary("abs"), [np.abs(x)])
    before = "const float v1 ="
    backend, executable = planted(case, before, f"a1[{place}] = v0; {before}")
    with pytest.raises(HostMemoryError, match="outside a buffer"):
        run_case(case, backend, executable)


def test_scratch_overrun() -> None:
    """The guards of workspaces are checked after every launch; a device without shared memory for
    scratch arguments has workspaces."""
    case = softmax_case(np.random.default_rng(3).standard_normal((4, 50)), Lanes.INNER, "f8")
    backend, executable = planted(
        case,
        "S2[slot * inner_total + c] =",
        "S2[slot * inner_total + c + 204] =",
        count=-1,
        target=Target(processors=2, block=64, shared=0),
    )
    with pytest.raises(HostMemoryError, match="outside a buffer"):
        run_case(case, backend, executable, misalign=1)
