"""Library calls of a plan -> what a device has of its own for them (`Libraries` of
`backends/base.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from lazyfuse.backends.base import Backend, Libraries, LibraryCall
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.library import Elements, Request, request_of
from lazyfuse.ir.node import Node, Opaque, View
from lazyfuse.ir.plan import Call
from lazyfuse.runtime import session


class Asked(NamedTuple):
    """A call as a backend sees it. `sources` has for each operand the slot of its memory, or
    for a scalar its number among the constants of the plan."""

    request: Request
    operands: tuple[Elements, ...]
    sources: tuple[int, ...]
    result: Elements


def libraries(backend: Backend) -> Libraries | None:
    """The libraries of a device, if it has any."""
    return cast(Libraries, backend) if hasattr(backend, "library_call") else None


def computes(name: str, device: str) -> int:
    """How many leading arguments the libraries of a device take as arrays, of a function of NumPy
    that is computed at once; 0 where they do not have it."""
    own = libraries(session.backend(device))
    return 0 if own is None else own.computes(name)


def compute(
    name: str, device: str, arguments: Sequence[Any], options: Mapping[str, Any]
) -> Any | None:
    """What those libraries give, arrays of the device's own library in and out; None where NumPy
    has to compute it, or to raise. Raises: MemoryError, DeviceUnavailableError."""
    own = libraries(session.backend(device))
    return None if own is None else own.compute(name, arguments, options)


def library_call(step: Call, backend: Backend) -> tuple[LibraryCall, Asked | None] | None:
    """What the device has for a call, and what was asked for; None where devices without
    libraries, and nodes that are no library calls, are concerned."""
    own = libraries(backend)
    if own is None or not isinstance(step.node, Opaque):
        return None
    found = asked(step)
    if found is None:
        return LibraryCall(f"only NumPy has {step.node.name}"), None
    return own.library_call(found.request, found.operands, found.result), found


def bound_call(step: Call, backend: Backend) -> tuple[LibraryCall, Asked | None] | None:
    """As `library_call`, asked once for each step and kept there."""
    known = step.bound[0]
    if known is None or known[0] is not backend:
        known = step.bound[0] = backend, library_call(step, backend)
    found: tuple[LibraryCall, Asked | None] | None = known[1]
    return found


def asked(step: Call) -> Asked | None:
    """What a call asks for; None for what is known to NumPy alone, or reads no plain memory."""
    node = step.node
    request = request_of(node.call) if isinstance(node, Opaque) else None
    places = [_place(src, step) for src in node.srcs]
    known = [place for place in places if place is not None]
    if request is None or len(known) < len(places):
        return None
    operands = tuple(elements for elements, _ in known)
    result = Elements(node.dtype, Layout(node.shape, node.strides, 0))
    return Asked(request, operands, tuple(source for _, source in known), result)


def _place(node: Node, step: Call) -> tuple[Elements, int] | None:
    """The elements of an operand, and its source; None for what is computed for the call."""
    slots, scalars = dict(step.reads), dict(step.scalars)
    whole = Elements(node.dtype, Layout(node.shape, node.strides, 0))
    if node in slots:
        return whole, slots[node]
    if node in scalars:
        return whole._replace(is_scalar=True), scalars[node]
    if isinstance(node, View) and node.srcs[0] in slots:
        return Elements(node.dtype, node.layout), slots[node.srcs[0]]
    return None  # also a view of a view, which `passes/views.py` composes
