"""What lazyfuse adds to NumPy's names: materialize, synchronize and device questions."""

from __future__ import annotations

import sys
from typing import Any, TypeVar, overload

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.novel import asked
from lazyfuse.runtime import engine, session

_Value = TypeVar("_Value")


@overload
def materialize(array: _Value, /) -> _Value: ...


@overload
def materialize(first: Any, second: Any, /, *arrays: Any) -> tuple[Any, ...]: ...


@overload
def materialize() -> tuple[()]: ...


def materialize(*arrays: Any) -> Any:
    """Compute what is pending for the arrays, together, and wait for it.

    Arrays may lie inside lists, tuples and dicts; everything else is ignored. Returns the
    argument, or a tuple of them. Raises: MemoryError when there is no memory; the arrays stay
    pending then.
    """
    if len(arrays) == 1 and isinstance(arrays[0], Handle):
        if arrays[0]._host is None:  # a small array has been computed at once
            asked()
            arrays[0]._flush()
            session.backend(arrays[0]._storage.device).synchronize()
        return arrays[0]
    pending: dict[str, list[Any]] = {}
    stack = list(reversed(arrays))
    while stack:
        value = stack.pop()
        if isinstance(value, Handle):
            if value._host is None:
                pending.setdefault(value._storage.device, []).append(value._storage.now())
        elif isinstance(value, list | tuple):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            stack.extend(reversed(list(value.values())))
    if pending:
        asked()
    for device, nodes in pending.items():
        engine.flush(nodes, device)
        session.backend(device).synchronize()
    return arrays[0] if len(arrays) == 1 else arrays


def devices() -> tuple[str, ...]:
    """The devices that can be used here, the CPU first."""
    return session.devices()


def get_array_module(*args: Any) -> Any:
    """`lazyfuse` when an argument is a LazyArray, else `numpy` (as `cupy.get_array_module`)."""
    lazy = any(isinstance(arg, Handle) for arg in args)
    return sys.modules["lazyfuse" if lazy else "numpy"]
