"""Comparing results with expectations, and skipping where a tool is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cuda_cases import Case, run_case

from lazyfuse.backends.cuda.program import Program
from lazyfuse.backends.cuda.simulator import SimulatedBackend
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.backends.cuda_ptx import CudaPtxBackend

needs_host = pytest.mark.skipif(
    not CudaHostBackend.available()[0], reason=CudaHostBackend.available()[1]
)
needs_ptx = pytest.mark.skipif(
    not CudaPtxBackend.available()[0], reason=CudaPtxBackend.available()[1]
)

#: One architecture per generation in use: A100, H100/H200, RTX 50.
ARCHITECTURES = ("80", "90", "120")
#: Spilled bytes that a kernel may have: of sm_120, ptxas parks a few loop-invariant words on the
#: stack rather than use another register.
MOST_SPILLED = {"80": 64, "90": 64, "120": 64}


def import_build():  # type: ignore[no-untyped-def]
    """The NVRTC module, or skip with the reason."""
    pytest.importorskip("cupy", reason="cupy is not installed")
    from lazyfuse.backends.cuda import build

    try:
        build.nvrtc_version()
    except Exception as error:
        pytest.skip(f"NVRTC does not load: {error}")
    return build


def merge(programs: Sequence[Program]) -> str:
    """Many programs in one source, each in a namespace."""
    return "".join(
        f"namespace scope{number} {{\n{program.source}}}\n"
        for number, program in enumerate(programs)
    )


def mismatch(case: Case, results: Sequence[np.ndarray]) -> str | None:
    """Where `results` differ from what is expected, or None. NaNs are equal; zeros have signs."""
    for number, (result, expected) in enumerate(zip(results, case.expected, strict=True)):
        tolerance = case.tolerance[number] if number < len(case.tolerance) else 0.0
        wrong = ~_close(result, expected, tolerance)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            values = f"{result[at]!r} instead of {expected[at]!r}"
            return f"{case.name}: output {number} at {at}: {values} ({wrong.sum()} wrong)"
    return None


def _close(result: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    assert result.dtype == expected.dtype, (result.dtype, expected.dtype)
    if result.dtype.kind == "c":
        return _close(result.real, expected.real, tolerance) & _close(
            result.imag, expected.imag, tolerance
        )
    if result.dtype.kind != "f":
        return result == expected
    nans = np.isnan(result) & np.isnan(expected)
    same = (result == expected) & (np.signbit(result) == np.signbit(expected))
    if not tolerance:
        return nans | same
    with np.errstate(all="ignore"):
        wide, wanted = result.astype("f8"), expected.astype("f8")
        info = np.finfo(result.dtype)
        close = (
            np.abs(wide - wanted) <= tolerance * np.abs(wanted) + 4 * float(info.tiny) * tolerance
        )
    return nans | same | (close & np.isfinite(wanted))


def failures(backend: SimulatedBackend, cases: Sequence[Case], **how: int) -> list[str]:
    """Compile all cases in one unit, run each, and list what is wrong."""
    executables = backend.compile_many([(case.kernel, case.name) for case in cases])
    found = [
        mismatch(case, run_case(case, backend, executable, **how))
        for case, executable in zip(cases, executables, strict=True)
    ]
    return [text for text in found if text]


def compile_log(programs: Sequence[Program], architecture: str) -> str:
    """Compile many programs in two sources on two threads (NVRTC releases the GIL); the verbose
    logs.
    """
    build = import_build()
    halves = [merge(programs[start::2]) for start in range(2)]
    with ThreadPoolExecutor(2) as pool:
        logs = list(
            pool.map(lambda s: build.build_cubin(s, architecture, verbose=True)[1], halves)
        )
    return "\n".join(logs)


def resources(log: str) -> dict[str, tuple[int, int]]:
    """Registers and spilled bytes of every kernel in a ptxas log."""
    found, name, spill = {}, "", 0
    for line in log.splitlines():
        if entry := re.search(r"Function properties for (\w+)", line):
            name = entry.group(1)
        if stores := re.search(r"(\d+) bytes spill stores", line):
            spill = int(stores.group(1))
        if used := re.search(r"Used (\d+) registers", line):
            found[name] = (int(used.group(1)), spill)
    return found
