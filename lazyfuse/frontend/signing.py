"""The signatures of NumPy's classes, for ours."""

from __future__ import annotations

from types import FunctionType


def sign(kind: type, numpys: type) -> None:
    """Give methods the signatures of those that NumPy's class has, read when asked for."""
    for name, value in vars(numpys).items():
        own = getattr(kind, name, None)
        if isinstance(own, FunctionType) and getattr(value, "__text_signature__", None):
            own.__wrapped__ = value  # type: ignore[attr-defined]  # functions take attributes
