"""Kernel IR -> CUDA: kernels in, GPU executables out.

    strategy.py      which way a kernel is compiled: cupy's ElementwiseKernel or ReductionKernel, or own text
    render_*.py      Kernel -> Program (CUDA C text and its parameters); text only, no GPU and no cupy needed
    accumulate.py    accumulators as C structs; group_text.py combines them across threads and blocks
    geometry.py      extents -> grid and block
    launch.py        Program + extents + strides -> Launch, over a Runtime (the GPU's or the host shim's)
    build.py         NVRTC; device.py: modules and launches; buffers.py: memory; cupy_kernels.py: cupy's kernels
    backend.py       the Backend itself

Everything above `build.py` runs without cupy, which is what `backends/cuda_host` builds on. Numerics are IEEE and
round after every operation; sums are trees that depend on shape and device only, so they repeat, but do not follow
NumPy's order of additions.
"""

from lazyfuse.backends.cuda.backend import CudaBackend, device_count

__all__ = ["CudaBackend", "device_count"]
