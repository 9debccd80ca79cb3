"""What a recorded library call asks for, in words that every backend can look up.

    a @ b           Request("matmul")                      of Elements a, b
    np.sort(x, 0)   Request("sort", {"axis": 0})
    x.view("u4")    Request("view", {"shift": 0})

The call behind an `Opaque` node computes it with NumPy on the host. Where it has a `request`, a
backend may have a library of its own for it; it gives NumPy's answer or leaves the call alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from lazyfuse.ir.layout import Layout

_NONE: Mapping[str, Any] = MappingProxyType({})


class Request(NamedTuple):
    """A function by its public name in NumPy, dotted in submodules, and its options by name.
    `before` are arguments that stand before the arrays."""

    name: str
    options: Mapping[str, Any] = _NONE
    before: tuple[Any, ...] = ()


class Elements(NamedTuple):
    """Elements of a dtype in flat memory: an operand, or a result. `is_scalar`: one value, in no
    memory."""

    dtype: str
    layout: Layout
    is_scalar: bool = False


def request_of(call: Any) -> Request | None:
    """What the call of a node asks for; None for what is known to NumPy alone."""
    found: Request | None = getattr(call, "request", None)
    return found
