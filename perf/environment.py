"""Variables that libraries read when their process starts: threads, device, caches."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Compiled code is kept here from one run of the benchmarks to the next.
CACHE = ROOT / "out" / "bench-cache"
THREADS = (
    "LAZYFUSE_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip


def variables(threads: int, device: str = "cpu", cache: Path = CACHE) -> dict[str, str]:
    """Make the variables for a number of threads; a GPU is hidden from runs on the CPU."""
    found = dict.fromkeys(THREADS, str(threads))
    found |= {
        "LAZYFUSE_CACHE_DIR": str(cache / "lazyfuse"),
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torch"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    if device == "cpu":
        found |= {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu", "LAZYFUSE_DEVICE": "cpu"}
    return found


def keep_to(threads: int) -> None:
    """Keep this process to so many cores: XLA has no option for its threads but counts cores."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if threads < len(cores):
        os.sched_setaffinity(0, cores[-threads:])
