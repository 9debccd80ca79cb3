"""The names of `lazyfuse`: native ones, NumPy's own unchanged ones, and a fallback for the rest.

`lookup(name)` is the module `__getattr__`: it decides once per name and keeps the answer.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from lazyfuse.frontend import (
    creation,
    fallback,
    functions,
    joining,
    linalg,
    manipulation,
    reductions,
    registry,
    statistics,
    views,
)
from lazyfuse.frontend.array import LazyArray
from lazyfuse.frontend.ufunc import UFUNCS

_CREATION = (
    "array asarray ascontiguousarray zeros ones empty full zeros_like ones_like empty_like "
    "full_like arange linspace eye identity"
).split()
_MANIPULATION = (
    "reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis squeeze expand_dims "
    "atleast_1d atleast_2d atleast_3d copy"
).split()
_VIEWS = "flip flipud fliplr rot90 diagonal broadcast_to broadcast_arrays".split()
_JOINING = "concatenate stack vstack hstack array_split split vsplit hsplit dsplit unstack".split()
_LINALG = "matmul dot".split()
_REDUCTIONS = "sum prod max min amax amin any all count_nonzero argmax argmin".split()
_STATISTICS = "mean var std trace".split()
_FUNCTIONS = (
    "where clip nan_to_num round astype real imag copyto shape ndim size result_type can_cast "
    "isscalar may_share_memory shares_memory"
).split()


def _native() -> dict[str, Any]:
    names: dict[str, Any] = dict(UFUNCS)
    for module, listed in (
        (creation, _CREATION),
        (manipulation, _MANIPULATION),
        (joining, _JOINING),
        (linalg, _LINALG),
        (reductions, _REDUCTIONS),
        (statistics, _STATISTICS),
        (views, _VIEWS),
        (functions, _FUNCTIONS),
    ):
        names.update({name: getattr(module, name) for name in listed})
    names["asanyarray"] = creation.asarray
    names["concat"] = joining.concatenate
    names["around"] = functions.round
    for alias, name in _ALIASES.items():
        names[alias] = names[name]
    names["ndarray"] = LazyArray
    return names


#: NumPy's second names.
_ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift", "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide",
}  # fmt: skip

NATIVE: Mapping[str, Any] = _native()
registry.NATIVE.update(NATIVE)

#: Submodules whose functions take and give arrays: each name falls back on its own.
_WRAPPED_MODULES = ("linalg", "fft", "random")


@cache
def lookup(name: str) -> Any:
    """What `lazyfuse.<name>` is.
    Raises: AttributeError for names that NumPy does not have either."""
    if name in NATIVE:
        return NATIVE[name]
    if name.startswith("_") or name in ("core", "f2py") or not hasattr(np, name):
        raise AttributeError(f"module 'lazyfuse' has no attribute {name!r}")
    return _adapt(getattr(np, name), name)


def _adapt(value: Any, name: str) -> Any:
    """NumPy's value: functions fall back, modules of functions are wrapped,
    all else is taken as it is."""
    if isinstance(value, types.ModuleType):
        return Wrapped(value) if name in _WRAPPED_MODULES else value
    if isinstance(value, type) or not callable(value) or name in _AS_THEY_ARE:
        return value
    return _Fallback(value)


#: Functions about dtypes, errors and printing, which take no arrays.
_AS_THEY_ARE = frozenset(
    "dtype errstate seterr geterr seterrcall geterrcall setbufsize getbufsize printoptions "
    "set_printoptions get_printoptions finfo iinfo promote_types issubdtype min_scalar_type "
    "show_config show_runtime test info broadcast_shapes typename isdtype get_include vectorize "
    "frompyfunc mintypecode ndindex format_float_positional format_float_scientific "
    "base_repr binary_repr common_type".split()
)


class _Fallback:
    """A NumPy function on LazyArrays: arguments are materialized, results wrapped."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__name__ = getattr(function, "__name__", str(function))
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return fallback.call(self._function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return f"<lazyfuse fallback of {self._function!r}>"


class Wrapped:
    """A NumPy submodule whose functions fall back. Generators of `random` wrap their samples."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module
        self.__name__ = f"lazyfuse.{module.__name__.rpartition('.')[2]}"
        self.__doc__ = module.__doc__

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if name == "default_rng":
            return lambda *args, **kwargs: RandomGenerator(value(*args, **kwargs))
        if isinstance(value, type | types.ModuleType) or not callable(value):
            return value
        return _Fallback(value)

    def __dir__(self) -> list[str]:
        return dir(self._module)


class RandomGenerator:
    """NumPy's Generator with LazyArrays as samples:
    drawn at once, so streams do not depend on evaluation order."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._generator, name)
        return _Fallback(value) if callable(value) else value


def names() -> list[str]:
    """All names, for `dir(lazyfuse)`."""
    return sorted({*NATIVE, *np.__all__})
