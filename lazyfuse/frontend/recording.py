"""What `fuse` keeps of a function: its plan, and how its result is put together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend.convert import eager_size, quiet_scalar
from lazyfuse.frontend.handle import Handle, handle
from lazyfuse.frontend.signature import NUMBERS
from lazyfuse.frontend.there import There, there
from lazyfuse.frontend.varying import Tape, Varying, is_varying
from lazyfuse.ir.form import Form
from lazyfuse.ir.node import Const, Node, Source
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.plan import Launch
from lazyfuse.ir.storage import Storage
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import engine, replay_run, session
from lazyfuse.runtime.arithmetic import Numbers, Scalar, computed
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.replay_code import teller
from lazyfuse.runtime.replay_numbers import is_written
from lazyfuse.runtime.sequence import sequence
from lazyfuse.runtime.single import Single, single


class Result(NamedTuple):
    """An array that a recording gives: its form; whether NumPy has a scalar there."""

    form: Form
    is_scalar: bool


class Recording(NamedTuple):
    """How to replay a function: its plan; the argument that each leaf of the plan is; its scalars;
    the arrays that it gives; the result, with their numbers in place of them; the conditions that
    an `np.errstate` inside the function wants told; the numbers that differ each time, whose
    scalars are 0 here; and what runs its kernel on a GPU, where there is one."""

    known: Known
    leaves: tuple[int, ...]
    scalars: tuple[Any, ...]
    results: tuple[Result, ...]
    whole: Any
    single: Single | None
    told: int
    numbers: Numbers | None = None
    there: There | None = None

    def now(self, given: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """The scalars for the arguments of a call, and the numbers among the results; None where
        Python has to say what is wrong with a number."""
        if self.numbers is None:
            return self.scalars, ()
        rows, varying, results = self.numbers
        registers = computed(rows, given)
        if registers is None:
            return None
        scalars = list(self.scalars)
        for place, (register, dtype) in varying.items():
            scalars[place] = quiet_scalar(registers[register], dtype)
        if None in scalars:
            return None
        return scalars, [registers[register] for register in results]


class UnfitError(Exception):
    """Why a function cannot be replayed."""


def recording(sources: Sequence[Node | None], result: Any, tape: Tape | None = None) -> Recording:
    """How `result` is computed from arguments, with the numbers of a tape. Raises: UnfitError."""
    arrays: list[Any] = []
    given: list[Varying] = []
    whole = numbered(result, arrays, given)
    places = {node: number for number, node in enumerate(sources) if node is not None}
    nodes = [array._storage.node for array in arrays]
    if not nodes or len(set(nodes)) < len(nodes) or any(node.buffer is not None for node in nodes):
        raise UnfitError("its results are not new arrays, each its own")
    pending, known = engine.prepare(nodes, arrays[0]._storage.device)
    leaves = [pending.nodes[place] for place in known.leaves]
    if not all(leaf in places for leaf in leaves):
        raise UnfitError("it reads arrays that are no arguments")
    constants: list[Const] = [pending.nodes[place] for place in known.constants]  # type: ignore[misc]  # Consts
    varying = {
        number: Scalar(node.value.register, node.dtype)
        for number, node in enumerate(constants)
        if is_varying(node.value)
    }
    scalars = tuple(
        [0 if place in varying else node.value for place, node in enumerate(constants)]
    )
    others = [*given, *(constants[place].value for place in varying)]
    if any(number.tape is not tape for number in others):  # type: ignore[union-attr]  # stand-ins
        raise UnfitError("it uses a number of another recording")
    numbers = None
    if tape is not None:
        registers = tuple([number.register for number in reversed(given)])
        numbers = Numbers(tuple(tape.rows), varying, registers)
    kernel = single(known.plan, known.device, scalars, is_fixed=tape is None)
    arguments = tuple(places[leaf] for leaf in leaves)
    results = tuple(Result(node.formed(), node.is_scalar) for node in nodes)
    is_there = kernel is not None and known.device != "cpu"
    return Recording(
        known,
        arguments,
        scalars,
        results,
        whole,
        kernel,
        _told_inside(pending.nodes),
        numbers,
        there(kernel, known.device, arguments, results) if kernel and is_there else None,
    )


def _told_inside(nodes: Sequence[Node]) -> int:
    """The conditions that operations want told under another errstate than the one in force."""
    own, told = current_modes(), 0
    for node in nodes:
        if node.origin is not None and node.origin[2] != own:
            told |= node.origin[2].wanted  # under other warning filters it may be
    return told


class _Place(int):
    """The number of an array in a result; ~number of a number that varies."""


def numbered(result: Any, arrays: list[Any], numbers: list[Varying]) -> Any:
    """The result with places instead of its arrays and of numbers that vary, which are added to
    `arrays` and `numbers`. Raises: UnfitError."""
    if isinstance(result, Handle):
        if result._host is not None or result._storage.layout is not result._layout:
            raise UnfitError("it gives views, or arrays that do not depend on its arguments")
        arrays.append(result)
        return _Place(len(arrays) - 1)
    if is_varying(result):
        if not result.tape.is_open:  # one that the function has kept
            return result.value
        numbers.append(result)
        return _Place(-len(numbers))
    if type(result) in (tuple, list):
        return type(result)(numbered(item, arrays, numbers) for item in result)
    if is_named(result):
        return type(result)._make(numbered(item, arrays, numbers) for item in result)
    if type(result) is dict:
        return {name: numbered(item, arrays, numbers) for name, item in result.items()}
    if result is None or type(result) in NUMBERS:
        return result
    raise UnfitError(f"it gives {type(result).__name__}, which is no array")


def is_named(value: Any) -> bool:
    """Whether an object is a named tuple that is nothing else."""
    kind = type(value)
    is_tuple = isinstance(value, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make")
    return is_tuple and not getattr(value, "__dict__", None)


def rebuilt(whole: Any, items: Sequence[Any]) -> Any:
    """A result with its arrays and its numbers, of which the first comes last, in their places."""
    kind = type(whole)
    if kind is _Place:
        return items[whole]
    if kind in (tuple, list):
        return kind(rebuilt(item, items) for item in whole)
    if is_named(whole):
        return kind._make(rebuilt(item, items) for item in whole)
    if kind is dict:
        return {name: rebuilt(item, items) for name, item in whole.items()}
    return whole


def is_only_array(whole: Any) -> bool:
    """Whether a result is one array."""
    return type(whole) is _Place


# ---- for machine code


def kernel_run(found: Recording, given: Sequence[Any], threads: int) -> replay_run.Run | None:
    """How machine code replays a recording: kernels on the CPU; None for other recordings."""
    if found.known.device != "cpu" or not all(result.form.nbytes for result in found.results):
        return None
    if found.numbers is not None and not is_written(found.numbers):
        return None
    steps = sequence(found.known.plan, session.backend("cpu"), found.scalars)
    launches = None if steps is None else replay_run.prepare(steps, threads)
    if steps is None or launches is None:
        return None
    is_host = takes_hosts(found, given)
    results = [_made(result, is_host) for result in found.results]
    if [item.nbytes for item in results] != [steps.memory[piece] for piece in steps.outputs]:
        return None
    whole = found.whole
    is_tuple = type(whole) is tuple and list(whole) == list(range(len(results)))
    is_plain = is_tuple and all(type(place) is _Place for place in whole)
    return replay_run.Run(
        steps,
        launches,
        found.leaves,
        results,
        None if is_plain else partial(rebuilt, whole),
        is_only_array(whole),
        teller(found.told),
        found.numbers,
    )


def _made(result: Result, is_host: bool) -> replay_run.Result:
    """How machine code makes a result."""
    form = result.form
    if is_small(result, eager_size(), is_host) and form.strides == c_strides(form.shape):
        dtype = np.dtype(form.dtype)
        return replay_run.Result(form.shape, dtype, result.is_scalar, form.nbytes)
    make = partial(engine_array, result, "cpu")
    return replay_run.Result(form.shape, None, result.is_scalar, form.nbytes, make)


def takes_hosts(found: Recording, given: Sequence[Any]) -> bool:
    """Whether all that a recording reads is in NumPy's arrays."""
    values = [given[place] for place in found.leaves]
    return all(not isinstance(value, Handle) or value._host is not None for value in values)


def is_small(result: Result, limit: int, is_host: bool) -> bool:
    """Whether a result on the CPU is a small array; or a scalar of them (`is_host`), NumPy's."""
    form = result.form
    return 0 < form.nbytes <= limit * int(form.dtype[1:]) and (is_host or not result.is_scalar)


def engine_array(result: Result, device: str, buffer: Any) -> Any:
    """An array of the engine, or a scalar, around memory that a replay has written."""
    form = result.form
    node = Source(form.shape, form.dtype, form.strides, buffer)
    node.form, node.is_scalar = form, result.is_scalar
    kind = Handle._scalar if result.is_scalar else Handle._concrete
    return handle(kind, Storage(node, device))


#: Microseconds: of a replay in Python; of an operation of NumPy's on small arrays, and of the
#: kernel of a transcendental function; and per thousand elements of an operation (`perf/`).
_REPLAY, _OPERATION, _FUNCTION, _THOUSAND = 12.0, 0.8, 6.0, 0.25


def is_faster_unfused(known: Known) -> bool:
    """Whether operations on small arrays, one by one, cost less than a replay in Python."""
    nodes: list[Node] = []
    for step in known.plan.steps:
        nodes += step.nodes if isinstance(step, Launch) else [step.node]
    sizes = [size_of(node.shape) for node in nodes]
    if not sizes or max(sizes) > eager_size() or known.device != "cpu":
        return False
    each = [_FUNCTION if node.is_costly else _OPERATION for node in nodes]
    return sum(each) + _THOUSAND * sum(sizes) / 1000 < _REPLAY
