"""The code of statements and expressions, compiled once."""

from __future__ import annotations

from functools import lru_cache
from types import CodeType


@lru_cache(maxsize=4096)
def compiled(text: str, kind: str = "exec") -> CodeType:
    """Return the code of a statement (`exec`) or an expression (`eval`)."""
    return compile(text, "<program>", kind)
