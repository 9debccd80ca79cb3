"""Imports of NumPy's modules by our name: `from lazyfuse.lib.stride_tricks import as_strided`.

`lazyfuse.ma` is an attribute; an import statement looks for a module. It finds what the attribute
is, once and for all: nothing is loaded twice, so classes stay themselves.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from lazyfuse.frontend import namespace

#: The package, and NumPy's modules that have no file here.
_PACKAGE = __name__.partition(".")[0]
_MODULES = frozenset(
    "_core char core ctypeslib dtypes exceptions f2py lib ma matlib polynomial rec strings typing "
    "version".split()
)


class _Found:
    """Puts a module that is there already in the place of the one that is loaded."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = _module(name.split(".")[1:])


def _module(path: Sequence[str]) -> ModuleType:
    """The module at a path of names. Raises: ModuleNotFoundError."""
    if path[0] in ("core", "_core"):  # attributes of the old ones warn
        return importlib.import_module(f"numpy.{'.'.join(path)}")
    found = namespace.lookup(path[0])
    for number, name in enumerate(path[1:], 2):
        part = getattr(found, name, None)
        is_module = isinstance(part, ModuleType)
        found = part if is_module else importlib.import_module(f"numpy.{'.'.join(path[:number])}")
    assert isinstance(found, ModuleType)
    return found


class _Finder:
    """Finds them; no ABC, which would import a temporary file's module."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        first, *rest = fullname.split(".")
        is_inside = rest[:1] == ["random"] and len(rest) > 1
        if first != _PACKAGE or not rest or not (is_inside or rest[0] in _MODULES):
            return None
        return ModuleSpec(fullname, _Found(), is_package=True)  # type: ignore[arg-type]


def enable() -> None:
    """Find NumPy's modules from now on; before others look for files beside NumPy's."""
    if not any(type(finder) is _Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
