"""NumPy's modules of functions that ask `isinstance(x, np.ndarray)`, with our own in their place.

`lazyfuse.polynomial` evaluates series by NumPy's code on our names, so that a column of
coefficients stands beside an array of ours as beside NumPy's; what else it has, and
`lazyfuse.rec`, is NumPy's on computed arrays. Classes and constants are NumPy's own.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from lazyfuse.frontend import fallback, namespace
from lazyfuse.frontend.function import Function
from lazyfuse.frontend.homes import at_home
from lazyfuse.frontend.lib import Library

#: Parts of the names of functions that evaluate a series, or its terms.
_EVALUATES = ("val", "grid", "vander")


class OwnModule(Library):
    """A module of NumPy whose functions are ours, and so are those of the modules inside."""

    def __getattr__(self, name: str) -> Any:
        found = self._adapted(name, super().__getattr__(name))
        return vars(self).setdefault(name, found)

    def _adapted(self, name: str, value: Any) -> Any:
        if isinstance(value, ModuleType):
            is_inside = value.__name__.startswith(f"{self._module.__name__}.")
            return OwnModule(value, {}) if is_inside else value
        if not inspect.isfunction(value) or name.startswith("_"):
            return value
        dotted = f"{self.__name__.partition('.')[2]}.{name}"
        if any(part in name for part in _EVALUATES):
            return Function(dotted, at_home(namespace.HOST.function(value)), value)
        return namespace.Outside(dotted, value, fallback.run)
