"""The libraries compared: each turns a workload and its inputs into a call that does all the work.

A peer that is not installed, or has no version of a workload, is skipped. numexpr and numba run
hand-written versions (`peers_numexpr.py`, `peers_numba.py`); all others run the shared program.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

from perf.workloads import Data, Workload, as_tuple

Call = Callable[[], tuple[Any, ...]]
THREADS = int(os.environ.get("LAZYFUSE_BENCH_THREADS", "2"))


class Missing(Exception):
    """The peer is not installed here or has no version of the workload."""


def numpy_call(workload: Workload, data: Data) -> Call:
    """Run the program with NumPy."""
    import numpy

    return lambda: as_tuple(workload.program(numpy, data))


def lazyfuse_call(workload: Workload, data: Data) -> Call:
    """Record the program with lazyfuse and wait for its results."""
    import lazyfuse

    lazy = {name: lazyfuse.array(array) for name, array in data.items()}
    lazyfuse.materialize(*lazy.values())

    def call() -> tuple[Any, ...]:
        results = as_tuple(workload.program(lazyfuse, lazy))
        lazyfuse.materialize(*results)
        return results

    return call


def numexpr_call(workload: Workload, data: Data) -> Call:
    """Run the hand-written numexpr version."""
    need("numexpr")
    from perf import peers_numexpr

    version = find_version(peers_numexpr.VERSIONS, workload)
    return lambda: as_tuple(version(data))


def numba_call(workload: Workload, data: Data) -> Call:
    """Run the hand-written numba version, compiled for the host with threads."""
    need("numba")
    from perf import peers_numba

    version = find_version(peers_numba.VERSIONS, workload)
    return lambda: as_tuple(version(data))


def jax_call(workload: Workload, data: Data) -> Call:
    """Run the program under jax.jit with 64-bit types."""
    need("jax")
    if workload.name == "heat":
        raise Missing("jax arrays have no in-place assignment")
    import jax

    jax.config.update("jax_enable_x64", True)
    device = {name: jax.numpy.asarray(array) for name, array in data.items()}
    compiled = jax.jit(lambda values: workload.program(jax.numpy, values))
    return lambda: as_tuple(jax.block_until_ready(compiled(device)))


def cupy_call(workload: Workload, data: Data) -> Call:
    """Run the program with CuPy, op by op, and wait for the GPU."""
    need("cupy")
    import cupy

    if not cupy.is_available():
        raise Missing("no GPU")
    device = {name: cupy.asarray(array) for name, array in data.items()}

    def call() -> tuple[Any, ...]:
        results = as_tuple(workload.program(cupy, device))
        cupy.cuda.get_current_stream().synchronize()
        return tuple(cupy.asnumpy(result) for result in results)

    return call


def need(name: str) -> None:
    """Raise Missing when a package is not installed."""
    if importlib.util.find_spec(name) is None:
        raise Missing(f"{name} is not installed")


def find_version(versions: dict[str, Callable[[Data], Any]], workload: Workload) -> Any:
    """Look a hand-written version up."""
    if workload.name not in versions:
        raise Missing(f"no version of {workload.name}")
    return versions[workload.name]


PEERS: dict[str, Callable[[Workload, Data], Call]] = {
    "numpy": numpy_call,
    "lazyfuse": lazyfuse_call,
    "numexpr": numexpr_call,
    "numba": numba_call,
    "jax": jax_call,
    "cupy": cupy_call,
}
