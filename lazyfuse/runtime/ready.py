"""Known plans in words, for machine code: what `backends/cpu/record_flush_text.py` runs.

A plan that has been run a few times, and is launches of kernels on the CPU, is written down here
as a recording of `fuse` is (`replay_run.py`): its scalars are numbers that differ from run to run.
Then a flush takes some 3 us instead of 15. On a GPU, machine code finds the plan and attaches the
results, and one Python function queues the kernels (`queued.py`). Everything out of the ordinary
is left to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

from lazyfuse.config import Options
from lazyfuse.ir.node import Const
from lazyfuse.ir.plan import Launch, Plan, Renew
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.arithmetic import Given, Numbers, Scalar
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.payoff import begin
from lazyfuse.runtime.queued import queued
from lazyfuse.runtime.repeats import may_stay
from lazyfuse.runtime.replay_code import decoded, hire, layout, load
from lazyfuse.runtime.replay_numbers import is_written
from lazyfuse.runtime.replay_run import Result, Run, Words, prepare
from lazyfuse.runtime.sequence import Sequence, sequence
from lazyfuse.runtime.trace import Trace

#: Times that Python runs a plan before it is written down, which takes as long as thirty runs by
#: machine code save.
RUNS = 16
#: Operands, scalars and results of a plan: they are on the stack.
MOST = 1024
#: Bytes of a dead input from which Python takes its memory for a result where machine code cannot.
#: That takes 25 us more than new memory, which is recycled: on Emerald Rapids, twice as long at
#: 40,000 doubles, a tenth longer at a million, as long at four. From here on it is for the memory
#: that it saves.
LEAST_REUSED = 16 << 20


class Ready(NamedTuple):
    """A plan in words, and what they refer to. `epoch` is that of the kernel cache; `helpers` the
    workers that take part; `taken` the leaves whose memory a run takes for results, if they
    are dead."""

    words: Any
    kept: Words
    known: Known
    options: Options
    epoch: int
    helpers: int
    taken: Items[int] = ()


def use(flushed: Callable[..., Any]) -> None:
    """Let machine code run what is ready."""
    engine.machines.append(engine.Machine(flushed, learn, decoded()))


def learn(pending: Trace, known: Known, options: Options) -> None:
    """Python runs a plan once more: have it run by machine code soon, if it can be."""
    known.runs += 1
    found = known.ready
    if found is not None and found.epoch != session.kernels.epoch:
        known.runs, known.ready = 0, None  # its kernels may be gone
        return
    if known.runs < RUNS or known.is_unfit or not options.native or pending.is_stale:
        return
    if found is None:
        found = known.ready = _written(pending, known, options)
        known.is_unfit = found is None
        begin()  # what that takes is had once
    if found is not None:
        if found.helpers:
            hire(found.helpers)  # which a forked child has not
        session.ready[pending.structure] = found


def _written(pending: Trace, known: Known, options: Options) -> Ready | None:
    """A plan in words; None where machine code cannot run it."""
    if options.float_errors == "check":
        return None
    if known.device != "cpu":
        return _elsewhere(pending, known, options)
    epoch, perform = session.kernels.epoch, load()
    constants: list[Const] = [pending.nodes[place] for place in known.constants]  # type: ignore[misc]  # Consts
    numbers = Numbers(
        tuple(map(Given, range(len(constants)))),
        {place: Scalar(place, node.dtype) for place, node in enumerate(constants)},
        (),
    )
    many = max(len(known.leaves), len(constants), len(known.plan.slots))
    if perform is None or many > MOST or not is_written(numbers):
        return None
    steps = sequence(known.plan, session.backend("cpu"), [node.value for node in constants])
    launches = None if steps is None else prepare(steps, options.threads)
    if steps is None or launches is None:
        return None
    sizes = [node.nbytes for node in pending.outputs]
    if sizes != [steps.memory[piece] for piece in steps.outputs]:
        return None
    results = [Result((), None, False, size) for size in sizes]
    leaves = range(len(known.leaves))
    run = Run(steps, launches, leaves, results, None, True, None, numbers)
    return _in_words(perform, run, _taking(pending, known, options, run), options, epoch)


def _elsewhere(pending: Trace, known: Known, options: Options) -> Ready | None:
    """As `_written`, of a plan on a GPU."""
    epoch = session.kernels.epoch
    if may_stay(known.plan):  # where a copy takes longer than Python
        return None
    found = queued(known, session.backend(known.device), options, plan_hits=1)
    if found is None or max(len(known.leaves), len(known.constants)) > MOST:
        return None
    run, steps = found
    sizes = [node.nbytes for node in pending.outputs]
    if sizes != [steps.memory[piece] for piece in steps.outputs]:
        return None
    words = Words()
    words.kept += [run, sizes]
    entry = {"perform": 0, "entry": id(run), "memory_count": len(sizes)}
    record = _record(words, entry, _Taking(known), options, [id(size) for size in sizes])
    return Ready(record, words, known, options, epoch, 0)


class _Taking(NamedTuple):
    """How a plan runs whose results take the memory of dead leaves: of each result the leaf, -1
    for new memory. The leaves are dead if none of the `watched` nodes, by their places in the
    trace, is held, and these have no more readers together."""

    known: Known
    run: Run | None = None
    taken: Items[int] = ()
    watched: Items[int] = ()
    readers: int = 0


def _taking(pending: Trace, known: Known, options: Options, run: Run) -> _Taking:
    """No run where kernels need scratch memory: that may not be there, and leaves could be gone
    then."""
    steps = _sequence_taking(pending, known)
    launches = None if steps is None else prepare(steps, options.threads)
    if steps is None or launches is None or any(launch.scratch for launch in launches):
        return _Taking(known)
    taken = [max(~piece, -1) for piece in steps.outputs]
    places = [known.leaves[leaf] for leaf in taken if leaf >= 0]
    for place, node in enumerate(pending.nodes):
        if place >= len(pending.outputs) and node.buffer is None and type(node) is not Const:
            places.append(place)
    watched = {pending.nodes[place] for place in places}
    readers = sum(src in watched for node in pending.nodes for src in node.srcs)
    results = [run.results[number] for number, leaf in enumerate(taken) if leaf < 0]
    taking = run._replace(sequence=steps, launches=launches, results=results)
    return _Taking(known, taking, taken, places, readers)


def _sequence_taking(pending: Trace, known: Known) -> Sequence | None:
    """The kernels of a plan whose results take the memory of leaves, and nothing else does: what
    is between two kernels would take that of leaves that are held."""
    constants = [pending.nodes[place].value for place in known.constants]  # type: ignore[attr-defined]  # Consts
    given = {slot for slot, _ in _reused(known.plan)}
    while given:
        steps = sequence(known.plan, session.backend("cpu"), constants, given)
        if steps is None:
            return None
        leaves = {~piece for piece in steps.outputs if piece < 0}
        if leaves == steps.taken.keys():
            return steps if leaves else None
        given &= leaves
    return None


def _in_words(perform: int, run: Run, taking: _Taking, options: Options, epoch: int) -> Ready:
    words = Words()
    count, helpers = len(run.sequence.memory), run.helpers
    own = {"perform": perform, "entry": _entry(words, run), "memory_count": count}
    if taking.run is not None:
        helpers = max(helpers, taking.run.helpers)
        own |= {
            "taking": _entry(words, taking.run),
            "taking_count": len(taking.run.sequence.memory),
            "taken": words.table([taking.taken]),
            "watched_count": len(taking.watched),
            "watched": words.table([taking.watched]),
            "readers": taking.readers,
        }
    sizes = [id(result.nbytes) for result in run.results]
    record = _record(words, own, taking, options, sizes)
    taken = [leaf for leaf in taking.taken if leaf >= 0]
    return Ready(record, words, taking.known, options, epoch, helpers, taken)


def _entry(words: Words, run: Run) -> int:
    """The address of what runs kernels."""
    codes = layout()
    entry = words.run(run, lambda leaf: True)
    entry |= {"HITS": entry["LAUNCHES"], "PLANS": 1}
    return int(words.filled(codes.ENTRY, entry).ctypes.data)


def _record(
    words: Words, entry: dict[str, int], taking: _Taking, options: Options, sizes: Items[int]
) -> Any:
    """What machine code knows of a plan: `entry`, what runs it; `sizes`, the addresses of numbers
    that are kept."""
    from lazyfuse.backends.cpu.record_flush_text import READY

    known = taking.known
    reused = {slot for slot, nbytes in _reused(known.plan) if nbytes >= LEAST_REUSED}
    reused -= set(taking.taken)
    leaves = [(place, int(slot in reused)) for slot, place in enumerate(known.leaves)]
    words.kept.append(known.device)
    return words.filled(READY, entry | {
        "options": id(options),
        "device": id(known.device),
        "leaf_count": len(known.leaves),
        "leaves": words.table(leaves),
        "constant_count": len(known.constants),
        "constants": words.table([known.constants]),
        "output_count": len(sizes),
        "sizes": words.table([sizes]),
    })  # fmt: skip


def _reused(plan: Plan) -> Iterator[tuple[int, int]]:
    """The leaves whose memory a run takes for a result when they are dead, and their bytes."""
    for step in plan.steps:
        pairs: list[tuple[int, int]] = []
        if isinstance(step, Launch):
            sizes = dict(step.allocates)
            pairs = [(slot, sizes[target]) for target, slot in step.donors if slot in step.frees]
        elif isinstance(step, Renew) and step.base is not None and step.in_place:
            pairs = [(step.base, step.nbytes)] if step.base_dies else []
        for slot, nbytes in pairs:
            if slot < plan.leaves and nbytes > plan.kept_bytes:
                yield slot, nbytes
