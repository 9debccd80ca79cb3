"""`numpy.linalg` on LazyArrays: linear algebra."""

from lazyfuse.frontend.submodule import Submodule

_own = Submodule("linalg")
__all__ = _own.names
__getattr__ = _own.lookup
__dir__ = _own.directory
