"""Small arrays: a NumPy array inside, computed at once.

Recording and launching costs more than NumPy needs for a few thousand elements. So an array of at
most `options(eager_size=...)` elements is a NumPy array behind the same class (`_host`), and an
operation all of whose operands are small runs at once through NumPy, provided that its bits are
those of a kernel (`OpDef.ulp` 0). Views of it are NumPy's own views of that memory.

Where a small array meets one of the engine, or an operation whose bits are the kernels' own, it is
read into the graph as a copy: what NumPy would have read at this moment.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.adopting import learn
from lazyfuse.frontend.array_likes import MET, is_memory, is_short
from lazyfuse.frontend.convert import eager_size, is_subclass, source, to_array
from lazyfuse.frontend.handle import Handle, handle, new, small_array
from lazyfuse.frontend.references import is_base_alone, is_writeable, root
from lazyfuse.frontend.sequences import SCALARS, are_numbers, has_pieces
from lazyfuse.frontend.witnessed import written
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source, View
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.orphans import orphaned
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import MOST_AXES
from lazyfuse.ops.table import DTYPES, OPS
from lazyfuse.ops.types import code
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user

Method = Callable[..., Any]

KNOWN = frozenset(np.dtype(code) for code in DTYPES)
#: Types of arguments that hold no array; a dict is an element of an array of objects.
_AS_THEY_ARE = SCALARS | {type(None), str, slice, dict}


# ---- between both worlds


def lift(value: Any, operands: Sequence[Any] = ()) -> Any:
    """A result of NumPy for the user: arrays are wrapped (large ones go to the engine), views
    remember whose memory they are, scalars and all else stay as they are. `operands` are the
    arrays, ours and NumPy's, that the call was given."""
    kind = type(value)
    if kind is np.ndarray:
        return _lift_array(value, operands, is_only=True)
    if kind in (tuple, list):
        is_plain = kind is list and are_numbers(value)
        return value if is_plain else kind(lift(item, operands) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(lift(item, operands) for item in value))
    return value


def _lift_array(value: np.ndarray, operands: Sequence[Any], *, is_only: bool = False) -> Any:
    """`is_only`: no other result of the call may lie in the same memory."""
    if value.dtype not in KNOWN:
        return value
    first = operands[0] if operands else None  # and no name for the base: references are counted
    if type(first) is Handle._concrete and first._host is not None and value.base is first._host:
        return _shared(value, first)  # one of many pieces, say
    memory = root(value)
    for operand in operands:
        mine = isinstance(operand, Handle)
        host = operand._host if mine else operand
        if mine and value is host:
            return operand
        if memory is root(host):
            return _shared(value, operand)
    is_fresh = isinstance(memory, np.ndarray) and memory.flags.owndata
    is_whole = value.base is None or is_fresh and memory.size == value.size
    if value.size > eager_size() and is_whole:
        is_ours_alone = is_only and value.base is memory and is_base_alone(value, _OF_ONE_VIEW)
        is_own = value.base is None or is_ours_alone
        if is_own and session.default_device() == "cpu":
            return as_writeable_as(value, new(source(value, "cpu", owned=True), "cpu"))
        return as_writeable_as(value, to_array(value, owned=is_own))
    if not is_fresh:
        return as_writeable_as(value, small_array(value.copy(order="K")))
    return small_array(value, None if value.base is None else small_array(memory))


#: References to an array of which there is one view: the view's, and a name here.
_OF_ONE_VIEW = 2


def _shared(value: np.ndarray, operand: Any) -> Any:
    """An array in the memory of an operand: a view of ours, a copy of NumPy's."""
    if not isinstance(operand, Handle):
        return as_writeable_as(value, to_array(value))
    return small_array(value, operand if operand._owner is None else operand._owner)


def as_writeable_as(value: np.ndarray, array: Any) -> Any:
    """An array that is read-only where NumPy's is."""
    if not is_writeable(value):
        array.setflags(write=False)
    return array


class Large(Exception):
    """An operand belongs to the engine, or is too large to be computed at once."""


class Lowering:
    """Arguments as NumPy takes them: arrays of at most `allowed` elements. `arrays`: those among
    them, ours and NumPy's."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self.arrays: list[Any] = []

    def lower(self, value: Any) -> Any:
        """An argument for NumPy. Raises: Large."""
        kind = tuple if isinstance(value, tuple) else type(value)  # a named one is one to NumPy
        if kind in _AS_THEY_ARE:
            return value
        if isinstance(value, Handle):
            host = value._host
            if host is None:
                return self.of_engine(value)
            self.arrays.append(value)
            return host
        if kind in (list, tuple):
            is_long = len(value) > max(self.allowed, MOST_AXES)  # a shape is never too long
            if is_long and not has_pieces(value):
                raise Large
            if are_numbers(value):
                return value
            items = [self.lower(item) for item in value]
            if _are_same(items, value):
                return value
            return value._make(items) if hasattr(value, "_fields") else kind(items)
        if kind is deque or is_memory(kind):
            return self._of_kind(kind, value)
        if isinstance(value, np.ndarray) and value.size <= self.allowed:
            self.arrays.append(value)
            return value
        made = call_as_user(value.__array__) if kind in MET else None
        return self.lower(made) if isinstance(made, Handle) else self.other(value)

    def _of_kind(self, kind: type, value: Any) -> Any:
        """A range, memory or a deque for NumPy. Raises: Large."""
        if len(value) > self.allowed if kind is deque else not is_short(value, self.allowed):
            raise Large
        if kind is not deque:
            return value
        items = list(value)  # at once: another thread may append to it
        given = self.lower(items)
        return value if given is items else given

    def of_engine(self, array: Handle) -> Any:
        """An array of the engine for NumPy. Raises: Large."""
        raise Large

    def other(self, value: Any) -> Any:
        """What is no array: dtypes, functions, Ellipsis, integers of classes of the user's...
        Raises: Large for what could be one of another library's, whose memory is not ours."""
        if isinstance(value, type) and issubclass(value, Handle):
            return np.ndarray
        if isinstance(value, type | np.dtype | np.generic) or callable(value):
            return value
        is_integer = hasattr(type(value), "__index__") and not hasattr(value, "ndim")
        if is_integer or any(value is word for word in (Ellipsis, np.newaxis, np._NoValue)):
            return value
        raise Large


def _are_same(items: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(map(operator.is_, items, others))


class Lowered(NamedTuple):
    """The arguments of a call as NumPy takes them, and the arrays among them."""

    args: list[Any]
    kwargs: dict[str, Any]
    arrays: list[Any]


def lowered(args: Sequence[Any], kwargs: Mapping[str, Any], least: int = 0) -> Lowered | None:
    """Arguments for NumPy, None when something belongs to the engine or is too large. Small arrays
    stay small when the option changes; `least` is the size of one."""
    allowed = max(eager_size(), least)
    if not allowed or not OWN_WORDS.isdisjoint(kwargs) or type(kwargs.get("out")) in MET:
        return None
    lowering = Lowering(allowed)
    try:
        return Lowered(
            [lowering.lower(arg) for arg in args],
            {key: lowering.lower(value) for key, value in kwargs.items()},
            lowering.arrays,
        )
    except Large:
        return None


#: Keywords that NumPy does not know, or that give the call to others, or an operand's memory to
#: the function.
OWN_WORDS = frozenset(("device", "like", "descending", "overwrite_input"))


def fits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether the broadcast of two small operands is small as well."""
    if left.shape == right.shape:
        return True
    allowed = eager_size()
    try:
        return left.size * right.size <= allowed or np.broadcast(left, right).size <= allowed
    except ValueError:
        return True  # NumPy's operation says it better


#: What an array may not have before it is asked for.
MISSING = ("_storage", "_layout", "_writeable", "_cast", "_host", "_entered")


def missing(array: Any, name: str) -> Any:
    """What the engine asks of a small array: the parts of a copy that it may read; and NumPy's
    array where that is put off."""
    if name == "_host":
        return Handle._host_of(array)
    if name == "_writeable":
        return is_writeable(array._host)
    if name in ("_cast", "_entered"):
        return None
    host = array._host
    if name == "_layout" and host.flags.c_contiguous:
        return Layout(host.shape, c_strides(host.shape), 0)
    storage, layout = _snapshot(host)
    return storage if name == "_storage" else layout


def node_of(host: np.ndarray) -> Node:
    """The values of a small array in the graph, as they are now."""
    storage, layout = _snapshot(host)
    orphaned(storage.node)
    return storage.node if layout == storage.layout else View(storage.node, layout)


def entered(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands with copies in the engine in place of small arrays, where both are among them; else
    the operands themselves."""
    hosts = [each._host is not None for each in operands if isinstance(each, Handle)]
    if all(hosts) or not any(hosts):
        return operands
    return tuple([
        each if not isinstance(each, Handle) or each._host is None else enter(each._host)[1]
        for each in operands
    ])  # fmt: skip


def enter(host: np.ndarray) -> tuple[np.ndarray | None, Any]:
    """A small array as one of the engine's, to be read by this thread: a copy of what it is now,
    in which memory that array lies. None for the copy where it does not lie as the small one
    does."""
    if not (host.flags.c_contiguous and host.size and host.dtype.isnative):
        storage, layout = _snapshot(host)
        return None, handle(Handle._concrete, storage, layout)
    copy = host.copy()
    buffer = session.backend("cpu").from_host(copy, borrow=True)
    node = Source(host.shape, code(host.dtype), c_strides(host.shape), buffer)
    learn(copy)
    return copy, handle(Handle._concrete, Storage(node, "cpu"))


def _snapshot(host: np.ndarray) -> tuple[Storage, Layout]:
    """A copy in the memory of the engine, and how the array lies in it: what repeats in NumPy's
    memory repeats there."""
    pairs = zip(host.shape, host.strides, strict=True)
    repeats = [bool(host.size) and n > 1 and not s for n, s in pairs]
    once = host[tuple(slice(0, 1) if repeat else slice(None) for repeat in repeats)]
    storage = Storage(source(once.copy(order="K"), "cpu", owned=True), "cpu")
    both = zip(repeats, storage.layout.strides, strict=True)
    strides = tuple(0 if repeat else stride for repeat, stride in both)
    return storage, Layout(host.shape, strides, 0)


def hold(dtypes: Sequence[np.dtype], values: Sequence[Any]) -> bool:
    """Whether floats of the dtype that all these are promoted to hold the Python numbers among
    values. NumPy says that they do not before it writes anything; who hears of it afterwards has
    written."""
    numbers = [value for value in values if type(value) in (int, float, complex)]
    sizes = [abs(part) for number in numbers for part in (number.real, number.imag)]
    beyond = [size for size in sizes if _MOST["f2"] < size != inf]
    if not beyond or not dtypes:
        return True
    return bool(max(beyond) <= _MOST.get(np.result_type(*dtypes).str[1:], inf))


_MOST = {"f2": 65000.0, "f4": 1e38, "c8": 1e38}


def is_output(result: Any, given: Sequence[Any]) -> bool:
    """Whether a result is an array of NumPy's that was given by position after the first
    argument: what it was written to."""
    return type(result) is np.ndarray and any(result is each for each in given)


def answer(result: Any, kwargs: Mapping[str, Any]) -> Any:
    """The result; the user's own `out=` arrays where there are some, but of derived classes."""
    out = kwargs.get("out")
    outs = out if isinstance(out, tuple) else (out,)
    if out is None or out is Ellipsis or isinstance(result, tuple) and outs is not out:
        return result
    given = [None if is_subclass(each) else each for each in outs]  # what NumPy gives for these
    if isinstance(result, tuple):
        pairs = zip(result, (*given, *(None,) * (len(result) - len(given))), strict=True)
        return tuple(own if mine is None else mine for own, mine in pairs)
    return result if given[0] is None else given[0]


# ---- ufuncs


def is_exact(names: Sequence[str]) -> bool:
    """Whether NumPy's results of these operations have the bits of the kernels'."""
    return all(name not in OPS or OPS[name].ulp == 0 or name == "absolute" for name in names)


#: What `ufunc` gives for operands that are not all small.
LARGE = object()


def largest(args: Sequence[Any]) -> int:
    """The size of the largest small array among arguments."""
    sizes = [arg._host.size for arg in args if isinstance(arg, Handle) and arg._host is not None]
    return max(sizes, default=0)


def are_scalars(args: Sequence[Any]) -> bool:
    """Whether a function is asked for one number: NumPy's own answer is given, its scalar."""
    return all(type(arg) in SCALARS for arg in args)


def ufunc(plain: Method, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of a ufunc, or of a method of one, on small operands; else LARGE."""
    for arg in args:
        if isinstance(arg, Handle) and arg._host is None:
            return LARGE
    given = lowered(args, kwargs, largest(args))
    if given is None:
        return LARGE
    if plain is np.absolute and any(np.iscomplexobj(array._host) for array in given.arrays
                                    if isinstance(array, Handle)):  # fmt: skip
        return LARGE
    arrays = [value for value in given.args[:2] if isinstance(value, np.ndarray)]
    is_product = getattr(plain, "signature", None) is not None
    if len(arrays) > 1 and not is_product and not fits(*arrays):
        return LARGE
    written(plain, args, kwargs)
    found = call_as_user(plain, *given.args, **given.kwargs)
    return answer(lift(found), _outputs(plain, args, kwargs))


def _outputs(plain: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords with `out=`, also where it is given by position."""
    given = args[plain.nin :] if isinstance(plain, np.ufunc) else ()
    return {"out": given} if given else kwargs


def at_once(plain: Method, args: Sequence[Any], kwargs: Mapping[str, Any], least: int = 0) -> Any:
    """The result of a function of NumPy's on small operands, else LARGE; `least` as above."""
    given = lowered(args, kwargs, least)
    if given is None:
        return LARGE
    written(plain, args, kwargs)
    found = call_as_user(plain, *given.args, **given.kwargs)
    return found if is_output(found, args[1:]) else answer(lift(found, given.arrays), kwargs)
