"""The short way to record an elementwise operation: one that has been recorded before.

Loop, shape and memory order of a result follow from the forms of the operands alone. So when the
long way (`elementwise.apply`) has recorded an operation as a plain Map on new memory, the Map's
kind is kept under the op and the forms of its operands; the next time, a node of that kind is made
directly. Whatever is out of the ordinary (small arrays, other libraries' operands, numbers that a
dtype cannot hold, several devices or threads, an errstate that raises) goes the long way.

Recording is what an array program pays for each operation, so what is elsewhere a call is written
out here: about 2 us, as against 7 us.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from sys import _getframe
from threading import get_ident
from typing import Any, NamedTuple

from lazyfuse import config
from lazyfuse.frontend.convert import as_float, limits
from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.form import Form, form_of
from lazyfuse.ir.mapkind import MapKind
from lazyfuse.ir.node import Const, Map, Node
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime.caller import OURS, is_users, user_frame
from lazyfuse.runtime.engine import SMALL_HELD, enforce_budget
from lazyfuse.runtime.error_modes import current_modes

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]

#: Results that are remembered for each op.
_MOST = 4096
_new = object.__new__
_ref = weakref.ref
_options = config.current


class Scaled(NamedTuple):
    """What an operation with a Python number gives: the dtype that the number takes, and the
    range in which it does."""

    kind: MapKind
    dtype: str
    low: float
    high: float


def binary(general: Binary, *, reflected: bool = False) -> Binary:
    """`general`, the long way of a binary operation, with a short way beside it. `reflected`: the
    second operand goes first."""
    pairs: dict[Any, MapKind] = {}
    numbers: dict[Any, Scaled] = {}

    def method(self: Any, other: Any) -> Any:
        thread = get_ident()
        form = _form(self, thread)
        kind = type(other)
        if form is None:
            return general(self, other)
        if kind in _ARRAYS:
            theirs = _form(other, thread)
            if theirs is None or self._storage.device != other._storage.device:
                return general(self, other)
            found = pairs.get((form, theirs))
            if found is not None:
                made = _record(found, self, thread, other, None, reflected)
                return general(self, other) if made is None else made
            made = general(self, other)
            _learn(pairs, (form, theirs), made, (theirs, form) if reflected else (form, theirs))
            return made
        if kind is not float and kind is not int:
            return general(self, other)
        known = numbers.get((form, kind))
        if known is not None and known.low <= other <= known.high:
            number = _number(other, known.dtype)
            made = _record(known.kind, self, thread, None, number, reflected)
            return general(self, other) if made is None else made
        made = general(self, other)
        _learn_number(numbers, made, form, kind, reflected=reflected)
        return made

    return method


def unary(general: Unary) -> Unary:
    """`general`, the long way of a unary operation, with a short way beside it."""
    known: dict[Any, MapKind] = {}

    def method(self: Any) -> Any:
        thread = get_ident()
        form = _form(self, thread)
        if form is None:
            return general(self)
        found = known.get(form)
        if found is not None:
            made = _record(found, self, thread)
            return general(self) if made is None else made
        made = general(self)
        _learn(known, form, made, (form,))
        return made

    return method


def several(general: Callable[..., Any]) -> Callable[..., Any]:
    """`general`, the long way of an operation on arrays and numbers (where, clip), with a short
    way beside it."""
    known: dict[Any, tuple[MapKind, tuple[str, ...]]] = {}

    @wraps(general)
    def method(*operands: Any, **options: Any) -> Any:
        thread = get_ident()
        marks = [_mark(operand, thread) for operand in operands]
        if options or None in marks:
            return general(*operands, **options)
        key = tuple(marks)
        found = known.get(key)
        if found is not None:
            made = _record_several(*found, operands, thread)
            return general(*operands) if made is None else made
        made = general(*operands)
        if _is_plain(made):
            node: Map = made._storage.node
            dtypes = tuple([src.dtype for src in node.srcs])
            if len(dtypes) == len(marks) and all(map(_is_like, node.srcs, marks)):
                _keep(known, key, (node.signature, dtypes))
        return made

    return method


def _mark(operand: Any, thread: int) -> Any:
    """What an operation depends on of an operand; None for one out of the ordinary."""
    kind = type(operand)
    if kind in _ARRAYS:
        return _form(operand, thread)
    return kind if kind is float or kind is int else None


def _is_like(src: Node, mark: Any) -> bool:
    """Whether a recorded operand is what its mark says."""
    if type(mark) is type:
        return isinstance(src, Const) and limits(src.dtype) is not None
    return not isinstance(src, Const) and src.formed() is mark


def _record_several(
    kind: MapKind, dtypes: tuple[str, ...], operands: Sequence[Any], thread: int
) -> Any:
    """A new array whose value is a Map of `kind`; None where errors are told at the call, a number
    does not fit, or arrays live on several devices."""
    frame, modes = user_frame(1), current_modes()
    if frame is None or modes.is_immediate:
        return None
    srcs: list[Node] = []
    devices: set[str] = set()
    for operand, dtype in zip(operands, dtypes, strict=True):
        if type(operand) in _ARRAYS:
            devices.add(operand._storage.device)
            srcs.append(operand._read())
        else:
            bounds = limits(dtype)
            is_nan = operand != operand and dtype[0] == "f"
            if bounds is None or not (is_nan or bounds[0] <= operand <= bounds[1]):
                return None
            srcs.append(_number(operand, dtype))
    if len(devices) != 1:
        return None
    node = _new(Map)
    node.srcs = tuple(srcs)
    node.depth = 1 + max([src.depth for src in srcs])
    node.held = sum([src.held for src in srcs])
    node.origin = (frame.f_code, frame.f_lasti, modes)
    for src in srcs:
        src.users += 1
    return _array(node, kind, devices.pop(), thread)


def _form(array: Any, thread: int) -> Form | None:
    """The form of an array of the engine that no other thread has touched."""
    if array._host is not None:
        return None
    storage = array._storage
    if storage._thread != thread:
        return None
    form: Form = storage.node.form
    layout = array._layout
    if form.layout is layout:
        return form
    return form_of(layout.shape, array._code, layout.strides)


def _number(value: float, dtype: str) -> Const:
    """A Python number as a scalar of the kernel."""
    return Const(as_float(value) if dtype[0] == "f" else value, dtype)


def _record(  # noqa: C901  # written out, since it is the price of every operation
    kind: MapKind,
    first: Any,
    thread: int,
    second: Any = None,
    number: Const | None = None,
    reflected: bool = False,  # noqa: FBT001, FBT002  # by position, for speed
) -> Any:
    """A new array whose value is a Map of `kind`; None where errors are told at the call."""
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
    if left.form.layout is not first._layout:
        left = first._read()
    depth, held = left.depth, left.held
    left.users += 1
    srcs: tuple[Node, ...]
    if second is not None:
        right = second._storage.node
        if right.form.layout is not second._layout:
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
    return _array(node, kind, own.device, thread)


def _array(node: Map, kind: MapKind, device: str, thread: int) -> Any:
    """A new array of a kind, and the rest of its node."""
    node.form = form = kind.form
    node.shape, node.dtype, node.strides = form.shape, form.dtype, form.strides
    node.op, node.loop, node._mapkind = kind.op, kind.loop, kind
    node.is_costly = kind.is_costly
    node.buffer = None
    node.seen = node.is_scalar = False
    node.users = 0
    storage = _new(Storage)
    storage.node, storage.device = node, device
    storage._thread, storage._is_shared = thread, False
    node.handle = _ref(storage)
    made = _new(Handle._concrete)
    made._storage, made._writeable = storage, True
    made._layout = form.layout  # type: ignore[assignment]  # known forms have one
    made._owner = made._cast = made._host = None
    if node.depth > 1:
        options = _options()
        held = node.held
        if (
            node.depth > options.max_pending_nodes
            or held > SMALL_HELD
            or held > options.max_pending_bytes
        ):
            enforce_budget(storage)
    return made


# ---- learning


_ARRAYS: set[type] = set()


def recognize(*kinds: type) -> None:
    """Name the classes of arrays and pending scalars."""
    _ARRAYS.update(kinds)


def is_pending(value: Any) -> bool:
    """Whether a value is an array of the engine, or a pending scalar."""
    return type(value) in _ARRAYS and value._host is None


def _is_plain(made: Any) -> bool:
    """Whether a result is a pending Map on memory of its own."""
    if type(made) is not Handle._concrete or made._host is not None:
        return False
    return type(made._storage.node) is Map and made._storage.node.buffer is None


def _learn(table: dict[Any, MapKind], key: Any, made: Any, forms: tuple[Form, ...]) -> None:
    """Keep what the long way made of operands of these forms."""
    if _is_plain(made):
        node: Map = made._storage.node
        if tuple([src.formed() for src in node.srcs]) == forms:
            _keep(table, key, node.signature)


def _learn_number(
    table: dict[Any, Scaled], made: Any, form: Form, kind: type, *, reflected: bool
) -> None:
    """Keep what the long way made of an array and a Python number."""
    if not _is_plain(made) or len(made._storage.node.srcs) != 2:
        return
    node: Map = made._storage.node
    array, number = reversed(node.srcs) if reflected else node.srcs
    fitting = limits(number.dtype)
    if isinstance(number, Const) and array.formed() is form and fitting is not None:
        _keep(table, (form, kind), Scaled(node.signature, number.dtype, *fitting))


def _keep(table: dict[Any, Any], key: Any, value: Any) -> None:
    if len(table) >= _MOST:
        table.clear()
    table[key] = value
