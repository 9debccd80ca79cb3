"""Pending numbers for `json`: NumPy's float64 is a float, which JSON has; ours is none to C code.
The encoder asks `default` about all that it does not know."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from lazyfuse.frontend.array import LazyScalar
from lazyfuse.frontend.export import value_of


def tell(module: ModuleType) -> None:
    """Have `json.encoder` take them for the floats that they are; other dtypes are refused, as
    NumPy's are."""
    default = module.JSONEncoder.default

    @wraps(default)
    def known(self: Any, o: Any) -> Any:
        value = value_of(o) if type(o) is LazyScalar else o
        return value if isinstance(value, float) and value is not o else default(self, o)

    module.JSONEncoder.default = known
