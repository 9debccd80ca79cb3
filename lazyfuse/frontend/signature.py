"""What a recording of `fuse` depends on: marks of arguments, and of what a function reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from lazyfuse.frontend.captured import Captured, content, globals_of
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.registry import Itself
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.strided import layout_in_span
from lazyfuse.frontend.varying import Varying
from lazyfuse.ops.table import DTYPES
from lazyfuse.runtime import session
from lazyfuse.runtime.replay import ARGUMENT, CELL, MISSING, NAME, Seen, own_names


def array_mark(array: Any) -> Any:
    """What matters of an array; None for one that cannot be a leaf."""
    if isinstance(array, Handle) and array._host is None:
        storage = array._storage
        form = storage.now().formed()
        is_whole = form.layout is array._layout and not array._is_scalar
        return (form, storage.device) if is_whole else None
    host = array._host if isinstance(array, Handle) else array
    if type(host) is not np.ndarray or host.dtype not in _PLAIN:
        return None
    if host.flags.c_contiguous:
        return host.shape, host.dtype
    if layout_in_span(host) is None or session.default_device() != "cpu":
        return None
    return host.shape, host.dtype, host.strides


def plain_mark(value: Any, depth: int = 0) -> Any:
    """What matters of what is no array: its type and value, with the sign of a zero, and that of
    all that is inside; None for what holds arrays, or can change unseen."""
    kind = type(value)
    if kind in NUMBERS:
        is_signed = kind in _FLOATS and not value or issubclass(kind, complex | np.complex64)
        return kind, repr(value) if is_signed else value
    if kind in _UNEQUAL:
        return kind, repr(value)
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
    if depth == DEEPEST or len(inside) > MOST_INSIDE or isinstance(value, _CHANGING):
        return None
    marks = tuple([plain_mark(item, depth + 1) for item in inside])
    identity = None if kind in (tuple, list, dict) else value
    if getattr(kind, "__hash__", None) is None and identity is not None:
        if not _is_attributes(kind):
            return None
        identity = _Same(value)
    return None if None in marks else (kind, identity, marks)


class _Same:
    """An object without a hash: it equals itself alone."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value


def _is_attributes(kind: type) -> bool:
    """Whether objects of a class are their attributes, and hold nothing else that may change."""
    plain = (base for base in kind.__mro__ if base not in (object, SimpleNamespace))
    return all(base.__flags__ & _HEAP_TYPE for base in plain)


#: Py_TPFLAGS_HEAPTYPE of CPython's object.h: the class was made by a `class` statement.
_HEAP_TYPE = 1 << 9


def _has_no_value(kind: type) -> bool:
    """Whether objects of a class are told apart by their identity alone."""
    return getattr(kind, "__hash__", None) is _BY_IDENTITY


def _attributes(value: Any) -> tuple[Any, ...]:
    """Names and values of the attributes that an object has itself."""
    found = {**getattr(value, "__dict__", {}), **_slots(value)}
    return (*found, *found.values())


def _slots(value: Any) -> dict[str, Any]:
    """The attributes that an object has in `__slots__`."""
    found = {}
    for name, member in _members(type(value)):  # type: ignore[arg-type]  # all have one
        try:
            found[name] = member.__get__(value)
        except AttributeError:  # it is not set
            continue
    return found


@lru_cache(maxsize=256)
def _members(kind: type) -> tuple[tuple[str, Any], ...]:
    """What gets the attributes of objects of a class that are not in their dict."""
    return tuple(
        (name, member)
        for base in kind.__mro__
        if base.__flags__ & _HEAP_TYPE
        for name, member in vars(base).items()
        if type(member) is MemberDescriptorType
    )


#: Objects in objects that are looked at, and how deep.
MOST_INSIDE, DEEPEST = 64, 3
_FLOATS = frozenset((float, np.float64, np.float32, np.float16))
#: Scalars without kernels that may be equal and differ, in the sign of a zero or in their unit.
_UNEQUAL = frozenset((np.longdouble, np.clongdouble, np.timedelta64, np.datetime64))
NUMBERS = SCALARS | {str, bytes}
_FIXED = frozenset((
    ModuleType, FunctionType, BuiltinFunctionType, np.ufunc, NoneType, EllipsisType,
))  # fmt: skip
_BY_IDENTITY: object = object.__hash__
_CHANGING = (Handle, np.ndarray, Iterator, Varying)
_PLAIN = frozenset(np.dtype(code) for code in DTYPES)


class Reads:
    """What a function reads from its module and its closure, and what comes with it: the object of
    a method, defaults, the arguments of a `functools.partial`. Captured arrays are arguments."""

    def __init__(self, function: Any) -> None:
        self._held: dict[str, Any] = {}
        captured = function if isinstance(function, Captured) else None
        function = self._innermost(function if captured is None else captured.__wrapped__)
        is_plain = isinstance(function, FunctionType)
        self._names = function.__globals__ if is_plain else {}
        self._read = sorted(globals_of(function.__code__)) if is_plain else []
        self._cells = tuple(function.__closure__ or ()) if is_plain else ()
        if captured is not None:
            self._read = [name for name in self._read if name not in captured.names]
            cells = enumerate(self._cells)
            self._cells = tuple([cell for n, cell in cells if n not in captured.cells])

    def _innermost(self, function: Any) -> Any:
        """The function that is called in the end; what may change of the rest is held."""
        while not isinstance(function, FunctionType):
            call = getattr(type(function), "__call__", None)  # noqa: B004  # what it is
            if isinstance(function, MethodType):
                self._hold(function.__self__)
                function = function.__func__
            elif isinstance(function, partial):
                self._hold(function.args, function.keywords)
                function = function.func
            elif isinstance(call, FunctionType) and not isinstance(function, Itself):
                self._hold(function)
                function = call
            else:
                return function
        self._hold(function.__defaults__, function.__kwdefaults__)
        return function

    def _hold(self, *values: Any) -> None:
        for value in values:
            if not _is_fixed(value):
                self._held[str(len(self._held))] = value

    def marks(self) -> tuple[Any, ...]:
        """The marks of all that is read."""
        found = [self._names.get(name) for name in self._read]
        found += [content(cell) for cell in self._cells]
        found += self._held.values()
        return tuple([plain_mark(value) for value in found])

    def unmarked(self) -> str:
        """The name of something read that has no mark; empty when there is none."""
        for name in self._read:
            if plain_mark(self._names.get(name)) is None:
                return name
        return "its closure, defaults or object" if None in self.marks() else ""

    def seen(self) -> list[Seen]:
        """All that is read, for machine code."""
        found: list[Seen] = []
        for name in self._read:
            found += seen_plain(NAME, (self._names, name), self._names.get(name, MISSING))
        for cell in self._cells:
            found += seen_plain(CELL, cell, content(cell, MISSING))
        for name, value in self._held.items():
            found += seen_plain(NAME, (self._held, name), value)
        return found


def seen_plain(source: int, where: Any, value: Any, depth: int = 0) -> list[Seen]:
    """What is seen of a value that is no array: the object, and what its attributes are."""
    if value is MISSING or _is_fixed(value):
        return [Seen(source, where, value, is_fixed=True)]
    names = own_names(value) if depth < DEEPEST and not _slots(value) else None
    if names is None or type(value) is dict and source == ARGUMENT:  # which is new for each call
        return [Seen(source, where, value, plain_mark(value))]
    found = [Seen(source, where, value, names=names)]
    for name, inner in names.items():
        found += seen_plain(NAME, (names, name), inner, depth + 1)
    return found


def _is_fixed(value: Any) -> bool:
    """Whether an object stays what it is."""
    kind = type(value)
    if kind is tuple:
        return all(map(_is_fixed, value))
    return kind in NUMBERS or kind in _FIXED or isinstance(value, type | np.dtype | Itself)
