"""Records nodes and runs what is pending.

`record_*` build nodes and return at once; `flush(nodes)` computes nodes and everything under them.
The exact-shape plan cache is in front: its key is the structure of the pending graph, without
values and memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config, events
from lazyfuse.backends.base import Buffer, mark_shared
from lazyfuse.config import Options
from lazyfuse.ir.node import Node
from lazyfuse.ir.origin import Origin
from lazyfuse.ir.plan import Plan
from lazyfuse.ir.storage import Storage, remember
from lazyfuse.ops.float_flags import ALL
from lazyfuse.runtime import session, under_way, unfinished
from lazyfuse.runtime.budget import is_over_budget, is_pressed, is_too_much, relieve
from lazyfuse.runtime.caller import is_users, user_frame
from lazyfuse.runtime.cold import Interpreter, OvertakenError
from lazyfuse.runtime.conditions import Finding, are_wanted, can_meet, find
from lazyfuse.runtime.error_modes import current_modes, tell
from lazyfuse.runtime.executor import Executor, host_array
from lazyfuse.runtime.known import Known, dead_leaves, known_plan, planned
from lazyfuse.runtime.met import met
from lazyfuse.runtime.payoff import SAMPLED, accounted, begin, go_on, sampled
from lazyfuse.runtime.plans import made_now
from lazyfuse.runtime.queued import replayed
from lazyfuse.runtime.repeats import repeats
from lazyfuse.runtime.trace import Trace, Walk, as_before, kept, pending_of, trace
from lazyfuse.runtime.turns import learn, structures
from lazyfuse.runtime.written import beside


def origin() -> Origin | None:
    """The user's code and instruction, and the errstate in force."""
    frame = user_frame(_INNER_FRAMES)
    if frame is None:
        return None
    is_users(frame.f_globals)  # known from now on, to recording in machine code
    return frame.f_code, frame.f_lasti, current_modes()


#: Frames of this package between `origin` and whatever public function or operator called it.
_INNER_FRAMES = 4


def new_storage(node: Node, device: str) -> Storage:
    """A new array whose value is `node`; runs it when what is pending is over its budget."""
    storage = Storage(node, device)
    if node.buffer is None:
        node.origin = place = origin()
        if place is not None and place[2].is_immediate and _says_something(node):
            flush([node], device)
        else:
            remember(node)
            enforce_budget(storage)
    return storage


def _says_something(node: Node) -> bool:
    """Whether computing a node, or a step recorded with it, can meet a condition."""
    return bool(can_meet(node)) or any(
        src.origin is None and src.buffer is None and _says_something(src) for src in node.srcs
    )


def write(storage: Storage, version: Callable[[Node], Node]) -> bool:
    """Make `version(current node)` what readers of `storage` see from now on. False, and nothing
    is done, where the memory is lent: it has to be written at once. Threads that write different
    parts at once lose nothing; what they write by turns is computed, for these come in any order.

    The budget is asked of the version before: the caller still has the written value.
    """
    place = origin()
    if storage.node.buffer is None:
        enforce_budget(storage)
    with session.flush_lock:
        if storage.is_lent:
            return False
        node = version(storage.current())
        node.origin = place
        storage.replace(node)
        if storage.take_turn():
            flush([node], storage.device)
    if place is not None and place[2].is_immediate:
        flush([node], storage.device)
    return True


def enforce_budget(storage: Storage) -> None:
    """Run what is pending when it is too deep, for few elements earlier, or keeps dead memory."""
    node = storage.node
    options = config.current()
    if is_over_budget(node, options) and is_too_much(node, options, storage.device):
        before = structures()
        try:
            flush([node], storage.device, lambda: beside(storage))
        except MemoryError:
            if node.buffer is not None:
                raise
        if node.buffer is None:  # others are not asked for; a traceback would keep their memory
            flush([node], storage.device)
        learn(node, before)
    if is_pressed(options):  # asked last: who keeps what is not known at a glance
        relieve(options, lambda each: flush([each.node], each.device))


def flush(
    nodes: Sequence[Node], device: str, others: Callable[[], list[Node]] | None = None
) -> None:
    """Compute nodes: afterwards each has its buffer.
    Nodes that live on and are dear are stored as well, and what `others` gives.

    Raises MemoryError when there is no memory; the trace is kept then. Gives the warnings of
    floating point conditions that operations met, at the lines that recorded them, or raises
    FloatingPointError, as `np.errstate` said there: the nodes have their buffers then, too.
    """
    if under_way.recordings:
        count_asked()
    nested = session.nested
    with session.flush_lock:
        if len(nodes) == 1:
            wanted = nodes if nodes[0].buffer is None else ()
        else:
            wanted = [node for node in dict.fromkeys(nodes) if node.buffer is None]
        asked = len(wanted)
        if wanted and others is not None:  # under the lock: what it gives stays pending
            wanted = [*wanted, *others()]
        nested[0] += 1
        try:
            findings = _flushed(wanted, device, asked) if wanted else ()
        finally:
            nested[0] -= 1
    for finding in findings:
        tell(*finding)


class Machine(NamedTuple):
    """Machine code for known plans. flush: of nodes, device and options, as `lf_flushed` of
    `record_flush_text.py`; True after them says that what is better stored inside is among them.
    learn: is told before each run of a plan by Python. decoded: conditions by the CPU's flags."""

    flush: Callable[..., Any]
    learn: Callable[[Trace, Known, Options], None]
    decoded: Sequence[int]


#: The one in use is the last.
machines: list[Machine] = []


def _flushed(given: Sequence[Node], device: str, asked: int) -> Sequence[Finding]:
    """Compute pending nodes, each there once, of which the first `asked` have to be."""
    wanted, whole, walked, started = given, None, None, session.runs[0]
    if session.ready and not unfinished.runs and session.nested[0] == 1:
        options = config.current()
        ended = None if started % SAMPLED else sampled(wanted, device, options)
        found = machines[-1].flush(wanted, device, options)
        if found is not True:
            begin()
            if found is not None and not found[2]:
                wanted, whole = [*given, *kept(given, found[:3])], asked
                found = machines[-1].flush(wanted, device, options, True)
        if found is True:
            if ended is not None:
                ended()
            return ()
        walked = None if found is None else found[:3]
        if found is not None and len(found) > 3:
            return _told(found[:3], *found[3:])
    else:
        begin()
    if session.runs[0] != started:  # code of the user may have run
        given, walked = given[:asked], None
    if walked is None:
        wanted, whole = pending_of(given), None
    pending = trace(wanted, walked, started, whole)
    pending.asked = min(pending.asked, asked)
    if unfinished.runs and unfinished.finish(pending.nodes):
        pending = trace(pending_of(given[:asked]))
    return _run(pending, device) if pending.outputs else ()


def _told(
    walked: Walk, ready: Any, flags: int, sources: Sequence[tuple[Node, ...]], taken: bool
) -> list[Finding]:
    """What a run of machine code has to say that has met conditions: the CPU's flags. It has
    attached the results, whatever interrupts this, so its nodes are looked at as they were before,
    with these operands. `taken`: the results have the memory of dead leaves."""
    nodes, structure, is_plain = walked
    conditions = machines[-1].decoded[flags]
    findings: list[Finding] = []
    if are_wanted(nodes, conditions):
        known: Known = ready.known
        backend = session.backend(known.device)
        executor = Executor(known.plan, backend, ready.options, (), lambda leaf: False)
        executor.conditions = conditions
        executor.overwritten = set(ready.taken if taken else ())
        results = [node.buffer for node in nodes[: len(known.plan.outputs)]]
        before = as_before(nodes, sources, len(results))
        pending = Trace(before[: len(results)], (before, structure, is_plain))
        leaves = [before[place] for place in known.leaves]
        findings = _findings(pending, leaves, results, executor)
    for node in nodes:
        node.seen = True
    return findings


def _run(pending: Trace, device: str) -> list[Finding]:
    options = config.current()
    key = (pending.structure, options, device)
    known: Known | None = session.plans.get(key)
    if known is not None:
        events.add_plan_hit()
        return _launched(pending, known, options)
    found = met(pending, key)
    if found is not None and found.is_interpreted(pending, key):
        leaves = [node for node in pending.nodes if node.buffer is not None]
        interpreter = Interpreter(pending, session.backend(device), options, found)
        with found.counted():
            try:
                return _complete(pending, leaves, interpreter, interpreter.run)
            except OvertakenError:
                return _again(pending, device)
    with nullcontext() if found is None else found.family.counted():
        known = planned(pending, key) if found is None else found.plan(pending, key)
        session.met.pop(key, None)
        go_on()
        return _again(pending, device) if known is None else _launched(pending, known, options)


def _launched(pending: Trace, known: Known, options: config.Options) -> list[Finding]:
    """Run a trace by a plan of its structure."""
    if machines:
        machines[-1].learn(pending, known, options)
    else:
        session.uses[0] += session.uses_of_a_run(known.device)
    nodes = pending.nodes
    leaves = [nodes[place] for place in known.leaves]
    dying: set[Node] | None = None

    def is_dead(leaf: int) -> bool:
        nonlocal dying
        if leaves[leaf].is_held or session.nested[0] > 1:  # the outer run may still read it
            return False
        if pending.is_stale:  # code of the user has run: the graph is another one
            return False
        if dying is None:
            dying = dead_leaves(pending.graph())
        return leaves[leaf] in dying

    scalars: list[Any] = [nodes[place].value for place in known.constants]  # type: ignore[attr-defined]  # Consts
    executor = Executor(known.plan, session.backend(known.device), options, scalars, is_dead)
    buffers = [leaf.buffer for leaf in leaves]
    with accounted(pending, known, options):
        return _complete(pending, leaves, executor, lambda: _results(known, executor, buffers))


def _results(known: Known, executor: Executor, leaves: Sequence[Any]) -> list[Buffer]:
    """Run a plan: on a GPU by a graph, where it is worth one."""
    if known.device != "cpu":
        found = repeats(known, executor.backend, executor.options)
        results = None if found is None else found.run(leaves, executor.scalars)
        if results is not None:
            return results
    return executor.run(leaves)


def _again(pending: Trace, device: str) -> list[Finding]:
    """Compute what is still pending of what was asked of a stale trace: the rest may be gone."""
    wanted = pending_of(pending.outputs[: pending.asked])
    return _run(trace(wanted), device) if wanted else []


def _complete(
    pending: Trace,
    leaves: list[Node],
    executor: Executor | Interpreter,
    run: Callable[[], list[Buffer]],
) -> list[Finding]:
    """Run, and attach the results; keep a run that has overwritten an input and cannot end."""
    try:
        results = run()
        try:
            findings = _findings(pending, leaves, results, executor)
        except BaseException:
            if executor.overwritten:  # the operands are gone
                _attach(pending, results, executor)
            raise
        _attach(pending, results, executor)
        return findings
    except BaseException as error:
        is_over = all(node.buffer is not None for node in pending.outputs)
        lost = [] if is_over else [slot for slot in executor.overwritten if slot < len(leaves)]
        if lost and executor.may_go_on(error):
            _suspend(pending, leaves, executor)
        else:
            executor.buffers = []  # a traceback that is kept would keep their memory
            for slot in lost:
                leaves[slot].buffer = unfinished.Lost(error)
        raise


def _attach(pending: Trace, results: Sequence[Buffer], executor: Executor | Interpreter) -> None:
    if len(results) > 1:
        mark_shared(results)
    for node in pending.nodes:
        node.seen = True
    for node, buffer in zip(pending.outputs, results, strict=True):
        # code of the user may have had it computed meanwhile, perhaps from what was overwritten
        if node.buffer is None or executor.overwritten:
            node.attach(buffer)
    session.runs[0] += 1


def _suspend(pending: Trace, leaves: list[Node], executor: Executor | Interpreter) -> None:
    """Go on with a run when its results are asked for."""
    if all(run.outputs is not pending.outputs for run in unfinished.runs):
        unfinished.runs.append(
            unfinished.Unfinished(
                pending.outputs, lambda: _complete(pending, leaves, executor, executor.go_on)
            )
        )


def _findings(
    pending: Trace, leaves: list[Node], results: list[Buffer], executor: Executor | Interpreter
) -> list[Finding]:
    """What a run that is over has to say about floating point conditions."""
    mode = executor.options.float_errors
    met = ALL if mode == "check" else executor.conditions
    if not met or mode == "off" or not are_wanted(pending.nodes, met):
        return []
    backend, graph = executor.backend, pending.graph()

    def memory() -> dict[Node, np.ndarray]:
        known = {leaf: leaf.buffer for leaf in leaves}
        known.update(zip(graph.outputs, results, strict=True))
        return {node: host_array(node, buffer, backend) for node, buffer in known.items()}

    lost = {leaves[slot] for slot in executor.overwritten if slot < len(leaves)}
    return find(graph, met, memory=memory, lost=lost)


def plan_for(nodes: Sequence[Node], device: str) -> Plan:
    """The plan by which these pending nodes would be computed now, for people to read."""
    return made_now(trace(nodes).graph(), config.current(), session.backend(device))


def prepare(nodes: Sequence[Node], device: str) -> tuple[Trace, Known]:
    """What is pending under nodes, and the plan that computes them and nothing else."""
    while True:
        pending = Trace(nodes)
        found = known_plan(pending, config.current(), device)
        if found is not None:
            return pending, found


def replay(
    known: Known, leaves: Sequence[Buffer], scalars: Sequence[Any]
) -> tuple[list[Buffer], int]:
    """Run a plan on memory, which it does not write; its results, and the floating point
    conditions that were met. The caller holds the lock of a flush."""
    backend, options = session.backend(known.device), config.current()
    if known.device != "cpu":
        queued = replayed(known, backend, options, leaves, scalars)
        if queued is not None:
            return queued, 0
    executor = Executor(known.plan, backend, options, scalars, lambda leaf: False)
    results = _results(known, executor, leaves)
    mark_shared(results)
    return results, executor.conditions


def asked() -> int:
    """How many times this thread has asked for values, pending or not; some are counted only while
    a function is recorded (`under_way.py`)."""
    return _counts.asked


def count_asked() -> None:
    """Values are asked for, by whatever other way than a flush."""
    _counts.asked += 1


class _Counts(threading.local):
    asked = 0


_counts = _Counts()
