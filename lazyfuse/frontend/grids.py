"""`np.r_`, `np.c_`, `np.mgrid` and `np.ogrid`: NumPy's objects that index expressions make
arrays with, on our names."""

from __future__ import annotations

from typing import Any

from lazyfuse.frontend.rehost import Host


class Grid:
    """An object whose `[...]` is NumPy's code for it, run by a host."""

    def __init__(self, original: Any, host: Host) -> None:
        self._original = original
        self._host = host
        self._get = host.function(type(original).__getitem__)
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        return self._get(self, key)

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        value = self._host.counterpart(getattr(self._original, name))
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return repr(self._original)
