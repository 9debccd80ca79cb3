"""Calling a function on copies of its arguments, to see what it records."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.collecting import uncollected
from lazyfuse.frontend import witnessed
from lazyfuse.frontend.convert import quiet_scalar, source
from lazyfuse.frontend.handle import Handle, handle
from lazyfuse.frontend.places import Path, replaced
from lazyfuse.frontend.recording import Recording, UnfitError, numbered, rebuilt, recording
from lazyfuse.frontend.strided import layout_in_span, span
from lazyfuse.frontend.varying import Stopped, Tape, Varying, known
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.node import Const, Node, Source
from lazyfuse.ir.storage import Storage
from lazyfuse.ir.witness import WITNESSES, OutsideError, Witness
from lazyfuse.runtime import engine, session, under_way


class Arguments(NamedTuple):
    """What a call was given: first by position, then by these names."""

    given: Sequence[Any]
    names: tuple[str, ...]

    def call(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Call a function with these in place of what was given."""
        count = len(given) - len(self.names)
        return function(*given[:count], **dict(zip(self.names, given[count:], strict=True)))


class Traced(NamedTuple):
    """The nodes of arguments that are arrays, and the result."""

    nodes: Sequence[Node | None]
    result: Any


class AskedError(Exception):
    """A function wants to know the values of varying numbers at these `places`."""

    def __init__(self, places: Iterable[Path]) -> None:
        super().__init__()
        self.places = frozenset(places)


def recorded(
    function: Callable[..., Any], arguments: Arguments, varying: Sequence[Path]
) -> Recording:
    """How a function computes its result; what stands at `varying` may be other numbers then.

    Raises: UnfitError where it cannot be replayed, AskedError where it can with other numbers
    fixed, and what the function raises.
    """
    if not varying:
        return recording(*traced(function, arguments, arguments.given))
    tape = Tape(arguments.given, varying)
    try:
        varied = _with_stand_ins(
            function, arguments, dict(zip(varying, tape.numbers, strict=True))
        )
        plain = traced(function, arguments, arguments.given)
        recording(*plain)  # where that is unfit, it is so with any numbers
        if not tape.asked and varied is not None and _are_alike(varied, plain):
            return recording(*varied, tape)
        raise AskedError([varying[place] for place in tape.asked] or varying)
    except Stopped as stopped:
        if stopped.tape is not tape:
            raise
        raise AskedError([varying[place] for place in tape.asked]) from None
    finally:
        tape.close()


def _with_stand_ins(
    function: Callable[..., Any], arguments: Arguments, by: Mapping[Path, Any]
) -> Traced | None:
    """The trace with others in place of numbers; None where that fails, for whatever reason."""
    state = _random_state()
    try:
        return traced(function, arguments, replaced(arguments.given, by))
    except Exception as error:  # functions that look at types may raise any
        _put_back(state)
        if is_interrupt(error):
            raise
        return None
    except Stopped:
        _put_back(state)
        raise


def traced(function: Callable[..., Any], arguments: Arguments, given: Sequence[Any]) -> Traced:
    """What a function does with copies of what it is given. Raises: UnfitError, and what it
    raises."""
    values = [_copied(value) for value in given]
    states = [_state(value) for value in values]
    before, state = engine.asked(), _random_state()
    witness = Witness()
    witnessed.begin()
    witness.made.update(id(value._storage) for value in values if isinstance(value, Handle))
    try:
        result = uncollected(_watched, witness, lambda: arguments.call(function, values))
    except OutsideError:
        pass
    except BaseException:
        witness.restore()
        raise
    if witness.restore() or witness.has_refused:
        _put_back(state)
        raise UnfitError("it writes into arrays that are no arguments")
    if pickle.dumps(_random_state()) != pickle.dumps(state):
        _put_back(state)  # the call that gives the result draws them
        raise UnfitError("it draws random numbers")
    if engine.asked() != before:
        raise UnfitError("it asks for values while it runs")
    if [_state(value) for value in values] != states:
        raise UnfitError("it writes into its arguments, or changes their shape or flags")
    return Traced([None if each is None else each[0] for each in states], result)


def _witnessed(witness: Witness, call: Callable[[], Any]) -> Any:
    """The result of a call during which this thread records. Raises: OutsideError, and what it
    raises."""
    own, recordings, thread = object(), under_way.recordings, get_ident()
    outer = WITNESSES.get(thread)
    try:
        recordings[own] = thread
        WITNESSES[thread] = witness
        return call()
    finally:
        if outer is None:
            WITNESSES.pop(thread, None)
        else:
            WITNESSES[thread] = outer
        recordings.pop(own, None)


def _watched(witness: Witness, call: Callable[[], Any]) -> Any:
    """The same; what it has made is looked for before it grows old."""
    try:
        return _witnessed(witness, call)
    finally:
        if witness.written:
            witness.own = witnessed.made()


def _state(value: Any) -> tuple[Any, ...] | None:
    """What an array is: its version, its layout, and whether it may be written."""
    if not isinstance(value, Handle):
        return None
    return value._storage.node, value._layout, value._writeable, value._cast


def _random_state() -> Any:
    """The state of NumPy's global generator; None where nobody has asked for that so far, since it
    takes long to import."""
    get_state = getattr(sys.modules.get("numpy.random"), "get_state", None)
    return None if get_state is None else get_state(legacy=False)


def _put_back(state: Any) -> None:
    if state is not None:
        np.random.set_state(state)


def _copied(value: Any) -> Any:
    """An argument for recording: arrays are copied into the engine."""
    if not isinstance(value, Handle | np.ndarray):
        return value
    device = session.default_device()
    if isinstance(value, Handle) and value._host is None:
        device = value._storage.device
        if device != "cpu":
            return _copied_there(value, device)
    host = value._host if isinstance(value, Handle) and value._host is not None else value
    layout = None
    if isinstance(host, np.ndarray) and not host.flags.c_contiguous:
        layout, host = layout_in_span(host), span(host)
    copy = np.array(host, order="K")
    storage = Storage(source(copy, device, owned=True), device)
    return handle(Handle._concrete, storage, layout)


def _copied_there(array: Any, device: str) -> Any:
    """A copy of a whole array on another device, made there."""
    engine.flush([array._storage.current()], device)
    node, backend = array._storage.current(), session.backend(device)
    buffer = backend.allocate(node.buffer.nbytes)
    backend.copy(node.buffer, buffer)
    copy = Source(node.shape, node.dtype, node.strides, buffer)
    return handle(Handle._concrete, Storage(copy, device))


def _are_alike(varied: Traced, plain: Traced) -> bool:
    """Whether two traces record the same operations on the same numbers: a function that looks at
    types may treat stand-ins otherwise."""
    left, right = _outputs(varied), _outputs(plain)
    if left is None or right is None or left[0] != right[0]:
        return False
    own = {node: place for place, node in enumerate(varied.nodes) if node is not None}
    others = {node: place for place, node in enumerate(plain.nodes) if node is not None}
    pairs = list(zip(left[1], right[1], strict=True))
    met = set(pairs)
    for one, other in pairs:  # which grows
        if one.buffer is not None:
            is_same = one in own and own[one] == others.get(other)
        else:
            is_same = _is_alike(one, other)
        if not is_same:
            return False
        new = [pair for pair in zip(one.srcs, other.srcs, strict=True) if pair not in met]
        met.update(new)
        pairs += new
    return True


def _outputs(trace: Traced) -> tuple[str, list[Node]] | None:
    """A result but for its arrays, and their nodes; None where it is unfit."""
    arrays: list[Any] = []
    numbers: list[Varying] = []
    try:
        whole = numbered(trace.result, arrays, numbers)
    except UnfitError:
        return None
    values = [number.value for number in reversed(numbers)]
    marks = [f"array {place}" for place in range(len(arrays))]
    return repr(rebuilt(whole, [*marks, *values])), [array._storage.node for array in arrays]


def _is_alike(one: Node, other: Node) -> bool:
    """Whether two nodes do the same with their operands; of scalars, whether they are equal."""
    if one.signature != other.signature or len(one.srcs) != len(other.srcs):
        return False
    if type(one) is not Const or type(other) is not Const:
        return True
    return _stored(one) == _stored(other)


def _stored(constant: Const) -> bytes | None:
    """The bits of a scalar as its kernels get it; None for what its dtype does not take so."""
    value = quiet_scalar(known(constant.value), constant.dtype)
    return None if value is None else np.array(value, constant.dtype).tobytes()
