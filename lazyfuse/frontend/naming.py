"""What methods of our classes say of themselves: names, docstrings and signatures."""

from __future__ import annotations

from inspect import getattr_static
from types import FunctionType

import numpy as np


def name_methods(kind: type, interface: type) -> None:
    """Give the methods of a class the names by which it has them, for those of bound methods are
    pickled; and the docstrings that its interface has."""
    for name, value in vars(kind).items():
        if isinstance(value, FunctionType) and hasattr(np.ndarray, name):
            value.__name__, value.__qualname__ = name, f"{kind.__name__}.{name}"
            value.__doc__ = getattr(interface, name, value).__doc__


def sign(kind: type, numpys: type) -> None:
    """Give methods the signatures of those that NumPy's class has, read when asked for."""
    for name, value in vars(numpys).items():
        own = getattr_static(kind, name, None)
        if isinstance(own, FunctionType) and getattr(value, "__text_signature__", None):
            own.__wrapped__ = value  # type: ignore[attr-defined]  # functions take attributes
