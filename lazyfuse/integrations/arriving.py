"""What other libraries are told of LazyArrays, when they are imported: the modules beside this
one say what, and why.

A finder wraps the loader of the modules that it knows by name, so that what is told is told before
other modules take names from them. Those that are there already are told at once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType
from typing import Any

#: Modules, and the one here whose `tell` is called with them.
_TOLD: Mapping[str, str] = {
    "pandas._libs.lib": "pandas",
    "pandas._libs.missing": "pandas",
    "pandas.core.dtypes.cast": "pandas",
    "pandas.core.apply": "pandas",
    "pandas.core.construction": "pandas",
    "pandas.core.arrays.numeric": "pandas",
    "pandas.core.arrays.boolean": "pandas",
    "pandas.core.arrays.numpy_": "pandas",
    "autograd.numpy": "autograd",
    "dask.array.backends": "dask",
    "h5py._hl.selections": "h5py",
    "h5py._hl.dataset": "h5py",
    "json.encoder": "json",
    "matplotlib.colors": "lowered",
    "skimage.transform.hough_transform": "lowered",
}


class _Telling:
    """A loader that tells the module when it has run. The module has the loader that it wraps."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # of one that is not made yet
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _tell(module)


class _Finder:
    """Finds modules as the finders do that come after it, for those that are told."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        asked = fullname, get_ident()
        if fullname not in _TOLD or asked in _under_way:  # others may ask all finders, too
            return None
        _under_way.add(asked)
        try:
            spec = _found(fullname, path, target)
        finally:
            _under_way.discard(asked)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Telling(spec.loader)  # type: ignore[assignment]  # no ABC
        return spec


#: Modules that are looked for, each with the thread that does.
_under_way: set[tuple[str, int]] = set()


def _found(name: str, path: object, target: object) -> ModuleSpec | None:
    """What the other finders find."""
    for finder in list(sys.meta_path):
        find: Any = None if _is_ours(finder) else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None


def _is_ours(finder: Any) -> bool:
    """Whether a finder is one of these; where this package is loaded again, of another class."""
    kind = type(finder)
    return (kind.__module__, kind.__qualname__) == (_Finder.__module__, _Finder.__qualname__)


def _tell(module: ModuleType) -> None:
    """Tell a module; one of a version that has other names is left alone."""
    name = _TOLD[module.__name__]
    telling = import_module(f"{__package__}.{name}")
    with suppress(AttributeError, KeyError):
        telling.tell(module)


def watch() -> None:
    """Tell the modules that are there, and those that are imported from now on."""
    sys.meta_path[:] = [_Finder(), *(each for each in sys.meta_path if not _is_ours(each))]
    for name in _TOLD:
        module = sys.modules.get(name)
        is_here = not getattr(getattr(module, "__spec__", None), "_initializing", False)
        if module is not None and is_here:
            _tell(module)
