"""The CUDA backend without a GPU: the same kernel text, compiled by g++ through a host shim and
run on the CPU.

compiler.py        text -> shared library, cached by digest
runtime.py         launches through ctypes, memory from NumPy
backend.py         the Backend, device "cuda-host"
lf_cuda_host.h     the shim: grids, blocks, barriers and shuffles as loops and fibers
"""

from lazyfuse.backends.cuda_host.backend import CudaHostBackend

__all__ = ["CudaHostBackend"]
