"""Kernel IR -> CUDA: kernels in, GPU executables out.

    strategy.py      how a kernel runs: cupy's kernels, or own text in a layout of threads
    render_*.py      Kernel -> Program (CUDA C text, parameters); needs no GPU and no cupy
    accumulate.py    accumulators as C structs; group_text.py combines them across threads
    geometry.py      extents -> grid and block; division.py: what divides by them
    launch.py        Program + extents + strides -> Launch, over a Runtime (GPU or host shim)
    build.py         NVRTC; device.py: modules, launches; buffers.py: memory
    adoption.py      arrays of other libraries as buffers
    cupy_kernels.py  cupy's kernels as executables
    library.py       library calls that CuPy answers as NumPy does: products.py as one contraction,
                     sorts.py in NumPy's order, typed_views.py bytes as another dtype;
                     at_once.py those that are never recorded; calls.py runs them
    faults.py        errors of CUDA, with what to do
    backend.py       the Backend itself

Everything above `build.py` runs without cupy, which is what `backends/cuda_host` builds on.
Numerics are IEEE and round after every operation; sums are trees that depend on shape and device
only, so they repeat, but do not follow NumPy's order of additions.
"""

from lazyfuse.backends.cuda.backend import CudaBackend, device_count

__all__ = ["CudaBackend", "device_count"]
