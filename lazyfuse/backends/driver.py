"""Whether an NVIDIA driver is installed: asked before anything of the CUDA backend is imported."""

from __future__ import annotations

import ctypes
import os


def has_driver() -> bool:
    """Load the driver's library by its name; nothing is initialized."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True
