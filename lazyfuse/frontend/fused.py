"""`@lazyfuse.fuse`: a function that is recorded once per signature, and then replayed.

The second call with a signature records the function on its arguments; later ones run the plan
that was made then, without calling the function. So a hot loop pays a few microseconds a call
instead of two for each operation. Results are computed when the call returns.

A signature is what a recording depends on: shape, dtype and memory order of each array, which
arrays share memory, the value of everything else, also of the numbers that the function reads
from its module and its closure, the options and `np.errstate` in force. What cannot be replayed
is called as it stands, with the same answer: see `Fused.reason`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.convert import eager_size, source
from lazyfuse.frontend.handle import Handle, handle, small_array
from lazyfuse.ir.form import Form
from lazyfuse.ir.interp import view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import size_of
from lazyfuse.ops.table import DTYPES
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.single import Address, Single, single

#: Elements of the largest argument up to which NumPy, operation by operation, is as fast.
FEW = 4096


class Result(NamedTuple):
    """An array that a recording gives: its form; whether NumPy has a scalar there."""

    form: Form
    is_scalar: bool


class Recording(NamedTuple):
    """How to replay a function: its plan; the argument that each leaf of the plan is; its scalars;
    the arrays that it gives; and the result, with their numbers in place of them."""

    known: engine.Known
    leaves: tuple[int, ...]
    scalars: tuple[Any, ...]
    results: tuple[Result, ...]
    whole: Any
    single: Single | None


class UnfitError(Exception):
    """Why a function cannot be replayed."""


#: What a signature stands for that has been met once, or never.
_ONCE, _NEVER = object(), object()


class Fused:
    """A function under `fuse`; calling it is calling the function.

    `reason`: why calls of the last signature that was recorded cannot be replayed, empty when they
    can. `recordings` and `replays` count what the function did and did not have to be called for.
    """

    def __init__(self, function: Callable[..., Any], signatures: int) -> None:
        update_wrapper(self, function)
        self._function = function
        self._signatures = signatures
        self._reads = _reads_of(function)
        self._known: dict[Any, Any] = {}
        self.reason = ""
        self.recordings = self.replays = 0

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method; the instance is an argument like others."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result for these arguments. Raises: what the function raises."""
        given = (*args, *kwargs.values()) if kwargs else args
        if not any([_is_large(value) for value in given]):
            return self._function(*args, **kwargs)
        key = self._signature(given, tuple(kwargs))
        try:
            found = self._known.get(key, _NEVER)
        except TypeError:  # an argument without a hash
            return self._function(*args, **kwargs)
        if type(found) is Recording:
            replayed = _replay(found, given)
            if replayed is not None:
                self.replays += 1
                return replayed[0]
        elif found is _ONCE:
            return self._record(key, args, kwargs)
        elif found is _NEVER and key is not None and len(self._known) < self._signatures:
            self._known[key] = _ONCE
        return self._function(*args, **kwargs)

    def _signature(self, given: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        """What a recording depends on; None for calls that are better left alone."""
        marks: list[Any] = []
        for value in given:
            is_array = isinstance(value, Handle | np.ndarray)
            mark = _mark(value) if is_array else _plain_mark(value)
            if mark is None:
                return None
            marks.append(mark)
        numbers = self._reads() if self._reads is not None else ()
        return (tuple(marks), names, numbers, config.current())

    def _record(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function on copies of its arguments, and keep how to replay it."""
        values = [_copied(value) for value in (*args, *kwargs.values())]
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        nodes = [value._storage.node if isinstance(value, Handle) else None for value in values]
        before = engine.runs()
        result = self._function(*values[: len(args)], **named)
        try:
            if engine.runs() != before:
                raise UnfitError("it asks for values while it runs")
            if any(node is not None and node is not value._storage.node
                   for value, node in zip(values, nodes, strict=True)):  # fmt: skip
                raise UnfitError("it writes into its arguments")
            found: Any = _recording(nodes, result)
            self.recordings += 1
            self.reason = ""
        except UnfitError as unfit:
            found, self.reason = unfit, str(unfit)
        self._known[key] = found
        return self._function(*args, **kwargs)


def fuse(function: Callable[..., Any] | None = None, *, signatures: int = 64) -> Any:
    """Record a function of arrays once per signature, and replay it from then on.

        @lazyfuse.fuse
        def step(u, v, dt=0.1):
            return u + dt * (v - u), v * 0.5

    The function should depend on its arguments alone, and change nothing: it is not called when a
    call is replayed. A signature is the shape, dtype and memory order of each array, the value of
    all else (also of numbers that the function itself reads from its module and its closure), the
    options and the `np.errstate` in force; `signatures` bounds how many are kept. Results are
    arrays (in tuples, lists and dicts, too) that are computed when the call returns.

    A function that asks for values, writes into its arguments, reads other arrays or draws random
    numbers is called each time; `Fused.reason` says so. So are calls on views, on lists, and on
    arrays of few elements, for which NumPy is faster.
    """
    if function is None:
        return lambda given: Fused(given, signatures)
    return Fused(function, signatures)


# ---- signatures


def _is_large(value: Any) -> bool:
    """Whether an argument is an array of more than FEW elements."""
    if isinstance(value, Handle):
        host = value._host
        return bool((size_of(value._layout.shape) if host is None else host.size) > FEW)
    return isinstance(value, np.ndarray) and value.size > FEW


def _mark(array: Any) -> Any:
    """What matters of an array; None for one that cannot be a leaf."""
    if isinstance(array, Handle) and array._host is None:
        storage = array._storage
        form = storage.current().formed()
        is_whole = form.layout is array._layout and not array._is_scalar
        return (form, storage.device) if is_whole else None
    host = array._host if isinstance(array, Handle) else array
    if type(host) is not np.ndarray or not host.flags.c_contiguous or host.dtype not in _PLAIN:
        return None
    return host.shape, host.dtype


def _plain_mark(value: Any) -> Any:
    """What matters of an argument that is no array: its value, with the sign of a zero."""
    kind = type(value)
    return kind, repr(value) if kind in _SIGNED and not value else value


_SIGNED = frozenset((float, complex, np.float64, np.float32))
_PLAIN = frozenset(np.dtype(code) for code in DTYPES)


def _reads_of(function: Any) -> Callable[[], Any] | None:
    """What gives the numbers that a function reads from its module and its closure."""
    if not isinstance(function, FunctionType):
        return None
    names = function.__globals__
    read = tuple(name for name in function.__code__.co_names if type(names.get(name)) in _NUMBERS)
    cells = tuple(function.__closure__ or ())
    if not read and not cells:
        return None

    def numbers() -> Any:
        found = [names.get(name) for name in read]
        found += [cell.cell_contents for cell in cells if type(cell.cell_contents) in _NUMBERS]
        return tuple([_plain_mark(number) for number in found])

    return numbers


_NUMBERS = frozenset((bool, int, float, complex, np.float64, np.float32, np.int64, str))


# ---- recording


def _copied(value: Any) -> Any:
    """An argument for recording: arrays are copied into the engine."""
    if not isinstance(value, Handle | np.ndarray):
        return value
    device = session.default_device()
    if isinstance(value, Handle) and value._host is None:
        device = value._storage.device
    copy = np.array(value, order="K")
    return handle(Handle._concrete, Storage(source(copy, device, owned=True), device))


def _recording(sources: Sequence[Node | None], result: Any) -> Recording:
    """How `result` is computed from arguments. Raises: UnfitError."""
    arrays: list[Any] = []
    whole = _numbered(result, arrays)
    places = {node: number for number, node in enumerate(sources) if node is not None}
    nodes = [array._storage.node for array in arrays]
    if not nodes or len(set(nodes)) < len(nodes) or any(node.buffer is not None for node in nodes):
        raise UnfitError("its results are not new arrays, each its own")
    pending, known = engine.prepare(nodes, arrays[0]._storage.device)
    leaves = [pending.nodes[place] for place in known.leaves]
    if not all(leaf in places for leaf in leaves):
        raise UnfitError("it reads arrays that are no arguments")
    scalars = tuple([pending.nodes[place].value for place in known.constants])  # type: ignore[attr-defined]  # Consts
    return Recording(
        known,
        tuple(places[leaf] for leaf in leaves),
        scalars,
        tuple(Result(node.formed(), node.is_scalar) for node in nodes),
        whole,
        single(known.plan, known.device, scalars),
    )


class _Place(int):
    """The number of an array in a result."""


def _numbered(result: Any, arrays: list[Any]) -> Any:
    """The result with numbers in place of its arrays, which are added to `arrays`.
    Raises: UnfitError."""
    if isinstance(result, Handle):
        if result._host is not None or result._storage.layout is not result._layout:
            raise UnfitError("it gives views, or arrays of few elements")
        arrays.append(result)
        return _Place(len(arrays) - 1)
    if type(result) in (tuple, list):
        return type(result)(_numbered(item, arrays) for item in result)
    if type(result) is dict:
        return {name: _numbered(item, arrays) for name, item in result.items()}
    if result is None or type(result) in _NUMBERS:
        return result
    raise UnfitError(f"it gives {type(result).__name__}, which is no array")


# ---- replaying


def _replay(found: Recording, given: Sequence[Any]) -> tuple[Any] | None:
    """The result for arguments of the recording's signature; None when somebody wants to hear of
    conditions that were met."""
    device, limit = found.known.device, eager_size()
    with session.flush_lock:
        memory = [_memory(given[place], device) for place in found.leaves]
        if found.single is not None:
            buffers = [_room(result, limit) for result in found.results]
            met = found.single(memory, buffers, config.current().threads)
        else:
            buffers, met = engine.replay(found.known, memory, found.scalars)
    if met & current_modes().reported or config.current().float_errors == "check":
        return None
    arrays = [
        _array(result, buffer, device, limit)
        for result, buffer in zip(found.results, buffers, strict=True)
    ]
    return (_rebuilt(found.whole, arrays),)


def _memory(value: Any, device: str) -> Any:
    """The buffer of an argument; one in NumPy's memory is only read, so it is shared."""
    if isinstance(value, Handle) and value._host is None:
        node = value._storage.current()
        if node.buffer is None:
            engine.flush([node], device)
        return node.buffer
    host = value._host if isinstance(value, Handle) else value
    return Address(host) if device == "cpu" else session.backend(device).from_host(host)


class _Room:
    """Memory for a small result: an array of NumPy's, and its address."""

    __slots__ = ("pointer", "array")

    def __init__(self, form: Form) -> None:
        flat = np.empty(form.nbytes // int(form.dtype[1:]), form.dtype)
        self.pointer = Address(flat).pointer
        self.array = view_of(flat, Layout(form.shape, form.strides, 0))


def _room(result: Result, limit: int) -> Any:
    """Where a result on the CPU goes."""
    form = result.form
    if not result.is_scalar and 0 < form.nbytes <= limit * int(form.dtype[1:]):
        return _Room(form)
    return session.backend("cpu").allocate(form.nbytes)


def _array(result: Result, buffer: Any, device: str, limit: int) -> Any:
    """An array around memory that a replay has written."""
    if type(buffer) is _Room:
        return small_array(buffer.array)
    form = result.form
    if not result.is_scalar and device == "cpu" and form.nbytes <= limit * int(form.dtype[1:]):
        flat = session.backend(device).to_host(buffer).view(form.dtype)
        return small_array(view_of(flat, Layout(form.shape, form.strides, 0)))
    node = Source(form.shape, form.dtype, form.strides, buffer)
    node.form, node.is_scalar = form, result.is_scalar
    kind = Handle._scalar if result.is_scalar else Handle._concrete
    return handle(kind, Storage(node, device))


def _rebuilt(whole: Any, arrays: Sequence[Any]) -> Any:
    """A result with its arrays in their places."""
    kind = type(whole)
    if kind is _Place:
        return arrays[whole]
    if kind in (tuple, list):
        return kind(_rebuilt(item, arrays) for item in whole)
    if kind is dict:
        return {name: _rebuilt(item, arrays) for name, item in whole.items()}
    return whole
