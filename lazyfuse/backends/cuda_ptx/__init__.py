"""The CUDA backend without a GPU: the PTX that NVRTC makes of every kernel, run on NumPy.

One NumPy lane per CUDA thread, all threads of a launch at once. What a GPU leaves to luck is an
error that names the line of the PTX: accesses out of bounds or unaligned, data races, barriers
that threads do not share, and every instruction that the interpreter does not know.

    parse.py         PTX text -> functions of instructions; types.py: the types
    operands.py      registers, constants and addresses -> readers and writers
    compute.py       instructions that only compute: floats.py (rounding.py: fma and directed
                     rounding), integers.py, convert.py
    access.py        loads, stores, atomics, fences; memory.py: regions; races.py: who touched what
    warp.py          shuffles and votes
    machine.py       threads in groups: branches, barriers, calls; frame.py: their state
    launch.py        grids, parameters, shared memory
    runtime.py       launches as the Runtime of backends/cuda; backend.py: device "cuda-ptx"
"""

from lazyfuse.backends.cuda_ptx.backend import CudaPtxBackend

__all__ = ["CudaPtxBackend"]
