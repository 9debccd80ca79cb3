"""NumPy's and Python's protocols: ufuncs and functions called on arrays, copy, `in`, `round`.

What hands out memory is in `exchange.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from types import GenericAlias
from typing import Any, SupportsIndex

import numpy as np

from lazyfuse.frontend import (
    averages,
    fallback,
    methods,
    others,
    recorded,
    registry,
)
from lazyfuse.frontend.convert import ForeignError, is_subclass
from lazyfuse.frontend.export import around
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import KNOWN, LARGE, at_once, lift, lowered
from lazyfuse.frontend.windows import largest, made
from lazyfuse.ops.rules import FUNCTIONS, Rule
from lazyfuse.runtime.caller import call_as_user

_OUT = {"out"}
#: What machine code saves of a call (`rerecord.count`).
_SAVED = 3


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy ufunc called on a LazyArray: our own of that name, else it runs through NumPy.

    `out=` arrays are written and returned themselves, NumPy arrays among them.
    """
    count(_SAVED)
    if method == "__call__" and PLAIN.issuperset(map(type, inputs)):
        found = _of_plain(ufunc, inputs, kwargs)
        if found is not None:
            return found
    if any(map(others.overrides, (*inputs, *(kwargs.get("out") or ())))):
        return others.of_ufunc(ufunc, method, inputs, kwargs)
    found = _of_subclasses(ufunc, inputs, kwargs) if method == "__call__" else None
    if found is not None:
        return found
    ufunc = getattr(ufunc, "_ufunc", ufunc)  # one of ours
    if not isinstance(ufunc, np.ufunc):
        if not callable(ufunc) or not hasattr(ufunc, "nin"):  # what Numba makes has it
            raise TypeError(f"__array_ufunc__ takes a ufunc, not {type(ufunc).__name__}")
        return fallback.call(getattr(ufunc, method), *inputs, **kwargs)
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc or name not in registry.NATIVE:
        return _through_numpy(ufunc, method, inputs, kwargs)
    own = registry.NATIVE[name]
    if method == "__call__":
        return getattr(own, "call_as_user", own)(*inputs, **kwargs)
    if not hasattr(own, method):
        return _through_numpy(ufunc, method, inputs, kwargs)
    found = getattr(own, method)(*inputs, **kwargs)
    return averages.written(found) if method == "reduce" and kwargs.get("out") else found


def _of_plain(ufunc: Any, inputs: Any, kwargs: Any) -> Any:
    """The result for operands that override nothing, with an output at most; None where it takes
    more to find it."""
    own = own_ufuncs().get(ufunc)
    if own is None:
        return _of_others(ufunc, inputs) if type(ufunc) is np.ufunc and not kwargs else None
    if not kwargs:
        return own.call_as_user(*inputs)
    is_written = kwargs.keys() == _OUT and own.has_written(inputs, kwargs["out"])
    return kwargs["out"][0] if is_written else None


def _of_others(ufunc: np.ufunc, inputs: Any) -> Any:
    """What another library's ufunc gives for small arrays of ours and numbers; None for others."""
    hosts, sizes, least = list[Any](), list[int](), largest()
    for value in inputs:
        host = value._host if isinstance(value, Handle) else value
        if type(host) is np.ndarray:
            sizes.append(host.size)
        elif host is None:
            return None
        hosts.append(host)
    if max(sizes, default=least + 1) > least:
        return None
    if len(set(sizes)) > 1 and ufunc.signature is None and prod(sizes) > least:
        return None
    found = call_as_user(ufunc, *hosts)
    if type(found) is np.ndarray and found.dtype in KNOWN:
        return made(found, least)
    return lift(found)


def _of_subclasses(ufunc: Any, inputs: Any, kwargs: Any) -> Any:
    """The result of small arrays beside those of classes derived from NumPy's, which is of such a
    class and NumPy's to compute; None elsewhere."""
    out = kwargs.get("out") or ()
    if len(kwargs) > len(out) or not any(map(is_subclass, inputs)) or type(ufunc) is not np.ufunc:
        return None
    hosts = [value._host if isinstance(value, Handle) else value for value in inputs]
    known = (isinstance(host, np.ndarray) or type(host) in SCALARS for host in hosts)
    if not all(known) or not all(map(is_subclass, out)):
        return None
    return lift(call_as_user(ufunc, *hosts, **kwargs))


#: Operands that override nothing, beside our own.
PLAIN: set[type] = {bool, int, float, complex, np.ndarray, np.float64, np.float32, np.int64}


@cache
def own_ufuncs() -> dict[Any, Any]:
    """Our ufuncs by NumPy's; asked when the namespace is complete."""
    found = {getattr(value, "_ufunc", None): value for value in registry.NATIVE.values()}
    return {ufunc: own for ufunc, own in found.items() if isinstance(ufunc, np.ufunc)}


def _through_numpy(ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        given = lowered(inputs, {})
        if given is not None:
            return lift(call_as_user(ufunc, *given.args), given.arrays)
        found = recorded.elementwise(ufunc, inputs)
        if found is not None:
            return found
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    return fallback.call(function, *inputs, **kwargs)


def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function called on a LazyArray:
    our own of that name, else NumPy's on materialized arrays."""
    if not isinstance(args, tuple):
        raise TypeError("args must be a tuple.")
    if not isinstance(kwargs, dict):
        raise TypeError("kwargs must be a dict.")
    who = _CONVERTING.get(func)
    converts = who and sys._getframe(1).f_globals.get("__name__", "").startswith(who)
    if not kwargs and not converts and ARRAYS.issuperset(types) and _are_plain(args):
        found = _at_once(func, args)
        if found is not LARGE:
            return found
    if not all(issubclass(kind, Handle | np.ndarray) for kind in types):
        return others.of_function(func, types, args, kwargs)
    if converts:
        named = {key: fallback.lower(value, around) for key, value in kwargs.items()}
        return func(*fallback.lower(args, around), **named)
    if others.decide(func, args, kwargs):  # who asks here: NumPy would ask them again
        return fallback.run(func._implementation, *args, **kwargs)
    seen = _without_ours if func in _OF_SEQUENCES else _seen
    args, kwargs = tuple(map(seen, args)), {key: seen(value) for key, value in kwargs.items()}
    own = _own_of(func)
    if own is not None:
        given = {key: value for key, value in kwargs.items() if value is not np._NoValue}
        try:
            return own(*args, **given)
        except ForeignError:  # objects, strings, dates among the arguments
            return fallback.call(func, *args, **kwargs)
    found = at_once(func, args, kwargs) if _is_reading(func) else LARGE
    return fallback.call(func, *args, **kwargs) if found is LARGE else found


def _are_plain(args: tuple[Any, ...]) -> bool:
    """Whether a call is one of an array of ours, or of a list of such, with others and with words
    behind it: no other library has a say, and nothing has to be looked into."""
    if not args:
        return False
    first = type(args[0])
    is_ours = ARRAYS.issuperset(map(type, args[0])) if first is list else first in ARRAYS
    return is_ours and all(map(_is_word, args[1:]))


def _is_word(value: Any) -> bool:
    kind = type(value)
    if kind is tuple:
        return _WORDS.issuperset(map(type, value))
    return kind in _WORDS or kind in ARRAYS


_WORDS = frozenset((bool, int, float, complex, str, type, type(None)))


def _at_once(func: Any, args: tuple[Any, ...]) -> Any:
    """What our function of that name gives, or what an array says of itself; LARGE where it takes
    more to find it."""
    answer = _ANSWERS.get(func) if len(args) == 1 else None
    if answer is not None and type(args[0]) is not list:
        return answer(args[0])
    own = _own_of(func)
    if own is None:
        return at_once(func, args, {}) if _is_reading(func) else LARGE
    try:
        return own(*args)
    except ForeignError:  # objects, strings, dates among the arguments
        return fallback.call(func, *args)


def _own_of(func: Any) -> Any:
    """Our function by NumPy's; None where there is none."""
    own = _owns.get(func)
    if own is None:
        own = registry.find(f"{func.__module__}.{func.__name__}".removeprefix("numpy."))
        if own is not None and len(_owns) < _MOST_OWNS:
            _owns[func] = own
    return own


#: Those that have been called; they are few.
_owns: dict[Any, Any] = {}
_MOST_OWNS = 1000
#: What needs no elements.
_ANSWERS: Mapping[Any, Callable[[Any], Any]] = {
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.size: lambda array: array.size,
    np.result_type: lambda array: array.dtype,
    np.iscomplexobj: lambda array: array.dtype.kind == "c",
    np.isrealobj: lambda array: array.dtype.kind != "c",
}


def _is_reading(func: Any) -> bool:
    """Whether a function that only NumPy has reads small arrays, and calls nobody back."""
    rule = FUNCTIONS.get(func.__name__, Rule.NONE) if func.__module__ == "numpy" else Rule.NONE
    return func.__module__ in _READING or rule not in (Rule.NONE, Rule.PLACES, Rule.INTO)


#: Modules whose functions only NumPy has, some of them, which only read small arrays.
_READING = frozenset(("numpy.linalg", "numpy.fft"))


def _seen(value: Any) -> Any:
    """An argument without arrays of ours in the middle of numbers: our function sees none in such
    a list (`are_numbers`), and would ask NumPy's, which asked here."""
    if type(value) not in (list, tuple):
        return value
    return fallback.lower(value) if are_numbers(value) else type(value)(map(_seen, value))


#: Functions that NumPy calls by what stands in an argument: in a sequence, or an array of objects.
_OF_SEQUENCES = frozenset(
    (
        *(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack),
        *(np.select, np.choose, np.linalg.multi_dot),
    )
)


def _without_ours(value: Any) -> Any:
    """As `_seen`, of an argument that may be an array of objects with arrays of ours among them:
    whoever is called with it would look there again, and ask us without end."""
    if type(value) is not np.ndarray or not value.dtype.hasobject or not value.ndim:
        return _seen(value)
    return np.frompyfunc(fallback.lower, 1, 1)(value) if value.dtype == object else value


#: What others make NumPy's arrays by for their C code, and who does: SciPy of the gradients that a
#: program gives it, SciPy and scikit-image the pictures that they write, pandas an index.
_CONVERTING: Mapping[Any, tuple[str, ...]] = {
    **dict.fromkeys((np.atleast_1d, np.atleast_2d, np.atleast_3d), ("scipy.",)),
    **dict.fromkeys(
        (np.empty_like, np.zeros_like, np.ones_like, np.full_like),
        ("scipy.ndimage.", "skimage."),
    ),
    np.delete: ("pandas.core.indexes.",),
}


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The module `lazyfuse`. Raises: ValueError for an unknown version of the Array API
    standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"unknown Array API version {api_version!r}")
    return sys.modules["lazyfuse"]


def subscripted(cls: type, item: Any) -> GenericAlias:
    """`ndarray[shape, dtype]` in annotations. Raises: TypeError for more or fewer than two."""
    np.ndarray.__class_getitem__(item)
    return GenericAlias(cls, item)


def shallow_copy(self: Any) -> Any:
    return methods.converted(self, self._code)


def deep_copy(self: Any, memo: Any) -> Any:
    """A copy, of a small array a small one: the elements are numbers, which have no parts."""
    return self.__copy__()


def contains(self: Any, value: Any) -> bool:
    return bool(np.any(self == value))


def python_round(self: Any, ndigits: SupportsIndex | None = None) -> Any:
    """`round(x)` of what NumPy gives as a scalar. Raises: TypeError for arrays, as ndarray."""
    if not self._is_scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    value: Any = np.asarray(self)[()]
    return round(value, ndigits)


def sizeof(self: Any) -> int:
    """As NumPy's, for `sys.getsizeof`: the memory counts where it is the array's own, there or
    pending. A scalar is all its own."""
    if self._is_scalar:
        size: int = self.dtype.type().__sizeof__()
    else:
        blank = np.empty((0,) * self.ndim)
        memory = self.nbytes if self.base is None else 0
        size = blank.__sizeof__() - blank.nbytes + memory
    return size - _words_before(type(self).__flags__)


def _words_before(flags: int) -> int:
    """What `sys.getsizeof` adds to it: the words before objects of a class, for the garbage
    collector and, since Python 3.12, for references."""
    return sum(16 for found in (flags & _COLLECTED, flags & _MANAGED) if found)


#: Py_TPFLAGS of CPython's object.h: HAVE_GC; MANAGED_DICT and MANAGED_WEAKREF.
_COLLECTED, _MANAGED = 1 << 14, 1 << 4 | 1 << 3
