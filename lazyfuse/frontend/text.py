"""repr, str and format: NumPy's text of the values, with its print options."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_repr(self: Any) -> str:
    """NumPy's repr of the values; of a 0-d array too."""
    return repr(np.asarray(self))


def array_str(self: Any) -> str:
    return str(np.asarray(self))


def array_format(self: Any, spec: str) -> str:
    """Format a 0-d array as its scalar; a spec on more elements is a TypeError, as in NumPy."""
    values = np.asarray(self)
    return (
        format(values.item() if values.ndim == 0 and spec else values, spec)
        if values.ndim == 0
        else (values.__format__(spec))
    )
