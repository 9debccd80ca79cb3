"""The way out to NumPy for everything that is not native: materialize, call, wrap, count.
On a GPU CuPy computes what it is known to compute as NumPy does: that stays there.

Each call is counted (`stats().fallbacks`); `options(fallback="warn")` says it once per call site
at the user's line, `"error"` refuses. Functions that write into an argument get a copy, which is
written back.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from lazyfuse import config, events
from lazyfuse.errors import FallbackError, FallbackWarning
from lazyfuse.frontend import array_likes, named_outputs
from lazyfuse.frontend.convert import adopted, to_array
from lazyfuse.frontend.exchange import on_gpu
from lazyfuse.frontend.export import around, handed, value_of
from lazyfuse.frontend.export import to_array as to_numpys
from lazyfuse.frontend.handle import Handle, small_array, view
from lazyfuse.frontend.homes import at_home
from lazyfuse.frontend.references import alone, is_base_alone, is_writeable, may_be_kept
from lazyfuse.frontend.rehost import PUBLIC
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import lift
from lazyfuse.frontend.witnessed import WRITES_FIRST
from lazyfuse.frontend.witnessed import written as written_by
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.recast import Cast
from lazyfuse.ir.witness import WITNESSES, keep
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import code
from lazyfuse.runtime import engine, library
from lazyfuse.runtime.caller import call_as_user

KNOWN = frozenset(DTYPES)

#: NumPy's function, which asks no operand of a class of its own.
_may_overlap: Any = np.may_share_memory._implementation  # type: ignore[attr-defined]

#: Where leave to overwrite the first argument stands among those by position.
_OVERWRITES = {"nanmedian": 3, "nanquantile": 4, "nanpercentile": 4}

_SEEN: set[tuple[str, int]] = set()


def call(function: Callable[..., Any] | None, /, *args: Any, **kwargs: Any) -> Any:
    """Run a NumPy function on materialized arrays and wrap its results; counted and announced."""
    assert function is not None
    arrays = _on_library(function, args)
    announce(_name(function), "CuPy where it can, else NumPy" if arrays else "NumPy")
    found = _on_device(function, arrays, args, kwargs) if arrays else None
    return run(function, *args, **kwargs) if found is None else found


def _on_library(function: Callable[..., Any], args: Sequence[Any]) -> int:
    """How many leading arguments the libraries of the first one's device take of this function as
    arrays; 0 where they do not have it."""
    name = PUBLIC.get(id(function))
    if name is None or not args or not isinstance(args[0], Handle) or args[0]._host is not None:
        return 0
    return library.computes(name, args[0]._storage.device)


def _on_device(
    function: Callable[..., Any], arrays: int, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What the libraries of a GPU give for arrays on it, wrapped; None where NumPy has to compute
    it, or to raise. Waits for the GPU."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return None
    name, device = PUBLIC[id(function)], args[0]._storage.device
    operands = [given.pop(key) for key in list(given)[:arrays]]
    if any(not isinstance(item, Handle) or item._host is not None for item in operands):
        return None
    if any(item._storage.device != device for item in operands):
        return None
    engine.count_asked()
    found = library.compute(name, device, [on_gpu(item) for item in operands], given)
    if found is None:
        return None
    events.add(device_calls=1)
    if type(found) is tuple:
        return tuple(_taken(item, device) for item in found)
    return _taken(found, device)


def _taken(value: Any, device: str) -> Any:
    """An array of the device's library that nobody else has, as ours."""
    array = adopted(value, device, borrow=True)
    array._storage.node.buffer.exclusive = True
    return array


def call_method(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Run a method of ndarray, or of NumPy's scalar, on the materialized value; counted and
    announced."""
    owner = np.dtype(array._code).type if array._is_scalar else np.ndarray
    return call(getattr(owner, name), array, *args, **kwargs)


#: Functions whose results are around what they are given, and are written in turn.
_AROUND = frozenset(("asmatrix",))


def run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """As `call`, for what is NumPy's by nature (random numbers, files): not counted.

    `out=` arrays are written and given back; functions that write into their first argument write
    through.
    """
    engine.count_asked()
    if any([type(arg) is Handle._scalar for arg in args]):
        args = tuple([lower(arg) if type(arg) is Handle._scalar else arg for arg in args])
    if all(map(_has_no_arrays, (*args, *kwargs.values()))):
        result = call_as_user(function, *args, **kwargs)
        if type(result) in SCALARS:
            return result
        is_new = type(result) is np.ndarray and not may_be_kept((*args, *kwargs.values()))
        return lift(result) if is_new else Results({}, (), alone(result)).of(result)
    is_plain = isinstance(function, np.ufunc) and len(args) == function.nin and not kwargs
    return operate(function, *args) if is_plain else _run(function, *args, **kwargs)


def operate(function: Callable[..., Any], *operands: Any) -> Any:
    """As `run`, for an operator or a ufunc on its operands, whose result is no view of one: small
    arrays, those of NumPy's classes and numbers are at hand."""
    hosts = [value._host if isinstance(value, Handle) else value for value in operands]
    if not all(isinstance(host, np.ndarray) or type(host) in SCALARS for host in hosts):
        return _run(function, *operands)
    return lift(call_as_user(function, *hosts))


#: What has no arrays inside, and no memory that a result could be.
_ATOMS = SCALARS | {str, type, type(None), range, GeneratorType}


def _has_no_arrays(value: Any) -> bool:
    return type(value) in _ATOMS or type(value) in (list, tuple) and are_numbers(value)


def write(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """As `run`, for a function that writes into its first argument: small arrays and lists are
    at hand."""
    first: Any = args[0] if args else None
    is_small = isinstance(first, Handle) and first._host is not None
    if is_small and WITNESSES:
        keep(first._host)
    if (is_small or type(first) is list) and _ATOMS.issuperset(map(type, args[1:])) and not kwargs:
        return call_as_user(function, first._host if is_small else first, *args[1:])
    return run(function, *args, **kwargs)


@at_home
def _run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    name = _name(function)
    written: dict[int, tuple[Handle, np.ndarray]] = {}
    options = dict(kwargs)
    if not args and WRITES_FIRST.get(name) in options:
        args = (options.pop(WRITES_FIRST[name]),)
    if name in WRITES_FIRST and args and isinstance(args[0], Handle):
        args = (_writable(args[0], written), *args[1:])
    args = named_outputs.by_name(function, _kept(name, args, options), options)
    if options.get("out") is not None:
        options["out"] = _writable_tree(options["out"], written)
    numpys: Callable[..., Any] = around if name in _AROUND else handed(args)
    lowered = [lower(arg, numpys) for arg in args]
    if name in WRITES_FIRST and args and type(args[0]) is list:
        lowered[0] = args[0]  # the user's own list, which a shuffle reorders
    given = {key: lower(value, numpys) for key, value in options.items()}
    written_by(function, lowered, given)
    result = called(function, lowered, given)
    for handle, array in written.values():
        if array.flags.writeable:
            handle[...] = array  # type: ignore[index]  # every Handle is a LazyArray
    owners: dict[int, Any] = {id(array): array for array in _arrays((options.get("out"), *args))}
    owners.update((id(array), handle) for handle, array in written.values())
    owners.update(
        (id(low), arg)
        for low, arg in zip(lowered, args, strict=True)
        if isinstance(arg, Handle) and not arg._is_scalar  # what is given back is the same array
    )
    results = Results(owners, [*lowered, *given.values()], alone(result))
    return results.of(result)


def _kept(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments without leave to use memory that is not NumPy's; also in the options."""
    if "overwrite_input" in options:
        options["overwrite_input"] = False
    place = _OVERWRITES.get(name)
    if place is None or len(args) <= place:
        return args
    return (*args[:place], False, *args[place + 1 :])


def called(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of NumPy's function. Objects whose `__array__` gives an array of ours, which
    NumPy refuses before it begins, are taken for that array. Raises: what the function raises."""
    try:
        return call_as_user(function, *args, **kwargs)
    except ValueError as error:
        if not array_likes.is_refusal(error):
            raise
    objects: dict[int, tuple[Any, np.ndarray]] = {}
    given = [array_likes.taken(value, objects) for value in args]
    named = {key: array_likes.taken(value, objects) for key, value in kwargs.items()}
    found = call_as_user(function, *given, **named)
    array_likes.restored(found, objects)
    return found


def writes_first(function: Callable[..., Any]) -> bool:
    """Whether a function writes into its first argument."""
    return _name(function) in WRITES_FIRST


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", str(function))


def _writable(array: Handle, written: dict[int, tuple[Handle, np.ndarray]]) -> Any:
    """A copy for NumPy to write into; of what is read-only one that is, too, since NumPy knows
    what it says first. A scalar stays one, about which it has a word as well."""
    if array._is_scalar:
        return lower(array)
    if id(array) not in written:
        copy = np.array(lower(array))
        copy.flags.writeable = array.flags.writeable  # type: ignore[attr-defined]  # a LazyArray
        written[id(array)] = (array, copy)
    return written[id(array)][1]


def _writable_tree(out: Any, written: dict[int, tuple[Handle, np.ndarray]]) -> Any:
    if isinstance(out, Handle):
        return _writable(out, written)
    if isinstance(out, tuple):
        return tuple(_writable_tree(item, written) for item in out)
    return out


def announce(name: str, by: str) -> None:
    """Count a call that leaves the engine; warn once per line of the user, or refuse."""
    policy = config.current().fallback
    if policy == "error":
        raise FallbackError(f"{name} is not native and options(fallback='error') is set")
    events.add_fallback(name)
    if policy == "silent":
        return
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        frame, depth = frame.f_back, depth + 1
    place = (frame.f_code.co_filename, frame.f_lineno)
    if place not in _SEEN:
        _SEEN.add(place)
        warnings.warn(
            f"{name} runs through {by}: its arguments are materialized",
            FallbackWarning,
            stacklevel=depth + 1,
        )


def _is_inner(module: str) -> bool:
    """Whether a module is this package's, or NumPy's, which called back through a protocol."""
    return module.startswith(("lazyfuse.", "numpy."))


#: What stands in lists of numbers.
_NO_ARRAYS = SCALARS | {list, tuple}


def lower(value: Any, numpys: Callable[..., Any] = to_numpys) -> Any:
    """Arrays inside lists and tuples as NumPy arrays, as `numpys` makes them, scalars as NumPy
    scalars. What has no array of ours inside stays the object that it is, and so does a dict: it
    is an element of an array of objects."""
    if isinstance(value, Handle):
        return value_of(value) if value._is_scalar else numpys(value)
    if type(value) in (list, tuple):
        if are_numbers(value) and _NO_ARRAYS.issuperset(map(type, value)):
            return value  # NumPy would ask an array among them to call the function
        items = [lower(item, numpys) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=False))
        return value if same else type(value)(items)
    return value


def _arrays(values: Any) -> list[np.ndarray]:
    """The user's own NumPy arrays among outputs: they are given back as they are."""
    several = (value if _may_hold_arrays(value, tuple) else (value,) for value in values)
    flat = [item for items in several for item in items]
    return [item for item in flat if type(item) is np.ndarray]


class Results:
    """The results of one call: NumPy arrays of known dtypes inside them as LazyArrays, scalars and
    all else as they are. `owners` are given back for their arrays. What shares memory with an
    operand in NumPy is a copy here, and read-only; views of one new array stay views of one
    array. What somebody else refers to is copied."""

    def __init__(
        self, owners: Mapping[int, Any], operands: Sequence[Any], alone: frozenset[int]
    ) -> None:
        self._owners, self._alone = owners, alone
        self._operands = [item for item in _leaves(operands) if isinstance(item, np.ndarray)]
        self._views: Counter[int] = Counter()
        self._whole: dict[int, Any] = {}

    def of(self, result: Any) -> Any:
        """What the call gave, for the user."""
        arrays = {id(item): item for item in _leaves([result]) if isinstance(item, np.ndarray)}
        self._views.update(id(item.base) for item in arrays.values())
        return self.lift(result)

    def lift(self, value: Any) -> Any:
        if id(value) in self._owners:
            return self._owners[id(value)]
        if type(value) is np.memmap and value.flags.writeable:
            return value  # what is written to it goes to its file
        if type(value) in (np.ndarray, np.memmap):
            return self._array(value) if is_known(value.dtype) else value
        if type(value) is list:
            return [self.lift(item) for item in value]
        if isinstance(value, tuple):
            items = [self.lift(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def _array(self, value: np.ndarray) -> Any:
        base = value.base
        if base is None:
            return to_array(value, owned=id(value) in self._alone and value.flags.owndata)
        if any(_may_overlap(value, operand) for operand in self._operands):
            return _read_only(to_array(value))
        plain = type(base) is np.ndarray and base.flags.owndata and is_known(base.dtype)
        is_known_base = id(base) in self._whole  # which refers to it
        is_base_ours = is_known_base or is_base_alone(value, self._views[id(base)] + 1)
        is_ours = id(value) in self._alone and is_base_ours
        if not is_ours or not plain or not base.dtype.isnative or not value.dtype.isnative:
            found = to_array(value)
            return found if is_writeable(value) else _read_only(found)
        if id(base) not in self._whole:
            self._whole[id(base)] = to_array(base, owned=True)
        whole = self._whole[id(base)]
        if whole._host is not None:  # small: NumPy's own view is the array
            return small_array(value, whole)
        start = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        strides = tuple(stride // value.itemsize for stride in value.strides)
        offset, shift = divmod(start, value.itemsize)
        layout = Layout(value.shape, strides, offset)
        cast = Cast(code(value.dtype), shift)
        return view(whole, layout, writeable=is_writeable(value), cast=cast)


def _read_only(array: Any) -> Any:
    """The array, which refuses to be written from now on."""
    if array._host is None:
        array._writeable = False
    else:
        array._host.flags.writeable = False
    return array


def _may_hold_arrays(value: Any, kinds: Any) -> bool:
    """Whether a value is a sequence to look into: not one of numbers, which may be long."""
    return isinstance(value, kinds) and not are_numbers(value)


def _leaves(values: Sequence[Any]) -> list[Any]:
    """Everything in lists and tuples, however deep, but for those of numbers."""
    found, pending = [], list(values)
    while pending:
        value = pending.pop()
        if _may_hold_arrays(value, list | tuple):
            pending.extend(value)
        else:
            found.append(value)
    return found


def is_known(dtype: np.dtype) -> bool:
    """Whether arrays of a dtype can be LazyArrays: of numbers in this machine's byte order."""
    return code(dtype) in KNOWN and dtype.isnative and dtype.kind not in "OSUVMm"
