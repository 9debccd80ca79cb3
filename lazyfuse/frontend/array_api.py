"""`__array_namespace_info__`: what the Array API standard lets a program ask about this module."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend.control import devices
from lazyfuse.runtime import session


class ArrayNamespaceInfo:
    """As NumPy's, with the devices of lazyfuse; dtypes are the same on all of them."""

    def __init__(self) -> None:
        self._numpy: Any = np.__array_namespace_info__()

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and data-dependent shapes work (they compute what they need); arrays
        have at most 64 axes."""
        return dict(self._numpy.capabilities())

    def default_device(self) -> str:
        return session.default_device()

    def devices(self) -> list[str]:
        return list(devices())

    def default_dtypes(self, *, device: str | None = None) -> dict[str, Any]:
        """Raises: ValueError for an unknown device."""
        self._check(device)
        return dict(self._numpy.default_dtypes())

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Dtypes by name, all or of a kind. Raises: ValueError for an unknown device or kind."""
        self._check(device)
        return dict(self._numpy.dtypes(kind=kind))

    def _check(self, device: str | None) -> None:
        if device is not None:
            session.backend(session.resolve_device(device))
