"""repr, str and format: NumPy's text of the values, with its print options.

Of a large pending array NumPy shows only the items at the edges, so only these are computed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from lazyfuse.frontend.control import materialize

_ALL = slice(None)


def array_repr(self: Any) -> str:
    """NumPy's repr of the values, or of the scalar."""
    return repr(_shown(self))


def array_str(self: Any) -> str:
    return str(_shown(self))


def array_format(self: Any, spec: str) -> str:
    """Format a 0-d array as its scalar; a spec on more elements is a TypeError, as in NumPy."""
    if self.ndim == 0:
        values = np.asarray(self)
        return format(values.item() if spec else values, spec)
    if spec:
        raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
    return str(self)


def inline(self: Any, max_width: int) -> str:
    """One line for xarray's summaries; a pending array is not computed for it."""
    node = self._storage.node
    if node.buffer is None:
        return f"<pending, {node.depth} operations deep>"[:max_width]
    values = np.asarray(self).reshape(-1)
    words = [str(value) for value in values[: max_width // 2]]
    line = " ".join(words)
    return line if len(line) <= max_width else line[: max_width - 4].rpartition(" ")[0] + " ..."


def _shown(self: Any) -> Any:
    """The values; of a large pending array, memory in which only the printed items are set."""
    if self._is_scalar:
        return np.asarray(self)[()]
    if self._host is not None:  # small: asking for its storage would copy it into the engine
        return self._host
    options = np.get_printoptions()
    edge = options["edgeitems"]
    if self._storage.node.buffer is not None or self.size <= options["threshold"] or not edge:
        return np.asarray(self)
    ends = (slice(0, edge), slice(-edge, None))
    corners = list(product(*(ends if n > 2 * edge else (_ALL,) for n in self.shape)))
    items = [self[corner].copy() for corner in corners]  # views would compute all of it
    materialize(items)
    values = np.empty(self.shape, self.dtype)  # pages that nobody touches take no memory
    for corner, item in zip(corners, items, strict=True):
        values[corner] = item
    return values
