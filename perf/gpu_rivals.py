"""Compilers that `scripts/gpu_check` sets beside the questions of `perf/gpu.py`: each takes a
program and an array on the GPU, and gives a call that queues the work, and one that waits for it.

All read the same memory. A rival that is not installed is left out; what one cannot compile
raises.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

#: A program over `xp` and one array, as perf/gpu.py has them.
Program = Callable[[Any, Any], Any]
#: What queues the work, and what waits for all that is queued.
Ready = tuple[Callable[[], object], Callable[[], object]]
Rival = Callable[[Program, Any], Ready]


def by_torch(program: Program, there: Any) -> Ready:
    """torch.compile of the NumPy program, on a tensor in the memory of a CuPy array."""
    import torch

    torch._dynamo.reset()  # it keeps few compiled forms of one function
    tensor = torch.from_dlpack(there)

    def on_tensors(x: Any) -> Any:
        return torch.from_numpy(numpy.asarray(program(numpy, x.numpy())))  # no copies: traced

    compiled = torch.compile(on_tensors, fullgraph=True, dynamic=False)
    return partial(compiled, tensor), torch.cuda.synchronize


def by_jax(program: Program, there: Any) -> Ready:
    """jax.jit of the program, with 64-bit types; the last result is waited for."""
    import jax

    jax.config.update("jax_enable_x64", True)
    array = jax.dlpack.from_dlpack(there)
    compiled = jax.jit(partial(program, jax.numpy))
    last: list[Any] = [None]

    def queue() -> None:
        last[0] = compiled(array)

    return queue, lambda: jax.block_until_ready(last[0])


def by_cupy_fuse(program: Program, there: Any) -> Ready:
    """cupy.fuse, which takes elementwise code and one reduction."""
    import cupy

    @cupy.fuse()
    def program_of_one(x: Any) -> Any:  # its name becomes the kernel's
        return program(cupy, x)

    return partial(program_of_one, there), lambda: cupy.cuda.get_current_stream().synchronize()


RIVALS: dict[str, tuple[str, Rival]] = {
    "torch.compile": ("torch", by_torch),
    "jax.jit": ("jax", by_jax),
    "cupy.fuse": ("cupy", by_cupy_fuse),
}


def installed() -> dict[str, Rival]:
    """The rivals that can be imported, by name."""
    return {
        name: rival
        for name, (package, rival) in RIVALS.items()
        if importlib.util.find_spec(package) is not None
    }
