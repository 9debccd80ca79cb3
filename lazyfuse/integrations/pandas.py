"""Functions of pandas that ask in C what an object is, given NumPy's numbers in the place of ours.

A pending number is NumPy's scalar to `isinstance`, but not to C code: pandas takes it for an
object, and columns of such numbers had dtype object. So the functions through which pandas' code
in Python asks, and makes arrays of objects, are wrapped: the numbers among what they are given are
computed. `item_from_zerodim` goes before all operators: there an array without axes is NumPy's
scalar, and another one NumPy's array, as C code for dates and objects wants it. All else costs
them one look at a type; arrays of objects are looked through, where pandas has found no other
dtype for them, until there is something else than numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import filterfalse
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from lazyfuse.frontend.array import LazyArray, LazyScalar
from lazyfuse.frontend.export import as_numpys, to_array, value_of
from lazyfuse.frontend.ufunc import Ufunc

_Function = Callable[..., Any]


def _of_obj(function: _Function) -> _Function:
    """A function of one object, by the name of its argument, as `_of_val` and `_of_zerodim`."""

    @wraps(function)
    def call(obj: Any, **options: Any) -> Any:
        return function(obj if type(obj) is not LazyScalar else value_of(obj), **options)

    return call


def _of_val(function: _Function) -> _Function:
    @wraps(function)
    def call(val: Any, *args: Any, **options: Any) -> Any:  # `inf_as_na`, of pandas 2
        return function(val if type(val) is not LazyScalar else value_of(val), *args, **options)

    return call


def _of_zerodim(function: _Function) -> _Function:
    @wraps(function)
    def call(val: Any) -> Any:
        if type(val) is LazyScalar:
            return value_of(val)
        if type(val) is LazyArray:
            return _numpys(val) if val.ndim else to_array(val)[()]
        return function(val)

    return call


def _numpys(array: Any) -> Any:
    return np.asarray(array) if array._host is None else as_numpys(array)


def _of_fill(function: _Function) -> _Function:
    """`maybe_promote`, which keeps what it has found by the type of the number."""

    @wraps(function)
    def call(dtype: Any, fill_value: Any = np.nan) -> Any:
        return function(dtype, _number(fill_value))

    return call


def _number(value: Any) -> Any:
    return value_of(value) if type(value) is LazyScalar else value


_numbers: _Function = np.frompyfunc(_number, 1, 1)


#: What an array of objects may hold that becomes one of numbers.
_NUMBERS = frozenset((type(None), bool, int, float, complex, *np.sctypeDict.values()))
#: So many elements are looked at before others, and of an array of more than so many every nth.
_FIRST, _LOOKED_AT = 32, 1024


def _has_ours(values: Any) -> bool:
    """Whether an array of objects has a pending number, and nothing before it that is no number:
    then it would have no dtype of numbers in any case."""
    if type(values) is not np.ndarray or values.dtype != object:
        return False
    flat = values.ravel()
    for part in (flat[:_FIRST], flat[_FIRST :: 1 + values.size // _LOOKED_AT]):
        others = filterfalse(_NUMBERS.__contains__, map(type, part.tolist()))
        found = next(others, None)
        if found is not None:
            return found is LazyScalar
    return False


def _of_objects(function: _Function) -> _Function:
    """`maybe_convert_objects`: what stays an array of objects may do so for our numbers."""

    @wraps(function)
    def call(objects: Any, **options: Any) -> Any:
        found = function(objects, **options)
        is_left = type(found) is np.ndarray and found.dtype == object
        return function(_numbers(objects), **options) if is_left and _has_ours(objects) else found

    return call


def _of_numbers(function: _Function) -> _Function:
    """`maybe_convert_numeric`, which refuses what is no number."""

    @wraps(function)
    def call(values: Any, *args: Any, **options: Any) -> Any:
        return function(_numbers(values) if _has_ours(values) else values, *args, **options)

    return call


def _inferring(function: _Function) -> _Function:
    """`infer_dtype`: what is mixed may be so for our numbers."""

    @wraps(function)
    def call(value: Any, *args: Any, **options: Any) -> Any:
        found = function(value, *args, **options)
        if not found.startswith(("mixed", "unknown")):
            return found
        values = value
        if type(value) in (list, tuple):
            values = np.empty(len(value), object)
            values[:] = value
        return function(_numbers(values), *args, **options) if _has_ours(values) else found

    return call


def _mapped(function: _Function, convert: _Function) -> _Function:
    """`map_infer` and its like: results of a program's function."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        if not _has_ours(found):
            return found
        found = _numbers(found)
        return convert(found) if options.get("convert", True) else found

    return call


def _of_ufuncs(function: _Function) -> _Function:
    """What begins `apply` and its like: they call NumPy's ufuncs of whole columns, without
    warnings, and all else of each element."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        named = {name: _ufunc(value) for name, value in options.items()}
        return function(*map(_ufunc, args), **named)

    return call


def _ufunc(value: Any) -> Any:
    return value._numpys if type(value) is Ufunc else value


def _of_arrays(function: _Function) -> _Function:
    """What keeps an array, or has it read by C code: of ours it gets NumPy's, in the same
    memory."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        named = {name: _array(value) for name, value in options.items()}
        return function(*map(_array, args), **named)

    return call


def _array(value: Any) -> Any:
    return _numpys(value) if type(value) is LazyArray else value


#: The wrappers of functions, and of methods of classes, by their modules.
_WRAPPERS: Mapping[str, Mapping[str, Callable[[_Function], _Function]]] = {
    "pandas._libs.lib": {
        **dict.fromkeys(("is_float", "is_integer", "is_bool", "is_complex"), _of_obj),
        "is_int_or_none": _of_obj,
        "is_scalar": _of_val,
        "item_from_zerodim": _of_zerodim,
        "maybe_convert_objects": _of_objects,
        "maybe_convert_numeric": _of_numbers,
        "infer_dtype": _inferring,
        "ensure_string_array": _of_arrays,
    },
    "pandas._libs.missing": {"checknull": _of_val},
    "pandas.core.dtypes.cast": {"infer_dtype_from_scalar": _of_val, "maybe_promote": _of_fill},
    "pandas.core.apply": {"Apply.__init__": _of_ufuncs},
    "pandas.core.construction": {"array": _of_arrays},
    "pandas.core.arrays.numeric": {"NumericArray.__init__": _of_arrays},
    "pandas.core.arrays.boolean": {"BooleanArray.__init__": _of_arrays},
    "pandas.core.arrays.numpy_": {"NumpyExtensionArray.__init__": _of_arrays},
}
#: Those whose results are converted by `maybe_convert_objects`.
_MAPPING = ("map_infer", "map_infer_mask")


def tell(module: ModuleType) -> None:
    """Wrap the functions of a module, also where other modules of pandas have them already."""
    own, wrapped = vars(module), {}
    for name, wrapper in _WRAPPERS[module.__name__].items():
        kind, _, method = name.partition(".")
        holder = own.get(kind) if method else module
        function = getattr(holder, method or name, None)
        if function is None or hasattr(function, _OURS):  # of a module that is loaded again
            continue
        wrapped[function] = _as_theirs(wrapper(function), module)
        if method:
            setattr(holder, method, wrapped.pop(function))
    convert = own.get("maybe_convert_objects")
    found = {own[name] for name in _MAPPING if name in own and not hasattr(own[name], _OURS)}
    if convert is not None:
        wrapped.update({each: _as_theirs(_mapped(each, convert), module) for each in found})
    for other in _modules(module):
        names = {
            name: value for name, value in vars(other).copy().items() if _is_in(value, wrapped)
        }
        for name, value in names.items():
            setattr(other, name, wrapped[value])


#: What a wrapper has.
_OURS = "_of_lazyfuse"


def _as_theirs(wrapper: Any, module: ModuleType) -> _Function:
    """A wrapper as if it were code of the module: a program's function that pandas calls warns of
    the line above it, which is looked for outside pandas, and filters name modules."""
    code = wrapper.__code__.replace(co_filename=module.__file__ or wrapper.__code__.co_filename)
    names = {**globals(), "__name__": module.__name__, "__file__": module.__file__}
    made: Any = FunctionType(
        code, names, wrapper.__name__, wrapper.__defaults__, wrapper.__closure__
    )
    made.__kwdefaults__ = wrapper.__kwdefaults__
    vars(made).update(vars(wrapper))
    made.__module__, made.__qualname__, made.__doc__ = (
        wrapper.__module__, wrapper.__qualname__, wrapper.__doc__
    )  # fmt: skip
    setattr(made, _OURS, True)
    theirs: _Function = made
    return theirs


def _modules(module: ModuleType) -> list[ModuleType]:
    """The module, and those of pandas that may have taken names from it."""
    loaded = sys.modules.copy()  # other threads import
    others = [value for name, value in loaded.items() if f"{name}.".startswith("pandas.")]
    return [module, *(other for other in others if type(other) is ModuleType)]


def _is_in(value: Any, wrapped: Mapping[Any, Any]) -> bool:
    """Whether a value of a module is one of the functions; others may have no hash."""
    return callable(value) and type(value).__hash__ is not None and value in wrapped
