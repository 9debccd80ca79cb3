"""The Array API standard (https://data-apis.org/array-api) for libraries that are written for it.

    from lazyfuse import array_api

    x = array_api.asarray(data)
    scipy.stats.zscore(x)                       # with SCIPY_ARRAY_API=1 in the environment
    sklearn.linear_model.Ridge(solver="svd").fit(x, y)    # with array_api_dispatch=True

`lazyfuse` itself is NumPy's namespace, where what has no axes is a NumPy scalar; such libraries
take those for arrays of another library. Here all of it is an `Array`: an array of lazyfuse,
recorded and fused as ever. Names are those of `lazyfuse`, and `linalg` and `fft`.
"""

from __future__ import annotations

import copy as _copy
import operator
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.protocols import array_namespace

_BINARY = (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift lt le gt ge eq ne"
).split()
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_UNARY = ("neg", "pos", "abs", "invert")
_NUMBERS: dict[str, Callable[..., Any]] = {
    "bool": operator.truth, "int": int, "float": float, "complex": complex,
    "index": operator.index, "len": len,
}  # fmt: skip


class Array:
    """An array as the standard has it: each result is another one, also of an element.

    Methods and attributes of `lazyfuse.LazyArray` are there, too. Aliasing: `Array(x)` has the
    memory of an array of lazyfuse; `numpy.asarray`, and `lazyfuse.asarray` with `copy=False`, give
    a view. Errors are those of the array.
    """

    __slots__ = ("_value", "__weakref__")
    __hash__ = None  # type: ignore[assignment]  # as of arrays

    def __init__(self, value: Any) -> None:
        #: An array of lazyfuse's, without axes, too: it can be written, and functions have the
        #: bits of larger ones then.
        is_ours = isinstance(value, Handle) and not value._is_scalar
        self._value: Any = value if is_ours else _numpys().asarray(_bare(value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"an Array has no attribute {name!r}")
        value = getattr(self._value, name)
        return lifted(value) if callable(value) else _wrapped(value)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """This module. Raises: ValueError for an unknown version of the standard."""
        array_namespace(self, api_version=api_version)
        return sys.modules[__name__]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Results are the outputs that are given, whosever arrays they are."""
        outputs = kwargs.get("out", ())
        found = lifted(getattr(ufunc, method))(*inputs, **kwargs)
        results = found if isinstance(found, tuple) else (found,)
        given = (*outputs, *[None] * (len(results) - len(outputs)))
        chosen = [new if old is None else old for new, old in zip(results, given, strict=True)]
        return tuple(chosen) if isinstance(found, tuple) else chosen[0]

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        return self._value.__dlpack__(*args, **kwargs)

    def __dlpack_device__(self) -> Any:
        return self._value.__dlpack_device__()

    def __getitem__(self, key: Any) -> Array:
        return Array(self._value[_bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._value[_bare(key)] = _bare(value)

    def __iter__(self) -> Iterator[Array]:
        return map(Array, self._value)

    def __contains__(self, value: Any) -> bool:
        return _bare(value) in self._value

    def __divmod__(self, other: Any) -> Any:
        return _wrapped(divmod(self._value, _bare(other)))

    def __rdivmod__(self, other: Any) -> Any:
        return _wrapped(divmod(_bare(other), self._value))

    def __copy__(self) -> Array:
        return Array(_copy.copy(self._value))

    def __reduce__(self) -> Any:
        return Array, (self._value,)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._value)})

    def __repr__(self) -> str:
        return repr(self._value).replace("array(", "Array(", 1)

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)


def _bare(value: Any) -> Any:
    """What functions of lazyfuse take."""
    if isinstance(value, Array):
        return value._value
    return type(value)(map(_bare, value)) if type(value) in (tuple, list) else value


#: Whose instances are arrays to the standard.
_ARRAYS = (Handle, np.generic)


def _wrapped(value: Any) -> Any:
    """What the standard has for a result of lazyfuse's; classes derived from NumPy's arrays say
    more than it knows, and stay."""
    if isinstance(value, _ARRAYS) or type(value) is np.ndarray:
        return Array(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_wrapped, value))
    return type(value)(map(_wrapped, value)) if type(value) in (tuple, list) else value


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of lazyfuse's, of Arrays and with such results, or the output that is given."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = {name: _bare(value) for name, value in kwargs.items()}
        found = _wrapped(function(*map(_bare, args), **named))
        output = kwargs.get("out")
        return output if isinstance(output, Array) else found

    return call


# ---- operators and attributes


def _operators(name: str) -> dict[str, Callable[..., Any]]:
    """The methods of a binary operator, by their names."""
    plain = getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))

    def method(self: Array, other: Any) -> Any:
        return _wrapped(plain(self._value, _bare(other)))

    def reflected(self: Array, other: Any) -> Any:
        return _wrapped(plain(_bare(other), self._value))

    if name in _COMPARISONS:
        return {f"__{name}__": method}
    changing = getattr(operator, f"i{name}")

    def in_place(self: Array, other: Any) -> Array:
        self._value = Array(changing(self._value, _bare(other)))._value
        return self

    return {f"__{name}__": method, f"__r{name}__": reflected, f"__i{name}__": in_place}


def _unary(name: str) -> Callable[..., Any]:
    plain = getattr(operator, name)
    return lambda self: _wrapped(plain(self._value))


def _attribute(name: str) -> property:
    get = operator.attrgetter(name)
    return property(lambda self: get(self._value))


def _number(convert: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: convert(self._value)


for _name in _BINARY:
    for _method, _function in _operators(_name).items():
        setattr(Array, _method, _function)
for _name in _UNARY:
    setattr(Array, f"__{_name}__", _unary(_name))
for _name in ("dtype", "shape", "ndim", "size", "device"):  # quicker than `__getattr__`
    setattr(Array, _name, _attribute(_name))
for _name, _convert in _NUMBERS.items():
    setattr(Array, f"__{_name}__", _number(_convert))


# ---- names


def clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """As NumPy's, with either bound left out, and in the dtype of `x`."""
    bounds = [each.astype(x.dtype) if isinstance(each, Array) else each for each in (min, max)]
    return lifted(_numpys().clip)(x, min=bounds[0], max=bounds[1], **options)


def _frequencies(name: str) -> Callable[..., Array]:
    def function(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
        """As NumPy's, of a dtype, on a device."""
        found = Array(getattr(_numpys().fft, name)(n, d))
        found = found if device is None else found.to_device(device)
        return found if dtype is None else found.astype(dtype)

    function.__name__ = function.__qualname__ = name
    function.__module__ = f"{__name__}.fft"
    return function


def _numpys() -> ModuleType:
    return sys.modules["lazyfuse"]


#: Names of the standard's that begin as Python's do.
_OF_THE_STANDARD = ("__array_namespace_info__", "__array_api_version__")


class _Names:
    """The names of a module of lazyfuse's, whose functions take and give Arrays."""

    def __init__(self, module: str, source: Callable[[], ModuleType]) -> None:
        self._module, self._source = module, source

    def lookup(self, name: str) -> Any:
        """Raises: AttributeError."""
        if name.startswith("__") and name not in _OF_THE_STANDARD:
            raise AttributeError(f"module {self._module!r} has no attribute {name!r}")
        value = getattr(self._source(), name)
        if not _is_function(value):
            return value
        function = lifted(value)
        function.__module__, function.__qualname__ = self._module, name
        function.__name__ = name
        return function

    def directory(self) -> list[str]:
        return [name for name in dir(self._source()) if not name.startswith("_")]


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


class _Submodule(ModuleType):
    """`linalg` or `fft`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{__name__}.{name}")
        self._names = _Names(self.__name__, lambda: getattr(_numpys(), name))
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        return vars(self).setdefault(name, self._names.lookup(name))

    def __dir__(self) -> list[str]:
        return self._names.directory()


linalg, fft = _Submodule("linalg"), _Submodule("fft")
vars(fft).update((_name, _frequencies(_name)) for _name in ("fftfreq", "rfftfreq"))
_own = _Names(__name__, _numpys)


def __dir__() -> list[str]:
    return ["Array", *_own.directory()]


def __getattr__(name: str) -> Any:
    """Raises: AttributeError."""
    if name == "__all__":
        return ["Array", *[each for each in _numpys().__all__ if not each.startswith("_")]]
    return globals().setdefault(name, _own.lookup(name))
