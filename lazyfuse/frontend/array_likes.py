"""What is no array, and NumPy makes one of; and objects whose `__array__` gives an array of ours,
which NumPy's C code refuses."""

from __future__ import annotations

from array import array as Memory
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.runtime.caller import call_as_user, called_as_user, is_ours, user_frame

#: Words of objects that are asked what to do, or give memory, in other ways than by `__array__`.
_WORDS = tuple(
    f"__{word}__"
    for word in (
        "array_ufunc", "array_function", "array_priority", "array_wrap", "array_namespace",
        "array_interface", "array_struct", "cuda_array_interface", "dlpack",
    )
)  # fmt: skip
_PACKAGE = f"{__name__.partition('.')[0]}."
#: Whether the objects of a class have `__array__` and no other word.
_ASKED: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
#: Numbers and sequences, which NumPy takes for what they are whatever else they have.
_PLAIN = (int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic)


def is_memory(kind: type) -> bool:
    """Whether NumPy reads the objects of a class as an array, and asks nobody."""
    return kind in (range, Memory, memoryview)


def is_asked(kind: type) -> bool:
    """Whether NumPy asks the objects of a class for an array by `__array__`, and that is all there
    is to them."""
    known = _ASKED.get(kind)
    if known is None:
        known = _ASKED[kind] = _is_asked(kind)
    return known


def _is_asked(kind: type) -> bool:
    if issubclass(kind, _PLAIN) or not hasattr(kind, "__array__"):
        return False
    is_ours = str(kind.__module__).startswith(_PACKAGE)
    return not is_ours and not any(hasattr(kind, word) for word in _WORDS)


def is_foreign(kind: type) -> bool:
    """Whether objects of a class are arrays of another library's in host memory, which have a say
    in ufuncs, functions or operators."""
    if kind in _USUAL:
        return False
    known = _FOREIGN.get(kind)
    if known is None:
        known = _FOREIGN[kind] = _is_foreign(kind)
    return known


def _is_foreign(kind: type) -> bool:
    if issubclass(kind, (*_PLAIN, Handle)) or not any(hasattr(kind, word) for word in _DECIDED):
        return False
    is_moving = any(hasattr(kind, word) for word in _MOVING)
    is_called = any("__call__" in vars(base) for base in kind.__mro__)
    return not is_moving and not is_called and not is_asked(kind)


#: What functions are usually given, which needs no look at the class.
_USUAL = frozenset(
    (bool, int, float, complex, str, slice, list, tuple, dict, type, type(None), np.ndarray)
)
#: Whether objects of a class are such arrays.
_FOREIGN: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
#: Words that NumPy asks for, one of which they have.
_DECIDED = ("__array__", "__array_function__", "__array_ufunc__")
#: Words of objects that may be on a GPU.
_MOVING = ("__dlpack__", "__cuda_array_interface__")


def numpys_key(key: Any) -> Any:
    """A key with NumPy's arrays in place of such objects, as NumPy makes them; but for those that
    it refuses, in other words than arrays, and those of no elements, which are integers there."""
    if type(key) is tuple:
        return tuple(map(numpys_key, key))
    if not is_foreign(type(key)) or not hasattr(type(key), "__array__"):
        return key
    made = call_as_user(np.asarray, key)
    return made if made.size and made.dtype.kind in "biu" else key


def is_short(value: Any, most: int) -> bool:
    """Whether what `is_memory` has at most so many elements; a range may have more than `len`
    counts, and memory that is released none, of which NumPy says more."""
    if type(value) is range:
        return not value[most:]
    try:
        view = memoryview(value)
    except ValueError:
        return True
    return view.nbytes <= most * view.itemsize


def in_memory(value: Any, most: int) -> Any:
    """NumPy's array of what `is_memory` and has at most so many elements; all else itself. Raises:
    what NumPy does."""
    is_one = is_memory(type(value)) and is_short(value, most)
    return np.asarray(value) if is_one else value


def computed(function: Callable[..., Any], *args: Any) -> Any:
    """What a function of NumPy's gives; itself where NumPy refuses an object among the arguments,
    which gives an array of ours. Raises: what it does."""
    try:
        return call_as_user(function, *args)
    except ValueError as error:
        if not is_refusal(error):
            raise
    return function


def for_numpys(engine: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays: NumPy's where a class of the user's does so in `__array__`,
    for NumPy takes no others of that. Aliasing: as `numpy.asarray(x)`."""

    @wraps(engine)
    def function(*args: Any, **kwargs: Any) -> Any:
        found = engine(*args, **kwargs)
        return np.asarray(found) if isinstance(found, Handle) and is_in_array_method() else found

    return function


def is_in_array_method() -> bool:
    """Whether the user's function that runs is an `__array__`, and not for one of ours."""
    frame = user_frame(0)
    if frame is None or frame.f_code.co_name != "__array__":
        return False
    asking = frame.f_back
    if asking is None:
        return True
    function = called_as_user(asking)
    if function is not None:
        return function is not np.array and getattr(function, "__name__", "") != "__array__"
    return not is_ours(asking.f_globals)


def is_refusal(error: ValueError) -> bool:
    """Whether NumPy has met such an object."""
    return "__array__ method not producing" in str(error)


#: Classes of such objects that have been met, but for those that decide on functions themselves:
#: what others give is not asked for before NumPy does.
MET: set[type] = set()
_DECIDING = ("__array_function__", "__array_ufunc__")


def own(value: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """The array of ours that an object stands for; None for lists, and for all else. It is given
    what NumPy gives it."""
    if not hasattr(type(value), "__array__"):
        return None
    given = () if dtype is None else (np.dtype(dtype),)
    try:
        made = call_as_user(value.__array__, *given, **({} if copy is None else {"copy": copy}))
    except TypeError:  # it takes none of these, as NumPy has said
        made = call_as_user(value.__array__)
    if not isinstance(made, Handle):
        return None
    if not any(hasattr(type(value), name) for name in _DECIDING):
        MET.add(type(value))
    return made


def taken(value: Any, objects: dict[int, tuple[Any, np.ndarray]] | None = None) -> Any:
    """The array of NumPy's that such an object stands for; a list or a tuple with those of its
    items; all else as it is. `objects` is told by which array each object was replaced."""
    if type(value) in (list, tuple):
        return type(value)(taken(item, objects) for item in value)
    is_known = isinstance(value, Handle | np.ndarray | np.generic)
    if is_known or not hasattr(type(value), "__array__"):
        return value
    made = value.__array__()
    if not isinstance(made, Handle):
        return value
    array = np.asarray(made)
    if objects is not None:
        objects[id(array)] = value, array  # which stays alive, and so does its identity
    return array


def array(value: Any, dtype: Any, options: dict[str, Any]) -> np.ndarray:
    """`np.array(value, dtype, ...)` of a value with such objects in it."""
    objects: dict[int, tuple[Any, np.ndarray]] = {}
    made: np.ndarray = np.array(taken(value, objects), dtype, **options)
    restored(made, objects)
    return made


def restored(made: Any, objects: dict[int, tuple[Any, np.ndarray]]) -> None:
    """Put the objects into what has been made of their arrays: elements of an array of objects are
    the objects themselves."""
    if type(made) is np.ndarray and made.dtype == object:
        for place, element in enumerate(made.flat):
            if id(element) in objects:
                made.flat[place] = objects[id(element)][0]


def host_array(value: Any, dtype: Any, **options: Any) -> np.ndarray:
    """`np.array(value, ...)`; objects whose `__array__` gives a LazyArray may be in it."""
    found = own_or_host(value, dtype, **options)
    is_ours = isinstance(found, Handle)
    made: np.ndarray = array(value, dtype, options) if is_ours else found
    return made


def own_or_host(value: Any, dtype: Any, **options: Any) -> Any:
    """As `host_array`; but the LazyArray itself that an object stands for: whoever writes into
    what `asarray` gives writes into the object."""
    if type(value) in MET and options.get("copy") is None:  # else NumPy says what is wrong with it
        ours = own(value, dtype)
        if ours is not None:
            return ours
    try:
        may_speak = dtype is not None or hasattr(type(value), "__array__")
        if may_speak and not isinstance(value, np.ndarray):
            return call_as_user(np.array, value, dtype, **options)
        return np.array(value, dtype, **options)
    except ValueError as error:
        if not is_refusal(error):
            raise
    ours = own(value, dtype, options.get("copy"))
    return array(value, dtype, options) if ours is None else ours
