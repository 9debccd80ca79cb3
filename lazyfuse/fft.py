"""`numpy.fft` on LazyArrays: discrete Fourier transforms."""

from lazyfuse.frontend.submodule import Submodule

_own = Submodule("fft")
__all__ = _own.names
__getattr__ = _own.lookup
__dir__ = _own.directory
