"""Planted faults: the interpreter names each of them, in any order of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case, run_case
from cuda_check import mismatch, needs_ptx
from cuda_kernels import center_case, fold_case, softmax_case

from lazyfuse.backends.cuda import geometry
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.backends.cuda_ptx.faults import PtxBarrierError, PtxMemoryError, PtxRaceError
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.body import cast

pytestmark = needs_ptx
RNG = np.random.default_rng(3)


def run_planted(case: Case, before: str, after: str, count: int = 1) -> str | None:
    """Interpret the case with a piece of its text exchanged; what is wrong with its results."""
    backend = CudaPtxBackend()
    program = render_own(case.kernel, f"lf_planted_{case.name}")
    assert before in program.source, program.source
    assert mismatch(case, run_case(case, backend, backend.build([program])[0])) is None
    faulty = replace(program, source=program.source.replace(before, after, count))
    return mismatch(case, run_case(case, backend, backend.build([faulty])[0]))


def shared_sum() -> Case:
    """A sum of one row by several blocks."""
    x = RNG.random(9000)
    return fold_case("shared", x, "add", np.array(x.sum()), 0, tolerance=[1e-12])


@pytest.mark.parametrize("lanes, barrier", [
    (Lanes.INNER, 1), (Lanes.INNER, 2), (Lanes.OUTER, 1), (Lanes.OUTER, 2), (Lanes.OUTER, 3)
])  # fmt: skip
def test_missing_barrier(lanes: Lanes, barrier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of the group's barriers, shared memory is read while others write it."""
    # More rows than blocks: a block uses its shared memory again.
    monkeypatch.setattr(geometry, "MOST_BLOCKS", 4)
    shape = (300, 600) if lanes is Lanes.INNER else (5000, 20)
    case = center_case(RNG.random(shape), lanes)
    program = render_own(case.kernel, "lf_without_barrier")
    pieces = program.source.split("__syncthreads();")
    joined = [
        piece + "__syncthreads();" * (n + 1 != barrier) for n, piece in enumerate(pieces[:-1])
    ]
    faulty = replace(program, source="".join([*joined, pieces[-1]]))
    assert faulty.source.count("__syncthreads") == program.source.count("__syncthreads") - 1
    backend = CudaPtxBackend()
    assert mismatch(case, run_case(case, backend, backend.build([program])[0])) is None
    with pytest.raises(PtxRaceError, match=r"line \d+: (ld|st)\.shared"):
        run_case(case, backend, backend.build([faulty])[0])


def test_missing_barrier_between_blocks() -> None:
    """Without the barrier before it, threads ask whether their block is the last before that is
    known.
    """
    with pytest.raises(PtxRaceError, match="shared"):
        run_planted(shared_sum(), "  __syncthreads();\n  if (!is_last)", "  if (!is_last)")


@pytest.mark.parametrize("which", [0, 1])
def test_missing_fence(which: int) -> None:
    """Without a fence before the counter or after it, the last block reads partial sums that
    nothing has made visible to it: no order of threads on a CPU shows that.
    """
    case = shared_sum()
    text = render_own(case.kernel, "lf_text").source
    pieces = text.split("__threadfence();")
    assert len(pieces) == 3
    before, after = "__threadfence();" + pieces[1], pieces[1]
    if which == 1:
        before, after = "__threadfence();" + pieces[2][:40], pieces[2][:40]
    with pytest.raises(PtxRaceError, match=r"ld\.global"):
        run_planted(case, before, after)


def test_divergent_barrier() -> None:
    """A barrier that only some threads reach."""
    x = RNG.random((2, 9000))
    case = fold_case("diverging", x, "add", x.sum(1), 1, tolerance=[1e-12])
    before = "if ((lane & 31) == 0) warps"
    with pytest.raises(PtxBarrierError, match="different barriers"):
        run_planted(case, before, f"if (lane < 7) __syncthreads();\n    {before}")


def test_shuffle_without_its_threads() -> None:
    """A shuffle of the whole warp on a side of a branch that a part of it takes."""
    x = RNG.random((4, 30)).astype("f4")
    case = fold_case("lonely", x, "maximum", x.max(1), 1)
    before = "o < width; o <<= 1) lf_combine"
    with pytest.raises(PtxBarrierError, match=r"shfl\.sync"):
        run_planted(case, before, "o < width; o <<= 1) if (lane < 3) lf_combine")


@pytest.mark.parametrize(
    "wrong", ["(double)(short)v0", "(double)(float)v0", "(double)(unsigned int)v0"]
)
def test_wrong_cast(wrong: str) -> None:
    """A conversion that loses bits is a wrong value."""
    x = np.array([1, -1, 70000, -70000, 2**24 + 1], "i4")
    case = elementwise_case("cast", [x], lambda b, p: cast(p, "f8"), [x.astype("f8")])
    assert run_planted(case, "(double)v0", wrong, count=-1)


def test_contraction() -> None:
    """A product and a sum in one rounding: what `-fmad=false` keeps out."""
    x, y = RNG.standard_normal((2, 500)).astype("f4")
    case = elementwise_case("fused", [x, y], lambda b, p, q: p * q + p, [x * y + x])
    assert run_planted(case, "(v2 + v0)", "fmaf(v0, v1, v0)", count=-1)


@pytest.mark.parametrize("place", ["n0", "((ix)i0 - 1)", "(n0 + 100000)"])
def test_store_out_of_bounds(place: str) -> None:
    """One element past either end of an output, or far away: the store itself is named."""
    x = np.arange(30, dtype="f4")[::-1]
    case = elementwise_case("guarded", [x], lambda b, p: p.unary("abs"), [np.abs(x)])
    before = "const float v1 ="
    with pytest.raises(PtxMemoryError, match=r"line \d+: st\.global.*(offset|below)"):
        run_planted(case, before, f"a1[{place}] = v0; {before}")


def test_load_out_of_bounds() -> None:
    """One element past the end of an input, whose value nobody uses in a result: guards around
    outputs cannot show that.
    """
    x = np.arange(64, dtype="f4")
    case = elementwise_case("reading", [x], lambda b, p: p + p, [x + x], generic=True)
    place = "a0[(ix)i0 * s0_0]"
    with pytest.raises(PtxMemoryError, match=r"ld\.global"):
        run_planted(case, place, f"{place} + 0 * a0[(ix)i0 * s0_0 + 1]")


def test_scratch_overrun() -> None:
    """Past the end of the shared memory that a launch has asked for."""
    case = softmax_case(RNG.standard_normal((4, 50)), Lanes.INNER, "f8")
    with pytest.raises(PtxMemoryError, match=r"line \d+: st"):
        run_planted(case, "scratch(S2 + (slot", "scratch(S2 + 400 + (slot", count=-1)


def test_unaligned_pack() -> None:
    """A launch that takes the packed entry on addresses that are not multiples of 16."""
    x = np.arange(65, dtype="f4")[1:]
    case = elementwise_case("packs", [x], lambda b, p: p + p, [x + x])
    backend = CudaPtxBackend()
    executable = backend.compile(case.kernel, case.name)
    assert mismatch(case, run_case(case, backend, executable, misalign=1)) is None
    executable.program = replace(executable.program, pack=1)
    with pytest.raises(PtxMemoryError, match="odd address"):
        buffers = [backend.allocate(65 * 4), backend.allocate(64 * 4)]
        executable.functions["lf_packs_v"](
            (1, 1), (64, 1), [64, buffers[0].pointer + 4, buffers[1].pointer]
        )


def test_two_writers() -> None:
    """Threads that store different values to one element: whichever comes last wins."""
    x = np.arange(40, dtype="f4")
    case = elementwise_case("one_place", [x], lambda b, p: p + p, [x + x], generic=True)
    with pytest.raises(PtxRaceError, match=r"st\.global"):
        run_planted(case, "a1[(ix)i0 * s1_0] = v1;", "a1[0] = v1;")
