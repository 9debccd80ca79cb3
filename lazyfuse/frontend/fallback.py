"""The way out to NumPy for everything that is not native: materialize, call, wrap, count.

Each call is counted (`stats().fallbacks`); `options(fallback="warn")` says it once per call site
at the user's line, `"error"` refuses. Functions that write into an argument get a copy, which is
written back.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lazyfuse import config, events
from lazyfuse.errors import FallbackError, FallbackWarning
from lazyfuse.frontend.convert import to_array
from lazyfuse.frontend.handle import Handle
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code

KNOWN = frozenset(DTYPES)

#: Functions that write into their first argument.
_WRITES_FIRST = {
    "put",
    "place",
    "putmask",
    "copyto",
    "fill_diagonal",
    "put_along_axis",
    "sort",
    "partition",
    "shuffle",
}

_SEEN: set[tuple[str, int]] = set()


def call(function: Callable[..., Any] | None, *args: Any, **kwargs: Any) -> Any:
    """Run a NumPy function on materialized arrays and wrap its results."""
    assert function is not None
    return _run(getattr(function, "__name__", str(function)), function, args, kwargs)


def call_method(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Run a method of ndarray on the materialized array."""

    def function(values: np.ndarray, *rest: Any, **options: Any) -> Any:
        return getattr(values, name)(*rest, **options)

    function.__name__ = name
    return _run(name, function, (array, *args), kwargs)


def _run(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    _announce(name)
    events.add(fallbacks=1)
    written: dict[int, tuple[Handle, np.ndarray]] = {}
    if name in _WRITES_FIRST and args and isinstance(args[0], Handle):
        args = (_writable(args[0], written), *args[1:])
    options = dict(kwargs)
    if options.get("out") is not None:
        options["out"] = _writable_tree(options["out"], written)
    lowered = [lower(arg) for arg in args]
    result = function(*lowered, **{k: lower(v) for k, v in options.items()})
    for handle, array in written.values():
        handle[...] = array  # type: ignore[index]  # every Handle is a LazyArray
    owners: dict[int, Any] = {id(array): handle for handle, array in written.values()}
    owners.update((id(array), array) for array in _arrays((options.get("out"), *args[:1])))
    return lift(result, owners, lowered)


def _writable(array: Handle, written: dict[int, tuple[Handle, np.ndarray]]) -> np.ndarray:
    array._check_writeable()
    if id(array) not in written:
        copy = np.array(lower(array))
        written[id(array)] = (array, copy)
    return written[id(array)][1]


def _writable_tree(out: Any, written: dict[int, tuple[Handle, np.ndarray]]) -> Any:
    if isinstance(out, Handle):
        return _writable(out, written)
    if isinstance(out, tuple):
        return tuple(_writable_tree(item, written) for item in out)
    return out


def _announce(name: str) -> None:
    policy = config.current().fallback
    if policy == "silent":
        return
    if policy == "error":
        raise FallbackError(f"{name} is not native and options(fallback='error') is set")
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("lazyfuse."):
        frame, depth = frame.f_back, depth + 1
    place = (frame.f_code.co_filename, frame.f_lineno)
    if place not in _SEEN:
        _SEEN.add(place)
        warnings.warn(
            f"{name} runs through NumPy: its arguments are materialized",
            FallbackWarning,
            stacklevel=depth + 1,
        )


def lower(value: Any) -> Any:
    """Arrays inside lists, tuples and dicts as NumPy arrays."""
    if isinstance(value, Handle):
        return np.asarray(value)
    if type(value) is list:
        return [lower(item) for item in value]
    if type(value) is tuple:
        return tuple(lower(item) for item in value)
    if type(value) is dict:
        return {key: lower(item) for key, item in value.items()}
    return value


def _arrays(values: Any) -> list[np.ndarray]:
    """The user's own NumPy arrays among outputs: they are given back as they are."""
    flat = [item for value in values for item in (value if type(value) is tuple else (value,))]
    return [item for item in flat if type(item) is np.ndarray]


def lift(value: Any, owners: Mapping[int, Any] | None = None, operands: Sequence[Any] = ()) -> Any:
    """NumPy arrays of known dtypes inside results as LazyArrays; scalars and all else stay as
    they are. What shares memory with an operand in NumPy is a copy here, and read-only."""
    if owners and id(value) in owners:
        return owners[id(value)]
    if (
        type(value) is np.ndarray
        and code(value.dtype) in KNOWN
        and value.dtype.kind not in "OSUVMm"
    ):
        lifted = to_array(value, owned=value.base is None and value.flags.owndata)
        if value.base is not None and any(_shares(value, operand) for operand in operands):
            lifted._writeable = False
        return lifted
    if type(value) is list:
        return [lift(item, owners, operands) for item in value]
    if isinstance(value, tuple):
        items = [lift(item, owners, operands) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _shares(value: np.ndarray, operand: Any) -> bool:
    return isinstance(operand, np.ndarray) and np.may_share_memory(value, operand)
