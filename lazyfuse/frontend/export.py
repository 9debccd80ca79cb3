"""Out of the engine: values for NumPy and for Python.
Every function here computes what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, TypeVar, cast

import numpy as np

from lazyfuse.frontend import novel
from lazyfuse.frontend.handle import Handle, handle, new
from lazyfuse.frontend.lending import lend
from lazyfuse.frontend.memory import in_place, look
from lazyfuse.frontend.probes import note
from lazyfuse.ir.interp import elements_at, view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.recast import Cast, elements
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.types import code
from lazyfuse.runtime import engine, session, under_way
from lazyfuse.runtime.callees import is_written_over
from lazyfuse.runtime.caller import call_as_user

Number = TypeVar("Number", int, float)


def to_array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The values as an ndarray. Aliasing: a read-only view of the engine's memory on the CPU,
    unless `copy` or a cast makes it a private copy. Raises: ValueError when `copy` is False and a
    cast or a transfer needs a copy."""
    values = _host_view(self)
    if dtype is None and copy is None:
        return values
    target = values.dtype if dtype is None else np.dtype(dtype)
    if target == values.dtype and not copy:
        if copy is False and self._storage.device != "cpu":
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return values
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return call_as_user(values.astype, target)  # type: ignore[no-any-return]  # an array


def as_numpys(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The values for NumPy's own functions. Aliasing: of a small array its own memory; of others
    as `to_array`. Raises: as that."""
    host = self._host
    if host is None or copy or dtype is not None and np.dtype(dtype) != host.dtype:
        return to_array(self, dtype, copy)
    alias: np.ndarray = host.view()
    return alias


def array_protocol(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """`__array__`: what `numpy.asarray(x)` gives.

    Aliasing: the memory of the array, in which both write (`lending.py` says how and of which). Of
    other arrays, those on a GPU among them: as `to_array`. Masked arrays, matrices and pandas,
    known by the module that asks, get private memory, and so does who asks for that of a scalar,
    unless `copy` is False. Raises: as `to_array`.
    """
    asking = sys._getframe(1)
    if FORGOTTEN:
        error = forget(asking)
        try:
            if error is not None and type(error) is not BufferError:
                raise error
        finally:
            del error  # it would be in a cycle with this frame
    if self._is_scalar and copy is None:
        copy = True
    return numpys_for(asking, self, dtype, copy)


#: What was raised while somebody asked for a buffer: NumPy forgets it, and asks for an array.
FORGOTTEN: list[BaseException] = []
#: So many are kept until those who have asked, in other threads, ask again.
_MOST_FORGOTTEN = 8


def forget(asking: FrameType) -> BaseException | None:
    """Take what was raised for this frame, and has never come to it; None where nothing was. What
    has come to its frame is forgotten as well."""
    found = None
    for error in FORGOTTEN.copy():  # to which other threads add
        trace = error.__traceback__
        is_kept = trace is not None and trace.tb_frame.f_globals.get("__name__") == _GIVES
        if trace is not None and is_kept and trace.tb_frame.f_back is asking:
            found = error
            is_kept = False
        if not is_kept or len(FORGOTTEN) > _MOST_FORGOTTEN:
            with suppress(ValueError):
                FORGOTTEN.remove(error)
    return found


#: The module whose functions give buffers.
_GIVES = "lazyfuse.frontend.exchange"


def numpys_for(
    asking: FrameType, self: Any, dtype: Any = None, copy: bool | None = None
) -> np.ndarray:
    """As `array_protocol`, for what runs in a frame. Functions of f2py's, which copy an array of
    NumPy's before they write over it, take all else for a copy: they get one."""
    if copy is None and is_written_over(asking):
        copy = True
    if self._host is not None:
        return as_numpys(self, dtype, copy)
    if copy is None and asking.f_globals.get("__name__") in _OWNERS:
        copy = bool(self._writeable) or None
    if not copy and (dtype is None or np.dtype(dtype) == self.dtype):
        lent = lend(self)
        if lent is not None:
            return lent
        if 0 in self._layout.shape and self._writeable is True:
            return view_of(np.empty(0, self.dtype), self._layout)
    return to_array(self, dtype, copy)


def handed(args: Sequence[Any]) -> Callable[..., np.ndarray]:
    """What makes NumPy's arrays of ours beside others: `as_numpys`, but beside one of a class that
    says itself what ufuncs make of its arrays, which may be C code that takes no memory that is
    only read, `numpy.asarray`."""
    return np.asarray if any(map(_is_overriding, args)) else as_numpys


_UFUNC = np.ndarray.__array_ufunc__


def _is_overriding(value: Any) -> bool:
    return issubclass(type(value), np.ndarray) and type(value).__array_ufunc__ is not _UFUNC


def around(self: Any) -> np.ndarray:
    """The values for an array of NumPy's that is around them, and written in turn. Aliasing: as
    `as_numpys` gives them to masked arrays."""
    is_private = self._host is None and bool(self._writeable)
    return to_array(self, copy=True) if is_private else as_numpys(self)


#: Modules whose arrays are around what they are given.
_OWNERS = frozenset(
    (
        "numpy.ma.core",
        "numpy.matrixlib.defmatrix",
        "pandas.core.construction",
        "pandas.core.internals.construction",
    )
)


def _host_view(self: Any) -> np.ndarray:
    """A read-only array of the current values, also when another thread writes meanwhile;
    the memory is not written by the engine any more."""
    if self._host is not None:
        snapshot = _copied(self._host)  # this memory is written in place
        snapshot.flags.writeable = False
        return snapshot
    novel.asked()
    device = self._storage.device
    if self._is_scalar:
        note(self)
    with session.flush_lock:  # before the memory is marked no run may reuse it
        lent = None if 0 in self._layout.shape else self._lent()
        if lent is not None:
            snapshot = _copied(lent)
            snapshot.flags.writeable = False
            return snapshot
        node = self._storage.node
        engine.flush([node], device)
        node.buffer.exclusive = False
    if self._cast is None and device == "cpu" and 0 not in self._layout.shape:
        return _Elements(node.buffer, node.dtype, self._layout).array()
    values = view_of(_elements_of(device, node.buffer, self._reading), self._layout)
    values.flags.writeable = False
    return values


#: Bytes from which a copy is made in memory of the pool: freed memory of such size at the end of
#: the heap goes back to the system (M_TRIM_THRESHOLD of mallopt(3)), and each page of the next one
#: is a fault, 2.5 us.
_POOLED = 1 << 17


def _copied(values: np.ndarray) -> np.ndarray:
    if values.nbytes < _POOLED or not values.flags.c_contiguous:
        return values.copy(order="K")
    buffer = session.backend("cpu").allocate(values.nbytes)
    layout = Layout(values.shape, c_strides(values.shape), 0)
    copy = elements_at(buffer, code(values.dtype), layout).view(values.dtype)
    copy[...] = values
    return copy


def _elements_of(device: str, buffer: Any, reading: Cast) -> np.ndarray:
    """Memory as one axis of elements."""
    flat = session.backend(device).to_host(buffer)
    flat.flags.writeable = False  # of this view: its own base must not make it writeable again
    return elements(flat, reading)


class _Elements:
    """The elements of host memory at a layout, for NumPy to make a read-only array of at once:
    three arrays, each a view of another, take three times as long."""

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, buffer: Any, dtype: str, layout: Layout) -> None:
        self._buffer = buffer  # which stays alive as long as the array
        size = int(dtype[1:])
        self.__array_interface__ = {
            "data": (buffer.pointer + layout.offset * size, True),
            "shape": layout.shape,
            "typestr": "<" + dtype,
            "strides": tuple([stride * size for stride in layout.strides]),
            "version": 3,
        }

    def array(self) -> np.ndarray:
        return np.asarray(self)


def element(node: Node, reading: Cast, offset: int) -> np.generic:
    """The element at an offset of a computed node in host memory, as NumPy's scalar."""
    engine.count_asked()
    found: Any = in_place(node, reading, Layout((), (), offset))
    return cast(np.generic, found[()])


def to_numpy(self: Any) -> np.ndarray:
    """The values as an ndarray; as `numpy.asarray(x)`."""
    return numpys_for(sys._getframe(1), self)


def asnumpy(x: Any, /, *, copy: bool = False) -> np.ndarray:
    """The values of any array as an ndarray. Aliasing: with `copy` it is private. Else it is the
    memory of a small array, in which both write, and read-only memory of a large one that stays as
    it is: later writes go elsewhere, and the array stays lazy."""
    if copy:
        return np.array(x)
    return to_array(x) if isinstance(x, Handle) and x._host is None else np.asarray(x)


def value_of(self: Any) -> np.generic:
    """The value of a scalar as NumPy's; computes it."""
    value: Any = known(self)
    if value is None:
        value = to_array(self)[()]
    found: np.generic = value
    return found


#: How the value of a scalar is read and kept: `remember` has them from the class.
_slots: list[tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = []


def remember(slot: Any) -> None:
    """Keep the value of a scalar, once it is known, in a slot of its class."""
    _slots[:] = [(slot.__get__, slot.__set__)]


def known(self: Any) -> Any:
    """The value as NumPy's scalar where it is computed, in this machine's memory; else None, and
    while a function is recorded for `fuse`, which has to hear that it is asked for."""
    storage = self._storage
    if storage.node.buffer is None or under_way.recordings:
        return None
    read, keep = _slots[0]
    try:
        return read(self)
    except AttributeError:  # not asked for yet
        if storage.device != "cpu":
            return None
    value = look(self, lambda values: values[()])
    keep(self, value)
    return value


def item(self: Any, *args: Any) -> Any:
    """One element as a Python scalar; without arguments the array must have one."""
    is_at_hand = self._host is None and self._storage.node.buffer is not None
    if is_at_hand and len(args) == self.ndim > 0 and set(map(type, args)) == {int}:
        with suppress(IndexError):  # of which `item` has words of its own
            return self[args].item()
    return look(self, lambda values: values.item(*args))


def tolist(self: Any) -> Any:
    return look(self, np.ndarray.tolist)


def tobytes(self: Any, order: str = "C") -> bytes:
    return look(self, lambda values: values.tobytes(order))  # type: ignore[arg-type]  # NumPy checks it


def to_bytes(self: Any) -> bytes:
    """`bytes(x)`: the memory in C order; of an integer without axes, so many zeros."""
    return bytes(to_index(self)) if not self.ndim and self._code[0] in "iu" else tobytes(self)


def to_bool(self: Any) -> bool:
    if self.size > 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()"
        )
    return bool(to_array(self))


def to_int(self: Any) -> int:
    _check_scalar(self)
    return _real(self, int)


def to_float(self: Any) -> float:
    _check_scalar(self)
    return _real(self, float)


def _real(self: Any, kind: type[Number]) -> Number:
    """An element as a real number: of a complex scalar its real part, with a warning; a complex
    array is refused. Raises: TypeError."""
    if self._is_scalar and self._code[0] == "c":
        found: Number = call_as_user(kind, to_array(self)[()])
        return found
    return kind(to_array(self))


def to_complex(self: Any) -> complex:
    _check_scalar(self)
    return complex(to_array(self))


def to_index(self: Any) -> int:
    if self.ndim or self._code[0] not in "iu":
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    return int(to_array(self))


def _check_scalar(self: Any) -> None:
    """NumPy's error before anything is computed."""
    if self.ndim > 0 and (self.size != 1 or NUMPY >= (2, 4)):
        raise TypeError(
            "only 0-dimensional arrays can be converted to Python scalars"
            if NUMPY >= (2, 4)
            else "only length-1 arrays can be converted to Python scalars"
        )


def to_device(self: Any, device: str, /, *, stream: Any = None) -> Any:
    """The array on another device: itself when it is there, else a copy.
    Raises: DeviceUnavailableError, ValueError for an unknown device and for a stream."""
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    target = session.resolve_device(device)
    if target == self._storage.device:
        return self
    session.backend(target)
    node = self._storage.now()
    engine.flush([node], self._storage.device)
    host = session.backend(self._storage.device).to_host(node.buffer)
    buffer = session.backend(target).from_host(
        np.ascontiguousarray(host).view(np.dtype(node.dtype))
    )
    moved = new(Source(node.shape, node.dtype, node.strides, buffer), target)
    copy = handle(Handle._concrete, moved._storage, self._layout)
    copy._writeable = self._writeable or False  # memory of its own
    return copy
