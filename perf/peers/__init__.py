"""The libraries compared: each turns a workload and its inputs into a call that does all the work.

NumPy, lazyfuse, JAX, torch and CuPy run the shared program; numexpr, Numba and C hand-written ones
(`numexpr_texts.py`, `numba_loops.py`, `loops.c`). A peer that is not installed, or cannot run a
workload, raises Missing with the reason. A call returns when its results are there.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from perf.peers import c_loops
from perf.workloads.base import Data, Workload, arrays_by, as_tuple

Call = Callable[[], tuple[Any, ...]]


class Missing(Exception):
    """The peer is not installed here or has no version of the workload."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library: the package it needs, the devices it runs on, and how it takes a workload."""

    name: str
    package: str
    devices: tuple[str, ...]
    prepare: Callable[[Workload, Data], Call]
    about: str
    compiles_slowly: bool = False  # seconds for each workload and size

    def call(self, workload: Workload, data: Data) -> Call:
        """Make the call of a workload; raise Missing where there is none."""
        if importlib.util.find_spec(self.package) is None:
            raise Missing(f"{self.package} is not installed")
        if self.name in workload.left_out:
            raise Missing(workload.left_out[self.name])
        return self.prepare(workload, data)

    def version(self) -> str:
        """The installed version, or empty."""
        if self.name == "c":
            return c_loops.version()
        if importlib.util.find_spec(self.package) is None:
            return ""
        return str(importlib.import_module(self.package).__version__)


def numpy_call(workload: Workload, data: Data) -> Call:
    """Run the program with NumPy."""
    return lambda: as_tuple(workload.program(numpy, data))


def lazyfuse_call(workload: Workload, data: Data) -> Call:
    """Record the program with lazyfuse and wait for its results."""
    import lazyfuse

    lazy = arrays_by(lazyfuse.array, data)
    lazyfuse.materialize(*[lazy[name] for name in lazy if lazy[name] is not data[name]])

    def call() -> tuple[Any, ...]:
        results = as_tuple(workload.program(lazyfuse, lazy))
        lazyfuse.materialize(*results)
        return results

    return call


def fuse_call(workload: Workload, data: Data) -> Call:
    """Record the program once with `lazyfuse.fuse` and replay it."""
    import lazyfuse

    if not hasattr(lazyfuse, "fuse"):
        raise Missing("this lazyfuse has no fuse")
    names, function = tuple(data), workload.program
    lazy = [lazyfuse.array(array) for array in data.values()]
    lazyfuse.materialize(*lazy)

    @lazyfuse.fuse
    def program(*arrays: Any) -> Any:
        return function(lazyfuse, dict(zip(names, arrays, strict=True)))

    # a function that cannot be replayed gives pending arrays; and a GPU is waited for
    return lambda: as_tuple(lazyfuse.materialize(program(*lazy)))


def numexpr_call(workload: Workload, data: Data) -> Call:
    """Run the hand-written numexpr version."""
    from perf.peers import numexpr_texts

    version = find_version(numexpr_texts.VERSIONS, workload)
    return lambda: as_tuple(version(data))


def numba_call(workload: Workload, data: Data) -> Call:
    """Run the hand-written Numba version, compiled for the host, with threads."""
    from perf.peers import numba_loops

    version = find_version(numba_loops.VERSIONS, workload)
    return lambda: as_tuple(version(data))


def c_call(workload: Workload, data: Data) -> Call:
    """Run the hand-written loop in C, compiled for the host, with threads."""
    if c_loops.compiler() is None:
        raise Missing("no C compiler")
    if workload.name not in c_loops.VERSIONS:
        raise Missing("not bound by memory")
    return c_loops.VERSIONS[workload.name](data)


def jax_call(workload: Workload, data: Data) -> Call:
    """Run the program under jax.jit with 64-bit types, on the device that JAX chooses."""
    import jax

    from perf.peers import jax_programs

    jax.config.update("jax_enable_x64", True)
    program = jax_programs.VERSIONS.get(workload.name, workload.program)
    device = {name: jax.numpy.asarray(array) for name, array in data.items()}
    compiled = jax.jit(lambda values: program(jax.numpy, values))
    return lambda: as_tuple(jax.block_until_ready(compiled(device)))


def torch_call(workload: Workload, data: Data) -> Call:
    """Run the NumPy program under torch.compile, which takes NumPy's names and arrays."""
    import torch

    torch._dynamo.reset()  # it keeps few compiled forms of one function, and of ours has many
    compiled = torch.compile(
        lambda values: workload.program(numpy, values), fullgraph=True, dynamic=False
    )
    torch.set_num_threads(int(torch.get_num_threads()))
    return lambda: as_tuple(compiled(data))


def torch_cuda_call(workload: Workload, data: Data) -> Call:
    """Run the NumPy program under torch.compile on a GPU, results left there."""
    import torch

    if not torch.cuda.is_available():
        raise Missing("torch sees no GPU")
    return torch_on("cuda", torch.cuda.synchronize, workload, data)


def torch_on(device: str, wait: Callable[[], object], workload: Workload, data: Data) -> Call:
    """Run the NumPy program under torch.compile on tensors of a device. Not inside `with
    torch.device`, under which NumPy's operators fail (2.11, 2.13): what a program creates would be
    on the CPU.
    """
    import torch

    torch._dynamo.reset()
    tensors = {name: torch.as_tensor(array, device=device) for name, array in data.items()}

    def program(values: dict[str, Any]) -> tuple[Any, ...]:
        arrays = {name: tensor.numpy() for name, tensor in values.items()}  # no copy: traced
        results = workload.program(numpy, arrays)
        return tuple(torch.from_numpy(result) for result in as_tuple(results))

    compiled = torch.compile(program, fullgraph=True, dynamic=False)

    def call() -> tuple[Any, ...]:
        results = compiled(tensors)
        wait()
        return tuple(results)

    return call


def cupy_call(workload: Workload, data: Data) -> Call:
    """Run the program with CuPy, op by op, and wait for the GPU."""
    cupy = gpu_cupy()
    return waiting(cupy, lambda values: workload.program(cupy, values), data)


def cupy_fuse_call(workload: Workload, data: Data) -> Call:
    """Run the program under cupy.fuse, which takes elementwise code and one reduction."""
    cupy = gpu_cupy()
    names = tuple(data)

    @cupy.fuse()
    def program(*arrays: Any) -> Any:
        return workload.program(cupy, dict(zip(names, arrays, strict=True)))

    return waiting(cupy, lambda values: program(*values.values()), data)


def gpu_cupy() -> Any:
    """Import CuPy; raise Missing without a GPU."""
    import cupy

    if not cupy.is_available():
        raise Missing("CuPy sees no GPU")
    return cupy


def waiting(cupy: Any, program: Callable[[Data], Any], data: Data) -> Call:
    """Run over copies of the inputs on the GPU and wait for it."""
    device = {name: cupy.asarray(array) for name, array in data.items()}

    def call() -> tuple[Any, ...]:
        results = as_tuple(program(device))
        cupy.cuda.get_current_stream().synchronize()
        return results

    return call


def host(array: Any) -> numpy.ndarray:
    """Bring a result to the host as a NumPy array."""
    for move in ("get", "cpu"):  # CuPy's and torch's words for it
        if hasattr(array, move):
            array = getattr(array, move)()
    return numpy.asarray(array)


def find_version(versions: dict[str, Callable[[Data], Any]], workload: Workload) -> Any:
    """Look a hand-written version up."""
    if workload.name not in versions:
        raise Missing("no hand-written version")
    return versions[workload.name]


CPU, CUDA = ("cpu",), ("cuda",)
PEERS = {
    peer.name: peer
    for peer in (
        Peer("numpy", "numpy", CPU + CUDA, numpy_call, "as it is, on the CPU"),
        Peer("lazyfuse", "lazyfuse", CPU + CUDA, lazyfuse_call, "the program recorded each time"),
        Peer("fuse", "lazyfuse", CPU + CUDA, fuse_call, "lazyfuse.fuse: recorded once, replayed"),
        Peer("numexpr", "numexpr", CPU, numexpr_call, "hand-written expressions"),
        Peer("numba", "numba", CPU, numba_call, "hand-written parallel loops, exact arithmetic"),
        Peer("c", "numpy", CPU, c_call, "hand-tuned loops, where memory is the bound"),
        Peer("jax", "jax", CPU + CUDA, jax_call, "jax.jit of the program"),
        Peer("torch", "torch", CPU, torch_call, "torch.compile of the NumPy program",
             compiles_slowly=True),
        Peer("torch_cuda", "torch", CUDA, torch_cuda_call, "the same on a GPU",
             compiles_slowly=True),
        Peer("cupy", "cupy", CUDA, cupy_call, "op by op"),
        Peer("cupy_fuse", "cupy", CUDA, cupy_fuse_call, "cupy.fuse of the program"),
    )
}  # fmt: skip
