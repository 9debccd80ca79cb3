"""What `lazyfuse.linalg`, `lazyfuse.fft` and `lazyfuse.random` are made of."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from lazyfuse.forks import unforked
from lazyfuse.frontend import namespace


class Submodule:
    """The names of a submodule of NumPy, for the module that stands for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        # half of an extension module, which a fork would leave, cannot be imported anew
        self._numpy = unforked(lambda: getattr(np, name))
        self.names: list[str] = list(self._numpy.__all__)

    def lookup(self, name: str) -> Any:
        """Our version of a name; private modules are NumPy's. Raises: AttributeError for names
        that NumPy does not have, and for other private ones."""
        private = vars(self._numpy).get(name) if name.startswith("_") else None
        if isinstance(private, ModuleType):
            return private
        if name.startswith("_") or not hasattr(self._numpy, name):
            raise AttributeError(f"module 'lazyfuse.{self._name}' has no attribute {name!r}")
        # the module keeps what is asked for once: a lookup costs half a microsecond
        found = namespace.member(self._name, name)
        return vars(sys.modules[f"lazyfuse.{self._name}"]).setdefault(name, found)

    def directory(self) -> list[str]:
        return sorted(self.names)
