"""What a recording of `fuse` depends on: marks of arguments, and of what a function reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dis import get_instructions
from types import (
    BuiltinFunctionType,
    CodeType,
    EllipsisType,
    FunctionType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.small import SCALARS
from lazyfuse.ops.table import DTYPES


class Itself:
    """Objects of which a recording depends on which one it is alone."""


def array_mark(array: Any) -> Any:
    """What matters of an array; None for one that cannot be a leaf."""
    if isinstance(array, Handle) and array._host is None:
        storage = array._storage
        form = storage.current().formed()
        is_whole = form.layout is array._layout and not array._is_scalar
        return (form, storage.device) if is_whole else None
    host = array._host if isinstance(array, Handle) else array
    if type(host) is not np.ndarray or not host.flags.c_contiguous or host.dtype not in _PLAIN:
        return None
    return host.shape, host.dtype


def plain_mark(value: Any, depth: int = 0) -> Any:
    """What matters of what is no array: its type and value, with the sign of a zero, and that of
    all that is inside; None for what holds arrays, or can change unseen."""
    kind = type(value)
    if kind in NUMBERS:
        is_signed = kind in _FLOATS and not value or issubclass(kind, complex | np.complex64)
        return kind, repr(value) if is_signed else value
    if kind in _FIXED or isinstance(value, type | np.dtype | Itself):
        return kind, value
    if kind in (tuple, list):
        inside = tuple(value)
    elif kind is dict:
        inside = (*value, *value.values())
    else:
        inside = _attributes(value)
        if not inside and not hasattr(value, "__dict__") and _has_no_value(kind):
            return None  # generators, random numbers and others that are more than their identity
    if depth == _DEEPEST or len(inside) > _MOST_INSIDE or isinstance(value, _CHANGING):
        return None
    marks = tuple([plain_mark(item, depth + 1) for item in inside])
    identity = None if kind in (tuple, list, dict) else value
    return None if None in marks else (kind, identity, marks)


def _has_no_value(kind: type) -> bool:
    """Whether objects of a class are told apart by their identity alone."""
    return getattr(kind, "__hash__", None) is _BY_IDENTITY


def _attributes(value: Any) -> tuple[Any, ...]:
    """Names and values of the attributes that an object has itself."""
    found = getattr(value, "__dict__", {})
    return (*found, *found.values())


#: Objects in objects that are looked at, and how deep.
_MOST_INSIDE, _DEEPEST = 64, 3
_FLOATS = frozenset((float, np.float64, np.float32, np.float16))
NUMBERS = SCALARS | {str, bytes}
_FIXED = frozenset((
    ModuleType, FunctionType, BuiltinFunctionType, np.ufunc, NoneType, EllipsisType,
))  # fmt: skip
_BY_IDENTITY: object = object.__hash__
_CHANGING = (Handle, np.ndarray, Iterator)
_PLAIN = frozenset(np.dtype(code) for code in DTYPES)


def reads_of(function: Any) -> Callable[[], tuple[Any, ...]] | None:
    """What gives the marks of what a function reads from its module and its closure."""
    if not isinstance(function, FunctionType):
        return None
    names = function.__globals__
    read = sorted(_globals_of(function.__code__))
    cells = tuple(function.__closure__ or ())
    if not read and not cells:
        return None

    def marks() -> tuple[Any, ...]:
        found = [names.get(name) for name in read]
        found += [_content(cell) for cell in cells]
        return tuple([plain_mark(value) for value in found])

    return marks


def _globals_of(code: CodeType) -> set[str]:
    """The names that code, and the functions and comprehensions in it, read from the module."""
    found = {item.argval for item in get_instructions(code) if item.opname == "LOAD_GLOBAL"}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _globals_of(inner)
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none so far
        return None
