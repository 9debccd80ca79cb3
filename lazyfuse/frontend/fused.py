"""`@lazyfuse.fuse`: a function that is recorded once per signature, and then replayed.

The second call with a signature records the function on its arguments; later ones run the plan
that was made then, without calling the function. So a hot loop pays a few microseconds a call
instead of two for each operation. Results are computed when the call returns.

A signature is what a recording depends on: shape, dtype and memory order of each array, the value
of everything else, also of what the function reads from its module and its closure, and the
options in force. What cannot be replayed is called as it stands, with the same answer: see
`Fused.reason`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.convert import eager_size, source
from lazyfuse.frontend.handle import Handle, handle, small_array
from lazyfuse.frontend.signature import NUMBERS, Itself, array_mark, plain_mark, reads_of
from lazyfuse.ir.form import Form
from lazyfuse.ir.interp import view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.plan import Launch
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import size_of
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
    the arrays that it gives; the result, with their numbers in place of them; and the conditions
    that an `np.errstate` inside the function wants told."""

    known: engine.Known
    leaves: tuple[int, ...]
    scalars: tuple[Any, ...]
    results: tuple[Result, ...]
    whole: Any
    single: Single | None
    told: int


class UnfitError(Exception):
    """Why a function cannot be replayed."""


#: What a signature stands for that has been met once, never, or cannot be replayed.
_ONCE, _NEVER, _UNFIT = object(), object(), object()


class Fused(Itself):
    """A function under `fuse`; calling it is calling the function.

    `reason`: why calls of the last signature that was recorded cannot be replayed, empty when they
    can. `recordings` and `replays` count what the function did and did not have to be called for.
    """

    def __init__(self, function: Callable[..., Any], signatures: int) -> None:
        update_wrapper(self, function)
        self._function = function
        self._signatures = signatures
        self._reads = reads_of(function)
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
            engine.count_asked()  # for a recording around this one
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
            mark = array_mark(value) if is_array else plain_mark(value)
            if mark is None:
                return None
            marks.append(mark)
        reads = self._reads() if self._reads is not None else ()
        if None in reads:
            self.reason = "it reads arrays that are no arguments, or what can change unseen"
            return None
        return (tuple(marks), names, reads, config.current())

    def _record(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function on copies of its arguments, and keep how to replay it."""
        values = [_copied(value) for value in (*args, *kwargs.values())]
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        nodes = [value._storage.node if isinstance(value, Handle) else None for value in values]
        before, state = engine.asked(), np.random.get_state(legacy=False)
        result = self._function(*values[: len(args)], **named)
        try:
            if pickle.dumps(np.random.get_state(legacy=False)) != pickle.dumps(state):
                np.random.set_state(state)  # the call below draws them
                raise UnfitError("it draws random numbers")
            if engine.asked() != before:
                raise UnfitError("it asks for values while it runs")
            if any(node is not None and node is not value._storage.node
                   for value, node in zip(values, nodes, strict=True)):  # fmt: skip
                raise UnfitError("it writes into its arguments")
            found: Any = _recording(nodes, result)
            self.recordings += 1
            self.reason = ""
        except UnfitError as unfit:
            found, self.reason = _UNFIT, str(unfit)
        self._known[key] = found
        return self._function(*args, **kwargs)


def fuse(function: Callable[..., Any] | None = None, *, signatures: int = 64) -> Any:
    """Record a function of arrays once per signature, and replay it from then on.

        @lazyfuse.fuse
        def step(u, v, dt=0.1):
            return u + dt * (v - u), v * 0.5

    The function should depend on its arguments alone, and change nothing: it is not called when a
    call is replayed, and called twice when one is recorded. A signature is the shape, dtype and
    memory order of each array, the value of all else (also of what the function itself reads from
    its module and its closure, and of the attributes of instances), and the options in force;
    `signatures` bounds how many are kept. Results are arrays (in tuples, lists and dicts, too),
    computed when a replayed call returns, pending where the function was called.

    A function that asks for values, writes into its arguments, reads other arrays or draws random
    numbers of `numpy.random` is called each time; `Fused.reason` says so. So are calls on
    views, on long lists, and on arrays of few elements, for which NumPy is faster.
    """
    if function is None:
        return lambda given: Fused(given, signatures)
    return Fused(function, signatures)


def _is_large(value: Any) -> bool:
    """Whether an argument is an array of more than FEW elements."""
    if isinstance(value, Handle):
        host = value._host
        return bool((size_of(value._layout.shape) if host is None else host.size) > FEW)
    return isinstance(value, np.ndarray) and value.size > FEW


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
    if _is_faster_unfused(known, eager_size()):
        raise UnfitError("NumPy is faster on so few elements")
    scalars = tuple([pending.nodes[place].value for place in known.constants])  # type: ignore[attr-defined]  # Consts
    return Recording(
        known,
        tuple(places[leaf] for leaf in leaves),
        scalars,
        tuple(Result(node.formed(), node.is_scalar) for node in nodes),
        whole,
        single(known.plan, known.device, scalars),
        _told_inside(pending.nodes),
    )


def _told_inside(nodes: Sequence[Node]) -> int:
    """The conditions that operations want told under another errstate than the one in force."""
    own, told = current_modes(), 0
    for node in nodes:
        if node.origin is not None and node.origin[2] != own:
            told |= node.origin[2].reported
    return told


#: Microseconds of a replay; of an operation of NumPy's on small arrays, and of the kernel of a
#: transcendental function; and per thousand elements of an operation (`perf/`).
_REPLAY, _OPERATION, _FUNCTION, _THOUSAND = 15.0, 1.0, 6.0, 0.25


def _is_faster_unfused(known: engine.Known, limit: int) -> bool:
    """Whether operations on small arrays, one by one, cost less than a replay."""
    nodes: list[Node] = []
    for step in known.plan.steps:
        nodes += step.nodes if isinstance(step, Launch) else [step.node]
    sizes = [size_of(node.shape) for node in nodes]
    if not sizes or max(sizes) > limit:
        return False
    each = [_FUNCTION if node.is_costly else _OPERATION for node in nodes]
    return sum(each) + _THOUSAND * sum(sizes) / 1000 < _REPLAY


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
    if result is None or type(result) in NUMBERS:
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
            leaves = [_owned(buffer, device) for buffer in memory]
            buffers, met = engine.replay(found.known, leaves, found.scalars)
    if met & (current_modes().reported | found.told) or config.current().float_errors == "check":
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


def _owned(memory: Any, device: str) -> Any:
    """Memory as plans of several steps take it: a buffer."""
    if not isinstance(memory, Address):
        return memory
    return session.backend(device).from_host(memory.array.reshape(-1), borrow=True)


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
        flat = flat if buffer.exclusive else flat.copy()  # another result has the same memory
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
