"""`numpy.random` on LazyArrays: random numbers, NumPy's streams seed for seed."""

from lazyfuse.frontend.submodule import Submodule

_own = Submodule("random")
__all__ = _own.names
__getattr__ = _own.lookup
__dir__ = _own.directory
__path__: list[str] = []  # a package, whose modules `frontend/importing.py` finds
