"""Records again what has been recorded before: finds the recipe of operands, and makes its nodes.

Everything here gives None, or False, where the long way has to be gone. What is elsewhere a call
is written out, since every operation pays for it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from sys import _getframe
from threading import get_ident
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.recipes import WHOLE, Recipe, number_of, remade
from lazyfuse.ir.form import Form, form_of
from lazyfuse.ir.mapkind import MapKind
from lazyfuse.ir.node import Const, Map, Node
from lazyfuse.ir.origin import Origin
from lazyfuse.ir.storage import LENT, Storage, remember, untrack
from lazyfuse.ir.witness import WITNESSES, note
from lazyfuse.runtime import session
from lazyfuse.runtime.budget import is_over_budget
from lazyfuse.runtime.caller import OURS, is_users, user_frame
from lazyfuse.runtime.engine import enforce_budget
from lazyfuse.runtime.error_modes import current_modes

Key = tuple[Any, ...]
Recipes = dict[Key, Recipe]

#: The classes of arrays and pending scalars.
ARRAYS: set[type] = set()
#: Those of numbers; NumPy's are strong, so what is learnt of them is their own.
NUMBERS = frozenset(
    (int, float, complex, np.float64, np.float32, np.int64, np.int32, np.complex128)
)
_new = object.__new__
_ref = weakref.ref
_options = config.current


#: How much machine code would have saved (`session.uses`) when it is asked again whether that is
#: worth it, after how much more; and who asks.
_asked: list[float] = [2_000]
HOT = 2_000
#: Recording again takes 4 to 6 us in Python, in machine code 1 to 1.5.
_RECORDED = 3
when_hot: list[Callable[[], None]] = []


def count(weight: float = 1) -> None:
    """Note an operation that machine code would have done in less time."""
    uses = session.uses
    uses[0] += weight
    if uses[0] >= _asked[0]:
        _asked[0] = uses[0] + HOT
        for function in when_hot:
            function()


def ask_again() -> None:
    """Ask at the next use whether machine code is worth it."""
    _asked[0] = 0


def use(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Take functions of machine code for `recorded` and `written`: they do the same, but know
    nothing while a function is recorded for `fuse`, which has a witness (`ir/witness.py`)."""
    globals().update(functions)


def recognize(*kinds: type) -> None:
    """Name the classes of arrays and pending scalars."""
    ARRAYS.update(kinds)


# ---- what an operation depends on


def form(array: Any, thread: int) -> Form | None:
    """The form of an array of the engine that no other thread has touched, or known to be touched
    by several and not lent."""
    if array._host is not None:
        return None
    storage = array._storage
    if storage._thread != thread and (storage._thread == LENT or not storage._is_shared):
        return None
    found: Form = storage.node.form
    layout = array._layout
    if found.layout is layout:
        return found
    return form_of(layout.shape, array._code, layout.strides)


def key_of(operands: Sequence[Any], extra: Any) -> Key | None:
    """What a new array depends on: the forms of arrays, the types of numbers, and `extra`."""
    thread = get_ident()
    marks: list[Any] = []
    for operand in operands:
        kind = type(operand)
        if kind in ARRAYS:
            found = form(operand, thread)
            if found is None:
                return None
            marks.append(found)
        elif kind in NUMBERS:
            marks.append(kind)
        else:
            return None
    if extra is not None:
        marks.append(extra)
    return tuple(marks)


def write_key(operands: Sequence[Any], extra: Any) -> Key | None:
    """What a write into the first operand depends on: where in its memory it lies as well. None
    where other threads write it, too (`engine.write`)."""
    target = operands[0]
    if target._host is not None or target._writeable is not True or target._is_scalar:
        return None
    if target._storage.is_foreign or target._storage.is_contended:
        return None
    key = key_of(operands, extra)
    if key is None or target._cast is not None:
        return None
    return (*key, target._storage.node.formed(), target._layout.offset)


def static(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Arguments that are no arrays as part of a key, with their types, since 1 == 1.0 == True;
    None where there are others."""
    values = (*args, *kwargs.values())
    kinds = tuple(map(type, values))
    if tuple in kinds:
        inner = tuple([type(item) for value in values if type(value) is tuple for item in value])
        if inner.count(int) < len(inner):
            return None
    if not _STATIC.issuperset(kinds):
        for value, kind in zip(values, kinds, strict=True):
            if kind not in _STATIC and not isinstance(value, np.dtype):
                return None
    return values, tuple(kwargs), kinds


_STATIC = frozenset((int, bool, str, type, tuple, NoneType, type(np._NoValue)))
_INDEX = frozenset((int, NoneType))


def key_mark(key: Any) -> Any:
    """A basic index as part of a key; None for others."""
    marks: list[Any] = []
    for item in key if type(key) is tuple else (key,):
        kind = type(item)
        if kind is slice:
            ends = (item.start, item.stop, item.step)
            if not _INDEX.issuperset(map(type, ends)):
                return None
            marks.append(ends)
        elif kind is int or kind is NoneType or kind is EllipsisType:
            marks.append(item)
        else:
            return None
    return tuple(marks)


def shares_storage(array: Any, other: Any) -> bool:
    """Whether two arrays of the engine lie in one memory."""
    is_large = array._host is None and other._host is None
    return is_large and array._storage is other._storage


# ---- new arrays


def recorded(known: Recipes, operands: Sequence[Any], extra: Any) -> Any:
    """The result of an operation on operands whose recipe is known."""
    key = key_of(operands, extra)
    recipe = None if key is None else known.get(key)
    if recipe is None:
        return None
    found = _ready(recipe, operands)
    if found is None:
        return None
    scalars, origin = found
    node = remade(recipe, operands, scalars, origin)
    storage = _stored(node, _device(operands), get_ident())
    return _array(recipe.array, storage)


def _device(operands: Sequence[Any]) -> str:
    device: str = next(each._storage.device for each in operands if type(each) in ARRAYS)
    return device


def _ready(recipe: Recipe, operands: Sequence[Any]) -> tuple[list[Const | None], Origin] | None:
    """The numbers as scalars, and the origin; None where errors are told at the call, a number
    does not fit, an array is a part where a whole one is wanted, or they are on several
    devices."""
    frame, modes = user_frame(2), current_modes()
    if frame is None or modes.is_immediate:
        return None
    scalars: list[Const | None] = []
    devices = set()
    for operand, number in zip(operands, recipe.numbers, strict=True):
        scalar = None
        if number is None or number is WHOLE:
            if number is WHOLE and not _is_whole(operand):
                return None
            devices.add(operand._storage.device)
        else:
            scalar = number_of(operand, number)  # type: ignore[arg-type]  # the others are numbers
            if scalar is None:
                return None
        scalars.append(scalar)
    if len(devices) != 1:
        return None
    return scalars, (frame.f_code, frame.f_lasti, modes)


def _is_whole(array: Any) -> bool:
    """Whether an array is the whole of its memory."""
    return array._cast is None and array._layout is array._storage.node.formed().layout


def map_recorded(  # noqa: C901  # written out, since it is the price of every operation
    kind: MapKind,
    first: Any,
    thread: int,
    second: Any = None,
    number: Const | None = None,
    reflected: bool = False,  # noqa: FBT001, FBT002  # by position, for speed
) -> Any:
    """A new array whose value is a Map of `kind` on one or two operands."""
    frame: Any = _getframe(2)
    names = frame.f_globals
    while id(names) in OURS:
        frame = frame.f_back
        names = frame.f_globals
    modes = current_modes()
    if modes.is_immediate or not is_users(names):
        return None
    own = first._storage
    left = own.node
    if left.form.layout is not first._layout or not own.is_now(left, thread):
        left = first._read()
    depth, held = left.depth, left.held
    left.users += 1
    srcs: tuple[Node, ...]
    if second is not None:
        other = second._storage
        right = other.node
        if right.form.layout is not second._layout or not other.is_now(right, thread):
            right = second._read()
        right.users += 1
        held += right.held
        if right.depth > depth:
            depth = right.depth
        srcs = (right, left) if reflected else (left, right)
    elif number is not None:
        number.users = 1
        srcs = (number, left) if reflected else (left, number)
    else:
        srcs = (left,)
    node = _new(Map)
    node.srcs, node.depth, node.held = srcs, depth + 1, held
    node.origin = (frame.f_code, frame.f_lasti, modes)
    node.form = form = kind.form
    node.shape, node.dtype, node.strides = form.shape, form.dtype, form.strides
    node.op, node.loop, node._mapkind = kind.op, kind.loop, kind
    node.is_costly = kind.is_costly
    node.buffer = None
    node.seen = node.is_scalar = False
    node.users = 0
    made = _new(Handle._concrete)
    made._storage, made._writeable = _stored(node, own.device, thread), True
    made._layout = form.layout  # type: ignore[assignment]  # known forms have one
    made._owner = made._cast = made._host = None
    return made


def _stored(node: Node, device: str, thread: int) -> Storage:
    """New memory whose value is a node."""
    count(_RECORDED)
    storage = _new(Storage)
    untrack(storage)
    storage.node, storage.device = node, device
    storage._thread, storage._is_shared = thread, False
    if WITNESSES:
        note(storage)
    node.handle = _ref(storage)
    if node.depth > 1:
        remember(node)
        if is_over_budget(node, _options()):
            enforce_budget(storage)
    return storage


def _array(prototype: Any, storage: Storage) -> Any:
    """An array like a prototype, with memory of its own."""
    made = _new(type(prototype))
    made._storage, made._writeable = storage, True
    made._layout = prototype._layout
    made._owner = made._cast = made._host = None
    return made


# ---- writes


def written(known: Recipes, operands: Sequence[Any], extra: Any) -> bool:
    """Whether a write into the first operand has been recorded by a recipe."""
    key = write_key(operands, extra)
    recipe = None if key is None else known.get(key)
    if recipe is None:
        return False
    found = _ready(recipe, operands)
    if found is None:
        return False
    scalars, origin = found
    storage = operands[0]._storage
    if storage.node.depth > 1 and is_over_budget(storage.node, _options()):
        enforce_budget(storage)
    with session.flush_lock:
        if key_of(operands, extra) is None:  # any more: code of the user's has lent one
            return False
        storage.replace(remade(recipe, operands, scalars, origin))
    count(_RECORDED)
    return True
