"""`np.r_`, `np.c_`, `np.mgrid` and `np.ogrid`: NumPy's objects that index expressions make
arrays with, on our names."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.rehost import Host


class Grid:
    """An object whose `[...]` is NumPy's code for it, run by a host."""

    def __init__(self, name: str, host: Host) -> None:
        self._original = original = getattr(np, name)
        self._name, self.__module__ = name, "lazyfuse"
        self._host = host
        self._get = host.function(type(original).__getitem__)
        self._join = host.counterpart(np.column_stack if original is np.c_ else np.concatenate)
        self._is_joint = original in (np.r_, np.c_)
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        return self._join(key) if self._is_joint and _is_plain(key) else self._get(self, key)

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        value = self._host.counterpart(getattr(self._original, name))
        setattr(self, name, value)
        return value

    def __reduce__(self) -> str:
        """Copies are the object itself, which keeps nothing; so are pickles."""
        return self._name

    def __repr__(self) -> str:
        return repr(self._original)


def _is_plain(key: Any) -> bool:
    """Whether a key is several arrays of ours of one number of axes, one or two, which are joined
    as they are."""
    if type(key) is not tuple or set(map(type, key)) != {Handle._concrete}:
        return False
    return {array.ndim for array in key} in ({1}, {2})
